"""The routines that a kernel calls on whole arrays: SciPy's, this package's on matrices, and index routines.

Each has two equivalent forms: `emit` appends LLVM text and returns the name of an i1 that is true on failure (or None); `python` does the
same to flat NumPy arrays, for the readable listing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..math.simd import Code
from . import (
    bands as band_routines,
    dense_calls,
    factors as factor_routines,
    fourier as fourier_routines,
    lapack as lapack_routines,
    sparse_products,
    spectral as spectral_routines,
)
from .index_routines import INDEX_ROUTINES, PREFIX
from .lapack import Counts, size_text


@dataclass(frozen=True, slots=True)
class Routine:
    """See the module's docstring: emit(code, slots, operands, result, sizes, number) and python(operands, result, sizes)."""

    emit: Callable[..., str | None]
    python: Callable[..., bool | None]


def _void_emitter(symbol: str) -> Callable[..., None]:
    def emit(
        code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int, counts: Counts = ()
    ) -> None:
        arguments = [f"ptr {p}" for p in (*operands, result)] + [f"i64 {size_text(size)}" for size in counts or sizes]
        code.call_external(symbol, arguments)

    return emit


def _index_python(function: Callable[..., None]) -> Callable[..., None]:
    def python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> None:
        function(*operands, result, *sizes)

    return python


def _in_lanes_only(*_: object) -> None:
    raise NotImplementedError("compiler.linalg.stacked_calls has all calls of this routine")


def _attempt(routine: Routine, rows: int) -> Routine:
    """Make a factorisation of `n` times `n + rows` results infallible: an added row begins with 1 on success, 0 on failure."""

    def emit(
        code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int
    ) -> None:
        n = sizes[0]
        failed = routine.emit(code, slots, operands, result, sizes, number)
        row = code.emit(f"getelementptr double, ptr {result}, i64 {n * (n + rows)}")
        code.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        code.line(f"call void @llvm.memset.p0.i64(ptr {row}, i8 0, i64 {8 * n}, i1 false)")
        success = code.emit(f"select i1 {failed}, double 0.0, double 1.0")
        code.line(f"store double {success}, ptr {row}")

    def python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> None:
        n = sizes[0]
        failed = routine.python(operands, result[: n * (n + rows)], sizes)
        result[n * (n + rows) :] = 0.0
        result[n * (n + rows)] = not failed

    return Routine(emit, python)


def for_each_matrix(
    python: Callable[..., bool | None], operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...], count: int,
    advances: tuple[int, ...],
) -> bool:  # fmt: skip
    """Run the Python form of a routine on each matrix of a stack. True if it failed on one."""
    width = advances[-1]
    for k in range(count):
        parts = [array[k * advance :] for array, advance in zip(operands, advances)]
        if python(parts, result[k * width : (k + 1) * width], sizes):
            return True
    return False


ROUTINES: dict[str, Routine] = {
    "gemm": Routine(lapack_routines.gemm, lapack_routines.gemm_python),
    "potrf": Routine(lapack_routines.cholesky, lapack_routines.cholesky_python),
    "trsm": Routine(lapack_routines.triangular_solve, lapack_routines.triangular_solve_python),
    "lu_factor": Routine(lapack_routines.lu_factor, lapack_routines.lu_factor_python),
    "lu_solve": Routine(lapack_routines.lu_solve, lapack_routines.lu_solve_python),
    "lu_solve_columns": Routine(dense_calls.lu_solve_columns, lapack_routines.lu_solve_python),
    "inverse": Routine(dense_calls.inverse, lapack_routines.inverse_python),
    "getri": Routine(lapack_routines.inverse, lapack_routines.inverse_python),
    "det": Routine(_in_lanes_only, lapack_routines.det_python),
    "det_sign": Routine(lapack_routines.det_sign, lapack_routines.det_sign_python),
    "eigh": Routine(spectral_routines.eigh, spectral_routines.eigh_python),
    "svd": Routine(factor_routines.svd, factor_routines.svd_python),
    "svd_full": Routine(factor_routines.svd_full, factor_routines.svd_full_python),
    "qr_full": Routine(factor_routines.qr_full, factor_routines.qr_full_python),
    "qr": Routine(factor_routines.qr, factor_routines.qr_python),
    "eig": Routine(factor_routines.eig, factor_routines.eig_python),
    "fourier": Routine(fourier_routines.fourier, fourier_routines.fourier_python),
    "hermitian_eigh": Routine(spectral_routines.hermitian_eigh, spectral_routines.hermitian_eigh_python),
    "band_factor": Routine(band_routines.factor, band_routines.factor_python),
    "band_solve": Routine(band_routines.solve, band_routines.solve_python),
    "cofactors": Routine(spectral_routines.cofactors, spectral_routines.cofactors_python),
    "product": Routine(dense_calls.product, dense_calls.product_python),
    "cholesky": Routine(dense_calls.cholesky, lapack_routines.cholesky_python),
    "cholesky_pullback": Routine(dense_calls.cholesky_pullback, dense_calls.cholesky_pullback_python),
    "triangular_solve": Routine(dense_calls.triangular_solve, dense_calls.triangular_solve_python),
    **{name: Routine(_void_emitter(PREFIX + name), _index_python(function)) for name, function in INDEX_ROUTINES.items()},
    **{f"sparse_{name}": Routine(_void_emitter(sparse_products.PREFIX + name), python) for name, python in sparse_products.PYTHON.items()},
}
for _name, _rows in (("potrf", 0), ("cholesky", 0), ("eigh", 1)):
    ROUTINES[f"{_name}_attempt"] = _attempt(ROUTINES[_name], _rows)
