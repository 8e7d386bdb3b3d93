"""Gradients written by hand with numba, where that is short. Each takes a point and the array for the gradient, and returns the value."""

import math
from functools import partial

import numpy as np
from numba import njit

from . import grids, models, physics

_fast = njit(error_model="numpy", fastmath={"reassoc", "contract"})


@_fast
def _matrix_factorisation(point, out, rated_by, rated, rating, users, factors):
    u, v = point[: users * factors].reshape(users, factors), point[users * factors :].reshape(-1, factors)
    u_bar, v_bar = out[: users * factors].reshape(users, factors), out[users * factors :].reshape(-1, factors)
    total = 0.0
    for k in range(point.size):
        out[k] = 0.2 * point[k]
        total += 0.1 * point[k] * point[k]
    for k in range(rating.size):
        i, j, product = rated_by[k], rated[k], 0.0
        for f in range(factors):
            product += u[i, f] * v[j, f]
        error = product - rating[k]
        total += error * error
        for f in range(factors):
            u_bar[i, f] += 2.0 * error * v[j, f]
            v_bar[j, f] += 2.0 * error * u[i, f]
    return total


def matrix_factorisation(point, out):
    return _matrix_factorisation(point, out, models.RATED_BY, models.RATED, models.RATING, models.USERS, models.FACTORS)


@_fast
def _lennard_jones(point, out, left, right):
    x, x_bar, total = point.reshape(-1, 3), out.reshape(-1, 3), 0.0
    out[:] = 0.0
    for k in range(left.size):
        i, j = left[k], right[k]
        a, b, c = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2]
        squared = a * a + b * b + c * c
        inverse = 1.0 / (squared * squared * squared)
        total += 4.0 * (inverse * inverse - inverse)
        slope = -24.0 * (2.0 * inverse * inverse - inverse) / squared
        x_bar[i, 0] += slope * a
        x_bar[i, 1] += slope * b
        x_bar[i, 2] += slope * c
        x_bar[j, 0] -= slope * a
        x_bar[j, 1] -= slope * b
        x_bar[j, 2] -= slope * c
    return total


def lennard_jones(point, out):
    return _lennard_jones(point, out, physics.LEFT, physics.RIGHT)


@njit(error_model="numpy")
def _heat_step(u, after):
    n = u.shape[0]
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            after[i, j] = u[i, j] + 0.2 * (u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1] - 4.0 * u[i, j])


@njit(error_model="numpy")
def _heat_step_back(bar, before):
    n = bar.shape[0]
    before[:] = bar
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            given = 0.2 * bar[i, j]
            before[i, j] -= 4.0 * given
            before[i + 1, j] += given
            before[i - 1, j] += given
            before[i, j + 1] += given
            before[i, j - 1] += given


@njit(error_model="numpy")
def _heat(n, steps, point, out):
    now, other = point.copy().reshape(n, n), point.copy().reshape(n, n)
    for _ in range(steps):
        _heat_step(now, other)
        now, other = other, now
    total = 0.0
    for i in range(n):
        for j in range(n):
            total += now[i, j] * now[i, j]
            now[i, j] *= 2.0
    for _ in range(steps):
        _heat_step_back(now, other)
        now, other = other, now
    out[:] = now.ravel()
    return total


heat_64, heat_30, heat_256 = partial(_heat, 64, 100), partial(_heat, 30, 20), partial(_heat, 256, 100)


@njit(error_model="numpy")
def _soft_dtw(x, out, series):
    n, m = x.size, series.size
    table, weights = np.full((n + 1, m + 1), 1e10), np.empty((n, m, 3))
    table[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            a, b, c = table[i, j], table[i, j + 1], table[i + 1, j]
            least = min(a, b, c)
            p, q, r = math.exp(least - a), math.exp(least - b), math.exp(least - c)
            total = p + q + r
            weights[i, j, 0], weights[i, j, 1], weights[i, j, 2] = p / total, q / total, r / total
            table[i + 1, j + 1] = (x[i] - series[j]) ** 2 + least - math.log(total)
    bar = np.zeros((n + 1, m + 1))
    bar[n, m] = 1.0
    for i in range(n - 1, -1, -1):
        out[i] = 0.0
        for j in range(m - 1, -1, -1):
            e = bar[i + 1, j + 1]
            out[i] += 2.0 * (x[i] - series[j]) * e
            bar[i, j] += e * weights[i, j, 0]
            bar[i, j + 1] += e * weights[i, j, 1]
            bar[i + 1, j] += e * weights[i, j, 2]
    return table[n, m]


def soft_dtw(point, out):
    return _soft_dtw(point, out, models.SERIES)


@_fast
def _lattice(n, point, out):
    total = 0.0
    for i in range(n):
        up, down = (i + 1) % n, (i - 1) % n
        for j in range(n):
            right, left = (j + 1) % n, (j - 1) % n
            here = point[i * n + j]
            ahead = point[up * n + j] + point[i * n + right]
            well = here * here - 1.0
            total += 2.0 * here * here - here * ahead + 0.1 * well * well
            out[i * n + j] = 4.0 * here - ahead - point[down * n + j] - point[i * n + left] + 0.4 * here * well
    return total


lattice_32 = partial(_lattice, 32)


@njit(error_model="numpy")
def _barrier_option(u, out, draws, barrier):
    """A path that ends above gives spot · exp(days · drift + volatility · sum of its draws)."""
    spot, volatility, rate = math.exp(u[0]), math.exp(u[1]), u[2]
    paths, days = draws.shape
    drift = (rate - 0.5 * volatility**2) / days
    total = by_spot = by_volatility = by_rate = 0.0
    for k in range(paths):
        price, drawn, alive = spot, 0.0, True
        for t in range(days):
            price *= math.exp(drift + volatility * draws[k, t])
            drawn += draws[k, t]
            if price < barrier:
                alive = False
                break
        if alive and price > 1.0:
            total += price - 1.0
            by_spot += price
            by_volatility += price * volatility * (drawn - volatility)
            by_rate += price
    discount = math.exp(-rate) / paths
    out[0], out[1], out[2] = discount * by_spot, discount * by_volatility, discount * (by_rate - total)
    return discount * total


def barrier_option(point, out):
    return _barrier_option(point, out, physics.DRAWS, physics.BARRIER)


@njit(error_model="numpy")
def _n_body(point, out, masses, steps):
    n = masses.size
    places = np.empty((steps + 1, n, 3))
    places[0] = point[: 3 * n].reshape(n, 3)
    speed = point[3 * n :].copy().reshape(n, 3)
    for t in range(steps):
        place = places[t]
        for i in range(n):
            for j in range(i):
                x, y, z = place[i, 0] - place[j, 0], place[i, 1] - place[j, 1], place[i, 2] - place[j, 2]
                squared = x * x + y * y + z * z + 0.1
                pull = 0.01 / (squared * math.sqrt(squared))
                a, b = masses[j] * pull, masses[i] * pull
                speed[i, 0] -= a * x
                speed[i, 1] -= a * y
                speed[i, 2] -= a * z
                speed[j, 0] += b * x
                speed[j, 1] += b * y
                speed[j, 2] += b * z
        for i in range(n):
            for d in range(3):
                places[t + 1, i, d] = place[i, d] + 0.01 * speed[i, d]
    place_bar, speed_bar, total = 2.0 * places[steps], np.zeros((n, 3)), np.sum(places[steps] ** 2)
    for t in range(steps - 1, -1, -1):
        place = places[t]
        speed_bar += 0.01 * place_bar
        for i in range(n):
            for j in range(i):
                x, y, z = place[i, 0] - place[j, 0], place[i, 1] - place[j, 1], place[i, 2] - place[j, 2]
                squared = x * x + y * y + z * z + 0.1
                pull = 0.01 / (squared * math.sqrt(squared))
                # The cotangent of pull · (x, y, z), and from it that of the distance.
                p = masses[i] * speed_bar[j, 0] - masses[j] * speed_bar[i, 0]
                q = masses[i] * speed_bar[j, 1] - masses[j] * speed_bar[i, 1]
                r = masses[i] * speed_bar[j, 2] - masses[j] * speed_bar[i, 2]
                slope = -3.0 * (p * x + q * y + r * z) * pull / squared
                p, q, r = pull * p + slope * x, pull * q + slope * y, pull * r + slope * z
                place_bar[i, 0] += p
                place_bar[i, 1] += q
                place_bar[i, 2] += r
                place_bar[j, 0] -= p
                place_bar[j, 1] -= q
                place_bar[j, 2] -= r
    out[: 3 * n], out[3 * n :] = place_bar.ravel(), speed_bar.ravel()
    return total


def n_body(point, out):
    return _n_body(point, out, physics.MASSES, physics.ORBIT_STEPS)


@_fast
def _beside(u, i, j):
    n = u.shape[0]
    above, below = (i - 1 if i > 0 else n - 1), (i + 1 if i < n - 1 else 0)
    left, right = (j - 1 if j > 0 else n - 1), (j + 1 if j < n - 1 else 0)
    return u[above, j] + u[below, j] + u[i, left] + u[i, right] - 4.0 * u[i, j]


@_fast
def _waves(point, out, still, steps):
    n = still.shape[0]
    fields, slope = np.empty((steps + 2, n, n)), np.tanh(point).reshape(n, n)
    fields[0], fields[1] = still, still
    for t in range(1, steps + 1):
        u, made = fields[t], fields[t + 1]
        for i in range(n):
            for j in range(1, n - 1):
                above, below = (i - 1 if i > 0 else n - 1), (i + 1 if i < n - 1 else 0)
                beside = u[above, j] + u[below, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]
                made[i, j] = 2.0 * u[i, j] - fields[t - 1, i, j] + (0.1 + 0.05 * slope[i, j]) * beside
            for j in (0, n - 1):
                made[i, j] = 2.0 * u[i, j] - fields[t - 1, i, j] + (0.1 + 0.05 * slope[i, j]) * _beside(u, i, j)
    u_bar, later, scaled, total = 2.0 * fields[-1], np.zeros((n, n)), np.empty((n, n)), np.sum(fields[-1] ** 2)
    speed_bar = out.reshape(n, n)
    speed_bar[:] = 0.0
    for t in range(steps, 0, -1):
        u = fields[t]
        for i in range(n):
            above, below = (i - 1 if i > 0 else n - 1), (i + 1 if i < n - 1 else 0)
            for j in range(1, n - 1):
                beside = u[above, j] + u[below, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]
                speed_bar[i, j] += u_bar[i, j] * beside
            for j in (0, n - 1):
                speed_bar[i, j] += u_bar[i, j] * _beside(u, i, j)
            for j in range(n):
                scaled[i, j] = (0.1 + 0.05 * slope[i, j]) * u_bar[i, j]
        for i in range(n):
            above, below = (i - 1 if i > 0 else n - 1), (i + 1 if i < n - 1 else 0)
            for j in range(1, n - 1):
                beside = scaled[above, j] + scaled[below, j] + scaled[i, j - 1] + scaled[i, j + 1] - 4.0 * scaled[i, j]
                before = 2.0 * u_bar[i, j] - later[i, j] + beside
                later[i, j], u_bar[i, j] = u_bar[i, j], before
            for j in (0, n - 1):
                before = 2.0 * u_bar[i, j] - later[i, j] + _beside(scaled, i, j)
                later[i, j], u_bar[i, j] = u_bar[i, j], before
    for i in range(n):
        for j in range(n):
            speed_bar[i, j] *= 0.05 * (1.0 - slope[i, j] ** 2)
    return total


def waves(point, out):
    return _waves(point, out, grids.STILL, grids.WAVE_STEPS)


@_fast
def _chain(point, out, steps):
    n = point.size
    place, speed, places = point.copy(), np.zeros(n), np.empty((2 * steps, n))
    for t in range(2 * steps):
        if t % 2:
            place += 0.1 * speed
        places[t] = place
        for i in range(n):
            ahead, behind = place[i + 1 if i < n - 1 else 0] - place[i], place[i] - place[i - 1]
            speed[i] += 0.05 * (ahead - behind + 0.25 * (ahead * ahead - behind * behind))
    speed_bar = np.zeros(n)
    out[:] = 2.0 * place
    for t in range(2 * steps - 1, -1, -1):
        place = places[t]
        for i in range(n):
            after = i + 1 if i < n - 1 else 0
            pull = 0.05 * (1.0 + 0.5 * (place[after] - place[i])) * (speed_bar[i] - speed_bar[after])
            out[i] -= pull
            out[after] += pull
        if t % 2:
            speed_bar += 0.1 * out
    return np.sum(places[-1] ** 2)


def chain(point, out):
    return _chain(point, out, grids.CHAIN_STEPS)


@_fast
def _diffused(u, start, end, weight, steps):
    change = np.empty(u.size)
    for _ in range(steps):
        change[:] = 0.0
        for k in range(start.size):
            flow = weight[k] * (u[end[k]] - u[start[k]])
            change[start[k]] += flow
            change[end[k]] -= flow
        u += 0.02 * change


@_fast
def _graph(point, out, start, end, weight, wanted, steps):
    u = point.copy()
    _diffused(u, start, end, weight, steps)
    out[:] = 2.0 * (u - wanted)
    _diffused(out, start, end, weight, steps)
    return np.sum((u - wanted) ** 2)


def graph(point, out):
    return _graph(point, out, grids.FROM, grids.TO, grids.WEIGHT, grids.WANTED, grids.SMOOTHINGS)
