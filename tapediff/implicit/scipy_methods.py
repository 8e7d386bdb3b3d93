"""SciPy's solvers: called in Python, from kernels too."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable, Mapping
from types import ModuleType

import numpy as np

from ..errors import NotConverged
from ..functions.callees.recorded_callee import RecordedCallee
from ..functions.primitive import Primitive
from ..ir.instruction import Operand
from .equation import Equation

# solver(functions, x0): the functions take x of any shape, and return plain values.
Solver = Callable[[list[Callable[[Operand], Operand]], Operand], Operand]


def solved(equation: Equation, key: Hashable, solver: Solver, *callees: RecordedCallee) -> Operand:
    """What SciPy finds; one call of Python at every replay, which solves the equation at the values of then."""
    first, *_ = callees
    make = lambda: Primitive(_forward(solver, callees), None, equation.name, False)  # noqa: E731 -- its name is its use
    return first.once(("solved", key), make)(*equation.operands(equation.x0))


def _forward(solver: Solver, callees: tuple[RecordedCallee, ...]) -> Callable[..., tuple[np.ndarray, None]]:
    def forward(x0: Operand, *others: Operand) -> tuple[np.ndarray, None]:
        def at(callee: RecordedCallee) -> Callable[[Operand], Operand]:
            return lambda x: callee.run(None, [x, *others])[0][0]

        found = solver([at(callee) for callee in callees], x0)
        return np.reshape(np.asarray(found, float), np.shape(x0)), None

    return forward


def by_root(name: str, site: object, method: str, tol: float | None, options: Mapping[str, object]) -> Solver:
    def solver(functions: list[Callable[[Operand], Operand]], x0: Operand) -> Operand:
        function, *slope = functions
        shape = np.shape(x0)
        flat = lambda x: np.ravel(function(np.reshape(x, shape)[()]))  # noqa: E731
        slope_at = (lambda x: slope[0](np.reshape(x, shape)[()])) if slope and method in ("hybr", "lm") else None
        result = _scipy().root(flat, np.ravel(x0), method=method, jac=slope_at, tol=tol, options=dict(options))
        return _checked(result, name, site, method)

    return solver


def by_minimize(name: str, site: object, method: str, tol: float | None, options: Mapping[str, object]) -> Solver:
    def solver(functions: list[Callable[[Operand], Operand]], x0: Operand) -> Operand:
        objective, gradient = functions
        shape = np.shape(x0)
        of = lambda x: float(objective(np.reshape(x, shape)[()]))  # noqa: E731
        slope = None if method in WITHOUT_GRADIENT else lambda x: np.ravel(gradient(np.reshape(x, shape)[()]))
        result = _scipy().minimize(of, np.ravel(x0), method=method, jac=slope, tol=tol, options=dict(options))
        return _checked(result, name, site, method)

    return solver


WITHOUT_GRADIENT = {"Nelder-Mead", "nelder-mead", "Powell", "powell", "COBYLA", "cobyla", "COBYQA", "cobyqa"}


def by_fixed_point(name: str, site: object, method: str, tol: float | None, max_steps: int) -> Solver:
    def solver(functions: list[Callable[[Operand], Operand]], x0: Operand) -> Operand:
        (residual,) = functions
        try:
            return _scipy().fixed_point(
                lambda x: residual(x) + x, x0, method=method, xtol=1e-12 if tol is None else tol, maxiter=max_steps
            )
        except RuntimeError as error:
            raise _not_converged(name, site, method, str(error)) from error

    return solver


def _checked(result: Mapping[str, object], name: str, site: object, method: str) -> Operand:
    if not result["success"]:
        raise _not_converged(name, site, method, str(result["message"]))
    return result["x"]


def _not_converged(name: str, site: object, method: str, message: str) -> NotConverged:
    return NotConverged(
        f"{name} by {method} has not converged", at=site, got=" ".join(message.split()),
        fix="start nearer to the solution, take another method=, or give options=",
    )  # fmt: skip


def _scipy() -> ModuleType:
    """Imported when called: scipy.optimize takes longer than the rest of tapediff."""
    return importlib.import_module("scipy.optimize")
