"""Derivatives by a part of an argument: only what depends on the part is active on the tape.

The part becomes an input p of its own, with the entries x[part]. An operation on single entries is then done twice: on all entries, as
before, inactive; and on the entries that depend on p. The second copy has the same values, and is as small as the part. Where both meet
again, in a sum or in an operation without a rule, `ATTACH` takes the value of the one and the derivative of the other. The reverse pass,
and every further derivative, sees the small copy alone. Afterwards `closed` replaces p by x[part], and `ATTACH` by the values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..errors import ArgumentMismatch
from ..ir.instruction import CONSTANT, INPUT, INT64, Instruction, Operand, Primitive, ValueType, is_tracked
from ..ir.rewriter import Rewriter
from ..ir.tape import Tape
from ..numpy_api.indexing import is_basic, positions_of, region_of
from ..ops.arrays.indexing import ASSEMBLE, GATHER, INDEX, PUT, SCATTER_ADD, Region, Regions, are_distinct
from ..ops.arrays.reductions import SUM
from ..ops.arrays.shape import BROADCAST, RESHAPE, TRANSPOSE
from ..ops.control.calls import TupleOp
from ..ops.declaration.op import Elementwise, Op
from ..ops.matrices.products import MATMUL
from .entry_sets import Axis, EntrySet, located, matched_axes, union

# The value of the first operand, the derivative of the second. Only used inside this module.
ATTACH = Elementwise("attach", lambda value, _: value, "x", vjp=(None, lambda z_bar, *_: z_bar), linear=True, floats_only=False)

# A copy of more than this share of the entries does not repay the operations that keep it separate.
WORTH_KEEPING = 0.5


@dataclass(frozen=True)
class Part:
    """The entries of an array that an index selects; hashable.

    Attributes:
        shape: of x[index].
        region: of a basic index; None for other indices.
        positions: the flat positions of other indices, as bytes.
    """

    shape: tuple[int, ...]
    region: Region | None
    positions: bytes = b""

    @cached_property
    def flat(self) -> np.ndarray:
        return np.frombuffer(self.positions, np.int64).reshape(self.shape)

    def positions_in(self, shape: tuple[int, ...]) -> np.ndarray:
        """Flat positions in an array of this shape, in the shape of the part."""
        if self.region is None:
            return self.flat
        return np.asarray(INDEX.evaluate(np.arange(math.prod(shape)).reshape(shape), self.region))


def part_of(index: Operand, shape: tuple[int, ...]) -> Part:
    """The part of an array that an index selects.

    Raises:
        ArgumentMismatch: a tracked index, or one that selects an entry twice.
        IndexError: as NumPy.
    """
    if is_basic(index):
        region = region_of(index, shape)
        return Part(region.shape, region)
    if any(map(is_tracked, index if isinstance(index, (tuple, list)) else (index,))):
        raise ArgumentMismatch("wrt= is an index of plain integers, slices or masks", got="a tracked index", fix="choose it outside")
    positions = _positions(index, shape)
    if len(np.unique(positions)) < positions.size:
        raise ArgumentMismatch("wrt= selects an entry of the argument twice", got=repr(index)[:60], fix="np.unique(indices)")
    return Part(positions.shape, None, positions.tobytes())


def _positions(index: Operand, shape: tuple[int, ...]) -> np.ndarray:
    """Flat positions; of few entries of a long vector without numbering all of them."""
    plain = np.asarray(index) if not isinstance(index, tuple) and len(shape) == 1 else None
    if plain is None or plain.dtype.kind not in "iu" or np.any((plain < -shape[0]) | (plain >= shape[0])):
        return np.asarray(positions_of(index, shape))
    return np.where(plain < 0, plain + shape[0], plain).astype(np.int64)


def restricted(tape: Tape, wrt: Sequence[int], parts: Sequence[Part]) -> Tape:
    """Return the tape with one further input per part: of the inputs `wrt`, only the parts are active."""
    rewriter = _Restricted(tape, dict(zip(wrt, parts)))
    for number, instruction in enumerate(tape.instructions):
        rewriter.add(number, instruction)
    return rewriter.finished(wrt)


def closed(tape: Tape, wrt: Sequence[int], parts: Sequence[Part], first: int) -> Tape:
    """A derivative of a restricted tape as one of the original inputs: those from position `first` on are x[part].

    Args:
        first: the position of the first part; -1 where the tape does not take them.
    """
    from ..passes.simplify.dead_code import dead_code

    rewriter = Rewriter(tape)
    own = () if first < 0 else range(first, first + len(parts))
    part_at = {tape.inputs[k]: (tape.inputs[x], part) for k, x, part in zip(own, wrt, parts)}
    kept = [k for k in range(len(tape.inputs)) if k not in own]
    for number, instruction in enumerate(tape.instructions):
        if instruction.op is ATTACH:
            rewriter.number[number] = rewriter.number[instruction.inputs[0]]
        elif number in part_at:
            x, part = part_at[number]
            x = rewriter.number[x]
            if part.region is not None:
                made = rewriter.emit(INDEX, (x,), (part.region,), instruction.type, None)
            else:
                at = rewriter.constant(part.flat, ValueType(part.shape, INT64))
                made = rewriter.emit(GATHER, (x, at), (), instruction.type, None)
            rewriter.number[number] = made
        elif instruction.op is INPUT:
            position = kept.index(instruction.params[0])
            rewriter.number[number] = rewriter.emit(INPUT, (), (position,), instruction.type, instruction.site)
        else:
            rewriter.number[number] = rewriter.copy(number)
    made = replace(tape, inputs=tuple(tape.inputs[k] for k in kept), active_inputs=())
    rewriter.tape = made
    active = tuple(position for position, k in enumerate(kept) if tape.instructions[tape.inputs[k]].type.is_float)
    return dead_code(replace(rewriter.finish(), active_inputs=active))


@dataclass(frozen=True)
class _Copy:
    """The active copy of some entries of a value.

    Attributes:
        number: its number on the new tape.
        entries: a product of sets of indices along the axes; its shape is that of the copy.
    """

    number: int
    entries: EntrySet


class _Restricted(Rewriter):
    """Rebuilds a tape. `number[i]` is inactive unless i is in `active`; `copies[i]` has the active entries."""

    def __init__(self, tape: Tape, parts: dict[int, Part]) -> None:
        super().__init__(tape)
        self.parts = {tape.inputs[k]: part for k, part in parts.items()}
        self.copies: dict[int, _Copy] = {}
        self.active: set[int] = set()
        self.joined: dict[int, int] = {}
        self.selected: dict[tuple[int, EntrySet], int] = {}
        # The new inputs for parts, by original input, in the order of `parts`, which may differ from the tape's.
        self.added = dict.fromkeys(self.parts, -1)
        # Numbers of the inputs with a part. If all of such an input is active, its value becomes the part.
        self.entered: dict[int, int] = {}

    def finished(self, wrt: Sequence[int]) -> Tape:
        from ..passes.simplify.dead_code import dead_code

        tape = self.tape
        inputs = (*(self.entered.get(i, self.number[i]) for i in tape.inputs), *self.added.values())
        active = (*tape.active_inputs, *range(len(tape.inputs), len(inputs)))
        outputs = tuple(self.whole(i) for i in tape.outputs)
        return dead_code(
            replace(tape, instructions=tuple(self.instructions), inputs=inputs, outputs=outputs, active_inputs=active, arguments=None)
        )

    # Instructions

    def add(self, old: int, instruction: Instruction) -> None:
        op, inputs, _, type_, _ = instruction
        reached = [k for k, i in enumerate(inputs) if i in self.copies or i in self.active]
        self.number[old] = -1
        if old in self.parts:
            self.number[old] = self.entered[old] = self.copy(old)
            self._begin(old, type_)
        elif isinstance(op, TupleOp) and reached:
            self._opaque(old, instruction, reached)
        elif not isinstance(op, Op) or not type_.is_float or not (moving := _moving(op, reached)):
            self.number[old] = self.copy(old)  # not differentiable, or inactive
        else:
            rule = RULES.get(op, _elementwise if isinstance(op, Elementwise) else None)
            are_copies = all(inputs[k] in self.copies for k in moving)
            if rule is None or not are_copies or not rule(self, old, instruction, moving):
                self._opaque(old, instruction, moving)

    def _begin(self, old: int, type_: ValueType) -> None:
        """Emit an input and its part."""
        part, shape = self.parts[old], type_.shape
        positions = part.positions_in(shape)
        p_type = ValueType(part.shape, type_.dtype)
        p = self.emit(INPUT, (), (len(self.tape.inputs) + list(self.added).index(old),), p_type, None)
        self.added[old] = p
        entries = EntrySet.around(np.ravel(positions), shape)
        local = entries.local(np.ravel(positions))
        if np.array_equal(local, np.arange(entries.size)):
            made = self.reshaped(p, entries.shape)
        elif len(local) == entries.size:
            made = self.gathered(p, np.argsort(local).reshape(entries.shape))
        else:
            made = self.put(self.select(self.number[old], entries), self.reshaped(p, (len(local),)), local)
        self.keep_copy(old, self.number[old], made, entries)

    def _opaque(self, old: int, instruction: Instruction, reached: Sequence[int]) -> None:
        """An operation on all entries at once."""
        operands = [self.whole(i) if k in reached else self.number[i] for k, i in enumerate(instruction.inputs)]
        self.number[old] = self.keep(instruction, tuple(operands))
        self.active.add(old)

    def keep_copy(self, old: int, value: int, copied: int, entries: EntrySet) -> bool:
        """Record the result of an operation: its whole value, inactive, and the copy of its active entries."""
        self.number[old] = value
        if entries.is_all:
            self.number[old] = self.reshaped(copied, entries.of)
            self.active.add(old)
        elif not entries.size:
            return True
        elif entries.size > WORTH_KEEPING * math.prod(entries.of):
            self.number[old] = self.attach(value, self.spread(copied, entries))
            self.active.add(old)
        else:
            self.copies[old] = _Copy(copied, entries)
        return True

    def keep_sum(self, old: int, value: int, summed: int, entries: EntrySet) -> bool:
        """As keep_copy for sums, whose copy has the right derivative, but not the value."""
        return self.keep_copy(old, value, self.attach(self.select(value, entries), summed), entries)

    # Values of the new tape

    def type_of(self, number: int) -> ValueType:
        return self.instructions[number].type

    def whole(self, old: int) -> int:
        """A value with the derivatives of its copy."""
        copy = self.copies.get(old)
        if copy is None:
            return self.number[old]
        if old not in self.joined:
            self.joined[old] = self.attach(self.number[old], self.spread(copy.number, copy.entries))
        return self.joined[old]

    def attach(self, value: int, derivative: int) -> int:
        return self.emit(ATTACH, (value, derivative), (), self.type_of(value), None)

    def reshaped(self, number: int, shape: tuple[int, ...]) -> int:
        type_ = self.type_of(number)
        if type_.shape == shape:
            return number
        return self.emit(RESHAPE, (number,), (shape,), ValueType(shape, type_.dtype), None)

    def gathered(self, number: int, positions: np.ndarray) -> int:
        at = self.constant(positions, ValueType(positions.shape, INT64))
        return self.emit(GATHER, (number, at), (), ValueType(positions.shape, self.type_of(number).dtype), None)

    def put(self, array: int, values: int, positions: np.ndarray) -> int:
        at = self.constant(positions, ValueType(positions.shape, INT64))
        return self.emit(PUT, (array, values, at), (are_distinct(positions),), self.type_of(array), None)

    def spread(self, number: int, entries: EntrySet) -> int:
        """Embed a copy in zeros."""
        type_ = ValueType(entries.of, self.type_of(number).dtype)
        region = entries.region
        if region is not None:
            return self.emit(ASSEMBLE, (number,), (Regions((region,)), entries.of, True), type_, None)
        at = self.constant(entries.positions, ValueType(entries.shape, INT64))
        return self.emit(SCATTER_ADD, (number, at), (entries.of,), type_, None)

    def select(self, number: int, entries: EntrySet) -> int:
        """Some entries of a value of the new tape."""
        if entries.is_all:
            return number
        key = (number, entries)
        if key not in self.selected:
            instruction, region = self.instructions[number], entries.region
            if instruction.op is CONSTANT:
                made = self.constant(instruction.params[0][np.ix_(*entries.axes)], ValueType(entries.shape, instruction.type.dtype))
            elif region is not None:
                made = self.emit(INDEX, (number,), (region,), ValueType(entries.shape, instruction.type.dtype), None)
            else:
                made = self.gathered(number, entries.positions)
            self.selected[key] = made
        return self.selected[key]

    def restrict(self, old: int, entries: EntrySet) -> int:
        """Some entries of an old value, with their derivatives."""
        copy = self.copies.get(old)
        if copy is None:
            return self.select(self.number[old], entries)
        if copy.entries == entries:
            return copy.number
        return self.put(self.select(self.number[old], entries), copy.number, entries.local(copy.entries.positions))


def _moving(op: Op, reached: Sequence[int]) -> list[int]:
    """Return the operands on which the result depends differentiably."""
    return [k for k in reached if callable(op.vjp) or op.vjp[k] is not None]


# How operations treat copies: rule(rewriter, old, instruction, moving) emits the value and its copy; False if it cannot.
Rule = Callable[["_Restricted", int, Instruction, Sequence[int]], bool]


def _elementwise(r: _Restricted, old: int, i: Instruction, moving: Sequence[int]) -> bool:
    shape = i.type.shape
    entries = union([r.copies[i.inputs[k]].entries.broadcast(shape) for k in moving])
    if entries.size > WORTH_KEEPING * math.prod(shape):
        return False
    operands = [r.restrict(n, entries.under(r.tape.instructions[n].type.shape)) for n in i.inputs]
    value = r.copy(old)
    return r.keep_copy(old, value, r.emit(i.op, tuple(operands), i.params, ValueType(entries.shape, i.type.dtype), i.site), entries)


def _summed(r: _Restricted, old: int, i: Instruction, moving: Sequence[int]) -> bool:
    copy, (axes,) = r.copies[i.inputs[0]], i.params
    kept = [k for k in range(len(copy.entries.of)) if k not in axes]
    entries = EntrySet(i.type.shape, tuple(copy.entries.axes[k] for k in kept))
    summed = r.emit(SUM, (copy.number,), i.params, ValueType(entries.shape, i.type.dtype), i.site)
    return r.keep_sum(old, r.copy(old), summed, entries)


def _product(r: _Restricted, old: int, i: Instruction, moving: Sequence[int]) -> bool:
    """Multiply a copy by the matching rows or columns of an inactive factor."""
    if len(moving) > 1 or any(len(r.tape.instructions[n].type.shape) > 2 for n in i.inputs):
        return False
    (position,) = moving
    other = i.inputs[1 - position]
    if other in r.copies or other in r.active:
        return False
    entries = r.copies[i.inputs[position]].entries
    # The contracted axis of each factor.
    own, its = (-1, 0) if position == 0 else (0, -1)
    other_shape = r.tape.instructions[other].type.shape
    axes: list[Axis] = [range(n) for n in other_shape]
    axes[its if len(other_shape) == 2 else 0] = entries.axes[own]
    factor = r.select(r.number[other], EntrySet(other_shape, tuple(axes)))
    mine = [a for k, a in enumerate(entries.axes) if k != own % len(entries.of)]
    others = [range(n) for k, n in enumerate(other_shape) if k != (its % len(other_shape))]
    found = EntrySet(i.type.shape, tuple((*mine, *others) if position == 0 else (*others, *mine)))
    copied = r.copies[i.inputs[position]].number
    operands = (copied, factor) if position == 0 else (factor, copied)
    return r.keep_sum(old, r.copy(old), r.emit(MATMUL, operands, (), ValueType(found.shape, i.type.dtype), i.site), found)


def _indexed(r: _Restricted, old: int, i: Instruction, moving: Sequence[int]) -> bool:
    copy, (region,) = r.copies[i.inputs[0]], i.params
    where: list[Axis] = []
    sources: list[np.ndarray] = []
    for start, step, count, axis in zip(region.starts, region.steps, region.counts, copy.entries.axes):
        inside, source = located(start, step, count, axis)
        where.append(inside)
        sources.append(source)
    value = r.copy(old)
    if not all(map(len, where)):
        r.number[old] = value
        return True
    entries = EntrySet(region.shape, matched_axes(region.counts, region.shape, where))
    flat = np.ravel_multi_index(np.ix_(*sources), copy.entries.shape) if sources else np.zeros((), np.int64)
    chosen = EntrySet.steps(copy.entries.shape, sources)
    made = r.gathered(copy.number, flat) if chosen is None else r.emit(
        INDEX, (copy.number,), (chosen,), ValueType(chosen.shape, i.type.dtype), i.site)  # fmt: skip
    return r.keep_copy(old, value, r.reshaped(made, entries.shape), entries)


def _reshaped(r: _Restricted, old: int, i: Instruction, moving: Sequence[int]) -> bool:
    copy = r.copies[i.inputs[0]]
    return _moved(r, old, i, copy.number, np.ravel(copy.entries.positions))


def _moved(r: _Restricted, old: int, i: Instruction, values: int, positions: np.ndarray) -> bool:
    """Place these values at ascending flat positions of the result."""
    entries = EntrySet.around(positions, i.type.shape)
    if entries.size > WORTH_KEEPING * math.prod(entries.of) and not (entries.is_all and entries.size == len(positions)):
        return False
    value = r.copy(old)
    if entries.size == len(positions):
        return r.keep_copy(old, value, r.reshaped(values, entries.shape), entries)
    flat = r.reshaped(values, (len(positions),))
    return r.keep_copy(old, value, r.put(r.select(value, entries), flat, entries.local(positions)), entries)


def _transposed(r: _Restricted, old: int, i: Instruction, moving: Sequence[int]) -> bool:
    copy, (axes,) = r.copies[i.inputs[0]], i.params
    entries = EntrySet(i.type.shape, tuple(copy.entries.axes[k] for k in axes))
    made = r.emit(TRANSPOSE, (copy.number,), i.params, ValueType(entries.shape, i.type.dtype), i.site)
    return r.keep_copy(old, r.copy(old), made, entries)


def _broadcast(r: _Restricted, old: int, i: Instruction, moving: Sequence[int]) -> bool:
    copy = r.copies[i.inputs[0]]
    entries = copy.entries.broadcast(i.type.shape)
    made = r.emit(BROADCAST, (copy.number,), (entries.shape,), ValueType(entries.shape, i.type.dtype), i.site)
    return r.keep_copy(old, r.copy(old), made, entries)


def _gathered(r: _Restricted, old: int, i: Instruction, moving: Sequence[int]) -> bool:
    known = r.tape.instructions[i.inputs[1]]
    if known.op is not CONSTANT:
        return False
    copy, positions = r.copies[i.inputs[0]], np.ravel(known.params[0])
    is_in = copy.entries.holds(positions)
    if not is_in.any():
        r.number[old] = r.copy(old)
        return True
    return _moved(r, old, i, r.gathered(copy.number, copy.entries.local(positions[is_in])), np.flatnonzero(is_in))


def _scattered(r: _Restricted, old: int, i: Instruction, moving: Sequence[int]) -> bool:
    known = r.tape.instructions[i.inputs[1]]
    if known.op is not CONSTANT:
        return False
    copy = r.copies[i.inputs[0]]
    at = r.constant(known.params[0][np.ix_(*copy.entries.axes)], ValueType(copy.entries.shape, INT64))
    summed = r.emit(SCATTER_ADD, (copy.number, at), i.params, i.type, i.site)
    return r.keep_sum(old, r.copy(old), summed, EntrySet.all_of(i.type.shape))


RULES: dict[Primitive, Rule] = {
    SUM: _summed,
    MATMUL: _product,
    INDEX: _indexed,
    RESHAPE: _reshaped,
    TRANSPOSE: _transposed,
    BROADCAST: _broadcast,
    GATHER: _gathered,
    SCATTER_ADD: _scattered,
}
