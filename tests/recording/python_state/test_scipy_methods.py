"""scipy.stats' own methods inside a recording: those of td.stats for tracked arguments, SciPy's for all others, and SciPy's afterwards."""

import ast
import subprocess
import sys

import numpy as np
import pytest
import scipy.stats
from scipy.stats import norm as imported_before

import tapediff as td

X = np.array([0.3, 1.2, 2.5])
METHODS = {
    cls: {name: value for name, value in vars(cls).items() if callable(value)}
    for cls in (scipy.stats.rv_continuous, scipy.stats.rv_discrete, type(scipy.stats.multivariate_normal))
}


def log_posterior(x, mu, scale):
    count = scipy.stats.poisson.logpmf(np.array([0, 2, 5]), mu) + scipy.stats.binom(9, 0.3).logpmf(2)
    frozen = scipy.stats.t(4.0, loc=mu, scale=scale).logpdf(x) + scipy.stats.gamma.logcdf(x, a=2.0, scale=scale)
    return np.sum(imported_before.logpdf(x, mu, scale=scale) + frozen + count) + scipy.stats.multivariate_normal.logpdf(x, cov=np.eye(3))


def test_a_plain_program_with_scipys_distributions_is_recorded():
    """By methods of distributions imported before, frozen ones with tracked parameters too; value and gradient as plain Python has them."""
    arguments = (X, 0.8, 1.7)
    tape = td.record(log_posterior, *arguments)
    assert tape(*arguments) == pytest.approx(log_posterior(*arguments), rel=1e-13)
    for k in range(3):
        part = lambda t, k=k: log_posterior(*arguments[:k], t, *arguments[k + 1 :])
        td.testing.check_gradient(part, part, arguments[k])


def test_scipys_methods_are_its_own_after_a_recording():
    """Also after one that failed; with plain arguments they are SciPy's within."""
    with pytest.raises(ZeroDivisionError):
        td.record(lambda x: 1 / 0, 1.0)
    td.record(log_posterior, X, 0.8, 1.7)
    for cls, methods in METHODS.items():
        assert {name: value for name, value in vars(cls).items() if callable(value)} == methods
    plain = []
    td.record(lambda x: plain.append(scipy.stats.norm.logpdf(X)) or x, 1.0)
    np.testing.assert_array_equal(plain[0], scipy.stats.norm.logpdf(X))


def test_distributions_of_the_users_and_those_that_are_not_here_are_refused():
    """A class of the user's keeps its own density, whatever its name."""

    class Own(scipy.stats.rv_continuous):
        def _pdf(self, x):
            return 0.5 * np.exp(-abs(x))

    for distribution in (Own(name="norm"), scipy.stats.maxwell):
        with pytest.raises(td.TrackedValueEscaped):
            td.record(distribution.logpdf, X)


IMPORTED_WHILE_RECORDING = """
import sys
import numpy as np
import scipy
import tapediff as td

def root(x):
    from scipy.optimize import brentq
    return brentq(lambda t: t**3 - x[0], 0.0, 9.0)

x = np.array([8.0, 2.0, 3.0])
late = ["scipy.integrate", "scipy.optimize", "scipy.stats", "scipy.interpolate", "scipy.fft", "scipy.sparse"]
assert not set(late) & set(sys.modules), set(late) & set(sys.modules)
gradients = [td.gradient(f, x) for f in (
    lambda x: scipy.fft.fft(x)[0].real,
    lambda x: np.sum(scipy.sparse.eye_array(3) @ x),
    root,
    lambda x: scipy.interpolate.CubicSpline([0.0, 1.0, 2.0], x)(1.0),
    lambda x: scipy.integrate.trapezoid(x),
    lambda x: scipy.stats.norm.logpdf(x[0]),
)]
print(np.round(gradients, 6).tolist())
"""


@pytest.mark.slow
def test_modules_of_scipy_may_be_imported_while_recording():
    found = subprocess.run([sys.executable, "-c", IMPORTED_WHILE_RECORDING], capture_output=True, text=True, check=False)
    expected = [[1, 1, 1], [1, 1, 1], [0.083333, 0, 0], [0, 1, 0], [0.5, 1, 0.5], [-8, 0, 0]]
    assert found.returncode == 0, found.stderr
    np.testing.assert_allclose(ast.literal_eval(found.stdout), expected, atol=1e-6)  # as printed


@pytest.mark.parametrize("made", [lambda p: scipy.stats.rayleigh(p), lambda p: scipy.stats.genextreme(0.1, loc=p)])
def test_distributions_that_are_not_there_are_refused_by_name(made):
    for method in ("logpdf", "cdf", "ppf"):
        with pytest.raises(td.UnsupportedFunction, match=f"scipy.stats.{made(0.5).dist.name} of tracked values is not supported"):
            td.gradient(lambda p, method=method: getattr(made(p), method)(0.3), 0.5)
    assert made(0.5).cdf(1.0) > 0.0
