"""scipy.optimize's functions for tracked values: SciPy finds the point, at every replay, and its derivative is that of td.implicit.

Derivatives are exact, whatever is given for them: functions in fprime=, jac= and hess= are not called, but SciPy gets exact ones in their
place, and minimize and least_squares always get an exact jac= for methods that take one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import deepcopy
from functools import partial

import numpy as np

from ..errors import NotConverged, TapediffError
from ..functions.callees.recorded_callee import RecordedCallee
from ..implicit.equation import Equation, as_start
from ..implicit.scipy_methods import WITHOUT_GRADIENT, called
from ..ir.instruction import Operand, Tree
from ..numpy_api.joining import as_value
from ..recording.python_state.scipy_functions import scipys_own
from ..targets import derivatives
from ..targets.operators import matrices
from .calls import Result, bound, floats, plain, refuse, supports_only

# A function of x, or none.
Given = Callable[..., Operand] | bool | str | None
Solve = Callable[..., Operand]


# Numbers

XTOL, RTOL = 2e-12, 4 * float(np.finfo(float).eps)


def _bracketing(name: str) -> Callable[..., Operand]:
    def solve(
        f: Callable[..., Operand], a: Operand, b: Operand, args: Tree = (), xtol: float = XTOL, rtol: float = RTOL, maxiter: int = 100,
        full_output: bool = False, disp: bool = True,
    ) -> Operand:  # fmt: skip
        supports_only(_full(name), full_output=(full_output, False), disp=(disp, True))
        equation = Equation(_full(name), bound(f, args), _scalar, _start(name, a), ())
        settings = {"xtol": xtol, "rtol": rtol, "maxiter": maxiter}
        return _solution(equation, _in_bracket, [equation.residual_callee], [_start(name, b)], name=name, **settings)

    solve.__doc__ = f"As scipy.optimize.{name}; differentiable in args and what f closes over. The bracket has no derivative."
    return solve


def _in_bracket(functions: Sequence[Solve], a: Operand, b: Operand, name: str, **settings: Operand) -> Operand:
    return scipys_own("optimize", name)(_float(functions[0]), a, b, **settings)


bisect, brenth, brentq, ridder = (_bracketing(name) for name in ("bisect", "brenth", "brentq", "ridder"))


def toms748(
    f: Callable[..., Operand], a: Operand, b: Operand, args: Tree = (), k: int = 1, xtol: float = XTOL, rtol: float = RTOL,
    maxiter: int = 100, full_output: bool = False, disp: bool = True,
) -> Operand:  # fmt: skip
    """As scipy.optimize.toms748."""
    supports_only(_full("toms748"), "leave it out", k=(k, 1))
    return _bracketing("toms748")(f, a, b, args, xtol, rtol, maxiter, full_output, disp)


def newton(
    func: Callable[..., Operand], x0: Operand, fprime: Given = None, args: Tree = (), tol: float = 1.48e-8, maxiter: int = 50,
    fprime2: Given = None, x1: Operand = None, rtol: float = 0.0, full_output: bool = False, disp: bool = True,
) -> Operand:  # fmt: skip
    """As scipy.optimize.newton: secants, or Newton's steps if fprime is given; x0 is a number or an array."""
    name = _full("newton")
    supports_only(name, "leave it out", fprime2=(fprime2, None), full_output=(full_output, False), disp=(disp, True))
    equation = Equation(name, bound(func, args), _array, _start("newton", x0), ())
    settings = {"tol": tol, "maxiter": maxiter, "rtol": rtol}
    seconds = [] if x1 is None else [_start("newton", x1)]
    callees = [equation.residual_callee, equation.slope_callee]
    return _solution(equation, _by_newton, callees, seconds, exact=fprime is not None, **settings)


def _by_newton(functions: Sequence[Solve], x0: Operand, *second: Operand, exact: bool, **settings: Operand) -> Operand:
    f, slope = functions
    first = (lambda x: _diagonal(slope(np.asarray(x, float)[()]), x)) if exact else None
    at = lambda x: f(np.asarray(x, float)[()])  # noqa: E731 -- its name is its use
    found, report, *_ = scipys_own("optimize", "newton")(at, x0, first, x1=second[0] if second else None, full_output=True, **settings)
    if np.ndim(x0) and not np.all(report):
        raise RuntimeError("Failed to converge for some of the entries")
    return found


def _diagonal(slope: Operand, x: Operand) -> Operand:
    return np.reshape(np.diagonal(slope), np.shape(x))[()]


def root_scalar(
    f: Callable[..., Operand], args: Tree = (), method: str | None = None, bracket: Sequence[Operand] | None = None,
    fprime: Given = None, fprime2: Given = None, x0: Operand = None, x1: Operand = None, xtol: float | None = None,
    rtol: float | None = None, maxiter: int | None = None, options: Mapping[str, object] | None = None,
) -> Result:  # fmt: skip
    """As scipy.optimize.root_scalar. The result has root, converged and flag."""
    name = _full("root_scalar")
    supports_only(name, "leave it out, or take another method", fprime2=(fprime2, None))
    plain(name, options=options)
    f = bound(f, args)
    if fprime is True:
        f = _first_of(f)
    given = [start for start in (*(bracket or ()), x0, x1) if start is not None]
    if not given:
        raise ValueError("Unable to select a solver as neither bracket nor starting point provided.")
    equation = Equation(name, f, _scalar, _start("root_scalar", given[0]), ())
    settings = {"method": method, "xtol": xtol, "rtol": rtol, "maxiter": maxiter, "options": options}
    starts = [_start("root_scalar", start) for start in given[1:]]
    given_as = {"count": len(bracket or ()), "has_x0": x0 is not None, "exact": bool(fprime)}
    root = _solution(equation, _by_root_scalar, [equation.residual_callee, equation.slope_callee], starts, **given_as, **settings)
    return Result(name, root=root, converged=True, flag="converged")


def _by_root_scalar(
    functions: Sequence[Solve], *starts: Operand, count: int, has_x0: bool, exact: bool, **settings: Operand
) -> Operand:  # fmt: skip
    bracket, others = starts[:count], [*map(float, starts[count:])]
    x0, x1 = ((others if has_x0 else [None, *others]) + [None, None])[:2]
    result = scipys_own("optimize", "root_scalar")(
        _float(functions[0]), bracket=[*map(float, bracket)] or None, x0=x0, x1=x1,
        fprime=_float(functions[1]) if exact else None, **settings,
    )  # fmt: skip
    if not result.converged:
        raise RuntimeError(f"{result.flag} after {result.iterations} iterations")
    return result.root


def minimize_scalar(
    fun: Callable[..., Operand], bracket: Sequence[Operand] | None = None, bounds: Sequence[Operand] | None = None, args: Tree = (),
    method: str | None = None, tol: float | None = None, options: Mapping[str, object] | None = None,
) -> Result:  # fmt: skip
    """As scipy.optimize.minimize_scalar; a minimum at a bound has the bound's derivative. The result has x, fun and success."""
    name = _full("minimize_scalar")
    plain(name, tol=tol, options=options)
    low, high = (-np.inf, np.inf) if bounds is None else (floats(name, bound) for bound in bounds)
    fun = bound(fun, args)
    equation = Equation(name, fun, _stationary, np.float64(0.0), (low, high))
    settings = {"method": method, "tol": tol, "options": options}
    ends = [_start("minimize_scalar", end) for end in (*(bracket or ()), low, high)]
    given_as = {"count": len(bracket or ()), "bounded": bounds is not None}
    x = _solution(equation, _by_minimize_scalar, [_objective(equation)], ends, **given_as, **settings)
    return Result(name, x=x, fun=_as_number(fun(x)), success=True)


def _by_minimize_scalar(
    functions: Sequence[Solve], _: Operand, *ends: Operand, count: int, bounded: bool, **settings: Operand
) -> Operand:  # fmt: skip
    ends = tuple(map(float, ends))
    where = {"bounds": ends[-2:]} if bounded else {}
    return _checked(scipys_own("optimize", "minimize_scalar")(_float(functions[0]), ends[:count] or None, **where, **settings))


# Vectors


def fsolve(
    func: Callable[..., Operand], x0: Operand, args: Tree = (), fprime: Given = None, full_output: Operand = 0, col_deriv: Operand = 0,
    xtol: float = 1.49012e-8, maxfev: int = 0, band: Operand = None, epsfcn: float | None = None, factor: float = 100.0,
    diag: Operand = None,
) -> Operand:  # fmt: skip
    """As scipy.optimize.fsolve."""
    name = _full("fsolve")
    supports_only(name, full_output=(int(full_output), 0), band=(band, None), diag=(diag, None))
    settings = {"xtol": xtol, "maxfev": maxfev, "epsfcn": epsfcn, "factor": factor}
    equation = Equation(name, bound(func, args), _flat, np.reshape(_start("fsolve", x0), (-1,)), ())
    return _solution(equation, _by_fsolve, [equation.residual_callee, equation.slope_callee], exact=fprime is not None, **settings)


def _by_fsolve(functions: Sequence[Solve], x0: Operand, exact: bool, **settings: Operand) -> Operand:
    slope = functions[1] if exact else None
    found, _, code, message = scipys_own("optimize", "fsolve")(functions[0], x0, fprime=slope, full_output=1, **settings)
    if code != 1:
        raise RuntimeError(message)
    return found


def root(
    fun: Callable[..., Operand], x0: Operand, args: Tree = (), method: str = "hybr", jac: Given = None, tol: float | None = None,
    callback: Operand = None, options: Mapping[str, object] | None = None,
) -> Result:  # fmt: skip
    """As scipy.optimize.root. The result has x, fun, success and message."""
    name = _full("root")
    supports_only(name, "leave it out", callback=(callback, None))
    plain(name, tol=tol, options=options)
    fun = bound(fun, args)
    if jac is True:
        fun = _first_of(fun)
    start = np.atleast_1d(_start("root", x0))
    equation = Equation(name, fun, _flat, np.reshape(start, (-1,)) if method in ("hybr", "lm") else start, ())
    settings = {"method": method, "tol": tol, "options": options}
    x = _solution(equation, _by_root, [equation.residual_callee, equation.slope_callee], exact=bool(jac), **settings)
    return Result(name, x=x, fun=_flat(fun, x), success=True, message="The solution converged.")


def _by_root(functions: Sequence[Solve], x0: Operand, exact: bool, **settings: Operand) -> Operand:
    return _checked(scipys_own("optimize", "root")(functions[0], x0, jac=functions[1] if exact else None, **settings))


def minimize(
    fun: Callable[..., Operand], x0: Operand, args: Tree = (), method: str | None = None, jac: Given = None, hess: Given = None,
    hessp: Given = None, bounds: Operand = None, constraints: Operand = (), tol: float | None = None, callback: Operand = None,
    options: Mapping[str, object] | None = None,
) -> Result:  # fmt: skip
    """As scipy.optimize.minimize, without constraints; at a bound, x has the bound's derivative. The result has x, fun and success."""
    name = _full("minimize")
    if constraints not in ((), [], None):
        refuse(name, "constraints=", "substitute variables that meet them, or give bounds=")
    supports_only(name, "leave it out", hessp=(hessp, None), callback=(callback, None))
    plain(name, tol=tol, options=options)
    fun = bound(fun, args)
    if jac is True:
        fun = _first_of(fun)
    start = np.atleast_1d(_start("minimize", x0))
    low, high = _bounds(name, bounds, start.size)
    equation = Equation(name, fun, _stationary, start, (low, high))
    settings = {"method": method, "tol": tol, "options": options}
    given_as = {"bounded": bounds is not None, "jac": (method or "").lower() not in WITHOUT_GRADIENT, "hess": hess is not None}
    gradient = equation.callee("gradient", lambda f, x, low, high: _gradient(f, x))
    hessian = equation.callee("hessian", lambda f, x, low, high: matrices.jacobian(lambda x: _gradient(f, x), x))
    callees = [_objective(equation), gradient, hessian]
    x = _solution(equation, _by_minimize, callees, [_start("minimize", low), _start("minimize", high)], **given_as, **settings)
    return Result(name, x=x, fun=_as_number(fun(x)), success=True)


def _by_minimize(
    functions: Sequence[Solve], x0: Operand, low: Operand, high: Operand, bounded: bool, jac: bool, hess: bool, **settings: Operand
) -> Operand:  # fmt: skip
    objective, gradient, hessian = functions
    where = {"bounds": [*zip(low, high)]} if bounded else {}
    slopes = {"jac": gradient if jac else None, "hess": hessian if hess else None}
    return _checked(scipys_own("optimize", "minimize")(lambda x: float(objective(x)), x0, **slopes, **where, **settings))


# Of the squares of the residuals relative to f_scale.
LOSSES: dict[str, Callable[[Operand], Operand]] = {
    "linear": lambda z: z,
    "huber": lambda z: np.where(z <= 1.0, z, 2.0 * np.sqrt(np.where(z <= 1.0, 1.0, z)) - 1.0),
    "soft_l1": lambda z: 2.0 * (np.sqrt(1.0 + z) - 1.0),
    "cauchy": np.log1p,
    "arctan": np.arctan,
}


def least_squares(
    fun: Callable[..., Operand], x0: Operand, jac: Given = "2-point", bounds: Operand = (-np.inf, np.inf), method: str = "trf",
    ftol: float | None = 1e-8, xtol: float | None = 1e-8, gtol: float | None = 1e-8, x_scale: Operand = None, loss: str = "linear",
    f_scale: float = 1.0, diff_step: Operand = None, tr_solver: str | None = None, tr_options: Operand = None,
    jac_sparsity: Operand = None, max_nfev: int | None = None, verbose: int = 0, args: Tree = (), kwargs: Mapping[str, Tree] | None = None,
    callback: Operand = None, workers: Operand = None,
) -> Result:  # fmt: skip
    """As scipy.optimize.least_squares; at a bound, x has the bound's derivative. The result has x, fun, cost and success."""
    name = _full("least_squares")
    supports_only(name, tr_options=(tr_options, None), jac_sparsity=(jac_sparsity, None), callback=(callback, None),
                  workers=(workers, None))  # fmt: skip
    plain(name, x_scale=x_scale, f_scale=f_scale, diff_step=diff_step)
    if loss not in LOSSES:
        refuse(name, f"loss={loss!r}", f"one of {', '.join(LOSSES)}")
    named = kwargs or {}
    f = bound(lambda x, *args: _vector(fun(x, *args, **named)), args)
    rho = lambda residuals: 0.5 * f_scale**2 * np.sum(LOSSES[loss]((residuals / f_scale) ** 2))  # noqa: E731
    stationary = lambda f, x, low, high: _stationary(lambda x: rho(f(x)), x, low, high)  # noqa: E731
    start = np.atleast_1d(_start("least_squares", x0))
    low, high = _bounds(name, bounds, start.size)
    label = name if loss == "linear" else f"{name} of loss {loss}, f_scale {f_scale}"
    equation = Equation(label, f, stationary, start, (low, high))
    settings = {"method": method, "ftol": ftol, "xtol": xtol, "gtol": gtol, "loss": loss, "f_scale": f_scale, "tr_solver": tr_solver,
                "diff_step": diff_step, "max_nfev": max_nfev, "verbose": verbose}  # fmt: skip
    if x_scale is not None:  # older versions have another default
        settings["x_scale"] = x_scale
    callees = [equation.callee("residuals", lambda f, x, low, high: f(x)),
               equation.callee("jacobian", lambda f, x, low, high: matrices.jacobian(f, x))]  # fmt: skip
    x = _solution(equation, _by_least_squares, callees, [_start("least_squares", low), _start("least_squares", high)], **settings)
    found = f(x)
    return Result(name, x=x, fun=found, cost=rho(found), success=True)


def _by_least_squares(functions: Sequence[Solve], x0: Operand, low: Operand, high: Operand, **settings: Operand) -> Operand:
    return _checked(scipys_own("optimize", "least_squares")(functions[0], x0, functions[1], (low, high), **settings))


# The solution


def _solution(
    equation: Equation, run: Solve, callees: Sequence[RecordedCallee], starts: Sequence[Operand] = (), /, **settings: Operand
) -> Operand:  # fmt: skip
    """The point that run(functions, x0, *starts, **settings) finds, with the derivative of the equation's solution."""
    plain(equation.name, **settings)
    key = (run.__name__, str(equation.site), *((name, _key(value)) for name, value in sorted(settings.items())))
    solve = partial(_found, run, equation.name, str(equation.site), deepcopy(settings))
    return equation.solution(called(equation, key, solve, callees, starts))


def _found(
    run: Solve, name: str, site: str, settings: Mapping[str, Operand], functions: Sequence[Solve], x0: Operand, *starts: Operand
) -> Operand:  # fmt: skip
    try:
        return np.reshape(np.asarray(run(functions, x0, *starts, **settings), float), np.shape(x0))
    except RuntimeError as error:
        if isinstance(error, TapediffError):
            raise
        raise NotConverged(
            f"{name} has not converged", at=site, got=" ".join(str(error).split()),
            fix="start nearer to the solution, or change the method, its tolerances or number of steps",
        ) from error  # fmt: skip


def _key(value: Operand) -> Hashable:
    if isinstance(value, Mapping):
        return tuple((name, _key(part)) for name, part in value.items())
    return value.tobytes() if isinstance(value, np.ndarray) else repr(value)


def _checked(result: Operand) -> Operand:
    if not result.success:
        raise RuntimeError(result.message)
    return result.x


def _full(name: str) -> str:
    return f"scipy.optimize.{name}"


def _start(name: str, x0: Operand) -> Operand:
    return as_start(_full(name), x0)


def _bounds(name: str, bounds: Operand, count: int) -> tuple[Operand, Operand]:
    """The lower and the upper bounds, of scipy.optimize.Bounds, of two arrays or of pairs; None is infinite."""
    if bounds is None:
        return np.full(count, -np.inf), np.full(count, np.inf)
    if hasattr(bounds, "lb"):
        low, high = bounds.lb, bounds.ub
    elif name == _full("minimize"):
        low = [-np.inf if pair[0] is None else pair[0] for pair in bounds]
        high = [np.inf if pair[1] is None else pair[1] for pair in bounds]
    else:
        low, high = bounds
    return tuple(side * np.ones(count) if np.ndim(side) == 0 else side for side in (floats(name, low), floats(name, high)))


# Residuals of equations, and functions for SciPy


def _scalar(f: Solve, x: Operand) -> Operand:
    return _as_number(f(x))


def _array(f: Solve, x: Operand) -> Operand:
    return _value(f(x))


def _flat(f: Solve, x: Operand) -> Operand:
    found = np.atleast_1d(_value(f(x)))
    return np.reshape(found, x.shape) if found.size == x.size else found


def _vector(value: Operand) -> Operand:
    return np.atleast_1d(_value(value))


def _stationary(f: Solve, x: Operand, low: Operand, high: Operand) -> Operand:
    """Zero at a minimum between bounds: the gradient, or the distance from a bound that it points across."""
    return x - np.clip(x - _gradient(f, x), low, high)


def _gradient(f: Solve, x: Operand) -> Operand:
    return derivatives.gradient(lambda x: _as_number(f(x)), x)


def _objective(equation: Equation) -> RecordedCallee:
    return equation.callee("objective", lambda f, x, low, high: _as_number(f(x)))


def _value(value: Operand) -> Operand:
    return as_value(value) if isinstance(value, (list, tuple)) else value


def _as_number(value: Operand) -> Operand:
    value = _value(value)
    return np.reshape(value, ()) if np.ndim(value) else value


def _first_of(f: Callable[..., Tree]) -> Solve:
    """The function alone, of one that also gives its derivative."""
    return lambda x: f(x)[0]


def _float(function: Solve) -> Solve:
    return lambda x: float(np.reshape(function(np.float64(x)), ()))
