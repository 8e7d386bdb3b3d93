"""Problems that have a formulation in scalars, in CasADi: most of them as they stand, with CasADi's functions in the place of NumPy's."""

from types import SimpleNamespace

import casadi
import numpy

from tests.posteriors import models

from . import branch_problems, loop_problems
from .posterior_problems import data_of

NAMESPACE = SimpleNamespace(
    exp=casadi.exp, log=casadi.log, log1p=casadi.log1p, sqrt=casadi.sqrt, sin=casadi.sin, tanh=casadi.tanh,
    sum=lambda x: casadi.sum1(casadi.vec(x)),
)  # fmt: skip
AS_THEY_STAND = frozenset({
    "eight_schools", "chain", "rosenbrock", "sum", "sum_sin", "loop_sum", "loop_sum_sin", "straight_line", "rosenbrock_loop",
    "volatility", "lotka_volterra",
})  # fmt: skip


def hidden_markov(u):
    """The forward pass with matrices of 4 rows."""
    rows, columns = loop_problems.STATES, loop_problems.STATES
    weights = casadi.exp(casadi.reshape(u[: rows * columns], columns, rows)).T
    transition = weights / casadi.repmat(casadi.sum2(weights), 1, columns)
    total, forward = 0.0, None
    for signal in loop_problems.SIGNAL:
        emitted = casadi.exp(-0.5 * ((signal - u[16:20]) / casadi.exp(u[20])) ** 2) / casadi.exp(u[20])
        if forward is None:
            forward = 0.25 * emitted
            continue
        size = casadi.sum1(forward)
        total += casadi.log(size)
        forward = (transition.T @ (forward / size)) * emitted
    return total + casadi.log(casadi.sum1(forward))


def bouncing_ball(p):
    """Both sides of every bounce are computed."""

    def step(y, v, restitution):
        v = v - branch_problems.GRAVITY * branch_problems.DT
        y = y + branch_problems.DT * v
        down = y < 0
        return casadi.if_else(down, -restitution * y, y), casadi.if_else(down, -restitution * v, v)

    return branch_problems.bouncing_ball(p, step=step)


def normal(x, mean, sd):
    return -0.5 * ((x - mean) / sd) ** 2 - casadi.log(sd) - models.LOG_SQRT_2PI


def expit(u):
    return 1 / (1 + casadi.exp(-u))


def logaddexp(a, b):
    return casadi.fmax(a, b) + casadi.log1p(casadi.exp(-casadi.fabs(a - b)))


def log_expit_slope(u):
    return -logaddexp(0.0, u) - logaddexp(0.0, -u)


def posterior_garch(u):
    data = data_of("garch")
    y, sd = data["y"], float(data["sigma1"])
    mu, alpha0, alpha1 = u[0], casadi.exp(u[1]), expit(u[2])
    beta1 = (1 - alpha1) * expit(u[3])
    total = u[1] + log_expit_slope(u[2]) + log_expit_slope(u[3]) + casadi.log(1 - alpha1) + normal(y[0], mu, sd)
    for t in range(1, len(y)):
        sd = casadi.sqrt(alpha0 + alpha1 * (y[t - 1] - mu) ** 2 + beta1 * sd**2)
        total += normal(y[t], mu, sd)
    return total


def posterior_hmm_example(u):
    y = data_of("hmm_example")["y"]
    stay1, stay2, mu1 = expit(u[0]), expit(u[1]), casadi.exp(u[2])
    mu2 = mu1 + casadi.exp(u[3])
    to1 = casadi.log(stay1), casadi.log(stay2)
    to2 = casadi.log(1 - stay1), casadi.log(1 - stay2)
    one, two = normal(y[0], mu1, 1.0), normal(y[0], mu2, 1.0)
    for signal in y[1:]:
        one, two = (
            normal(signal, mu1, 1.0) + logaddexp(one + to1[0], two + to1[1]),
            normal(signal, mu2, 1.0) + logaddexp(one + to2[0], two + to2[1]),
        )
    prior = normal(mu1, 3.0, 1.0) + normal(mu2, 10.0, 1.0)
    return logaddexp(one, two) + prior + log_expit_slope(u[0]) + log_expit_slope(u[1]) + u[2] + u[3]


def posterior_hudson_lynx_hare(u, steps_per_year=20):
    data = data_of("hudson_lynx_hare")
    a, b, c, d = (casadi.exp(u[k]) for k in range(4))

    def slope(log_hares, log_lynxes):
        return a - b * casadi.exp(log_lynxes), d * casadi.exp(log_hares) - c

    state, total = (u[4], u[5]), casadi.sum1(u)
    for y in (data["y_init"], *data["y"]):
        for k in range(2):
            total += normal(numpy.log(y[k]), state[k], casadi.exp(u[6 + k])) - numpy.log(y[k])
        for _ in range(steps_per_year):
            state = models.runge_kutta_4(slope, *state, 1.0 / steps_per_year)
    total += normal(a, 1.0, 0.5) + normal(c, 1.0, 0.5) + normal(b, 0.05, 0.05) + normal(d, 0.05, 0.05)
    for log_positive, log_mean in ((u[6], -1.0), (u[7], -1.0), (u[4], numpy.log(10.0)), (u[5], numpy.log(10.0))):
        total += normal(log_positive, log_mean, 1.0) - log_positive
    return total


WRITTEN = {
    "hidden_markov": hidden_markov, "bouncing_ball": bouncing_ball, "posterior_garch": posterior_garch,
    "posterior_hmm_example": posterior_hmm_example, "posterior_hudson_lynx_hare": posterior_hudson_lynx_hare,
}  # fmt: skip


def version(problem):
    """An expression in SX symbols, as a function of a vector of them; None where there is none."""
    if problem.key in AS_THEY_STAND:
        return problem.in_namespace(NAMESPACE)
    return WRITTEN.get(problem.key)


def value_and_gradient(problem):
    """A bind(point) as in benchmarks.engines: memory that CasADi's virtual machine reads and writes without copies."""
    symbols = casadi.SX.sym("x", problem.points[0].size)
    value = version(problem)(symbols)
    function = casadi.Function("f", [symbols], [value, casadi.gradient(value, symbols)])

    def bind(point):
        buffer, call = function.buffer()
        result, gradient = numpy.zeros(1), numpy.zeros(point.size)
        dense = [casadi.DM(function.sparsity_out(k)).full().size == function.nnz_out(k) for k in range(2)]
        if not all(dense):
            return lambda: function(point), lambda answer: (float(answer[0]), answer[1].full().ravel())
        buffer.set_arg(0, memoryview(point))
        buffer.set_res(0, memoryview(result))
        buffer.set_res(1, memoryview(gradient))

        # The buffer holds bare addresses of the arrays.
        def call_and_keep(call=call, kept=(buffer, point, result, gradient, function)):
            call()

        return call_and_keep, lambda _: (result[0], gradient)

    return bind
