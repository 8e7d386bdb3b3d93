"""tapediff: a tape-based reverse-mode automatic-differentiation engine for plain NumPy code. The order below is the data flow."""

from .errors import (
    ArgumentMismatch, DtypeMismatch, GuardFailed, GuardWarning, InvalidGuardValue, InvalidRule, InvalidTape, NewTape, NonScalarOutput,
    ShapeMismatch, StaleTape, TapediffError, TrackedValueEscaped, TrackedValueLeaked, UnstableBranch, UnsupportedFunction,
)  # fmt: skip
from .arguments import Constant
from .tape import Tape
from .recorder import is_recording
from .record import record
from .creation import empty, full, ones, zeros
from .compiled import CompiledTape, compile
from .margins import Margin
from .guarded import GuardedTape
from .static import static
from .subtapes import SubTape, checkpoint, subtape
from .primitives import Primitive, primitive
from .control import cond, fori_loop, scan, switch, while_loop
from .derivatives import grad, gradient, hessian, jacobian, stop_gradient, value_and_grad, value_and_gradient
from . import linalg, special, testing

__version__ = "0.1.0"

__all__ = [
    "ArgumentMismatch", "CompiledTape", "Constant", "DtypeMismatch", "GuardFailed", "GuardWarning", "GuardedTape",
    "InvalidGuardValue", "InvalidRule", "InvalidTape", "Margin", "NewTape", "NonScalarOutput", "Primitive", "ShapeMismatch",
    "StaleTape", "SubTape", "Tape", "TapediffError", "TrackedValueEscaped", "TrackedValueLeaked", "UnstableBranch",
    "UnsupportedFunction", "checkpoint", "compile", "cond", "empty", "fori_loop", "full", "grad", "gradient", "hessian",
    "is_recording", "jacobian", "linalg", "ones", "primitive", "record", "scan", "special", "static", "stop_gradient", "subtape",
    "switch", "testing", "value_and_grad", "value_and_gradient", "while_loop", "zeros",
]  # fmt: skip
