"""NLopt: functions and constraints in its form, which writes gradients into a given array.

`pip install 'tapediff[optimisation]'` installs it. Source: NLopt's reference for Python; tried with nlopt 2.11.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..ir.instruction import Target, Tree
from .scipy import Objective, Residuals

Array = np.ndarray


def function(target: Target, *args: Tree, negate: bool = False) -> Callable[[Array, Array], float]:
    """An objective, or a constraint `f(x) <= 0`: `opt.set_min_objective(function(f))`, `opt.add_inequality_constraint(function(c), 1e-8)`.

    Args:
        target, args, negate: as in adapters.scipy.Objective.

    An infinite or NaN value or a failed factorisation gives infinity; not all algorithms step back. Other errors stop the optimiser
    and are raised by `optimize`.

    Cost: the kernel and 1 to 2 µs.
    """
    objective = Objective(target, *args, negate=negate)

    def value(x: Array, gradient: Array) -> float:
        if gradient.size:
            gradient[:] = objective.jac(x)
        return objective(x)

    return value


def vector_function(target: Target, *args: Tree) -> Callable[[Array, Array, Array], None]:
    """Several constraints at once, for `add_inequality_mconstraint` and `add_equality_mconstraint`.

    Args:
        target, args: as in adapters.scipy.Residuals; maps a vector of n to a vector of m.
    """
    residuals = Residuals(target, *args)

    def values(result: Array, x: Array, gradient: Array) -> None:
        result[:] = residuals(x)
        if gradient.size:
            gradient[:] = residuals.jac(x)

    return values
