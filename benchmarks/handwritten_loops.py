"""Gradients of the problems with loops and branches, written by hand with numba: a forward loop, a backward loop, and whatever does
not depend on the iteration before in loops of its own, which LLVM vectorises.
"""

import math

import numpy as np
from numba import njit

from .branch_problems import BOUNCE_STEPS, DT, GRAVITY, LEVELS, TIMES
from .fast_math import exp
from .loop_problems import OBSERVED, PERIODS, RETURNS, SIGNAL, SIGNALS, STATES, STEP, STEPS


@njit(error_model="numpy")
def straight_line(x, out):
    """The derivative by x[1] goes forward beside the product."""
    y, slope = 1.0, 0.0
    for _ in range(400):
        slope = slope * x[1] + y
        y = y * x[1]
    out[0] = y
    out[1] = x[0] * slope
    return x[0] * y


@njit(error_model="numpy", fastmath={"reassoc", "contract"})
def stochastic_volatility(u, out):
    mean, persistence, scale = u[0], math.tanh(u[1]), math.exp(u[2])
    root = math.sqrt(1.0 - persistence * persistence)
    gap, bar = np.empty(PERIODS), np.empty(PERIODS)  # h - mean, and the derivative by h
    gap[0] = scale * u[3] / root
    for t in range(1, PERIODS):
        gap[t] = persistence * gap[t - 1] + scale * u[3 + t]
    value = 0.0
    for t in range(PERIODS):
        z, h = u[3 + t], mean + gap[t]
        weight = RETURNS[t] * RETURNS[t] * exp(-h)
        value -= 0.5 * (h + weight + z * z)
        bar[t] = 0.5 * (weight - 1.0)
    for t in range(PERIODS - 1, 0, -1):
        bar[t - 1] += persistence * bar[t]
    mean_bar = persistence_bar = scale_bar = 0.0
    for t in range(1, PERIODS):
        mean_bar += bar[t]
        persistence_bar += bar[t] * gap[t - 1]
        scale_bar += bar[t] * u[3 + t]
        out[3 + t] = scale * bar[t] - u[3 + t]
    # h[t] has mean * (1 - persistence) added to it, and h[0] has mean.
    mean_bar = (1.0 - persistence) * mean_bar + bar[0]
    scale_bar += bar[0] * u[3] / root
    persistence_bar += bar[0] * gap[0] * persistence / (root * root)
    out[3] = scale * bar[0] / root - u[3]
    out[0] = mean_bar - u[0]
    out[1] = persistence_bar * root * root - u[1]
    out[2] = scale_bar * scale - u[2]
    return value - 0.5 * (u[0] ** 2 + u[1] ** 2 + u[2] ** 2)


@njit(inline="always", error_model="numpy", fastmath={"contract"})
def slope(a, b, c, d, u, v):
    return u * (a - b * v), v * (d * u - c)


@njit(error_model="numpy", fastmath={"reassoc", "contract"})
def lotka_volterra(p, out):
    a, b, c, d = math.exp(p[0]), math.exp(p[1]), math.exp(p[2]), math.exp(p[3])
    # Eight numbers a step: the four places where the slope was taken.
    stages = np.empty((STEPS, 8))
    misses = np.empty((STEPS, 2))
    u, v, misfit = math.exp(p[4]), math.exp(p[5]), 0.0
    first_u, first_v = u, v
    for t in range(STEPS):
        u1, v1 = slope(a, b, c, d, u, v)
        pu2, pv2 = u + 0.5 * STEP * u1, v + 0.5 * STEP * v1
        u2, v2 = slope(a, b, c, d, pu2, pv2)
        pu3, pv3 = u + 0.5 * STEP * u2, v + 0.5 * STEP * v2
        u3, v3 = slope(a, b, c, d, pu3, pv3)
        pu4, pv4 = u + STEP * u3, v + STEP * v3
        u4, v4 = slope(a, b, c, d, pu4, pv4)
        stage = stages[t]
        stage[0], stage[1], stage[2], stage[3] = u, v, pu2, pv2
        stage[4], stage[5], stage[6], stage[7] = pu3, pv3, pu4, pv4
        u += STEP / 6 * (u1 + 2 * (u2 + u3) + u4)
        v += STEP / 6 * (v1 + 2 * (v2 + v3) + v4)
        misses[t, 0], misses[t, 1] = u - OBSERVED[t, 0], v - OBSERVED[t, 1]
        misfit += misses[t, 0] ** 2 + misses[t, 1] ** 2
    u_bar = v_bar = au = buv = cv = 0.0
    duv = 0.0
    for t in range(STEPS - 1, -1, -1):
        stage = stages[t]
        u_bar += 2 * misses[t, 0]
        v_bar += 2 * misses[t, 1]
        gu, gv = STEP / 6 * u_bar, STEP / 6 * v_bar  # of the fourth slope; the second and third have twice that
        ku, kv = gu, gv
        for k in range(3, -1, -1):
            su, sv = stage[2 * k], stage[2 * k + 1]
            au += ku * su
            buv += ku * su * sv
            cv += kv * sv
            duv += kv * su * sv
            bar_u = ku * (a - b * sv) + kv * sv * d
            bar_v = kv * (d * su - c) - ku * su * b
            u_bar += bar_u
            v_bar += bar_v
            share = STEP if k == 3 else 0.5 * STEP
            times = 2.0 if k > 1 else 1.0
            ku, kv = times * gu + share * bar_u, times * gv + share * bar_v
    out[0], out[1], out[2], out[3] = a * au, -b * buv, -c * cv, d * duv
    out[4], out[5] = first_u * u_bar, first_v * v_bar
    return misfit


@njit(error_model="numpy", fastmath={"reassoc", "contract"})
def hidden_markov(u, out):
    """Forward and backward passes; the emission densities and their derivatives stand in loops of their own."""
    transition = np.empty((STATES, STATES))
    for i in range(STATES):
        total = 0.0
        for j in range(STATES):
            transition[i, j] = math.exp(u[STATES * i + j])
            total += transition[i, j]
        for j in range(STATES):
            transition[i, j] /= total
    width = math.exp(u[20])
    emission = np.empty((STATES, SIGNALS))
    for j in range(STATES):
        for t in range(SIGNALS):
            scaled = (SIGNAL[t] - u[16 + j]) / width
            emission[j, t] = exp(-0.5 * scaled * scaled) / width
    shares, sizes = np.empty((SIGNALS, STATES)), np.empty(SIGNALS)
    emission_bar = np.empty((STATES, SIGNALS))
    value, product = forward_pass(transition, emission, shares, sizes)
    value += math.log(product)
    transition_bar = np.zeros((STATES, STATES))
    backward_pass(transition, emission, shares, sizes, emission_bar, transition_bar)
    for i in range(STATES):
        mean = 0.0
        for j in range(STATES):
            mean += transition[i, j] * transition_bar[i, j]
        for j in range(STATES):
            out[STATES * i + j] = transition[i, j] * (transition_bar[i, j] - mean)
    out[20] = 0.0
    for j in range(STATES):
        first = second = 0.0
        for t in range(SIGNALS):
            scaled = (SIGNAL[t] - u[16 + j]) / width
            part = emission_bar[j, t] * emission[j, t]
            first += part * scaled
            second += part * (scaled * scaled - 1.0)
        out[16 + j] = first / width
        out[20] += second
    return value


@njit(inline="always", error_model="numpy", fastmath={"reassoc", "contract"})
def forward_pass(transition, emission, shares, sizes):
    """Fills the shares of the states and the sizes they had; returns the log likelihood, but for the last factors."""
    value, product = 0.0, 1.0
    f0, f1, f2, f3 = 0.25 * emission[0, 0], 0.25 * emission[1, 0], 0.25 * emission[2, 0], 0.25 * emission[3, 0]
    a = transition
    for t in range(SIGNALS):
        size = f0 + f1 + f2 + f3
        product *= size
        if t % 8 == 7:  # one logarithm for eight factors
            value += math.log(product)
            product = 1.0
        part = 1.0 / size
        f0, f1, f2, f3 = f0 * part, f1 * part, f2 * part, f3 * part
        shares[t, 0], shares[t, 1], shares[t, 2], shares[t, 3] = f0, f1, f2, f3
        sizes[t] = part
        if t + 1 < SIGNALS:
            g0 = f0 * a[0, 0] + f1 * a[1, 0] + f2 * a[2, 0] + f3 * a[3, 0]
            g1 = f0 * a[0, 1] + f1 * a[1, 1] + f2 * a[2, 1] + f3 * a[3, 1]
            g2 = f0 * a[0, 2] + f1 * a[1, 2] + f2 * a[2, 2] + f3 * a[3, 2]
            g3 = f0 * a[0, 3] + f1 * a[1, 3] + f2 * a[2, 3] + f3 * a[3, 3]
            f0, f1 = g0 * emission[0, t + 1], g1 * emission[1, t + 1]
            f2, f3 = g2 * emission[2, t + 1], g3 * emission[3, t + 1]
    return value, product


@njit(inline="always", error_model="numpy", fastmath={"reassoc", "contract"})
def backward_pass(transition, emission, shares, sizes, emission_bar, transition_bar):
    """`bar` is the derivative by the shares of step t, without the part that keeps their sum."""
    bar, after, guess = np.zeros(STATES), np.empty(STATES), np.empty(STATES)
    for t in range(SIGNALS - 1, -1, -1):
        # forward = shares / part and size = 1 / part, so d value / d forward = (1 + bar - sum(bar * shares)) * part.
        mean = 0.0
        for j in range(STATES):
            mean += bar[j] * shares[t, j]
        for j in range(STATES):
            after[j] = (1.0 + bar[j] - mean) * sizes[t]
        if t == 0:
            for j in range(STATES):
                emission_bar[j, 0] = 0.25 * after[j]
            return
        for j in range(STATES):
            total = 0.0
            for i in range(STATES):
                total += shares[t - 1, i] * transition[i, j]
            emission_bar[j, t] = after[j] * total
            guess[j] = after[j] * emission[j, t]
        for i in range(STATES):
            total = 0.0
            for j in range(STATES):
                transition_bar[i, j] += shares[t - 1, i] * guess[j]
                total += transition[i, j] * guess[j]
            bar[i] = total


@njit(error_model="numpy", fastmath={"reassoc", "contract"})
def two_tails(u, out):
    precision = math.exp(-u[2])
    count = TIMES.size
    value = first = second = third = 0.0
    heavy = u[2] > 0
    if heavy:
        product = 1.0
        for i in range(count):
            r = (LEVELS[i] - (u[0] + u[1] * TIMES[i])) * precision
            square = 1.0 + r * r
            product *= square
            if i % 8 == 7:  # one logarithm for eight factors
                value -= math.log(product)
                product = 1.0
            r_bar = -2.0 * r / square
            first -= r_bar
            second -= r_bar * TIMES[i]
            third -= r_bar * r
        value -= math.log(product)
    else:
        for i in range(count):
            r = (LEVELS[i] - (u[0] + u[1] * TIMES[i])) * precision
            value -= 0.5 * r * r
            first += r
            second += r * TIMES[i]
            third += r * r
    out[0] = first * precision - u[0]
    out[1] = second * precision - u[1]
    out[2] = third - count - u[2]
    return value - 0.5 * (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]) - count * u[2]


@njit(error_model="numpy", fastmath={"contract"})
def bouncing_ball(p, out):
    """The step's values before a bounce are stored, and so is whether there was one, as the sign of the height."""
    heights, speeds = np.empty(BOUNCE_STEPS), np.empty(BOUNCE_STEPS)
    y, v, restitution, total = p[0], p[1], p[2], 0.0
    for t in range(BOUNCE_STEPS):
        v -= GRAVITY * DT
        y += DT * v
        heights[t], speeds[t] = y, v
        if y < 0:
            y, v = -restitution * y, -restitution * v
        total += y * y
    y_bar = v_bar = restitution_bar = 0.0
    for t in range(BOUNCE_STEPS - 1, -1, -1):
        y, v = heights[t], speeds[t]
        if y < 0:
            y_bar -= 2 * restitution * y
            restitution_bar -= y_bar * y + v_bar * v
            y_bar, v_bar = -restitution * y_bar, -restitution * v_bar
        else:
            y_bar += 2 * y
        v_bar += DT * y_bar
    out[0], out[1], out[2] = y_bar, v_bar, restitution_bar
    return total
