"""Factorisations and solves. NumPy's exceptions for singular and indefinite matrices are kept."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from ...base.current_recording import current_recorder
from ...ir.instruction import Operand, ValueType, is_tracked
from ..declaration.op import Op
from .products import MATMUL
from .stacks import SOLVED, STACKED, for_each, over_stacks, turned


def _definite(rng: np.random.Generator, n: int) -> np.ndarray:
    """A positive definite matrix, whose triangles are well conditioned too, for the tests."""
    a = rng.normal(size=(n, n))
    return a @ a.T / n + np.eye(n)


def _stack(rng: np.random.Generator, count: int, n: int) -> np.ndarray:
    return np.stack([_definite(rng, n) for _ in range(count)])


def require(succeeds: Operand, message: str) -> None:
    """Raise NumPy's error unless a factorisation has succeeded; by a guard if that depends on tracked values."""
    recorder = current_recorder()
    if is_tracked(succeeds) and recorder is not None and recorder.raise_where is not None:
        recorder.raise_where(np.logical_not(succeeds), lambda: np.linalg.LinAlgError(message))
    elif not succeeds:
        raise np.linalg.LinAlgError(message)


def require_regular(triangle: Operand, message: str) -> Operand:
    """Raise unless a triangular matrix, or each of a stack, is regular; return the mask of regular ones."""
    regular = np.all(np.diagonal(triangle, axis1=-2, axis2=-1) != 0.0, axis=-1)
    require(np.all(regular), message)
    return regular


def where_regular(regular: Operand, matrix: Operand, other: np.ndarray) -> Operand:
    """The matrix; in recordings of several paths, `other`, a regular one, where the matrix is singular and the program has raised."""
    recorder = current_recorder()
    if recorder is None or recorder.raise_where is None or not is_tracked(regular):
        return matrix
    return np.where(np.reshape(regular, (*np.shape(regular), 1, 1)), matrix, other)


def _checked_cholesky(a: Operand) -> Operand:
    if not (is_tracked(a) and a.size):
        return CHOLESKY(a)
    packed = CHOLESKY_ATTEMPT(a)
    require(np.all(packed[..., -1, 0] != 0.0), "Matrix is not positive definite")
    return packed[..., :-1, :]


def regular_factors(a: Operand, lu: Operand) -> tuple[Operand, Operand]:
    """A matrix and its factors, known to be regular; raise if they are singular."""
    regular = require_regular(lu[..., :-1, :], "Singular matrix")
    one = np.eye(a.shape[-1])
    return where_regular(regular, a, one), where_regular(regular, lu, _lu_factor(one))


def _checked_lu_solve(a: Operand, lu: Operand, b: Operand, transposed: bool) -> Operand:
    return LU_SOLVE(*regular_factors(a, lu), b, transposed=transposed)


def _lower_half(n: int) -> np.ndarray:
    """Ones below the diagonal, halves on it."""
    return np.tril(np.ones((n, n))) - 0.5 * np.eye(n)


def pulled_back(z: np.ndarray, z_bar: np.ndarray) -> np.ndarray:
    """The cotangent of the lower triangle of x, given its Cholesky factor z and z_bar: Murray (2016), arXiv:1602.07527, eq. 10."""
    inner = np.tril(z.T @ np.tril(z_bar))
    left = _triangular_solve(z, inner + np.tril(inner, -1).T, lower=True, transposed=True, unit=False)
    x_bar = np.tril(_triangular_solve(z, left.T, lower=True, transposed=True, unit=False))
    np.fill_diagonal(x_bar, 0.5 * np.diagonal(x_bar))
    return x_bar


def _symmetric(lower: Operand) -> Operand:
    """The symmetric matrix with this lower triangle."""
    below = lower * np.tril(np.ones(lower.shape[-2:]), -1)
    return lower * np.eye(lower.shape[-1]) + below + turned(below)


def _pullback_factor_rule(w_bar: Operand, w: Operand, z: Operand, z_bar: Operand) -> Operand:
    """The derivative of the pullback in z. With s the symmetric matrix of w_bar and m = z^-1 s z^-T, w_bar . w = z_bar . z half(m)."""
    half, m = _lower_half(z.shape[-1]), _within(z, _symmetric(w_bar))
    inner = MATMUL(turned(z), z_bar) * half
    pulled = TRIANGULAR_SOLVE(z, inner + turned(inner), lower=True, transposed=True, unit=False)
    lower = np.tril(np.ones(z.shape[-2:]))
    return (MATMUL(z_bar * lower, turned(m * half)) - MATMUL(pulled, m)) * lower


def _within(z: Operand, symmetric: Operand) -> Operand:
    """z^-1 s z^-T."""
    left = TRIANGULAR_SOLVE(z, symmetric, lower=True, transposed=False, unit=False)
    return TRIANGULAR_SOLVE(z, turned(left), lower=True, transposed=False, unit=False)


CHOLESKY_PULLBACK = Op(
    "cholesky_pullback",
    evaluate=over_stacks(pulled_back, lambda z, z_bar: z),
    infer=lambda z, z_bar: z,
    vjp=(
        _pullback_factor_rule,
        # The pullback's transpose is the factor's tangent.
        lambda w_bar, w, z, z_bar: MATMUL(z, _within(z, _symmetric(w_bar)) * _lower_half(z.shape[-1])),
    ),
    lower=lambda low, i: low.cholesky_pullback(i),
    batching=STACKED,
    lapack=True,
    examples=lambda rng: [
        (lambda a, b: CHOLESKY_PULLBACK(CHOLESKY(a), b), (_definite(rng, n), rng.normal(size=(n, n))))
        for n in (1, 2, 5, 11)
    ]
    + [(lambda a, b: CHOLESKY_PULLBACK(CHOLESKY(a), b), (_stack(rng, 2, 3), rng.normal(size=(2, 3, 3))))],
)


CHOLESKY = Op(
    "cholesky",
    evaluate=np.linalg.cholesky,
    infer=lambda x: x,
    # The derivative of NumPy's function, which reads the lower triangle only.
    vjp=(lambda z_bar, z, x: CHOLESKY_PULLBACK(z, z_bar),),
    lower=lambda low, i: low.cholesky(i),
    batching=STACKED,
    lapack=True,
    raises=True,
    checked=_checked_cholesky,
    examples=lambda rng: [(CHOLESKY, (a,)) for a in (*(_definite(rng, n) for n in (1, 2, 5)), _stack(rng, 3, 4))],
)


def attempted(factorise: Callable[..., Operand], rows: int) -> Callable[..., Operand]:
    """Pack the result of a factorisation with one more row, which starts with 1 on success, else 0."""

    def evaluate(x: Operand, *params: Operand) -> Operand:
        n = x.shape[-1]
        packed = np.zeros((n + rows + 1, n), x.dtype)
        try:
            packed[:-1] = factorise(x, *params)
            packed[-1, 0] = 1.0
        except np.linalg.LinAlgError:
            packed[:-1] = np.nan
        return packed

    return over_stacks(evaluate, lambda x: (x[1] + rows + 1, x[1]))


def _attempt_rule(z_bar: Operand, z: Operand, x: Operand) -> Operand:
    """The pullback, with the identity in place of a failed factor, on which nothing depends."""
    has_succeeded = np.reshape(z[..., -1, 0] != 0.0, (*z.shape[:-2], 1, 1))
    return CHOLESKY_PULLBACK(np.where(has_succeeded, z[..., :-1, :], np.eye(x.shape[-1])), z_bar[..., :-1, :])


# Used where user code may catch the error: success is a value, which a guard checks.
CHOLESKY_ATTEMPT = Op(
    "cholesky_attempt",
    evaluate=attempted(np.linalg.cholesky, 0),
    infer=lambda x: ValueType((*x.shape[:-2], x.shape[-1] + 1, x.shape[-1]), x.dtype),
    vjp=(_attempt_rule,),
    lower=lambda low, i: low.cholesky(i),
    lapack=True,
    examples=lambda rng: [(CHOLESKY_ATTEMPT, (a,)) for a in (*(_definite(rng, n) for n in (1, 2, 5)), _stack(rng, 2, 3))],
)


def _triangular_solve(a: Operand, b: Operand, lower: bool, transposed: bool, unit: bool) -> Operand:
    from scipy.linalg import solve_triangular

    return solve_triangular(a, b, trans=1 if transposed else 0, lower=lower, unit_diagonal=unit, check_finite=False)


def _triangular_matrix_rule(z_bar: Operand, z: Operand, a: Operand, b: Operand, lower: bool, transposed: bool, unit: bool) -> Operand:
    """-b_bar z^T (or its transpose), on the triangle that is read."""
    b_bar = TRIANGULAR_SOLVE(a, z_bar, lower=lower, transposed=not transposed, unit=unit)
    left, right = (z, b_bar) if transposed else (b_bar, z)
    full = left[:, None] * right[None, :] if len(z.shape) == 1 else MATMUL(left, turned(right))
    n = a.shape[-1]
    triangle = np.tril(np.ones((n, n)), -1 if unit else 0)
    return -full * (triangle if lower else triangle.T)


TRIANGULAR_SOLVE = Op(
    "triangular_solve",
    evaluate=over_stacks(_triangular_solve, lambda a, b: b),
    infer=lambda a, b, lower, transposed, unit: b,
    vjp=(
        _triangular_matrix_rule,
        lambda z_bar, z, a, b, lower, transposed, unit: TRIANGULAR_SOLVE(
            a, z_bar, lower=lower, transposed=not transposed, unit=unit
        ),
    ),
    params=("lower", "transposed", "unit"),
    lower=lambda low, i: low.triangular_solve(i),
    batching=SOLVED,
    lapack=True,
    raises=True,
    examples=lambda rng: [
        (
            lambda a, b, how=how: TRIANGULAR_SOLVE(a, b, lower=how[0], transposed=how[1], unit=how[2]),
            (_definite(rng, 3), rng.normal(size=shape)),
        )
        for how, shape in zip(itertools.product((False, True), repeat=3), itertools.cycle(((3,), (3, 2), (3, 1))))
    ]
    + [
        (
            lambda a, b, t=transposed: TRIANGULAR_SOLVE(a, b, lower=True, transposed=t, unit=False),
            (_stack(rng, 2, 3), rng.normal(size=(2, 3, 4))),
        )
        for transposed in (False, True)
    ],
)


def _lu_factor(x: Operand) -> Operand:
    """LAPACK's factors of the transpose, and its pivots as 32-bit integers in a last row: one value holds both, as in a kernel.

    The layout equals compiler.linalg.routine_table's to the bit, as factors of constants are computed here and used by kernels.
    """
    from scipy.linalg.lapack import get_lapack_funcs

    n = x.shape[0]
    lu = np.zeros((n + 1, n), x.dtype)
    if n == 0:  # LAPACK does not accept empty matrices
        return lu
    (getrf,) = get_lapack_funcs(("getrf",), (x,))
    factors, pivots, _ = getrf(np.transpose(x))
    lu[:n] = factors.T
    lu[n].view(np.int32)[:n] = pivots + 1
    return lu


def _pivots(lu: Operand) -> np.ndarray:
    return np.ascontiguousarray(lu[..., -1, :]).view(np.int32)[..., : lu.shape[-1]] - 1


LU_FACTOR = Op(
    "lu_factor",
    evaluate=over_stacks(_lu_factor, lambda x: (x[1] + 1, x[1])),
    infer=lambda x: ValueType((*x.shape[:-2], x.shape[-1] + 1, x.shape[-1]), x.dtype),
    # Nothing is differentiated through the factors: solve and log_abs_det state their derivative in the matrix itself.
    vjp=(None,),
    lower=lambda low, i: low.lu_factor(i),
    batching=STACKED,
    lapack=True,
    exact=True,
    # Part of the last row is unused and arbitrary, so tests compare values computed from the factors.
    examples=lambda rng: [(lambda a: DET_SIGN(LU_FACTOR(a)), (rng.normal(size=(n, n)),)) for n in (1, 3, 8)],
)


def _lu_solve(a: Operand, lu: Operand, b: Operand, transposed: bool) -> Operand:
    from scipy.linalg import lu_solve

    if a.ndim > 2:
        return np.linalg.solve(np.swapaxes(a, -1, -2) if transposed else a, b)
    if (np.diagonal(lu[:-1]) == 0.0).any():
        raise np.linalg.LinAlgError("Singular matrix")
    return lu_solve((lu[:-1].T, _pivots(lu)), b, trans=0 if transposed else 1, check_finite=False)


def _lu_matrix_rule(z_bar: Operand, z: Operand, a: Operand, lu: Operand, b: Operand, transposed: bool) -> Operand:
    b_bar = LU_SOLVE(a, lu, z_bar, transposed=not transposed)
    left, right = (z, b_bar) if transposed else (b_bar, z)
    full = left[:, None] * right[None, :] if len(z.shape) == 1 else MATMUL(left, turned(right))
    return -full


LU_SOLVE = Op(
    "lu_solve",
    evaluate=_lu_solve,
    infer=lambda a, lu, b, transposed: b,
    vjp=(
        _lu_matrix_rule,
        None,
        lambda z_bar, z, a, lu, b, transposed: LU_SOLVE(a, lu, z_bar, transposed=not transposed),
    ),
    params=("transposed",),
    lower=lambda low, i: low.lu_solve(i),
    batching=SOLVED,
    lapack=True,
    raises=True,
    checked=_checked_lu_solve,
    examples=lambda rng: [
        (
            lambda a, b, t=transposed: LU_SOLVE(a, LU_FACTOR(a), b, transposed=t),
            (rng.normal(size=(3, 3)), rng.normal(size=shape)),
        )
        for transposed in (False, True)
        for shape in ((3,), (3, 2), (3, 1))
    ]
    + [
        (lambda a, b, t=transposed: LU_SOLVE(a, LU_FACTOR(a), b, transposed=t), (rng.normal(size=(2, 3, 3)), rng.normal(size=(2, 3, 4))))
        for transposed in (False, True)
    ],
)


def _inverse(a: Operand, lu: Operand) -> Operand:
    return np.linalg.inv(a)


def _checked_inverse(a: Operand, lu: Operand) -> Operand:
    return INVERSE(*regular_factors(a, lu))


def _inverse_rule(z_bar: Operand, z: Operand, a: Operand, lu: Operand) -> Operand:
    return -MATMUL(MATMUL(turned(z), z_bar), turned(z))


INVERSE = Op(
    "inverse",
    evaluate=_inverse,
    infer=lambda a, lu: a,
    vjp=(_inverse_rule, None),
    lower=lambda low, i: low.inverse(i),
    batching=STACKED,
    lapack=True,
    raises=True,
    checked=_checked_inverse,
    examples=lambda rng: [
        (lambda a: INVERSE(a, LU_FACTOR(a)), (a,))
        for a in (_definite(rng, 1), _definite(rng, 3), _definite(rng, 18), _stack(rng, 2, 3), _stack(rng, 9, 5))
    ],
)


def _lu_sign(lu: Operand) -> Operand:
    odd = np.count_nonzero(_pivots(lu) != np.arange(lu.shape[-1]), axis=-1) % 2
    signs = np.prod(np.sign(np.diagonal(lu, axis1=-2, axis2=-1)), axis=-1)
    return np.asarray(np.where(odd, -signs, signs), lu.dtype)[()]


DET_SIGN = Op(
    "det_sign",
    evaluate=_lu_sign,
    infer=lambda lu: ValueType(lu.shape[:-2], lu.dtype),
    vjp=(None,),
    lower=lambda low, i: low.det_sign(i),
    batching=STACKED,
    lapack=True,
    examples=lambda rng: [
        (lambda a: DET_SIGN(LU_FACTOR(a)), (rng.normal(size=shape),)) for shape in ((1, 1), (2, 2), (4, 4), (5, 5), (2, 3, 3))
    ],
)

LOG_ABS_DET = Op(
    "log_abs_det",
    evaluate=lambda a, lu: np.sum(np.log(np.abs(np.diagonal(lu, axis1=-2, axis2=-1))), axis=-1),
    infer=lambda a, lu: ValueType(a.shape[:-2], a.dtype),
    vjp=(
        lambda z_bar, z, a, lu: for_each(z_bar, a) * turned(INVERSE(a, lu)),
        None,
    ),
    lower=lambda low, i: low.log_abs_det(i),
    batching=STACKED,
    lapack=True,
    examples=lambda rng: [
        (lambda a: LOG_ABS_DET(a, LU_FACTOR(a)), (rng.normal(size=shape),))
        for shape in ((1, 1), (2, 2), (5, 5), (9, 9), (2, 3, 3), (3, 1, 1))
    ],
)

OPS = (CHOLESKY, CHOLESKY_ATTEMPT, CHOLESKY_PULLBACK, TRIANGULAR_SOLVE, LU_FACTOR, LU_SOLVE, INVERSE, DET_SIGN, LOG_ABS_DET)
