"""Indices of tracked numbers: alone, in lists and tuples, of tracked arrays and of plain ones that the function makes."""

import numpy as np
import pytest

import tapediff as td
from tapediff.ir.instruction import CONSTANT
from tapediff.numpy_api import indexing, writing
from tapediff.ops.arrays.indexing import GATHER
from tapediff.ops.arrays.shape import RESHAPE
from tapediff.ops.elementwise.arithmetic import ADD, CONVERT, MULTIPLY
from tapediff.passes.pipeline import STRAIGHTEN, run_passes
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


ROWS = {
    "rows": lambda m, s: m[s],
    "rows of matrices": lambda m, s: np.reshape(m, (5, 2, 2, 3))[s],
    "two axes": lambda m, s: np.reshape(m, (5, 2, 6))[s, s % 2],
    "after a slice": lambda m, s: np.reshape(m, (2, 5, 6))[:, s],
    "whole slices after": lambda m, s: np.reshape(m, (5, 2, 6))[s, :, :],
    "part of a row": lambda m, s: m[s, 1:4],
    "apart": lambda m, s: np.reshape(m, (5, 2, 2, 3))[s, :, s % 2],
    "a mask": lambda m, s: m[np.array([True, False, True, True, False])],
    "a mask of two axes": lambda m, s: np.reshape(m, (5, 2, 6))[np.arange(10).reshape(5, 2) % 3 > 0],
    "negative": lambda m, s: m[s - 5],
    "one row": lambda m, s: m[[3]],
    "a new axis": lambda m, s: m[s, None],
}


@pytest.mark.parametrize("name", ROWS)
def test_rows_are_recorded_by_their_first_positions(name, monkeypatch):
    """Of many entries; here of all. Values and derivatives are those of positions that are written out, and of differences."""
    read, s, rng = ROWS[name], np.array([[4, 0, 4], [1, 3, 3]]), np.random.default_rng(2)
    m, w = rng.normal(size=(5, 12)), rng.normal(size=(5, 12))

    def f(m):
        part = read(m, s)
        return np.sum(np.sin(part) * np.cos(0.1 * np.arange(part.size).reshape(part.shape)))

    written_out = td.record(f, m)
    monkeypatch.setattr(indexing, "MOST_WRITTEN_OUT", 1)
    tape = td.record(f, m)
    for target in (tape, td.compile(tape)):
        assert target(w) == pytest.approx(f(w), rel=1e-14)
        np.testing.assert_allclose(td.gradient(target, w), td.gradient(written_out, w), rtol=1e-13)
        check_gradient(target, f, w)
    entries = td.record(lambda m: np.ravel(read(np.reshape(m, (5, 12)), s)) ** 2, w.ravel())
    sparse = td.sparse_jacobian(entries, w.ravel())
    assert np.array_equal(sparse.toarray(), td.jacobian(entries, w.ravel()))
    assert sparse.nnz == sparse.shape[0]


def write(m, x, s):
    m[s[0]] = x[s[0]] * x[:2]
    m[s] *= 1.5
    m[s[1, :2], 2:7] += np.sin(x[:2, 2:7])
    return m


def add_at(m, x, s):
    np.add.at(m, s, x[s] ** 2)
    np.subtract.at(m, (s, slice(3)), x[s, :3])
    np.multiply.at(m, s[1], x[s[1]])
    return m


@pytest.mark.parametrize("writes", [write, add_at])
@pytest.mark.parametrize("start", [lambda x: np.zeros((5, 12)), lambda x: x * 2.0])
def test_rows_are_written_by_their_first_positions(writes, start, monkeypatch):
    """Also the same row several times; as in NumPy."""
    s, rng = np.array([[4, 0], [3, 3]]), np.random.default_rng(3)
    x, y = rng.normal(size=(5, 12)), rng.normal(size=(5, 12))
    f = lambda x: np.sum(np.cos(writes(start(x), x, s)) * np.arange(60.0).reshape(5, 12))
    written_out = td.record(f, x)
    for module in (indexing, writing):
        monkeypatch.setattr(module, "MOST_WRITTEN_OUT", 1)
    tape = td.record(f, x)
    assert max(i.params[0].size for i in tape.instructions if i.op is CONSTANT and i.type.dtype == np.int64) <= 12
    for target in (tape, td.compile(tape)):
        assert target(y) == pytest.approx(f(y), rel=1e-13)
        np.testing.assert_allclose(td.gradient(target, y), td.gradient(written_out, y), rtol=1e-12, atol=1e-13)
        check_gradient(target, f, y)


def test_positions_of_many_rows_are_not_written_out():
    """Neither on the tape nor while it is compiled; boxes among them are still found."""
    x, s = np.ones((1000, 100)), np.random.default_rng(0).integers(0, 1000, (400, 2))

    def f(x):
        return np.sum(x[s] * 2.0) + np.sum(np.take(x, s, axis=0)) + np.sum(x[np.roll(np.arange(1000), 1)] * x)

    tape = td.record(f, x)
    assert max(i.params[0].size for i in tape.instructions if i.op is CONSTANT) <= 1000
    assert td.compile(tape)(x) == f(x)
    assert "gather" not in str(run_passes(td.record(lambda x: x[np.roll(np.arange(1000), 1)] + 0.0, x), STRAIGHTEN))


@pytest.mark.parametrize(
    "index",
    [
        lambda k: (k, [True, False, True]), lambda k: (k, [True, False]), lambda k: (..., k, [True, False, True, False]),
        lambda k: (k, np.ones((3, 4), bool)), lambda k: (k, np.ones((4, 3), bool)), lambda k: (k, []), lambda k: (k, 1, [True] * 4),
        lambda k: (k, 1, [True] * 3), lambda k: (np.ones(2, bool), k), lambda k: (np.ones(3, bool), k), lambda k: (k, 2, 3, ...),
    ],
)  # fmt: skip
def test_masks_beside_tracked_positions_have_the_lengths_of_their_axes(index):
    """A mask of another length is NumPy's IndexError."""
    x = np.cos(np.arange(24.0)).reshape(2, 3, 4)
    f = lambda x: np.sum(np.sin(x[index(np.argmax(x[0, 0]) % 2)]))
    try:
        expected = f(x)
    except IndexError:
        with pytest.raises(IndexError, match="did not match"):
            td.record(f, x)
        return
    assert td.record(f, x)(x) == pytest.approx(expected, rel=1e-13)
    td.testing.check_gradient(f, f, x)


def test_a_bool_beside_a_tracked_position_is_refused():
    with pytest.raises(td.UnsupportedFunction, match="a bool"):
        td.record(lambda x: x[True, np.argmax(x)], np.ones(3))


def test_an_entry_at_tracked_positions_takes_one_product_and_one_sum_beside_the_checks():
    """Nothing is reshaped, added to 0, multiplied by 1 or converted: loops evaluate each of these while they are recorded."""
    tape = td.record(lambda x, i, j: x[i, j] ** 2.0, np.ones((3, 4)), 1, 2)
    ops = [i.op for i in tape.instructions]
    wraps = 2  # additions of the extents to negative positions
    assert [ops.count(op) for op in (GATHER, MULTIPLY, ADD, RESHAPE, CONVERT)] == [1, 1, 1 + wraps, 0, 0]
