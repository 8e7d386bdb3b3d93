"""What is not the plain function with jax.numpy: loops as lax.scan, writes as `.at`."""

from functools import partial

import jax.numpy as jnp
import numpy as np
from jax import lax

from . import grids, models, networks, physics


def adbench_lstm(u):
    weights, extra = networks.lstm_weights(u, jnp)

    def step(state, letters):
        state, gain = networks.lstm_step(state, *letters, weights, extra, jnp)
        return state, gain

    start = [(jnp.asarray(hidden), jnp.asarray(cell)) for hidden, cell in networks.MEMORY]
    _, gains = lax.scan(step, start, (networks.TEXT[:-1], networks.TEXT[1:]))
    return -jnp.sum(gains) / ((networks.LENGTH - 1) * networks.LETTERS)


def kalman(u):
    def step(state, measured):
        return models.kalman_step(state, measured, jnp.exp(u[0]), jnp.exp(u[1]), jnp), None

    return lax.scan(step, (u[2:6], jnp.eye(4), 0.0), models.MEASURED)[0][2]


def particle_filter(u):
    first = u[0] + jnp.exp(u[2]) * models.SHOCKS[0]
    return jnp.sum(lax.scan(lambda h, seen: models.particle_step(h, *seen, u, jnp), first, (models.SHOCKS[1:], models.RETURNS[1:]))[1])


def random_field(u):
    pairs = jnp.reshape(u[: models.TAGS**2], (models.TAGS, models.TAGS))
    scores = models.SENTENCE @ jnp.reshape(u[models.TAGS**2 :], (models.FEATURES, models.TAGS))

    def step(forward, score):
        return score + models.log_sum_exp(forward[:, None] + pairs, 0, jnp), None

    forward, _ = lax.scan(step, scores[0], scores[1:])
    tags = models.TAGGED
    path = jnp.sum(scores[np.arange(models.WORDS), tags]) + jnp.sum(pairs[tags[:-1], tags[1:]])
    return path - models.log_sum_exp(forward, 0, jnp)


def soft_dtw(x):
    """A scan over rows, and over their entries within."""

    def row(above, entry):
        def cell(left, others):
            diagonal, upper, target = others
            least = jnp.minimum(jnp.minimum(diagonal, upper), left)
            soft = least - jnp.log(jnp.exp(least - diagonal) + jnp.exp(least - upper) + jnp.exp(least - left))
            value = (entry - target) ** 2 + soft
            return value, value

        _, values = lax.scan(cell, jnp.asarray(1e10), (above[:-1], above[1:], models.SERIES))
        return jnp.concatenate([jnp.full(1, 1e10), values]), None

    start = jnp.concatenate([jnp.zeros(1), jnp.full(len(models.SERIES), 1e10)])
    return lax.scan(row, start, x)[0][-1]


def heat(n, steps, x):
    def step(u, _):
        inside = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        return u.at[1:-1, 1:-1].add(0.2 * inside), None

    return jnp.sum(lax.scan(step, jnp.reshape(x, (n, n)), length=steps)[0] ** 2)


heat_slices, heat_cells, heat_scan = partial(heat, 64, 100), partial(heat, 30, 20), partial(heat, 256, 100)


def n_body(x):
    """All pairs in order: the speeds of a step depend on places alone, so that arrays of pairs give the same."""
    place, speed = jnp.reshape(x, (2, physics.BODIES, 3))

    def step(state, _):
        place, speed = state
        apart = place[:, None, :] - place[None, :, :]
        squared = jnp.sum(apart**2, axis=2) + 0.1
        pull = 0.01 * physics.MASSES / (squared * jnp.sqrt(squared))
        speed = speed - jnp.sum(pull[:, :, None] * apart, axis=1)
        return (place + 0.01 * speed, speed), None

    (place, _), _ = lax.scan(step, (place, speed), length=physics.ORBIT_STEPS)
    return jnp.sum(place**2)


def stars(x):
    start = tuple(jnp.reshape(x, (2, physics.STARS, 3)))
    (place, _), _ = lax.scan(lambda state, _: (physics.star_step(*state, jnp), None), start, length=physics.STAR_STEPS)
    return jnp.sum(place**2)


def lattice(x):
    field = jnp.reshape(x, (32, 32))
    beside = jnp.roll(field, -1, axis=0) + jnp.roll(field, -1, axis=1)
    return jnp.sum(2.0 * field**2 - field * beside + 0.1 * (field**2 - 1.0) ** 2)


def american_put(u):
    steps = physics.TREE_STEPS
    step = 1.0 / steps
    spot, rise, discount = jnp.exp(u[0]), jnp.exp(u[1]) * jnp.sqrt(step), jnp.exp(-u[2] * step)
    up = jnp.exp(rise)
    probability = (1.0 / discount - 1.0 / up) / (up - 1.0 / up)
    twice = 2.0 * jnp.arange(steps + 1)

    def back(value, k):
        ahead = discount * (probability * value + (1.0 - probability) * jnp.roll(value, -1))
        return jnp.maximum(ahead, 1.0 - spot * jnp.exp(rise * (k - twice))), None

    start = jnp.maximum(1.0 - spot * jnp.exp(rise * (steps - twice)), 0.0)
    return lax.scan(back, start, jnp.arange(steps - 1, -1, -1.0))[0][0]


def barrier(u):
    spot, volatility = jnp.exp(u[0]), jnp.exp(u[1])
    drift = (u[2] - 0.5 * volatility**2) / physics.DAYS

    def day(state, draw):
        price, alive = state
        price = price * jnp.exp(drift + volatility * draw)
        return (price, jnp.where(price < physics.BARRIER, 0.0, alive)), None

    start = jnp.full(physics.PATHS, spot), jnp.ones(physics.PATHS)
    (price, alive), _ = lax.scan(day, start, physics.DRAWS.T)
    return jnp.exp(-u[2]) * jnp.mean(alive * jnp.maximum(price - 1.0, 0.0))


def waves(x):
    speed = 0.1 + 0.05 * jnp.tanh(jnp.reshape(x, (grids.SIDE, grids.SIDE)))
    still = jnp.asarray(grids.STILL)
    (field, _), _ = lax.scan(lambda s, _: (grids.wave_step(*s, speed, jnp), None), (still, still), None, length=grids.WAVE_STEPS)
    return jnp.sum(field**2)


def chain(x):
    start = (x, jnp.zeros(grids.LINKS))
    (place, _), _ = lax.scan(lambda s, _: (grids.chain_step(*s), None), start, None, length=grids.CHAIN_STEPS)
    return jnp.sum(place**2)


def graph(x):
    def step(u, _):
        flow = grids.WEIGHT * (u[grids.TO] - u[grids.FROM])
        return u + 0.02 * jnp.zeros(grids.NODES).at[grids.FROM].add(flow).at[grids.TO].add(-flow), None

    u, _ = lax.scan(step, x, None, length=grids.SMOOTHINGS)
    return jnp.sum((u - grids.WANTED) ** 2)
