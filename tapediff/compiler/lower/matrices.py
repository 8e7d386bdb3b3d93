"""Lowers matrix products to loops or BLAS, and transforms, sparse products and searches to their routines."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ...ir.instruction import Instruction
from ..linalg.fourier import bits_of
from ..linalg.sorting import scratch_size
from ..loop_ir.program import RoutineCall
from ..loop_ir.views import StridedView, contiguous, reshaped_strides, same_strides
from .step_builder import StepBuilder

# Products below this many multiplications are loops: a BLAS call costs more than it saves.
LARGEST_LOOP_PRODUCT = 2000

# Products in a stack below this many multiplications each, or of fewer columns, are loops over the whole stack.
SMALLEST_STACKED_PRODUCT, FEWEST_STACKED_COLUMNS = 512, 8

# Sums of products up to this length are unrolled at each element of a product.
LONGEST_UNROLLED_SUM = 4

# Windows of a correlation up to this length are unrolled.
LONGEST_UNROLLED_WINDOW = 8

# Sums of at least this length, for at most this many elements, keep all their accumulators in registers.
SHORTEST_NARROW_SUM, MOST_NARROW_SUMS = 128, 64

# Beyond these limits (multiplications, order of a matrix) multi-threaded BLAS and LAPACK may be faster than one thread. A product takes 1.1
# times as long as one of OpenBLAS on one thread, and runs on the threads that the user asks for.
LARGEST_PRODUCT = 2**25
LARGEST_FACTOR = 1024


class MatrixLowering(StepBuilder):
    """The methods that matrix ops name in their declarations."""

    def matmul(self, i: Instruction) -> None:
        x, y = (self.views[k] for k in i.inputs)
        x_ndim, y_ndim = len(x.shape), len(y.shape)
        rows = x.shape[-2:-1] if x_ndim > 1 else ()
        columns = y.shape[-1:] if y_ndim > 1 else ()
        inner = x.shape[-1:]
        batch = i.type.shape[: len(i.type.shape) - len(rows) - len(columns)]
        multiplications = int(np.prod((*batch, *rows, *inner, *columns)))
        reads_rows = columns and columns[0] > 1 and (columns[0] <= 8 or y.strides[-1] == 1)
        if reads_rows and 1 < inner[0] <= LONGEST_UNROLLED_SUM and i.type.dtype.kind == "f":
            self._unrolled_product(i, x, y, batch, rows, columns)
            return
        if rows and columns and not batch and self._narrow_product(i, x, y):
            return
        if rows and columns and not batch and multiplications > LARGEST_LOOP_PRODUCT:
            self._whole_product(i, multiplications)
            return
        if rows and columns and batch and i.type.dtype.kind == "f" and self._product_of_stacks(i):
            return
        self._matmul_loops(i, x, y, batch, rows, inner, columns)

    def _whole_product(self, i: Instruction, multiplications: int) -> None:
        m, n = i.type.shape
        if multiplications > LARGEST_PRODUCT and not self.threads:
            (x, x_transposed), (y, y_transposed) = (self.in_memory_or_transposed(k) for k in i.inputs)
            self.call("gemm", [x, y], self.result(i), (m, n, x.shape[-1], x_transposed, y_transposed))
            return
        x, y = (self.views[k] for k in i.inputs)
        x = self.in_memory(i.inputs[0]) if x.literal is not None else x
        y = y if y.literal is None and 1 in y.strides else self.in_memory(i.inputs[1])
        self.call("product", [x, y], self.result(i), (m, n, x.shape[-1], *x.strides, *y.strides))

    def _product_of_stacks(self, i: Instruction) -> bool:
        """Lower to tiles: of all rows at once if the right operand is one matrix, else matrix by matrix. False if that does not fit."""
        m, n, k = *i.type.shape[-2:], self.views[i.inputs[0]].shape[-1]
        *batch, _, _ = i.type.shape
        count, (x_count, y_count) = math.prod(batch), (math.prod(self.views[number].shape[:-2]) for number in i.inputs)
        if count * m * n * k <= LARGEST_LOOP_PRODUCT or {x_count, y_count} - {1, count}:
            return False
        if y_count == 1:
            x, y = self._as_stack(i.inputs[0], (count * m, k)), self._as_stack(i.inputs[1], (k, n), is_packed=True)
            self.call("product", [x, y], self.result(i), (count * m, n, k, *x.strides, *y.strides))
            return True
        if m * n * k < SMALLEST_STACKED_PRODUCT or n < FEWEST_STACKED_COLUMNS:
            return False
        x, y = self._as_stack(i.inputs[0], (x_count, m, k)), self._as_stack(i.inputs[1], (y_count, k, n), is_packed=True)
        advances = (x.strides[0] if x_count > 1 else 0, y.strides[0], m * n)
        self.call("product", [x, y], self.result(i), (m, n, k, *x.strides[1:], *y.strides[1:]), batch=tuple(batch), advances=advances)
        return True

    def _as_stack(self, number: int, shape: tuple[int, ...], is_packed: bool = False) -> StridedView:
        """A value with its leading axes merged, in memory. `is_packed`: the rows or columns of its matrices have no gaps."""
        view = self.views[number]
        strides = None if view.literal is not None else reshaped_strides(view.shape, view.strides, shape)
        if strides is None or (is_packed and 1 not in strides[-2:]):
            view, strides = self.in_memory(number), contiguous(shape)
        return replace(view, shape=shape, strides=strides)

    def _narrow_product(self, i: Instruction, x: StridedView, y: StridedView) -> bool:
        """Lower long sums for a few elements to one loop over the terms. False if the product is not of that kind.

        Its vectors are rows of the result (as in a pullback's cotangents), columns, or the terms of each element.
        """
        (m, n), k = i.type.shape, x.shape[1]
        if k < SHORTEST_NARROW_SUM or m * n > MOST_NARROW_SUMS or i.type.dtype.kind != "f":
            return False
        by_rows, by_columns = y.strides[1] == 1 and m <= 8, x.strides[0] == 1 and n <= 8
        if not by_rows and not by_columns and (x.strides[1], y.strides[0]) != (1, 1):
            return False
        rows = [replace(x, offset=x.offset + r * x.strides[0]) for r in range(m)]
        columns = [replace(y, offset=y.offset + c * y.strides[1]) for c in range(n)]
        target = self.result(i)
        if by_rows:
            lines = [((k, n), (row, (x.strides[1], 0)), (y, y.strides)) for row in rows]
            parts = [(r * n, (1,)) for r in range(m)]
        elif by_columns:
            lines = [((k, m), (x, x.strides[::-1]), (column, (y.strides[0], 0))) for column in columns]
            parts = [(c, (n,)) for c in range(n)]
        else:
            lines = [((k,), (row, x.strides[1:]), (column, y.strides[:1])) for row in rows for column in columns]
            parts = [(e, ()) for e in range(m * n)]
        for (domain, *reads), (offset, strides) in zip(lines, parts):
            # A storage for each: one that several steps add to would be in memory, not in registers.
            part = self.storage(domain[1:], "f64")
            self.step(domain, reads, "r0 * r1", part, (0, *part.strides), "add")
            view = replace(target, shape=part.shape, offset=target.offset + offset)
            self.step(part.shape, [(part, part.strides)], "r0", view, strides, is_disjoint_part=True)
        return True

    def _unrolled_product(
        self,
        i: Instruction,
        x: StridedView,
        y: StridedView,
        batch: tuple[int, ...],
        rows: tuple[int, ...],
        columns: tuple[int, ...],
    ) -> None:
        """Unroll a short sum of products at every element of the result: no loop of its own, so it fuses with elementwise steps."""
        target = self.result(i)
        x_strides = (*self._batch_reads(x, len(rows) + 1, len(batch)), *(x.strides[-2:-1] if rows else ()), 0)
        y_strides = (*self._batch_reads(y, 2, len(batch)), *(0,) * len(rows), y.strides[-1])
        reads, expression = [], "0.0"
        for p in range(x.shape[-1]):
            expression = f"fma(r{2 * p}, r{2 * p + 1}, {expression})"
            reads.append((replace(x, offset=x.offset + p * x.strides[-1]), x_strides))
            reads.append((replace(y, offset=y.offset + p * y.strides[-2]), y_strides))
        self.step((*batch, *rows, *columns), reads, expression, target, target.strides)

    def _batch_reads(self, view: StridedView, own: int, batch_ndim: int) -> tuple[int, ...]:
        """An operand's strides over the batch axes of the result; its last axes are its own."""
        strides = self._batch_strides(view, view.strides[: len(view.strides) - own])
        return (0,) * (batch_ndim - len(strides)) + strides

    def _matmul_loops(
        self, i: Instruction, x: StridedView, y: StridedView, batch: tuple[int, ...], rows: tuple[int, ...], inner: tuple[int, ...],
        columns: tuple[int, ...],
    ) -> None:  # fmt: skip
        """Emit one loop nest in memory order: row by row of the matrix, or columns innermost."""
        target = self.result(i)
        zero_r, zero_c = (0,) * len(rows), (0,) * len(columns)
        x_batch = self._batch_reads(x, len(rows) + 1, len(batch))
        y_batch = self._batch_reads(y, len(columns) + 1, len(batch))
        x_strides = (*x_batch, *(x.strides[-2:-1] if rows else ()), x.strides[-1], *zero_c)
        y_strides = (
            *y_batch,
            *zero_r,
            y.strides[-2] if columns else y.strides[-1],
            *(y.strides[-1:] if columns else ()),
        )
        z_row = target.strides[len(batch) : len(batch) + len(rows)]
        z_strides = (*target.strides[: len(batch)], *z_row, 0, *(target.strides[-1:] if columns else ()))
        domain = (*batch, *rows, *inner, *columns)
        order = list(range(len(domain)))
        if len(order) >= 2 and not columns and x.strides[-1] != 1 and rows and x.strides[-2] == 1:
            order[-2:] = order[-1], order[-2]
        elif columns and not rows and y.strides[-1] != 1 and y.strides[-2] == 1:
            order[-2:] = order[-1], order[-2]
        pick = lambda strides: tuple(strides[k] for k in order)  # noqa: E731 -- three uses in the next two lines
        combine = None if inner == (1,) else "add"
        self.step(
            pick(domain), [(x, pick(x_strides)), (y, pick(y_strides))], "r0 * r1", target, pick(z_strides), combine
        )

    def correlate(self, i: Instruction) -> None:
        """Lower to sums of products, read from the windows where they are.

        Short sums are unrolled at each element, few of them run side by side; else the longer of the two axes is the outer loop.
        """
        x, v = (self.views[k] for k in i.inputs)
        (s,), (t,), (count,), (length,) = x.strides, v.strides, i.type.shape, v.shape
        target = self.result(i)
        if length <= LONGEST_UNROLLED_WINDOW:
            windows = [(replace(x, offset=x.offset + j * s), (s,)) for j in range(length)]
            weights = [(replace(v, offset=v.offset + j * t), (0,)) for j in range(length)]
            expression = "0.0"
            for j in range(length):
                expression = f"fma(r{j}, r{length + j}, {expression})"
            self.step((count,), windows + weights, expression, target, target.strides)
        elif count <= LONGEST_UNROLLED_WINDOW:
            for k in range(count):
                part = self.storage((), "f64")
                self.step((length,), [(replace(x, offset=x.offset + k * s), (s,)), (v, (t,))], "r0 * r1", part, (0,), "add")
                one = replace(target, shape=(), offset=target.offset + k * target.strides[0])
                self.step((), [(part, ())], "r0", one, (), is_disjoint_part=True)
        elif count < length:
            self.step((length, count), [(x, (s, s)), (v, (t, 0))], "r0 * r1", target, (0, *target.strides), "add")
        else:
            self.step((count, length), [(x, (s, s)), (v, (0, t))], "r0 * r1", target, (*target.strides, 0), "add")

    @staticmethod
    def _batch_strides(view: StridedView, strides: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(0 if e == 1 else s for s, e in zip(strides, view.shape))

    def in_memory_or_transposed(self, number: int) -> tuple[StridedView, int]:
        """A matrix as BLAS takes it: contiguous, or the transpose of a contiguous one (1)."""
        view = self.views[number]
        if view.literal is None and same_strides(
            view.strides, tuple(reversed(contiguous(view.shape[::-1]))), view.shape
        ):
            return view, 1
        return self.in_memory(number), 0

    def call(
        self, routine: str, operands: list[StridedView], target: StridedView, sizes: tuple[int, ...], failure: str = "",
        batch: tuple[int, ...] = (), advances: tuple[int, ...] = (),
    ) -> None:  # fmt: skip
        """Call a routine on matrices, or on each of a stack with the axes `batch`: operands and result then advance by `advances` entries.

        A result without entries needs no call: LAPACK takes no matrices without rows.
        """
        if math.prod(target.shape) == 0:
            return
        number = -1
        if failure:
            number = len(self.failures)
            self.failures.append(failure)
        pairs = tuple((view.storage, view.offset) for view in operands)
        self.steps.append(RoutineCall(routine, pairs, target.storage, sizes, number, self.site, math.prod(batch), advances))

    def fourier(self, i: Instruction) -> None:
        """Transform lines along one axis. Each call takes the lines of one index of the leading axes; NumPy's loop takes strides."""
        x = self.in_memory(i.inputs[0])
        axis, scale = i.params[0], i.params[-1]
        count, n_in, n_out, width_in, width_out = 1, x.shape[axis], i.type.shape[axis], 2, 2
        if i.op.name == "dft":
            kind = 0 if i.params[1] else 1
        elif i.op.name == "real_dft":
            kind, width_in = 3 if n_in % 2 else 2, 1
        else:
            kind, width_out = 4, 1
        before, after = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :]) // (1 if width_in == 1 else 2)
        if after == 1:  # contiguous lines
            count, before, lines, steps = before, 1, (n_in * width_in, n_out * width_out), (width_in, width_out)
        else:
            count, lines, steps = after, (width_in, width_out), (after * width_in, after * width_out)
        sizes = (kind, count, n_in, n_out, *lines, *steps, bits_of(scale))
        advances = (n_in * after * width_in, n_out * after * width_out)
        self.call("fourier", [x], self.result(i), sizes, batch=(before,), advances=advances)

    def sparse(self, i: Instruction) -> None:
        operands = [*map(self.floats_in_memory, i.inputs[:2]), *map(self.in_memory, i.inputs[2:])]
        samples = i.op.name == "sparse_sampled"
        width = i.params[0] if i.params else operands[1].shape[0]
        columns = math.prod((operands[1].shape if samples else i.type.shape)[1:])
        self.call(i.op.name, operands, self.result(i), (operands[3].shape[0] - 1, width, columns))

    def index_routine(self, i: Instruction) -> None:
        name = i.op.name
        # Beyond 2**53 neighbouring integers become equal doubles.
        integers = name != "searchsorted" and self.kind_of(self.views[i.inputs[0]]) == "i64"
        operands = [self.in_memory(k) if integers else self.floats_in_memory(k) for k in i.inputs]
        if name == "searchsorted":
            a, v = operands
            sizes = (a.shape[0], int(np.prod(v.shape)), int(i.params[0] == "right"))
            self.call("searchsorted", operands, self.result(i), sizes)
            return
        (axis,) = i.params
        shape = operands[0].shape
        before, after = int(np.prod(shape[:axis])), int(np.prod(shape[axis + 1 :]))
        if name == "argsort":
            operands.append(self.storage((scratch_size(shape[axis]),), "f64"))
            self.call(name, operands, self.result(i), (before, shape[axis], after, int(integers)))
        else:
            self.call(name + "_integers" * integers, operands, self.result(i), (before, shape[axis], after))
