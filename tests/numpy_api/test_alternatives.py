"""What errors say of functions that are refused: their names, the user's line, and what is to be written instead."""

import logging
import math

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.sparse
import scipy.stats
from scipy.linalg import solve as solve_by_name

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
        (lambda x: solve_by_name(x, B[:3]), "a plain ndarray by scipy.linalg.solve,", "use tapediff.linalg.solve, which has SciPy's signature"),
        (lambda x: scipy.stats.maxwell.logpdf(x), "a plain ndarray by scipy.stats.rv_continuous.logpdf,", "use tapediff.stats"),
        (lambda x: scipy.sparse.csr_matrix(x).sum(), "by scipy.sparse.", "tapediff.sparse has csr_array"),
        (lambda x: scipy.interpolate.UnivariateSpline(np.arange(5.0), x[0]), "by scipy.interpolate.UnivariateSpline", "tapediff.interpolate has"),
        (lambda x: scipy.optimize.brentq(lambda t: t * t - x[0, 0], 0.0, 9.0), "a Python float by scipy.optimize.brentq,", "td.while_loop"),
        (lambda x: scipy.integrate.quad(lambda t: t * x[0, 0], 0.0, 1.0), "by scipy.integrate.", "td.scan"),
        (lambda x: math.fsum(x[0]), "converted to a Python float,", "or NumPy's"),
        (lambda x: x.tobytes(), "ndarray.tobytes is not available", "return the values"),
        (lambda x: x.byteswap(), "ndarray.byteswap is not available", "outside the recorded function"),
    ],
)  # fmt: skip
def test_an_error_names_the_function_that_was_called_and_the_users_line(f, what, fix):
    """Never functions whose names merely look alike."""
    with pytest.raises(td.TapediffError) as raised:
        td.record(f, A[:3])
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
