"""tapediff: a tape-based reverse-mode automatic-differentiation engine for plain NumPy code. The order below is the data flow.

A module is loaded when a name of it is first used: importing everything takes three times as long as importing NumPy where no byte code
is kept, and a program that only catches td.TapediffError, or a process that only unpickles, needs little of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import forks as forks  # first, so that no other module is half imported in a child

if TYPE_CHECKING:  # what type checkers and editors read; a test holds it equal to HOME
    from .errors import (
        ArgumentMismatch, DtypeMismatch, FrozenRandomWarning, GuardFailed, GuardWarning, InvalidGuardValue, InvalidRule, InvalidTape,
        LoopTooLong, NewTape, NonScalarOutput, ShapeMismatch, StaleTape, TapediffError, TrackedValueEscaped, TrackedValueLeaked,
        UnstableBranch, UnsupportedFunction,
    )  # fmt: skip
    from .arguments import Constant
    from .tape import Tape
    from .recorder import is_recording
    from .recording import record
    from .creation import empty, full, ones, zeros
    from .compiled import CompiledTape, compile
    from .margins import Margin
    from .guarded import GuardedTape
    from .static_arguments import static
    from .subtapes import SubTape, checkpoint, subtape
    from .primitives import Primitive, primitive
    from .control import cond, fori_loop, scan, switch, while_loop
    from .derivatives import grad, gradient, hessian, jacobian, stop_gradient, value_and_grad, value_and_gradient
    from . import linalg, special, testing

__version__ = "0.1.0"

__all__ = [
    "ArgumentMismatch", "CompiledTape", "Constant", "DtypeMismatch", "FrozenRandomWarning", "GuardFailed", "GuardWarning", "GuardedTape",
    "InvalidGuardValue", "InvalidRule", "InvalidTape", "LoopTooLong", "Margin", "NewTape", "NonScalarOutput", "Primitive", "ShapeMismatch",
    "StaleTape", "SubTape", "Tape", "TapediffError", "TrackedValueEscaped", "TrackedValueLeaked", "UnstableBranch",
    "UnsupportedFunction", "checkpoint", "compile", "cond", "empty", "fori_loop", "full", "grad", "gradient", "hessian",
    "is_recording", "jacobian", "linalg", "ones", "primitive", "record", "scan", "special", "static", "stop_gradient", "subtape",
    "switch", "testing", "value_and_grad", "value_and_gradient", "while_loop", "zeros",
]  # fmt: skip

MODULES = {
    "errors": (
        "ArgumentMismatch DtypeMismatch FrozenRandomWarning GuardFailed GuardWarning InvalidGuardValue InvalidRule InvalidTape LoopTooLong "
        "NewTape NonScalarOutput ShapeMismatch StaleTape TapediffError TrackedValueEscaped TrackedValueLeaked UnstableBranch "
        "UnsupportedFunction"
    ),
    "arguments": "Constant",
    "tape": "Tape",
    "recorder": "is_recording",
    "recording": "record",
    "creation": "empty full ones zeros",
    "compiled": "CompiledTape compile",
    "margins": "Margin",
    "guarded": "GuardedTape",
    "static_arguments": "static",
    "subtapes": "SubTape checkpoint subtape",
    "primitives": "Primitive primitive",
    "control": "cond fori_loop scan switch while_loop",
    "derivatives": "grad gradient hessian jacobian stop_gradient value_and_grad value_and_gradient",
}
"""The public names of each module. No module is called like one of them: loading it would put the module in the name's place."""

HOME = {name: module for module, names in MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """The public name or module of tapediff, loaded now (PEP 562); from then on it is an attribute like any other."""
    if name.startswith("__"):  # asked for by inspect, doctest, pickle: never a module
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in HOME:
        found = globals()[name] = getattr(import_module(f".{HOME[name]}", __name__), name)
        return found
    try:
        return import_module(f".{name}", __name__)
    except ModuleNotFoundError as missing:
        if missing.name != f"{__name__}.{name}":
            raise  # a module of tapediff, and what it needs is not installed
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
