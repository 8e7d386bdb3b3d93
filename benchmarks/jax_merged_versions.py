"""The problems of merged_problems.py in idiomatic JAX: lax.scan, lax.while_loop and jnp.where. JAX has no reverse mode for while_loop."""

import jax
import jax.numpy as jnp
from jax import lax

from . import merged_problems as plain, search_problems as search
from .jax_versions import bouncing_ball as bouncing_ball

# Functions whose number of rounds depends on values are differentiated forward.
FORWARD = ("adaptive", "newton", "descent", "armijo", "bisection")


def value_and_gradient(name):
    function = globals()[name]
    if name in FORWARD:
        return jax.jit(lambda p: (function(p), jax.jacfwd(function)(p)))
    return jax.jit(jax.value_and_grad(function))


def huber(p):
    r = plain.RESPONSES - p[0] * plain.SLOPES - p[1]
    size = jnp.abs(r)
    return jnp.sum(jnp.where(size < 1.0, 0.5 * r * r, size - 0.5))


def bucket(p):
    capacity, wilting, share = p

    def day(storage, data):
        rain, demand, measured = data
        storage = storage + rain
        runoff = jnp.where(storage > capacity, storage - capacity, 0.0)
        storage = jnp.where(storage > capacity, capacity, storage)
        storage = storage - jnp.where(storage > wilting, demand, demand * storage / wilting)
        storage = jnp.where(storage < 0.0, 0.0, storage)
        drained = share * storage
        return storage - drained, (runoff + drained - measured) ** 2

    return jnp.sum(lax.scan(day, 20.0, (plain.RAIN, plain.DEMAND, plain.FLOW))[1])


def collisions(p):
    e = p[2]

    def step(state, _):
        x, y, u, v = state
        x, y = x + plain.DT * u, y + plain.DT * v
        x, u = jnp.where(x < 0.0, -x, x), jnp.where(x < 0.0, -e * u, u)
        y, v = jnp.where(y > 1.0, 2.0 - y, y), jnp.where(y > 1.0, -e * v, v)
        met = x > y
        x, y, u, v = jnp.where(met, y, x), jnp.where(met, x, y), jnp.where(met, v, u), jnp.where(met, u, v)
        slow = u * u + v * v < 0.01
        u, v = jnp.where(slow, u * 1.01, u), jnp.where(slow, v * 1.01, v)
        return (x, y, u, v), x * x + y

    return jnp.sum(lax.scan(step, (jnp.asarray(0.2), jnp.asarray(0.7), p[0], p[1]), length=plain.STEPS)[1])


def lockdown(p):
    def day(state, _):
        s, i, closed = state
        closed = jnp.where(closed, ~(i < 0.5 * p[2]), i > p[2])
        new = jnp.where(closed, 0.4 * p[0], p[0]) * s * i
        i = i + new - p[1] * i
        return (s - new, i, closed), i

    return jnp.sum(lax.scan(day, (0.99, 0.01, False), length=plain.LOCKDOWN_DAYS)[1])


def adaptive(p):
    def step(state):
        t, h, y = state
        h = jnp.where(t + h > plain.END, plain.END - t, h)
        a = p[0] * y * (1.0 - y / p[1])
        z = y + h * a
        b = p[0] * z * (1.0 - z / p[1])
        error = jnp.abs(0.5 * h * (b - a))
        accepted = error <= plain.TOLERANCE
        t = jnp.where(accepted, t + h, t)
        y = jnp.where(accepted, y + 0.5 * h * (a + b), y)
        factor = 0.9 * jnp.sqrt(plain.TOLERANCE / jnp.where(error > 0.0, error, 1.0))
        factor = jnp.where(error > 0.0, factor, 2.0)
        return t, h * jnp.clip(factor, 0.3, 2.0), y

    return lax.while_loop(lambda state: state[0] < plain.END, step, (jnp.asarray(0.0), jnp.asarray(0.1), p[2]))[2]


def newton(p):
    def step(state):
        k, x, _ = state
        change = (x**3 + p[0] * x - p[1]) / (3.0 * x**2 + p[0])
        return k + 1, x - change, change

    goes_on = lambda state: (state[0] < plain.ROUNDS) & ~(jnp.abs(state[2]) < 1e-12)  # noqa: E731 -- its name is its use
    return lax.while_loop(goes_on, step, (0, jnp.asarray(1.0), jnp.asarray(1.0)))[1]


def barrier(p):
    prices = p[0] * jnp.cumprod(1.0 + p[1] * jnp.sqrt(1.0 / plain.PRICES) * plain.SHOCKS, axis=1)
    alive = jnp.all(prices >= plain.BARRIER, axis=1)
    return jnp.sum(jnp.where(alive, jnp.maximum(prices[:, -1] - plain.STRIKE, 0.0), 0.0)) / plain.PATHS


def descent(p):
    height = lambda x: (x - p[0]) ** 2 + 3.0 * (x - p[1]) ** 4  # noqa: E731 -- as the plain one
    x = jnp.asarray(2.0)
    for _ in range(search.DESCENT_ROUNDS):
        value = height(x)
        slope = 2.0 * (x - p[0]) + 12.0 * (x - p[1]) ** 3
        too_high = lambda size, x=x, value=value, slope=slope: height(x - size * slope) > value - 0.1 * size * slope * slope  # noqa: E731
        size = lax.while_loop(too_high, lambda size: 0.5 * size, jnp.asarray(1.0))
        x = x - size * slope
    return x


def armijo(p):
    def slopes(x, y):
        bent = y - p[0] * x * x
        return (1.0 - x) ** 2 + p[1] * bent * bent, -2.0 * (1.0 - x) - 4.0 * p[0] * p[1] * x * bent, 2.0 * p[1] * bent

    def is_steep(state):
        x, y, k = state
        _, gx, gy = slopes(x, y)
        return (gx * gx + gy * gy >= search.FLAT) & (k < search.MOST_ROUNDS)

    def round_of(state):
        x, y, k = state
        value, gx, gy = slopes(x, y)
        too_high = lambda size: slopes(x - size * gx, y - size * gy)[0] > value - p[2] * size * (gx * gx + gy * gy)  # noqa: E731
        size = lax.while_loop(too_high, lambda size: 0.5 * size, jnp.asarray(1.0))
        return x - size * gx, y - size * gy, k + 1

    x, y, _ = lax.while_loop(is_steep, round_of, (jnp.asarray(-0.5), jnp.asarray(1.0), 0))
    return (1.0 - x) ** 2 + x * y


def bisection(p):
    def newton(state):
        y, _, k, middle = state
        step = (y * y * y + y - p[0] * middle) / (3.0 * y * y + 1.0)
        return y - step, step, k + 1, middle

    def halved(state):
        low, high, y = state
        middle = 0.5 * (low + high)
        goes = lambda s: (jnp.abs(s[1]) >= 1e-9) & (s[2] < search.NEWTON_ROUNDS)  # noqa: E731 -- as the plain one
        y, *_ = lax.while_loop(goes, newton, (y, jnp.asarray(1.0), 0, middle))
        return jnp.where(y > p[1], low, middle), jnp.where(y > p[1], middle, high), y

    _, high, y = lax.while_loop(lambda s: s[1] - s[0] > search.WIDTH, halved, (jnp.asarray(0.0), p[2], jnp.asarray(1.0)))
    return y + high * p[0]
