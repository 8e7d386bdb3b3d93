"""While something is recorded, plain Python functions of SciPy answer tracked arguments as this package's do.

SciPy converts arguments before it computes anything. So the names in its modules are replaced, during recordings only, by functions that
check the arguments first; without a tracked one, also among the variables of a function that is an argument, they call SciPy's own.

A name imported before (`from scipy.linalg import solve`) refers to SciPy's own function. A recording that is refused by one restarts,
and from then on the code of the function itself is replaced, during recordings, by code that checks the arguments first. So are those
of solvers and integrators always: they call one another, and some would be recorded, with all their steps.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import cache, partial
from importlib import import_module
from operator import itemgetter
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import NamedTuple

from ...base.current_recording import current_recorder
from ...ir.instruction import Operand
from ...numpy_api import alternatives
from ...numpy_api.creating import holds_tracked
from .object_snapshot import PLAIN
from .process_state import process
from .replacement import Replacement, standing_for

# Functions by name.
Functions = dict[str, Callable[..., Operand]]

_NAMES = {"linalg": alternatives.LINALG, "special": alternatives.SPECIAL, **alternatives.SCIPY}

MODULES = frozenset(f"scipy.{short}" for short in _NAMES)


class _Replacement(Replacement):
    """Pickles as the function that it replaces, which its name does not find."""

    __slots__ = ()

    def __reduce__(self) -> tuple[object, ...]:
        return _same, (self.original,)


def _same(function: Callable[..., Operand]) -> Callable[..., Operand]:
    return function


def put(replaced: bool) -> None:
    """Put the replacements into SciPy's modules, or the originals back; skip modules that are not imported."""
    forwarded = list(process.forwarded)
    for short, names in _NAMES.items():
        module = sys.modules.get(f"scipy.{short}")
        if module is None or names[-1] not in vars(module):  # another thread may be importing it
            continue
        if short in alternatives.WITH_FUNCTIONS:
            forwarded += _keys(short)
            continue
        look_up, own, ours = _functions(short)
        _put(vars(module), look_up, *((own, ours) if replaced else (ours, own)))
    for key in forwarded:
        function, own_code, ours_code, _ = _forwarded(*key)
        before, after = (own_code, ours_code) if replaced else (ours_code, own_code)
        if function.__code__ is before:
            function.__code__ = after


@cache
def _keys(short: str) -> list[tuple[str, str]]:
    return [(short, name) for name in _NAMES[short]]


def forward(called: str) -> bool:
    """Note that recordings meet a SciPy function under a name imported earlier. True if there is a replacement.

    Args:
        called: the function with its module.
    """
    module, _, name = called.rpartition(".")
    short = module.removeprefix("scipy.")
    is_replaced = short not in alternatives.WITH_FUNCTIONS and name in _NAMES.get(short, ())
    is_known = is_replaced and isinstance(_functions(short)[1][name], FunctionType)
    if is_known:
        process.forwarded[short, name] = None
    return is_known


def scipys_own(short: str, name: str) -> Callable[..., Operand]:
    """SciPy's function itself, also while it is replaced."""
    import_module(f"scipy.{short}")
    original = _functions(short)[1][name]
    return _forwarded(short, name).copy if isinstance(original, FunctionType) else original


def _put(namespace: dict[str, Operand], look_up: Callable[..., Operand], before: Functions, after: Functions) -> None:
    """Replace the names, except those that someone else has replaced meanwhile."""
    if look_up(namespace) == tuple(before.values()):
        namespace.update(after)
        return
    for name, function in after.items():
        if namespace.get(name) is before[name]:
            namespace[name] = function


@cache
def _functions(short: str) -> tuple[Callable[..., Operand], Functions, Functions]:
    """A getter of the names, SciPy's own functions, and their replacements."""
    namespace = vars(sys.modules[f"scipy.{short}"])
    own = {name: namespace[name] for name in _NAMES[short]}
    return itemgetter(*own), own, {name: _replacement(function, short) for name, function in own.items()}


class _Forwarded(NamedTuple):
    """A function of SciPy's with its own code, the code that it has during recordings, and a copy with its own code always."""

    function: FunctionType
    own: CodeType
    ours: CodeType
    copy: FunctionType


@cache
def _forwarded(short: str, name: str) -> _Forwarded:
    function = _functions(short)[1][name]
    assert isinstance(function, FunctionType)
    own = function.__code__
    copy = FunctionType(own, function.__globals__, name, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return _Forwarded(function, own, _code_that_calls(_looks_first(copy, short, name), own), copy)


def _code_that_calls(target: Callable[..., Operand], like: CodeType) -> CodeType:
    """The code of a function that forwards its arguments to another, to replace that of `like`: it has as many cells."""
    cells = [f"cell{k}" for k in range(len(like.co_freevars))]
    lines = [
        "def outer():", *(f"    {cell} = None" for cell in cells), "    def inner(*args, **named):",
        f"        ({''.join(f'{cell}, ' for cell in cells)})", f"        target = {_TARGET!r}", "        return target(*args, **named)",
        "    return inner",
    ]  # fmt: skip
    made: dict[str, Callable[[], FunctionType]] = {}
    exec("\n".join(lines), made)
    code = made["outer"]().__code__
    constants = tuple([target if constant == _TARGET else constant for constant in code.co_consts])
    # Errors and refusals then treat it as SciPy's.
    return code.replace(
        co_consts=constants, co_filename=like.co_filename, co_firstlineno=like.co_firstlineno, co_name=like.co_name,
        co_qualname=like.co_qualname,
    )  # fmt: skip


_TARGET = "target of a call"


def _looks_first(original: Callable[..., Operand], short: str, name: str) -> Callable[..., Operand]:
    concerns = _concerns if short in alternatives.WITH_FUNCTIONS else holds_tracked

    def call(*args: Operand, **named: Operand) -> Operand:
        if current_recorder() is None or not (any(map(concerns, args)) or any(map(concerns, named.values()))):
            return original(*args, **named)
        # Above this folder, and needed by few programs.
        room = f"scipy.{short.rpartition('.')[2]}" if short in alternatives.SCIPY else short
        return getattr(import_module(f"{__name__.partition('.')[0]}.{room}"), name)(*args, **named)

    return call


def _concerns(value: Operand) -> bool:
    """True for a tracked value, or one among what a container, an object or a function of the program holds."""
    pending, seen = [value], set[int]()
    while pending and len(seen) < _MOST_HELD:
        value = pending.pop()
        if holds_tracked(value):
            return True
        if id(value) not in seen:
            seen.add(id(value))
            pending += [part for part in _held_by(value) if type(part) not in PLAIN]
    return False


# Objects that are looked at for tracked values.
_MOST_HELD = 10_000


def _held_by(value: Operand) -> Iterable[Operand]:
    kind = type(value)
    if kind is FunctionType:
        cells = [cell.cell_contents for cell in value.__closure__ or () if cell != CellType()]
        return [*cells, *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
    if kind is MethodType:
        return value.__self__, value.__func__
    if kind is partial:
        return value.func, *value.args, *value.keywords.values()
    if isinstance(value, (list, tuple, dict)):
        return value.values() if isinstance(value, dict) else value
    is_library = kind.__module__.partition(".")[0] in ("numpy", "scipy", "tapediff") and not hasattr(kind, "_tapediff_rebuilt")
    return () if is_library or isinstance(value, (type, ModuleType)) else getattr(value, "__dict__", {}).values()


def _replacement(original: Callable[..., Operand], short: str) -> Replacement:
    return standing_for(original, _looks_first(original, short, original.__name__), _Replacement)
