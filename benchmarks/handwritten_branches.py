"""Gradients of merged_problems.py written by hand: reverse where states are many beside parameters, forward where they are few.

kernel(point, out) writes the gradient to `out` and returns the value.
"""

import math

import numpy as np
from numba import njit

from .handwritten_loops import bouncing_ball as bouncing_ball
from .merged_problems import (
    BARRIER,
    COUNT,
    DAYS,
    DEMAND,
    DT,
    END,
    FLOW,
    LOCKDOWN_DAYS,
    PATHS,
    PRICES,
    RAIN,
    RESPONSES,
    ROUNDS,
    SHOCKS,
    SLOPES,
    STEPS,
    STRIKE,
    TOLERANCE,
)  # fmt: skip
from .search_problems import DESCENT_ROUNDS, FLAT, MOST_ROUNDS, NEWTON_ROUNDS, WIDTH

hand = njit(error_model="numpy", fastmath={"contract"})


@njit(error_model="numpy", fastmath={"contract", "reassoc"})
def huber(p, out):
    value = first = second = 0.0
    for k in range(COUNT):
        r = RESPONSES[k] - p[0] * SLOPES[k] - p[1]
        size = abs(r)
        inside = size < 1.0
        value += 0.5 * r * r if inside else size - 0.5
        bar = r if inside else (1.0 if r > 0.0 else -1.0)
        first -= bar * SLOPES[k]
        second -= bar
    out[0], out[1] = first, second
    return value


@hand
def bucket(p, out):
    capacity, wilting, share = p[0], p[1], p[2]
    filled, wet, left = np.empty(DAYS), np.empty(DAYS), np.empty(DAYS)
    errors = np.empty(DAYS)
    storage, total = 20.0, 0.0
    for t in range(DAYS):
        storage += RAIN[t]
        filled[t] = storage
        runoff = 0.0
        if storage > capacity:
            runoff = storage - capacity
            storage = capacity
        wet[t] = storage
        storage -= DEMAND[t] if storage > wilting else DEMAND[t] * storage / wilting
        left[t] = storage
        if storage < 0.0:
            storage = 0.0
        drained = share * storage
        storage -= drained
        errors[t] = runoff + drained - FLOW[t]
        total += errors[t] * errors[t]
    bar = capacity_bar = wilting_bar = share_bar = 0.0
    for t in range(DAYS - 1, -1, -1):
        flow_bar = 2.0 * errors[t]
        drained_bar = flow_bar - bar
        if left[t] < 0.0:
            bar = 0.0
        else:
            share_bar += drained_bar * left[t]
            bar += drained_bar * share
        if wet[t] <= wilting:
            wilting_bar += bar * DEMAND[t] * wet[t] / (wilting * wilting)
            bar -= bar * DEMAND[t] / wilting
        if filled[t] > capacity:
            capacity_bar += bar - flow_bar
            bar = flow_bar
    out[0], out[1], out[2] = capacity_bar, wilting_bar, share_bar
    return total


@hand
def collisions(p, out):
    """The places and speeds of every step are stored, and which branches it took, as bits."""
    xs, ys, us, vs, taken = np.empty(STEPS), np.empty(STEPS), np.empty(STEPS), np.empty(STEPS), np.empty(STEPS, np.int64)
    x, y, u, v, e, total = 0.2, 0.7, p[0], p[1], p[2], 0.0
    for t in range(STEPS):
        us[t], vs[t], bits = u, v, 0
        x += DT * u
        y += DT * v
        if x < 0.0:
            x, u, bits = -x, -e * u, 1
        if y > 1.0:
            y, v, bits = 2.0 - y, -e * v, bits | 2
        if x > y:
            x, y, u, v, bits = y, x, v, u, bits | 4
        if u * u + v * v < 0.01:
            u, v, bits = u * 1.01, v * 1.01, bits | 8
        xs[t], ys[t], taken[t] = x, y, bits
        total += x * x + y
    x_bar = y_bar = u_bar = v_bar = e_bar = 0.0
    for t in range(STEPS - 1, -1, -1):
        bits = taken[t]
        x_bar += 2.0 * xs[t]
        y_bar += 1.0
        if bits & 8:
            u_bar, v_bar = 1.01 * u_bar, 1.01 * v_bar
        if bits & 4:
            x_bar, y_bar, u_bar, v_bar = y_bar, x_bar, v_bar, u_bar
        if bits & 2:
            e_bar -= v_bar * vs[t]
            y_bar, v_bar = -y_bar, -e * v_bar
        if bits & 1:
            e_bar -= u_bar * us[t]
            x_bar, u_bar = -x_bar, -e * u_bar
        u_bar += DT * x_bar
        v_bar += DT * y_bar
    out[0], out[1], out[2] = u_bar, v_bar, e_bar
    return total


@hand
def lockdown(p, out):
    ss, ii, closures = np.empty(LOCKDOWN_DAYS), np.empty(LOCKDOWN_DAYS), np.empty(LOCKDOWN_DAYS, np.bool_)
    s, i, closed, total = 0.99, 0.01, False, 0.0
    for t in range(LOCKDOWN_DAYS):
        if closed:
            if i < 0.5 * p[2]:
                closed = False
        elif i > p[2]:
            closed = True
        ss[t], ii[t], closures[t] = s, i, closed
        new = (0.4 * p[0] if closed else p[0]) * s * i
        s -= new
        i += new - p[1] * i
        total += i
    s_bar = i_bar = rate_bar = recovery_bar = 0.0
    for t in range(LOCKDOWN_DAYS - 1, -1, -1):
        share = 0.4 if closures[t] else 1.0
        i_bar += 1.0
        recovery_bar -= i_bar * ii[t]
        new_bar = i_bar - s_bar
        rate_bar += new_bar * share * ss[t] * ii[t]
        i_bar += new_bar * share * p[0] * ss[t] - i_bar * p[1]
        s_bar += new_bar * share * p[0] * ii[t]
    out[0], out[1], out[2] = rate_bar, recovery_bar, 0.0
    return total


@hand
def adaptive(p, out):
    """Forward: three derivatives of time, step and value."""
    t, h, y = 0.0, 0.1, p[2]
    t1 = t2 = t3 = h1 = h2 = h3 = y1 = y2 = 0.0
    y3 = 1.0
    while t < END:
        if t + h > END:
            h = END - t
            h1, h2, h3 = -t1, -t2, -t3
        rest = 1.0 - y / p[1]
        slope = p[0] * (1.0 - 2.0 * y / p[1])
        a = p[0] * y * rest
        a1 = y * rest + slope * y1
        a2 = p[0] * y * y / (p[1] * p[1]) + slope * y2
        a3 = slope * y3
        z = y + h * a
        z1, z2, z3 = y1 + h1 * a + h * a1, y2 + h2 * a + h * a2, y3 + h3 * a + h * a3
        rest = 1.0 - z / p[1]
        slope = p[0] * (1.0 - 2.0 * z / p[1])
        b = p[0] * z * rest
        b1 = z * rest + slope * z1
        b2 = p[0] * z * z / (p[1] * p[1]) + slope * z2
        b3 = slope * z3
        signed = 0.5 * h * (b - a)
        error = abs(signed)
        sign = 1.0 if signed > 0.0 else -1.0
        e1 = sign * 0.5 * (h1 * (b - a) + h * (b1 - a1))
        e2 = sign * 0.5 * (h2 * (b - a) + h * (b2 - a2))
        e3 = sign * 0.5 * (h3 * (b - a) + h * (b3 - a3))
        if error <= TOLERANCE:
            t += h
            t1, t2, t3 = t1 + h1, t2 + h2, t3 + h3
            y += 0.5 * h * (a + b)
            y1 += 0.5 * (h1 * (a + b) + h * (a1 + b1))
            y2 += 0.5 * (h2 * (a + b) + h * (a2 + b2))
            y3 += 0.5 * (h3 * (a + b) + h * (a3 + b3))
        factor, slope = 2.0, 0.0
        if error > 0.0:
            factor = 0.9 * math.sqrt(TOLERANCE / error)
            slope = -0.5 * factor / error
        if factor <= 0.3:
            factor, slope = 0.3, 0.0
        if factor >= 2.0:
            factor, slope = 2.0, 0.0
        h1, h2, h3 = h1 * factor + h * slope * e1, h2 * factor + h * slope * e2, h3 * factor + h * slope * e3
        h *= factor
    out[0], out[1], out[2] = y1, y2, y3
    return y


@hand
def newton(p, out):
    x, x1, x2 = 1.0, 0.0, 0.0
    for _ in range(ROUNDS):
        top, bottom = x**3 + p[0] * x - p[1], 3.0 * x**2 + p[0]
        step = top / bottom
        step1 = (x + bottom * x1 - step * (6.0 * x * x1 + 1.0)) / bottom
        step2 = (bottom * x2 - 1.0 - step * 6.0 * x * x2) / bottom
        x, x1, x2 = x - step, x1 - step1, x2 - step2
        if abs(step) < 1e-12:
            break
    out[0], out[1] = x1, x2
    return x


@hand
def barrier(p, out):
    total = first = second = 0.0
    root = math.sqrt(1.0 / PRICES)
    for k in range(PATHS):
        price, relative = p[0], 0.0
        alive = True
        for t in range(PRICES):
            growth = 1.0 + p[1] * root * SHOCKS[k, t]
            relative += root * SHOCKS[k, t] / growth
            price *= growth
            if price < BARRIER:
                alive = False
                break
        if alive and price > STRIKE:
            total += price - STRIKE
            first += price / p[0]
            second += price * relative
    out[0], out[1] = first / PATHS, second / PATHS
    return total / PATHS


@hand
def descent(p, out):
    x, x1, x2 = 2.0, 0.0, 0.0
    for _ in range(DESCENT_ROUNDS):
        value = (x - p[0]) ** 2 + 3.0 * (x - p[1]) ** 4
        slope = 2.0 * (x - p[0]) + 12.0 * (x - p[1]) ** 3
        size = 1.0
        trial = x - size * slope
        while (trial - p[0]) ** 2 + 3.0 * (trial - p[1]) ** 4 > value - 0.1 * size * slope * slope:
            size = 0.5 * size
            trial = x - size * slope
        bend = 2.0 + 36.0 * (x - p[1]) ** 2
        x1 = x1 - size * (bend * x1 - 2.0)
        x2 = x2 - size * (bend * x2 - 36.0 * (x - p[1]) ** 2)
        x = trial
    out[0], out[1] = x1, x2
    return x


@hand
def armijo(p, out):
    """Forward: two states, three parameters."""
    a, b, c = p[0], p[1], p[2]
    x, y = -0.5, 1.0
    x1 = x2 = x3 = y1 = y2 = y3 = 0.0
    for _ in range(MOST_ROUNDS):
        bent = y - a * x * x
        bent1, bent2, bent3 = y1 - 2.0 * a * x * x1 - x * x, y2 - 2.0 * a * x * x2, y3 - 2.0 * a * x * x3
        value = (1.0 - x) ** 2 + b * bent * bent
        left, mid = -2.0 * (1.0 - x), 2.0 * b * bent
        gx, gy = left - 4.0 * a * b * x * bent, mid
        steepness = gx * gx + gy * gy
        if steepness < FLAT:
            break
        size = 1.0
        while True:
            u, v = x - size * gx, y - size * gy
            if (1.0 - u) ** 2 + b * (v - a * u * u) ** 2 <= value - c * size * steepness:
                break
            size = 0.5 * size
        by_x, by_bent = 2.0 - 4.0 * a * b * bent, -4.0 * a * b * x
        gx1 = by_x * x1 + by_bent * bent1 - 4.0 * b * x * bent
        gx2 = by_x * x2 + by_bent * bent2 - 4.0 * a * x * bent
        gx3 = by_x * x3 + by_bent * bent3
        x1, x2, x3 = x1 - size * gx1, x2 - size * gx2, x3 - size * gx3
        y1, y2, y3 = y1 - size * 2.0 * b * bent1, y2 - size * (2.0 * b * bent2 + 2.0 * bent), y3 - size * 2.0 * b * bent3
        x, y = u, v
    slope = y - 2.0 * (1.0 - x)
    out[0], out[1], out[2] = slope * x1 + x * y1, slope * x2 + x * y2, slope * x3 + x * y3
    return (1.0 - x) ** 2 + x * y


@hand
def bisection(p, out):
    """Forward: the ends are multiples of the right one, and y depends on them."""
    a, b = p[0], p[1]
    low, high, y = 0.0, p[2], 1.0
    low3, high3, y1, y3 = 0.0, 1.0, 0.0, 0.0
    while high - low > WIDTH:
        middle, middle3 = 0.5 * (low + high), 0.5 * (low3 + high3)
        for _ in range(NEWTON_ROUNDS):
            bottom = 3.0 * y * y + 1.0
            step = (y * y * y + y - a * middle) / bottom
            bend = 1.0 - step * 6.0 * y / bottom
            step1, step3 = bend * y1 - middle / bottom, bend * y3 - a * middle3 / bottom
            y, y1, y3 = y - step, y1 - step1, y3 - step3
            if abs(step) < 1e-9:
                break
        if y > b:
            high, high3 = middle, middle3
        else:
            low, low3 = middle, middle3
    out[0], out[1], out[2] = y1 + high, 0.0, y3 + high3 * a
    return y + high * a
