"""FixedCalls: a target as a function of one vector with all else fixed, called from Python in the kernel's time plus 0.1 µs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...base.fork_locks import new_lock
from ...base.held_locks import holding
from ...compiler.runtime.status import KEPT
from ...errors import ArgumentMismatch
from ...functions.captured.environment_check import EnvironmentCheck
from ...ir.arguments import Constant
from ...ir.instruction import FLOAT64, Tree
from ...recording.arguments.size_arguments import OFTEN
from ..backends import NATIVE
from .fast_path import unknown_yet

# A CompiledTape or a GuardedTape.
Owner: TypeAlias = Any
# A native.c_function.CFunction.
CFunction: TypeAlias = Any
# A builtin of a vector and an array for the gradient; returns the value, a float, on success.
Builtin: TypeAlias = Callable[..., object]


def _never(_: Sequence[Tree]) -> bool:
    return False


NUMBERS = (float, int, str, bool, type(None), np.number, np.bool_)


class FixedCalls:
    """Native calls of a target at vectors. `learn`, called after Python has answered, makes them.

    The builtins read data arrays in place, as a call by Python does. They take float64 vectors of one size. For anything else, or
    if an exception waits for `raise_kept`, they return something other than a float.

    Attributes:
        value: called with a vector. gradient: value and gradient, called with a vector and an array for the gradient.
        negative_value, negative_gradient: the same with opposite signs.
        size: of the gradient.
    """

    __slots__ = (
        "_args", "_check", "_errors", "_has_waited", "_lock", "_owned", "_postponed", "_target", "_tried", "gradient", "negative_gradient",
        "negative_value", "size", "value",
    )  # fmt: skip

    def __init__(self, target: Owner, args: Sequence[Tree], *, owned: bool = False) -> None:
        """Fix `target(x, *args)`. `owned`: dicts among the arguments belong to the caller and never change."""
        self._target, self._owned, self._lock = target, owned, new_lock()
        self.reset(args)

    @holding("_lock")
    def reset(self, args: Sequence[Tree], *, off: bool = False) -> None:
        """Set other arguments: drops the native calls, for good if `off`."""
        self._args, self._errors, self.size, self._postponed, self._has_waited = args, None, 0, 0, False
        self._check: EnvironmentCheck | None = None
        self.value: Builtin = unknown_yet
        self.gradient: Builtin = unknown_yet
        self.negative_value: Builtin = unknown_yet
        self.negative_gradient: Builtin = unknown_yet
        # The kinds and sizes of vectors that `learn` was called with; None if no call can be native.
        self._tried = None if off or not all(_is_fixed(arg, self._owned) for arg in args) else set[tuple[str, int]]()

    def learn(self, kind: str, x: Tree) -> None:
        """Make the next calls native at vectors like x, if possible; kind is "value" or "gradient"."""
        if self._check is not None and not self._check.is_same():
            self.reset(self._args, off=self._tried is None)  # the target's environment has changed
        tried, args = self._tried, self._args
        if tried is None or not isinstance(x, np.ndarray) or x.ndim != 1 or x.dtype is not FLOAT64 or (kind, x.size) in tried:
            return
        if self._postponed:
            self._postponed -= 1
            return
        # If Python selects the tape, native code has to call it, which takes longer.
        if self._target.backend == NATIVE and getattr(self._target, "chooses_natively", True):
            if not self._has_waited and getattr(self._target, "is_of_sizes", _never)((x, *args)):
                # Native calls need a tape for these sizes: for arguments that stay.
                self._postponed, self._has_waited = OFTEN, True
                return
            tried.add((kind, x.size))
            try:
                function = self._target.c_function(kind, x, *args)
            except ArgumentMismatch:  # such as more arrays than native calls take
                return
            is_alike = function.sizes == (x.size, 1 if kind == "value" else x.size)
            if is_alike and function.share_constants(x, *args):  # it reads the data in place
                self._use(kind, x, args, function)

    @holding("_lock")
    def _use(self, kind: str, x: np.ndarray, args: Sequence[Tree], function: CFunction) -> None:
        if args is not self._args:  # arguments were replaced meanwhile
            return
        self._errors, self._check = function, self._target.environment_check
        checked = (lambda call: call) if self._check is None else self._check.checked
        if kind == "value":
            self.value, self.negative_value = checked(function.builtin()), checked(function.builtin(negate=True))
        else:
            self.size = x.size
            self.gradient, self.negative_gradient = checked(function.builtin()), checked(function.builtin(negate=True))

    def raise_kept(self, status: object) -> None:
        """Raise the pending exception of a builtin, if its status says so. For any other status Python has to answer."""
        if type(status) is int and status == KEPT and self._errors is not None:
            raised = self._errors.take_own_error()
            if raised is not None:
                raise raised


def _is_fixed(argument: Tree, owned: bool) -> bool:
    """True if only the numbers in an argument's arrays can change."""
    if isinstance(argument, Constant):
        argument = argument.value
    if type(argument) is dict:
        return owned and all(_is_fixed(part, False) for part in argument.values())
    if type(argument) is tuple:
        return all(_is_fixed(part, False) for part in argument)
    return type(argument) is np.ndarray or isinstance(argument, NUMBERS)
