"""Samplers that call Python: a log density in the forms of emcee, dynesty, mici and similar.

Sources of the forms: emcee.EnsembleSampler, mici.systems.EuclideanMetricSystem, dynesty.NestedSampler; tried with emcee
3.1, mici 0.4, dynesty 3.1 and optuna 5.0.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite
from typing import Any, TypeAlias

import numpy as np
from numpy import empty

from ..errors import ArgumentMismatch, hide_frames, hides_frames, is_recoverable
from ..ir.instruction import Tree
from ..targets.compiled_tape import CompiledTape
from ..targets.evaluate.fixed_calls import FixedCalls
from ..targets.guarded_tape import GuardedTape

Array: TypeAlias = np.ndarray
# A td.Posterior, or another object with `log_density`, `log_density_gradient`, `tape` and `constants`.
Model: TypeAlias = Any

# A batch with a rejected row takes 1 ms to report it, a single row 60 µs: after one, this many batches are evaluated row by row.
AFTER_REJECTION = 30


class LogDensity:
    """A log density for samplers, with its gradient: `emcee.EnsembleSampler(walkers, size, f.rows, vectorize=True)`.

    Args:
        target: a td.Posterior; or a function, a CompiledTape or a GuardedTape, which maps a vector of float64 to a number.
        args: further arguments of a function or tape, td.Constant for data.

    A point that the model rejects (a matrix that is not positive definite, an infinite or NaN value) has the value -inf and the gradient 0,
    by which every sampler rejects it. Every other exception is raised, and stops the sampler.

    It can be pickled if the target can, for samplers with several processes.

    Cost: 0.3 to 0.6 µs on top of the kernel, at vectors of float64; lists, and data other than numbers and arrays, take longer.
    """

    def __init__(self, target: Model, *args: Tree) -> None:
        self.target: Model = target
        self.args, self._one_by_one = args, 0
        if hasattr(target, "log_density_gradient") and args:
            raise ArgumentMismatch("a posterior has its data", got=f"{len(args)} arguments more", fix="set_data(...)")
        self._connect()

    def _connect(self) -> None:
        """Find the function to call; repeated in another process."""
        target = self.target
        self._is_posterior = hasattr(target, "log_density_gradient")
        self._value: Callable[..., float]
        self._both: Callable[..., tuple[float, Array]]
        if self._is_posterior:
            self._value, self._both = target.log_density, target.log_density_gradient
            self._calls = getattr(target, "native_calls", None) or FixedCalls(None, [object()])
        else:
            self.target = tape = target if isinstance(target, (CompiledTape, GuardedTape)) else GuardedTape(target)
            self._value, self._both, self._calls = tape, tape.value_and_gradient, FixedCalls(tape, self.args)

    def __call__(self, x: Array) -> float:
        """The value, for emcee, dynesty, and every other sampler without gradients."""
        try:
            value = self._calls.value(x)
            if type(value) is not float:
                value = self._value_by_python(value, x)
            return value if isfinite(value) else -inf
        except BaseException as error:
            hide_frames(error)
            raise

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """Value and gradient, a new array, for samplers that take a function of both."""
        calls = self._calls
        gradient = empty(calls.size)
        try:
            value = calls.gradient(x, gradient)
            if type(value) is not float:
                value, gradient = self._gradient_by_python(value, x)
            return (value, gradient) if isfinite(value) else (-inf, np.zeros(gradient.shape))
        except BaseException as error:
            hide_frames(error)
            raise

    def negative(self, x: Array) -> float:
        """Minus the value, for mici's `neg_log_dens`."""
        value = self._calls.negative_value(x)
        return value if type(value) is float and isfinite(value) else -self(x)

    def negative_gradient(self, x: Array) -> tuple[Array, float]:
        """Minus the gradient, then minus the value, for mici's `grad_neg_log_dens`, which then need not ask for the value."""
        calls = self._calls
        gradient = empty(calls.size)
        value = calls.negative_gradient(x, gradient)
        if type(value) is float and isfinite(value):
            return gradient, value
        value, gradient = self.value_and_gradient(x)
        return np.negative(gradient, gradient), -value

    @hides_frames
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

    # Slow calls: before there is a native function, or after it has kept an exception

    def _value_by_python(self, status: object, x: Array) -> float:
        try:
            self._calls.raise_kept(status)
            value = self._value(x, *self.args)
        except Exception as raised:
            if is_recoverable(raised):
                return -inf
            raise
        self._calls.learn("value", x)
        return value

    def _gradient_by_python(self, status: object, x: Array) -> tuple[float, Array]:
        try:
            self._calls.raise_kept(status)
            found = self._both(x, *self.args)
        except Exception as raised:
            if is_recoverable(raised):
                return -inf, np.zeros_like(x)
            raise
        self._calls.learn("gradient", x)
        return found

    def __getstate__(self) -> dict[str, object]:
        """The state without objects of this process."""
        return {"target": self.target, "args": self.args, "_one_by_one": 0}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        self._connect()
