"""numpy.linalg on complex matrices: by real matrices of twice the order, and by LAPACK for Hermitian eigenvalues."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...ir.instruction import Operand, is_tracked
from ...ops.matrices.hermitian import HERMITIAN_EIGH, split
from ..joining import as_value
from .arithmetic import absolute, divide
from .functions import as_complex
from .pair import both, is_complex, pair, refused

# Determinants up to this order are polynomials of the entries, so that the derivative is right where they are zero.
_LARGEST_WRITTEN_OUT = 3


def _square(a: Operand) -> Operand:
    a = a if is_tracked(a) or is_complex(a) else as_value(a)
    if a.ndim < 2:
        raise np.linalg.LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    if a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    return a


def _represented(a: Operand) -> Operand:
    """The real matrix [[re, -im], [im, re]], which represents products and inverses of complex matrices."""
    re, im = both(a)
    upper, lower = np.concatenate([re, -im], axis=-1), np.concatenate([im, re], axis=-1)
    return np.concatenate([upper, lower], axis=-2)


def _halves(a: Operand, axis: int) -> Operand:
    n = a.shape[axis] // 2
    first, second = (slice(0, n), slice(n, 2 * n))
    index = (Ellipsis, first) if axis == -1 else (Ellipsis, first, slice(None))
    other = (Ellipsis, second) if axis == -1 else (Ellipsis, second, slice(None))
    return pair(a[index], a[other])


def solve(a: Operand, b: Operand) -> Operand:
    """Solve a x = b. A 1-d b is a vector, else it is a stack of matrices."""
    a = _square(a)
    is_vector = np.ndim(b) == 1
    re, im = both(b)
    if is_vector:
        re, im = re[:, None], im[:, None]
    if is_complex(a):
        made = _halves(np.linalg.solve(_represented(a), np.concatenate([re, im], axis=-2)), -2)
    else:
        made = _halves(np.linalg.solve(a, np.concatenate([re, im], axis=-1)), -1)
    return made[..., 0] if is_vector else made


def inv(a: Operand) -> Operand:
    a = _square(a)
    n = a.shape[-1]
    columns = np.broadcast_to(np.eye(2 * n)[:, :n], (*a.shape[:-2], 2 * n, n)).copy()
    return _halves(np.linalg.solve(_represented(a), columns), -2)


def det(a: Operand) -> Operand:
    a = _square(a)
    if a.shape[-1] <= _LARGEST_WRITTEN_OUT:
        return _written_out(a)
    return _by_elimination(a)


def _written_out(a: Operand) -> Operand:
    n = a.shape[-1]
    if n == 0:
        return np.ones(a.shape[:-2], complex)[()]
    if n == 1:
        return a[..., 0, 0]
    total = None
    for k in range(n):
        minor = _written_out(a[..., 1:, [j for j in range(n) if j != k]])
        term = a[..., 0, k] * minor
        total = term if total is None else total - term if k % 2 else total + term
    return total


def _by_elimination(a: Operand) -> Operand:
    """Gauss's elimination with partial pivoting, a step for each column."""
    product = None
    while a.shape[-1] > _LARGEST_WRITTEN_OUT:
        n = a.shape[-1]
        sizes = absolute(a[..., :, 0])
        is_pivot = np.arange(n) == np.argmax(sizes, axis=-1)[..., None]
        chosen = np.sum(np.where(is_pivot[..., None], a, 0.0), axis=-2)
        swapped = np.where(is_pivot[..., None], a[..., :1, :], a)[..., 1:, :]
        pivot = np.where(is_pivot[..., 0], chosen[..., 0], -chosen[..., 0])
        product = pivot if product is None else product * pivot
        factors = divide(swapped[..., :, 0], chosen[..., :1])
        a = swapped[..., :, 1:] - factors[..., :, None] * chosen[..., None, 1:]
    rest = _written_out(a)
    return rest if product is None else product * rest


class SlogdetResult(NamedTuple):
    """As numpy.linalg.slogdet returns it."""

    sign: Operand
    logabsdet: Operand


def slogdet(a: Operand) -> SlogdetResult:
    """The absolute value from the representing real matrix, whose determinant is its square, so that nothing overflows."""
    a = _square(a)
    logarithm = 0.5 * np.linalg.slogdet(_represented(a))[1]
    scaled = det(a / np.exp(logarithm / max(a.shape[-1], 1))[..., None, None])
    return SlogdetResult(np.sign(scaled), logarithm)


def cholesky(a: Operand, /, *, upper: bool = False) -> Operand:
    """Factor the real matrix of blocks [[re, -im], [im, re]]; the blocks of its factor represent the complex factor."""
    a = _square(a)
    if upper:
        return _turned(cholesky(_turned(a)))
    n = a.shape[-1]
    re, im = both(a)
    im = im * (1.0 - np.eye(n))  # the diagonal's is not read
    blocks = np.stack([np.stack([re, -im], axis=-1), np.stack([im, re], axis=-1)], axis=-3)
    whole = np.reshape(blocks, (*a.shape[:-2], 2 * n, 2 * n))
    factor = np.linalg.cholesky(whole)
    return pair(factor[..., 0::2, 0::2], factor[..., 1::2, 0::2] * (1.0 - np.eye(n)))


def _turned(a: Operand) -> Operand:
    return np.conjugate(np.swapaxes(a, -1, -2))


class EighResult(NamedTuple):
    """As numpy.linalg.eigh returns it."""

    eigenvalues: Operand
    eigenvectors: Operand


def eigh(a: Operand, UPLO: str = "L") -> EighResult:
    a = as_complex(_square(a))
    if UPLO.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    n = a.shape[-1]
    if n == 0:
        return EighResult(np.zeros(a.shape[:-1]), np.zeros(a.shape, complex))
    vectors, values = split(HERMITIAN_EIGH(np.stack(both(a), axis=-1), lower=UPLO.upper() == "L"), n)
    return EighResult(values, np.swapaxes(vectors, -1, -2))


def eigvalsh(a: Operand, UPLO: str = "L") -> Operand:
    return eigh(a, UPLO).eigenvalues


def svd(a: Operand, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Operand:
    if compute_uv:
        raise refused("np.linalg.svd", "the vectors are those of np.linalg.eigh(z.conj().T @ z); values alone are np.linalg.svdvals(z)")
    return svdvals(a)


def svdvals(x: Operand, /) -> Operand:
    """The real matrix has each singular value twice. First derivatives only: second ones would depend on the choice of vectors."""
    values = np.linalg.svdvals(_represented(x))
    return 0.5 * (values[..., ::2] + values[..., 1::2])


def pinv(a: Operand, rcond: Operand = None, hermitian: bool = False, *, rtol: Operand = np._NoValue) -> Operand:
    if hermitian:
        raise refused("np.linalg.pinv with hermitian=True", "leave hermitian out")
    kinds = {} if rtol is np._NoValue else {"rtol": rtol}
    m = a.shape[-2]
    return _halves(np.linalg.pinv(_represented(a), rcond, **kinds)[..., :m], -2)


def _without(name: str, fix: str) -> Callable[..., Operand]:
    def call(*_: Operand, **__: Operand) -> Operand:
        raise refused(f"np.linalg.{name}", fix)

    return call


# Refused functions, and the alternative.
REFUSED: dict[Callable[..., object], str] = {
    np.linalg.qr: "the triangular factor is np.linalg.cholesky(z.conj().T @ z).conj().T, up to phases",
    np.linalg.lstsq: "use np.linalg.pinv(z) @ b",
    np.linalg.eig: "np.linalg.eigh is for Hermitian matrices; of two by two matrices write the roots out",
    np.linalg.eigvals: "np.linalg.eigvalsh is for Hermitian matrices; of two by two matrices write the roots out",
}

FUNCTIONS: dict[Callable[..., object], Callable[..., Operand]] = {
    np.linalg.solve: solve, np.linalg.inv: inv, np.linalg.det: det, np.linalg.slogdet: slogdet, np.linalg.cholesky: cholesky,
    np.linalg.eigh: eigh, np.linalg.eigvalsh: eigvalsh, np.linalg.svd: svd, np.linalg.svdvals: svdvals, np.linalg.pinv: pinv,
    **{function: _without(function.__name__, fix) for function, fix in REFUSED.items()},
}  # fmt: skip
