"""SciPy's solvers: called in Python, from kernels too."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType

import numpy as np

from ..errors import NotConverged
from ..functions.callees.recorded_callee import RecordedCallee
from ..functions.primitive import Primitive
from ..ir.instruction import Operand, Tree
from .equation import Equation

Function = Callable[[Operand], Operand]


@dataclass(frozen=True)
class Solver:
    """One of SciPy's methods.

    Attributes:
        name, site: of the call, in messages.
        method, tol, options: SciPy's arguments.
    """

    name: str
    site: str
    method: str
    tol: float | None
    options: Mapping[str, object]

    def __call__(self, functions: Sequence[Function], x0: Operand) -> Operand:
        """Solve; the functions take x in its shape, and return plain values."""
        raise NotImplementedError

    @property
    def key(self) -> Hashable:
        options = tuple(sorted((name, repr(value)) for name, value in self.options.items()))
        return type(self).__name__, self.site, self.method, self.tol, options

    def checked(self, result: Mapping[str, object]) -> Operand:
        if not result["success"]:
            raise self.not_converged(str(result["message"]))
        return result["x"]

    def not_converged(self, message: str) -> NotConverged:
        return NotConverged(
            f"{self.name} by {self.method} has not converged", at=self.site, got=" ".join(message.split()),
            fix="start nearer to the solution, take another method=, or give options=",
        )  # fmt: skip


class Root(Solver):
    """scipy.optimize.root; the functions are the residual and, in a recording, the slope."""

    def __call__(self, functions: Sequence[Function], x0: Operand) -> Operand:
        residual, *slope = (_of_flat(function, np.shape(x0)) for function in functions)
        exact = slope[0] if slope and self.method in ("hybr", "lm") else None
        flat = lambda x: np.ravel(residual(x))  # noqa: E731 -- its name is its use
        result = _scipy().root(flat, np.ravel(x0), method=self.method, jac=exact, tol=self.tol, options=dict(self.options))
        return self.checked(result)


WITHOUT_GRADIENT = {"nelder-mead", "powell", "cobyla", "cobyqa"}


class Minimum(Solver):
    """scipy.optimize.minimize; the functions are the objective and its gradient."""

    def __call__(self, functions: Sequence[Function], x0: Operand) -> Operand:
        objective, gradient = (_of_flat(function, np.shape(x0)) for function in functions)
        slope = None if self.method.lower() in WITHOUT_GRADIENT else lambda x: np.ravel(gradient(x))
        of = lambda x: float(objective(x))  # noqa: E731 -- its name is its use
        result = _scipy().minimize(of, np.ravel(x0), method=self.method, jac=slope, tol=self.tol, options=dict(self.options))
        return self.checked(result)


class FixedPoint(Solver):
    """scipy.optimize.fixed_point; the function is f(x) - x."""

    def __call__(self, functions: Sequence[Function], x0: Operand) -> Operand:
        (change,) = functions
        try:
            return _scipy().fixed_point(lambda x: change(x) + x, x0, method=self.method, **self.options)
        except RuntimeError as error:
            raise self.not_converged(str(error)) from error


def solved(equation: Equation, solver: Solver, *callees: RecordedCallee) -> Operand:
    """Solve with SciPy; one call of Python at every replay, with the values of that replay."""
    return called(equation, solver.key, partial(_like_start, solver), callees)


def _like_start(solver: Solver, functions: Sequence[Function], x0: Operand) -> Operand:
    return np.reshape(np.asarray(solver(functions, x0), float), np.shape(x0))


def called(
    equation: Equation, key: Hashable, solve: Callable[..., Tree], callees: Sequence[RecordedCallee], starts: Sequence[Operand] = ()
) -> Tree:
    """solve(functions, x0, *starts) at every replay, with the callees as plain functions of x; its results have no derivative rule.

    Args:
        solve: a function of a module, or a partial of one, so that tapes can be pickled.
        key: equal for calls that compute the same.
        starts: further plain or tracked operands.
    """
    make = lambda: Primitive(_Forward(solve, tuple(callees), len(starts)), None, equation.name, False)  # noqa: E731 -- its name is its use
    return callees[0].once(("solved", key), make)(*equation.operands(equation.x0), *starts)


@dataclass(frozen=True)
class _Forward:
    """The function of the primitive: of x0, the callees' other operands, and the further starts."""

    solve: Callable[..., Tree]
    callees: tuple[RecordedCallee, ...]
    start_count: int

    def __call__(self, x0: Operand, *others: Operand) -> tuple[Tree, None]:
        count = len(others) - self.start_count
        return self.solve([_at(callee, others[:count]) for callee in self.callees], x0, *others[count:]), None


def _at(callee: RecordedCallee, others: Sequence[Operand]) -> Function:
    return lambda x: callee.run(None, [x, *others])[0][0]


def _of_flat(function: Function, shape: tuple[int, ...]) -> Function:
    return lambda x: function(np.reshape(x, shape)[()])


def _scipy() -> ModuleType:
    """Imported when called: scipy.optimize takes longer than the rest of tapediff."""
    return importlib.import_module("scipy.optimize")
