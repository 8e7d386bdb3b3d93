"""Standard errors of a fit with random effects: of parameters, effects, and what is derived from both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .. import special
from ..errors import hides_frames
from ..ir.instruction import Tree, UserFunction
from ..targets.derivatives import jacobian
from ..targets.operators.sparse import sparse_jacobian
from ..tree import leaves
from ..uncertainty import Band, Covariance, names_of, root_of_inverse
from .effects import Effects
from .mode import Mode

# Right-hand sides that are solved at once.
ROWS = 64


@dataclass(frozen=True, eq=False)
@hides_frames
class Report:
    """A fit with random effects; see the method report of td.laplace's result.

    Attributes:
        value: of the log marginal.
        theta: td.covariance's result for the parameters: parameters, matrix, standard_errors, correlation, band.
        mode: the random effects, as from m.mode.
        standard_errors: of the random effects, in the structure of `mode`; with the uncertainty of theta.
    """

    value: float
    theta: Covariance
    mode: Tree
    standard_errors: Tree
    _f: UserFunction = field(repr=False)
    _effects: Effects = field(repr=False)
    _found: Mode = field(repr=False)
    _args: tuple[Tree, ...] = field(repr=False)
    # The derivative of the mode by theta, times a root of theta's covariance.
    _moved: np.ndarray = field(repr=False)
    # The expectation of a function over the effects, given its value at their mode.
    _expected: Callable[[UserFunction, Tree], Tree] = field(repr=False)

    def derived(self, g: UserFunction, *, level: float = 0.95, corrected: bool = False) -> Band:
        """Quantities derived from parameters and effects, with confidence intervals by the delta method.

        Args:
            g: a function of the arguments of f, g(theta, u, *data); returns a number or an array.
            level: the probability that each interval, on its own, covers the true value.
            corrected: the value is the expectation of g over the random effects, to the order of Laplace's approximation; not g at their
                mode, which is biased where g is curved in them.

        Returns:
            Band(value, standard_error, lower, upper).

        Cost: one sparse Jacobian of g, and half a solve for each of its results; corrected, one more gradient of a log marginal.
        Source: Thorson and Kristensen (2016), Fisheries Research 175, for the correction.
        """
        theta, *others = self._args
        x, factor = self._found.point.x, self._found.factor
        of = lambda theta, x: np.reshape(g(*self._effects.arguments(theta, x, others)), (-1,))  # noqa: E731 -- its name is its use
        value = g(*self._effects.arguments(theta, x, others))
        by_x = sparse_jacobian(of, theta, x, argnums=1)
        blocks = [np.reshape(block, (by_x.shape[0], -1)) for block in leaves(jacobian(of, theta, x))]
        by_theta = np.concatenate(blocks, axis=1) @ self.theta.root + by_x @ self._moved
        variance = np.sum(by_theta**2, axis=1)
        for first in range(0, len(variance), ROWS):
            rows = by_x[first : first + ROWS].toarray()
            variance[first : first + ROWS] += np.sum(factor.half_solve(rows) ** 2, axis=1)
        error = np.reshape(np.sqrt(variance), np.shape(value))[()]
        if corrected:
            value = self._expected(g, value)
        wide = error * special.ndtri(0.5 + 0.5 * level)
        return Band(value, error, value - wide, value + wide)


def reported(
    f: UserFunction, effects: Effects, mode: Mode, args: tuple[Tree, ...], value: float, information: np.ndarray, slope: np.ndarray,
    expected: Callable[[UserFunction, Tree], Tree],
) -> Report:  # fmt: skip
    """The report, from minus the Hessian of the log marginal, and the derivative of the score by theta."""
    root = root_of_inverse(information, names_of(args[0]))
    moved = mode.factor.solve(slope) @ root
    errors = np.sqrt(mode.factor.inverse_diagonal() + np.sum(moved**2, axis=1))
    theta = Covariance(args[0], np.inf, root)
    return Report(value, theta, effects.by_name(mode.point.x.copy()), effects.by_name(errors), f, effects, mode, args, moved, expected)
