"""Lowers factorisations, solves and determinants, of one matrix and of stacks, to routines; determinants of 3 by 3 to loop steps."""

from __future__ import annotations

import math
from dataclasses import replace

from ...ir.instruction import Instruction
from ..linalg.dense.stacked import LARGEST_ORDER
from ..linalg.dense_calls import cholesky_scratch, pullback_scratch
from ..linalg.factors import eig_scratch, full_qr_scratch, full_svd_scratch, qr_scratch, svd_scratch
from ..linalg.lapack import inverse_scratch
from ..linalg.spectral import cofactors_scratch, eigh_scratch, hermitian_scratch
from ..loop_ir.views import StridedView
from . import matrices


class FactorLowering(matrices.MatrixLowering):
    """The methods that ops on square matrices, and decompositions, name in their declarations."""

    def cholesky(self, i: Instruction) -> None:
        n = i.type.shape[-1]
        operands = [self.in_memory(i.inputs[0])]
        if n <= matrices.LARGEST_FACTOR:
            operands.append(self.storage((cholesky_scratch(n),), "f64"))
        name = "cholesky" if n <= matrices.LARGEST_FACTOR else "potrf"
        self._call_or_attempt(i, name, operands, "Matrix is not positive definite")

    def _call_or_attempt(self, i: Instruction, name: str, operands: list[StridedView], failure: str, *options: int) -> None:
        """Call a factorisation. On failure it leaves the kernel, or notes that in its result."""
        attempt = i.op.name.endswith("_attempt")
        sizes = (i.type.shape[-1], *options)
        self._call_on_stack(i, name + "_attempt" * attempt, operands, sizes, "" if attempt else failure)

    def _call_on_stack(
        self, i: Instruction, name: str, operands: list[StridedView], sizes: tuple[int, ...], failure: str = "", own: int = 2
    ) -> None:
        """Call a routine that computes the last `own` axes of the result; all matrices share the scratch, an operand of one axis."""
        batch = i.type.shape[: len(i.type.shape) - own]
        target = self.result(i)
        if not batch:
            self.call(name, operands, target, sizes, failure)
            return
        count = max(math.prod(batch), 1)
        advances = [0 if len(view.shape) == 1 else math.prod(view.shape) // count for view in operands]
        self.call(name, operands, target, sizes, failure, batch, (*advances, math.prod(target.shape) // count))

    def cholesky_pullback(self, i: Instruction) -> None:
        n = i.type.shape[-1]
        operands = [*map(self.in_memory, i.inputs), self.storage((pullback_scratch(n),), "f64")]
        self._call_on_stack(i, "cholesky_pullback", operands, (n,))

    def triangular_solve(self, i: Instruction) -> None:
        lower, transposed, unit = i.params
        b = self.in_memory(i.inputs[1])
        is_stack = len(self.views[i.inputs[0]].shape) > 2
        n, k = b.shape[-2:] if is_stack else (b.shape[0], math.prod(b.shape[1:]))
        failure = "" if unit else "singular matrix: resolution failed at diagonal"
        if is_stack:
            a = self.in_memory(i.inputs[0])
            strides = (1, n) if transposed else (n, 1)
            self._call_on_stack(i, "triangular_solve", [a, b], (n, k, int(lower != transposed), *strides, int(unit)), failure)
            return
        if n * n * k > matrices.LARGEST_PRODUCT:
            a = self.in_memory(i.inputs[0])
            self.call("trsm", [a, b], self.result(i), (n, k, int(lower), int(transposed), int(unit)), failure)
            return
        a = self.views[i.inputs[0]]
        a = a if a.literal is None else self.in_memory(i.inputs[0])
        strides = a.strides[::-1] if transposed else a.strides
        self.call(
            "triangular_solve", [a, b], self.result(i), (n, k, int(lower != transposed), *strides, int(unit)), failure
        )

    def lu_factor(self, i: Instruction) -> None:
        self._call_on_stack(i, "lu_factor", [self.in_memory(i.inputs[0])], (i.type.shape[-1],))

    def lu_solve(self, i: Instruction) -> None:
        lu, b = self.in_memory(i.inputs[1]), self.in_memory(i.inputs[2])
        is_stack = len(lu.shape) > 2
        n, k = b.shape[-2:] if is_stack else (b.shape[0], math.prod(b.shape[1:]))
        operands, sizes, own = [lu, b], (n, k, int(i.params[0])), 2 if is_stack else len(b.shape)
        if 1 < k and n * n * k <= matrices.LARGEST_PRODUCT:
            self._call_on_stack(i, "lu_solve_columns", operands, sizes, "Singular matrix", own)
        else:
            scratch = self.storage((n * k,) if k > 1 else (1,), "f64")
            self._call_on_stack(i, "lu_solve", [*operands, scratch], sizes, "Singular matrix", own)

    def band_factor(self, i: Instruction) -> None:
        ab = self.in_memory(i.inputs[0])
        self.call("band_factor", [ab], self.result(i), (ab.shape[1], *map(int, i.params)))

    def band_solve(self, i: Instruction) -> None:
        factors, b = map(self.in_memory, i.inputs[1:])
        message = "the matrix is not positive definite" if i.params[2] else "singular matrix"
        self.call("band_solve", [factors, b], self.result(i), (b.shape[0], math.prod(b.shape[1:]), *map(int, i.params)), message)

    def det_sign(self, i: Instruction) -> None:
        lu = self.in_memory(i.inputs[0])
        self._call_on_stack(i, "det_sign", [lu], (lu.shape[-1],), own=0)

    def _log_of_diagonal(self, lu: StridedView, target: StridedView) -> None:
        """The sum of the logarithms of the factors' diagonals."""
        *batch, _, n = lu.shape
        *leading, row, column = lu.strides
        diagonal = replace(lu, shape=(*batch, n), strides=(*leading, row + column))
        self.step((*batch, n), [(diagonal, diagonal.strides)], "log(absolute(r0))", target, (*target.strides, 0), None if n == 1 else "add")

    def log_abs_det(self, i: Instruction) -> None:
        self._log_of_diagonal(self.views[i.inputs[1]], self.result(i))

    def inverse(self, i: Instruction) -> None:
        n = i.type.shape[-1]
        operands, name = [self.in_memory(i.inputs[1])], "inverse"
        if n**3 > matrices.LARGEST_PRODUCT:
            operands, name = [*operands, self.storage((inverse_scratch(n),), "f64")], "getri"
        self._call_on_stack(i, name, operands, (n,), "Singular matrix")

    def det(self, i: Instruction) -> None:
        shape, n = i.type.shape, self.views[i.inputs[1]].shape[-1]
        if n <= LARGEST_ORDER:
            self._call_on_stack(i, "det", [self.in_memory(i.inputs[1])], (n,), own=0)
            return
        lu, sign, logarithm = self.views[i.inputs[1]], self.storage(shape, "f64"), self.storage(shape, "f64")
        self.call("det_sign", [self.in_memory(i.inputs[1])], sign, (n,), batch=shape, advances=((n + 1) * n, 1) if shape else ())
        self._log_of_diagonal(lu, logarithm)
        target = self.result(i)
        self.step(shape, [(sign, sign.strides), (logarithm, logarithm.strides)], "r0 * exp(r1)", target, target.strides)

    def cofactors(self, i: Instruction) -> None:
        n = i.type.shape[-1]
        scratch = self.storage((cofactors_scratch(n),), "f64")
        self._call_on_stack(i, "cofactors", [*map(self.in_memory, i.inputs), scratch], (n,))

    def det_3(self, i: Instruction) -> None:
        """By elimination. Rows are rotated so that the largest number of the first column leads; a rotation changes no sign."""
        shape, entries = i.type.shape, self._entries_of_three(self.views[i.inputs[0]])

        def value(expression: str, *reads: StridedView, kind: str = "f64") -> StridedView:
            made = self.storage(shape, kind)
            self.step(shape, [(read, read.strides) for read in reads], expression, made, made.strides)
            return made

        sizes = [value("absolute(r0)", entries[r][0]) for r in range(3)]
        is_first = value("(r0 >= r1) & (r0 >= r2)", *sizes, kind="i1")
        is_second = value("r0 >= r1", *sizes[1:], kind="i1")
        top, middle, low = (
            [value("select(r0, r1, select(r2, r3, r4))", is_first, e[r - 3], is_second, e[r - 2], e[r - 1]) for e in zip(*entries)]
            for r in range(3)
        )
        divisor = value("select(r0 == 0.0, 1.0, r0)", top[0])
        reduced = []
        for line in (middle, low):
            factor = value("r0 / r1", line[0], divisor)
            reduced += [value("r2 - r0 * r1", factor, top[c], line[c]) for c in (1, 2)]
        target = self.result(i)
        self.step(shape, [(v, v.strides) for v in (top[0], *reduced)], "r0 * (r1 * r4 - r2 * r3)", target, target.strides)

    @staticmethod
    def _entries_of_three(x: StridedView) -> list[list[StridedView]]:
        *batch, row, column = x.strides
        shape = x.shape[:-2]
        return [[replace(x, shape=shape, offset=x.offset + r * row + c * column, strides=tuple(batch)) for c in range(3)] for r in range(3)]

    def cofactors_3(self, i: Instruction) -> None:
        entries, target = self._entries_of_three(self.views[i.inputs[0]]), self.result(i)
        for r, line in enumerate(self._entries_of_three(target)):
            for c, written in enumerate(line):
                after, before = entries[r - 2], entries[r - 1]
                reads = [(v, v.strides) for v in (after[c - 2], before[c - 1], after[c - 1], before[c - 2])]
                self.step(written.shape, reads, "r0 * r1 - r2 * r3", written, written.strides, is_disjoint_part=True)

    def svd(self, i: Instruction) -> None:
        x = self.in_memory(i.inputs[0])
        m, n = x.shape[-2:]
        self._call_on_stack(i, "svd", [x, self.storage((svd_scratch(m, n),), "f64")], (m, n), "SVD did not converge", own=1)

    def svd_full(self, i: Instruction) -> None:
        x = self.in_memory(i.inputs[0])
        m, n = x.shape[-2:]
        self._call_on_stack(i, "svd_full", [x, self.storage((full_svd_scratch(m, n),), "f64")], (m, n), "SVD did not converge", own=1)

    def qr_full(self, i: Instruction) -> None:
        x = self.in_memory(i.inputs[0])
        m, n = x.shape[-2:]
        self._call_on_stack(i, "qr_full", [x, self.storage((full_qr_scratch(m, n),), "f64")], (m, n), own=1)

    def qr(self, i: Instruction) -> None:
        x = self.in_memory(i.inputs[0])
        m, n = x.shape[-2:]
        self._call_on_stack(i, "qr", [x, self.storage((qr_scratch(m, n),), "f64")], (m, n), own=1)

    def eig(self, i: Instruction) -> None:
        x = self.in_memory(i.inputs[0])
        n = x.shape[-1]
        self._call_on_stack(i, "eig", [x, self.storage((eig_scratch(n),), "f64")], (n,), "Eigenvalues did not converge", own=1)

    def eigh(self, i: Instruction) -> None:
        n = i.type.shape[-1]
        scratch = self.storage((eigh_scratch(n),), "f64")
        operands = [self.in_memory(i.inputs[0]), scratch]
        self._call_or_attempt(i, "eigh", operands, "Eigenvalues did not converge", int(i.params[0]))

    def hermitian_eigh(self, i: Instruction) -> None:
        x = self.views[i.inputs[0]]
        n = x.shape[-2]
        *batch, row, column, part = x.strides
        by_columns = self.storage(x.shape, "f64")
        self.copy(replace(x, strides=(*batch, column, row, part)), by_columns)
        operands = [by_columns, self.storage((hermitian_scratch(n),), "f64")]
        self._call_on_stack(i, "hermitian_eigh", operands, (n, int(i.params[0])), "Eigenvalues did not converge", own=1)
