"""scipy.special's functions on tracked arrays: values and derivatives in every argument against mpmath, over the domain."""

import mpmath
import numpy as np
import pytest
import scipy.special
from mpmath import mp

import tapediff as td
from tapediff.numpy_api.composed.special_functions import COMPOSITIONS
from tapediff.ops import BY_SCIPY_NAME

WIDE = (1e-3, 0.04, 0.3, 1.0, 2.7, 11.0, 60.0)
REAL = (-8.0, -1.3, -0.2, 1e-3, 0.6, 2.0, 7.5)
SHAPES = (0.02, 0.4, 1.0, 3.5, 40.0)
PROBABILITIES = (1e-6, 0.03, 0.4, 0.8, 0.999)
UNIT = (-0.95, -0.3, 1e-3, 0.12, 0.17, 0.6, 0.99)


def lower_gamma(a, x):
    return mpmath.gammainc(a, 0, x, regularized=True)


def upper_gamma(a, x):
    return mpmath.gammainc(a, x, mp.inf, regularized=True)


def beta_share(a, b, x):
    return mpmath.betainc(a, b, 0, x, regularized=True)


def student(df, t):
    half = beta_share(df / 2, mpmath.mpf(1) / 2, df / (df + t * t)) / 2
    return half if t < 0 else 1 - half


def boxcox(x, y):
    return mpmath.expm1(y * mpmath.log(x)) / y if y else mpmath.log(x)


def inv_boxcox(x, y):
    return mpmath.exp(mpmath.log1p(x * y) / y) if y else mpmath.exp(x)


def owens_t(h, a):
    return mpmath.quad(lambda t: mpmath.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), [0, a]) / (2 * mp.pi)


# The exact function, and the grid of each argument; None for an argument without a derivative, given by its values.
EXACT = {
    "entr": (lambda x: -x * mpmath.log(x), WIDE),
    "rel_entr": (lambda x, y: x * mpmath.log(x / y), WIDE, WIDE),
    "kl_div": (lambda x, y: x * mpmath.log(x / y) - x + y, (0.3, 2.0), WIDE),
    "rgamma": (mpmath.rgamma, REAL),
    "gamma": (mpmath.gamma, (0.1, 3.0, -1.3, 20.0)),
    "gammaln": (lambda x: mpmath.log(abs(mpmath.gamma(x))), (0.001, 0.5, 3.7, 100.0)),
    "digamma": (mpmath.digamma, (0.001, 0.5, 3.7, 100.0)),
    "beta": (mpmath.beta, SHAPES, SHAPES),
    "betaln": (lambda a, b: mpmath.log(mpmath.beta(a, b)), SHAPES, SHAPES),
    "binom": (mpmath.binomial, (0.5, 3.0, 10.5, 40.0), (0.0, 1.0, 2.5, -0.3)),
    "poch": (mpmath.rf, SHAPES, (0.5, 1.0, 7.2)),
    "erf": (mpmath.erf, REAL),
    "erfc": (mpmath.erfc, REAL),
    "erfcx": (lambda x: mpmath.exp(x * x) * mpmath.erfc(x), (*REAL, 29.0, 31.0, 1000.0, 1000000.0)),
    "erfi": (mpmath.erfi, REAL),
    "dawsn": (lambda x: mpmath.exp(-x * x) * mpmath.erfi(x) * mpmath.sqrt(mp.pi) / 2, (*REAL, 24.0, 40.0)),
    "erfinv": (mpmath.erfinv, UNIT),
    "erfcinv": (lambda x: mpmath.erfinv(1 - x), (0.001, 0.3, 1.2, 1.9)),
    "ndtr": (mpmath.ncdf, REAL),
    "log_ndtr": (lambda x: mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2), (*REAL, -29.0, -31.0, -1000.0, -1000000.0)),
    "ndtri": (lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1), PROBABILITIES),
    "ndtri_exp": (lambda y: mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.exp(y) - 1), (-20.0, -5.0, -1.0, -0.1, -0.001)),
    "owens_t": (owens_t, (-1.3, 0.6), (-3.0, 0.2)),
    "expi": (mpmath.ei, REAL),
    "exp1": (mpmath.e1, WIDE),
    "expn": (mpmath.expint, None, (0.04, 0.3, 1.0, 2.7, 11.0)),
    "spence": (lambda x: mpmath.polylog(2, 1 - x).real, (0.001, 0.5, 0.96, 0.98, 1.0, 1.02, 1.04, 2.0, 30.0)),
    "ellipk": (mpmath.ellipk, UNIT),
    "ellipe": (mpmath.ellipe, UNIT),
    "ellipkm1": (lambda p: mpmath.ellipk(1 - p), (1e-12, 0.01, 0.3, 0.6, 0.9, 1.0)),
    "ellipkinc": (mpmath.ellipf, (-4.0, -1.5, 0.01, 0.7, 1.3, 1.57, 7.0), (-30.0, -0.9, -0.01, 0.0, 0.3, 0.9, 0.999)),
    "ellipeinc": (mpmath.ellipe, (-4.0, -1.5, 0.01, 0.7, 1.3, 1.57, 7.0), (-30.0, -0.9, -0.01, 0.0, 0.3, 0.9, 0.999)),
    "agm": (mpmath.agm, WIDE, (0.01, 1.0, 3.0)),
    "boxcox": (boxcox, WIDE, (-1.5, -0.001, 0.0, 0.3, 2.0)),
    "boxcox1p": (lambda x, y: boxcox(1 + x, y), WIDE, (-1.5, -0.001, 0.0, 0.3, 2.0)),
    "inv_boxcox": (inv_boxcox, WIDE, (0.0001, 0.03, 0.3, 2.0)),
    "inv_boxcox1p": (lambda x, y: inv_boxcox(x, y) - 1, WIDE, (0.0001, 0.03, 0.3, 2.0)),
    "sindg": (lambda x: mpmath.sin(x * mp.pi / 180), (-80.0, 10.0, 200.0)),
    "cosdg": (lambda x: mpmath.cos(x * mp.pi / 180), (-80.0, 10.0, 200.0)),
    "tandg": (lambda x: mpmath.tan(x * mp.pi / 180), (-80.0, 10.0, 200.0)),
    "cotdg": (lambda x: mpmath.cot(x * mp.pi / 180), (-80.0, 10.0, 200.0)),
    "exp10": (lambda x: mpmath.power(10, x), REAL),
    "wrightomega": (lambda x: mpmath.lambertw(mpmath.exp(x)).real, (-20.0, -1.0, 0.5, 3.0, 50.0)),
    "hyp1f1": (mpmath.hyp1f1, (0.5, 2.0), (1.5, 3.0), (-3.0, -0.2, 0.6, 4.0)),
    "hyp2f1": (mpmath.hyp2f1, (0.5, 2.0), (1.5,), (2.5,), (-3.0, -0.2, 0.6)),
    "hyperu": (mpmath.hyperu, (0.5, 2.0), (0.3, 1.5), (0.2, 1.0, 6.0)),
    "struve": (mpmath.struveh, None, WIDE[1:]),
    "modstruve": (mpmath.struvel, None, WIDE[1:]),
    "jve": (mpmath.besselj, None, WIDE),
    "yve": (mpmath.bessely, None, WIDE),
    "jn": (mpmath.besselj, None, (0.3, 2.7)),
    "j0": (lambda x: mpmath.besselj(0, x), REAL),
    "j1": (lambda x: mpmath.besselj(1, x), REAL),
    "y0": (lambda x: mpmath.bessely(0, x), (0.04, 2.7)),
    "y1": (lambda x: mpmath.bessely(1, x), (0.04, 2.7)),
    "i0": (lambda x: mpmath.besseli(0, x), REAL),
    "i1": (lambda x: mpmath.besseli(1, x), REAL),
    "i0e": (lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)), REAL),
    "i1e": (lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)), REAL),
    "k0": (lambda x: mpmath.besselk(0, x), (0.3,)),
    "k1": (lambda x: mpmath.besselk(1, x), (2.7,)),
    "k0e": (lambda x: mpmath.besselk(0, x) * mpmath.exp(x), (11.0,)),
    "k1e": (lambda x: mpmath.besselk(1, x) * mpmath.exp(x), (0.3,)),
    "jv": (mpmath.besselj, None, WIDE),
    "yv": (mpmath.bessely, None, WIDE),
    "iv": (mpmath.besseli, None, WIDE),
    "kv": (mpmath.besselk, None, WIDE),
    "ive": (lambda v, x: mpmath.besseli(v, x) * mpmath.exp(-abs(x)), None, WIDE),
    "kve": (lambda v, x: mpmath.besselk(v, x) * mpmath.exp(x), None, WIDE),
    "gammainc": (lower_gamma, SHAPES, WIDE),
    "gammaincc": (upper_gamma, (0.02, 3.5), (0.04, 2.7, 60.0)),
    "betainc": (beta_share, (0.02, 1.0, 40.0), (0.02, 3.5), PROBABILITIES),
    "betaincc": (lambda a, b, x: beta_share(b, a, 1 - x), (0.4, 3.5), (1.0, 40.0), PROBABILITIES),
    "stdtr": (student, (0.3, 1.0, 3.5, 25.0, 200.0), (*REAL, -40.0, 3.9, 4.1)),
    "exprel": (lambda x: mpmath.expm1(x) / x, REAL),
    "loggamma": (mpmath.loggamma, WIDE),
    "huber": (lambda d, r: d * (abs(r) - d / 2) if abs(r) > d else r * r / 2, (0.5, 1.9), REAL),
    "pseudo_huber": (lambda d, r: d * d * (mpmath.sqrt(1 + (r / d) ** 2) - 1), (0.5, 2.0), REAL),
    "cosm1": (lambda x: mpmath.cos(x) - 1, REAL),
    "powm1": (lambda x, y: mpmath.power(x, y) - 1, WIDE, (-1.5, 0.3, 2.0)),
    "gdtr": (lambda a, b, x: lower_gamma(b, a * x), (0.5, 2.0), SHAPES, (0.3, 4.0)),
    "gdtrc": (lambda a, b, x: upper_gamma(b, a * x), (2.0,), (0.4, 3.5), (0.3, 4.0)),
    "chdtr": (lambda v, x: lower_gamma(v / 2, x / 2), SHAPES, (0.3, 4.0)),
    "chdtrc": (lambda v, x: upper_gamma(v / 2, x / 2), (1.0, 40.0), (0.3, 4.0)),
    "pdtr": (lambda k, m: upper_gamma(mpmath.floor(k) + 1, m), None, WIDE),
    "pdtrc": (lambda k, m: lower_gamma(mpmath.floor(k) + 1, m), None, WIDE),
    "fdtr": (lambda a, b, x: beta_share(a / 2, b / 2, a * x / (b + a * x)), (0.4, 3.5), (2.0, 9.0), (0.1, 2.0)),
    "fdtrc": (lambda a, b, x: beta_share(b / 2, a / 2, b / (b + a * x)), (0.4, 3.5), (2.0, 9.0), (0.1, 2.0)),
}  # fmt: skip
# Of the order of Bessel functions and of exponential integrals, and of the counts of Poisson's distribution.
ORDERS = {"yve": (0.7, 5.5), "struve": (0.0, 0.7, 2.0), "modstruve": (0.0, 0.7, 2.0), "kv": (0.7, 5.5), "kve": (0.7, 5.5), "yv": (0.7, 5.5), "expn": (1.0, 2.0, 5.0), "pdtr": (0.0, 3.0, 10.0), "pdtrc": (0.0, 3.0, 10.0)}
DATA = {"hyperu": 2, "hyp1f1": 2, "hyp2f1": 3}
# The first argument of inverses is that of the function; their derivatives are checked by the function's.
INVERSES = {
    "gammaincinv": ("gammainc", 1), "gammainccinv": ("gammaincc", 1), "betaincinv": ("betainc", 2), "betainccinv": ("betaincc", 2),
    "stdtrit": ("stdtr", 1),
}  # fmt: skip
SECOND_RESULTS = {
    "sici": [mpmath.si, mpmath.ci], "shichi": [mpmath.shi, mpmath.chi], "fresnel": [mpmath.fresnels, mpmath.fresnelc],
    "airye": [
        lambda x: mpmath.airyai(x) * mpmath.exp(2 * x**1.5 / 3), lambda x: mpmath.airyai(x, derivative=1) * mpmath.exp(2 * x**1.5 / 3),
        lambda x: mpmath.airybi(x) * mpmath.exp(-2 * x**1.5 / 3), lambda x: mpmath.airybi(x, derivative=1) * mpmath.exp(-2 * x**1.5 / 3),
    ],
    "airy": [mpmath.airyai, lambda x: mpmath.airyai(x, derivative=1), mpmath.airybi, lambda x: mpmath.airybi(x, derivative=1)],
}  # fmt: skip
# Differences of values near 1 in their tails, whose derivatives are as small as the tail.
DIGITS = dict.fromkeys(("erf", "erfc", "gammaincc", "gammainc", "betainc", "betaincc", "gdtrc", "chdtrc", "pdtr", "pdtrc", "kl_div", "huber"), 110) | {"owens_t": 25}
# Derivatives below are compared as they are: those that pass zero in the grid.
SMALL = mpmath.mpf(10) ** -25


def relative_errors(name, exact, grids):
    """The largest relative error of the value, and of the derivative in each argument; to the largest of the row where it passes zero."""
    function = getattr(scipy.special, name)
    fixed = 1 if grids[0] is None else DATA.get(name, 0)
    grids = [ORDERS.get(name, (0.0, 0.7, 2.0, 5.5)) if grid is None else grid for grid in grids]
    points = [axis.ravel() for axis in np.meshgrid(*grids, indexing="ij")]
    active = tuple(range(fixed, len(points)))
    given = [td.Constant(p) if k < fixed else p for k, p in enumerate(points)]
    tape = td.record(lambda *a: function(*a).sum(), *given)
    found = [function(*points), *td.gradient(tape, *points, argnums=active)]
    with mpmath.workdps(DIGITS.get(name, 40)):
        rows = list(zip(*[[mpmath.mpf(v) for v in p] for p in points]))
        true = [[exact(*row) for row in rows]]
        for k in active:
            slopes = []
            for row in rows:
                step = mpmath.mpf(10) ** (-mp.dps // 5) * (abs(row[k]) or 1)
                ends = [exact(*row[:k], row[k] + s * step, *row[k + 1 :]) for s in (-2, -1, 1, 2)]
                slopes.append((8 * (ends[2] - ends[1]) - (ends[3] - ends[0])) / (12 * step))
            true.append(slopes)
        errors = []
        for ours, right in zip(found, true):
            errors.append([float(abs(mpmath.mpf(float(o)) - r) / max(abs(r), SMALL)) for o, r in zip(ours, right)])
    return [max(row) for row in errors]


# Largest relative error of value and derivatives: a few roundings, unless said otherwise.
USUAL = 1e-13
# Differences of digamma; the two terms of the derivatives of erfcx and dawsn, which cancel up to 30; shapes of 0.02 in an integral of two
# scales; 1 added to a value near -1.
LARGER = {"beta": 1e-12, "betaln": 1e-12, "erfcx": 1e-12, "dawsn": 5e-12, "betainc": 3e-12, "betaincc": 3e-12, "stdtr": 2e-12, "powm1": 1e-10, "struve": 1e-12}
# SciPy's own values of these have no more digits.
LARGER |= {"hyperu": 1e-9}


@pytest.mark.parametrize("name", EXACT)
def test_values_and_derivatives_are_exact_to_a_few_roundings(name):
    """In every argument, shapes included, from the smallest to the largest that are of use."""
    assert max(relative_errors(name, EXACT[name][0], EXACT[name][1:])) <= LARGER.get(name, USUAL)


@pytest.mark.parametrize("name", INVERSES)
def test_derivatives_of_inverses_are_those_of_the_inverse(name):
    """f(shapes, inverse(shapes, p)) = p, whose derivatives are 1 in p and 0 in the shapes."""
    (function, place), inverse = INVERSES[name], getattr(scipy.special, name)
    shapes, p = np.meshgrid((0.4, 1.0, 3.5, 40.0), (1e-4, 0.2, 0.7, 0.99))
    arguments = [shapes.ravel()] + ([shapes.ravel()[::-1].copy()] if place == 2 else []) + [p.ravel()]
    total = lambda *a: getattr(scipy.special, function)(*a[:-1], inverse(*a)).sum()
    *of_shapes, of_p = td.gradient(total, *arguments, argnums=tuple(range(place + 1)))
    # Of the inverses that SciPy finds by iteration.
    np.testing.assert_allclose(of_p, 1.0, rtol=1e-9)
    for gradient in of_shapes:
        np.testing.assert_allclose(gradient, 0.0, atol=1e-9)


@pytest.mark.parametrize("name", SECOND_RESULTS)
def test_functions_with_several_results(name):
    """A tuple of arrays, as SciPy gives; each result with its derivative, and the same from a kernel."""
    x = np.array([0.05, 0.4, 1.0, 2.3, 6.0])
    function = getattr(scipy.special, name)
    tape = td.record(lambda x: function(x), x)
    for k, (ours, fast, exact) in enumerate(zip(tape(x), td.compile(tape)(x), SECOND_RESULTS[name])):
        gradient = td.gradient(lambda t, k=k: function(t)[k].sum(), x)
        np.testing.assert_array_equal(fast, ours)
        with mpmath.workdps(40):
            # Of airy up to twenty roundings in SciPy's own values.
            np.testing.assert_allclose(ours, [float(exact(mpmath.mpf(v))) for v in x], rtol=1e-14, atol=1e-16)
            np.testing.assert_allclose(gradient, [float(mpmath.diff(exact, mpmath.mpf(v))) for v in x], rtol=1e-13, atol=1e-14)


X, Y, P = np.array([0.3, 1.2, 2.5]), np.array([1.5, 2.5, 0.4]), np.array([0.2, 0.5, 0.9])
K, N = np.array([0.0, 2.0, 5.0]), np.array([5.0, 5.0, 5.0])
POLYNOMIALS = {
    **{f"eval_{name}": (P,) for name in ("chebyt", "chebyu", "legendre", "hermite", "hermitenorm", "laguerre", "chebyc", "chebys", "sh_legendre",
                                         "sh_chebyt", "sh_chebyu")},
    "eval_genlaguerre": (Y, P), "eval_gegenbauer": (Y, P), "eval_jacobi": (X, Y, P), "eval_sh_jacobi": (X + 3.0, Y, P),
}  # fmt: skip
OTHERS = {
    "pdtri": (K, P), "bdtri": (K, N.astype(int) + 1, P), "nbdtri": (K.astype(int), N.astype(int), P), "fdtri": (X, Y, P), "gdtria": (P, Y, X),
    "nrdtrimn": (P, X, Y), "nrdtrisd": (Y, P - 0.05, X), "radian": (X, Y, P), "round": (2.4 * X,),
    "gammasgn": (X - 3.1,), "kn": (K, X), "yn": (K, X), "gdtrix": (X, Y, P), "chdtri": (Y, P), "bdtr": (K, N.astype(int), P), "bdtrc": (K, N.astype(int), P),
    "nbdtr": (K.astype(int), N.astype(int), P), "nbdtrc": (K.astype(int), N.astype(int), P), "logit": (P,), "xlogy": (X, Y),
    "xlog1py": (X, Y), "zeta": (Y + 1.0, X),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_further_functions_have_scipys_values_and_derivatives_by_differences(name):
    """In the last argument."""
    *first, last = OTHERS[name]
    function = getattr(scipy.special, name)
    total = lambda t: function(*first, t).sum()
    # SciPy's own functions of these names are other code than the ones that these are composed of.
    np.testing.assert_allclose(td.record(lambda t: function(*first, t), last)(last), function(*first, last), rtol=1e-13)
    td.testing.check_gradient(total, total, last)


def test_plain_arguments_give_scipys_results():
    """Also by td.special's names, for lists and numbers."""
    assert td.special.gdtr(1.0, 2.0, 3.0) == scipy.special.gdtr(1.0, 2.0, 3.0)
    np.testing.assert_array_equal(td.special.kve([0.0, 1.0], [0.5, 2.0]), scipy.special.kve([0.0, 1.0], [0.5, 2.0]))
    np.testing.assert_allclose(td.special.comb([5.0, 3.0], [2.0, 4.0]), scipy.special.comb([5.0, 3.0], [2.0, 4.0]), rtol=1e-14)
    np.testing.assert_allclose(td.special.factorial([3.0, 4.5, -1.0]), scipy.special.factorial([3.0, 4.5, -1.0], exact=False), rtol=1e-14)
    np.testing.assert_allclose(td.special.polygamma([0, 1, 4], 0.7), scipy.special.polygamma([0, 1, 4], 0.7), rtol=1e-13)
    np.testing.assert_allclose(td.special.perm([5.0, 3.0], [2.0, 4.0]), scipy.special.perm([5.0, 3.0], [2.0, 4.0]), rtol=1e-14)
    signed = td.special.logsumexp([1.0, 2.0], b=[1.0, -3.0], return_sign=True)
    np.testing.assert_allclose(signed, scipy.special.logsumexp([1.0, 2.0], b=[1.0, -3.0], return_sign=True), rtol=1e-14)


def test_a_derivative_that_is_not_known_is_an_error():
    """Of orders of Bessel functions; with stop_gradient it is left out."""
    with pytest.raises(td.UnsupportedFunction, match="the derivative of iv in its order is not known"):
        td.gradient(lambda v: scipy.special.iv(v, 1.2), 0.5)
    assert td.gradient(lambda v: scipy.special.iv(td.stop_gradient(v), 1.2 + 0.0 * v), 0.5) == 0.0


def test_every_function_is_in_one_of_the_tables():
    """A function that comes in is tested."""
    elementary = {"expit", "log_expit", "exp2", "cbrt", "log1p", "expm1", "psi"}
    tested = {*EXACT, *INVERSES, *SECOND_RESULTS, *OTHERS, *POLYNOMIALS}
    assert tested == {*BY_SCIPY_NAME, *COMPOSITIONS} - elementary


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_orthogonal_polynomials_have_scipys_values_and_derivatives_in_every_argument(name):
    """Of degrees 0 to 6; the degree is a plain number."""
    function, arguments = getattr(scipy.special, name), POLYNOMIALS[name]
    for n in (0, 1, 2, 6):
        for k, argument in enumerate(arguments):
            total = lambda t, n=n, k=k: np.sum(function(n, *arguments[:k], t, *arguments[k + 1 :]) * Y)
            np.testing.assert_allclose(td.record(total, argument)(argument), total(argument), rtol=1e-12, atol=1e-13)
            td.testing.check_gradient(total, total, argument)
    with pytest.raises(td.UnsupportedFunction, match="not a plain integer"):
        td.record(lambda t: function(t, *arguments), X)


@pytest.mark.parametrize("branch", [0, -1])
def test_the_lambert_function_is_exact_and_its_derivatives_too(branch):
    """To second order; NaN where it is complex. Compiled as uncompiled."""
    inside = [-0.3678, -0.36, -0.26, -0.24, -0.1, -1e-3, -1e-20] + ([0.0, 1e-3, 0.5, 1.0, 3.0, 1e3, 1e30, 1e300] if branch == 0 else [-1e-300])
    x = np.array(inside)
    f = lambda x: np.sum(scipy.special.lambertw(x, branch))
    with mpmath.workdps(50):
        true = [mpmath.lambertw(mpmath.mpf(v), branch).real for v in inside]
        slopes = [mpmath.exp(-w) / (1 + w) for w in true]
        second = [-s * s * (2 + w) / (1 + w) for s, w in zip(slopes, true)]
    tape = td.record(lambda x: scipy.special.lambertw(x, branch), x)
    for target in (tape, td.compile(tape)):
        np.testing.assert_allclose(target(x), [float(w) for w in true], rtol=1e-12, atol=1e-300)
        assert np.isnan(target(np.full(x.shape, -0.4))).all()
    # 1 + w loses as many digits as -1/e has in common with the argument.
    np.testing.assert_allclose(td.gradient(f, x), [float(s) for s in slopes], rtol=2e-12)
    usual = np.abs(x) > 1e-19
    np.testing.assert_allclose(np.diagonal(td.hessian(f, x))[usual], np.array([float(s) for s in second])[usual], rtol=1e-8)


@pytest.mark.parametrize("name", ["spherical_jn", "spherical_yn", "spherical_in", "spherical_kn"])
def test_spherical_bessel_functions_are_scipys_with_derivatives(name):
    """To second order, at zero as well where there is a value; `derivative=` is the first one."""
    function = lambda *args, **named: getattr(scipy.special, name)(*args, **named)
    x = np.array([0.3, 1.0, 4.0] + ([0.0, -1.2] if name in ("spherical_jn", "spherical_in") else []))
    for n in (0, 1, 4):
        values = td.record(lambda t, n=n: function(n, t), x)(x)
        np.testing.assert_allclose(values, function(n, x), rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(td.gradient(lambda t, n=n: np.sum(function(n, t)), x), function(n, x, derivative=True), rtol=1e-11, atol=1e-14)
        slope = lambda t, n=n: np.sum(function(n, t, derivative=True))
        # At 0 SciPy's own derivative has a removable division by zero.
        td.testing.check_gradient(slope, slope, x[:3])
        left = np.array([-0.4, -1.2, -3.0])
        np.testing.assert_allclose(td.record(lambda t, n=n: function(n, t), left)(left), function(n, left), rtol=1e-12, atol=1e-15)
        td.testing.check_gradient(lambda t, n=n: np.sum(function(n, t)), lambda t, n=n: np.sum(function(n, t)), left)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["bdtr", "bdtrc", "bdtri", "nbdtr", "nbdtrc", "nbdtri"])
def test_counts_of_trials_are_whole_numbers_as_in_scipy(name):
    """Others are cut off, so that the derivatives by them are zero."""
    function = getattr(scipy.special, name)
    guarded = td.GuardedTape(lambda p: getattr(scipy.special, name)(p[0], p[1], p[2]))
    for point in ([1.0, 2.3, 0.6], [1.7, 2.3, 0.6], [1.2, 4.9, 0.7], [2.0, 5.0, 0.3]):
        point = np.array(point)
        assert guarded(point) == pytest.approx(function(*point), rel=1e-13)
        slope = (function(point[0], point[1], point[2] + 1e-6) - function(point[0], point[1], point[2] - 1e-6)) / 2e-6
        assert td.gradient(guarded, point) == pytest.approx([0.0, 0.0, slope], rel=1e-6)


OF_DISTRIBUTIONS = (
    "bdtr", "bdtrc", "bdtri", "nbdtr", "nbdtrc", "pdtr", "pdtrc", "pdtri", "gdtr", "gdtrc", "fdtr", "fdtrc", "fdtri",
    "chdtr", "chdtrc", "chdtri", "stdtr", "stdtrit", "betainc", "betaincc", "gammainc", "gammaincc", "gammaincinv", "gammainccinv",
)  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OF_DISTRIBUTIONS)
def test_distribution_functions_outside_their_domain(name):
    """NaN wherever SciPy gives NaN, its limits at the edges, and its numbers everywhere else."""
    function = getattr(scipy.special, name)
    edges = (-2.5, -1.0, -0.5, 0.0, 0.3, 1.0, 1.5, 3.0, np.nan)
    grid = [axis.ravel() for axis in np.meshgrid(*[edges] * (function.nin), indexing="ij")]
    expected = function(*grid)
    # SciPy says 1 for a number of events that is NaN.
    known = ~np.any(np.isnan(grid), axis=0) if name in ("pdtr", "pdtrc") else np.full(len(expected), True)
    tape = td.record(lambda *axes: getattr(scipy.special, name)(*axes), *grid)
    np.testing.assert_allclose(tape(*grid)[known], expected[known], rtol=1e-12)
    np.testing.assert_allclose(td.compile(tape)(*grid)[known], expected[known], rtol=1e-12)


def test_powm1_of_negative_numbers_and_zero_is_scipys():
    x = np.array([-2.5, -1.0, -0.3, 0.0, 0.2, 1.0])
    for y in (2.0, 3.0, -1.0, 0.5, 0.0):
        with np.errstate(all="ignore"):
            f = lambda x, y=y: scipy.special.powm1(x, y)
            np.testing.assert_allclose(td.record(f, x)(x), f(x), rtol=1e-14)
    np.testing.assert_allclose(td.gradient(lambda x: np.sum(scipy.special.powm1(x, 3.0)), x), 3.0 * x**2, rtol=1e-14)
