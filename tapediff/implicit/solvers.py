"""td.implicit.root, fixed_point and minimize."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..errors import TrackedValueLeaked, hides_frames
from ..ir.arguments import options_by_name
from ..ir.instruction import Operand, Tree, is_tracked
from ..numpy_api.joining import as_value
from ..targets import derivatives
from .equation import Equation, as_start
from .newton import iteration, newton, newton_minimum
from .scipy_methods import FixedPoint, Minimum, Root, solved

MAX_STEPS = 100
# For x = f(x), whose error only shrinks by a factor at each step.
MAX_ITERATIONS = 10_000


@hides_frames
@options_by_name("td.implicit.root", "td.implicit.root(f, x0, args=({}))")
def root(
    f: Callable[..., Operand], x0: Operand, args: Tree = (), *, method: str = "newton", tol: float | None = None,
    options: Mapping[str, object] | None = None, max_steps: int = MAX_STEPS,
) -> Operand:  # fmt: skip
    """x with f(x, *args) = 0; differentiable in args, and in tracked values that f closes over.

    Args:
        f: of x, an array or a number, and args; returns an array of the shape of x. Recorded like any function; it may branch.
        x0: the starting point, which selects the solution if there are several. It has no derivative.
        args: arrays, numbers, and tuples, lists and dicts of these, in a tuple; anything but a tuple is the only argument.
        method: "newton": damped Newton steps inside the kernel; or one of scipy.optimize.root's, which is called in Python.
        tol: of the last step, relative to the largest x; 1e-12. SciPy's methods get it as their own.
        options: for SciPy's methods.
        max_steps: of Newton's method.

    Returns:
        The solution, of the shape of x0. On a tape it is one instruction, after those that solve the equation.

    Raises:
        NotConverged: no solution was found, naming the line.
        numpy.linalg.LinAlgError: the derivative of f in x is singular.
        ShapeMismatch: f returns another shape than that of x.

    Cost: for n unknowns, a Newton step takes the Jacobian of f and the solution of an n by n system; the gradient takes these once,
        and one pullback of f. SciPy's methods take about 10 µs more a call, and the interpreter lock.
    Source: the implicit function theorem; Christianson (1994), Optimization Methods and Software 3, for its use in reverse mode.
    """
    name = "td.implicit.root"
    equation = Equation(name, f, _itself, as_start(name, x0), _as_tuple(args))
    if method == "newton":
        return _solution(equation, newton(equation, tol, max_steps))
    solver = Root(name, str(equation.site), method, tol, options or {})
    if not equation.is_tracked:
        return solver([_plain(equation, equation.residual)], equation.x0)
    return equation.solution(solved(equation, solver, equation.residual_callee, equation.slope_callee))


@hides_frames
@options_by_name("td.implicit.fixed_point", "td.implicit.fixed_point(f, x0, args=({}))")
def fixed_point(
    f: Callable[..., Operand], x0: Operand, args: Tree = (), *, method: str = "newton", tol: float | None = None,
    max_steps: int | None = None,
) -> Operand:  # fmt: skip
    """x with f(x, *args) = x; arguments, results and errors as of td.implicit.root.

    Args:
        method: "newton"; "iteration": x = f(x) until nothing changes, which forms no Jacobian; "del2": SciPy's, in Python, entry by entry.
        max_steps: 100, and 10 000 for "iteration".
    """
    name = "td.implicit.fixed_point"
    equation = Equation(name, f, _change, as_start(name, x0), _as_tuple(args))
    if method == "newton":
        return _solution(equation, newton(equation, tol, MAX_STEPS if max_steps is None else max_steps))
    most = MAX_ITERATIONS if max_steps is None else max_steps
    if method == "iteration":
        return _solution(equation, iteration(equation, tol, most))
    solver = FixedPoint(name, str(equation.site), method, tol, {"xtol": 1e-12 if tol is None else tol, "maxiter": most})
    if not equation.is_tracked:
        return solver([_plain(equation, equation.residual)], equation.x0)
    return equation.solution(solved(equation, solver, equation.residual_callee))


@hides_frames
@options_by_name("td.implicit.minimize", "td.implicit.minimize(f, x0, args=({}))")
def minimize(
    f: Callable[..., Operand], x0: Operand, args: Tree = (), *, method: str = "newton", tol: float | None = None,
    options: Mapping[str, object] | None = None, max_steps: int = MAX_STEPS,
) -> Operand:  # fmt: skip
    """x at which f(x, *args), a real scalar, has a minimum; arguments, results and errors as of td.implicit.root.

    The derivative is that of the x at which the gradient of f is zero. Its accuracy is that of the minimum: with SciPy's methods, give a
    small tol; and f has to be twice differentiable there, with a regular Hessian, and without bounds or constraints.

    Args:
        method: "newton": damped steps with the Hessian's absolute eigenvalues; or one of scipy.optimize.minimize's without bounds or
            constraints, which gets the exact gradient.

    Cost: for n unknowns, a Newton step takes the Hessian of f and its eigenvalues; SciPy's methods are called in Python.
    """
    name = "td.implicit.minimize"
    equation = Equation(name, f, _gradient, as_start(name, x0), _as_tuple(args))
    if method == "newton":
        return _solution(equation, newton_minimum(equation, tol, max_steps))
    solver = Minimum(name, str(equation.site), method, tol, options or {})
    if not equation.is_tracked:
        return solver([_plain(equation, f) for f in (equation.value, equation.residual)], equation.x0)
    return equation.solution(solved(equation, solver, equation.value_callee, equation.residual_callee))


def _solution(equation: Equation, found: Operand) -> Operand:
    return equation.solution(found) if equation.is_tracked else _not_tracked(equation, found)


def _plain(equation: Equation, function: Callable[[Operand], Operand]) -> Callable[[Operand], Operand]:
    return lambda x: _not_tracked(equation, function(x))


def _not_tracked(equation: Equation, value: Operand) -> Operand:
    """A plain value of an equation without tracked values."""
    if is_tracked(value):
        raise TrackedValueLeaked(
            f"the function of {equation.name} uses a tracked value that is neither an argument nor a variable of an enclosing function",
            got=repr(value), fix="pass it in args=",
        )  # fmt: skip
    return value


# Residuals


def _itself(f: Callable[..., Operand], x: Operand, *args: Tree) -> Operand:
    return _as_array(f(x, *args))


def _change(f: Callable[..., Operand], x: Operand, *args: Tree) -> Operand:
    return _as_array(f(x, *args)) - x


def _gradient(f: Callable[..., Operand], x: Operand, *args: Tree) -> Operand:
    return derivatives.gradient(lambda x: f(x, *args), x)


def _as_array(value: Operand) -> Operand:
    """f's result as an array: SciPy's functions often return lists."""
    return as_value(value) if isinstance(value, (list, tuple)) else value


def _as_tuple(args: Tree) -> tuple[Tree, ...]:
    return args if type(args) is tuple else (args,)
