"""Programs with long loops that data ends, in which the number of the turn is used beside and behind the end."""

from __future__ import annotations

import numpy as np

N = 230
T = np.sin(np.arange(N) * 0.3)
dt = 0.01


def event(p):
    x = np.array([1.0, 0.0])
    for t in range(N):  # noqa: B007 -- it is used behind it
        x[0] += dt * x[1]
        x[1] -= dt * p[0] * 20
        if x[0] < -3.0:
            break
    return t * dt + x[0] * p[0]


def event_time(p):
    y, v = 1.0, 0.0
    time = 0.0
    for t in range(N):
        v -= dt * p[0] * 5
        y += dt * v
        if y < -p[1]:
            time = t * dt
            break
    return time + y * v


def t_in_arith(p):
    x = p[0]
    for t in range(N):
        x = x + dt * np.cos(p[1] * t * dt)
        if x > p[0] + 0.9 * p[1]:
            break
    return x


def t_in_arith_after(p):
    x = p[0]
    for t in range(N):
        x = x + dt * np.cos(p[1] * t * dt)
        if x > p[0] * 2.2:
            break
    return x * t


def cond_and_break(p):
    x = p[0]
    tot = 0.0
    for t in range(N):
        x = x * 0.99 + dt * T[t] * p[1]
        if t > 100 and x < 0.15:
            break
        if t % 10 == 0:
            tot += x
    return tot + t


def cont(p):
    x = p[0]
    tot = 0.0
    for t in range(N):
        x = x * 0.99 + 0.1 * T[t] * p[1]
        if x < 0.1:
            continue
        tot += x * t * dt
    return tot


def ret(p):
    x = p[0]
    for t in range(N):
        x = x + dt * np.cos(p[1] * t * dt)
        if x > p[0] + 0.9 * p[1]:
            return x * t
    return x


def arr_break(p):
    x = np.array([p[0], p[1]])
    A = np.array([[0.99, 0.05], [-0.05, 0.98]])
    for t in range(N):  # noqa: B007 -- it is used behind it
        x = A @ x
        if x[0] < -9:
            break
    return np.sum(x) * t * dt


def while_break(p):
    x = p[0]
    t = 0
    while t < N:
        x = x + dt * np.cos(p[1] * t * dt)
        if x > p[0] + 0.9 * p[1]:
            break
        t += 1
    return x * t


def for_else(p):
    x = p[0]
    for t in range(N):
        x = x + dt * np.cos(p[1] * t * dt)
        if x > p[0] + 0.9 * p[1]:
            break
    else:
        x = x * 2
    return x


def store_break(p):
    h = np.zeros(N)
    h[0] = p[0]
    for t in range(1, N):
        h[t] = h[t - 1] + dt * np.cos(p[1] * t * dt)
        if h[t] > p[0] + 0.9 * p[1]:
            break
    return np.sum(h) + h[t] + t


def append_break(p):
    h = [p[0]]
    for t in range(1, N):
        h.append(h[-1] + dt * np.cos(p[1] * t * dt))
        if h[-1] > p[0] + 0.9 * p[1]:
            break
    return h[-1]


def enum_break(p):
    x = p[0]
    for t, y in enumerate(T):  # noqa: B007 -- it is used behind it
        x = 0.95 * x + 0.1 * y * p[1]
        if x < -0.2:
            break
    return x + t * p[0]


def two_breaks(p):
    x = p[0]
    for t in range(N):
        x = 0.99 * x + 0.05 * T[t] * p[1]
        if x < -0.2:
            break
        if x > 10:
            break
        x = x + 0.001 * t
    return x * t


def break_in_else(p):
    x = p[0]
    for t in range(N):
        if x > 0.05:
            x = 0.99 * x - 0.01 * p[1] * t * dt
        else:
            break
    return x + t * p[1]


def nested_break(p):
    tot = 0.0
    for i in range(N):
        x = p[0] + 0.01 * i
        for k in range(20):  # noqa: B007 -- it is used behind it
            x = 0.5 * (x + p[1] / x)
            if abs(x * x - p[1]) < 1e-10:
                break
        tot += x * k
    return tot


def masks(p):
    x = np.zeros(3)
    x[0] = p[0]
    for t in range(N):
        x[1] = 0.9 * x[1] + x[0] * T[t]
        if x[1] > 2.5:
            break
        x[2] = x[2] + p[1] * x[1]
        if t % 7 == 2:
            x[0] *= 0.99
    return np.sum(x) * t


def the_entry_where_it_ended(p):
    h = np.zeros(N)
    h[0] = p[0]
    for t in range(1, N):
        h[t] = h[t - 1] + dt * np.cos(p[1] * t * dt)
        if h[t] > p[0] + 0.9 * p[1]:
            break
    return h[t] * p[1] + h[t - 1] + T[t] * p[0] + T[t // 2]


def counts_from_three(p):
    x = p[0]
    for t, y in enumerate(T, 3):  # noqa: B007 -- it is used behind it
        x = 0.95 * x + 0.1 * y * p[1]
        if x < -0.2:
            break
    return x + T[t - 3] * p[0] + t % 7


def values_are_no_counts(p):
    x = p[0]
    for y in T:
        x = 0.95 * x + 0.1 * y * p[1]
        if x < -0.2:
            break
    return x + y * p[0]


def returns_the_entry(p):
    x = p[0]
    for t in range(N):
        x = x + dt * np.cos(p[1] * t * dt)
        if x > p[0] + 0.9 * p[1]:
            return x * t + T[t]
    return x


def downwards(p):
    x = p[0]
    for t in range(N - 1, -1, -1):
        x = 0.97 * x + 0.1 * T[t] * p[1]
        if x < -0.33 * p[1] + 0.05 * p[0]:
            break
    return x * t + T[t] * p[0]


MAY_END_EARLY = (
    event,
    event_time,
    t_in_arith,
    t_in_arith_after,
    cond_and_break,
    cont,
    ret,
    arr_break,
    while_break,
    for_else,
    store_break,
    append_break,
    enum_break,
    two_breaks,
    break_in_else,
    nested_break,
    masks,
    the_entry_where_it_ended,
    counts_from_three,
    values_are_no_counts,
    returns_the_entry,
    downwards,
)


def the_part_up_to_where_it_ended(p):
    h = np.zeros(N)
    h[0] = p[0]
    for t in range(1, N):
        h[t] = h[t - 1] + dt * np.cos(p[1] * t * dt)
        if h[t] > p[0] + 0.9 * p[1]:
            break
    return np.sum(h[:t])
