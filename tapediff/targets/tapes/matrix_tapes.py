"""Tapes of full Jacobians and Hessians: from triplets if possible, else from products with few vectors, all in one pass.

If the pattern of the matrix is sparse, columns without entries in the same row share a product. A pattern is found once and kept
with its tape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...errors import MemoryBudgetExceeded, UnsupportedFunction
from ...ir.instruction import INT64, Operand, Tree, ValueType
from ...ir.tape import Tape, kept_with_tape
from ...ops.arrays.indexing import GATHER, PUT, are_distinct
from ...ops.arrays.shape import BROADCAST
from ...passes.pipeline import run_passes
from ...recording.arrays.tracked import TrackedArray
from ...recording.python_state.caught_errors import refusals_forgotten
from ...recording.recorder import Recorder
from ...transforms.coloring import column_colors, symmetric_colors
from ...transforms.reverse import continued, finished
from ...transforms.sparsity import jacobian_pattern
from ...transforms.sparsity_rules import Pattern
from .gradient_tape import joint_tape, require_differentiable, with_float_output
from .operator_tapes import (
    Numbers,
    float_outputs,
    hvp_tape,
    jvp_tape,
    mapped_rows,
    require_float_outputs,
    vjp_tape,
    with_constants,
)  # fmt: skip
from .triplet_tapes import Entries, Matrix, hessian_in_triplets, jacobian_in_triplets

# A compressed matrix pays for its indices if it has at most this part of the entries, or takes this part of the products.
WORTH_COMPRESSING = 0.5

# Limits on what a sparse Hessian is made of: coefficients of triplets; variables, if all of its entries may be nonzero.
MOST_COEFFICIENTS = 2**29
MOST_DENSE = 10_000

# The cost of a forward sweep, relative to a reverse one.
FORWARD_COST = 1.2


@dataclass(frozen=True, eq=False)
class SweptEntries(Entries):
    """Entries that are read from the results of sweeps.

    Attributes:
        sources: the position of each in the flattened results.
    """

    sources: np.ndarray

    def sorted(self) -> SweptEntries:
        order = np.lexsort((self.columns, self.rows))
        return SweptEntries(self.rows[order], self.columns[order], self.sources[order])

    def by_column(self) -> SweptEntries:
        turned = SweptEntries(self.columns, self.rows, self.sources).sorted()
        return SweptEntries(turned.columns, turned.rows, turned.sources)


@dataclass(frozen=True, eq=False)
class Sweeps:
    """The products whose results make up a matrix.

    Attributes:
        colors: of each column (each row, for reverse sweeps): the number of its product.
        forward: the products are with columns of the Jacobian.
        entries: of a compressed matrix; None if the results are the matrix.
    """

    colors: np.ndarray
    forward: bool
    entries: SweptEntries | None = None

    @property
    def count(self) -> int:
        return int(self.colors.max(initial=-1)) + 1

    @property
    def cost(self) -> float:
        return self.count * (FORWARD_COST if self.forward else 1.0)

    def seeds(self, first: int, type_: ValueType) -> np.ndarray:
        """The vectors of all products, for the columns of an input, which begin at `first`."""
        seeds = np.zeros((self.count, type_.size), type_.dtype)
        seeds[self.colors[first : first + type_.size], np.arange(type_.size)] = 1.0
        return seeds.reshape(self.count, *type_.shape)


@kept_with_tape
def jacobian_tape(tape: Tape, wrt: Numbers, keep: bool = False, mode: str | None = None) -> Tape:
    """Outputs: those of the tape if `keep`; then, for each float output, its Jacobian by each of `wrt`."""
    require_differentiable(tape, wrt)
    matrix = jacobian_in_triplets(tape, wrt, keep) if mode is None else None
    if matrix is not None:
        return matrix.dense(tape)
    floated = with_float_output(tape)
    sweeps = jacobian_sweeps(tape, wrt, mode)
    product = jvp_tape(tape, wrt, keep) if sweeps.forward else vjp_tape(tape, wrt, keep)
    ins = [floated.input_types[k] for k in wrt]
    outs = [floated.output_types[k] for k in float_outputs(floated)]
    return _matrix_tape(tape, product, sweeps, outs, ins, len(tape.outputs) * keep, is_sparse=False)


@kept_with_tape
def jacobian_sweeps(tape: Tape, wrt: Numbers, mode: str | None) -> Sweeps:
    """The cheapest sweeps for all entries of a Jacobian."""
    tape = with_float_output(tape)
    require_float_outputs(tape)
    outputs = float_outputs(tape)
    columns = sum(tape.input_types[k].size for k in wrt)
    rows = sum(tape.output_types[k].size for k in outputs)
    dense = [Sweeps(np.arange(columns), True), Sweeps(np.arange(rows), False)]
    if mode is not None:
        return dense[mode == "reverse"]
    pattern = jacobian_pattern(tape, wrt, outputs) if min(rows, columns) > 1 else None
    sparse: list[Sweeps | None] = []
    if pattern is not None and pattern.nnz <= WORTH_COMPRESSING * rows * columns:
        sparse = [_compressed(pattern, True), _compressed(pattern.T.tocsr(), False)]
    choices = [*(s for s in sparse if s is not None), *dense]
    best = min(choices, key=lambda s: s.cost)
    if best.forward and not _has_forward(tape, wrt):
        best = min((s for s in choices if not s.forward), key=lambda s: s.cost)
    return best


def _has_forward(tape: Tape, wrt: Numbers) -> bool:
    """True if the forward product exists, which is the derivative of the reverse one: not through a user's own rule."""
    try:
        with refusals_forgotten():
            jvp_tape(tape, wrt)
    except UnsupportedFunction:
        return False
    return True


def _compressed(pattern: Pattern, forward: bool) -> Sweeps | None:
    colors = column_colors(pattern)
    if colors is None or colors.max(initial=0) + 1 > WORTH_COMPRESSING * pattern.shape[1]:
        return None
    rows, columns = _coordinates(pattern)
    sources = colors[columns] * pattern.shape[0] + rows
    entries = SweptEntries(rows, columns, sources) if forward else SweptEntries(columns, rows, sources)
    return Sweeps(colors, forward, entries.sorted())


def _coordinates(pattern: Pattern) -> tuple[np.ndarray, np.ndarray]:
    return np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr)), pattern.indices.astype(np.int64)


@kept_with_tape
def hessian_tape(tape: Tape, wrt: Numbers, keep: bool = False) -> Tape:
    """Outputs: those of joint_tape if `keep`; then, for each pair of `wrt`, the second derivatives."""
    matrix = hessian_in_triplets(tape, wrt, keep)
    if matrix is not None:
        return matrix.dense(tape)
    types = [tape.input_types[k] for k in wrt]
    sweeps = hessian_sweeps(tape, wrt)
    return _matrix_tape(tape, hvp_tape(tape, wrt, keep), sweeps, types, types, (len(tape.outputs) + len(wrt)) * keep, is_sparse=False)


@kept_with_tape
def hessian_sweeps(tape: Tape, wrt: Numbers) -> Sweeps:
    """The cheapest sweeps for all entries of a Hessian."""
    joint, first = joint_tape(tape, wrt), len(tape.outputs)
    size = sum(tape.input_types[k].size for k in wrt)
    dense = Sweeps(np.arange(size), False)
    pattern = jacobian_pattern(joint, wrt, range(first, first + len(wrt))) if size > 1 else None
    if pattern is None or pattern.nnz > WORTH_COMPRESSING * size**2:
        return dense
    pattern = (pattern + pattern.T).tocsr()
    pattern.sort_indices()
    colors = symmetric_colors(pattern)
    if colors is None or colors.max(initial=0) + 1 > WORTH_COMPRESSING * size:
        return dense
    rows, columns = _coordinates(pattern)
    # A row with a unique colour is read from its column.
    alone = np.bincount(colors)[colors] == 1
    turned = alone[rows] & ~alone[columns]
    at, by = np.where(turned, columns, rows), np.where(turned, rows, columns)
    return Sweeps(colors, False, SweptEntries(rows, columns, colors[by] * size + at))


@kept_with_tape
def sparse_jacobian_tape(tape: Tape, wrt: Numbers, keep: bool, format: str) -> Tape:
    """Outputs: those of the tape if `keep`; the entries of the Jacobian as sparse_entries(...) has them, or all of them."""
    require_differentiable(tape, wrt)
    floated = with_float_output(tape)
    ins = [floated.input_types[k] for k in wrt]
    outs = [floated.output_types[k] for k in float_outputs(floated)]
    matrix = jacobian_in_triplets(tape, wrt, keep) if len(outs) == 1 else None
    if matrix is not None:
        return _sparse_in_triplets(tape, matrix, (sparse_jacobian_tape, wrt, format))
    sweeps = jacobian_sweeps(tape, wrt, None)
    product = jvp_tape(tape, wrt, keep) if sweeps.forward else vjp_tape(tape, wrt, keep)
    return _sparse_in_sweeps(tape, product, sweeps, outs, ins, len(tape.outputs) * keep, (sparse_jacobian_tape, wrt, format))


@kept_with_tape
def sparse_hessian_tape(tape: Tape, wrt: Numbers, keep: bool, format: str) -> Tape:
    """Outputs: those of joint_tape if `keep`; the entries of the Hessian as sparse_entries(...) has them, or all of them."""
    matrix = hessian_in_triplets(tape, wrt, keep, MOST_COEFFICIENTS)
    if matrix is not None:
        return _sparse_in_triplets(tape, matrix, (sparse_hessian_tape, wrt, format))
    types, sweeps = [tape.input_types[k] for k in wrt], hessian_sweeps(tape, wrt)
    if sweeps.entries is None and len(sweeps.colors) > MOST_DENSE:
        raise MemoryBudgetExceeded("the Hessian is dense, or its pattern is too large to be found", got=f"{len(sweeps.colors)} variables",
                                   fix="give a total or a mean that all terms share a variable of its own, or use td.hvp")  # fmt: skip
    kept = (len(tape.outputs) + len(wrt)) * keep
    return _sparse_in_sweeps(tape, hvp_tape(tape, wrt, keep), sweeps, types, types, kept, (sparse_hessian_tape, wrt, format))


Key = tuple[Callable[..., Tape], Numbers, str]


def _sparse_in_triplets(tape: Tape, matrix: Matrix, key: Key) -> Tape:
    made, tape.derived["entries", key] = matrix.sparse(tape, by_column=key[2] == "csc")
    return made


def _sparse_in_sweeps(
    tape: Tape, product: Tape, sweeps: Sweeps, outs: Sequence[ValueType], ins: Sequence[ValueType], kept: int, key: Key
) -> Tape:
    if sweeps.entries is not None and key[2] == "csc":
        sweeps = replace(sweeps, entries=sweeps.entries.by_column())
    tape.derived["entries", key] = sweeps.entries
    return _matrix_tape(tape, product, sweeps, outs, ins, kept, is_sparse=True)


def sparse_entries(tape: Tape, make: Callable[..., Tape], wrt: Numbers, format: str) -> Entries | None:
    """The positions of the entries that one of the two functions above computes; None for all of a dense matrix, by row."""
    return tape.derived["entries", (make, wrt, format)]


def _matrix_tape(
    tape: Tape, product: Tape, sweeps: Sweeps, outs: Sequence[ValueType], ins: Sequence[ValueType], kept: int, is_sparse: bool
) -> Tape:
    """The blocks of the matrix, d outs / d ins, in rows; after the first `kept` outputs of the product."""
    seeded = ins if sweeps.forward else outs
    first = len(tape.inputs)
    mapped = mapped_rows(product, first, sweeps.count, kept)
    starts = np.cumsum([0, *(t.size for t in seeded)])
    mapped = with_constants(mapped, first, [sweeps.seeds(a, t) for a, t in zip(starts, seeded)])
    mapped = run_passes(mapped)

    def recorded(recorder: Recorder) -> Tape:
        found: list[Operand] = [TrackedArray(recorder, i, None, mapped.instructions[i].type) for i in mapped.outputs[kept:]]
        swept = [np.reshape(v, (sweeps.count, -1)) for v in found]
        if sweeps.entries is None:
            blocks = _dense_blocks(swept, sweeps, starts, outs, ins)
        elif is_sparse:
            blocks = [_entries(swept, sweeps.entries.sources)]
        else:
            blocks = _sparse_blocks(swept, sweeps.entries, outs, ins)
        return finished(recorder, [*mapped.outputs[:kept], *(block._id for block in blocks)])

    found = continued(mapped).run(recorded)
    return run_passes(replace(found, active_inputs=tape.active_inputs))


def _dense_blocks(
    swept: Sequence[Operand], sweeps: Sweeps, starts: np.ndarray, outs: Sequence[ValueType], ins: Sequence[ValueType]
) -> list[Operand]:
    blocks: list[Operand] = []
    for j, out in enumerate(outs):
        for k, in_ in enumerate(ins):
            if sweeps.forward:
                block = np.transpose(swept[j][starts[k] : starts[k + 1]])
            else:
                block = swept[k][starts[j] : starts[j + 1]]
            blocks.append(np.reshape(block, (*out.shape, *in_.shape)))
    return blocks


def _entries(swept: Sequence[Operand], sources: np.ndarray) -> Tree:
    joined = np.concatenate(swept, axis=1) if len(swept) > 1 else swept[0]
    return GATHER(joined, sources.astype(INT64))


def _sparse_blocks(swept: Sequence[Operand], entries: SweptEntries, outs: Sequence[ValueType], ins: Sequence[ValueType]) -> list[Operand]:
    """Scatter the entries into zeros."""
    ends_out, ends_in = (np.cumsum([0, *(t.size for t in types)]) for types in (outs, ins))
    blocks: list[Operand] = []
    for j, out in enumerate(outs):
        for k, in_ in enumerate(ins):
            chosen = (ends_out[j] <= entries.rows) & (entries.rows < ends_out[j + 1])
            chosen &= (ends_in[k] <= entries.columns) & (entries.columns < ends_in[k + 1])
            at = (entries.rows[chosen] - ends_out[j]) * in_.size + entries.columns[chosen] - ends_in[k]
            values = _entries(swept, entries.sources[chosen])
            zeros = BROADCAST(values._recorder.tracked_constant(np.zeros((), out.dtype)), shape=(out.size * in_.size,))
            blocks.append(np.reshape(PUT(zeros, values, at.astype(INT64), distinct=are_distinct(at)), (*out.shape, *in_.shape)))
    return blocks
