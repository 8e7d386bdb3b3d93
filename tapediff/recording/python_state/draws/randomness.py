"""Warns when random numbers are drawn during recording: they become constants of the tape.

The state of a generator is compared before and after. Reading it as Python objects takes 50 µs, as long as recording thirty
operations; so it is read as bytes where CPython's and NumPy's objects have them.
"""

from __future__ import annotations

import ctypes
import dis
import functools
import sys
import warnings
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType

import numpy as np

from ....base.byte_code import names_of
from ....base.held_locks import drop_oldest
from ....base.source_location import Site, is_library_file, user_frame
from ....errors import FrozenRandomWarning
from ...arrays.tracked import TrackedArray
from ..object_snapshot import PythonValue
from ..process_state import process

# Most values reachable from a function that are searched, and most entries of each container.
MOST_LOOKED_AT = 100
MOST_ENTRIES = 16

# Size of MT19937's state: 624 words and the position among them. See numpy/random/src/mt19937.
_MT19937_BYTES = 4 * 625

# Objects begin with a reference count and a type, whose bytes change or say nothing.
_HEADER = object.__basicsize__
_READS_BYTES = sys.implementation.name == "cpython" and _HEADER == 16

_SKIPPED = frozenset(
    (
        int,
        float,
        bool,
        str,
        bytes,
        complex,
        type(None),
        np.ndarray,
        np.float64,
        np.int64,
        np.ufunc,
        ModuleType,
        type,
        TrackedArray,
    )
)


class Draws:
    """The generators that a function reaches, as they were when its recording began.

    Args:
        functions: what is recorded.
        values: its arguments, and whatever else it receives.
    """

    __slots__ = ("_loaded", "_reached", "_states", "_values", "_warnings")

    def __init__(self, functions: Sequence[object], values: Sequence[object] = ()) -> None:
        self._values = [*functions, *values]
        self._warnings = process.warnings_of_draws
        self._loaded = "numpy.random.mtrand" in sys.modules
        # Without these modules there is no generator.
        is_any = self._loaded or "random" in sys.modules
        self._reached = [*shared_generators(), *_generators(self._values)] if is_any else []
        self._states = [_state(source) for source in self._reached]

    def _advanced(self) -> PythonValue | None:
        """The first generator that has advanced since, or None."""
        source = next((s for s, state in zip(self._reached, self._states) if _state(s) != state), None)
        if source is None and not self._loaded and "numpy.random.mtrand" in sys.modules and _has_drawn_since_import():
            source = shared_generators()[-1]
        return source

    def have_advanced(self) -> bool:
        """True if a generator has advanced since."""
        return self._advanced() is not None

    def text(self, name: str) -> str | None:
        """The text of the warning if a generator has advanced since; None if not, or if an inner recording has warned already."""
        source = self._advanced() if process.warnings_of_draws == self._warnings else None
        if source is None:
            return None
        codes: list[CodeType] = []
        names: dict[int, set[str]] = {}
        _generators(self._values, codes, names)
        is_shared = any(source is s for s in shared_generators())
        if is_shared and any("seed" in code.co_names for code in codes):
            return None  # seeded here: the same draws at every call of the plain function, too
        named = names.get(id(source), set()) | ({"random"} if is_shared else set())
        return (
            f"{name} drew random numbers while it was recorded, and its tape uses these numbers at every call\n"
            f"  at:  {_place(codes, named) or 'unknown line'}\n"
            f"  got: {_described(source, is_shared)} has advanced\n"
            f"  fix: draw outside and pass the numbers as an argument, td.Constant(draws), or draw by td.random from a key that is one; "
            f"where one draw is meant for all calls, "
            f"warnings.simplefilter('ignore', td.FrozenRandomWarning)"
        )

    def warn(self, name: str) -> bool:
        """Warn if a generator has advanced, at the user's line that asked for the recording. True if one has."""
        message = self.text(name)
        if message is not None:
            _warn(message)
        return message is not None


def _place(codes: list[CodeType], names: set[str]) -> Site | None:
    """The first line that names the generator."""
    # One instruction may load two variables, or load one and store another.
    loads = names_of("local", "two locals", "store local", "cell", "global", "attribute")
    for code in codes:
        for instruction in dis.get_instructions(code):
            name, loaded = instruction.opname, instruction.argval
            if name in loads and "LOAD_" in name and not names.isdisjoint(loaded if isinstance(loaded, tuple) else (loaded,)):
                return Site(code, instruction.offset)
    return Site(codes[0], 0) if codes else None


def _warn(message: str) -> None:
    """Warn; unless that raises, enclosing recordings need not warn again."""
    level, frame, stop = 2, sys._getframe(1), user_frame()
    while frame is not None and frame is not stop:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, FrozenRandomWarning, stacklevel=level)
    process.warnings_of_draws += 1


def _generators(
    values: Sequence[object], codes: list[CodeType] | None = None, names: dict[int, set[str]] | None = None
) -> list[PythonValue]:
    """The generators that functions and values lead to: closures, defaults, globals by name, attributes, containers.

    Args:
        codes, names: filled with the code that is visited, and the name of each generator there.
    """
    kinds = generator_kinds()
    found: list[PythonValue] = []
    seen: set[int] = set()
    waiting: list[tuple[PythonValue, str]] = [(value, "") for value in reversed(values)]
    while waiting and len(seen) < MOST_LOOKED_AT:
        value, name = waiting.pop()
        kind = type(value)
        if kind in _SKIPPED:
            continue
        if names is not None:
            names.setdefault(id(value), set()).add(name)
        if id(value) in seen:
            continue
        seen.add(id(value))
        if kind is FunctionType:
            _look_into_function(value, waiting, codes)
        elif isinstance(value, kinds):
            found.append(value)
        else:
            waiting += [(part, further or name) for part, further in _parts(value, kind)]
    return found


def reachable_names(f: object) -> set[str]:
    """The globals and attributes named in the code that a function leads to, as far as it can be followed."""
    codes: list[CodeType] = []
    kind = type(getattr(f, "__self__", f))  # a callable object, or the object of a bound method
    methods = [m for base in kind.__mro__ for m in vars(base).values() if type(m) is FunctionType]
    _generators((f, *methods), codes)
    return {name for code in codes for name in _names_of(code)}


def _look_into_function(function: FunctionType, waiting: list[tuple[PythonValue, str]], codes: list[CodeType] | None) -> None:
    code = function.__code__
    if is_library_file(code.co_filename):
        return
    if codes is not None:
        codes.append(code)
    found = function.__globals__
    for name in _names_of(code):
        value = found.get(name)
        if type(value) not in _SKIPPED:
            waiting.append((value, name))
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):
        try:
            waiting.append((cell.cell_contents, name))
        except ValueError:  # not assigned yet
            continue
    defaults = function.__defaults__
    if defaults:
        waiting += zip(defaults, code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount])
    if function.__kwdefaults__:
        waiting += [(value, name) for name, value in function.__kwdefaults__.items()]


def _parts(value: PythonValue, kind: type) -> list[tuple[PythonValue, str]]:
    if kind is MethodType or kind is BuiltinFunctionType:
        return [(value.__self__, ""), (getattr(value, "__func__", None), "")]
    if kind is functools.partial:
        return [(part, "") for part in (value.func, *value.args, *value.keywords.values())]
    if kind is list or kind is tuple:
        return [(part, "") for part in value[:MOST_ENTRIES]]
    if kind is dict:
        return [(part, "") for _, part in zip(range(MOST_ENTRIES), list(value.values()))]
    attributes = getattr(value, "__dict__", None)
    return [(part, name) for name, part in list(attributes.items())] if type(attributes) is dict else []


def _names_of(code: CodeType) -> tuple[str, ...]:
    """The names, globals included, in a function and its nested functions."""
    names = process.names_in_code
    known = names.get(id(code))
    if known is None:
        inside = (name for c in code.co_consts if isinstance(c, CodeType) for name in _names_of(c))
        drop_oldest(names, 1000)
        known = names[id(code)] = code, tuple(dict.fromkeys((*code.co_names, *inside)))
    return known[1]


def generator_kinds() -> tuple[type, ...]:
    """The classes of generators, of modules that are loaded."""
    module, standard = sys.modules.get("numpy.random"), sys.modules.get("random")
    kinds = () if module is None else (module.Generator, module.RandomState, module.BitGenerator)
    return kinds if standard is None else (*kinds, standard.Random)


def shared_generators() -> list[PythonValue]:
    """The generators of Python and NumPy that have no name, NumPy's last."""
    modules = sys.modules
    found = [modules["random"]._inst] if "random" in modules else []  # type: ignore[attr-defined]
    if "numpy.random.mtrand" in modules:
        found.append(modules["numpy.random.mtrand"]._rand)  # type: ignore[attr-defined]
    return found


def _state(source: PythonValue) -> object:
    """The state of a generator, for comparison with a later one."""
    reader = process.generator_readers.get(id(source))
    if reader is None:
        reader = _reader(source)
        if any(source is s for s in shared_generators()):
            process.generator_readers[id(source)] = reader
    return reader()


def _reader(source: PythonValue) -> Callable[[], object]:
    kind = type(source)
    if kind.__module__ == "random":
        if kind.__name__ == "SystemRandom":
            return lambda: None
        if not _READS_BYTES:
            return source.getstate
        words = _bytes_of(source, sys.modules["_random"].Random.__basicsize__)  # type: ignore[attr-defined]
        return lambda: (words.raw, source.gauss_next)
    if hasattr(source, "bit_generator"):
        return _reader(source.bit_generator)
    if hasattr(source, "_bit_generator"):
        # A RandomState keeps every second normal draw in itself.
        if not _READS_BYTES:
            return lambda: str(source.get_state(legacy=False))
        inner, own = _reader(source._bit_generator), _bytes_of(source, kind.__basicsize__)
        return lambda: (inner(), own.raw)
    if kind.__name__ == "MT19937":
        words = (ctypes.c_char * _MT19937_BYTES).from_address(source.ctypes.state_address)
        return lambda: words.raw
    return lambda: str(source.state)


def _bytes_of(source: object, size: int) -> ctypes.Array[ctypes.c_char]:
    """The memory of an object after its header."""
    return (ctypes.c_char * (size - _HEADER)).from_address(id(source) + _HEADER)


# MT19937's position before the first draw: filled from entropy, or from a seed.
_UNUSED_PLACES = (623, 624)


def _has_drawn_since_import() -> bool:
    """True if NumPy's generator, loaded during the recording (also by SciPy), has left its first position."""
    place = sys.modules["numpy.random.mtrand"]._rand.get_state(legacy=False)["state"]["pos"]  # type: ignore[attr-defined]
    return place not in _UNUSED_PLACES


def _described(source: object, shared: bool) -> str:
    if not shared:
        return f"a {type(source).__name__}"
    return "Python's random" if type(source).__module__ == "random" else "NumPy's global generator, np.random,"
