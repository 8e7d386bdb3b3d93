"""iminuit: fits of named parameters by Minuit, with compiled gradients and Hessians.

`pip install 'tapediff[optimisation]'` installs it. Source: iminuit's reference of Minuit; tried with iminuit 2.33.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, TypeAlias

import numpy as np

from ..ir.arguments import Constant
from ..ir.instruction import Tree
from ..targets.guarded_tape import GuardedTape
from . import required
from .scipy import Objective

# A Minuit object, whose class exists only if it is installed.
Foreign: TypeAlias = Any
LIKELIHOOD, LEAST_SQUARES = 0.5, 1.0


def minuit(
    cost: Callable[..., Tree], start: Mapping[str, float], *, data: Mapping[str, Tree] | None = None, errordef: float = LIKELIHOOD
) -> Foreign:  # fmt: skip
    """A Minuit object: `m = minuit(cost, {"mu": 0.0, "sigma": 1.0}, data={"y": y}); m.limits["sigma"] = (0, None); m.migrad()`.

    Args:
        cost: called with the parameters and the data by name, in plain NumPy; returns a number to minimise.
        start: values of the parameters, by name.
        data: arrays, numbers, and containers of these, by name.
        errordef: 0.5 for a negative log likelihood, 1 for a sum of squares: the rise at one standard error.

    Returns:
        iminuit.Minuit; its fcn is a function of a vector.

    Raises:
        ImportError: iminuit is not installed.

    An infinite or NaN value or a failed factorisation gives infinity. Other errors are raised by migrad, hesse and minos.

    Cost: one kernel call for value and gradient, plus 2 µs each.
    """
    iminuit = required("iminuit", "iminuit", "'tapediff[optimisation]'")
    names = tuple(start)

    def of_vector(x: np.ndarray, given: Mapping[str, Tree]) -> Tree:
        return cost(**{name: x[k] for k, name in enumerate(names)}, **given)

    tape = GuardedTape(of_vector, name=getattr(cost, "__name__", "cost"))
    objective = Objective(tape, Constant(dict(data or {})))  # type: ignore[arg-type] -- a leaf of any content
    values = np.array(list(start.values()), dtype=np.float64)

    def g2(x: np.ndarray) -> np.ndarray:
        return np.diagonal(objective.hess(x)).copy()

    # If a second derivative is negative, Minuit asks for these whatever iminuit says; 2.33 raises a TypeError if they are missing.
    has_g2 = {"g2": g2} if "g2" in signature(iminuit.Minuit).parameters else {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="hessian overrides g2")
        made = iminuit.Minuit(objective, values, grad=objective.jac, hessian=objective.hess, name=names, **has_g2)
    made.errordef = errordef
    return made
