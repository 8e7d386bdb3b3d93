"""Functions that fill arrays made by np.zeros and its relatives are recorded as they stand."""

import pickle

import numpy as np
import pytest
import scipy.linalg

import tapediff as td
from tapediff.recording.python_state import filled_arrays
from tapediff.testing import check_gradient

X = np.array([1.5, 2.5, 3.5])


def loop(x):
    y = np.zeros(3)
    for i in range(3):
        y[i] = x[i] ** 2
    return np.sum(y * np.arange(3.0))


def matrices(x):
    a = np.eye(3)
    a[0, 1] = x[0]
    a[2] += x
    b = np.empty_like(a)
    b[:] = a @ a
    if a[1, 1] > 0.5:  # known, and so no guard
        b[0] *= 2
    return b.sum() * (int(a[1, 1]) + 1)


def plain_and_tracked(x):
    plain, filled = np.zeros((2, 2)), np.ones(4)
    filled += x[0]
    return filled.sum() * scipy.linalg.expm(plain)[0, 0] * (float(plain[1, 1]) + 3) * len(str(plain[0].tolist()))


def read_at_tracked_positions(x):
    table = np.zeros((4, 3))
    table[1:3] = 7.0
    k = np.floor(x + 0.25).astype(int)
    rows = np.asarray(table)
    return np.sum(rows[k, k % 2] * x)


def by_branches(x):
    y = np.zeros(3)
    if x[0] > 1:
        y[0] = x[0]
    if y[1] == 0 and x[1] > 2:
        y[1] = x[1] * 3
    return y.sum()


def by_functions(x):
    y, z = np.array([1.0, 2.0, 3.0]), np.full(3, 0.5)
    y[1] = x[1]
    np.add.at(y, [0, 0], x[:2])
    np.copyto(z, x)
    np.multiply(z, 2.0, out=z)
    return (y**2 * z).sum()


def of_lists(x):
    return np.sum(np.log([x[0], 2.0, x[1]]) * np.sqrt([[x[2], 1.0, 4.0]]))


def in_a_sub_tape(x):
    return td.subtape(loop)(x) * 2.0


PROGRAMS = (loop, matrices, plain_and_tracked, read_at_tracked_positions, by_branches, by_functions, of_lists, in_a_sub_tape)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_a_function_that_fills_arrays_is_recorded_as_it_stands(f):
    """Uncompiled, and by a GuardedTape at points on other paths; NumPy is what it was afterwards."""
    guarded = td.GuardedTape(f)
    for x in (X, np.array([0.5, 1.0, 2.0]), np.array([1.5, 1.0, 2.0]), X):
        check_gradient(f, f, x)
        check_gradient(guarded, f, x)
    assert all(getattr(np, name) is original for name, original in filled_arrays.ORIGINALS.items())


def test_what_is_known_is_no_guard():
    """A branch on an array in which nothing tracked has been stored; afterwards it is one."""
    def f(x):
        y = np.zeros(2)
        if y[0] == 0:
            y[0] = x[0]
        return y[0] * (2.0 if y[0] > 0 else 3.0)

    tape = td.record(f, X)
    assert [i.op.name for i in tape.instructions].count("guard") == 1
    with pytest.raises(td.GuardFailed):
        tape(-X)


def test_a_function_that_needs_no_tracked_arrays_is_called_once():
    calls = []

    def f(x):
        calls.append(type(np.zeros(2)))
        return x.sum()

    td.record(f, X)
    assert calls == [np.ndarray]


OUTSIDE = np.zeros(3)


@pytest.mark.parametrize("f", [lambda x: OUTSIDE.__setitem__(0, x[0]), lambda x: np.add(x, x, out=OUTSIDE), lambda x: np.copyto(OUTSIDE, x)])
def test_arrays_from_outside_are_not_written_to(f):
    """The error is that of the first call."""
    with pytest.raises(td.TapediffError):
        td.record(lambda x: f(x) or x.sum(), X)
    assert (OUTSIDE == 0.0).all()


def test_the_error_is_of_the_functions_own_line():
    def f(x):
        y = np.zeros(3, dtype=np.complex64)
        y[0] = x[0]
        return x.sum()

    with pytest.raises(td.TrackedValueEscaped, match=r"test_filled_arrays\.py:\d+ in f"):
        td.record(f, X)


# Functions that write into arrays on some paths only, or are refused before the arrays are tracked, after which they have other guards.


def written_by_an_order(x):
    order = np.argsort(x)[::-1]
    ranks = np.empty(4)
    ranks[order] = np.arange(4)
    return ranks @ x if x[0] > 0 else 2 * (ranks @ x)


def read_then_written(x):
    value = np.array([1.0, 2.0, 3.0, 4.0])[np.argmax(x)]
    if x[0] > 0:
        y = np.zeros(2)
        y[0] = x[0]
        return value * y.sum() + x[1]
    return value * x[0] * x[2]


def in_a_loop(x):
    table, s = np.array([1.0, 2.0, 3.0, 4.0]), 0.0
    for k in np.argsort(x)[:2]:
        s = s + table[k] * x[1]
        if s > 1:
            s = s * x[0]
    if x[2] > 0.3:
        y = np.zeros(3)
        y[1] = s
        s = y.sum()
    return s


ON_SOME_PATHS = (written_by_an_order, read_then_written, in_a_loop)
PLACES = np.random.default_rng(0).normal(size=(12, 4))


@pytest.mark.filterwarnings("default")  # where warnings are errors, NumPy asks other questions of an index
@pytest.mark.parametrize("f", ON_SOME_PATHS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_paths_on_which_other_arrays_are_tracked_have_other_guards(f, sign):
    """The outcome of one guard is never taken for that of another; the tapes are recorded afresh. Also where merging is off, in a
    sub-tape, in a loop, and after pickling."""
    body = td.subtape(f)
    targets = (
        td.GuardedTape(f), td.GuardedTape(f, merge=False), td.GuardedTape(lambda x: body(x)),
        td.compile(lambda x: td.subtape(f)(x), sign * PLACES[0]),
    )  # fmt: skip
    for x in sign * PLACES:
        for target in targets:
            check_gradient(target, f, x, rtol=1e-5)
    copied = pickle.loads(pickle.dumps(targets[1]))
    for x in -sign * PLACES:
        check_gradient(copied, f, x, rtol=1e-5)


def test_a_function_that_tracks_more_arrays_starts_with_them():
    """Once a tape with tracked arrays is known, its neighbours are recorded in one run of the function."""
    calls = []

    def f(x):
        calls.append(1)
        y = np.zeros(2)
        y[0] = x[0]
        return y.sum() if x[1] > 0 else -y.sum()

    guarded = td.GuardedTape(f, merge=False)
    td.gradient(guarded, np.ones(2))
    assert len(calls) == 2
    td.gradient(guarded, -np.ones(2))
    assert len(calls) == 3
