"""One step of each method: from the state and its derivative to the next ones and an error estimate."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from ..ir.instruction import Operand
from ..targets.operators import matrices

# The right-hand side: f(time, state).
Slope = Callable[[Operand, Operand], Operand]
# Maps the next state to the allowed sizes of errors.
Scale = Callable[[Operand], Operand]
# The next state, the right-hand side there, and the error relative to the allowed one.
Stepped = tuple[Operand, Operand, Operand]
# step(right-hand side, time, state, slope, length of the step, scale); the slope is the right-hand side at the state.
Step = Callable[[Slope, Operand, Operand, Operand, Operand, Scale], Stepped]


@dataclass(frozen=True)
class Method:
    """A method of integration.

    Attributes:
        order: of the error estimate: after a step of h it is about h**order.
        step: one step.
    """

    order: int
    step: Step


def weighted(weights: Sequence[float], slopes: Sequence[Operand]) -> Operand:
    """The weighted sum of slopes, without those of weight 0."""
    terms = [weight * slope for weight, slope in zip(weights, slopes) if weight]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def mean_square(x: Operand) -> Operand:
    return np.mean(x * x)


# Source: Dormand and Prince (1980), J. Comp. Appl. Math. 6.
NODES = (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0)
STAGES = (
    (),
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
)
WEIGHTS = (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84)
ERROR = (-71 / 57600, 0.0, 71 / 16695, -71 / 1920, 17253 / 339200, -22 / 525, 1 / 40)


def stages_of(
    f: Slope, t: Operand, y: Operand, slope: Operand, h: Operand, nodes: Sequence[float], stages: Sequence[Sequence[float]],
    weights: Sequence[float],
) -> tuple[Operand, list[Operand]]:  # fmt: skip
    """An explicit Runge-Kutta step: the next state, and all slopes, including the one there."""
    slopes = [slope]
    for node, row in zip(nodes[1:], stages[1:]):
        slopes.append(f(t + node * h, y + h * weighted(row, slopes)))
    after = y + h * weighted(weights, slopes)
    slopes.append(f(t + h, after))
    return after, slopes


def _dormand_prince(f: Slope, t: Operand, y: Operand, slope: Operand, h: Operand, scale: Scale) -> Stepped:
    after, slopes = stages_of(f, t, y, slope, h, NODES, STAGES, WEIGHTS)
    return after, slopes[-1], np.sqrt(mean_square(h * weighted(ERROR, slopes) / scale(after)))


def _dop853(f: Slope, t: Operand, y: Operand, slope: Operand, h: Operand, scale: Scale) -> Stepped:
    """Source: Hairer, Norsett and Wanner (1993), Solving Ordinary Differential Equations I; the coefficients are SciPy's."""
    nodes, stages, weights, fifth, third = _coefficients()
    after, slopes = stages_of(f, t, y, slope, h, nodes, stages, weights)
    high, low = (mean_square(weighted(error, slopes) / scale(after)) for error in (fifth, third))
    largest = np.maximum(high + 0.01 * low, 1e-300)
    return after, slopes[-1], np.abs(h) * high / np.sqrt(largest)


@cache
def _coefficients() -> tuple[list[float], list[list[float]], list[float], list[float], list[float]]:
    method = importlib.import_module("scipy.integrate").DOP853
    stages = [row[:k].tolist() for k, row in enumerate(method.A)]
    return method.C.tolist(), stages, method.B.tolist(), method.E5.tolist(), method.E3.tolist()


# Source: Hairer and Wanner (1996), Solving Ordinary Differential Equations II, the code RODAS: stiffly accurate, order 4, L-stable.
GAMMA = 0.25
RODAS_NODES = (0.0, 0.386, 0.21, 0.63, 1.0, 1.0)
RODAS_TIMES = (0.25, -0.1043, 0.1035, -0.0362, 0.0, 0.0)
_LAST = (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950)
RODAS_STAGES = (
    (),
    (1.544,),
    (0.9466785280815826, 0.2557011698983284),
    (3.314825187068521, 2.896124015972201, 0.9986419139977817),
    _LAST,
    (*_LAST, 1.0),
)
RODAS_SLOPES = (
    (),
    (-5.6688,),
    (-2.430093356833875, -0.2063599157091915),
    (-0.1073529058151375, -9.594562251023355, -20.47028614809616),
    (7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160),
    (8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054),
)


def _rodas(f: Slope, t: Operand, y: Operand, slope: Operand, h: Operand, scale: Scale) -> Stepped:
    """A Rosenbrock step: six linear systems of one matrix, whose last solution is the estimate of the error."""
    size = np.size(y)
    by_state = np.reshape(matrices.jacobian(lambda y: f(t, y), y), (size, size))
    by_time = np.reshape(matrices.jacobian(lambda t: f(t, y), t), np.shape(y))
    matrix = np.eye(size) / (h * GAMMA) - by_state
    parts: list[Operand] = []
    state = y
    for node, time, row, slopes in zip(RODAS_NODES, RODAS_TIMES, RODAS_STAGES, RODAS_SLOPES):
        state = y + weighted(row, parts) if row else y
        right = (f(t + node * h, state) if row else slope) + (h * time) * by_time
        right = right + weighted(slopes, parts) / h if row else right
        parts.append(np.reshape(np.linalg.solve(matrix, np.reshape(right, (-1,))), np.shape(y)))
    after = state + parts[-1]
    return after, f(t + h, after), np.sqrt(mean_square(parts[-1] / scale(after)))


METHODS = {"rk45": Method(5, _dormand_prince), "dop853": Method(8, _dop853), "rodas4": Method(4, _rodas)}
