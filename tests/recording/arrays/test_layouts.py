"""Memory layouts: NumPy's, as they decide if np.reshape and np.ravel give views, through which a function then writes."""

import numpy as np
import pytest

import tapediff as td

X = np.arange(1.0, 13.0).reshape(3, 4) * 0.37 - 2.0
K = np.array([2, 0, 1])

# What makes a new array of an array x, of two axes.
NEW = {
    "columns": lambda x: x[:, [2, 0, 1]],
    "columns by an array": lambda x: x[:, K],
    "columns by a mask": lambda x: x[:, np.arange(x.shape[1]) != 1],
    "columns by a table": lambda x: x[:, np.array([[0, 1], [2, 0]])],
    "the last axis": lambda x: x[..., [1, 0]],
    "rows": lambda x: x[[1, 0]],
    "reversed rows, columns": lambda x: x[::-1, [1, 0]],
    "new axis": lambda x: x[None, :, [0, 1]],
    "columns at tracked places": lambda x: x[:, np.argsort(x[0])],
    "copy F": lambda x: x.copy("F"),
    "copy C": lambda x: x.copy("C"),
    "copy K": lambda x: x.copy("K"),
    "np.copy": np.copy,
    "astype F": lambda x: x.astype(float, order="F"),
    "astype C": lambda x: x.astype(float, order="C"),
    "astype": lambda x: x.astype(float),
    "sum": lambda x: x + 1.0,
    "sort": lambda x: np.sort(x, axis=0),
    "stack": lambda x: np.stack([x, x], 1),
    "concatenate": lambda x: np.concatenate([x, x], axis=1),
    "vstack": lambda x: np.vstack([x, x]),
    "block": lambda x: np.block([[x, x]]),
    "roll": lambda x: np.roll(x, 1, 0),
    "pad": lambda x: np.pad(x, 1),
    "insert": lambda x: np.insert(x, 0, 1.0, axis=0),
    "delete": lambda x: np.delete(x, 0, axis=1),
    "repeat": lambda x: x.repeat(2, axis=1),
    "take": lambda x: x.take([1, 0], axis=1),
    "meshgrid": lambda x: np.meshgrid(x[0], x[:, 0])[0],
    "solve": lambda x: np.linalg.solve(np.eye(x.shape[0]) + 0.1 * x @ x.T, x),
    "inv": lambda x: np.linalg.inv(np.eye(x.shape[0]) + 0.1 * x @ x.T),
    "einsum": lambda x: np.einsum("ij,kj->ik", x, x),
    "product": lambda x: x @ x.T,
    "where": lambda x: np.where(x > 0.0, x, 0.0),
    "zeros_like": np.zeros_like,
    "full_like": lambda x: np.full_like(x, 2.0),
}
FLAT = {"reshape": lambda y: y.reshape(-1), "ravel": np.ravel, "ravel F": lambda y: y.ravel("F"), "T": lambda y: y.T.reshape(-1)}


@pytest.mark.parametrize("flat", FLAT)
@pytest.mark.parametrize("name", NEW)
def test_a_write_to_a_new_array_made_flat_reaches_it_where_it_does_in_numpy(name, flat):
    """Of an array by rows, by columns, and a transposed one."""
    for given in (lambda x: np.array(x), lambda x: np.array(x, order="F") + 0.0, lambda x: np.array(x).T):

        def f(x, given=given):
            y = NEW[name](given(x))
            z = FLAT[flat](y)
            z[::3] = x[0, 0] ** 2
            return y * 2.0, z * 3.0

        for found, expected in zip(td.record(f, X)(X + 0.01), f(X + 0.01)):
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def _add_at(a, c):
    np.add.at(a, [0, 1, 0], c)


def _assign(a, c):
    a[0] = c


def _mask(a, c):
    a[a > 0.3] = c


@pytest.mark.parametrize("write", [_add_at, _assign, _mask, lambda a, c: a.sort(axis=0), lambda a, c: np.multiply(a, c, out=a)])
@pytest.mark.parametrize("view", [lambda y: y.T, lambda y: y[:, ::2], lambda y: y[::-1], lambda y: y.swapaxes(0, 1)[1:]])
@pytest.mark.parametrize("is_joined", [False, True])
def test_a_write_through_a_view_leaves_the_layout_of_the_array(write, view, is_joined):
    """So that it still shares its memory with its flat form; in a branch, too."""

    def f(x):
        y = np.array(x)
        if not is_joined or x[0, 0] < 0.0:
            write(view(y), x[1, 1])
        z = y.reshape(-1)
        y[0, 0] = x[2, 2]
        z[5] = 7.0 * x[0, 1]
        return np.sum(y * X), np.sum(z**2)

    target = td.GuardedTape(f) if is_joined else td.record(f, X)
    for point in (X, X + 0.01, -X) if is_joined else (X, X + 0.01):
        np.testing.assert_allclose(target(point), f(point), rtol=1e-12)


def test_functions_are_not_called_again_for_their_layout():
    """np.apply_along_axis of an array by columns."""
    calls = []

    def row(z):
        calls.append(1)
        return z * 2.0

    td.record(lambda x: np.apply_along_axis(row, 1, np.array(x, order="F") + 0.0), X)
    recorded = len(calls)
    calls.clear()
    np.apply_along_axis(row, 1, X)
    assert recorded == len(calls)
