"""Tapes of derivative operators: products with Jacobians and Hessians, and these matrices as a whole. Each is kept with its tape.

All take the tape's inputs, followed by tangents or cotangents where the operator has any.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import NonScalarOutput, UnsupportedFunction
from ..functions.rolled_loop import prepared
from ..functions.tape_callee import callee_of
from ..ir.instruction import CONSTANT, INPUT, INT64, Instruction, ValueType
from ..ir.rewriter import Rewriter
from ..ir.tape import Tape
from ..ops.indexing import GATHER, PUT
from ..ops.shape import BROADCAST
from ..passes.pipeline import run_passes
from ..passes.simplify.dead_code import dead_code
from ..recording.caught_errors import refusals_forgotten
from ..recording.recorder import Recorder
from ..recording.tracked import TrackedArray
from ..transforms.coloring import column_colors, symmetric_colors
from ..transforms.map_rows import RowsCannotBeMapped, map_rows
from ..transforms.reverse import NONZERO, continued, finished, pullback
from ..transforms.sparsity import jacobian_pattern
from .derived_tapes import gradient_tape, require_differentiable, with_float_output

Numbers = tuple[int, ...]


@dataclass(frozen=True)
class Operator:
    """A derivative of any tape, as a tape of its own.

    Attributes:
        make: one of the functions below: make(tape, wrt, keep).
        wrt: positions of the inputs to differentiate with respect to.
        keep: return what comes before the derivative as well: the tape's outputs, or value and gradients.
        count: so many tangents or cotangents at once.
        vectors: how many inputs these are, the last ones.
        mode: of a Jacobian: "forward" or "reverse"; None for the cheaper one.
    """

    make: Callable[..., Tape]
    wrt: Numbers
    keep: bool = False
    count: int | None = None
    vectors: int = 0
    mode: str | None = None

    def tape(self, tape: Tape) -> Tape:
        if self.mode is not None:
            return self.make(tape, self.wrt, self.keep, self.mode)
        product = self.make(tape, self.wrt, self.keep)
        if self.count is None:
            return product
        shared = 0 if not self.keep else 1 + len(self.wrt) if self.make is hvp_tape else len(tape.outputs)
        return many_of(product, len(product.inputs) - self.vectors, self.count, shared)


# A compressed product is worth its indices where it has at most this part of the columns.
WORTH_COMPRESSING = 0.5

# What a forward sweep costs, of a reverse one.
FORWARD_COST = 1.2


def kept_with(tape: Tape, key: Any, make: Callable[[], Tape]) -> Tape:
    made = tape.derived.get(key)
    if made is None:
        made = tape.derived[key] = make()
    return made


def float_outputs(tape: Tape) -> Numbers:
    return tuple(k for k, type_ in enumerate(tape.output_types) if type_.is_float)


def require_float_outputs(tape: Tape) -> None:
    if not float_outputs(tape):
        raise NonScalarOutput(f"{tape.name} must return real numbers to be differentiated",
                              got=", ".join(map(str, tape.output_types)), fix="return floating-point numbers or arrays")  # fmt: skip


# Products with vectors


def vjp_tape(tape: Tape, wrt: Numbers, keep: bool = False) -> Tape:
    """Further inputs: a cotangent for each float output. Outputs: those of the tape if `keep`, then the cotangents of `wrt`."""
    require_differentiable(tape, wrt)
    floated = with_float_output(tape)
    require_float_outputs(floated)
    return kept_with(tape, ("products back", wrt, keep), lambda: run_passes(_pulled(floated, wrt, float_outputs(floated), keep)))


def _pulled(tape: Tape, wrt: Numbers, seeded: Numbers, keep: bool) -> Tape:
    ready = prepared(tape)
    product = pullback(ready, wrt, dict.fromkeys(seeded, NONZERO)).tape
    return replace(product, outputs=(*ready.outputs, *product.outputs)) if keep else product


def jvp_tape(tape: Tape, wrt: Numbers, keep: bool = False) -> Tape:
    """Further inputs: a tangent for each of `wrt`. Outputs: those of the tape if `keep`, then the tangents of its float outputs.

    The transpose of vjp_tape, which is linear in its cotangents, so each rule is written once. Its derivative by a cotangent is taken
    at one of no zeros, on which nothing depends but the tests whether a cotangent is zero because its value was discarded: at a
    cotangent of zeros every value would look discarded, and an infinite derivative would come out as 0.
    """
    return kept_with(tape, ("products forward", wrt, keep), lambda: _pushed(tape, wrt, keep))


def _pushed(tape: Tape, wrt: Numbers, keep: bool) -> Tape:
    transposed = prepared(vjp_tape(tape, wrt, keep))
    first = len(tape.inputs)
    cotangents = tuple(range(first, len(transposed.inputs)))
    kept = len(transposed.outputs) - len(wrt)
    product = pullback(transposed, cotangents, {kept + k: NONZERO for k in range(len(wrt))}).tape
    product = replace(product, outputs=(*transposed.outputs[:kept], *product.outputs))
    for position in reversed(cotangents):
        product = _at_cotangent_without_zeros(product, position)
    return run_passes(replace(product, returns_tuple=True))


def _at_cotangent_without_zeros(product: Tape, position: int) -> Tape:
    """The tape with its input at `position` made a constant, of entries that do not cancel each other either."""
    instructions = list(product.instructions)
    type_ = instructions[product.inputs[position]].type
    cotangent = np.array(0.5 + np.modf(GOLDEN * np.arange(1, type_.size + 1))[0], type_.dtype).reshape(type_.shape)
    instructions[product.inputs[position]] = Instruction(CONSTANT, (), (cotangent,), type_, None)
    inputs = (*product.inputs[:position], *product.inputs[position + 1 :])
    for k, number in enumerate(inputs):
        instructions[number] = instructions[number]._replace(params=(k,))
    active = tuple(k - (k > position) for k in product.active_inputs if k != position)
    return replace(product, instructions=tuple(instructions), inputs=inputs, active_inputs=active, returns_tuple=False)


# Multiples of the golden ratio modulo 1 are spread as evenly as can be, and no sum of few of them is zero.
GOLDEN = (1 + 5**0.5) / 2


def hvp_tape(tape: Tape, wrt: Numbers, keep: bool = False) -> Tape:
    """Further inputs: a vector for each of `wrt`. Outputs: value and gradients if `keep`, then the products of Hessian and vectors."""
    joint = gradient_tape(tape, wrt)
    make = lambda: run_passes(_pulled(joint, wrt, tuple(range(1, 1 + len(wrt))), keep))  # noqa: E731 -- the next line is its only use
    return kept_with(tape, ("Hessian products", wrt, keep), make)


def many_of(product: Tape, first: int, count: int, shared: int = 0) -> Tape:
    """A product for `count` tangents or cotangents at once, from input `first` on, with a leading axis; so are the results."""
    make = lambda: run_passes(_mapped(product, first, count, shared))  # noqa: E731 -- the next line is its only use
    return kept_with(product, ("many", first, count, shared), make)


def _mapped(product: Tape, first: int, count: int, shared: int) -> Tape:
    try:
        return map_rows(product, range(first, len(product.inputs)), count, callee_of, shared)
    except RowsCannotBeMapped:
        raise UnsupportedFunction(
            f"a derivative of {product.name} in several directions at once", fix="ask for one direction at a time"
        ) from None


# Matrices


@dataclass(frozen=True)
class Sweeps:
    """The products whose results make up a matrix.

    Attributes:
        seeds: the vectors, one in each row.
        rows, columns, sources: where the entries of the matrix are, and which entries of the results they are, both flattened;
            None where the results are the matrix.
        forward: the products are with columns of the Jacobian.
    """

    seeds: np.ndarray
    forward: bool
    rows: np.ndarray | None = None
    columns: np.ndarray | None = None
    sources: np.ndarray | None = None


def jacobian_tape(tape: Tape, wrt: Numbers, keep: bool = False, mode: str | None = None) -> Tape:
    """Outputs: those of the tape if `keep`; then, for each float output, its Jacobian by each of `wrt`."""
    require_differentiable(tape, wrt)
    return kept_with(tape, ("jacobian", wrt, keep, mode), lambda: _jacobian_tape(tape, wrt, keep, mode))


def _jacobian_tape(tape: Tape, wrt: Numbers, keep: bool, mode: str | None) -> Tape:
    floated = with_float_output(tape)
    require_float_outputs(floated)
    sweeps = jacobian_sweeps(floated, wrt, mode)
    product = jvp_tape(floated, wrt, keep) if sweeps.forward else vjp_tape(floated, wrt, keep)
    ins = [floated.input_types[k] for k in wrt]
    outs = [floated.output_types[k] for k in float_outputs(floated)]
    return _matrix_tape(floated, product, sweeps, outs, ins, len(tape.outputs) if keep else 0)


def jacobian_sweeps(tape: Tape, wrt: Numbers, mode: str | None) -> Sweeps:
    """The cheapest way to all entries of a Jacobian."""
    outputs = float_outputs(tape)
    columns = sum(tape.input_types[k].size for k in wrt)
    rows = sum(tape.output_types[k].size for k in outputs)
    pattern = jacobian_pattern(tape, wrt, outputs) if mode is None or mode == "sparse" else None
    choices: list[Sweeps] = []
    if pattern is not None and pattern.nnz <= WORTH_COMPRESSING * rows * columns:
        choices = [s for s in (_compressed(pattern, True), _compressed(pattern.T.tocsr(), False)) if s is not None]
    if mode != "reverse":
        choices.append(Sweeps(np.eye(columns), True))
    if mode != "forward":
        choices.append(Sweeps(np.eye(rows), False))
    if mode is None and any(s.forward for s in choices) and not _has_forward(tape, wrt):
        choices = [s for s in choices if not s.forward]
    return min(choices, key=lambda s: len(s.seeds) * (FORWARD_COST if s.forward else 1.0))


def _has_forward(tape: Tape, wrt: Numbers) -> bool:
    """Whether the forward product exists, which is the derivative of the reverse one: not through a user's own rule."""
    try:
        with refusals_forgotten():
            jvp_tape(tape, wrt)
    except UnsupportedFunction:
        return False
    return True


def _compressed(pattern: Any, forward: bool) -> Sweeps | None:
    colors = column_colors(pattern)
    if colors is None:
        return None
    seeds = _seeds(colors)
    if len(seeds) > WORTH_COMPRESSING * pattern.shape[1]:
        return None
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    columns = pattern.indices.astype(np.int64)
    sources = colors[columns] * pattern.shape[0] + rows
    return Sweeps(seeds, forward, rows, columns, sources) if forward else Sweeps(seeds, forward, columns, rows, sources)


def _seeds(colors: np.ndarray) -> np.ndarray:
    seeds = np.zeros((int(colors.max(initial=-1)) + 1, len(colors)))
    seeds[colors, np.arange(len(colors))] = 1.0
    return seeds


def hessian_tape(tape: Tape, wrt: Numbers, keep: bool = False) -> Tape:
    """Outputs: value and gradients if `keep`; then, for each pair of `wrt`, the second derivatives."""
    return kept_with(tape, ("hessian", wrt, keep), lambda: _hessian_tape(tape, wrt, keep))


def _hessian_tape(tape: Tape, wrt: Numbers, keep: bool) -> Tape:
    types = [tape.input_types[k] for k in wrt]
    return _matrix_tape(tape, hvp_tape(tape, wrt, keep), hessian_sweeps(tape, wrt), types, types, (1 + len(wrt)) * keep)


def hessian_sweeps(tape: Tape, wrt: Numbers) -> Sweeps:
    joint = gradient_tape(tape, wrt)
    size = sum(tape.input_types[k].size for k in wrt)
    pattern = jacobian_pattern(joint, wrt, range(1, 1 + len(wrt)))
    if pattern is None or pattern.nnz > WORTH_COMPRESSING * size**2:
        return Sweeps(np.eye(size), False)
    pattern = (pattern + pattern.T).tocsr()
    pattern.sort_indices()
    colors = symmetric_colors(pattern)
    if colors is None or colors.max(initial=0) + 1 > WORTH_COMPRESSING * size:
        return Sweeps(np.eye(size), False)
    rows = np.repeat(np.arange(size), np.diff(pattern.indptr))
    columns = pattern.indices.astype(np.int64)
    # A row with a colour of its own is read from its column.
    alone = np.bincount(colors)[colors] == 1
    turned = alone[rows] & ~alone[columns]
    at, by = np.where(turned, columns, rows), np.where(turned, rows, columns)
    return Sweeps(_seeds(colors), False, rows, columns, colors[by] * size + at)


def _matrix_tape(
    tape: Tape, product: Tape, sweeps: Sweeps, outs: Sequence[ValueType], ins: Sequence[ValueType], kept: int
) -> Tape:
    """The blocks of the matrix, d outs / d ins, in rows; after the first `kept` outputs of the product."""
    seeded = ins if sweeps.forward else outs
    count = len(sweeps.seeds)
    first = len(tape.inputs)
    mapped = _mapped(product, first, count, kept)
    ends = np.cumsum([0, *(t.size for t in seeded)])
    constants = [
        sweeps.seeds[:, a:b].reshape(count, *t.shape).astype(t.dtype) for a, b, t in zip(ends, ends[1:], seeded)
    ]
    mapped = run_passes(with_constants(mapped, first, constants))

    def recorded(recorder: Recorder) -> Tape:
        found: list[Any] = [TrackedArray(recorder, i, None, mapped.instructions[i].type) for i in mapped.outputs[kept:]]
        swept = [np.reshape(v, (count, -1)) for v in found]
        if sweeps.sources is None:
            blocks = _dense_blocks(swept, sweeps, ends, outs, ins)
        else:
            blocks = _sparse_blocks(swept, sweeps, outs, ins)
        return finished(recorder, [*mapped.outputs[:kept], *(block._id for block in blocks)])

    return run_passes(replace(continued(mapped).run(recorded), active_inputs=tape.active_inputs))


def with_constants(tape: Tape, first: int, values: Sequence[np.ndarray]) -> Tape:
    """The tape with its inputs from position `first` on made constants."""
    instructions = list(tape.instructions)
    for number, value in zip(tape.inputs[first:], values):
        value.flags.writeable = False
        instructions[number] = Instruction(CONSTANT, (), (value,), instructions[number].type, None)
    active = tuple(k for k in tape.active_inputs if k < first)
    return replace(tape, instructions=tuple(instructions), inputs=tape.inputs[:first], active_inputs=active)


def _dense_blocks(
    swept: Sequence[Any], sweeps: Sweeps, ends: np.ndarray, outs: Sequence[ValueType], ins: Sequence[ValueType]
) -> list[Any]:
    blocks: list[Any] = []
    for j, out in enumerate(outs):
        for k, in_ in enumerate(ins):
            if sweeps.forward:
                block = np.transpose(swept[j][ends[k] : ends[k + 1]])
            else:
                block = swept[k][ends[j] : ends[j + 1]]
            blocks.append(np.reshape(block, (*out.shape, *in_.shape)))
    return blocks


def _sparse_blocks(swept: Sequence[Any], sweeps: Sweeps, outs: Sequence[ValueType], ins: Sequence[ValueType]) -> list[Any]:
    assert sweeps.rows is not None
    assert sweeps.columns is not None
    assert sweeps.sources is not None
    joined = np.concatenate(swept, axis=1) if len(swept) > 1 else swept[0]
    ends_out, ends_in = (np.cumsum([0, *(t.size for t in types)]) for types in (outs, ins))
    blocks: list[Any] = []
    for j, out in enumerate(outs):
        for k, in_ in enumerate(ins):
            chosen = (ends_out[j] <= sweeps.rows) & (sweeps.rows < ends_out[j + 1])
            chosen &= (ends_in[k] <= sweeps.columns) & (sweeps.columns < ends_in[k + 1])
            at = (sweeps.rows[chosen] - ends_out[j]) * in_.size + sweeps.columns[chosen] - ends_in[k]
            values = GATHER(joined, sweeps.sources[chosen].astype(INT64))
            zeros = np.zeros(out.size * in_.size, out.dtype)
            blocks.append(np.reshape(PUT(zeros, values, at.astype(INT64)), (*out.shape, *in_.shape)))
    return blocks


def second_tape(tape: Tape, wrt: Numbers, keep: bool) -> Tape:
    """Of a function of a number. Outputs: those of the tape, their derivatives, and the derivatives of these."""
    return kept_with(tape, ("second", wrt), lambda: _second_tape(tape, wrt))


def _second_tape(tape: Tape, wrt: Numbers) -> Tape:
    joint = _at_one(jvp_tape(tape, wrt, True), len(tape.inputs))
    twice = _at_one(jvp_tape(joint, wrt, True), len(tape.inputs))
    # The derivatives of the values come in between once more.
    count = len(joint.outputs) - len(tape.outputs)
    kept = (*twice.outputs[: len(joint.outputs)], *twice.outputs[len(twice.outputs) - count :])
    return dead_code(replace(twice, outputs=kept))


def _at_one(product: Tape, position: int) -> Tape:
    type_ = product.input_types[position]
    return run_passes(with_constants(product, position, [np.ones(type_.shape, type_.dtype)]))


# Halves of a product: what the vectors do not reach, and the rest


def halves(tape: Tape, product: Tape) -> tuple[Tape, Tape]:
    """A product with a Jacobian in two tapes: of the point alone, and of the vectors.

    Args:
        tape: the tape that `product` was made of, whose inputs it takes before the vectors.
        product: vjp_tape or jvp_tape of it, with its outputs kept.

    Returns:
        A tape of the outputs, followed by the residuals, and one from the residuals and the vectors to the results. Where a residual
        would be no array (the values of a loop whose length is known only when it runs), the residuals are the inputs.
    """
    known = product.derived.get("halves")
    if known is None:
        known = product.derived["halves"] = _halves(tape, product, len(tape.outputs)) or _whole(tape, product)
    return known


def _whole(tape: Tape, product: Tape) -> tuple[Tape, Tape]:
    forward = run_passes(replace(tape, outputs=(*tape.outputs, *tape.inputs), returns_tuple=True))
    return forward, dead_code(replace(product, outputs=product.outputs[len(tape.outputs) :]))


@dataclass(frozen=True)
class Forward:
    """The first half of a product, as what an Operator makes."""

    make: Callable[..., Tape]

    def __call__(self, tape: Tape, wrt: Numbers, keep: bool) -> Tape:
        return halves(tape, self.make(tape, wrt, True))[0]


@dataclass(frozen=True)
class Backward:
    """The second half of a product, as what an Operator makes; takes the residuals and the vectors."""

    make: Callable[..., Tape]

    def __call__(self, tape: Tape, wrt: Numbers, keep: bool) -> Tape:
        return halves(tape, self.make(tape, wrt, True))[1]


def _halves(tape: Tape, product: Tape, kept: int) -> tuple[Tape, Tape] | None:
    reached = reached_from(product, product.inputs[len(tape.inputs) :])
    instructions = product.instructions
    # Copies along new axes are made where they are read, as the smaller array is kept.
    again = {n for n, i in enumerate(instructions) if not reached[n] and i.op in (CONSTANT, BROADCAST)}
    read = set(product.outputs[kept:])
    for number in range(len(instructions) - 1, -1, -1):
        if reached[number] or (number in again and number in read):
            read.update(instructions[number].inputs)
    residuals = [i for i in sorted(read) if not reached[i] and i not in again]
    if not all(isinstance(instructions[i].type, ValueType) for i in residuals):
        return None
    forward = _part(product, product.inputs[: len(tape.inputs)], lambda n: not reached[n], (*product.outputs[:kept], *residuals))
    vectors = product.inputs[len(tape.inputs) :]
    backward = _part(product, (*residuals, *vectors), lambda n: reached[n] or n in again, product.outputs[kept:])
    return replace(forward, active_inputs=tape.active_inputs), backward


def _part(tape: Tape, inputs: Sequence[int], wanted: Callable[[int], bool], outputs: Sequence[int]) -> Tape:
    """The wanted instructions, with the values `inputs` given."""
    rewriter = Rewriter(tape)
    for position, number in enumerate(inputs):
        rewriter.number[number] = rewriter.emit(INPUT, (), (position,), tape.instructions[number].type, None)
    for number, instruction in enumerate(tape.instructions):
        if rewriter.number[number] < 0 and instruction.op is not INPUT and wanted(number):
            rewriter.number[number] = rewriter.copy(number)
    active = tuple(k for k, number in enumerate(inputs) if tape.instructions[number].type.is_float)
    made = Tape(
        tuple(rewriter.instructions), tuple(rewriter.number[n] for n in inputs), tuple(rewriter.number[n] for n in outputs),
        tape.name, active, True,
    )  # fmt: skip
    return dead_code(made)


def reached_from(tape: Tape, sources: Sequence[int]) -> list[bool]:
    """Which values depend on any of the sources."""
    reached = [False] * len(tape.instructions)
    for number in sources:
        reached[number] = True
    for number, instruction in enumerate(tape.instructions):
        reached[number] = reached[number] or any(reached[i] for i in instruction.inputs)
    return reached
