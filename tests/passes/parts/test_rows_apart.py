"""Parts of a few rows that are far from each other are taken one by one, so that arrays are cut along the edges of boxes."""

import numpy as np
import pytest

import tapediff as td
from tapediff.base.settings import settings
from tapediff.ops.arrays.indexing import ASSEMBLE, assemble
from tapediff.ops.arrays.regions import Region
from tapediff.passes.parts import rows_apart as apart

N = 20


def heat(x):
    u = x.reshape(N, N).copy()
    for _ in range(6):
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return np.sum(u * u)


def borders(x):
    u = x.reshape(N, N)
    for _ in range(5):
        p = np.pad(u, 2, mode="reflect")
        u = 0.5 * u + 0.1 * (p[4:, 2:-2] + p[:-4, 2:-2]) * p[2:-2, 4:]
    return np.sum(u * u)


def every_fifth(x):
    u = x.reshape(N, N).copy()
    u[::10] *= 2.0
    u[:, 3::7] += u[:, :3]
    return np.sum(u**3)


@pytest.mark.parametrize("f", [heat, borders, every_fifth])
def test_answers_are_the_same(f, monkeypatch):
    x = np.random.default_rng(5).normal(size=N * N)
    answers = []
    for left_out in ((), ("rows_apart",)):
        monkeypatch.setattr(settings, "left_out", frozenset(left_out))
        compiled = td.compile(lambda x: f(x), x)
        td.testing.check_gradient(compiled, f, x, rtol=1e-5)
        answers.append(td.value_and_gradient(compiled, 0.8 * x))
    for one, other in zip(*answers):
        np.testing.assert_allclose(one, other, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize(
    ("region", "parts"),
    [
        (Region((0, 0), (19, 1), (2, 20), (2, 20)), 2),
        (Region((2, 3), (-2, 1), (2, 5), (2, 5)), 2),
        (Region((0, 1), (19, 18), (2, 2), (2, 2)), 4),
        (Region((4, 0), (1, 1), (1, 20), (20,)), 1),
        (Region((0, 0), (2, 1), (10, 20), (10, 20)), 1),
    ],
)
def test_regions_of_few_rows(region, parts):
    """Also backwards, along both axes; many rows stay together, and a value put there without its axis of length 1 is as it was."""
    values, ones = np.random.default_rng(1).normal(size=region.shape), np.ones((N, N))
    whole = Region((0, 0), (1, 1), (N, N), (N, N))
    tape = td.record(lambda v, w: assemble([v, w], [region, whole], (N, N)), values, ones)
    made = apart.rows_apart(tape)
    made.check()
    ((_, join),) = made.numbered(ASSEMBLE)
    assert len(join.inputs) == 1 + parts
    np.testing.assert_array_equal(made(values, ones), tape(values, ones))
