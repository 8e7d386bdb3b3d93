"""Programs with long loops of which some turns, as their numbers say, keep what they have computed, or bind a variable."""

from __future__ import annotations

import numpy as np

N = 230
T = np.sin(np.arange(N) * 0.3)


def saved(p):
    x = p[0]
    out = []
    for t in range(N):
        x = 0.9 * x + p[1] * T[t]
        if t % 10 == 0:
            out.append(x)
    return np.sum(np.array(out) ** 2)


def saved_burn(p):
    x = p[0]
    out = []
    for t in range(N):
        x = 0.9 * x + p[1] * T[t]
        if t >= 50 and (t - 50) % 7 == 0:
            out.append(x * T[t])
    return np.sum(np.array(out) ** 2) + len(out) * p[0]


def saved_peeled(p):
    x = p[0]
    out = []
    for t in range(N):
        x = 0.9 * x + p[1] * T[t]
        if t >= 50:
            out.append(x * T[t])
    return np.sum(np.array(out) ** 2) + len(out) * p[0]


def saved_arr(p):
    x = p[0]
    out = np.zeros(N // 10)
    for t in range(N):
        x = 0.9 * x + p[1] * T[t]
        if t % 10 == 0:
            out[t // 10] = x
    return np.sum(out**2)


def saved_rows(p):
    x = p[0] * np.ones(3)
    out = []
    for t in range(N):
        x = 0.9 * x + p[1] * T[t]
        if t % 10 == 0:
            out.append(x.copy())
    return np.sum(np.array(out) ** 2)


def saved_log(p):
    x = p[0]
    out = []
    for t in range(N):
        x = 0.9 * x + p[1] * T[t]
        if t % 10 == 0:
            out.append(np.log(x * x))
    return np.sum(np.array(out) ** 2)


def saved_log_zero(p):
    x = p[0] * 0.0
    out = []
    for t in range(N):
        if t % 10 == 5:
            out.append(np.sqrt(x * x) + 1 / x)
        x = 0.9 * x + p[1] * T[t]
    return np.sum(np.array(out) ** 2)


def saved_two(p):
    x = p[0]
    v = 0.0
    xs = []
    vs = []
    tot = 0.0
    for t in range(N):
        v = v - 0.1 * x * p[1]
        x = x + 0.1 * v
        if t % 10 == 3:
            tot += x
            xs.append(x)
            vs.append(v * 2)
    return np.sum(np.array(xs) * np.array(vs)) + tot + xs[2] * vs[-1] + len(xs)


def saved_state(p):
    u = np.zeros(4)
    u[:] = p[0]
    out = []
    for t in range(N):
        u[1:] = 0.9 * u[:-1] + 0.1 * T[t]
        u[0] = p[1] * T[t]
        if t % 10 == 0:
            out.append(u.copy())
    return np.sum(np.array(out) ** 2)


def saved_table(p):
    x = p[0] * np.ones(3)
    out = np.zeros((N // 10, 3))
    for t in range(N):
        x = 0.9 * x + p[1] * T[t] * np.arange(3)
        if t % 10 == 0:
            out[t // 10] = x
    return np.sum(out**2)


def saved_enum(p):
    x = p[0]
    out = []
    for t, y in enumerate(T):
        x = 0.9 * x + p[1] * y
        if t % 10 == 9 or t < 3:
            out.append(x)
    return np.sum(np.array(out) ** 2)


def saved_down(p):
    x = p[0]
    out = [p[1]]
    for t in range(N - 1, -1, -1):
        x = 0.9 * x + p[1] * T[t]
        if not t % 7:
            out.append(x)
    return np.sum(np.array(out) * np.arange(len(out)))


def saved_none(p):
    x = p[0]
    out = []
    for t in range(N):
        x = 0.9 * x + p[1] * T[t]
        if t > 1000:
            out.append(x)
    return x * (1 + len(out))


def saved_dict(p):
    d = {"x": p[0], "v": np.zeros(2)}
    out = []
    for t in range(N):
        d["v"][0] += 0.1 * d["x"]
        d["v"][1] = 0.5 * d["v"][1] + d["v"][0] * T[t]
        d["x"] = 0.9 * d["x"] + p[1] * T[t]
        if t % 10 == 0:
            out.append(d["x"])
    return np.sum(np.array(out) ** 2) + d["v"][1]


def ema(p):
    tot = 0.0
    for t in range(N):
        if t == 0:
            s = T[t] * p[0]
        else:
            s = p[1] * T[t] + (1 - p[1]) * s
        tot += s**2
    return tot + s


def binds(p):
    tot = 0.0
    for t in range(N):
        if t == 0:
            s = p[0]
        s = 0.9 * s + T[t] * p[1]
        tot += s**2
    return tot


def binds_array(p):
    tot = 0.0
    for t in range(N):
        if t == 0:
            s = p[0] * np.ones(3)
        s = 0.9 * s + T[t] * p[1]
        tot += np.sum(s**2)
    return tot


def binds_enum(p):
    tot = 0.0
    for t, y in enumerate(T):
        if t == 0:
            prev = y * p[0]
        tot += (y - prev * p[1]) ** 2
        prev = y + 0.1 * prev
    return tot + prev


def first_after(p):
    x = p[0]
    for t in range(N):
        x = 0.9 * x + T[t] * p[1]
        if t == 0:
            first = x
    return x * first


def at_start(p):
    tot = 0.0
    for t in range(3, N):
        if t <= 3:
            s = p[0]
        s = 0.9 * s + T[t] * p[1]
        tot += s**2
    return tot


def breaks(p):
    tot = 0.0
    for t in range(N):
        if t == 0:
            s = p[0]
        s = 0.99 * s + T[t] * p[1] * 0.1
        if s < -0.2:
            break
        tot += s**2
    return tot + s


def best(p):
    for t in range(N):
        y = np.sin(p[0] * T[t]) + p[1] * T[t] ** 2
        if t == 0:
            best = y
        elif y > best:
            best = y
    return best


def saved_data_too(p):
    x = p[0]
    out = []

    for t in range(N):
        x = 0.9 * x + p[1] * T[t]
        if t % 10 == 0 and x > 0:
            out.append(x)
    return sum(out) + 1.0


def saved_k(p):
    x = p[0]
    out = np.zeros(N // 10)
    k = 0
    for t in range(N):
        x = 0.9 * x + p[1] * T[t]
        if t % 10 == 0:
            out[k] = x
            k += 1
    return np.sum(out**2)


def read_before(p):
    tot = 0.0
    for t in range(N):
        if t > 0:
            tot += s * p[1]  # noqa: F821 -- the first turn binds it
        if t == 0:
            s = p[0]
        s = 0.9 * s + T[t] * p[1]
    return tot


def binds_array_mod(p):
    tot = 0.0
    for t in range(N):
        if t % 20 == 0:
            s = p[0] * np.ones(3)
        s = 0.9 * s + T[t] * p[1]
        tot += np.sum(s**2)
    return tot


def saved_const(p):
    x = p[0]
    out = []
    for t in range(N):
        x = 0.9 * x + p[1] * T[t]
        if t % 10 == 0:
            out.append(t)
    return x * len(out) * out[3]


def saved_else(p):
    x = p[0]
    out = []
    other = []
    for t in range(N):
        x = 0.9 * x + p[1] * T[t]
        if t % 10 == 0:
            out.append(x)
        else:
            other.append(x**2)
    return np.sum(np.array(out) ** 2) + np.sum(np.array(other))


ONE_TURN = (
    read_before,
    binds_array_mod,
    saved_k,
    saved_data_too,
    saved,
    saved_burn,
    saved_peeled,
    saved_arr,
    saved_rows,
    saved_log,
    saved_log_zero,
    saved_two,
    saved_state,
    saved_table,
    saved_enum,
    saved_down,
    saved_none,
    saved_dict,
    ema,
    binds,
    binds_array,
    binds_enum,
    first_after,
    at_start,
    breaks,
    best,
    saved_const,
    saved_else,
)


# All turns are recorded.


def saved_state_alias(p):
    u = np.zeros(4)
    u[:] = p[0]
    out = []
    for t in range(N):
        u[1:] = 0.9 * u[:-1] + 0.1 * T[t]
        u[0] = p[1] * T[t]
        if t % 10 == 0:
            out.append(u)
    return np.sum(np.array(out) ** 2)


def saved_cols(p):
    x = p[0]
    y = p[1]
    out = np.zeros((N // 10, 2))
    for t in range(N):
        x = 0.9 * x + p[1] * T[t]
        y = 0.9 * y + x * 0.1
        if t % 10 == 0:
            out[t // 10, 0] = x
            out[t // 10, 1] = y
    return np.sum(out**2)


def saved_while_read(p):
    x = p[0]
    out = [x]
    for t in range(N):
        x = 0.9 * x + p[1] * T[t] + 0.01 * out[-1]
        if t % 10 == 0:
            out.append(x)
    return np.sum(np.array(out) ** 2)


def saved_alias_list(p):
    x = p[0]
    out = []
    same = out
    for t in range(N):
        x = 0.9 * x + p[1] * T[t] + 0.01 * len(same)
        if t % 10 == 0:
            out.append(x)
    return np.sum(np.array(out) ** 2)


def saved_twice_same(p):
    x = p[0]
    out = np.zeros(5)
    for t in range(N):
        x = 0.9 * x + p[1] * T[t]
        if t % 10 == 0:
            out[t % 5] = x
    return np.sum(out**2)


def saved_tuple(p):
    x = p[0]
    out = []
    for t in range(N):
        x = 0.9 * x + p[1] * T[t]
        if t % 10 == 0:
            out.append((x, x * 2))
    return np.sum(np.array(out) ** 2)


def saved_changed(p):
    x = p[0] * np.ones(3)
    out = []
    for t in range(N):
        x = 0.9 * x + p[1] * T[t]
        if t % 10 == 0:
            out.append(x)
        x += 0.01
    return np.sum(np.array(out) ** 2)


def saved_limit_moves(p):
    x = p[0]
    out = []
    lim = 10
    for t in range(N):
        x = 0.9 * x + p[1] * T[t]
        if t % lim == 0:
            out.append(x)
            lim = 11
    return np.sum(np.array(out) ** 2)


def saved_last_changed(p):
    x = p[0] * np.ones(3)
    out = []
    for t in range(N):
        x = 0.9 * x + p[1] * T[t]
        if (N - 1 - t) % 10 == 0:
            out.append(x)
    x += 5.0 * p[0]
    return np.sum(np.array(out) ** 2)


def saved_dict_shows(p):
    out = []
    d = {"x": p[0], "o": out}
    for t in range(N):
        d["x"] = 0.9 * d["x"] + p[1] * T[t] + 0.01 * len(d["o"])
        if t % 10 == 0:
            out.append(d["x"])
    return np.sum(np.array(out) ** 2)


def later(p):
    tot = 0.0
    s = 2.0
    if len(T) > 10:
        r = 3.0 * p[0]
    for t in range(N):
        if t == 5:
            r = p[0]
        s = 0.9 * s + T[t] * p[1]
        tot += s**2 * r
    return tot


ALL_TURNS = (
    saved_state_alias,
    saved_cols,
    saved_while_read,
    saved_alias_list,
    saved_twice_same,
    saved_tuple,
    saved_changed,
    saved_limit_moves,
    saved_last_changed,
    saved_dict_shows,
    later,
)
