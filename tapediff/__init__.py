"""tapediff: a tape-based reverse-mode automatic-differentiation engine for plain NumPy code. The order below is the data flow."""

from .errors import (
    ArgumentMismatch, DtypeMismatch, GuardFailed, GuardWarning, InvalidGuardValue, InvalidTape, NewTape, NonScalarOutput, ShapeMismatch,
    StaleTape, TapediffError, TrackedValueEscaped, TrackedValueLeaked, UnstableBranch, UnsupportedFunction,
)  # fmt: skip
from .arguments import Constant
from .tape import Tape
from .recorder import is_recording
from .record import record
from .creation import empty, full, ones, zeros
from .compiled import CompiledTape, compile
from .margins import Margin
from .guarded import GuardedTape
from .derivatives import grad, gradient, hessian, jacobian, stop_gradient, value_and_grad, value_and_gradient
from . import linalg, special, testing

__version__ = "0.1.0"

__all__ = [
    "ArgumentMismatch", "CompiledTape", "Constant", "DtypeMismatch", "GuardFailed", "GuardWarning", "GuardedTape",
    "InvalidGuardValue", "InvalidTape", "Margin", "NewTape", "NonScalarOutput", "ShapeMismatch", "StaleTape",
    "Tape", "TapediffError", "TrackedValueEscaped", "TrackedValueLeaked", "UnstableBranch", "UnsupportedFunction",
    "compile", "empty", "full", "grad", "gradient", "hessian", "is_recording", "jacobian", "linalg", "ones", "record", "special",
    "stop_gradient", "testing", "value_and_grad", "value_and_gradient", "zeros",
]  # fmt: skip
