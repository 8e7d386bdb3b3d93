"""Routines on the leading blocks of matrices: what they compute is that of the blocks alone, whatever lies beyond."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from tapediff.compiler.codegen.emitter import Emitter
from tapediff.compiler.codegen.python_listing import run_listing
from tapediff.compiler.jit.native_function import NativeFunction
from tapediff.compiler.linalg.dense_calls import cholesky_scratch, pullback_scratch
from tapediff.compiler.linalg.lapack import lu_factor_python
from tapediff.compiler.linalg.routine_table import ROUTINES
from tapediff.compiler.linalg.spectral import cofactors_scratch
from tapediff.compiler.loop_ir.leading_blocks import _FORMS, own_routine
from tapediff.compiler.loop_ir.program import Extent, Program, RoutineCall, Storage

N, K = 70, 37
# Around the lanes of processors, and the blocks of the routines.
COUNTS = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 23, 31, 32, 33, 47, 63, 64, 65, 69, 70]


def definite(rng: np.random.Generator, n: int) -> np.ndarray:
    a = rng.normal(size=(n, n))
    return a @ a.T + n * np.eye(n)


def factors(a: np.ndarray) -> np.ndarray:
    n = len(a)
    found = np.zeros((n + 1) * n)
    lu_factor_python([a.ravel()], found, (n,))
    return found.reshape(n + 1, n)


def within(block: np.ndarray, rows: int, columns: int, has_pivots: bool = False) -> np.ndarray:
    """A block in a larger array, with NaN beyond."""
    n = block.shape[1]
    found = np.full((rows + has_pivots, columns), np.nan)
    found[: block.shape[0] - has_pivots, :n] = block[:n] if has_pivots else block
    if has_pivots:
        found[-1, :n] = block[-1]
    return found.ravel()


def operands_of(routine: str, rng: np.random.Generator, n: int, k: int, flags: tuple[int, ...]) -> Any:
    """The sizes of a routine; those that end, and where; its operands, each a block and the extents of its array, or scratch; the shape of
    its result."""
    a, b = definite(rng, n), rng.normal(size=(n, k))
    l = np.tril(a)
    if routine == "product":
        x, y = rng.normal(size=(n, k)), rng.normal(size=(k, n))
        return (N, N, K, K, 1, N, 1), {0: n, 1: n, 2: k}, [(x, N, K), (y, K, N)], (N, N)
    if routine == "triangular_solve":
        lower, by_columns, unit = flags
        triangle = l if lower else l.T
        stored = triangle.T if by_columns else triangle
        return (N, K, lower, *((1, N) if by_columns else (N, 1)), unit), {0: n, 1: k}, [(stored, N, N), (b, N, K)], (N, K)
    if routine in ("lu_solve", "lu_solve_columns"):
        k = 1 if routine == "lu_solve" else k
        width = 1 if routine == "lu_solve" else K
        rest = [1] if routine == "lu_solve" else []
        return (N, width, flags[0]), {0: n, **({1: k} if width > 1 else {})}, [(factors(a + b[:, :1] * 3), N, N, True), (b[:, :k], N, width), *rest], (N, width)
    if routine in ("inverse", "det_sign"):
        return (N,), {0: n}, [(factors(rng.normal(size=(n, n))), N, N, True)], (N, N) if routine == "inverse" else (1, 1)
    if routine == "cofactors":
        return (N,), {0: n}, [(a / n, N, N), (factors(a / max(n, 1)), N, N, True), cofactors_scratch(N)], (N, N)
    if routine == "cholesky_pullback":
        return (N,), {0: n}, [(np.linalg.cholesky(a), N, N), (np.tril(rng.normal(size=(n, n))), N, N), pullback_scratch(N)], (N, N)
    scratch = [cholesky_scratch(N)] if routine == "cholesky" else []
    return (N,), {0: n}, [(a, N, N), *scratch], (N + 1, N) if routine == "lu_factor" else (N, N)


def program_of(call: RoutineCall, sizes: list[int], result: int, count: int) -> Program:
    storages = [Storage(k, size, "f64", "input", k, in_memory=True) for k, size in enumerate([*sizes, result])]
    storages += [Storage(len(storages) + k, 1, "i64", "input", len(storages) + k, in_memory=True) for k in range(count)]
    return Program("", storages, [call], b"", len(storages), 0, ("failed",))


def native(program: Program) -> Any:
    emitter = Emitter(program, "tapediff_block")
    made = NativeFunction(emitter.text(), emitter.name, emitter.code.symbols, addresses=emitter.addresses)
    called = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 4)(made.address)
    report = np.zeros(4, np.int64)

    def run(arrays: list[np.ndarray]) -> int:
        places = np.array([a.ctypes.data for a in arrays], np.int64)
        return called(places.ctypes.data, places.ctypes.data, report.ctypes.data, report.ctypes.data)

    run.keeps = made  # type: ignore[attr-defined]
    return run


CASES = [
    ("product", ()), ("cholesky", ()), ("potrf", ()), ("cholesky_pullback", ()), ("lu_factor", ()), ("inverse", ()), ("det_sign", ()), ("cofactors", ()),
    *(("triangular_solve", (lower, by_columns, unit)) for lower in (0, 1) for by_columns in (0, 1) for unit in (0, 1)),
    *((name, (transposed,)) for name in ("lu_solve", "lu_solve_columns") for transposed in (0, 1)),
]  # fmt: skip


def test_all_forms_are_tried() -> None:
    # Sorts are among tests/targets/guarded/size_programs.py.
    assert {name for name, _ in CASES} == {*_FORMS} - {"argsort"}


@pytest.mark.parametrize(("routine", "flags"), CASES)
def test_routines_compute_the_leading_block(routine: str, flags: tuple[int, ...]) -> None:
    """As the routine does on the block alone; nothing else is written. NaN beyond reaches nothing."""
    made = {}
    for n in COUNTS:
        if routine == "cofactors" and not n:
            continue  # LAPACK refuses it, and so does the routine of that size
        rng = np.random.default_rng(n)
        k = (3 * n + 1) % K + 1
        sizes, ends, given, shape = operands_of(routine, rng, n, k, flags)
        arrays = [within(*one) if isinstance(one, tuple) else np.zeros(one) for one in given]
        first = len(arrays) + 1
        ended = tuple([Extent(size, frozenset({(first + list(ends).index(p), 0)})) if p in ends else size for p, size in enumerate(sizes)])
        call = RoutineCall(routine, tuple((p, 0) for p in range(len(arrays))), len(arrays), ended, 0)
        if not made:
            program = program_of(call, [a.size for a in arrays], shape[0] * shape[1], len(ends))
            made["run"], made["program"] = native(program), program
        numbers = [np.array([number], np.int64) for number in ends.values()]
        results = [np.full(shape[0] * shape[1], 123.0) for _ in range(2)]
        assert made["run"]([*arrays, results[0], *numbers]) == 0
        assert run_listing(made["program"], [*arrays, results[1], *numbers], []) is None
        # The block alone.
        alone = [one[0].ravel().copy() if isinstance(one, tuple) else np.zeros(one) for one in given]
        own = [ends.get(p, size) for p, size in enumerate(sizes)]
        if routine == "product":
            own[3:] = k, 1, n, 1
        if routine == "triangular_solve":
            own[3:5] = (1, n) if flags[1] else (n, 1)
        has_pivots, columns = routine == "lu_factor", own[0] if shape[1] == N else own[1] if len(own) > 1 else 1
        rows = 1 if routine == "det_sign" else n
        expected = np.zeros((rows + has_pivots) * columns)
        ROUTINES[routine].python(alone, expected, tuple(own))
        block = expected.reshape(rows + has_pivots, columns)
        tolerance = 1e-9 * max(1.0, float(np.abs(block).max(initial=0.0)))  # the order of sums differs, and factors of factors add up
        for result, is_exact in zip(results, (False, True)):
            whole = result.reshape(shape)
            np.testing.assert_allclose(whole[:rows, :columns], block[:rows], rtol=1e-9, atol=0.0 if is_exact else tolerance)
            if has_pivots:
                assert np.array_equal(whole[-1].view(np.int32)[:n], block[-1].view(np.int32)[:n])
        # Some copy whole rows first.
        written = columns if routine in ("product", "cholesky", "cholesky_pullback", "det_sign", "cofactors") else None
        for result in results:
            rest = result.reshape(shape)[: len(result) // shape[1] - has_pivots]
            rest[:rows, :written] = 123.0
            assert (rest == 123.0).all()


@pytest.mark.parametrize(
    "call",
    [
        *(RoutineCall("gemm", ((0, 0), (1, 0)), 2, (5, 4, 3, x, y)) for x in (0, 1) for y in (0, 1)),
        *(RoutineCall("trsm", ((3, 0), (1, 0)), 2, (4, 3, lower, turned, unit)) for lower in (0, 1) for turned in (0, 1) for unit in (0, 1)),
        *(RoutineCall("lu_solve", ((4, 0), (1, 0), (0, 0)), 2, (4, 3, turned)) for turned in (0, 1)),
        RoutineCall("getri", ((4, 0), (0, 0)), 2, (4,)),
    ],
)
def test_own_routines_compute_what_those_of_libraries_do(call: RoutineCall) -> None:
    rng, own = np.random.default_rng(0), own_routine(call)
    assert own.routine != call.routine
    size = 20 if call.routine == "gemm" else 16 if call.routine == "getri" else 12
    arrays = [rng.normal(size=64), rng.normal(size=64), None, definite(rng, 4).ravel(), factors(rng.normal(size=(4, 4))).ravel()]
    found, expected = np.zeros(size), np.zeros(size)
    ROUTINES[call.routine].python([arrays[p] for p, _ in call.operands], expected, call.sizes)
    ROUTINES[own.routine].python([arrays[p] for p, _ in own.operands], found, own.sizes)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
