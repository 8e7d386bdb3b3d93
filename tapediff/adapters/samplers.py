"""Samplers that call Python: a log density in the forms of emcee, zeus, dynesty, mici, littlemcmc and their like.

Sources of the forms: emcee.EnsembleSampler, zeus.EnsembleSampler, mici.systems.EuclideanMetricSystem, littlemcmc.sample,
dynesty.NestedSampler; tried with emcee 3.1, zeus 2.5, mici 0.4, littlemcmc 0.2, dynesty 3.1 and optuna 5.0.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite
from typing import Any, TypeAlias

import numpy as np

from ..errors import ArgumentMismatch, is_recoverable
from ..ir.instruction import Tree
from ..targets.compiled_tape import CompiledTape
from ..targets.guarded_tape import GuardedTape

Array: TypeAlias = np.ndarray
# A td.Posterior, or another object with `log_density`, `log_density_gradient`, `tape` and `constants`.
Model: TypeAlias = Any

# A batch with a rejected row takes 1 ms to say so, a row alone 60 µs: after one, so many batches are evaluated row by row.
AFTER_REJECTION = 30


class LogDensity:
    """A log density for samplers, with its gradient: `emcee.EnsembleSampler(walkers, size, f.rows, vectorize=True)`.

    Args:
        target: a td.Posterior; or a function, a CompiledTape or a GuardedTape, which maps a vector of float64 to a number.
        args: further arguments of a function or tape, td.Constant for data.

    A point that the model rejects (a matrix that is not positive definite, an infinite or NaN value) has the value -inf and the gradient 0,
    by which every sampler rejects it. Every other exception is raised, and stops the sampler.

    It can be pickled if the target can, as samplers with processes of their own want.

    Cost: the call of the target, and 0.2 to 0.5 µs.
    """

    def __init__(self, target: Model, *args: Tree) -> None:
        self.target: Model = target
        self.args, self._one_by_one = args, 0
        self._value: Callable[..., float]
        self._both: Callable[..., tuple[float, Array]]
        self._is_posterior = hasattr(target, "log_density_gradient")
        if self._is_posterior:
            if args:
                raise ArgumentMismatch("a posterior has its data", got=f"{len(args)} arguments more", fix="set_data(...)")
            self._value, self._both = target.log_density, target.log_density_gradient
        else:
            tape = target if isinstance(target, (CompiledTape, GuardedTape)) else GuardedTape(target)
            self.target, self._value, self._both = tape, tape, tape.value_and_gradient

    def __call__(self, x: Array) -> float:
        """The value, for emcee, zeus, dynesty, and every other sampler without gradients."""
        try:
            value = self._value(x, *self.args)
        except Exception as raised:
            if is_recoverable(raised):
                return -inf
            raise
        return value if isfinite(value) else -inf

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """Value and gradient, a new array, for littlemcmc's `logp_dlogp_func`."""
        try:
            value, gradient = self._both(x, *self.args)
        except Exception as raised:
            if is_recoverable(raised):
                return -inf, np.zeros_like(x)
            raise
        return (value, gradient) if isfinite(value) else (-inf, np.zeros_like(x))

    def negative(self, x: Array) -> float:
        """Minus the value, for mici's `neg_log_dens`."""
        return -self(x)

    def negative_gradient(self, x: Array) -> tuple[Array, float]:
        """Minus the gradient, then minus the value, for mici's `grad_neg_log_dens`: it does not ask for the value then."""
        value, gradient = self.value_and_gradient(x)
        return np.negative(gradient, gradient), -value

    def rows(self, x: Array) -> Array:
        """The values at the rows of a matrix, for ensembles (`vectorize=True`), in as many threads as pay off."""
        points = np.ascontiguousarray(x, dtype=np.float64)
        if self._one_by_one > 0:
            self._one_by_one -= 1
            return np.array([self(point) for point in points])
        try:
            tape, args = (self.target.tape, (self.target.constants,)) if self._is_posterior else (self.target, self.args)
            values = tape.batch_values(points, *args)
        except Exception as raised:
            if not is_recoverable(raised):
                raise
            self._one_by_one = AFTER_REJECTION
            return self.rows(points)
        return np.where(np.isfinite(values), values, -inf)
