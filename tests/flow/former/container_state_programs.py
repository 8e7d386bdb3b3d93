"""Programs with long loops whose turns change the entries of a dict, a short list or an object of the function's own."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

N = 230
T = np.sin(np.arange(N) * 0.3)


@dataclass
class State:
    x: float
    v: float


class Watched:
    """An object that counts what is assigned to it."""

    def __init__(self, x):
        self.x = x

    def __setattr__(self, name, value):
        object.__setattr__(self, "count", getattr(self, "count", 0) + 1)
        object.__setattr__(self, name, value)


def _step(s, p):
    return {"x": s["x"] + 0.1 * s["v"], "v": s["v"] - 0.1 * p[1] * s["x"]}


def basic(p):
    s = {"x": p[0], "v": 0.0}
    for _ in range(N):
        s["v"] += -0.1 * p[1] * s["x"]
        s["x"] += 0.1 * s["v"]
    return s["x"] ** 2 + s["v"]


def with_branch(p):
    s = {"x": p[0], "v": 0.0, "n": 0.0}
    for _ in range(N):
        s["v"] += -0.1 * p[1] * s["x"]
        if s["x"] < 0:
            s["x"] = -s["x"]
            s["n"] += 1.0
        s["x"] += 0.1 * s["v"]
    return s["x"] ** 2 + s["v"] + s["n"] * p[0]


def arrays(p):
    s = {"x": p[0] * np.ones(3), "v": np.zeros(3)}
    for _ in range(N):
        s["v"] = s["v"] - 0.1 * p[1] * s["x"]
        s["x"] = s["x"] + 0.1 * s["v"]
    return np.sum(s["x"] ** 2)


def dict_call(p):
    s = dict(x=p[0], v=0.0)  # noqa: C408 -- which is to be understood
    for _ in range(N):
        s["v"] += -0.1 * p[1] * s["x"]
        s["x"] += 0.1 * s["v"]
    return s["x"] ** 2


def rebuilt(p):
    s = {"x": p[0], "v": 0.0}
    for _ in range(N):
        s = {"x": s["x"] + 0.1 * s["v"], "v": s["v"] - 0.1 * p[1] * s["x"]}
    return s["x"] ** 2


def history(p):
    s = {"x": p[0], "v": 0.0}
    h = {"x": [], "v": []}
    for _ in range(N):
        s["v"] += -0.1 * p[1] * s["x"]
        s["x"] += 0.1 * s["v"]
        h["x"].append(s["x"])
    return np.sum(np.array(h["x"]) ** 2)


def entries(p):
    s = {"x": np.zeros(N), "v": np.zeros(N)}
    s["x"][0] = p[0]
    for t in range(1, N):
        s["v"][t] = s["v"][t - 1] - 0.1 * p[1] * s["x"][t - 1]
        s["x"][t] = s["x"][t - 1] + 0.1 * s["v"][t]
    return np.sum(s["x"] ** 2)


def list_state(p):
    s = [p[0], 0.0]
    for _ in range(N):
        s[1] += -0.1 * p[1] * s[0]
        s[0] += 0.1 * s[1]
    return s[0] ** 2


def swap_entries(p):
    s = {"u": p[1] * np.arange(8.0), "v": np.zeros(8)}
    for _ in range(N):
        s["v"][1:-1] = s["u"][1:-1] + 0.1 * p[0] * (s["u"][2:] - 2 * s["u"][1:-1] + s["u"][:-2])
        s["u"], s["v"] = s["v"], s["u"]
    return np.sum(s["u"] ** 2)


def break_dict(p):
    s = {"x": p[0], "n": 0.0}
    for t in range(N):
        s["x"] = 0.99 * s["x"] + 0.1 * p[1] * T[t]
        s["n"] += 1.0
        if s["x"] < -0.2:
            break
    return s["x"] * s["n"]


def two_level_loops(p):
    s = {"e": 0.0, "x": p[0]}
    for _ in range(N):
        for j in range(5):
            s["e"] += np.sin(s["x"] * j) * p[1]
        s["x"] *= 0.99
    return s["e"]


def of_a_dataclass(p):
    s = State(p[0], 0.0)
    for _ in range(N):
        s.v += -0.1 * p[1] * s.x
        s.x += 0.1 * s.v
    return s.x**2 + s.v


def of_a_namespace(p):
    s, total = SimpleNamespace(x=p[0], v=np.zeros(3)), 0.0
    for t in range(N):
        s.v[0] += 0.1 * s.x * T[t]
        s.v[1:] = 0.9 * s.v[:-1] + 0.1 * p[1]
        s.x = 0.9 * s.x + 0.01 * s.v[2]
        if t % 10 == 0:
            total += s.v[1]
    return s.x**2 + total


def int_count(p):
    s = {"x": p[0], "n": 0}
    for t in range(N):
        s["x"] = 0.99 * s["x"] + 0.1 * p[1] * T[t]
        s["n"] += 1
    return s["x"] / s["n"]


def after_dict(p):
    s = {"x": p[0], "v": 0.0}
    for _ in range(N):
        s["x"] = s["x"] + 0.1 * s["v"]
        s["v"] = s["v"] - 0.1 * p[1] * s["x"]
    out = {"y": s["x"]}
    s["x"] = 2.0
    return out["y"] * s["x"]


ONE_TURN = (
    after_dict,
    int_count,
    basic,
    with_branch,
    arrays,
    dict_call,
    rebuilt,
    history,
    entries,
    list_state,
    swap_entries,
    break_dict,
    two_level_loops,
    of_a_dataclass,
    of_a_namespace,
)


# All turns are recorded.


def functional(p):
    s = {"x": p[0], "v": 0.0}
    for _ in range(N):
        s = _step(s, p)
    return s["x"] ** 2


def list_state_inner(p):
    m = 6
    s = [p[0] * k for k in range(m)]
    for t in range(N):
        for k in range(1, m - 1):
            s[k] = 0.5 * (s[k - 1] + s[k + 1]) + 0.01 * p[1] * T[t]
    return s[3] ** 2


def items(p):
    s = {"x": p[0], "v": 0.0}
    for t in range(N):
        s["x"] = 0.9 * s["x"] + p[1] * T[t]
    return sum(s.values())


def returned(p):
    s = {"x": p[0], "v": 0.0}
    for t in range(N):
        s["x"] = 0.9 * s["x"] + p[1] * T[t]

    def f(d):
        return d["x"] ** 2

    return f(s)


def alias_dict(p):
    s = {"x": p[0], "v": 0.0}
    q = s
    for t in range(N):
        s["x"] = 0.9 * s["x"] + p[1] * T[t]
        q["v"] = q["x"] * 0.5
    return s["x"] + s["v"]


def alias_entry(p):
    s = {"x": p[0] * np.ones(3), "v": np.zeros(3)}
    x = s["x"]
    for t in range(N):
        s["x"] *= 0.99
        s["v"] += 0.1 * x * p[1] * T[t]
    return np.sum(s["v"]) + x[1]


def alias_entry2(p):
    s = {"x": p[0] * np.ones(3), "v": np.zeros(3)}
    for t in range(N):
        w = s["x"]
        w[0] = 0.9 * w[0] + T[t]
        s["v"][1] += s["x"][0] * p[1]
    return np.sum(s["v"]) + s["x"][1]


def same_entry(p):
    a = p[0] * np.ones(3)
    s = {"x": a, "v": a}
    for t in range(N):
        s["x"][0] = 0.9 * s["x"][0] + T[t]
        s["v"][1] = 0.5 * s["v"][0] * p[1]
    return np.sum(s["v"]) + s["x"][1]


def new_key(p):
    s = {"x": p[0]}
    for t in range(N):
        s["v"] = 0.5 * s["x"] * p[1]
        s["x"] = 0.9 * s["x"] + T[t] + 0.01 * s["v"]
    return s["x"] + s["v"]


def kept_dict(p):
    s = {"x": p[0]}
    out = []
    for t in range(N):
        s["x"] = 0.9 * s["x"] + p[1] * T[t]
        out.append(s)
    return out[3]["x"]


def nested(p):
    s = {"a": {"x": p[0]}, "b": {"x": p[1]}}
    for t in range(N):
        s["a"]["x"] = 0.9 * s["a"]["x"] + 0.1 * T[t] * s["b"]["x"]
    return s["a"]["x"]


def closure(p):
    s = {"x": p[0]}

    def f():
        return s["x"] * p[1]

    for t in range(N):
        s["x"] = 0.9 * s["x"] + T[t] + 0.1 * f()
    return s["x"]


def argument(p, s=None):
    s = s or {"x": p[0]}
    for t in range(N):
        s["x"] = 0.99 * s["x"] + 0.1 * p[1] * T[t]
    return s["x"]


def update(p):
    s = {"x": p[0], "v": 0.0}
    for _ in range(N):
        s.update(x=s["x"] + 0.1 * s["v"], v=s["v"] - 0.1 * p[1] * s["x"])
    return s["x"]


def counts_what_is_assigned(p):
    s = Watched(p[0])
    for t in range(N):
        s.x = 0.9 * s.x + T[t] * p[1] * 0.1
    return s.x * s.count


ALL_TURNS = (
    functional,
    list_state_inner,
    items,
    returned,
    alias_dict,
    alias_entry,
    alias_entry2,
    same_entry,
    new_key,
    kept_dict,
    nested,
    closure,
    argument,
    update,
    counts_what_is_assigned,
)
