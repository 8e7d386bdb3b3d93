"""Methods of ufuncs: the order in which NumPy reduces, where it begins, and which entries it leaves out."""

import numpy as np
import pytest

import tapediff as td

X = np.cos(np.arange(1.0, 7.0)).reshape(2, 3)

METHODS = {
    "reduce": lambda f, x: f.reduce(x, axis=1),
    "keepdims": lambda f, x: f.reduce(x, axis=1, keepdims=True),
    "of one": lambda f, x: f.reduce(x[:, :1], axis=1),
    "initial": lambda f, x: f.reduce(x, axis=1, initial=2.0),
    "tracked initial": lambda f, x: f.reduce(x, axis=1, initial=x[0, 0]),
    "where": lambda f, x: f.reduce(x, axis=1, where=np.array([True, False, True]), initial=3.0),
    "tracked where": lambda f, x: f.reduce(x, axis=0, where=x > 0.0, initial=1.0, keepdims=True),
    "accumulate": lambda f, x: f.accumulate(x, axis=1),
    "reduceat": lambda f, x: f.reduceat(x, [0, 2, 1], axis=1),
}
UFUNCS = (np.add, np.subtract, np.multiply, np.divide, np.maximum, np.fmin, np.logaddexp, np.hypot, np.float_power)


@pytest.mark.filterwarnings("ignore")  # of powers of negative numbers
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda f: f.__name__)
def test_methods_of_ufuncs_are_numpys(ufunc, method):
    f = lambda x: METHODS[method](ufunc, x)
    for x in (X, np.abs(X[::-1]) + 0.1):
        np.testing.assert_allclose(td.record(f, X)(x), f(x), rtol=1e-12)  # sums in pairs
    total = lambda x: np.sum(np.sin(f(x)))
    td.testing.check_gradient(total, total, np.abs(X) + 0.1, rtol=1e-5)


@pytest.mark.parametrize("ufunc", [np.logical_and, np.logical_or, np.logical_xor])
@pytest.mark.parametrize("method", ["reduce", "of one", "accumulate", "reduceat"])
def test_logic_of_numbers_gives_masks(ufunc, method):
    f = lambda x: METHODS[method](ufunc, x)
    x = np.round(X)
    found = td.record(lambda x: f(x) * 1.0, x)(x)
    np.testing.assert_array_equal(found, f(x) * 1.0)


def test_the_remaining_axis_may_be_empty():
    x = np.zeros((2, 0))
    for f in (np.subtract, np.divide, np.maximum):
        assert td.record(lambda x, f=f: f.reduce(x * 1.0, axis=0), x)(x).shape == (0,)


def test_sums_of_masks_as_masks_are_refused():
    for f in (np.sum, np.cumsum, np.mean):
        with pytest.raises(td.UnsupportedFunction, match="dtype=bool"):
            td.record(lambda x, f=f: f(x > 0.0, dtype=bool), X)
