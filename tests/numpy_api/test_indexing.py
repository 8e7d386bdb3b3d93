"""Indices of tracked numbers: alone, in lists and tuples, of tracked arrays and of plain ones that the function makes."""

import numpy as np
import pytest

import tapediff as td
from tapediff.testing import check_gradient

POINTS = (np.array([0.31, 0.12, 0.93]), np.array([0.9, 0.1, 0.2]), np.array([0.2, 0.7, -0.3]))
OUTSIDE = np.array([1.0, 2.0, 3.0])

# Of an array a of one axis, of m of two, and k = np.argmax(x).
READS = (
    "a[[k, 0]]", "a[[[k, 0], [1, k]]]", "a[np.array([k, 0])]", "a[np.asarray([k, 0])]", "a[(k,)]", "a[[k]]", "a[[k - 3, 0]]",
    "a[[x[0] > 0.25, True, x[1] > 0.25]].sum()",
    "m[[k, 0]]", "m[[k, 0], [0, 1]]", "m[(k, 0), (0, 1)]", "m[[[k], [0]], [0, 1]]", "m[[k, 0], 1]", "m[1, [k, 0]]", "m[k, [k, 0]]",
    "m[[k, 0], :]", "m[:, [k, 0]]", "m[[k, 0], 1:]", "m[np.ix_([k, 0], [0, 1])]", "m[k][[k, 0]]", "m[k, ...]", "m[..., k].reshape(3, 1)", "m[k].T.flags.c_contiguous * a", "m.flat[[k, 0]]",
)  # fmt: skip
WRITES = (
    "a[[k, 0]] = 7.0", "a[[0, k]] = a[[k, 0]]", "a[[k, 0]] += x[0]", "m[[0, k]] = m[[k, 0]]", "m[[k, 0], [0, 1]] = x[:2]",
    "m[:, [k, 0]] *= 2", "m[np.ix_([k, 0], [0, 1])] = x[0]", "a[k], a[0] = a[0], a[k]", "np.add.at(a, [k, 0, k], k)",
)  # fmt: skip
MADE = {
    "tracked": "a, m = x * 1.0, np.outer(x, x)",
    "plain": "a, m = np.array([1.0, 2.0, 4.0]), np.arange(9.0).reshape(3, 3) + np.zeros((3, 3))",
    "whole": "a, m = np.arange(3), np.eye(3, dtype=int)",
}


def function_of(*lines):
    names = {"np": np}
    body = "".join(f"    {line}\n" for line in (*lines, "return np.sum(a) * x[0] + np.sum(m * np.arange(9.0).reshape(3, 3)) * x[1]"))
    exec(compile(f"def f(x):\n    k = np.argmax(x)\n{body}", "index_program.py", "exec"), names)
    return names["f"]


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("line", [*(f"s = {read}" for read in READS), *WRITES])
def test_lists_of_tracked_numbers_are_indices(line, made):
    if made == "whole" and "x[" in line and "=" in line and not line.startswith("s ="):
        pytest.skip("floats into integers: tests/recording/python_state/test_filled_arrays.py")
    reads = line.startswith("s =")
    f = function_of(MADE[made], line, *(["a = np.append(np.ravel(a), np.ravel(s) * np.sum(x))"] if reads else []))
    guarded = td.GuardedTape(f)
    for x in POINTS:
        for target in (td.record(f, x), guarded):
            check_gradient(target, f, x)


def test_a_plain_array_from_outside_is_refused_with_a_fix():
    """Never by NumPy's IndexError, which says that integers are to be used."""

    def reads(x):
        return OUTSIDE[[np.argmax(x), 0]] @ x[:2]

    def writes(x):
        OUTSIDE[[np.argmax(x), 0]] = 1.0
        return x[0]

    def caught(x):
        try:
            return OUTSIDE[[np.argmax(x), 0]] @ x[:2]
        except IndexError:
            return x[0]

    for f, fix in ((reads, r"td\.asarray\(array\)\[k\]"), (writes, r"by np\.zeros, np\.array or td\.asarray"), (caught, r"td\.asarray\(array\)\[k\]")):
        with pytest.raises(td.TrackedValueEscaped if f is not caught else td.TapediffError, match=rf"test_indexing\.py:\d+ in {f.__name__}[^$]*{fix}"):
            td.record(f, POINTS[0])
    assert OUTSIDE.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("f", [lambda x: OUTSIDE[1.5] * x[0], lambda x: OUTSIDE[[x[0], 1.0]], lambda x: x[[np.argmax(x), 1.5]], lambda x: OUTSIDE[7] * x])
def test_an_index_that_numpy_refuses_is_an_index_error(f):
    with pytest.raises(IndexError):
        f(POINTS[0])
    with pytest.raises(IndexError):
        td.record(f, POINTS[0])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.delete(x, [np.argmax(x), 0]), lambda x: np.delete(OUTSIDE, [np.argmax(x), 0]), lambda x: np.delete(x, np.argsort(x)[:2]),
        lambda x: np.delete(x, np.argmax(x)), lambda x: np.insert(x, np.argmax(x), 5.0), lambda x: np.insert(OUTSIDE, np.argmax(x), x[0]),
        lambda x: np.insert(x, [np.argmax(x), 0], [1.0, x[0]]), lambda x: np.insert(OUTSIDE, np.argmax(x), 5.0),
        lambda x: np.delete(OUTSIDE, x > 0.25), lambda x: np.insert(np.outer(x, x), np.argmax(x), x, axis=1),
    ],
)  # fmt: skip
def test_entries_are_left_out_and_put_in_at_tracked_positions(f):
    """Which are guarded."""
    guarded = td.GuardedTape(f)
    for x in POINTS:
        assert np.array_equal(guarded(x), f(x))
