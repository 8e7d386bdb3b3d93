"""The logarithm of the gamma function and its derivative, over lanes, branch-free for x >= 0.

Below 8 the recurrence shifts x to 1 <= r < 2, where the function is a polynomial times its roots; from 8 on it is Stirling's series
(Abramowitz and Stegun 6.1.41 and 6.3.18), as a polynomial in 1 / x**2. Both share one logarithm or division, of an argument selected
before. The coefficients of Chebyshev interpolants were computed with mpmath to 45 digits. Negative arguments call SciPy, one by one.
"""

from __future__ import annotations

from .exponential import polynomial
from .logarithmic import log
from .simd import Value, call_rarely, constant, floor, fma, select

# Polynomials in 2 r - 3, without the roots: log gamma(r) / ((r - 1) (r - 2)) and digamma(r) / (r - root).
_LOG_GAMMA = (
    0.4831289505409809, -0.07297994795715297, 0.015727850268641094, -0.003913560937631769, 0.0010498186644547402,
    -0.00029455070139898493, 8.510090373499432e-05, -2.5094329864078195e-05, 7.511391855641883e-06, -2.2742409034140543e-06,
    6.948428064186312e-07, -2.1388452890262906e-07, 6.623878077265301e-08, -2.057734525447198e-08, 6.430260727636965e-09,
    -2.0735267758524892e-09, 6.566403819263112e-10, -1.6381596734648426e-10, 5.0258222095609345e-11, -3.53647433811882e-11,
    1.1586115295157278e-11,
)  # fmt: skip
_DIGAMMA = (
    0.9510558760318328, -0.21181371064073024, 0.06013562106019684, -0.01855061538173984, 0.005936795278301761,
    -0.001935066664735652, 0.0006368880303865817, -0.00021074841288961643, 6.995018825112794e-05, -2.3258232466707952e-05,
    7.741234508636364e-06, -2.578134894751126e-06, 8.589060721930695e-07, -2.8620904099739414e-07, 9.543298288278275e-08,
    -3.181266980138485e-08, 1.0527692435026686e-08, -3.5032218996509724e-09, 1.2469984616707403e-09, -4.197772636734229e-10,
    8.734528429142953e-11, -2.7468150389464952e-11, 2.918622732168261e-11, -1.0015117602062808e-11,
)  # fmt: skip
_ROOT = float.fromhex('0x1.762d86356be3fp+0')
_ROOT_LOW = 9.549995429965697e-17
# Polynomials in 128 / x**2 - 1: x (log gamma(x) - (x - 1/2) (log x - 1) - (log(2 pi) - 1) / 2), and x**2 (log x - 1 / (2 x) - digamma(x)).
_STIRLING = (
    0.08331168010429436, -2.1605346910992954e-05, 4.760738262245755e-08, -2.718192092526302e-10, 2.876910644172138e-12,
    -4.804140290450813e-14, 1.1522355126213349e-15, -3.706685051899316e-17,
)  # fmt: skip
_DIGAMMA_STIRLING = (
    0.08326846941047238, -6.462561120249051e-05, 2.3640599785507388e-07, -1.879719164759113e-09, 2.5411797686910442e-11,
    -5.146642600092636e-13, 1.4422771569715472e-14, -5.322332836981093e-16, 2.4619462069685785e-17,
)  # fmt: skip
_HALF_LOG_TWO_PI = 0.4189385332046727
_LARGE = 8.0


def gammaln(x: Value) -> Value:
    """The logarithm of the magnitude of the gamma function.

    Error: at most 6 ulp for x >= 0 (measured 4.81). Cost: 130 operations, two of them divisions.
    """
    bounded, shift = _shifted(x)
    # Differences of x, not of the rounded r: they are exact near the roots.
    roots = (x - (shift + 1.0)) * (x - (shift + 2.0))
    inside = roots * polynomial(_centred(bounded, shift), _LOG_GAMMA)
    product = constant(x.code, 1.0, "f64", x.width)
    for k in range(1, 7):
        product = product * select(shift > k - 0.5, x - float(k), 1.0)
    is_large, is_small = x >= _LARGE, x < 1.0
    logarithm = log(select(is_large, x, select(is_small, x, product)))
    small = select(is_small, inside - logarithm, inside + logarithm)
    inverse = 1.0 / select(is_large, x, _LARGE)
    rest = fma(polynomial(fma(inverse * inverse, 128.0, -1.0), _STIRLING), inverse, _HALF_LOG_TWO_PI)
    large = fma(x - 0.5, logarithm - 1.0, rest)
    return call_rarely("tapediff_special_gammaln", x < 0.0, select(is_large, large, small), x)


def digamma(x: Value) -> Value:
    """The derivative of gammaln.

    Error: at most 4 ulp for x >= 0 (measured 3.15), also near its root. Cost: 120 operations, one of them a division.
    """
    bounded, shift = _shifted(x)
    is_large, is_small = x >= _LARGE, x < 1.0
    # The sum of the inverses of x - 1, x - 2, ..., or -1 / x, as one quotient.
    above, below = select(is_small, -1.0, constant(x.code, 0.0, "f64", x.width)), select(is_small, x, 1.0)
    for k in range(1, 7):
        is_term, factor = shift > k - 0.5, x - float(k)
        above = select(is_term, fma(above, factor, below), above)
        below = select(is_term, below * factor, below)
    quotient = select(is_large, 1.0, above) / select(is_large, x, below)
    # Near the root x is r, and the difference exact.
    distance = ((x - shift) - _ROOT) - _ROOT_LOW
    small = fma(distance, polynomial(_centred(bounded, shift), _DIGAMMA), quotient)
    square = quotient * quotient
    bounded_square = select(is_large, square, 0.0)
    series = polynomial(fma(bounded_square, 128.0, -1.0), _DIGAMMA_STIRLING)
    large = log(select(is_large, x, 1.0)) - fma(series, bounded_square, 0.5 * quotient)
    return call_rarely("tapediff_special_psi", x < 0.0, select(is_large, large, small), x)


def _shifted(x: Value) -> tuple[Value, Value]:
    """x, replaced if outside (0, 8), and the integer shift x - r with 1 <= r < 2."""
    bounded = select(x < _LARGE, x, 7.5)
    bounded = select(bounded > 0.0, bounded, 0.5)
    return bounded, floor(bounded) - 1.0


def _centred(bounded: Value, shift: Value) -> Value:
    """2 r - 3."""
    r = bounded - shift
    return (r + r) - 3.0
