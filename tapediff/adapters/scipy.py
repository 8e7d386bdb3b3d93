"""scipy.optimize and scipy.integrate: functions, derivatives and products in their forms, each computed once a point.

SciPy calls the value, the gradient and the Hessian separately, and the same point several times. The objects here keep the last point
and its results. Source of the forms: SciPy's reference of minimize, least_squares, root, solve_ivp and NonlinearConstraint.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from math import inf
from typing import Any, TypeAlias

import numpy as np
from numpy import ndarray

from ..errors import ArgumentMismatch, hide_frames, hides_frames, is_recoverable
from ..functions.captured.environment_check import EnvironmentCheck
from ..ir.arguments import Constant
from ..ir.instruction import FLOAT64, Target, Tree
from ..targets.compiled_tape import CompiledTape
from ..targets.evaluate.fixed_calls import FixedCalls
from ..targets.guarded_tape import GuardedTape
from ..targets.operators.sparse import linear_operator, sparse_hessian, sparse_jacobian
from . import of_posterior

Array: TypeAlias = np.ndarray
# An object of scipy.optimize or scipy.sparse, whose classes are imported on demand.
Foreign: TypeAlias = Any


def _guarded(target: Target) -> CompiledTape | GuardedTape:
    """The target itself, or a GuardedTape of a plain function."""
    if isinstance(target, (CompiledTape, GuardedTape)):
        return target
    if not callable(target):
        raise ArgumentMismatch(
            "the adapter takes a function or a compiled target", got=type(target).__name__, fix="td.GuardedTape(f)"
        )
    return GuardedTape(target)


def _as_point(x: Tree) -> Array:
    return x if type(x) is ndarray and x.dtype is FLOAT64 else np.asarray(x, dtype=np.float64)


def _is_current(target: CompiledTape | GuardedTape, check: EnvironmentCheck | None) -> bool:
    """True while the environment is the one of this check."""
    return check is target.environment_check and (check is None or check.is_unchanged())


class _LastPoint:
    """Results at the last point, which is compared by its bytes: SciPy overwrites its arrays. Threads may share it."""

    __slots__ = ("_last", "_target")

    def __init__(self, target: CompiledTape | GuardedTape) -> None:
        self._target = target
        self._last: tuple[bytes | None, dict[str, Tree], EnvironmentCheck | None] = None, {}, None

    def __reduce__(self) -> tuple[object, ...]:
        return _LastPoint, (self._target,)

    def at(self, x: Array, key: str, compute: Callable[..., Tree], args: tuple[Tree, ...]) -> Tree:
        """Return `compute` at x, computed once."""
        point, last = _as_point(x), self._last
        here = point.tobytes()
        found = last[1].get(key) if here == last[0] and _is_current(self._target, last[2]) else None
        if found is None:
            found = compute(point, *args)
            check = self._target.environment_check
            known = last[1] if here == last[0] and check is last[2] else {}
            self._last = here, {**known, key: found}, check
        return found


class Objective:
    """A scalar function for scipy.optimize.minimize: `minimize(f, x0, jac=f.jac, hess=f.hess)`, or `minimize(x0=x0, **f.arguments)`.

    Args:
        target: a function, a CompiledTape or a GuardedTape, which maps a vector of float64 to a number; or a td.Posterior, which needs
            negate=True, with its own data.
        args: further arguments, td.Constant for data.
        negate: maximise the function: minus f, and its derivatives.
        sparse: Hessians are scipy.sparse matrices, with the tape's pattern.

    An infinite or NaN value or a failed factorisation gives SciPy infinity, so that line searches step back, and second derivatives
    of zero, which trust regions ask for before they do.

    Attributes:
        evaluations: the number of points at which SciPy has asked so far.

    Cost: one kernel call for value and gradient, however often and in which order SciPy asks; plus 0.7 to 1 µs for both.
    """

    def __init__(self, target: Target, *args: Tree, negate: bool = False, sparse: bool = False) -> None:
        self._owned = hasattr(target, "log_density_gradient")  # the dict of its data
        target, args = of_posterior(target, args)
        self.target, self.args, self._sparse = _guarded(target), args, sparse
        self._is_negated, self._sign = negate, -1.0 if negate else 1.0
        self._calls = FixedCalls(self.target, args, owned=self._owned)
        # The last point's bytes, as in _LastPoint, None for none; value and gradient there.
        self._last: tuple[bytes | None, float, Array, EnvironmentCheck | None] = None, inf, np.empty(0), None
        self._hessian = _LastPoint(self.target)
        self.evaluations = 0

    @property
    def arguments(self) -> dict[str, Callable[..., Any]]:
        """Arguments for minimize: fun, jac and hessp."""
        return {"fun": self, "jac": self.jac, "hessp": self.hessp}

    def __call__(self, x: Array) -> float:
        """The value."""
        # As _as_point and `jac`, but inlined: three calls less are 0.3 of 1.5 µs.
        point, last = x if type(x) is ndarray and x.dtype is FLOAT64 else _as_point(x), self._last
        here = point.tobytes()
        try:
            return last[1] if here == last[0] and _is_current(self.target, last[3]) else self._evaluated(point, here)[1]
        except BaseException as error:
            hide_frames(error)
            raise

    def jac(self, x: Array) -> Array:
        """The gradient, a new array."""
        point, last = x if type(x) is ndarray and x.dtype is FLOAT64 else _as_point(x), self._last
        here = point.tobytes()
        try:
            return (last if here == last[0] and _is_current(self.target, last[3]) else self._evaluated(point, here))[2].copy()
        except BaseException as error:
            hide_frames(error)
            raise

    @hides_frames
    def value_and_jac(self, x: Array) -> tuple[float, Array]:
        """Value and gradient, for `minimize(f.value_and_jac, x0, jac=True)` and `fmin_l_bfgs_b`."""
        return self(x), self.jac(x)

    @hides_frames
    def hess(self, x: Array) -> Array:
        """The Hessian: an array, or a scipy.sparse matrix."""
        try:
            if self._sparse:
                return self._sign * sparse_hessian(self.target, _as_point(x), *self.args)
            found = self._hessian.at(x, "hess", self.target.hessian, self.args)
        except Exception as raised:
            if not is_recoverable(raised):
                raise
            n = np.size(x)
            return import_module("scipy.sparse").csr_matrix((n, n)) if self._sparse else np.zeros((n, n))
        return self._sign * found if np.all(np.isfinite(found)) or self(x) < inf else np.zeros_like(found)

    @hides_frames
    def hessp(self, x: Array, p: Array) -> Array:
        """The Hessian times p."""
        try:
            found = self.target.hvp(_as_point(x), _as_point(p), *self.args)
        except Exception as raised:
            if not is_recoverable(raised):
                raise
            return np.zeros(np.shape(p))
        return self._sign * found if np.all(np.isfinite(found)) or self(x) < inf else np.zeros_like(found)

    def _evaluated(self, x: Array, here: bytes) -> tuple[bytes | None, float, Array, EnvironmentCheck | None]:
        """Store the last point, as one tuple, so that another thread sees all of it or nothing."""
        self.evaluations += 1
        calls = self._calls
        gradient = np.empty(calls.size)
        value = (calls.negative_gradient if self._is_negated else calls.gradient)(x, gradient)
        if type(value) is not float:
            value, gradient = self._by_python(value, x)
        if not -inf < value < inf:
            value, gradient = inf, np.nan_to_num(gradient)
        last = self._last = here, value, gradient, self.target.environment_check
        return last

    def _by_python(self, status: object, x: Array) -> tuple[float, Array]:
        """Evaluate in Python: before there is a native function, or after it has kept an exception."""
        try:
            self._calls.raise_kept(status)
            value, gradient = self.target.value_and_gradient(x, *self.args)
        except Exception as raised:
            if not is_recoverable(raised):
                raise
            return inf, np.zeros_like(x)
        self._calls.learn("gradient", x)
        return self._sign * value, self._sign * gradient

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_calls": None, "_last": (None, inf, np.empty(0), None)}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        self._calls = FixedCalls(self.target, self.args, owned=self._owned)


@hides_frames
class Residuals:
    """A vector of residuals for scipy.optimize.least_squares and root: `least_squares(r, x0, jac=r.jac)`.

    Args:
        target: as in Objective; maps a vector of n to a vector of m.
        jacobian: "dense"; "sparse", with the tape's pattern; or "operator", products only, for large problems.
    """

    def __init__(self, target: Target, *args: Tree, jacobian: str = "dense") -> None:
        if jacobian not in ("dense", "sparse", "operator"):
            raise ArgumentMismatch(
                "jacobian is one of three", got=repr(jacobian), fix='"dense", "sparse" or "operator"'
            )
        self.target, self.args, self._kind = _guarded(target), args, jacobian
        self._last, self._size = _LastPoint(self.target), 0

    def __call__(self, x: Array) -> Array:
        """The residuals; infinite at a rejected point, once another point was accepted."""
        try:
            found = np.array(self._last.at(x, "value", self.target, self.args))
        except Exception as raised:
            if not (self._size and is_recoverable(raised)):
                raise
            return np.full(self._size, inf)
        self._size = found.size
        return found

    def jac(self, x: Array) -> Foreign:
        """The Jacobian: an array, a scipy.sparse matrix or a LinearOperator."""
        if self._kind == "dense":
            return self._last.at(x, "jac", self.target.jacobian, self.args)
        if self._kind == "sparse":
            return sparse_jacobian(self.target, _as_point(x), *self.args)
        return linear_operator(self.target, np.array(x, dtype=np.float64), *self.args)  # keeps the point


def constraint(target: Target, lower: Foreign, upper: Foreign, *args: Tree, hessian: bool = True) -> Foreign:
    """A scipy.optimize.NonlinearConstraint `lower <= f(x) <= upper`, with its Jacobian and its Hessians' weighted sum.

    Args:
        target, args: as in Residuals.
        hessian: False for SLSQP and COBYLA, which warn if one is given.
    """
    residuals = Residuals(target, *args)
    weighted = GuardedTape(lambda x, v, *rest: np.sum(v * residuals.target(x, *rest)))

    def hess(x: Array, v: Array) -> Array:
        return weighted.hessian(_as_point(x), _as_point(v), *args)

    options = {"hess": hess} if hessian else {}
    return import_module("scipy.optimize").NonlinearConstraint(residuals, lower, upper, jac=residuals.jac, **options)


@hides_frames
class CurveFit:
    """A model for scipy.optimize.curve_fit: `curve_fit(m, t, y, p0, jac=m.jac)`.

    Args:
        model: f(t, *parameters), in plain NumPy, as curve_fit takes it.
    """

    def __init__(self, model: Callable[..., Tree]) -> None:
        self._tape = GuardedTape(lambda p, t: model(t, *p), name=getattr(model, "__name__", "model"))

    def __call__(self, t: Array, *parameters: float) -> Array:
        """The curve."""
        return self._tape(np.array(parameters, dtype=np.float64), _constant(t))

    def jac(self, t: Array, *parameters: float) -> Array:
        """The derivatives by the parameters, one column for each."""
        return self._tape.jacobian(np.array(parameters, dtype=np.float64), _constant(t))


@hides_frames
class RightHandSide:
    """The right-hand side of an ordinary differential equation, for scipy.integrate: `solve_ivp(f, span, y0, method="BDF", jac=f.jac)`.

    Args:
        f: f(t, y, *args), in plain NumPy, as solve_ivp takes it.
    """

    def __init__(self, f: Callable[..., Tree]) -> None:
        self._tape = GuardedTape(lambda y, t, *args: np.stack(f(t, y, *args)), name=getattr(f, "__name__", "rhs"))

    def __call__(self, t: float, y: Array, *args: float) -> Array:
        """dy/dt."""
        return self._tape(y, float(t), *args)

    def jac(self, t: float, y: Array, *args: float) -> Array:
        """The derivatives by y."""
        return self._tape.jacobian(y, float(t), *args)


def _constant(t: Array) -> Tree:
    return Constant(np.asarray(t, dtype=np.float64))
