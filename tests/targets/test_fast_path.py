"""The fast path of a call: one native function answers, and the rest is as on the full path."""

import traceback
import warnings

import numpy as np
import pytest
from support.in_threads import in_threads

import tapediff as td
from tapediff.targets.guarded.dispatch import Dispatch


def branching(x):
    if x[0] > 0:
        return np.sum(x**2)
    return np.sum(x**3)


def warmed(f, *points, **settings):
    safe = td.GuardedTape(f, merge=False, **settings)
    for point in points:
        td.gradient(safe, point)
    return safe


@pytest.mark.parametrize("verb", ["td", "method"])
def test_calls_on_changing_paths_stay_in_native_code(verb, monkeypatch):
    """Once its paths are known, a GuardedTape of one array never takes the full path again."""
    x, y = np.array([1.0, 2.0]), np.array([-1.0, 2.0])
    safe = warmed(branching, x, y, x, y)
    monkeypatch.setattr(td.GuardedTape, "answer", None)
    out = np.empty(2)
    for _ in range(3):
        for point, gradient in ((x, 2 * x), (y, 3 * y**2)):
            both = safe.value_and_gradient if verb == "method" else lambda p, **k: td.value_and_gradient(safe, p, **k)
            value, found = both(point, out=out)
            assert found is out
            assert value == branching(point)
            np.testing.assert_array_equal(out, gradient)
            value, found = both(point)
            assert value == branching(point)
            np.testing.assert_array_equal(found, gradient)


@pytest.mark.parametrize("merge", [True, False])
def test_the_second_call_stays_in_native_code(merge, monkeypatch):
    """The first call compiles the path and makes it known: the next one at this branch asks Python nothing."""
    safe = td.GuardedTape(branching, merge=merge)
    td.gradient(safe, np.array([1.0, 2.0]))
    monkeypatch.setattr(Dispatch, "answer", None)
    np.testing.assert_array_equal(td.gradient(safe, np.array([3.0, -1.0])), [6.0, -2.0])


def test_what_the_function_raises_on_a_new_path_is_raised_once_with_its_line():
    """Recording happens below native code: the exception comes through it, and the function is not run again for it."""
    runs = []

    def fails(x):
        runs.append(1)
        if x[0] > 1:
            raise ValueError("no such region")
        return np.sum(x)

    safe = warmed(fails, np.zeros(2), np.zeros(2))
    out = np.full(2, 7.0)
    for expected in (2, 3):
        with pytest.raises(ValueError, match="no such region") as caught:
            td.gradient(safe, np.array([2.0, 0.0]), out=out)
        assert any(frame.name == "fails" for frame in traceback.extract_tb(caught.value.__traceback__))
        assert len(runs) == expected
        np.testing.assert_array_equal(out, 7.0)
    np.testing.assert_array_equal(td.gradient(safe, np.zeros(2), out=out), 1.0)


def test_a_new_tape_warns_once_and_at_the_users_line():
    safe = warmed(branching, np.ones(2), np.ones(2), on_new_tape="warn")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        td.gradient(safe, -np.ones(2))
        td.gradient(safe, -np.ones(2))
    assert [w.category for w in caught] == [td.GuardWarning]
    assert caught[0].filename == __file__


def test_no_new_tape_where_none_is_wanted():
    safe = warmed(branching, np.ones(2), np.ones(2))
    safe.on_new_tape = "raise"
    with pytest.raises(td.NewTape):
        td.gradient(safe, -np.ones(2))
    np.testing.assert_array_equal(td.gradient(safe, np.ones(2)), 2.0)
    assert safe.stats.recordings == 1


def test_inside_a_recording_the_function_runs_as_itself():
    """Its plain argument would do for native code, but it uses a tracked value of the other recording."""
    scale = np.float64(1.0)

    def inner(x):
        return np.sum(x**2) * scale

    safe = warmed(inner, np.ones(2), np.ones(2))

    def outer(s):
        nonlocal scale
        scale, kept = s, scale
        try:
            value, gradient = td.value_and_gradient(safe, np.array([1.0, 2.0]))
            return value + np.sum(gradient) + td.gradient(safe, np.array([3.0, 1.0]))[0]
        finally:
            scale = kept

    assert td.gradient(td.record(outer, 2.0), 3.0) == 5.0 + 6.0 + 6.0


def test_calls_of_several_shapes_take_turns():
    """Each shape has tapes of its own, and the answer is never that of the other."""
    safe = td.GuardedTape(branching, merge=False)
    for _ in range(3):
        for n in (2, 3, 4):
            for sign in (1.0, -1.0):
                x = sign * np.arange(1.0, n + 1)
                np.testing.assert_allclose(td.gradient(safe, x), 2 * x if sign > 0 else 3 * x**2, rtol=1e-15)
    assert safe.stats.recordings == 6


@pytest.mark.parametrize(
    "convert",
    [
        list, lambda x: x.astype(np.float32), lambda x: np.repeat(x, 2)[::2], lambda x: x.astype(">f8"), td.Constant,
    ],
)  # fmt: skip
def test_arguments_that_native_code_refuses_take_the_full_path(convert):
    safe = warmed(branching, np.ones(3), np.ones(3))
    x = np.array([1.0, 2.0, 3.0])
    if convert is td.Constant:
        with pytest.raises(td.ArgumentMismatch):
            td.gradient(safe, convert(x))
    else:
        np.testing.assert_array_equal(np.asarray(td.gradient(safe, convert(x)), float), 2 * x)


def test_threads_take_new_paths_at_the_same_time():
    """Sixteen paths, met by four threads in different orders: right gradients, and each path is recorded once."""

    def stairs(x):
        return x[0] ** int(x[1])

    safe = td.GuardedTape(stairs, merge=False)
    td.gradient(safe, np.array([1.5, 1.0]))
    td.gradient(safe, np.array([1.5, 1.0]))

    def run(seed):
        for k in np.random.default_rng(seed).permutation(16).tolist() * 3:
            gradient = td.gradient(safe, np.array([1.5, k + 1.0]))
            assert np.isclose(gradient[0], (k + 1) * 1.5**k, rtol=1e-14)

    in_threads(run)
    assert safe.stats.recordings == 16


def test_a_compiled_tape_takes_no_named_arguments():
    compiled = td.compile(branching, np.ones(2))
    for call in (td.gradient, td.value_and_gradient, td.CompiledTape.gradient):
        with pytest.raises(td.ArgumentMismatch, match="by position"):
            call(compiled, np.ones(2), x=np.ones(2))


def test_a_constant_is_not_differentiated_by_either_path():
    """Also after calls that took the fast path."""
    f = lambda x, s: np.sum(x * s)
    x = np.ones(3)
    for target in (td.compile(f, td.Constant(x), x), td.GuardedTape(f)):
        for _ in range(2):
            with pytest.raises(td.ArgumentMismatch):
                td.gradient(target, td.Constant(x), x)
            assert np.array_equal(td.gradient(target, td.Constant(x), x, argnums=1), x)


def test_a_path_once_found_is_found_from_every_other(monkeypatch):
    """Of 64 paths met at random: no call asks Python once each fork has been seen."""
    def f(x):
        total = 0.0
        for v in x:
            total = total + (v * v if v > 0 else -v)
        return total

    guarded = td.GuardedTape(f, max_tapes=100, merge=False)
    points = [np.array([1.0 if k >> b & 1 else -1.0 for b in range(6)]) for k in range(64)]
    rng = np.random.default_rng(0)
    for x in (*points, *points):
        td.gradient(guarded, x)
    monkeypatch.setattr(Dispatch, "answer", None)
    for k in rng.integers(0, 64, 500):
        assert np.array_equal(td.gradient(guarded, points[k] * 1.5), np.where(points[k] > 0, 3.0 * points[k], -1.0))
    assert guarded.stats.recordings == 64
