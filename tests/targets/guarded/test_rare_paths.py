"""Where paths hardly come again, new ones are compiled when they do."""

import numpy as np
import pytest
from support.differences import differences
from support.guarded import latest

import tapediff as td
from tapediff.targets.guarded.dispatch import RECORDINGS_BEFORE_RARE

STEPS = np.random.default_rng(3).normal(size=40)
POINTS = np.random.default_rng(4).normal(size=(14, 2))


def wandering(p):
    """Another path at nearly every point."""
    x, total = p[0], 0.0
    for s in STEPS:
        x = 0.9 * x + 0.3 * s
        if x > 0.2 * p[1]:
            total = total + x * x * p[1]
    return total


def agrees(safe, x):
    out = np.full(2, 7.0)
    value, gradient = td.value_and_gradient(safe, x, out=out)
    assert gradient is out
    np.testing.assert_allclose(value, wandering(x), rtol=1e-12)
    np.testing.assert_allclose(gradient, differences(wandering, x), rtol=1e-6, atol=1e-6)


def compiled(safe):
    return sum(bool(variant.compiled.kernels) for variant in safe._cache.all())


def test_new_paths_are_answered_without_kernels_and_compiled_when_they_come_again():
    safe = td.GuardedTape(wandering, merge=False)
    for x in POINTS:
        agrees(safe, x)
    recordings = safe.stats.recordings
    assert recordings > RECORDINGS_BEFORE_RARE + 4
    before = compiled(safe)
    assert before <= RECORDINGS_BEFORE_RARE
    last = latest(safe)
    assert not last.compiled.kernels
    for _ in range(3):
        agrees(safe, POINTS[-1])
    assert safe.stats.recordings == recordings
    assert last.compiled.kernels
    assert compiled(safe) == before + 1


def test_points_between_leave_other_tapes_as_they_are():
    """Looking for a path compiles nothing."""
    safe = td.GuardedTape(wandering, merge=False)
    for x in POINTS:
        agrees(safe, x)
    before = compiled(safe)
    for x in POINTS[:3]:
        agrees(safe, x)
    assert compiled(safe) == before


def test_where_paths_come_again_new_ones_are_compiled_at_once():
    safe = td.GuardedTape(wandering, merge=False)
    for x in POINTS[:5]:
        for _ in range(6):
            agrees(safe, x)
    for x in POINTS[5:]:
        agrees(safe, x)
        assert latest(safe).compiled.kernels
    assert safe.stats.hits > safe.stats.recordings > RECORDINGS_BEFORE_RARE


def test_who_says_so_has_kernels_at_once():
    safe = td.GuardedTape(wandering, merge=False, compile_after=0)
    for x in POINTS:
        agrees(safe, x)
        assert latest(safe).compiled.kernels


def test_a_path_that_is_replayed_by_request_is_not_compiled_to_be_left():
    safe = td.GuardedTape(wandering, merge=False, compile_after=1)
    for x in POINTS:
        agrees(safe, x)
    before = compiled(safe)
    assert before == safe.stats.hits < 4
    agrees(safe, POINTS[-1])
    assert compiled(safe) == before + 1


@pytest.mark.slow
def test_operators_are_replayed_too():
    safe, v = td.GuardedTape(wandering, merge=False), np.array([0.3, -1.0])
    for x in POINTS:
        expected = td.hvp(td.record(wandering, x), x, v)
        np.testing.assert_allclose(td.hvp(safe, x, v), expected, rtol=1e-10, atol=1e-12)
    before = compiled(safe)
    assert before <= RECORDINGS_BEFORE_RARE
    for _ in range(2):
        np.testing.assert_allclose(td.hvp(safe, x, v), expected, rtol=1e-10, atol=1e-12)
    assert compiled(safe) == before + 1
    agrees(safe, x)


def test_a_path_without_a_gradient_refuses_the_points_on_it():
    def f(p):
        total = wandering(p)
        return np.array([total, total]) if total > 3.0 else total

    safe = td.GuardedTape(f, merge=False)
    refused = 0
    for x in [*POINTS, *POINTS]:
        if wandering(x) > 3.0:
            refused += 1
            with pytest.raises(td.NonScalarOutput):
                td.gradient(safe, x)
        else:
            np.testing.assert_allclose(td.gradient(safe, x), differences(wandering, x), rtol=1e-6, atol=1e-6)
    assert 0 < refused < 28
