"""td.record and td.compile with merge=True: one tape for several paths, or an error that says why there is none."""

import numpy as np
import pytest

import tapediff as td


def robust(x, scale=1.0):
    s = 0.0
    for v in x:
        r = abs(v) * scale
        if r < 1.0:
            s += 0.5 * r**2
        else:
            s += r - 0.5
    return s


def solves(x):
    if x[0] > 0:
        y = np.linalg.solve(np.eye(2) * 3.0 + np.outer(x, x), x)
    else:
        y = np.cos(x)
    return np.sum(y)


@pytest.mark.parametrize("f", [robust, solves])
def test_one_tape_serves_all_paths(f):
    """A compiled tape has the value and gradient of the function on paths that it was not recorded on."""
    compiled, rng = td.compile(f, np.array([0.5, 2.0]), merge=True), np.random.default_rng(0)
    tape = td.record(f, np.array([0.5, 2.0]), merge=True)
    assert not tape.guards
    for x in rng.normal(size=(6, 2)) * 2.0:
        assert np.isclose(tape(x), f(x), rtol=1e-12)  # the same operations
        td.testing.check_gradient(compiled, f, x)


def test_arguments_by_name_and_what_has_no_branches_are_recorded_as_without_merging():
    tape = td.record(robust, np.array([0.5, 2.0]), scale=0.25, merge=True)
    assert np.isclose(tape(np.array([3.0, 9.0]), scale=0.5), robust(np.array([3.0, 9.0]), 0.5))
    assert len(td.record(lambda x: np.sum(x**2), np.ones(2), merge=True)) == len(td.record(lambda x: np.sum(x**2), np.ones(2)))


def appends(x):
    kept = [v for v in x if v > 0]
    return kept[0] - sum(kept[1:])


def test_an_error_says_why_nothing_can_be_merged():
    with pytest.raises(td.UnsupportedFunction, match=r"nothing that looks at data in appends can be merged\n  at:  test_merged_recording.py"):
        td.record(appends, np.array([0.5, -2.0]), merge=True)


def late(x):
    if x[0] > 0:
        y = np.cumsum(x)
    else:
        y = np.cumsum(x[:1])
    return np.sum(y) * 2.0


def test_a_path_that_cannot_be_merged_later_on_is_refused():
    compiled = td.compile(late, np.array([0.5, 2.0]), merge=True)
    with pytest.raises(td.TapediffError, match="late cannot stay merged at this point") as refused:
        td.gradient(compiled, np.array([-0.5, 2.0]))
    assert "one path gives float64[2], another float64[1]" in str(refused.value)
