"""What is read of rolled, padded and concatenated arrays is read of what these were made of, and no bit differs."""

import numpy as np
import pytest

import tapediff as td
from tapediff.base.settings import settings
from tapediff.ops.arrays.indexing import ASSEMBLE
from tapediff.passes.parts import elementwise_by_parts as by_parts
from tapediff.passes.pipeline import STRAIGHTEN, run_passes

N = 20


def around(u):
    return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)


def waves(x):
    u, v = x.reshape(N, N), 0.9 * x.reshape(N, N)
    for _ in range(6):
        u, v = 2 * u - v + 0.1 * (around(u) - 4 * u), u
    return np.sum(u * u)


def padded(mode, x):
    u = x.reshape(N, N)
    for _ in range(5):
        p = np.pad(u, 1, mode=mode)
        u = u + 0.1 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * u)
    return np.sum(u * u)


def joined_twice(x):
    u = x.reshape(N, N)
    for _ in range(5):
        p = np.concatenate([u[-1:], u, u[:1]], axis=0)
        p = np.concatenate([p[:, -1:], p, p[:, :1]], axis=1)
        u = 0.9 * u + 0.1 * p[2:, 2:] * p[:-2, :-2]
    return np.sum(u * u)


def borders_written(x):
    u = x.reshape(N, N)
    for _ in range(4):
        w = np.zeros((N + 2, N + 2))
        w[1:-1, 1:-1] = u
        w[0, 1:-1], w[-1, 1:-1], w[1:-1, 0], w[1:-1, -1] = u[-1], u[0], u[:, -1], u[:, 0]
        u = u + 0.1 * (w[2:, 1:-1] + w[:-2, 1:-1] + w[1:-1, 2:] + w[1:-1, :-2] - 4 * u)
    return np.sum(u * u)


def space(x):
    u = x.reshape(4, 10, 10)
    for _ in range(4):
        u = u + 0.1 * (sum(np.roll(u, s, k) for k in range(3) for s in (1, -1)) - 6 * u)
    return np.sum(u**2)


def with_branches_of_entries(x):
    u = x.reshape(N, N)
    s = np.where(np.roll(u, 1, 0) > 0.1, np.roll(u, -1, 1), np.maximum(u, np.roll(u, 2, 0)))
    return np.sum(s * np.tanh(s - np.roll(u, 1, 1)))


def of_rows_and_columns(x):
    """Operands that are repeated, and a rolled array that is read whole as well."""
    u = x.reshape(N, N)
    rolled = np.roll(u, 3, 1)
    s = (rolled + np.roll(u, -3, 1)) * u[0] - u[:, :1] * np.roll(u, 1, 0)
    return np.sum(s * s) + np.sum(np.cumsum(rolled, axis=0)[-1] ** 2)


def of_two_shapes(x):
    """What is put together in one shape is read in another one."""
    a, u = np.roll(x[:N], 1) + np.roll(x[:N], -1), x.reshape(N, N)
    b = np.roll(u, 1, 0) * a + np.roll(u, -1, 0)
    return np.sum(b * b)


def of_every_other_row(x):
    u = x.reshape(N, N)
    rows = np.concatenate([u[::2], u[1::2]])
    s = (rows + np.roll(u, 1, 0)) * np.roll(u, -1, 1) + u[::-1]
    return np.sum(s * s)


def scanned(x):
    def step(carry, t):
        u, total = carry
        force = np.roll(u, 1) + np.roll(u, -1) - 2 * u - t * u**3
        return (u + 0.1 * force, total + np.sum(force * force)), u[0]

    (u, total), firsts = td.scan(step, (x, 0.0), np.linspace(0, 0.1, 7))
    return np.sum(u * u) + total + np.sum(firsts**2)


def cotangents_of_slices(x):
    u = x.reshape(N, N)
    across, down = u[1:] - u[:-1], u[:, 1:] - u[:, :-1]
    return np.sum(across * across) + np.sum(down * down) + np.sum((u - 0.5) ** 2)


PROGRAMS = {
    "waves on a periodic grid": waves,
    **{f"padded, {mode}": lambda x, mode=mode: padded(mode, x) for mode in ("wrap", "edge", "reflect", "symmetric", "constant")},
    "concatenated along both axes": joined_twice,
    "borders that are written": borders_written,
    "three dimensions": space,
    "np.where and np.maximum": with_branches_of_entries,
    "rows and columns that are repeated": of_rows_and_columns,
    "two shapes": of_two_shapes,
    "every other row": of_every_other_row,
    "a scan": scanned,
    "cotangents of slices": cotangents_of_slices,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_bit_differs(name, monkeypatch):
    monkeypatch.setattr(by_parts, "FEWEST_ENTRIES", 1)
    f, x = PROGRAMS[name], np.random.default_rng(3).normal(size=N * N)
    answers = []
    for left_out in ((), ("elementwise_by_parts",)):
        monkeypatch.setattr(settings, "left_out", frozenset(left_out))
        compiled = td.compile(lambda x: f(x), x)  # a tape of its own: callees keep what is made of them
        answers.append([a for point in (x, 0.7 * x[::-1]) for a in (compiled(point), *td.value_and_gradient(compiled, point))])
        td.testing.check_gradient(compiled, f, x, rtol=1e-5)
    for with_parts, without in zip(*answers):
        np.testing.assert_array_equal(with_parts, without)


def periodic(u):
    return 2 * u + 0.1 * (around(u) - 4 * u)


def wrapped(u):
    p = np.pad(u, 1, mode="wrap")
    return u + 0.1 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * u)


@pytest.mark.parametrize("step", [periodic, wrapped])
def test_the_result_is_all_that_is_put_together(step, monkeypatch):
    """Of nine parts: the middle, edges and corners."""
    monkeypatch.setattr(by_parts, "FEWEST_ENTRIES", 1)
    tape = by_parts.elementwise_by_parts(run_passes(td.record(step, np.ones((N, N))), STRAIGHTEN))
    ((number, joined),) = tape.numbered(ASSEMBLE)
    assert tape.outputs == (number,)
    assert len(joined.inputs) == 9
    tape.check()


def test_it_pays_where_what_is_stored_gets_less(monkeypatch):
    """One array is put together and one would be: as it was. So are strided parts, and what ends in a costly function."""
    monkeypatch.setattr(by_parts, "FEWEST_ENTRIES", 1)
    for f in (
        lambda u: np.sum((u - np.roll(u, 1)) ** 3),
        lambda u: np.exp(np.roll(u, 1)) * np.exp(np.roll(u, -1)),
        lambda u: u + np.concatenate([u[::2], u[1::2]])[::-1],
    ):
        tape = run_passes(td.record(f, np.ones(60)), STRAIGHTEN)
        assert by_parts.elementwise_by_parts(tape) is tape


def test_short_arrays_and_long_groups_are_left_alone(monkeypatch):
    """Each part is code of its own."""

    def long(u):
        for _ in range(60):
            u = u + 0.1 * np.abs(u)
        return u * (np.roll(u, 1, 0) - np.roll(u, 1, 1)) * np.roll(u, -1, 0) * np.roll(u, -1, 1)

    def longer(u):
        s = np.roll(u, 1, 0) - np.roll(u, 1, 1)
        for _ in range(60):
            s = s + 0.1 * np.abs(s)
        return s

    tape = run_passes(td.record(periodic, np.ones((N, N))), STRAIGHTEN)
    assert by_parts.elementwise_by_parts(tape) is tape
    monkeypatch.setattr(by_parts, "FEWEST_ENTRIES", 1)
    tape = run_passes(td.record(longer, np.ones((N, N))), STRAIGHTEN)
    assert by_parts.elementwise_by_parts(tape) is tape
    tape = run_passes(td.record(long, np.ones((N, N))), STRAIGHTEN)
    assert by_parts.elementwise_by_parts(tape) is not tape
