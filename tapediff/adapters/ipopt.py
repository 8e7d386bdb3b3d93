"""Ipopt: nonlinear programs with exact sparse Jacobians and Hessians.

`pip install 'tapediff[optimisation]'` installs ipyopt, which includes Ipopt; tried with 0.12. cyipopt, which is built against an installed
Ipopt, works too; tried with 1.7. Sources: Ipopt's TNLP interface, the references of ipyopt and cyipopt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np

from ..errors import ArgumentMismatch
from ..ir.instruction import Tree
from ..targets.guarded_tape import GuardedTape
from ..targets.operators.sparse import sparse_hessian, sparse_jacobian
from .scipy import Objective, Residuals

Array: TypeAlias = np.ndarray
# A scipy.sparse array.
Sparse: TypeAlias = Any
# A module that may not be installed.
Foreign: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Solution:
    """Ipopt's result.

    Attributes:
        x: the point.
        value: the objective there.
        multipliers: of the constraints.
        status: Ipopt's; 0 if it has converged.
    """

    x: Array
    value: float
    multipliers: Array
    status: int


class Program:
    """Minimise f(x) with `lower <= g(x) <= upper` and `bounds[0] <= x <= bounds[1]`: `Program(f, x0, g, lower=0, upper=1).solve()`.

    Args:
        f: a function in plain NumPy of a vector of float64, to a number.
        start: a point; the sparsity is that of the path there.
        g: the constraints, to a vector; none unless given.
        lower, upper: of the constraints, numbers or vectors; equal for equalities.
        bounds: of x.
        args: further arguments of both, td.Constant for data.

    It is a problem object for cyipopt too: `cyipopt.Problem(n, m, problem_obj=program, lb=..., ub=..., cl=..., cu=...)` calls objective,
    gradient, constraints, jacobian, jacobianstructure, hessian and hessianstructure. An infinite or NaN value or a failed factorisation
    gives infinity, from which Ipopt steps back. Other errors are raised by `solve`.

    Cost: of a Hessian of the Lagrangian, as td.sparse_hessian.
    """

    def __init__(
        self, f: Callable[..., Tree], start: Array, g: Callable[..., Tree] | None = None, *, lower: Tree = 0.0, upper: Tree = 0.0,
        bounds: tuple[Tree, Tree] = (-np.inf, np.inf), args: tuple[Tree, ...] = (),
    ) -> None:  # fmt: skip
        self.start, self._args = np.array(start, dtype=np.float64), args
        none = lambda x, *rest: np.zeros(0)  # noqa: E731 -- constraints that there are not
        self._objective, self._constraints = Objective(f, *args), None if g is None else Residuals(g, *args)
        constraints = none if g is None else g

        def lagrangian(x: Tree, multipliers: Tree, factor: Tree, *rest: Tree) -> Tree:
            value = factor * f(x, *rest)
            return value if g is None else value + np.sum(multipliers * constraints(x, *rest))

        self._lagrangian = GuardedTape(lagrangian)
        m = self.constraints(self.start).size
        self._jacobian = None if self._constraints is None else Pattern(self._sparse_jacobian(self.start))
        self._hessian = Pattern(self._sparse_hessian(self.start, np.ones(m), 1.0), lower=True)
        self.limits = tuple(np.broadcast_to(np.asarray(b, dtype=np.float64), n).copy()
                            for b, n in ((bounds[0], start.size), (bounds[1], start.size), (lower, m), (upper, m)))  # fmt: skip

    def objective(self, x: Array) -> float:
        """The objective f."""
        return self._objective(x)

    def gradient(self, x: Array) -> Array:
        """The gradient of f."""
        return self._objective.jac(x)

    def constraints(self, x: Array) -> Array:
        """The constraints g."""
        if self._constraints is None:
            return np.zeros(0)
        try:
            return self._constraints(x)
        except np.linalg.LinAlgError:
            return np.full(self.limits[2].size, np.inf)

    def jacobian(self, x: Array) -> Array:
        """The entries of the Jacobian of g, in the order of `jacobianstructure`."""
        return np.zeros(0) if self._jacobian is None else self._jacobian.entries(self._sparse_jacobian(x))

    def jacobianstructure(self) -> tuple[Array, Array]:
        """Rows and columns of the entries that may differ from 0."""
        return (np.zeros(0, int), np.zeros(0, int)) if self._jacobian is None else self._jacobian.places

    def hessian(self, x: Array, multipliers: Array, factor: float) -> Array:
        """The entries of the Hessian of `factor * f + sum(multipliers * g)`, of its lower triangle."""
        return self._hessian.entries(self._sparse_hessian(x, multipliers, factor))

    def hessianstructure(self) -> tuple[Array, Array]:
        """Rows and columns of the entries of `hessian`."""
        return self._hessian.places

    def solve(self, start: Array | None = None, **options: str | float) -> Solution:
        """Solve by ipyopt, or by cyipopt if only that is installed.

        Args:
            start: a point; the program's unless given.
            options: of Ipopt: tol, max_iter, print_level=5 to see its steps, ...

        Raises:
            ImportError: neither is installed.
        """
        point = np.array(self.start if start is None else start, dtype=np.float64)
        given = {"print_level": 0, "sb": "yes", **options}
        for library, solved in (("ipyopt", self._by_ipyopt), ("cyipopt", self._by_cyipopt)):
            if find_spec(library) is not None:
                return solved(import_module(library), point, given)
        raise ImportError("solve needs ipyopt or cyipopt; fix: pip install 'tapediff[optimisation]'")

    def _by_ipyopt(self, library: Foreign, start: Array, options: Mapping[str, str | float]) -> Solution:
        low, high, g_low, g_high = self.limits
        calls = _Calls()
        problem = library.Problem(
            low.size, low, high, g_low.size, g_low, g_high, self.jacobianstructure(), self.hessianstructure(),
            calls.number(self.objective), calls.into(self.gradient), calls.into(self.constraints), calls.into(self.jacobian),
            calls.into(self.hessian), lambda *progress: calls.fault is None, ipopt_options={**options},
        )  # fmt: skip
        multipliers = np.zeros(g_low.size)
        x, value, status = problem.solve(start, mult_g=multipliers)
        if calls.fault is not None:
            raise calls.fault
        return Solution(x, value, multipliers, status)

    def _by_cyipopt(self, library: Foreign, start: Array, options: Mapping[str, str | float]) -> Solution:
        low, high, g_low, g_high = self.limits
        problem = library.Problem(low.size, g_low.size, problem_obj=self, lb=low, ub=high, cl=g_low, cu=g_high)
        for name, value in options.items():
            problem.add_option(name, value)
        x, found = problem.solve(start)
        return Solution(x, found["obj_val"], np.asarray(found["mult_g"]), found["status"])

    def _sparse_jacobian(self, x: Array) -> Sparse:
        assert self._constraints is not None
        return sparse_jacobian(self._constraints.target, np.array(x), *self._args)

    def _sparse_hessian(self, x: Array, multipliers: Array, factor: float) -> Sparse:
        return sparse_hessian(self._lagrangian, np.array(x), np.array(multipliers), float(factor), *self._args)


class Pattern:
    """The positions of a sparse matrix's entries as given to Ipopt: the same at every point.

    Attributes:
        places: rows and columns.
    """

    def __init__(self, matrix: Sparse, *, lower: bool = False) -> None:
        self._lower, self._shape = lower, matrix.shape
        self._first, keys = (matrix.indptr, matrix.indices), self._flat(matrix)[0]
        self._keys = np.unique(keys)
        # Indices of these entries in the matrix's data, in the order of the keys; without duplicates.
        self._order = np.flatnonzero(self._is_chosen(matrix.tocoo()))[np.argsort(keys)]
        self.places = self._keys // matrix.shape[1], self._keys % matrix.shape[1]

    def entries(self, matrix: Sparse) -> Array:
        """The matrix's entries in this order; on another path there may be fewer.

        Raises:
            ArgumentMismatch: there are entries elsewhere.
        """
        if all(map(np.array_equal, self._first, (matrix.indptr, matrix.indices))) and self._order.size == self._keys.size:
            return matrix.data[self._order]
        keys, values = self._flat(matrix)
        found = np.searchsorted(self._keys, keys)
        if np.any(self._keys[np.minimum(found, self._keys.size - 1)] != keys):
            raise ArgumentMismatch("another path of the function has derivatives where that of the starting point has none",
                                   fix="start where all of them are, as Ipopt takes one pattern for all points")  # fmt: skip
        result = np.zeros(self._keys.size)
        np.add.at(result, found, values)
        return result

    def _flat(self, matrix: Sparse) -> tuple[Array, Array]:
        matrix = matrix.tocoo()
        chosen = self._is_chosen(matrix)
        return (matrix.row.astype(np.int64) * self._shape[1] + matrix.col)[chosen], matrix.data[chosen]

    def _is_chosen(self, matrix: Sparse) -> Array:
        return matrix.row >= matrix.col if self._lower else np.ones(matrix.row.size, bool)


class _Calls:
    """Functions in ipyopt's forms. Ipopt goes on after an exception, so the first one is kept, and later calls do nothing.

    Attributes:
        fault: the first exception.
    """

    def __init__(self) -> None:
        self.fault: BaseException | None = None

    def number(self, function: Callable[[Array], float]) -> Callable[[Array], float]:
        """Wrap a function that returns a number."""
        return lambda x: float(self._answer(function, (x,)))

    def into(self, function: Callable[..., Array]) -> Callable[..., Array]:
        """Wrap a function for ipyopt, which passes an array for the result as last argument."""

        def write(*args: Any) -> Array:
            args[-1][()] = self._answer(function, args[:-1])
            return args[-1]

        return write

    def _answer(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        if self.fault is None:
            try:
                return function(*args)
            except BaseException as raised:  # noqa: BLE001 -- raised by solve
                self.fault = raised
        return np.nan
