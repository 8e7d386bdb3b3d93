"""What errors say of functions that are refused: their names, the user's line, and what is to be written instead."""

import array
import fractions
import logging
import math
import statistics

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.sparse
import scipy.stats

import tapediff as td

A = np.array([[2.0, 0.5, 0.1], [0.3, 1.5, 0.7], [0.2, 0.4, 1.1], [0.9, 0.8, 0.6]])
B = np.array([1.0, -0.5, 0.3, 2.0])


@pytest.mark.parametrize(
    ("f", "what", "fix"),
    [
        (lambda x: np.spacing(x), "np.spacing is not supported on tracked arrays", "no use for derivatives"),
        (lambda x: scipy.special.ker(x), "scipy.special.ker is not supported on tracked arrays", "td.primitive"),
        (lambda x: scipy.special.zeta(x + 2.0), "scipy.special.zeta is not supported on tracked arrays", "td.primitive"),
        (lambda x: scipy.linalg.funm(x, np.sin), "a plain ndarray by scipy.linalg.funm,", "tapediff.linalg.expm"),
        (lambda x: scipy.stats.maxwell.logpdf(x), "scipy.stats.maxwell of tracked values is not supported", "tapediff.stats has bernoulli"),
        (lambda x: scipy.sparse.csr_matrix(x).sum(), "by scipy.sparse.", "tapediff.sparse has csr_array"),
        (lambda x: scipy.interpolate.UnivariateSpline(np.arange(5.0), x[0]), "by scipy.interpolate.UnivariateSpline", "tapediff.interpolate has"),
        (lambda x: scipy.integrate.quad_vec(lambda t: t * x[0, 0], 0.0, 1.0), "by scipy.integrate.quad_vec", "solve_ivp, odeint, quad"),
        (lambda x: scipy.optimize.leastsq(lambda t: t - x[0], [0.0, 0.0, 0.0]), "by scipy.optimize.leastsq", "least_squares are there"),
        (lambda x: np.polynomial.polynomial.polyval(2.0, x[0]), "by numpy.polynomial.polynomial.polyval", "np.polyval"),
        (lambda x: np.polynomial.Polynomial(x[0])(2.0), "by numpy.polynomial.Polynomial,", "np.polyval"),
        (lambda x: statistics.mean([x[0, 0], x[0, 1]]), "by statistics.mean", "np.mean"),
        (lambda x: statistics.pstdev(list(x[0])), "by statistics.pstdev", "np.std"),
        (lambda x: statistics.fmean(x[0]), "by statistics.fmean", "np.mean"),
        (lambda x: fractions.Fraction(x[0, 0]), "by fractions.Fraction", "leave Fraction out"),
        (lambda x: math.frexp(x[0, 0]), "math.frexp is not supported", "np.log2"),
        (lambda x: math.nextafter(x[0, 0], 1.0), "math.nextafter is not supported", "write x"),
        (lambda x: array.array("d", [x[0, 0]]), "converted to a Python float,", "or NumPy's"),
        (lambda x: x.tobytes(), "ndarray.tobytes is not available", "return the values"),
        (lambda x: x.byteswap(), "ndarray.byteswap is not available", "outside the recorded function"),
    ],
)  # fmt: skip
def test_an_error_names_the_function_that_was_called_and_the_users_line(f, what, fix):
    """Never functions whose names merely look alike."""
    with pytest.raises(td.TapediffError) as raised:
        td.record(f, A[:3], merge=False)
    assert what in raised.value.what
    assert fix in str(raised.value)
    assert f"at:  test_alternatives.py:{f.__code__.co_firstlineno} in " in str(raised.value)


@pytest.mark.filterwarnings("ignore")
def test_the_line_is_the_users_where_a_package_asked(monkeypatch):
    """Not the package's own, be it Python's or an installed one."""
    pandas = pytest.importorskip("pandas")
    monkeypatch.setattr(logging, "raiseExceptions", False)

    def logged(x):
        logging.getLogger("tapediff.tests").warning("at %s", x)
        return x[0]

    def framed(x):
        return pandas.to_numeric(pandas.Series([1.0, 2.0]).map(lambda v: str(x[0] * v))).sum()

    for f, offset in ((logged, 1), (framed, 1)):
        with pytest.raises(td.TapediffError) as raised:
            td.record(f, B)
        assert f"test_alternatives.py:{f.__code__.co_firstlineno + offset} in " in str(raised.value).split("\n")[1]
