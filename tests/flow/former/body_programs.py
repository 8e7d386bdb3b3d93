"""Bodies of sub-tapes and loops have one variant for all their paths where that changes nothing, and the answers of plain Python everywhere."""

import functools

import numpy as np

import tapediff as td

from . import merged_bodies as programs

POINTS = [np.random.default_rng(0).normal(size=4) * (1 + k % 3) for k in range(4)]


def of_an_array(f):
    """A function of an array whose entries go through the body one by one."""
    return lambda x: f(x[0]) * 1.5 + f(x[1]) * x[2] + f(x[3])


def nested(inner):
    return lambda v: inner(v) * (2.0 if v > 0 else 1.0)


FORMS_OF_ONE = {
    "subtape": lambda f: of_an_array(td.subtape(f)),
    "method": lambda f: of_an_array(td.subtape(type("Owner", (), {"call": lambda self, v: f(v)})().call)),
    "subtape of a subtape": lambda f: of_an_array(td.subtape(nested(td.subtape(f)))),
    "scan": lambda f: lambda x: td.scan(lambda c, v: (0.25 * c + f(v + 0.1 * c), f(v)), x[0], x)[0] * x[1],
    "scan of a scan": lambda f: lambda x: td.scan(
        lambda c, v: (0.5 * c + td.scan(lambda d, w: (0.3 * d + f(w * v), None), c, x)[0], None), x[0], x[:2]
    )[0],
    "fori_loop": lambda f: lambda x: td.fori_loop(0, 3, lambda i, c: 0.25 * c + f(x[1] - 0.3 * c) + i, x[0]),
    "while_loop": lambda f: lambda x: td.while_loop(lambda c: c[0] < 3.0, lambda c: (c[0] + 1.0, 0.25 * c[1] + f(x[0] - 0.2 * c[1])), (0.0, x[1]))[1],
    "cond": lambda f: lambda x: td.cond(x[0] > 0, lambda: f(x[1]), lambda: f(x[2]) * x[3]),
}  # fmt: skip


def divides_in_a_subtape(x):
    piece = td.subtape(programs.divides_by_a_count)
    return piece(x[0]) * x[1]


def apart(piece):
    return lambda x: sum(piece(v) for v in x)


def recurrence(piece):
    return lambda x: functools.reduce(lambda s, v: 0.9 * s + piece(v + 0.1 * s), x, x[0])


def left_later(v):
    y = 1.0
    if v > 0.5:
        y = v
    if v < -1.0:
        k = len([w for w in (0.1, 0.2) if w < int(v > -1.7) + 0.15])  # looks at a value
        y = y * k
        if v < -1.5:
            y = np.float32(2.0) * y if k else y
    return y * v


def paths_below_a_barrier(p):
    """A scan of scans with two short branches: the inner one is taken long after the outer body was merged."""

    def day(state, shock):
        price, alive = state
        price = price * np.exp(0.1 * p[1] * shock)
        if price < 0.7:
            alive = 0.0 * alive
        return (price, alive), None

    def path(total, shocks):
        (price, alive), _ = td.scan(day, (p[0], 1.0), shocks)
        if price > 1.0:
            total = total + alive * (price - 1.0) * p[2]
        return total, None

    return td.scan(path, 0.0, np.random.default_rng(4).normal(size=(16, 12)) + np.linspace(0.8, -0.8, 16)[:, None])[0] * p[3]


def multiplied_while_small(v, a):
    w = abs(v)
    while w < 1.0:
        a = a * 1.5
        w = w + 0.4
    return a


def writes_to_what_went_through(x):
    piece = td.subtape(multiplied_while_small)
    b = piece(x[0], x[1:] * 2.0)
    b[0] = 3.0
    return np.sum(b**2) * x[1]


PROGRAMS = [paths_below_a_barrier, divides_in_a_subtape, writes_to_what_went_through]
BODIES = [*programs.MERGED, *programs.OTHERS, left_later]
# Each body in two of the forms, and calls of which none, or each, needs the one before.
CASES = {
    f"{form}.{f.__name__}": FORMS_OF_ONE[form](f)
    for k, f in enumerate(BODIES)
    for form in ([*FORMS_OF_ONE] * 2)[2 * k % len(FORMS_OF_ONE) :][:2]
}
CALLS = {form.__name__: form(td.subtape(programs.four_ifs)) for form in (apart, recurrence)}
RESULTS = {kind: of_an_array(used(td.subtape(body))) for kind, (body, used) in programs.WITH_RESULTS.items()}
