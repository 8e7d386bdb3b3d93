"""Programs with long loops in which branches ask for the number of the turn: every tenth, all but one, those behind the first fifty."""

from __future__ import annotations

import numpy as np

N = 230
T = np.sin(np.arange(N) * 0.3)
M = np.cos(np.arange(24) * 0.7)


def every_else(p):
    x, tot = p[0], 0.0
    for t in range(N):
        if t % 2 == 0:
            x = 0.9 * x + p[1] * T[t]
        else:
            x = 0.8 * x - p[0] * T[t]
        tot += x**2
    return tot


def kick_array(p):
    x = np.zeros(3)
    x[0] = 1.0
    tot = 0.0
    for t in range(N):
        x[0] += 0.1 * x[1]
        x[1] -= 0.1 * p[0] * x[0]
        if t % 24 == 0:
            x[2] += p[1]
        x[2] *= 0.9
        tot += x[0] * x[2]
    return tot


def vec_kick(p):
    x = p[1] * np.ones(4)
    tot = 0.0
    for t in range(N):
        x = 0.9 * x + 0.1 * np.roll(x, 1)
        if t % 7 == 3:
            x = x + p[0] * np.arange(4)
        tot += np.sum(x**2)
    return tot


def burn_thin(p):
    x, tot = p[0], 0.0
    burn = 50
    for t in range(N):
        x = 0.9 * x + T[t] * p[1]
        if t > burn and t % 5 == 0:
            tot += x**2
    return tot


def ternary(p):
    x = p[0]
    for t in range(N):
        a = 0.5 if t % 2 else p[1]
        x = 0.9 * x + a * T[t]
    return x


def ternary_int(p):
    x = p[0]
    for t in range(N):
        w = 1 if t in (0, N - 1) else (4 if t % 2 else 2)
        x = x + w * np.sin(p[1] * T[t])
    return x


def simpson(p):
    s = 0.0
    for i in range(N + 1):
        x = i / N
        w = 1.0
        if i == 0 or i == N:
            w = 1.0
        elif i % 2 == 1:
            w = 4.0
        else:
            w = 2.0
        s += w * np.exp(-p[0] * x) * np.cos(p[1] * x)
    return s / 3 / N


def enum_mod(p):
    x = p[0]
    tot = 0.0
    for t, y in enumerate(T):
        if t % 4 == 1:
            x = x * 0.5 + p[1]
        x = 0.9 * x + y
        tot += x * x
    return tot


def dose(p):
    a = 0.0
    tot = 0.0
    for t in range(N):
        if t % 24 == 0 and t < 100:
            a += p[0]
        a -= 0.1 * p[1] * a
        tot += (a - T[t]) ** 2
    return tot


def nbody_step(p):
    n = 4
    q = np.zeros(n)
    v = np.zeros(n)
    for i in range(n):
        q[i] = p[0] * np.sin(i * 1.0)
    for _ in range(N):
        f = np.zeros(n)
        for i in range(n):
            for j in range(n):
                if i != j:
                    d = q[i] - q[j]
                    f[i] += -p[1] * d / (0.1 + d * d)
        for i in range(n):
            v[i] += 0.01 * f[i]
            q[i] += 0.01 * v[i]
    return np.sum(q**2)


def season(p):
    lvl = p[0]
    s = np.zeros(12)
    tot = 0.0
    for t in range(N):
        k = t % 12
        err = T[t] - lvl - s[k]
        lvl = lvl + p[1] * err
        s[k] = s[k] + 0.1 * err
        tot += err**2
    return tot


def ahead_guarded(p):
    x = p[0]
    for t in range(N):
        if t % 2 == 0 and t + 2 < N:
            x = 0.9 * x + p[1] * T[t + 2]
        if t >= 5 and t % 3:
            x = x + 0.1 * T[t - 5] * p[0]
    return x


def ahead_param(p):
    b = p[0] + p[1] * np.sin(np.arange(float(N)))
    x = p[0]
    for t in range(N):
        if t % 2 == 0 and t + 2 < N:
            x = 0.9 * x + b[t + 2]
        if t >= 5 and t % 3:
            x = x + 0.1 * b[t - 5] * p[0]
    return x


def nested_if(p):
    x = p[0]
    for t in range(N):
        if t % 2 == 0:
            if t + 2 < N:
                x = 0.9 * x + p[1] * T[t + 2]
    return x


def four_at(p):
    x = p[0]
    for t in range(N):
        if t == 10 or t == 50 or t == 100:
            x = x + p[1]
        elif t == 150:
            x = x * p[1]
        x = 0.95 * x + 0.1 * T[t]
    return x


def tracked_bound(p):
    x = p[0]
    for t in range(N):
        if t > 201.3 * p[1]:
            x = x + 0.1
        x = 0.99 * x + 0.1 * T[t] * p[0]
    return x


def minmax(p):
    x = p[0]
    for t in range(N):
        x = 0.9 * x + p[1] * T[max(t - 3, 0)] + T[min(t + 3, N - 1)] * 0.1
    return x


def power(p):
    x = p[0]
    for t in range(N):
        x = 0.9 * x + p[1] * (-1) ** t
    return x


def if_t(p):
    x = p[0]
    for t in range(N):
        if t:
            x = 0.9 * x + p[1] * T[t]
        if not t % 5:
            x = x + 0.1
    return x


def modes(p):
    x = p[0]
    mode = "a"
    for t in range(N):
        if t % 50 == 0:
            mode = "b" if mode == "a" else "a"
        x = 0.9 * x + (p[1] if mode == "a" else p[0]) * T[t]
    return x


def mode_of_turn(p):
    x = p[0]
    for t in range(N):
        mode = "a" if t % 3 == 0 else "b" if t % 3 == 1 else "c"
        if mode == "a":
            x = 0.9 * x + p[1] * T[t]
        elif mode == "b":
            x = 0.8 * x + p[0] * T[t]
        else:
            x = x * 0.7
    return x


def functions(p):
    fs = (np.sin, np.cos, np.tanh)
    x = p[0]
    for t in range(N):
        x = fs[t % 3](x + p[1] * T[t])
    return x


def break_both(p):
    x = p[0]
    for t in range(N):
        x = 0.9 * x + p[1] * T[t]
        if t > 100 and x > 1.2:
            break
    return x


def cont_mod(p):
    x = p[0]
    for t in range(N):
        if t % 3 == 0:
            continue
        x = 0.9 * x + p[1] * T[t]
    return x


def h_mod(p):
    h = np.zeros(N)
    h[0] = p[0]
    for t in range(1, N):
        if t % 2 == 0:
            h[t] = 0.9 * h[t - 1] + p[1] * T[t]
        else:
            h[t] = 0.8 * h[t - 1] * p[0]
    return np.sum(h**2)


def h_some(p):
    h = p[0] * np.ones(N)
    for t in range(1, N):
        if t % 5 != 0:
            h[t] = 0.9 * h[t - 1] + p[1] * T[t]
    return np.sum(h**2)


def inner_range(p):
    x = p[0]
    for t in range(N):
        for j in range(t % 3):
            x = 0.9 * x + p[1] * T[t] * j
    return x


def shapes(p):
    tot = 0.0
    for t in range(N):
        v = np.ones(2) if t % 2 else np.ones(3)
        tot += np.sum(v * p[1]) * T[t]
    return tot


def kind(p):
    x = p[0]
    for t in range(N):
        c = 1 if t % 2 else 0.5
        x = 0.9 * x + p[1] * T[t] * c
    return x / c


def red_black(p):
    n = 20
    u = np.zeros(n)
    u[0] = p[0]
    u[-1] = p[1]
    for _ in range(N):
        for c in range(2):
            for i in range(1, n - 1):
                if i % 2 == c:
                    u[i] = 0.5 * (u[i - 1] + u[i + 1])
    return np.sum(u**2)


def parity_buffers(p):
    g = np.zeros((2, 8))
    g[0] = p[1] * np.arange(8.0)
    for t in range(N):
        a, b = t % 2, (t + 1) % 2
        g[b, 1:-1] = g[a, 1:-1] + 0.1 * p[0] * (g[a, 2:] - 2 * g[a, 1:-1] + g[a, :-2])
    return np.sum(g**2)


def swap_parity(p):
    u = p[1] * np.arange(8.0)
    v = np.zeros(8)
    for t in range(N):
        if t % 2 == 0:
            v[1:-1] = u[1:-1] + 0.1 * p[0] * (u[2:] - 2 * u[1:-1] + u[:-2])
        else:
            u[1:-1] = v[1:-1] + 0.1 * p[0] * (v[2:] - 2 * v[1:-1] + v[:-2])
    return np.sum(u**2) + np.sum(v)


def while_mod(p):
    x = p[0]
    t = 0
    while t < N:
        if t % 10 == 0:
            x = x + p[1]
        x = 0.9 * x + T[t]
        t += 1
    return x


def after_loop(p):
    x = p[0]
    for t in range(N):
        if t % 10 == 0:
            x = x + p[1]
        x = 0.9 * x + T[t]
    return x * t


def whole_arr_cond(p):
    x = np.zeros(4)
    x[:] = p[0]
    for t in range(N):
        if t % 10 == 0:
            x = np.zeros(4) + p[1]
        x = 0.9 * x + T[t] * p[0]
    return np.sum(x)


def reset_state(p):
    x = np.zeros(4)
    x[:] = p[0]
    tot = 0.0
    for t in range(N):
        if t % 10 == 0:
            x[:] = p[1]
        x[1:] = 0.9 * x[:-1] + T[t] * p[0]
        tot += x[2] * x[3]
    return tot


def binds(p):
    tot = 0.0
    for t in range(N):
        if t == 0:
            s = p[0]
        if t % 7 == 0:
            s = s + 1.0
        s = 0.9 * s + T[t] * p[1]
        tot += s**2
    return tot


def counts(p):
    x = p[0]
    k = 0
    for t in range(N):
        if t % 10 == 0:
            k += 1
        x = 0.9 * x + p[1] * k * T[t]
    return x * k


ONE_TURN = (
    binds,
    every_else,
    kick_array,
    vec_kick,
    burn_thin,
    ternary,
    ternary_int,
    simpson,
    enum_mod,
    dose,
    nbody_step,
    season,
    ahead_guarded,
    ahead_param,
    nested_if,
    four_at,
    tracked_bound,
    minmax,
    power,
    if_t,
    modes,
    mode_of_turn,
    functions,
    break_both,
    cont_mod,
    h_mod,
    h_some,
    inner_range,
    shapes,
    kind,
    red_black,
    parity_buffers,
    swap_parity,
    while_mod,
    after_loop,
    whole_arr_cond,
    reset_state,
    counts,
)


# All turns are recorded.


def any_k(p):
    x = p[0]
    for t in range(N):
        if any(t > k for k in (5, 10, 60)):
            x = 0.9 * x + p[1] * T[t]
    return x


def bools(p):
    x = p[0]
    for t in range(N):
        n = (t > 100) + (t > 150)
        x = 0.9 * x + p[1] * T[t] * n
    return x


def asserts(p):
    x = p[0]
    for t in range(N):
        assert t < 1000
        x = 0.9 * x + p[1] * T[t]
    return x


def raises(p):
    x = p[0]
    for t in range(N):
        x = 0.9 * x + p[1] * T[t]
        if t > 1000:
            raise ValueError
    return x


def shapes_after(p):
    v = np.ones(2)
    for t in range(N):
        v = p[1] * np.ones(2) if t % 2 else p[0] * np.ones(3)
    return np.sum(v)


def dict_of(p):
    b = {0: p[0], 1: p[1]}
    x = p[0]
    for t in range(N):
        x = 0.9 * x + b[t % 2] * T[t]
    return x


ALL_TURNS = (any_k, bools, asserts, raises, shapes_after, dict_of)
