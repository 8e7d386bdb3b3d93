"""Functions of matrices: exponentials, logarithms, powers, and the trigonometric and hyperbolic ones."""

from __future__ import annotations

import math
from importlib import import_module

import numpy as np

from ..functions.loops import fori_loop
from ..ir.instruction import Operand, is_tracked
from ..numpy_api.matrices import linear_algebra
from ..ops.elementwise.structure import STOP_GRADIENT
from ..ops.matrices.stacks import turned
from .calls import computed, doubles, given, like, scipys, square
from .equations import sylvester
from .systems import solve

# Pade's approximation of exp of degree 13, and the largest norm for which it is exact to rounding.
_PADE = tuple(
    float(math.factorial(26 - j) * math.factorial(13) // (math.factorial(13 - j) * math.factorial(j))) for j in range(14)
)
_RADIUS = 4.25


@scipys
def expm(A: Operand) -> Operand:
    """exp of each matrix of a stack, by scaling, Pade's approximation and squaring; the number of squarings is found at run time.

    Cost: 8 products and a solve, and a product for each doubling of the norm above 4; the gradient about three times as much.
    Source: Al-Mohy & Higham (2009), SIAM J. Matrix Anal. Appl. 31(3), without the smaller degrees.
    """
    a = doubles(square(A))
    if a.size == 0:
        return a
    second = a @ a
    fourth = second @ second
    sixth = fourth @ second
    doublings = STOP_GRADIENT(_doublings(a, fourth, sixth))
    scale = np.exp2(-doublings)[..., None, None]
    return _squared(_pade(a, (second, fourth, sixth), scale), doublings)


def _norm(a: Operand) -> Operand:
    """The 1-norm: the largest sum of absolute values of a column."""
    return np.max(np.sum(np.absolute(a), axis=-2), axis=-1)


def _doublings(a: Operand, fourth: Operand, sixth: Operand) -> Operand:
    """The number of times to halve each matrix. For a highly non-normal one, norms of its powers are smaller than its own norm."""
    a, fourth, sixth = (STOP_GRADIENT(x) for x in (a, fourth, sixth))
    d4, d6, d8 = _norm(fourth) ** 0.25, _norm(sixth) ** (1.0 / 6.0), _norm(fourth @ fourth) ** 0.125
    size = np.minimum(np.maximum(d4, d6), np.maximum(d6, d8))
    doublings = np.ceil(np.log2(np.maximum(size / _RADIUS, 1.0)))
    # The series' remainder is bounded by the powers of the absolute values, which may be larger.
    row = np.ones((*a.shape[:-2], 1, a.shape[-1]))
    scaled = np.absolute(a) * np.exp2(-doublings)[..., None, None]
    powers = scaled @ scaled
    powers = powers @ powers @ powers  # the sixth power; with four of them and three single ones the 27th
    for factor in (powers, powers, powers, powers, scaled, scaled, scaled):
        row = row @ factor
    error = np.max(row, axis=(-2, -1)) / np.maximum(_norm(scaled), 1e-300) * (1.0 / 113250775606021113483283660800000000.0)
    more = np.ceil(np.log2(np.maximum(error / 1.1e-16, 1e-300)) / 26.0)
    return doublings + np.where(np.isfinite(more), np.maximum(more, 0.0), 0.0)


def _pade(a: Operand, powers: tuple[Operand, Operand, Operand], scale: Operand) -> Operand:
    square_of_scale = scale * scale
    a, second = a * scale, powers[0] * square_of_scale
    fourth, sixth = powers[1] * square_of_scale**2, powers[2] * square_of_scale**3
    c, eye = _PADE, np.eye(a.shape[-1])
    odd = a @ (sixth @ (c[13] * sixth + c[11] * fourth + c[9] * second) + c[7] * sixth + c[5] * fourth + c[3] * second + c[1] * eye)
    even = sixth @ (c[12] * sixth + c[10] * fourth + c[8] * second) + c[6] * sixth + c[4] * fourth + c[2] * second + c[0] * eye
    return linear_algebra.solve(even - odd, even + odd)


def _squared(x: Operand, times: Operand) -> Operand:
    """Square each matrix `times` times."""
    if not is_tracked(times):
        times = np.asarray(times)
    most = np.max(times)
    is_single = np.ndim(times) == 0

    def body(k: Operand, x: Operand) -> Operand:
        return x @ x if is_single else np.where((k < times)[..., None, None], x @ x, x)

    return fori_loop(0, most.astype(int), body, x)


def _halves(left: Operand, right: Operand, below: Operand, last: Operand) -> Operand:
    """The block matrix of four blocks."""
    return np.concatenate([np.concatenate([left, right], axis=-1), np.concatenate([below, last], axis=-1)], axis=-2)


@scipys
def expm_frechet(A: Operand, E: Operand, method: str | None = None, compute_expm: bool = True, check_finite: bool = True) -> Operand:
    """exp of A and its derivative in the direction E, from the exponential of a matrix of twice the size."""
    a, e = doubles(square(A)), doubles(square(E))
    n = a.shape[-1]
    whole = expm(_halves(a, e, np.zeros(a.shape), a))
    return (whole[..., :n, :n], whole[..., :n, n:]) if compute_expm else whole[..., :n, n:]


def _turned_exponential(A: Operand) -> tuple[Operand, Operand]:
    """cos and sin of a matrix: the real and imaginary part of exp(i A)."""
    a = doubles(square(A))
    n = a.shape[-1]
    whole = expm(_halves(np.zeros(a.shape), -a, a, np.zeros(a.shape)))
    return whole[..., :n, :n], whole[..., n:, :n]


@scipys
def cosm(A: Operand) -> Operand:
    """The cosine of a matrix."""
    return _turned_exponential(A)[0]


@scipys
def sinm(A: Operand) -> Operand:
    """The sine of a matrix."""
    return _turned_exponential(A)[1]


@scipys
def tanm(A: Operand) -> Operand:
    """The tangent of a matrix."""
    return solve(*_turned_exponential(A))


@scipys
def coshm(A: Operand) -> Operand:
    """The hyperbolic cosine of a matrix."""
    a = doubles(square(A))
    return 0.5 * (expm(a) + expm(-a))


@scipys
def sinhm(A: Operand) -> Operand:
    """The hyperbolic sine of a matrix."""
    a = doubles(square(A))
    return 0.5 * (expm(a) - expm(-a))


@scipys
def tanhm(A: Operand) -> Operand:
    """The hyperbolic tangent of a matrix."""
    a = doubles(square(A))
    above, below = expm(a), expm(-a)
    return solve(above + below, above - below)


def _real(name: str, a: np.ndarray) -> np.ndarray:
    """SciPy's function; raises if its value is not real."""
    value = getattr(import_module("scipy.linalg"), name)(a)
    if np.iscomplexobj(value):
        if np.any(value.imag != 0.0):
            raise np.linalg.LinAlgError(f"{name} of a matrix with negative eigenvalues is not real")
        value = value.real
    return value


def _square_root(a: np.ndarray) -> np.ndarray:
    return _real("sqrtm", a)


def _logarithm(a: np.ndarray) -> np.ndarray:
    # SciPy's estimates of norms draw from NumPy's generator, whose state is restored.
    state = np.random.get_state()  # noqa: NPY002 -- it is this generator that SciPy's function draws from
    try:
        return _real("logm", a)
    finally:
        np.random.set_state(state)  # noqa: NPY002 -- as above


def _root_rule(z_bar: Operand, z: Operand, a: Operand) -> tuple[Operand]:
    """z dz + dz z = da."""
    return (sylvester(turned(z), turned(z), z_bar),)


@scipys
def sqrtm(A: Operand, disp: object = None, blocksize: object = None) -> Operand:
    """The principal square root, by SciPy's routine, which kernels call through Python.

    Raises:
        LinAlgError: it is not real.
    """
    a = doubles(square(A))
    return given(computed(_square_root, like, a), a, rule=_root_rule)


def _logarithm_rule(z_bar: Operand, z: Operand, a: Operand) -> tuple[Operand]:
    """The derivative in the direction z_bar at a^T: the corner block of the logarithm of a matrix of twice the size."""
    n = a.shape[-1]
    return (logm(_halves(turned(a), z_bar, np.zeros(a.shape), turned(a)))[..., :n, n:],)


@scipys
def logm(A: Operand, disp: object = None) -> Operand:
    """The principal logarithm, by SciPy's routine, which kernels call through Python.

    Raises:
        LinAlgError: it is not real.

    Cost: of the gradient, that of the logarithm of a matrix of twice the size.
    """
    a = doubles(square(A))
    return given(computed(_logarithm, like, a), a, rule=_logarithm_rule)


@scipys
def fractional_matrix_power(A: Operand, t: Operand) -> Operand:
    """exp(t log(A)), differentiable in t; for a plain integer t, numpy.linalg.matrix_power."""
    a = doubles(square(A))
    if not is_tracked(t) and t == int(t):
        return np.linalg.matrix_power(a, int(t))
    return expm(t * logm(a))
