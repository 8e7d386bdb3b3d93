"""Problems in which Python decides: a model with two paths, taken in turns, and a bouncing ball."""

import numpy
import numpy as np

import tapediff as td

from .problem import Problem

_rng = numpy.random.default_rng(20260103)

TIMES = numpy.linspace(-1.0, 1.0, 200)
LEVELS = 0.4 + 1.3 * TIMES + 0.5 * _rng.standard_t(3, size=200)


def two_tails(u, np=numpy):
    """Log density of a straight line; the sign of the log scale decides on the tails."""
    residual = (LEVELS - (u[0] + u[1] * TIMES)) / np.exp(u[2])
    prior = -0.5 * np.sum(u**2) - len(TIMES) * u[2]
    if u[2] > 0:
        return prior - np.sum(np.log1p(residual**2))
    return prior - 0.5 * np.sum(residual**2)


BOUNCE_STEPS, DT, GRAVITY = 200, 0.02, 9.81


def bouncing_step(y, v, restitution):
    v = v - GRAVITY * DT
    y = y + DT * v
    if y < 0:
        y, v = -restitution * y, -restitution * v
    return y, v


def bouncing_ball(p, np=numpy, step=bouncing_step):
    """The sum of squared heights; p = (height, velocity, restitution)."""
    y, v, restitution = p[0], p[1], p[2]
    total = 0.0
    for _ in range(BOUNCE_STEPS):
        y, v = step(y, v, restitution)
        total = total + y**2
    return total


sub_step = td.subtape(bouncing_step)


def bouncing_ball_of_subtapes(p):
    return bouncing_ball(p, step=sub_step)


def bouncing_ball_scan(p):
    """The same as a loop whose body branches."""

    def body(state, _):
        state = bouncing_step(*state, p[2])
        return state, state[0]

    _, heights = td.scan(body, (p[0], p[1]), length=BOUNCE_STEPS)
    return np.sum(heights**2)


_DROPS = (numpy.array([1.0, 0.0, 0.8]),)

PROBLEMS = (
    Problem(
        "two_tails", "two paths in turns", two_tails,
        (numpy.array([0.3, 1.1, 0.2]), numpy.array([0.3, 1.1, -0.2])), guarded=True, by_hand="two_tails",
    ),
    Problem(
        "bouncing_ball", "bouncing ball, 200 sub-tapes", bouncing_ball, _DROPS, taped=bouncing_ball_of_subtapes,
        by_hand="bouncing_ball",
    ),
    Problem(
        "bouncing_ball_scan", "bouncing ball, td.scan with an if", bouncing_ball, _DROPS, taped=bouncing_ball_scan,
        by_hand="bouncing_ball", version="bouncing_ball",
    ),
)  # fmt: skip
