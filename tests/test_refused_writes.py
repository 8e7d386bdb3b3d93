"""Writes that NumPy refuses are refused with its error, and those that are not supported say what to write instead."""

from functools import partial

import numpy as np
import pytest
from support.written_programs import S, V

import tapediff as td

REFUSED = {
    "a diagonal": (lambda x: np.diagonal(x * 1.0).__setitem__(0, x[0, 1]), ValueError),
    "part of a diagonal": (lambda x: (x * 1.0).diagonal()[1:].fill(2.0), ValueError),
    "a broadcast array": (lambda x: np.broadcast_to(x[0] * 1.0, (2, 3)).__setitem__((0, 0), 1.0), ValueError),
    "an array broadcast to its own shape": (lambda x: np.broadcast_to(x, (3, 3)).__iadd__(1.0), ValueError),
    "a number out of range": (lambda x: x.__setitem__((3, 0), 1.0), IndexError),
    "a shape that does not fit": (lambda x: x.__setitem__(0, x[:2]), ValueError),
    "a larger result in place": (lambda x: x[0].__iadd__(x), ValueError),
    "a result with one more axis in place": (lambda x: x[0].__iadd__(x[:1]), ValueError),
    "floats in place into integers": (lambda x: (x.astype(int)).__iadd__(x), TypeError),
    "integers divided in place": (lambda x: (x.astype(int)).__itruediv__(2), TypeError),
    "out= of another shape": (lambda x: np.sum(x, axis=0, out=x[:2, 0]), ValueError),
    "out= that a result would have to shrink for": (lambda x: np.add(x, x, out=x[0]), ValueError),
    "out= of another kind": (lambda x: np.exp(x, out=td.zeros((3, 3), dtype=np.int64)), TypeError),
    "out= of a reduction that would have to be repeated": (lambda x: np.sum(x, axis=0, out=x * 1.0), ValueError),
    "out= of a product that would have to be repeated": (lambda x: np.matmul(x, x, out=td.zeros((3, 2, 3))), ValueError),
    "copyto of another kind": (lambda x: np.copyto(x.astype(int), 1.5), TypeError),
    "copyto by a strict rule": (lambda x: np.copyto(td.zeros(3, dtype=np.float32), x[0], casting="safe"), TypeError),
    "put out of range": (lambda x: np.put(x, [9], 1.0), IndexError),
    "put in no known mode": (lambda x: np.put(x, [0], 1.0, mode="bounce"), ValueError),
    "place of nothing": (lambda x: np.place(x, x > 0, []), ValueError),
    "putmask of another size": (lambda x: np.putmask(x, np.ones(4, bool), x), ValueError),
    "the diagonal of a vector": (lambda x: np.fill_diagonal(x[0], 1.0), ValueError),
    "the diagonal of a block that is no cube": (lambda x: np.fill_diagonal(x[None], 1.0), ValueError),
    "a mask of another shape": (lambda x: x.__setitem__(x[:2] > 0, 1.0), IndexError),
    "a reshape that must not copy": (lambda x: np.reshape(x.T * 1.0, (9,), copy=False), ValueError),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses_is_refused_with_the_same_error(name):
    """And nothing is written before the error."""
    f, error = REFUSED[name]
    with pytest.raises(error):
        f(S.copy())

    def guarded(x):
        y = x * 1.0
        with pytest.raises(error):
            f(y)
        return y

    with np.errstate(all="ignore"):
        assert np.array_equal(td.record(guarded, S)(S), S)


# An array from outside; those that the function makes are filled.
PLAIN = np.arange(6.0)

UNSUPPORTED = {
    "add.at into a plain array": (lambda x: np.add.at(PLAIN, [0], x[0]), "td.zeros"),
    "out= a plain array": (lambda x: np.add(x, x, out=PLAIN), "td.zeros"),
    "a sum into a plain array": (lambda x: np.sum(x, axis=0, out=PLAIN[0, ...]), "td.zeros"),
    "a method into a plain array": (lambda x: x.cumsum(out=PLAIN), "td.zeros"),
    "copyto a plain array": (lambda x: np.copyto(PLAIN, x), "td.zeros"),
    "put into a plain array": (lambda x: np.put(PLAIN, [0], x[0]), "td.zeros"),
    "where= of a ufunc without out=": (lambda x: np.add(x, x, where=x > 0), "np.where"),
    "multiply.at computed positions": (lambda x: np.multiply.at(x, np.argsort(x), x), "np.add.at"),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_is_not_supported_says_what_to_write_instead(name):
    f, fix = UNSUPPORTED[name]
    with pytest.raises(td.UnsupportedFunction, match=f"fix: .*{fix}"):
        td.record(lambda x: f(x) or x, V)
    assert np.array_equal(PLAIN, np.arange(6.0))


def test_an_error_behind_a_write_that_is_mended_is_the_one_that_is_raised():
    """The array of np.zeros is tracked at the second attempt, which float() refuses."""

    def f(x):
        table = np.zeros(3)
        for k in range(3):
            table[k] = x[k]
        if table[0] > 0:
            return float(table[1])
        return table[2]

    for make in (partial(td.record, merge=False), partial(td.compile, merge=False), lambda f, x: td.gradient(td.GuardedTape(f, merge=False), x)):
        with pytest.raises(td.TrackedValueEscaped) as caught:
            make(f, np.ones(3))
        assert caught.value.at.line == f.__code__.co_firstlineno + 5
        assert "float()" in caught.value.fix
