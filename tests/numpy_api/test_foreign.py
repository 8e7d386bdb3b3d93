"""Operands of other libraries: columns of pandas in every position, tables at tracked positions, and what is refused."""

import operator

import numpy as np
import pytest

import tapediff as td

X = np.array([0.5, 1.5, -1.0, 2.0])


def test_columns_of_pandas_are_arrays_in_every_position():
    """Operators from both sides, functions and products: a tracked array of the values that pandas gives, and its gradient; by position."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [4, 3, 2, 1]}, index=[3, 1, 0, 2])
    column = frame["a"]
    programs = [
        *(lambda x, op=op: op(column, x) for op in (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv)),
        *(lambda x, op=op: op(x, column) for op in (operator.add, operator.sub, operator.mul, operator.truediv, operator.mod)),
        lambda x: column ** (x * x), lambda x: np.abs(x) ** frame["b"], lambda x: column > x, lambda x: x <= column,
        lambda x: np.where(column > 1.5, x, 0.0), lambda x: np.maximum(column, x), lambda x: np.hypot(x, frame["b"]),
        lambda x: np.exp(column) * x, lambda x: frame @ x[:2], lambda x: frame.T @ x, lambda x: x @ frame, lambda x: column @ x,
        lambda x: column.dot(x), lambda x: np.dot(x, column), lambda x: frame * x[:2], lambda x: frame[["a"]] - x[:, None],
        lambda x: np.concatenate([column, x]), lambda x: frame["a"].to_numpy() * x, lambda x: frame.loc[:, "b"] / x,
    ]  # fmt: skip
    for program in programs:
        value = td.record(program, X)(X)
        assert type(value) in (np.ndarray, np.float64)
        np.testing.assert_allclose(value, np.asarray(program(X)), rtol=1e-13)
    td.testing.check_gradient(lambda x: np.sum(np.sin(column * x - frame["b"])), lambda x: np.sum(np.sin(column * x - frame["b"])), X)
    for program in (lambda x: column.mul(x), lambda x: frame.add(x, axis=0)):
        with pytest.raises(td.UnsupportedFunction, match="of a tracked array"):
            td.record(program, X)
    assert type(column * X) is pandas.Series  # pandas' own again
    assert type(column.mul(X)) is pandas.Series


def test_arrays_that_are_read_in_another_way_are_refused():
    """Masks would be ignored, the star of np.matrix is a product of matrices, xarray aligns axes by name: on either side, in functions."""
    masked = np.ma.masked_array([1.0, 2.0, 3.0, 4.0], mask=[0, 1, 0, 0])
    for program in (lambda x: x * masked, lambda x: masked - x, lambda x: np.add(masked, x), lambda x: np.where(masked > 1.0, x, 0.0)):
        with pytest.raises(td.UnsupportedFunction, match="masked array") as raised:
            td.record(program, X)
        assert "test_foreign.py" in str(raised.value.at)
    with pytest.raises(td.DtypeMismatch, match="masked array"):
        td.gradient(lambda x: np.sum(x**2), masked)
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.asmatrix(np.eye(4))
    with pytest.raises(td.UnsupportedFunction, match=r"an np\.matrix met"):
        td.record(lambda x: x * matrix, X)
    xarray = pytest.importorskip("xarray")
    named = xarray.DataArray(np.arange(4.0))
    for program in (lambda x: named * x, lambda x: x - named, lambda x: np.where(named > 1.0, x, 0.0), lambda x: np.exp(named) + x):
        with pytest.raises(td.UnsupportedFunction, match="an xarray DataArray met"):
            td.record(program, X)
    td.testing.check_gradient(lambda x: np.sum(named.to_numpy() * x**2), lambda x: np.sum(named.to_numpy() * x**2), X)


def test_tables_are_read_at_tracked_positions():
    """By td.asarray, np.take and brackets, without a guard on the positions: compiled once, other positions give other entries."""
    table, row = np.arange(24.0).reshape(6, 4) ** 1.5, np.arange(6) * 10
    programs = [
        lambda x, k: td.asarray(table)[k], lambda x, k: td.asarray(table)[k, k - 1], lambda x, k: np.take(table, k, axis=0),
        lambda x, k: td.asarray(row)[k] * 1.0, lambda x, k: td.asarray([[1.0, 2.0]] * 6)[k], lambda x, k: np.take(table, k, mode="clip"),
        lambda x, k: table[k], lambda x, k: table[:, k - 3], lambda x, k: row[k] * 1.0, lambda x, k: table[k, 1:3],
    ]  # fmt: skip
    k, other = np.array([1, 3, 0, 2]), np.array([3, 3, -1, 1])
    for program in programs:
        f = lambda x, k, program=program: np.sum(np.sin(program(x, k))) * np.sum(x**2)
        compiled = td.compile(f, X, k)
        for positions in (k, other):
            assert compiled(X, positions) == pytest.approx(f(X, positions), rel=1e-13)
    for program in (lambda x, k: row.take(k), lambda x, k: row[[k[0], 1]]):
        with pytest.raises(td.TrackedValueEscaped, match=r"td\.asarray\(array\)\[k\]"):
            td.record(program, X, k)
    filled = td.record(lambda x: (y := td.asarray(np.zeros(4))).__setitem__(slice(0, 2), x[:2]) or y, X)
    np.testing.assert_array_equal(filled(X), [0.5, 1.5, 0.0, 0.0])
    assert type(td.asarray([1.0])) is np.ndarray


class Pair:
    """A sequence that NumPy's operators make an array of, though it has operators of its own."""

    def __init__(self, first, second):
        self.held = [first, second]

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return self.held[index]

    def __radd__(self, other):
        return other * 0.0 - 7.0


class Readable:
    def __array__(self, dtype=None, copy=None):
        return np.array([10.0, 20.0])

    def __radd__(self, other):
        return other * 0.0 - 7.0


class PairThatKnowsArrays(Pair):
    __array_ufunc__ = None


class PairOfPriority(Pair):
    __array_priority__ = 100.0


class Number:
    def __radd__(self, other):
        return other * 0.0 - 7.0


@pytest.mark.parametrize("kind", [Pair, PairThatKnowsArrays, PairOfPriority])
def test_operators_leave_an_object_the_operation_where_numpy_does(kind):
    for x in (np.array([1.0, 2.0]), 3.0):
        plain, f = x + kind(10.0, 20.0), lambda x: x + kind(10.0, 20.0)
        np.testing.assert_array_equal(td.record(f, x)(x), plain)
        np.testing.assert_array_equal(td.GuardedTape(f)(x), plain)


@pytest.mark.parametrize("kind", [Readable, Number])
def test_operators_make_arrays_of_what_can_be_read_as_one(kind):
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(td.record(lambda x: x + kind(), x)(x), (x + kind()).astype(float))
    np.testing.assert_array_equal(td.record(lambda x: x + kind(), 3.0)(3.0), -7.0)


def test_sequences_of_tracked_numbers_are_made_arrays_of():
    x = np.array([1.0, 2.0])
    f = lambda x: np.sum((x * Pair(x[1], x[0])) ** 2)
    td.testing.check_gradient(f, f, x)
