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
