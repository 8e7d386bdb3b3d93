"""The problems with loops and branches in idiomatic JAX: lax.scan and lax.cond. All others run with jax.numpy as they stand."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import expit

from . import branch_problems, loop_problems
from .outside import jax_versions as outside
from .posterior_problems import data_of, log_density, models_in

jax.config.update("jax_enable_x64", True)


def total_of(terms, x):
    """A loop that adds f(x) to a total."""
    return lax.scan(lambda total, entry: (total + terms(entry), None), 0.0, x)[0]


def loop_sum(x):
    return total_of(lambda v: v, x)


def loop_sum_sin(x):
    return total_of(jnp.sin, x)


def rosenbrock_loop(x):
    return total_of(lambda pair: 100.0 * (pair[1] - pair[0] ** 2) ** 2 + (1.0 - pair[0]) ** 2, (x[:-1], x[1:]))


def volatility(u):
    mean, persistence, scale, z = u[0], jnp.tanh(u[1]), jnp.exp(u[2]), u[3:]
    start = mean + scale * z[0] / jnp.sqrt(1.0 - persistence**2)

    def step(h, innovation):
        h = mean + persistence * (h - mean) + scale * innovation
        return h, h

    _, rest = lax.scan(step, start, z[1:])
    h = jnp.concatenate([start[None], rest])
    return -0.5 * (jnp.sum(h + loop_problems.RETURNS**2 * jnp.exp(-h) + z**2) + jnp.sum(u[:3] ** 2))


def lotka_volterra(p):
    rates = jnp.exp(p)
    step = loop_problems.predator_prey(*rates[:4])

    def body(state, _):
        state = step(*state)
        return state, jnp.stack(state)

    _, states = lax.scan(body, (rates[4], rates[5]), length=loop_problems.STEPS)
    return jnp.sum((states - loop_problems.OBSERVED) ** 2)


def lotka_volterra_euler(p):
    def step(carry, _):
        u, v, loss = carry
        u, v = u + 0.05 * (p[0] * u - p[1] * u * v), v + 0.05 * (p[3] * u * v - p[2] * v)
        return (u, v, loss + (u - 1.0) ** 2 + (v - 0.5) ** 2), None

    return lax.scan(step, (p[4], p[5], jnp.zeros(())), length=20)[0][2]


def hidden_markov(u):
    transition, emission = loop_problems.hidden_markov_start(u, jnp)

    def step(forward, emitted):
        size = jnp.sum(forward)
        return ((forward / size) @ transition) * emitted, size

    forward, sizes = lax.scan(step, 0.25 * emission[0], emission[1:])
    return jnp.sum(jnp.log(sizes)) + jnp.log(jnp.sum(forward))


def two_tails(u):
    residual = (branch_problems.LEVELS - (u[0] + u[1] * branch_problems.TIMES)) / jnp.exp(u[2])
    prior = -0.5 * jnp.sum(u**2) - len(branch_problems.TIMES) * u[2]
    heavy, light = lambda: -jnp.sum(jnp.log1p(residual**2)), lambda: -0.5 * jnp.sum(residual**2)
    return prior + lax.cond(u[2] > 0, heavy, light)


def bouncing_ball(p):
    def body(state, _):
        y, v = state
        v = v - branch_problems.GRAVITY * branch_problems.DT
        y = y + branch_problems.DT * v
        state = lax.cond(y < 0, lambda: (-p[2] * y, -p[2] * v), lambda: (y, v))
        return state, state[0]

    _, heights = lax.scan(body, (p[0], p[1]), length=branch_problems.BOUNCE_STEPS)
    return jnp.sum(heights**2)


GARCH, MARKOV, LYNX = (data_of(name) for name in ("garch", "hmm_example", "hudson_lynx_hare"))
_jax_models = models_in("jax.numpy")
normal, log_expit_slope = _jax_models.normal, _jax_models.log_expit_slope


def posterior_garch(u):
    y = GARCH["y"]
    mu, alpha0, alpha1 = u[0], jnp.exp(u[1]), expit(u[2])
    beta1 = (1 - alpha1) * expit(u[3])

    def step(sd, before):
        sd = jnp.sqrt(alpha0 + alpha1 * (before - mu) ** 2 + beta1 * sd**2)
        return sd, sd

    _, rest = lax.scan(step, jnp.asarray(float(GARCH["sigma1"])), y[:-1])
    sd = jnp.concatenate([jnp.asarray(GARCH["sigma1"])[None], rest])
    return jnp.sum(normal(y, mu, sd)) + u[1] + jnp.sum(log_expit_slope(u[2:])) + jnp.log(1 - alpha1)


def posterior_hmm_example(u):
    stay1, stay2 = expit(u[0]), expit(u[1])
    mu = jnp.cumsum(jnp.exp(u[2:]))
    log_theta = jnp.log(jnp.array([[stay1, 1 - stay1], [stay2, 1 - stay2]]))
    emission = normal(MARKOV["y"][:, None], mu, 1.0)

    def step(forward, emitted):
        paths = forward[:, None] + log_theta
        return emitted + jnp.logaddexp(paths[0], paths[1]), None

    forward, _ = lax.scan(step, emission[0], emission[1:])
    prior = normal(mu[0], 3.0, 1.0) + normal(mu[1], 10.0, 1.0)
    return jnp.logaddexp(forward[0], forward[1]) + prior + jnp.sum(log_expit_slope(u[:2])) + u[2] + u[3]


def posterior_hudson_lynx_hare(u, steps_per_year=20):
    y, y_init = LYNX["y"], LYNX["y_init"]
    a, b, c, d, hares, lynxes, sigma1, sigma2 = jnp.exp(u)
    sigma = jnp.exp(u[6:])

    def slope(log_hares, log_lynxes):
        return a - b * jnp.exp(log_lynxes), d * jnp.exp(log_hares) - c

    def body(state, _):
        return _jax_models.runge_kutta_4(slope, *state, 1.0 / steps_per_year), None

    def year(state, _):
        state, _ = lax.scan(body, state, length=steps_per_year)
        return state, jnp.stack(state)

    _, log_z = lax.scan(year, (u[4], u[5]), length=len(y))
    likelihood = jnp.sum(normal(jnp.log(y), log_z, sigma) - jnp.log(y))
    likelihood = likelihood + jnp.sum(normal(jnp.log(y_init), u[4:6], sigma) - jnp.log(y_init))
    prior = normal(a, 1.0, 0.5) + normal(c, 1.0, 0.5) + normal(b, 0.05, 0.05) + normal(d, 0.05, 0.05)
    for positive, log_mean in ((sigma1, -1.0), (sigma2, -1.0), (hares, np.log(10.0)), (lynxes, np.log(10.0))):
        prior = prior + _jax_models.lognormal(positive, log_mean, 1.0)
    return likelihood + prior + jnp.sum(u)


def version(problem):
    """The problem in JAX."""
    for module in (globals(), vars(outside)):
        if problem.key in module:
            return module[problem.key]
    if problem.name.startswith("posterior_"):  # prepares its data here, where they are not traced
        return log_density(problem.name.removeprefix("posterior_"), "jax.numpy")
    return problem.in_namespace(jnp)
