"""Programs with long loops in which something looks at an array, list or number by another name, or as Python has it, only where p[0] > 0.6."""

from __future__ import annotations

import numpy as np

N = 230
T = np.sin(np.arange(N) * 0.3)


def _same(u):
    return u


def _part(u):
    return u[1:4]


def shows_column(p):
    h = np.zeros(N)
    h[0] = p[0]
    d = {"x": 0.0, "o": h}
    for t in range(1, N):
        h[t] = 0.9 * h[t - 1] + T[t] * p[1]
        d["x"] = 0.5 * d["x"] + d["o"][t - 1]
    return np.sum(h) + d["x"]


def shows_column_if(p):
    h = np.zeros(N)
    h[0] = p[0]
    d = {"x": 0.0, "o": h}
    for t in range(1, N):
        h[t] = 0.9 * h[t - 1] + T[t] * p[1]
        if p[0] > 0.6:
            d["x"] = 0.5 * d["x"] + d["o"][t - 1]
    return np.sum(h) + d["x"]


def shows_state(p):
    u = np.zeros(3)
    u[0] = p[0]
    d = {"x": 0.0, "o": u}
    for t in range(1, N):
        u[0] = 0.9 * u[0] + T[t] * p[1]
        if p[0] > 0.6:
            d["x"] = 0.5 * d["x"] + d["o"][0]
    return np.sum(u) + d["x"]


def shows_list(p):
    out = [p[0]]
    d = {"x": 0.0, "o": out}
    for t in range(1, N):
        out.append(0.9 * out[-1] + T[t] * p[1])
        if p[0] > 0.6:
            d["x"] = 0.5 * d["x"] + d["o"][-1]
    return np.sum(np.array(out)) + d["x"]


def two_of_one(p):
    u = np.zeros(3)
    u[0] = p[0]
    d = {"x": u, "o": u}
    for t in range(1, N):
        d["x"][0] = 0.9 * d["x"][0] + T[t] * p[1]
        if p[0] > 0.6:
            d["o"][1] += 0.5 * d["o"][0]
    return np.sum(u) + d["x"][1]


def entry_view(p):
    d = {"x": np.zeros(4), "o": 0.0}
    part = d["x"][1:]
    for t in range(1, N):
        d["x"][1] = 0.9 * d["x"][1] + T[t] * p[1]
        if p[0] > 0.6:
            d["o"] += 0.5 * part[0]
    return d["o"] + d["x"][1]


def carried(p):
    u = np.zeros(5)
    u[:] = p[1]
    tot = 0.0
    w = np.ones(3)
    for t in range(N):
        tot += w[0]
        u[1] = 0.9 * u[1] + p[0] * T[t]
        if p[0] > 0.6:
            w = _part(u)
    return tot + np.sum(u)


def carried_all(p):
    u = np.zeros(5)
    u[:] = p[1]
    tot = 0.0
    w = np.ones(5)
    for t in range(N):
        tot += w[0]
        u[0] = 0.9 * u[0] + p[0] * T[t]
        if p[0] > 0.6:
            w = _same(u)
    return tot + np.sum(u)


def same_list(p):
    x = p[0]
    out = []
    same = out
    for t in range(N):
        x = 0.9 * x + p[1] * T[t]
        if p[0] > 0.6:
            x = x + 0.01 * len(same)
        if t % 10 == 0:
            out.append(x)
    return np.sum(np.array(out) ** 2)


def same_array(p):
    x = p[0]
    out = np.zeros(N // 10)
    same = out[:5]
    for t in range(N):
        x = 0.9 * x + p[1] * T[t]
        if p[0] > 0.6:
            x = x + 0.01 * same[3]
        if t % 10 == 0:
            out[t // 10] = x
    return np.sum(out**2)


def bools(p):
    x = p[0]
    for t in range(N):
        x = 0.9 * x + p[1] * T[t]
        if p[0] > 0.6:
            n = (t > 100) + (t > 150)
            x = x + n * 0.1
    return x


def ints(p):
    x = p[0]
    for t in range(N):
        x = 0.9 * x + p[1] * T[t]
        if p[0] > 0.6:
            x = x + (t**9 % 7) * 0.1
    return x


def true_div(p):
    x = p[0]
    for t in range(N):
        x = 0.9 * x + p[1] * T[t]
        if p[0] > 0.6:
            x = x + t / 3 + (t // 3) * 0.5 + (-t) // 4 + (-t) % 5 + t % -3
    return x


def swap_hidden(p):
    u, v, tot = p[1] * np.arange(12) * 0.1, np.zeros(12), 0.0
    for _ in range(N):
        v[1:-1] = 0.3 * (u[1:-1] + u[2:])
        v[0] = p[0]
        tmp = u
        u = v
        v = tmp
        if p[0] > 0.6:
            tot += tmp[3]
    return np.sum(u**2) + tot


def swap_alias(p):
    u, v, tot = p[1] * np.arange(12) * 0.1, np.zeros(12), 0.0
    first = u
    for _ in range(N):
        v[1:-1] = 0.3 * (u[1:-1] + u[2:])
        v[0] = p[0]
        u, v = v, u
        if p[0] > 0.6:
            tot += first[3]
    return np.sum(u**2) + tot


def copy_alias(p):
    u, v, tot = p[1] * np.arange(12) * 0.1, np.zeros(12), 0.0
    part = v[2:]
    for _ in range(N):
        v[:] = u
        u[1:-1] = 0.3 * (v[1:-1] + v[2:])
        u[0] = p[0]
        if p[0] > 0.6:
            tot += part[3]
    return np.sum(u**2) + tot


def dict_hidden(p):
    s = {"x": p[0], "v": 0.0}
    q = [s]
    for t in range(N):
        s["x"] = 0.9 * s["x"] + p[1] * T[t]
        if p[0] > 0.6:
            s["v"] += q[0]["x"]
    return s["x"] + s["v"]


def dict_array(p):
    a = np.zeros(3)
    s = {"x": a, "v": 0.0}
    for t in range(N):
        s["x"][0] = 0.9 * s["x"][0] + p[1] * T[t]
        if p[0] > 0.6:
            s["v"] += a[0]
    return s["x"][0] + s["v"]


def dict_inplace(p):
    a = np.ones(3) * p[0]
    s = {"x": a, "v": 0.0}
    for t in range(N):
        s["x"] *= 0.99
        s["x"] += 0.1 * T[t]
        if p[0] > 0.6:
            s["v"] += a[0]
    return s["x"][0] + s["v"]


def dict_two_names(p):
    a = np.ones(3) * p[0]
    s = {"x": a, "y": a, "v": 0.0}
    for t in range(N):
        s["x"] *= 0.99
        s["x"] += 0.1 * T[t]
        if p[0] > 0.6:
            s["v"] += s["y"][0]
    return s["x"][0] + s["v"]


def first_bound(p):
    tot = 0.0
    for t in range(N):
        if t == 0:
            s = p[1]
        if p[0] > 0.6:
            tot += s
        s = 0.9 * s + T[t]
    return tot + s + 3.0 * p[0] * p[1]


ALL = (
    shows_column,
    shows_column_if,
    shows_state,
    shows_list,
    two_of_one,
    entry_view,
    carried,
    carried_all,
    same_list,
    same_array,
    bools,
    ints,
    true_div,
    swap_hidden,
    swap_alias,
    copy_alias,
    dict_hidden,
    dict_array,
    dict_inplace,
    dict_two_names,
    first_bound,
)
