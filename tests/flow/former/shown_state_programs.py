"""Programs with long loops that hand an array which they change again and again to functions, which may give it or a part of it back."""

from __future__ import annotations

import numpy as np

N = 230
T = np.sin(np.arange(N) * 0.3)


def _lap(u):
    return u[2:] - 2.0 * u[1:-1] + u[:-2]


def _same(u):
    return u


def _part(u):
    return u[1:4]


def _kick(u, p):
    u[0] += p
    return u[1]


def helper(p):
    u, v = p[1] * np.arange(12) * 0.1, np.zeros(12)
    for _ in range(N + 1):
        v[1:-1] = u[1:-1] + 0.2 * p[0] * _lap(u)
        u, v = v, u
    return np.sum(u**2) + v[3]


def roll(p):
    u = p[1] * np.arange(12) * 0.1
    for t in range(N):
        u[:] = u + 0.1 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
        u[0] = p[0] * T[t]
    return np.sum(u**2)


def alias_in_turn(p):
    u = np.zeros(5)
    u[:] = p[1]
    tot = 0.0
    for t in range(N):
        w = _same(u)
        u[0] = 0.9 * u[0] + p[0] * T[t]
        tot += w[0]
        w += 0.01 * p[0]
        u[1] = 0.5 * u[0]
        tot += w[1] * w[2]
    return tot + np.sum(u)


def alias_part_in_turn(p):
    u = np.zeros(5)
    u[:] = p[1]
    tot = 0.0
    for t in range(N):
        w = _part(u)
        u[1] = 0.9 * u[1] + p[0] * T[t]
        tot += w[0]
        w *= 0.99
        tot += u[2] * u[3] + u[1]
    return tot + np.sum(u)


def alias_branch(p):
    u = np.zeros(5)
    u[:] = p[1]
    tot = 0.0
    for t in range(N):
        w = _part(u)
        u[2] = 0.9 * u[2] + p[0] * T[t]
        if u[2] > 0.1:
            u[1] += 0.1 * p[0]
        else:
            u[1] *= 0.9
        tot += w[0] * w[1]
    return tot + np.sum(u)


def alias_break(p):
    u = np.zeros(5)
    u[:] = p[1]
    tot = 0.0
    for t in range(N):
        w = _part(u)
        u[1] = 0.99 * u[1] + p[0] * T[t]
        if w[0] > 30.0:
            break
        u[2] += 0.01 * w[0]
        w += 0.01
        tot += w[1]
    return tot + np.sum(u)


def alias_continue(p):
    u = np.zeros(5)
    u[:] = p[1]
    tot = 0.0
    for t in range(N):
        w = _same(u)
        u[1] = 0.99 * u[1] + p[0] * T[t]
        if w[1] > 0.3:
            continue
        u[2] += 0.01 * w[0]
        tot += w[2] * p[0]
        w += 0.01
        tot += u[1]
    return tot + np.sum(u)


def appended_copy(p):
    u = np.zeros(5)
    u[:] = p[1]
    kept = []
    for t in range(N):
        u[0] = 0.9 * u[0] + p[0] * T[t]
        kept.append(np.array(u))
    return np.sum(np.array(kept))


def attribute_view(p):
    u = np.zeros((3, 2))
    u[:] = p[1]
    tot = 0.0
    for t in range(N):
        w = u.T
        u[0, 1] = 0.9 * u[0, 1] + p[0] * T[t]
        tot += w[1, 0]
        w = u.reshape(-1)
        u[2, 1] = 0.5 * u[0, 1]
        tot += w[5] * w[1]
    return tot


def branch_alias_choice(p):
    u = np.zeros(3)
    v = np.ones(3)
    u[:] = p[1]
    tot = 0.0
    for t in range(N):
        u[0] = 0.9 * u[0] + p[0] * T[t]
        v[1] = 0.9 * v[1] + p[1] * T[t]
        w = _same(u) if u[0] > 0.1 else _same(v)
        u[1] += 0.1 * p[0]
        tot += w[1] * w[0]
    return tot


def scipy_call(p):
    u = p[1] * np.ones(4)
    A = np.eye(4) * 2 + np.eye(4, k=1) * 0.3
    for t in range(N):
        u[:] = np.linalg.solve(A, u)
        u[0] += p[0] * T[t]
    return np.sum(u**2)


ONE_TURN = (
    helper,
    roll,
    alias_in_turn,
    alias_part_in_turn,
    alias_branch,
    alias_break,
    alias_continue,
    appended_copy,
    attribute_view,
    branch_alias_choice,
    scipy_call,
)


# All turns are recorded.


def alias_branch2(p):
    u = np.zeros(5)
    u[:] = p[1]
    tot = 0.0
    for t in range(N):
        w = _same(u)
        if p[0] * T[t] > 0.1:
            u[1] += 0.1 * p[0]
            w[2] = T[t] * p[1]
        else:
            u[1:] = 0.9 * w[1:]
            u[0] += w[1]
        tot += w[0] * w[1] + w[2]
    return tot + np.sum(u)


def alias_carried(p):
    u = np.zeros(5)
    u[:] = p[1]
    tot = 0.0
    w = np.ones(5)
    for t in range(N):
        tot += w[1]
        w = _same(u)
        u[1] = 0.9 * u[1] + p[0] * T[t]
    return tot + np.sum(u)


def alias_after(p):
    u = np.zeros(5)
    u[:] = p[1]
    tot = 0.0
    for t in range(N):
        w = _part(u)
        u[1] = 0.9 * u[1] + p[0] * T[t]
        tot += w[0]
    u[1] = 5.0 * p[0]
    return tot + np.sum(w)


def writes_argument(p):
    u = np.zeros(5)
    u[:] = p[1]
    tot = 0.0
    for t in range(N):
        tot += _kick(u, p[0] * T[t])
        u[1] = 0.5 * u[0]
    return tot + np.sum(u)


def appended(p):
    u = np.zeros(5)
    u[:] = p[1]
    kept = []
    for t in range(N):
        u[0] = 0.9 * u[0] + p[0] * T[t]
        kept.append(_same(u))
    return np.sum(np.array(kept))


def default_arg(p):
    u = np.zeros(5)
    u[:] = p[1]
    tot = 0.0

    def f(x, y=u):
        return x[0] + y[1]

    for t in range(N):
        u[0] = 0.9 * u[0] + p[0] * T[t]
        u[1] = u[0] * 0.3
        tot += f(u)
    return tot


def attribute_view_handed(p):
    u = np.zeros((3, 2))
    u[:] = p[1]
    tot = 0.0
    w = np.ones((2, 3))
    for t in range(N):
        tot += w[1, 0]
        u[0, 1] = 0.9 * u[0, 1] + p[0] * T[t]
        w = u.T
    return tot


ALL_TURNS = (alias_branch2, alias_carried, alias_after, writes_argument, appended, default_arg, attribute_view_handed)
