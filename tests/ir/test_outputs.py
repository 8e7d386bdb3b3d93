"""The caller's arrays: checked before anything is computed, and not written to when the check fails."""

import itertools

import numpy as np
import pytest

import tapediff as td
from tapediff.ir.outputs import share_memory


def f(x, y):
    return np.sum(x * y**2)


X, Y = np.array([1.0, 2.0]), np.array([3.0, 4.0])


@pytest.mark.parametrize(
    "target",
    [f, td.record(f, X, Y), td.compile(f, X, Y), td.GuardedTape(f)],
    ids=["function", "tape", "compiled", "guarded"],
)
def test_gradients_by_several_arguments_need_separate_arrays(target):
    """One array for two gradients, or two views of one, raises and stays as it is; separate ones are filled."""
    shared = np.full(3, 7.0)
    for out in ((shared[:2], shared[:2]), (shared[:2], shared[1:])):
        with pytest.raises(td.ArgumentMismatch, match="share memory"):
            td.gradient(target, X, Y, argnums=(0, 1), out=out)
    np.testing.assert_array_equal(shared, 7.0)
    separate = (np.empty(2), np.empty(2))
    assert td.gradient(target, X, Y, argnums=(0, 1), out=separate) is separate
    np.testing.assert_allclose(separate, [Y**2, 2 * X * Y])


def g(x):
    return np.sum(x**3)


TARGETS = pytest.mark.parametrize(
    "make",
    [lambda x: g, lambda x: td.record(g, x), lambda x: td.compile(g, x), lambda x: td.GuardedTape(g)],
    ids=["function", "tape", "compiled", "guarded"],
)


def strided(shape, strides, offset=0):
    """An array on 100 numbers, with strides in numbers."""
    memory = np.full(100, 7.0)
    return np.lib.stride_tricks.as_strided(memory[offset:], shape, [8 * s for s in strides]), memory


@TARGETS
@pytest.mark.parametrize(
    ("shape", "strides"),
    [((3,), (0,)), ((2, 3), (0, 1)), ((2, 3), (3, 0)), ((2, 3), (1, 1)), ((3, 3), (2, 1)), ((2, 2, 2), (4, 2, 0)), ((4, 4), (1, 3))],
)
def test_out_whose_entries_share_memory_is_refused(make, shape, strides):
    """Nothing is written, at the first call and at later ones; the next call is fine."""
    x = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    target = make(x)
    out, memory = strided(shape, strides)
    for _ in range(2):
        with pytest.raises(td.ArgumentMismatch, match="entries of out share memory"):
            td.gradient(target, x, out=out)
        np.testing.assert_array_equal(memory, 7.0)
    np.testing.assert_allclose(td.gradient(target, x, out=np.empty(shape)), 3 * x**2, rtol=1e-14)  # powers in another order


@TARGETS
@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [((3,), (2,), 0), ((3,), (-1,), 50), ((2, 3), (1, 2), 0), ((2, 3), (10, 3), 0), ((1, 3), (0, 2), 0), ((0, 3), (0, 0), 0), ((2, 2), (-2, 5), 50)],
)
def test_out_of_any_layout_is_written_entry_by_entry(make, shape, strides, offset):
    """Also where an axis of one entry, or of none, has stride 0; no other memory is touched."""
    x = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    target = make(x)
    out, memory = strided(shape, strides, offset)
    for _ in range(2):
        assert td.gradient(target, x, out=out) is out
        np.testing.assert_allclose(out, 3 * x**2, rtol=1e-14)  # powers in another order
    assert np.sum(memory != 7.0) == x.size


@TARGETS
def test_out_that_is_no_plain_array_of_the_right_kind_is_refused(make):
    """Read-only, another dtype, another byte order, another shape: a reason for each, and nothing is written."""
    x = np.array([1.0, 2.0, 3.0])
    target = make(x)
    frozen = np.full(3, 7.0)
    frozen.flags.writeable = False
    for out, error in (
        (frozen, td.ArgumentMismatch), (np.full(3, 7.0, np.float32), td.DtypeMismatch), (np.full(3, 7.0, ">f8"), td.DtypeMismatch),
        (np.full(3, 7), td.DtypeMismatch), (np.full((3, 1), 7.0), td.ShapeMismatch), ([7.0] * 3, td.ArgumentMismatch),
    ):  # fmt: skip
        for _ in range(2):
            with pytest.raises(error):
                td.gradient(target, x, out=out)
        assert np.all(np.asarray(out) == 7)


@TARGETS
def test_out_may_lie_over_the_arguments(make):
    """The gradient is that at the point as it was given, whichever part of it is overwritten."""
    for start in (0, 1, 2, 3):
        memory = np.arange(1.0, 7.0)
        x, out = memory[:3], memory[start : start + 3]
        target, known = make(x.copy()), 3 * x**2
        td.gradient(target, x.copy())
        td.gradient(target, x, out=out)
        np.testing.assert_allclose(out, known, rtol=1e-14)  # powers in another order


def overlaps(arrays, others=None):
    pairs = itertools.combinations(arrays, 2) if others is None else itertools.product(arrays, others)
    return any(np.may_share_memory(a, b) for a, b in pairs)


def test_whether_any_of_many_arrays_share_memory_is_what_pairs_of_them_say():
    """Random views of one block, empty ones among them, few and many, within one list and between two; about half of them apart."""
    random = np.random.default_rng(0)
    met = set()
    for trial in range(400):
        memory = np.zeros(4000)
        starts = np.sort(random.choice(4000 // 8, size=30, replace=False)) * 8
        most = 14 if trial % 2 else 8
        views = [memory[s : s + random.integers(0, most)][:: random.choice([-2, -1, 1, 3])] for s in starts]
        random.shuffle(views)
        cases = (views, None), (views[:15], views[15:]), (views[:3], views[3:15]), (views[:8], None), ([], None), (views, [])
        for arrays, others in cases:
            found = share_memory(arrays, others)
            assert found == overlaps(arrays, others)
            met.add((found, len(arrays)))
    assert {(found, count) for found in (False, True) for count in (30, 15, 8, 3)} <= met


def test_a_thousand_arrays_are_compared_in_less_than_a_million_pairs(monkeypatch):
    """Gradients by 1000 arguments into arrays of the caller; two that share memory are found."""
    count = 1000
    arrays = [np.array([1.0 + k / count, 2.0]) for k in range(count)]
    compiled = td.compile(lambda *a: sum(np.sum(v * v) for v in a), *arrays)
    out = tuple(np.empty(2) for _ in arrays)
    pairs, compare = [], np.may_share_memory
    monkeypatch.setattr(np, "may_share_memory", lambda *two: pairs.append(two) or compare(*two))
    td.gradient(compiled, *arrays, argnums=tuple(range(count)), out=out)
    assert len(pairs) < 10 * count
    for array, gradient in zip(arrays, out):
        np.testing.assert_array_equal(gradient, 2 * array)
    with pytest.raises(td.ArgumentMismatch, match="share memory"):
        td.gradient(compiled, *arrays, argnums=tuple(range(count)), out=(*out[:-1], out[17]))
