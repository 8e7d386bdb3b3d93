"""td.ode.solve."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import ArgumentMismatch, DtypeMismatch, ShapeMismatch, hides_frames
from ..functions.loops import scan
from ..functions.subtape import SubTape, subtape
from ..ir.arguments import options_by_name
from ..ir.instruction import FLOAT64, Operand, Tree, is_tracked
from ..numpy_api.joining import as_value
from ..ops.elementwise.arithmetic import CONVERT
from ..targets.derivatives import stop_gradient
from .methods import METHODS, Slope
from .stepping import advanced, first_step

MAX_STEPS = 100_000


@hides_frames
@options_by_name("td.ode.solve", "td.ode.solve(f, y0, t, args=({}))")
@np.errstate(all="ignore")  # for steps that are rejected
def solve(
    f: Callable[..., Operand], y0: Operand, t: Operand, args: Tree = (), *, method: str = "rk45", rtol: float = 1e-6,
    atol: float = 1e-9, max_steps: int = MAX_STEPS, t_eval: Operand = None,
) -> Operand:  # fmt: skip
    """Solve dy / dt = f(t, y, *args), y(t[0]) = y0, at the times t. Times come first: solve_ivp(f, ...).y is the transpose.

    The result is differentiable in y0, args, t, and what f closes over.

    Args:
        f: of a time, a state and args; returns an array of the shape of y0. Recorded like any function; it may branch.
        y0: array or number, float64; may be tracked.
        t: times, shape (n,), increasing or decreasing; may be tracked. Steps end at each time: nothing is interpolated.
        args: arrays, numbers, and tuples, lists and dicts of these, in a tuple; anything but a tuple is the only argument.
        method: "rk45", Dormand and Prince's of order 5; "dop853", of order 8, for tolerances below 1e-8; "rodas4", Hairer and Wanner's
            of order 4 for stiff equations, with the exact Jacobian.
        rtol, atol: of the error of one step, of the size rtol |y| + atol, as in scipy.integrate.solve_ivp.
        max_steps: between two times.
        t_eval: as for scipy.integrate.solve_ivp: the times of the result, where t = (start, end) has others.

    Returns:
        Array of shape (n, *y0.shape).

    Raises:
        NotConverged: more steps than that, or the solution is NaN or infinite; names the line.
        ShapeMismatch: f returns another shape than that of y0.

    Cost: six evaluations of f a step of rk45, twelve of dop853; six, the Jacobian and a factorisation of rodas4. The gradient goes back
        through the same steps. It stores the state at the times t and, for one interval at a time, at each step.
    Source: the step size control of SciPy's solvers. Steps are constants for the derivative, which is that of the computed
        solution for these steps (Bock 1981, internal numerical differentiation).
    """
    if method not in METHODS:
        raise ArgumentMismatch("method of td.ode.solve", got=repr(method), fix=f"one of {', '.join(map(repr, METHODS))}")
    chosen, tolerances = METHODS[method], (rtol, atol)
    y0, t = _floats(y0, "y0"), _floats(t, "t")
    if t.ndim != 1 or not t.size:
        raise ShapeMismatch("td.ode.solve needs the times in an array of one axis", got=f"shape {t.shape}", fix="np.array([t0, t1])")
    if t_eval is not None:
        every = np.concatenate([t[:1], np.reshape(_floats(t_eval, "t_eval"), (-1,))])
        return solve(f, y0, every, args, method=method, rtol=rtol, atol=atol, max_steps=max_steps)[1:]
    args = args if type(args) is tuple else (args,)
    rates, slope = right_hand_side(f, t[0], y0, args)
    direction = np.where(t[-1] < t[0], -1.0, 1.0)
    scale = lambda y: tolerances[1] + tolerances[0] * np.abs(y)  # noqa: E731 -- its name is its use
    length = stop_gradient(first_step(rates, t[0], y0, slope, direction, chosen.order, scale))
    failure = (
        f"td.ode.solve by {method} has not reached the next time",
        'raise max_steps= or the tolerances, or take method="rodas4" if the equation is stiff; a solution may also end at infinity',
    )

    def interval(state: Tree, ends: Tree) -> tuple[Tree, Operand]:
        state = advanced(rates, chosen, state, ends[0], ends[1], tolerances, max_steps, failure)
        return state, state[0]

    _, states = scan(interval, (y0, slope, length), (t[:-1], t[1:]))
    return np.concatenate([np.expand_dims(y0, 0), states])


def right_hand_side(f: Callable[..., Operand], t: Operand, y: Operand, args: tuple[Tree, ...]) -> tuple[Slope, Operand]:
    """f as a function of time and state, and its value at the start.

    Branches of f are paths of a sub-tape; without any, f is inlined in the loop's body, which saves the call.
    """
    shape = np.shape(y)

    def rates(t: Operand, y: Operand) -> Operand:
        found = f(t, y, *args)
        found = as_value(found) if isinstance(found, (list, tuple)) else found
        if np.shape(found) != shape:
            raise ShapeMismatch(
                "the function of td.ode.solve returns the derivative of the state",
                got=f"shape {np.shape(found)} for a state of shape {shape}", fix="return an array of the shape of y0",
            )  # fmt: skip
        return found

    called = subtape(rates)
    assert isinstance(called, SubTape)
    slope = called(t, y)
    return called if called.has_branches else rates, slope


def _floats(value: Operand, name: str) -> Operand:
    value = value if is_tracked(value) else as_value(value)
    value = value if is_tracked(value) else np.array(value)
    if value.dtype.kind not in "fiu":
        raise DtypeMismatch(f"{name} of td.ode.solve is an array of real numbers", got=f"dtype {value.dtype}")
    if value.dtype == FLOAT64:
        return value
    return CONVERT(value, dtype=FLOAT64) if is_tracked(value) else value.astype(float)
