"""The caller's arrays: checked before anything is computed, and not written to when the check fails."""

import numpy as np
import pytest

import tapediff as td


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
