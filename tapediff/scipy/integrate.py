"""scipy.integrate's functions for tracked values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ..errors import NotConverged
from ..functions.loops import fori_loop, scan
from ..implicit.equation import Equation
from ..implicit.scipy_methods import called
from ..ir.instruction import Operand, Tree, is_tracked
from ..numpy_api.joining import as_value
from ..ode import solve
from ..ode.solve import right_hand_side
from ..recording.python_state.scipy_functions import scipys_own
from ..targets.derivatives import stop_gradient
from .calls import Result, bound, floats, plain, refuse, supports_only
from .initial_values import Problem, solution

# Differential equations

EXPLICIT, STIFF = ("RK45", "RK23", "DOP853"), ("Radau", "BDF", "LSODA")


def solve_ivp(
    fun: Callable[..., Operand], t_span: Sequence[Operand], y0: Operand, method: Operand = "RK45", t_eval: Operand = None,
    dense_output: bool = False, events: Operand = None, vectorized: bool = False, args: Tree = None, *, rtol: Operand = 1e-3,
    atol: Operand = 1e-6, first_step: float | None = None, max_step: float = np.inf, **options: Operand,
) -> Result:  # fmt: skip
    """As scipy.integrate.solve_ivp; differentiable in t_span, y0, t_eval, args, and what fun closes over.

    RK45, RK23 and DOP853 take SciPy's steps and have its values. Radau, BDF and LSODA are td.ode.solve's rodas4, of the same tolerances,
    whose steps end at each time of t_eval.
    """
    name = "scipy.integrate.solve_ivp"
    supports_only(name, "solve for the time: found = solve_ivp(..., dense_output=True), then "
                  "scipy.optimize.brentq(lambda t: event(t, found.sol(t)), start, end)", events=(events, None))  # fmt: skip
    supports_only(name, "leave it out: Jacobians are exact here", **{key: (value, None) for key, value in options.items()})
    plain(name, rtol=rtol, atol=atol, first_step=first_step, max_step=max_step)
    method = getattr(method, "__name__", method)
    if method not in EXPLICIT + STIFF:
        refuse(name, f"method={method!r}", f"one of {', '.join(EXPLICIT + STIFF)}")
    start, end, y0 = floats(name, t_span[0]), floats(name, t_span[1]), floats(name, y0)
    if y0.ndim != 1:
        raise ValueError("`y0` must be 1-dimensional.")
    times = np.reshape(end, (1,)) if t_eval is None else floats(name, t_eval)
    _check_times(start, end, times)
    if vectorized:
        fun = _of_columns(fun)
    fun, args = _like_state(fun), () if args is None else tuple(args)
    if method in STIFF:
        if first_step is not None or max_step != np.inf:
            refuse(name, f"first_step= and max_step= with method={method!r}", "leave them out, or take an explicit method")
        every = np.concatenate([np.reshape(start, (1,)), times])
        rows = solve(fun, y0, every, args, method="rodas4", rtol=np.maximum(rtol, MOST_ACCURATE), atol=atol)[1:]
        at = None
    else:
        f, slope = right_hand_side(fun, start, y0, args)
        problem = Problem(f, start, end, method, np.maximum(rtol, MOST_ACCURATE), np.asarray(atol, float), first_step, max_step)
        at = lambda times: solution(problem, y0, slope, times)  # noqa: E731 -- its name is its use
        rows = at(times)
    if dense_output and at is None:
        refuse(name, f"dense_output= with method={method!r}", "give the times in t_eval=, or take an explicit method")
    given = {"t": times, "y": np.transpose(rows)} if t_eval is not None else {"t": AtEnd(end), "y": AtEnd(rows[0])}
    dense = DenseOutput(at, start, end) if dense_output and at is not None else None
    return Result(name, **given, sol=dense, t_events=None, y_events=None, status=0, success=True,
                  message="The solver successfully reached the end of the integration interval.")  # fmt: skip


class DenseOutput:
    """The solution as a function of times, each call of which takes SciPy's steps again, and interpolates as SciPy does."""

    def __init__(self, at: Callable[[Operand], Operand], start: Operand, end: Operand) -> None:
        self._at, self._start, self._end = at, start, end

    def _tapediff_rebuilt(self, copied: Callable[[Operand], Operand]) -> DenseOutput:
        """For functions that close over one: with other values."""
        return DenseOutput(*map(copied, vars(self).values()))

    def __call__(self, t: Operand) -> Operand:
        t = floats("scipy.integrate.solve_ivp", t)
        times = np.reshape(t, (-1,))
        if not t.ndim:
            _check_times(self._start, self._end, times)
            return self._at(times)[0]
        order = np.argsort(np.where(self._end < self._start, -1.0, 1.0) * times)
        _check_times(self._start, self._end, times[order])
        rows = self._at(times[order])
        return np.transpose(rows[np.argsort(order)])


# SciPy's limit of rtol.
MOST_ACCURATE = 100 * np.finfo(float).eps


def _check_times(start: Operand, end: Operand, times: Operand) -> None:
    """SciPy's conditions; of tracked times they are guards."""
    if times.ndim != 1:
        raise ValueError("`t_eval` must be 1-dimensional.")
    if np.any((times < np.minimum(start, end)) | (times > np.maximum(start, end))):
        raise ValueError("Values in `t_eval` are not within `t_span`.")
    if np.any((end - start) * np.diff(times) < 0.0) or np.any(np.diff(times) == 0.0):
        raise ValueError("Values in `t_eval` are not properly sorted.")


def _like_state(fun: Callable[..., Operand]) -> Callable[..., Operand]:
    """SciPy takes a list, a number for each state, or rows of one number."""

    def rates(t: Operand, y: Operand, *args: Tree) -> Operand:
        found = as_value(fun(t, y, *args))
        return np.reshape(found, y.shape) if np.size(found) == np.size(y) else found if np.ndim(found) else found * np.ones(y.shape)

    return rates


def _of_columns(fun: Callable[..., Operand]) -> Callable[..., Operand]:
    return lambda t, y, *args: np.reshape(fun(t, y[:, None], *args), y.shape)


class AtEnd:
    """The times, or states, of a solution without t_eval: the number of steps differs between points, so only the last one has a value."""

    def __init__(self, last: Operand) -> None:
        self._last = last

    def __getitem__(self, index: Operand) -> Operand:
        *before, last = index if isinstance(index, tuple) else (index,)
        if isinstance(last, int) and last == -1:
            return self._last[tuple(before)] if before else self._last if self._last.ndim == 0 else self._refuse()
        return self._refuse()

    def _refuse(self, *_: Operand) -> Operand:
        refuse("scipy.integrate.solve_ivp", "the values at every step, whose number differs from point to point",
               "give t_eval=; without it sol.y[:, -1] and sol.t[-1] are there")  # fmt: skip

    def __getattr__(self, attribute: str) -> Operand:
        return self._refuse() if not attribute.startswith("__") else object.__getattribute__(self, attribute)

    __len__ = __iter__ = __array__ = _refuse


def odeint(
    func: Callable[..., Operand], y0: Operand, t: Operand, args: Tree = (), Dfun: Operand = None, col_deriv: Operand = 0,
    full_output: Operand = 0, ml: Operand = None, mu: Operand = None, rtol: Operand = None, atol: Operand = None, tcrit: Operand = None,
    h0: float = 0.0, hmax: float = 0.0, hmin: float = 0.0, ixpr: int = 0, mxstep: int = 0, mxhnil: int = 0, mxordn: int = 12,
    mxords: int = 5, printmessg: Operand = 0, tfirst: bool = False,
) -> Operand:  # fmt: skip
    """As scipy.integrate.odeint, by td.ode.solve's rodas4 of the same tolerances, whose steps end at each time."""
    name = "scipy.integrate.odeint"
    supports_only(name, "leave it out: the Jacobian is exact here", Dfun=(Dfun, None), ml=(ml, None), mu=(mu, None))
    supports_only(name, full_output=(int(full_output), 0), tcrit=(tcrit, None), h0=(h0, 0.0), hmax=(hmax, 0.0), hmin=(hmin, 0.0),
                  mxstep=(mxstep, 0), mxordn=(mxordn, 12), mxords=(mxords, 5))  # fmt: skip
    plain(name, rtol=rtol, atol=atol)
    rtol, atol = (1.49012e-8 if given is None else given for given in (rtol, atol))
    y0 = floats(name, y0)
    f = func if tfirst else lambda t, y, *rest: func(y, t, *rest)
    args = args if isinstance(args, tuple) else (args,)
    return solve(_like_state(f), np.reshape(y0, (-1,)), t, args, method="rodas4", rtol=rtol, atol=atol)


# Integrals of functions

QUAD = "scipy.integrate.quad"


def quad(
    func: Callable[..., Operand], a: Operand, b: Operand, args: Tree = (), full_output: Operand = 0, epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8, limit: int = 50, points: Operand = None, weight: Operand = None, wvar: Operand = None, wopts: Operand = None,
    maxp1: int = 50, limlst: int = 50, complex_func: bool = False,
) -> tuple[Operand, Operand]:  # fmt: skip
    """As scipy.integrate.quad; differentiable in the limits, args, and what func closes over.

    SciPy integrates at every replay, in Python. The derivative is that of Gauss' rule of 21 points on each of the intervals that it
    ended with.

    Raises:
        NotConverged: SciPy's warnings; or that rule misses the tolerance, as at singularities, or the integrand has a jump inside, so that
            the derivative would be wrong.
    """
    supports_only(QUAD, "split the integral, or substitute a variable", points=(points, None), weight=(weight, None),
                  wvar=(wvar, None), wopts=(wopts, None))  # fmt: skip
    supports_only(QUAD, full_output=(int(full_output), 0), complex_func=(complex_func, False))
    plain(QUAD, epsabs=epsabs, epsrel=epsrel)
    func = bound(func, args)
    a, b = floats(QUAD, a), floats(QUAD, b)
    integrand, place = _substituted(func, a, b)
    equation = Equation(QUAD, func, lambda f, x: _number(f(x)), 0.0, ())
    rule = _Integration(str(equation.site), epsabs, epsrel, limit, place)
    value, error, centers, halves, last = called(equation, rule, rule, [equation.residual_callee], (a, b))
    value, error, centers, halves, last = map(stop_gradient, (value, error, centers, halves, last))
    nodes, weights = np.polynomial.legendre.leggauss(POINTS)

    def add(k: Operand, total: Operand) -> Operand:
        center, half = centers[k], halves[k]
        at_node = lambda sum_, node: (sum_ + node[1] * half * integrand(center + half * node[0]), None)  # noqa: E731
        return scan(at_node, total, (nodes, weights))[0]

    rule_value = fori_loop(0, last, add, 0.0)
    return value + (rule_value - stop_gradient(rule_value)), error


POINTS = 21
# Where the integral is taken: between finite limits, to the right, to the left, everywhere.
FINITE, RIGHT, LEFT, EVERYWHERE = range(4)


def _substituted(f: Callable[..., Operand], a: Operand, b: Operand) -> tuple[Callable[..., Operand], int]:
    """The integrand on (0, 1), by QUADPACK's substitutions; which limits are infinite is a guard where they are tracked.

    Source: Piessens, de Doncker-Kapenga, Überhuber and Kahaner (1983), QUADPACK, QAGI.
    """
    low, high = bool(np.isinf(a)), bool(np.isinf(b))
    if not low and not high:
        return (lambda s: _number(f(a + (b - a) * s)) * (b - a)), FINITE
    sign = 1.0
    if (low and a > 0.0) or (high and b < 0.0):
        a, b, low, high, sign = b, a, high, low, -1.0
    if low and high:
        return (lambda s: sign * (_number(f((1.0 - s) / s)) + _number(f((s - 1.0) / s))) / (s * s)), EVERYWHERE
    if high:
        return (lambda s: sign * _number(f(a + (1.0 - s) / s)) / (s * s)), RIGHT
    return (lambda s: sign * _number(f(b - (1.0 - s) / s)) / (s * s)), LEFT


def _number(value: Operand) -> Operand:
    return np.reshape(value, ()) if np.ndim(value) else value


class _Integration:
    """SciPy's integration at one point: the value, its error, and the intervals as parts of (0, 1)."""

    def __init__(self, site: str, epsabs: float, epsrel: float, limit: int, place: int) -> None:
        self.site, self.epsabs, self.epsrel, self.limit, self.place = site, epsabs, epsrel, limit, place

    def _key(self) -> tuple[object, ...]:
        return self.site, self.epsabs, self.epsrel, self.limit, self.place

    def __eq__(self, other: object) -> bool:
        return type(other) is _Integration and other._key() == self._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __call__(self, functions: Sequence[Callable[..., Operand]], _: Operand, a: Operand, b: Operand) -> Tree:
        (f,) = functions
        value, error, report, *warned = scipys_own("integrate", "quad")(
            lambda x: float(f(np.float64(x))), float(a), float(b), full_output=1, epsabs=self.epsabs, epsrel=self.epsrel, limit=self.limit
        )
        if warned:
            raise self._failure(str(warned[0]).partition(".\n")[0])
        last = max(report["last"], 1)  # none between equal limits
        ends = np.stack([report["alist"][:last], report["blist"][:last]])
        if self.place == FINITE:
            ends = (ends - a) / (b - a) if a != b else np.array([[0.0], [1.0]])
        centers, halves = np.zeros(self.limit), np.zeros(self.limit)
        centers[:last], halves[:last] = ends.mean(axis=0), np.abs(ends[1] - ends[0]) / 2
        nodes, weights = np.polynomial.legendre.leggauss(POINTS)
        integrand, _ = _substituted(lambda x: f(np.float64(x)), a, b)
        values = np.array([[integrand(c + h * x) for x in nodes] for c, h in zip(centers[:last], halves[:last])])
        if last > 1 and _has_jump(integrand, centers[:last], halves[:last], values):
            raise self._failure("the integrand has a jump: how its place moves is not known")
        rule = np.sum(halves[:last] * (values @ weights))
        if not abs(rule - value) <= 100 * max(self.epsabs, self.epsrel * abs(value)):
            raise self._failure(f"SciPy's {value:.9g} is not that of Gauss' rule, {rule:.9g}: the integrand has a singularity")
        return np.float64(value), np.float64(error), centers, halves, np.int64(last)

    def _failure(self, message: str) -> NotConverged:
        return NotConverged(
            f"{QUAD} has not converged", at=self.site, got=" ".join(message.split()),
            fix="split the integral, or substitute a variable, so that the integrand is smooth; or raise epsabs= or limit=",
        )  # fmt: skip


@np.errstate(invalid="ignore")  # beyond the ends
def _continued(slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The slopes that continue the two before, and the two after each."""
    return 2.0 * slopes[1:-3] - slopes[:-4], 2.0 * slopes[3:-1] - slopes[4:]


def _has_jump(f: Callable[[Operand], Operand], centers: np.ndarray, halves: np.ndarray, values: np.ndarray) -> bool:
    """True if f jumps inside, or at an end, of an interval that is not wider than its neighbours: at a jump SciPy makes them narrow.

    Between the two nodes whose slope continues neither that before nor that after it, the place is found by halving. At a kink no
    difference is left.
    """
    order = np.argsort(centers)
    places = (centers[order, None] + halves[order, None] * np.polynomial.legendre.leggauss(POINTS)[0]).ravel()
    found, widths = values[order].ravel(), np.concatenate([[np.inf], halves[order], [np.inf]])
    gaps = np.diff(places)
    slopes = np.pad(np.diff(found) / gaps, 2, constant_values=np.inf)
    before, after = _continued(slopes)
    differences = gaps * np.fmin(np.abs(slopes[2:-2] - before), np.abs(slopes[2:-2] - after))
    finest = np.nonzero(widths[1:-1] <= np.minimum(widths[:-2], widths[2:]))[0]
    starts = np.maximum(finest * POINTS - 1, 0)
    candidates = [first + np.argmax(differences[first : (k + 1) * POINTS]) for first, k in zip(starts, finest)]
    for at in {*candidates, *np.argsort(differences)[-3:]}:
        (low, high), (below, above) = places[at : at + 2], found[at : at + 2]
        slope = slopes[at + 1] if at > 0 else slopes[at + 3]
        for _ in range(40):
            middle = (low + high) / 2.0
            value, change = f(middle), slope * (high - low) / 2.0
            if abs(value - below - change) > abs(above - value - change):
                high, above = middle, value
            else:
                low, below = middle, value
        if abs(above - below) > 1e-6 * np.max(np.abs(values)):
            return True
    return False


# Integrals of samples


def trapezoid(y: Operand, x: Operand = None, dx: Operand = 1.0, axis: int = -1) -> Operand:
    """As scipy.integrate.trapezoid."""
    return np.trapezoid(floats("scipy.integrate.trapezoid", y), x, dx, axis)


def cumulative_trapezoid(y: Operand, x: Operand = None, dx: Operand = 1.0, axis: int = -1, initial: Operand = None) -> Operand:
    """As scipy.integrate.cumulative_trapezoid."""
    if initial is not None and (is_tracked(initial) or initial != 0):
        raise ValueError("`initial` must be `None` or `0`.")
    y, steps = _samples("scipy.integrate.cumulative_trapezoid", y, x, dx, axis)
    found = np.cumsum(steps * (y[..., 1:] + y[..., :-1]) / 2.0, axis=-1)
    if initial is not None:
        found = np.concatenate([np.zeros((*found.shape[:-1], 1)), found], axis=-1)
    return np.moveaxis(found, -1, axis)


def simpson(y: Operand, x: Operand = None, *, dx: Operand = 1.0, axis: int = -1) -> Operand:
    """As scipy.integrate.simpson.

    Source: Cartwright (2017), Journal of Mathematical Sciences and Mathematics Education 12(2), for the last of an odd number of steps.
    """
    y, steps = _samples("scipy.integrate.simpson", y, x, dx, axis)
    n = y.shape[-1]
    if n == 2:
        return np.sum(0.5 * steps * (y[..., 1:] + y[..., :-1]), axis=-1)
    odd = n if n % 2 else n - 1
    h0, h1 = steps[..., 0 : odd - 1 : 2], steps[..., 1 : odd - 1 : 2]
    whole, ratio = h0 + h1, _over(h0, h1)
    y0, y1, y2 = y[..., 0 : odd - 2 : 2], y[..., 1 : odd - 1 : 2], y[..., 2:odd:2]
    parts = whole / 6.0 * (y0 * (2.0 - _over(1.0, ratio)) + y1 * (whole * _over(whole, h0 * h1)) + y2 * (2.0 - ratio))
    result = np.sum(parts, axis=-1)
    if n % 2:
        return result
    h0, h1 = steps[..., -2], steps[..., -1]
    alpha, beta = _over(2 * h1**2 + 3 * h0 * h1, 6 * (h1 + h0)), _over(h1**2 + 3 * h0 * h1, 6 * h0)
    return result + alpha * y[..., -1] + beta * y[..., -2] - _over(h1**3, 6 * h0 * (h0 + h1)) * y[..., -3]


def _samples(name: str, y: Operand, x: Operand, dx: Operand, axis: int) -> tuple[Operand, Operand]:
    """The samples with their axis last, and the steps between them."""
    y = floats(name, y)
    axis, ndim = normalize_axis_index(axis, y.ndim), y.ndim
    y = np.moveaxis(y, axis, -1)
    if x is None:
        return y, dx * np.ones(y.shape[-1] - 1)
    x = floats(name, x)
    if x.ndim not in (1, ndim) or x.shape[axis if x.ndim > 1 else 0] != y.shape[-1]:
        raise ValueError("If given, length of x along axis must be the same as y.")
    return y, np.diff(x if x.ndim == 1 else np.moveaxis(x, axis, -1), axis=-1)


def _over(a: Operand, b: Operand) -> Operand:
    """a / b, or 0 where b is 0, as between two samples at one place."""
    is_zero = b == 0.0
    return np.where(is_zero, 0.0, a / np.where(is_zero, 1.0, b))
