"""Runs the text of a program natively or translated, and tells all that can be seen of the run: result, log, exception, global objects."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import io
import itertools
import linecache
import re
import sys
import types
import warnings

MODULE = "tests_flow_program"
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
ATOMS = (type(None), bool, int, str, bytes)
files = itertools.count()


class OutOfFuel(BaseException):
    """Ends a program that has run for long enough: no `except Exception` keeps it going."""


class Log:
    """Collects the events of one run: what is evaluated, and in which order."""

    def __init__(self, fuel=1500):
        self.events, self.fuel = [], fuel

    def note(self, site, value=None):
        """Log a value and return it."""
        self.tick()
        self.events.append((site, frozen(value)))
        return value

    def tick(self):
        """Count a step of the program."""
        self.fuel -= 1
        if self.fuel < 0:
            raise OutOfFuel

    def refuel(self, fuel):
        """Let the next part of the program have so many steps."""
        self.fuel = fuel


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What can be seen of a run; two runs are alike if these are equal."""

    ending: tuple
    log: tuple
    state: tuple


def frozen(value, seen=None):
    """A copy of a value that later changes do not reach; names objects in the order met, so that aliases and cycles compare too."""
    kind = type(value)
    if kind in ATOMS:
        return (kind.__name__, ADDRESS.sub("", value) if kind is str else value)
    if kind in (float, complex):
        return (kind.__name__, repr(value))
    if isinstance(value, enum.Enum):
        return (kind.__qualname__, value.name)
    seen = {} if seen is None else seen
    if id(value) in seen:
        return ("again", seen[id(value)][0])
    seen[id(value)] = len(seen), value  # kept, so that no other object gets its address
    if isinstance(value, (tuple, list, collections.deque)):
        parts = tuple(frozen(entry, seen) for entry in kind.__iter__(value))
    elif isinstance(value, (set, frozenset)):
        parts = tuple(sorted((frozen(entry, seen) for entry in kind.__iter__(value)), key=repr))
    elif isinstance(value, dict):
        parts = tuple((frozen(key, seen), frozen(entry, seen)) for key, entry in dict.items(value))
    elif isinstance(value, io.StringIO):
        parts = (value.getvalue(),)
    elif isinstance(value, (slice, range)):
        parts = (repr(value),)
    elif isinstance(value, types.ModuleType):
        return (kind.__name__, value.__name__)
    elif isinstance(value, BaseException):
        return exception(value, seen)
    elif isinstance(value, type):
        return ("type", value.__qualname__)
    elif callable(getattr(kind, "__next__", None)) and not hasattr(kind, "__dict__"):
        return ("iterator",)
    elif isinstance(value, (types.FunctionType, types.MethodType)):
        return ("function", value.__qualname__)
    else:
        parts = ()
    names = {slot: getattr(value, slot) for slot in _slots(kind) if hasattr(value, slot)}
    try:
        names |= object.__getattribute__(value, "__dict__")
    except AttributeError:
        pass
    return (kind.__qualname__, parts, *([tuple((name, frozen(entry, seen)) for name, entry in names.items())] if names else []))


@functools.lru_cache(None)
def _slots(kind):
    """The names of a class of Python that are kept in slots; those of C are not looked at."""
    names = [name for base in kind.__mro__ if isinstance(base.__dict__.get("__slots__"), (tuple, list)) for name in base.__slots__]
    return tuple(name for name in names if type(getattr(kind, name, None)) is types.MemberDescriptorType)


def exception(error, seen=None):
    """An exception with its arguments and the exceptions that it was raised from or during."""
    seen = {} if seen is None else seen
    seen[id(error)] = len(seen), error
    chain = [
        ("again", seen[id(other)][0]) if id(other) in seen else other and exception(other, seen)
        for other in (error.__cause__, error.__context__)
    ]
    parts = tuple(exception(part, seen) for part in getattr(error, "exceptions", ()))
    arguments = () if parts else tuple(frozen(entry, seen) for entry in error.args)
    return (type(error).__qualname__, ADDRESS.sub("", str(error)), arguments, parts, *chain, error.__suppress_context__)


def loaded(text, log, file=None):
    """A module made of this text, which logs to `log`; inspect and tracebacks find its lines."""
    file = file or f"<program {next(files)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    module = types.ModuleType(MODULE)
    module.__file__ = file
    vars(module).update(note=log.note, tick=log.tick, refuel=log.refuel, OutOfFuel=OutOfFuel)
    sys.modules[MODULE] = module
    exec(compiled(text, file), vars(module))
    return module


@functools.lru_cache(2)
def compiled(text, file):
    """The code of a program, which both runs share: functions of one code may have different globals."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        return compile(text, file, "exec", dont_inherit=True)


def outcome(text, translated=lambda function: function, state=(), file=None, fuel=1500):
    """Run `main` of a program on objects of its own: translated, or natively.

    Args:
        text: a module that has a function main().
        translated: maps main to the function that is called.
        state: names of globals that are compared after the run.
        file: the name that tracebacks show.
        fuel: how many events a run may have.
    """
    log = Log(fuel)
    module = loaded(text, log, file)
    try:
        main = translated(module.main)
        try:
            ending = ("returned", frozen(main()))
        except (Exception, OutOfFuel, GeneratorExit) as error:  # noqa: BLE001 - compared with what Python raises
            ending = ("raised", exception(error))
        events = tuple(log.events)  # before anything that the exception holds is dropped
        return Outcome(ending, events, tuple((name, frozen(getattr(module, name, "unbound"))) for name in state))
    finally:
        sys.modules.pop(MODULE, None)


def difference(expected, found):
    """The first difference of two outcomes in words; empty if there is none."""
    for number, (one, other) in enumerate(itertools.zip_longest(expected.log, found.log, fillvalue="nothing")):
        if one != other:
            before = "".join(f"\n    {event}" for event in expected.log[max(0, number - 3) : number])
            return f"event {number}\n  Python:     {one}\n  translated: {other}\n  after:{before}\n  Python ends:     {expected.ending}\n  translated ends: {found.ending}"
    if expected.ending != found.ending:
        return f"ending\n  Python:     {expected.ending}\n  translated: {found.ending}"
    for one, other in zip(expected.state, found.state):
        if one != other:
            return f"global {one[0]}\n  Python:     {one[1]}\n  translated: {other[1]}"
    return ""
