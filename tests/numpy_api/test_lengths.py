"""Arrays of lengths that do not fit: an error wherever NumPy or SciPy raises one, and no broadcasting instead."""

import numpy as np
import pytest
import scipy.interpolate
import scipy.ndimage
import scipy.stats

import tapediff as td


def changed(write):
    def f(x):
        y = x * 1.0
        write(y, x)
        return y

    return f


X = np.array([0.3, -0.5, 0.9])
MATRIX = np.arange(6.0).reshape(2, 3) - 2.5

REFUSED = {
    "place": (changed(lambda y, x: np.place(y, x[:2] > 0, [1.0, 2.0])), X),
    "place of one value": (changed(lambda y, x: np.place(y, x[:1] > 0, 1.0)), X),
    "take_along_axis": (lambda x: np.take_along_axis(x, np.argsort(x[None], axis=0), 0), X),
    "put_along_axis": (changed(lambda y, x: np.put_along_axis(y, np.argmax(x, axis=0)[None, None], 1.0, axis=0)), X),
    "tensordot": (lambda x: np.tensordot(x, x.T, 2), MATRIX),
    "vecdot": (lambda x: np.vecdot(x, x[:1]), X),
    "vecdot of a number": (lambda x: np.vecdot(np.sum(x), x), X),
    "matvec": (lambda x: np.matvec(x, x), X),
    "vecmat": (lambda x: np.vecmat(x, x), X),
    "interp1d": (lambda x: scipy.interpolate.interp1d([0.0, 1.0], x)(0.5), X),
    "gaussian_filter": (lambda x: scipy.ndimage.gaussian_filter(x, [1.0, 2.0]), X),
    "dirichlet": (lambda x: scipy.stats.dirichlet.logpdf([0.2, 0.3, 0.1, 0.4], x**2), X[:2]),
    "dirichlet of a matrix": (lambda x: scipy.stats.dirichlet.logpdf([0.2, 0.8], x**2), MATRIX),
    "multinomial": (lambda x: scipy.stats.multinomial.logpmf([1, 2], 3, x**2 / np.sum(x**2)), X),
}


@pytest.mark.parametrize("name", REFUSED)
def test_lengths_that_do_not_fit_are_refused_as_by_numpy(name):
    f, x = REFUSED[name]
    for call in (f, lambda x: td.record(f, x)):
        with pytest.raises((ValueError, RuntimeError, TypeError)):
            call(x)


def test_the_last_share_of_a_dirichlet_distribution_may_be_left_out():
    f = lambda x: scipy.stats.dirichlet.logpdf(x, np.array([1.5, 2.5, 3.0]))
    x = np.array([0.2, 0.3])
    assert td.record(f, x)(x) == pytest.approx(f(x), rel=1e-13)
    td.testing.check_gradient(f, f, x)
