"""Derivatives of NumPy's and SciPy's functions where their formulas have a middle, an end or a change of form."""

import mpmath
import numpy as np
import pytest
import scipy.special

import tapediff as td
from tests.support.special_points import disagreements, grid

POINTS = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, 4.0, 5.0, 8.0, 0.1, 0.03, 0.15, 0.25, 0.75, 0.9, 20.0, 30.0, -30.0, 7.5, np.pi,
                   -np.pi, np.pi / 2, 2 * np.pi, 1.5, 2.5, 0.3])  # fmt: skip
FEW = np.array([0.0, 1.0, 2.0, 0.5, -0.5, 3.0, 0.1, 20.0, -1.0, 0.25])
SHARES, SHAPES, ORDERS = np.array([0.1, 0.25, 0.5, 0.75, 0.9]), np.array([0.5, 1.0, 2.0, 3.0]), np.array([0.0, 0.5, 1.0, 2.0])

OF_ONE = [
    "cosdg", "cosm1", "dawsn", "digamma", "ellipe", "ellipk", "ellipkm1", "entr", "erf", "erfc", "erfcinv", "erfcx", "erfi", "erfinv", "exp1",
    "exp10", "exp2", "expi", "expit", "expm1", "exprel", "gamma", "gammaln", "i0", "i0e", "i1", "i1e", "j0", "j1", "k0", "k0e", "k1", "k1e", "log1p",
    "log_expit", "log_ndtr", "loggamma", "logit", "ndtr", "ndtri", "ndtri_exp", "rgamma", "sindg", "sinc", "softplus", "spence", "tandg",
    "wrightomega", "y0", "y1",
]  # fmt: skip
OF_NUMPY = ["arccos", "arcsin", "arcsinh", "arctan", "arctanh", "cosh", "i0", "log1p", "sinc", "sinh", "tan", "tanh"]
OF_SEVERAL_RESULTS = {"sici": 2, "shichi": 2, "fresnel": 2, "airy": 4, "airye": 4}
# Columns, and how many of them are data.
OF_MORE = {
    **dict.fromkeys(("gammainc", "gammaincc", "betaln", "xlogy", "xlog1py", "boxcox", "boxcox1p", "inv_boxcox", "inv_boxcox1p", "stdtr", "kl_div",
                     "rel_entr", "pseudo_huber", "owens_t", "powm1", "chdtr"), (grid(FEW, FEW), 0)),
    **dict.fromkeys(("gammaincinv", "gammainccinv", "stdtrit"), (grid(SHAPES, SHARES), 0)),
    **dict.fromkeys(("betainc", "betaincc", "betaincinv", "betainccinv"), (grid(SHAPES, SHAPES, SHARES), 0)),
    **dict.fromkeys(("ellipkinc", "ellipeinc"), (grid(POINTS, [0.0, 0.5, -0.5, 0.15, 0.9]), 0)),
    **dict.fromkeys(("jv", "yv", "iv", "kv", "ive", "kve", "modstruve", "expn", "pdtr"), (grid(ORDERS[[0, 2, 3]], POINTS), 1)),
    # SciPy has no value of order 1/2 at 2 pi.
    "struve": ([c[~((c1 == 0.5) & (c2 == 2 * np.pi))] for c1, c2 in [grid(ORDERS, POINTS)] for c in (c1, c2)], 1),
    "hyp1f1": (grid([0.5, 1.0, -1.0], [0.5, 2.0], POINTS), 2), "hyp2f1": (grid([0.5, 1.0], [1.0], [1.5, 2.0], [0.0, 0.5, -0.5, -1.0, -2.0, 0.9]), 3),
    "fdtr": (grid(SHAPES, SHAPES, [0.0, 0.5, 1.0, 2.0]), 0),
}  # fmt: skip
CASES = {
    # At -30 the neighbours of a pole of the gamma function are 1e-28.
    **{name: (getattr(scipy.special, name), [POINTS[POINTS > -4.0] if name == "gamma" else POINTS], 0) for name in OF_ONE},
    **{f"np.{name}": (getattr(np, name), [POINTS], 0) for name in OF_NUMPY},
    **{f"{name}[{k}]": (lambda x, name=name, k=k: getattr(scipy.special, name)(x)[k], [POINTS], 0) for name, n in OF_SEVERAL_RESULTS.items() for k in range(n)},
    **{name: (lambda *a, name=name: getattr(scipy.special, name)(*a), *case) for name, case in OF_MORE.items()},
    **{f"{name}({n})": (lambda x, name=name, n=n: getattr(scipy.special, name)(n, x), [POINTS], 0)
       for name in ("spherical_jn", "spherical_yn", "spherical_in", "spherical_kn") for n in (0, 1, 2)},
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_derivatives_are_continuous_where_the_function_is_smooth(name):
    """The first and the second ones, in every argument: at 0, at integers, at multiples of pi, where series begin."""
    function, columns, fixed = CASES[name]
    assert disagreements(function, *columns, fixed=fixed, compiles=len(columns) == 1) == []


ENDING = {
    "ndtr": (scipy.special.ndtr, [np.inf, -np.inf]), "erf": (scipy.special.erf, [np.inf, -np.inf]), "erfc": (scipy.special.erfc, [np.inf, -np.inf]),
    "log_ndtr": (scipy.special.log_ndtr, [np.inf]), "dawsn": (scipy.special.dawsn, [np.inf, -np.inf]), "erfcx": (scipy.special.erfcx, [np.inf]),
    "arctan": (np.arctan, [np.inf, -np.inf]), "tanh": (np.tanh, [np.inf, -np.inf]), "expit": (scipy.special.expit, [np.inf, -np.inf]),
    "arctan2": (lambda x: np.arctan2(x, 2.0) + np.arctan2(0.5, x), [np.inf, -np.inf]),
}  # fmt: skip


@pytest.mark.parametrize("compiles", [False, True])
@pytest.mark.parametrize("name", ENDING)
def test_derivatives_of_every_order_are_zero_at_infinity_where_there_is_a_limit(name, compiles):
    """As of the distribution function at the ends of open intervals; not 0 times infinity. NaN stays NaN."""
    function, ends = ENDING[name]
    x = np.array([*ends, 0.3])
    total = lambda t: np.sum(function(x - t[0]) * 2.0)
    target, t = td.compile(total, np.zeros(1)) if compiles else td.record(total, np.zeros(1)), np.array([0.1])
    alone = lambda t: 2.0 * function(0.3 - t[0])
    np.testing.assert_allclose(td.gradient(target, t), td.gradient(alone, t), rtol=1e-14)
    np.testing.assert_allclose(td.hvp(target, t, np.ones(1)), td.hvp(alone, t, np.ones(1)), rtol=1e-14)
    third = lambda f: td.gradient(lambda t: np.sum(td.hvp(f, t, np.ones(1))), t)
    np.testing.assert_allclose(third(total), third(alone), rtol=1e-13)
    assert np.isnan(td.gradient(target, np.array([np.nan]))).all()


def of_order(function, n):
    """The n-th derivative of a function of one number."""
    for _ in range(n):
        function = td.grad(function)
    return function


SERIES = {
    "sinc": (np.sinc, mpmath.sincpi, [0.0, 1e-6, 3e-5, 1e-3, -0.2, 1 / np.pi]), "i0": (np.i0, lambda x: mpmath.besseli(0, x), [0.0, 1e-6, -0.3, 2.0]),
    "boxcox": (lambda y: scipy.special.boxcox(3.0, y), lambda y: mpmath.log(3) * mpmath.hyp1f1(1, 2, mpmath.log(3) * y), [0.0, 1e-7, -0.3, 1.0]),
    "boxcox1p": (lambda y: scipy.special.boxcox1p(2.0, y), lambda y: mpmath.log(3) * mpmath.hyp1f1(1, 2, mpmath.log(3) * y), [0.0, 1e-7, -0.3, 1.0]),
    "exprel": (scipy.special.exprel, lambda x: mpmath.hyp1f1(1, 2, x), [0.0, 1e-7, -0.05, 0.5]),
    "struve": (lambda x: scipy.special.struve(0.0, x), lambda x: mpmath.struveh(0, x), [0.0, 1e-6, 0.7, 1.0, 2.5]),
    "modstruve": (lambda x: scipy.special.modstruve(1.0, x), lambda x: mpmath.struvel(1, x), [0.0, 1e-6, 0.7, 1.0, 2.5]),
    "expn": (lambda x: scipy.special.expn(1.0, x), lambda x: mpmath.e1(x), [0.3, 1.0, 2.5]),
}  # fmt: skip


@pytest.mark.parametrize("name", SERIES)
def test_derivatives_to_the_fourth_order_are_right_at_and_near_removable_singularities(name):
    """A series with too few terms, or one in a variable that is a selection, is right for the first orders alone."""
    function, exact, points = SERIES[name]
    for n in range(1, 5):
        ours = [of_order(function, n)(x) for x in points]
        with mpmath.workdps(40):
            right = [float(mpmath.taylor(exact, mpmath.mpf(x), n)[n] * mpmath.factorial(n)) for x in points]
        # Outside of the series each derivative divides by x once more; recurrences cancel a few digits.
        np.testing.assert_allclose(ours, right, rtol=1e-9, atol=1e-9)


MAGNITUDES = np.concatenate([10.0 ** np.array([-300, -160, -100, -30, -17, -16, -12, -8, -5, -3, -1, 3, 5, 8, 15, 30, 100, 155, 200, 300]),
                             [0.3, 0.5, 0.9, 1.0, 1.6, 2.5, 4.9, 5.1, 7.9, 8.1, 11.9, 12.1, 15.0, 19.5, 24.9, 25.1, 29.9, 40.0, 100.0, 350.0, 600.0]])  # fmt: skip
EDGES = 1.0 - 10.0 ** -np.array([1.0, 3.0, 8.0, 12.0, 15.0])
REALS, INSIDE = np.concatenate([MAGNITUDES, -MAGNITUDES]), np.concatenate([MAGNITUDES[MAGNITUDES < 1.0], EDGES])


def scaled_bessel(bessel, side):
    """The derivatives of exp(side x) f, where f is I or K of an order, by recurrence in the order."""

    def derivatives(x):
        f = [bessel(k, x) * mpmath.exp(side * x) for k in range(4)]
        first, second = (f[1], (f[0] + f[2]) / 2) if side < 0 else (-f[1], (f[0] + f[2]) / 2)
        return first + side * f[0], second + 2 * side * first + f[0]

    return derivatives


def scaled_airy(x):
    """The derivatives of exp(zeta) Ai."""
    root = mpmath.sqrt(x)
    grown = mpmath.exp(2 * x * root / 3)
    value, slope = mpmath.airyai(x) * grown, mpmath.airyai(x, derivative=1) * grown
    first = slope + root * value
    return first, x * value + root * slope + value / (2 * root) + root * first


def log_ndtr_slopes(x):
    """The hazard rate h and -h (x + h); far out by the first terms of their series."""
    if x < -1e6:
        return -x - 1 / x, -1 + 1 / x**2
    h = mpmath.npdf(x) * 2 / mpmath.erfc(-x / mpmath.sqrt(2))
    return h, -h * (x + h)


def logistic_slopes(x):
    p, q = 1 / (1 + mpmath.exp(-x)), 1 / (1 + mpmath.exp(x))
    return p * q, -p * q * mpmath.tanh(x / 2)


def omega_slopes(x):
    w = x - mpmath.log(x) if x > 10 else mpmath.exp(min(x, 1))
    for _ in range(12):
        w = w - (w + mpmath.log(w) - x) / (1 + 1 / w)
    return w / (1 + w), w / (1 + w) ** 3


# The function, and its exact first and second derivatives; where.
TAILS = {
    "expm1": (np.expm1, lambda x: (mpmath.exp(x),) * 2, REALS[np.abs(REALS) < 700.0]),
    "tanh": (np.tanh, lambda x: (mpmath.sech(x) ** 2, -2 * mpmath.sech(x) ** 2 * mpmath.tanh(x)), REALS),
    "expit": (scipy.special.expit, logistic_slopes, REALS),
    "log_expit": (scipy.special.log_expit, lambda x: (1 / (1 + mpmath.exp(x)), -logistic_slopes(x)[0]), REALS),
    "arcsin": (np.arcsin, lambda x: (1 / mpmath.sqrt(1 - x * x), x / mpmath.sqrt(1 - x * x) ** 3), INSIDE),
    "arccos": (np.arccos, lambda x: (-1 / mpmath.sqrt(1 - x * x), -x / mpmath.sqrt(1 - x * x) ** 3), INSIDE),
    "arctanh": (np.arctanh, lambda x: (1 / (1 - x * x), 2 * x / (1 - x * x) ** 2), INSIDE),
    "arcsinh": (np.arcsinh, lambda x: (1 / mpmath.sqrt(1 + x * x), -x / mpmath.sqrt(1 + x * x) ** 3), REALS),
    "arccosh": (np.arccosh, lambda x: (1 / mpmath.sqrt(x * x - 1), -x / mpmath.sqrt(x * x - 1) ** 3), REALS[REALS > 1.0]),
    "log_ndtr": (scipy.special.log_ndtr, log_ndtr_slopes, REALS[(REALS < 37.0) & (REALS > -1e100)]),
    "wrightomega": (scipy.special.wrightomega, omega_slopes, MAGNITUDES),
    "spence": (scipy.special.spence, lambda x: (mpmath.log(x) / (1 - x), (1 / x + mpmath.log(x) / (1 - x)) / (1 - x)), MAGNITUDES[MAGNITUDES != 1.0]),
    "i0e": (scipy.special.i0e, scaled_bessel(mpmath.besseli, -1), MAGNITUDES[(MAGNITUDES > 1e-5) & (MAGNITUDES < 1e16)]),
    "k0e": (scipy.special.k0e, scaled_bessel(mpmath.besselk, 1), np.array([0.3, 1.0, 350.0, 1e3, 1e5, 1e8, 1e15])),
    "kve": (lambda x: scipy.special.kve(0.0, x), scaled_bessel(mpmath.besselk, 1), np.array([0.3, 1.0, 350.0, 1e3, 1e5, 1e8, 1e15])),
    "airye": (lambda x: scipy.special.airye(x)[0], scaled_airy, MAGNITUDES[(MAGNITUDES > 1e-5) & (MAGNITUDES < 1e5)]),
}


@pytest.mark.parametrize("name", TAILS)
def test_slopes_keep_their_digits_in_the_tails(name):
    """The first and the second one, from 1e-300 to 1e300: none is made of a value by a difference, or of squares that over- or underflow."""
    function, exact, x = TAILS[name]
    total = lambda x: np.sum(function(x))
    with mpmath.workdps(110), np.errstate(all="ignore"):
        right = np.array([[float(v) for v in exact(mpmath.mpf(float(at)))] for at in x]).T
    tape = td.record(total, x)
    for target in (tape, td.compile(tape)):
        for found, exactly in zip((td.gradient(target, x), td.hvp(target, x, np.ones_like(x))), right):
            usual = np.isfinite(exactly)
            # Terms of one sign, and differences that lose up to four digits beside where a series begins.
            np.testing.assert_allclose(found[usual], exactly[usual], rtol=1e-11, atol=1e-290)
