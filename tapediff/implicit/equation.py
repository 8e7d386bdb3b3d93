"""An equation residual(x, *args) = 0 inside a recording: its callees, and the instruction of its solution."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..base.source_location import user_site
from ..errors import DtypeMismatch, ShapeMismatch
from ..functions.callees.body import Body, as_operand, kept_callee, type_of, value_of
from ..functions.callees.recorded_callee import RecordedCallee
from ..functions.captured.freeze import freeze
from ..ir.instruction import FLOAT64, Operand, Tree, is_tracked
from ..ir.pytree import flatten
from ..numpy_api.joining import as_value
from ..ops.control.solution import SOLUTION
from ..ops.elementwise.arithmetic import CONVERT
from ..ops.elementwise.structure import STOP_GRADIENT
from ..targets.operators import matrices

# residual(f, x, *args): to be zero.
Residual = Callable[..., Operand]


class Equation:
    """residual(f, x, *args) = 0, an equation for x.

    Args:
        name: of the verb, in messages.
        f: the user's function; tracked values that it closes over become arguments too.
        residual: one of the functions of solvers.py.
        x0: the start, a float64 array or number without derivative.
    """

    def __init__(self, name: str, f: Callable[..., Operand], residual: Residual, x0: Operand, args: tuple[Tree, ...]) -> None:
        self.name, self.f, self.x0, self.args = name, f, x0, args
        self._residual = _checked(name, residual, np.shape(x0))
        self.site = user_site()
        self._leaves, self._treedef = flatten((x0, *args), arguments=True)
        self._frozen = freeze(f)

    @property
    def is_tracked(self) -> bool:
        return bool(self._frozen.tracked) or any(map(is_tracked, self._leaves))

    # Closures of x alone, not methods, so that loops see the tracked values that they hold.

    @property
    def residual(self) -> Callable[[Operand], Operand]:
        residual, f, args = self._residual, self.f, self.args
        return lambda x: residual(f, x, *args)

    @property
    def residual_and_slope(self) -> Callable[[Operand], tuple[Operand, Operand]]:
        """The residual, and its derivative in x as a matrix."""
        residual = self.residual

        def of(x: Operand) -> tuple[Operand, Operand]:
            value, slope = matrices.value_and_jacobian(residual, x)
            return value, _matrix(slope, x)

        return of

    @property
    def value(self) -> Callable[[Operand], Operand]:
        """The user's function of x."""
        f, args = self.f, self.args
        return lambda x: f(x, *args)

    # As callees

    def solution(self, found: Operand) -> Operand:
        """Mark a value as the solution of the equation: one instruction."""
        operands = self.operands(found)
        values = [value_of(operand) for operand in operands]
        for callee in (self.residual_callee, self.slope_callee):
            callee.ensure(values)
        return SOLUTION(
            STOP_GRADIENT(operands[0]), *operands[1:], residual=self.residual_callee, slope=self.slope_callee
        )

    def operands(self, x: Operand) -> list[Operand]:
        """The operands of the callees: x, the leaves of the arguments, and the tracked values that f closes over."""
        return [as_operand(leaf) for leaf in (x, *self._leaves[1:])] + self._frozen.tracked

    @property
    def residual_callee(self) -> RecordedCallee:
        return self.callee("residual", self._residual)

    @property
    def slope_callee(self) -> RecordedCallee:
        residual = self._residual
        return self.callee("slope", lambda f, x, *args: _matrix(matrices.jacobian(lambda x: residual(f, x, *args), x), x))

    @property
    def value_callee(self) -> RecordedCallee:
        return self.callee("value", lambda f, x, *args: f(x, *args))

    def callee(self, part: str, function: Callable[..., Operand]) -> RecordedCallee:
        """A function of f, x and the arguments as a callee; one for each name of a part, which says what it is."""
        name = f"the {part} of {self.name} of {getattr(self.f, '__name__', 'f')}"
        types = [type_of(operand) for operand in self.operands(self.x0)]
        make = lambda: Body(name, self._frozen, self._treedef, lambda fs, tree: function(fs[0], *tree))  # noqa: E731
        return kept_callee(name, self._treedef, self._frozen, types, make)[0]


def _matrix(slope: Operand, x: Operand) -> Operand:
    return np.reshape(slope, (np.size(x), np.size(x)))


def _checked(name: str, residual: Residual, shape: tuple[int, ...]) -> Residual:
    def checked(f: Callable[..., Operand], x: Operand, *args: Tree) -> Operand:
        found = residual(f, x, *args)
        if np.shape(found) != shape:
            raise ShapeMismatch(
                f"{name} has as many equations as unknowns", got=f"{np.shape(found)} from the function for x of shape {shape}",
                fix="return an array of the shape of x",
            )  # fmt: skip
        return found

    return checked


def as_start(name: str, x0: Operand) -> Operand:
    """x0 as a new float array, without derivative."""
    x0 = x0 if is_tracked(x0) else as_value(x0)
    if x0.dtype.kind not in "fiu":
        raise DtypeMismatch(f"the start of {name} is an array of real numbers", got=f"dtype {x0.dtype}")
    if is_tracked(x0):
        return STOP_GRADIENT(x0 if x0.dtype == FLOAT64 else CONVERT(x0, dtype=FLOAT64))
    return np.array(x0, dtype=float)[()]
