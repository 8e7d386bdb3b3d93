"""A tape as arrays of numbers, in which repetitions are found by comparing arrays.

The *sequence* are the instructions that a repeated body consists of. Inputs, constants, and reads of parts of arrays that stand
outside of all bodies do not belong to it: these are operands, wherever they happen to be recorded first.
"""

from __future__ import annotations

import math
from collections.abc import Hashable

import numpy as np

from ...ir.guard_rows import EACH
from ...ir.instruction import CONSTANT, GUARD, INPUT, TUPLE, AnyType, Params, Primitive
from ...ir.tape import Tape
from ...ops.arrays.indexing import INDEX, Region
from ...ops.control.calls import TupleOp

# A body is repeated at least so often. Instructions that are repeated less often are in no body.
FEWEST_ITERATIONS = 8

# An array that is read in more places than this is a table, even if there are many like it.
TABLE_READS = 16

# A call or a loop counts as so many instructions.
CALL_WEIGHT = 16

Ints = np.ndarray


class TapeArrays:
    """A tape as arrays.

    Attributes:
        members: the instructions of the sequence; `tokens` says which are alike.
        operands, first: their operands, those of member k at first[k] to first[k + 1].
        weights: how many instructions each counts for.
        By value, for the whole tape:
        position: the place in the sequence, -1 for operands and for values of bodies that were rolled.
        known: the place in the sequence behind which the value can be had; -1 for inputs and constants.
        source, offset, box: what a read reads, from which flat position on, and as which of the `boxes`; -1 for others.
        types: equal for equal types.
        same: the value that it is equal to: an earlier read of the same part, or a value that a loop makes once instead of every time.
        last_use: the last place in the sequence that uses it; beyond the end for outputs.
    """

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        count = len(tape.instructions)
        self.boxes: list[np.ndarray] = []
        self._box_numbers: dict[Hashable, int] = {}
        self.source, self.offset = np.full(count, -1, np.int64), np.zeros(count, np.int64)
        self.box = np.full(count, -1, np.int64)
        self.types, signs, given, indices = self._signs()
        self.is_constant = np.fromiter((i.op is CONSTANT for i in tape.instructions), bool, count)
        leaves = self._leaves(signs, given, indices)
        outside = given.copy()
        outside[leaves] = True
        self.members = np.flatnonzero(~outside)
        self.position = np.full(count, -1, np.int64)
        self.position[self.members] = np.arange(self.members.size)
        self.tokens = signs[self.members]
        self._read_leaves(leaves)
        self._collect_operands(leaves)

    def __len__(self) -> int:
        return int(self.members.size)

    def _signs(self) -> tuple[Ints, Ints, Ints, Ints]:
        """By value: a number for its type and one for the kind of instruction, whether it is given; and the INDEX ones."""
        by_identity: dict[int, int] = {}
        types: dict[Hashable, int] = {}
        known: dict[Hashable, int] = {}
        kinds: list[int] = []
        signs: list[int] = []
        given: list[bool] = []
        indices: list[int] = []
        for number, (op, inputs, params, type_, _) in enumerate(self.tape.instructions):
            kind = by_identity.get(id(type_))
            if kind is None:
                kind = by_identity[id(type_)] = types.setdefault(type_, len(types))
            kinds.append(kind)
            given.append(op is CONSTANT or op is INPUT)
            if op is INDEX:
                indices.append(number)
                key: Hashable = (op, kind)
            elif _is_single(op, params, type_):
                key = number
            elif op is GUARD:
                # The outcome belongs to the iteration, as an operand does.
                key = (op, params[0], kinds[inputs[0]], params[3].kinds if params[0] == EACH else None)
            else:
                key = (op, kind, params) if params and not given[-1] else (op, kind)
            sign = known.get(key)
            if sign is None:
                sign = known[key] = len(known)
            signs.append(sign)
        self._known_signs = known
        return np.array(kinds), np.array(signs), np.array(given, bool), np.array(indices, np.int64)

    def _leaves(self, signs: Ints, given: Ints, indices: Ints) -> Ints:
        """The reads that are operands; the others get signs of their own for each region."""
        instructions = self.tape.instructions
        sources = np.fromiter((instructions[i].inputs[0] for i in indices), np.int64, indices.size)
        often = np.bincount(signs, minlength=1)
        reads = np.bincount(sources, minlength=given.size)
        is_leaf = given[sources] | (often[signs[sources]] < FEWEST_ITERATIONS) | (reads[sources] > TABLE_READS)
        for number in indices[~is_leaf].tolist():
            key = (INDEX, int(self.types[number]), instructions[number].params)
            signs[number] = self._known_signs.setdefault(key, len(self._known_signs))
        return indices[is_leaf]

    def _read_leaves(self, leaves: Ints) -> None:
        instructions = self.tape.instructions
        types, same = self.types.tolist(), list(range(len(instructions)))
        known: dict[tuple[int, int, int], int] = {}
        found: list[tuple[int, int, int]] = []
        for number in leaves.tolist():
            _, (source,), (region,), *_ = instructions[number]
            source = same[source]
            if len(region.starts) == 1:
                offset = region.starts[0]
            else:
                offset = sum(a * b for a, b in zip(region.starts, _strides(instructions[source].type.shape)))
            read = source, offset, self._box(region, types[source], instructions[source].type.shape)
            found.append(read)
            # An entry that is read again, in another iteration perhaps, is the same value.
            same[number] = known.setdefault(read, number)
        self.same = np.array(same, np.int64)
        if found:
            self.source[leaves], self.offset[leaves], self.box[leaves] = np.array(found, np.int64).T

    def _box(self, region: Region, source_type: int, shape: tuple[int, ...]) -> int:
        _, steps, counts, result = region
        key = (steps, counts, result, source_type)
        known = self._box_numbers.get(key)
        if known is None:
            positions = np.zeros((1,) * len(shape), np.int64)
            for axis, stride in enumerate(_strides(shape)):
                line = np.arange(counts[axis], dtype=np.int64) * steps[axis] * stride
                positions = positions + line.reshape([-1 if k == axis else 1 for k in range(len(shape))])
            known = self._box_numbers[key] = self.add_box(positions.reshape(result))
        return known

    def add_box(self, positions: np.ndarray) -> int:
        """A pattern of reads: flat positions, from the first one on."""
        self.boxes.append(positions)
        return len(self.boxes) - 1

    def _collect_operands(self, leaves: Ints) -> None:
        instructions = self.tape.instructions
        members = self.members.tolist()
        operands: list[int] = []
        first = [0]
        weights: list[int] = []
        for number in members:
            op, inputs, *_ = instructions[number]
            operands += inputs
            first.append(len(operands))
            weights.append(CALL_WEIGHT if isinstance(op, TupleOp) else 1)
        self.operands, self.first = np.array(operands, np.int64), np.array(first, np.int64)
        self.weights = np.concatenate([[0], np.cumsum(np.array(weights, np.int64))])
        self.known = self.position.copy()
        for number in leaves.tolist():
            self.known[number] = self.known[instructions[number].inputs[0]]
        self.last_use = np.full(len(instructions), -1, np.int64)
        consumers = np.repeat(np.arange(len(members)), np.diff(self.first))
        np.maximum.at(self.last_use, self.operands, consumers)
        # Where a read of a part will stand is not settled.
        self.last_use[self.source[leaves]] = len(members)
        self.last_use[list(self.tape.outputs)] = len(members)


def _is_single(op: Primitive, params: Params, type_: AnyType) -> bool:
    """Whether nothing may be like this instruction: it ends every repetition."""
    if op is GUARD:
        return params[0] == "array"
    if isinstance(op, TupleOp) and not params[0].is_pure:
        return True
    return type_.dtype is not TUPLE and type_.size == 0


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[k + 1 :]) for k in range(len(shape)))
