"""A tape as arrays of numbers, in which repetitions are found by comparing arrays.

The *sequence* has the instructions that a repeated body consists of. Inputs, constants, and slices of arrays from outside of all bodies are
operands instead, wherever they are first recorded.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ...ir.guard_rows import EACH
from ...ir.instruction import (
    CONSTANT,
    ENTRY,
    GUARD,
    INPUT,
    TUPLE,
    AnyType,
    Params,
    Primitive,
)
from ...ir.tape import Tape
from ...ops.arrays.indexing import INDEX, Region
from ...ops.control.calls import TupleOp
from ..columns import as_columns, operands_of
from ..simplify.array_entries import entry_region

# The fewest iterations of a body; rarer instructions belong to none.
FEWEST_ITERATIONS = 8

# The number of consecutive equal tokens that may begin a repetition.
WINDOW = 12

# An array read in more places is a table, even if there are many like it.
TABLE_READS = 16

# The number of instructions that a call or loop counts as.
CALL_WEIGHT = 16

Ints = np.ndarray


class _Numbers(dict[Any, int]):
    """Numbers keys in the order of their first lookup."""

    def __missing__(self, key: Hashable) -> int:
        number = self[key] = len(self)
        return number


class TapeArrays:
    """A tape as arrays.

    Attributes:
        members: the instructions of the sequence; `tokens` are equal for isomorphic ones.
        operands, first: their operands, those of member k at first[k] to first[k + 1].
        weights: cumulative weights, in instructions.
        By value, for the whole tape:
        position: the place in the sequence, -1 for operands and for values of rolled bodies.
        known: the place in the sequence after which the value is available; -1 for inputs and constants.
        source, offset, box: a read's array, first flat position, and index in `boxes`; -1 for other values.
        types: the index of its type in `kinds`.
        is_constant, is_guard, is_tuple: by op, or by type.
        same: the representative of equal values: an earlier read of the same slice, or a loop-invariant value.
        last_use: the last place in the sequence that uses it; after the end for outputs.
        growing: sources that are built again and again, each time with a few more values; see repetition.py.
    """

    def __init__(self, tape: Tape) -> None:
        self.tape, self.growing = tape, set[int]()
        self.columns = as_columns(tape.instructions)
        count = self.columns.which.size
        self._inputs()
        self.boxes: list[np.ndarray] = []
        self._box_numbers: dict[Hashable, int] = {}
        self.source, self.offset = np.full(count, -1, np.int64), np.zeros(count, np.int64)
        self.box = np.full(count, -1, np.int64)
        self.types, signs, given, indices = self._signs()
        self.is_tuple = np.fromiter((type_.dtype is TUPLE for type_ in self.kinds), bool, len(self.kinds))[self.types]
        self.is_constant, self.is_guard = self._codes == self._ops[CONSTANT], self._codes == self._ops[GUARD]
        leaves = self._leaves(signs, given, indices)
        outside = given.copy()
        outside[leaves] = True
        self.members = np.flatnonzero(~outside)
        self.position = np.full(count, -1, np.int64)
        self.position[self.members] = np.arange(self.members.size)
        self.tokens = signs[self.members]
        self._read_leaves(leaves)
        self._collect_operands(leaves)
        # For a long loop each of these is as large as the recording.
        del self._operands, self._begins, self._taken, self._codes, self.first_input

    def __len__(self) -> int:
        return int(self.members.size)

    def _signs(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Return, by value, a number for its type, one for the kind of instruction, and True if it is given; and the INDEX instructions."""
        templates, which = self.columns.templates, self.columns.which
        ops, _, params, types, _ = zip(*templates) if templates else ((),) * 5
        count, type_numbers, self._ops = len(ops), _Numbers(), _Numbers()
        by_identity = {key: type_numbers[type_] for key, type_ in dict(zip(map(id, types), types)).items()}
        kinds = np.fromiter(map(by_identity.__getitem__, map(id, types)), np.int64, count)
        codes = np.fromiter(map(self._ops.__getitem__, ops), np.int64, count)
        # Equal for the same op and type; instructions with parameters are compared one by one.
        _, signs = np.unique(codes * len(type_numbers) + kinds, return_inverse=True)
        is_empty = np.fromiter((_is_empty(type_) for type_ in type_numbers), bool, len(type_numbers))
        has_params = np.fromiter(map(bool, params), bool, count)
        is_looked_at = has_params | is_empty[kinds]
        self._codes, kinds, signs = codes[which], kinds[which], signs[which].astype(np.int64)
        given = (self._codes == self._ops[CONSTANT]) | (self._codes == self._ops[INPUT])
        is_index = self._codes == self._ops[INDEX]
        first, self._known_signs = int(signs.max()) + 1, _Numbers()
        for number in np.flatnonzero(is_looked_at[which] & ~given & ~is_index).tolist():
            op, _, given_params, type_, _ = templates[which[number]]
            if _is_single(op, given_params, type_):
                key: Hashable = number
            elif op is GUARD:
                # The outcome varies with the iteration, like an operand.
                kind = given_params[3].kinds if given_params[0] == EACH else None
                key = (op, given_params[0], int(kinds[self.first_input[number]]), kind)
            else:
                key = (op, int(kinds[number]), given_params)
            signs[number] = first + self._known_signs[key]
        self._first_sign, self.kinds = first, list(type_numbers)
        return kinds, signs, given, np.flatnonzero(is_index)

    def _leaves(self, signs: Ints, given: Ints, indices: Ints) -> Ints:
        """Return the reads that are operands; give the others a sign for each region."""
        sources = self.first_input[indices]
        often = np.bincount(signs, minlength=1)
        reads = np.bincount(sources, minlength=given.size)
        is_leaf = given[sources] | (often[signs[sources]] < FEWEST_ITERATIONS) | (reads[sources] > TABLE_READS)
        self._sign_reads(signs, indices[~is_leaf])
        return indices[is_leaf]

    def _sign_reads(self, signs: Ints, reads: Ints) -> None:
        """Give equal signs to reads of one region with one result type."""
        templates, takes, which, first, position = self.columns
        is_entry = takes[which[reads]] == ENTRY
        singly, entries = reads[~is_entry], reads[is_entry]
        used, example, alike = np.unique(which[singly], return_index=True, return_inverse=True)
        signs[singly] = self._signs_of_reads(singly[example], [templates[k].params for k in used.tolist()])[alike]
        sources, positions = self.types[first[entries]], position[entries]
        _, example, alike = np.unique(sources * (positions.max(initial=0) + 1) + positions, return_index=True, return_inverse=True)
        read = zip(sources[example].tolist(), positions[example].tolist())
        signs[entries] = self._signs_of_reads(entries[example], [(entry_region(k, self.kinds[type_].shape),) for type_, k in read])[alike]

    def _signs_of_reads(self, reads: Ints, params: Sequence[Params]) -> Ints:
        known, types = self._known_signs, self.types[reads].tolist()
        return self._first_sign + np.array([known[INDEX, type_, each] for type_, each in zip(types, params)], np.int64)

    def _read_leaves(self, leaves: Ints) -> None:
        """Record the sources of reads. Entry reads, of which there may be very many, are handled all at once."""
        templates, takes, which, *_ = self.columns
        is_entry = takes[which[leaves]] == ENTRY
        singly = leaves[~is_entry]
        if any(not templates[k].type.shape for k in which[singly].tolist()):
            singly = leaves  # an entry may be read in both ways
        self._read_one_by_one(singly)
        if singly.size < leaves.size:
            self._read_entries(leaves[is_entry])

    def _read_one_by_one(self, leaves: Ints) -> None:
        instructions = self.tape.instructions
        same: dict[int, int] = {}
        known: dict[tuple[int, int, int], int] = {}
        found: list[tuple[int, int, int]] = []
        # Keyed by the id of a region, which is stored to keep it alive.
        seen: dict[tuple[int, int], tuple[tuple[int, int, int], Region]] = {}
        for number in leaves.tolist():
            _, (array,), (region,), *_ = instructions[number]
            source = same[array] if array in same else array
            # Regions of single entries are shared by all reads of them.
            kept = seen.get((source, id(region)))
            if kept is not None:
                read = kept[0]
            else:
                shape = instructions[source].type.shape
                offset = region.starts[0] if len(shape) == 1 else sum(a * b for a, b in zip(region.starts, _strides(shape)))
                read = source, offset, self._box(region, int(self.types[source]), shape)
                seen[source, id(region)] = read, region
            found.append(read)
            # An entry read again, perhaps in another iteration, is the same value.
            same[number] = known.setdefault(read, number)
        self.same = np.arange(len(instructions))
        if found:
            self.same[leaves] = list(same.values())
            self.source[leaves], self.offset[leaves], self.box[leaves] = np.array(found, np.int64).T

    def _read_entries(self, leaves: Ints) -> None:
        sources, positions = self.same[self.first_input[leaves]], self.columns.second[leaves]
        _, first, read = np.unique(sources * (positions.max() + 1) + positions, return_index=True, return_inverse=True)
        self.same[leaves] = leaves[first][read]
        self.source[leaves], self.offset[leaves] = sources, positions
        for source in np.unique(sources).tolist():
            shape = self.tape.instructions[source].type.shape
            ones = (1,) * len(shape)
            self.box[leaves[sources == source]] = self._box(Region((0,) * len(shape), ones, ones, ()), int(self.types[source]), shape)

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

    def type_of(self, number: int) -> AnyType:
        return self.kinds[self.types[number]]

    def add_box(self, positions: np.ndarray) -> int:
        """Register the flat positions of a read, relative to the first."""
        self.boxes.append(positions)
        return len(self.boxes) - 1

    def _inputs(self) -> None:
        """Collect the operands of all values, concatenated, with the start and count of each."""
        operands, begins, taken = operands_of(self.columns)
        self.first_input = np.full(taken.size, -1, np.int64)
        self.first_input[taken > 0] = operands[begins[taken > 0]]
        self._operands, self._begins, self._taken = operands, begins, taken

    def _collect_operands(self, leaves: Ints) -> None:
        members, taken = self.members, self._taken[self.members]
        self.first = np.concatenate([[0], np.cumsum(taken)])
        self.operands = self._operands[np.repeat(self._begins[members] - self.first[:-1], taken) + np.arange(int(self.first[-1]))]
        weight = np.array([CALL_WEIGHT if isinstance(op, TupleOp) else 1 for op in self._ops], np.int64)
        self.weights = np.concatenate([[0], np.cumsum(weight[self._codes[self.members]])])
        self.known = self.position.copy()
        sources = self.first_input[leaves]
        self.known[leaves] = self.known[sources]
        is_leaf = np.zeros(self.known.size, bool)
        is_leaf[leaves] = True
        for number in leaves[is_leaf[sources]].tolist():
            self.known[number] = self.known[self.first_input[number]]
        self.last_use = np.full(self.position.size, -1, np.int64)
        # Later members come later, and of several assignments the last one wins.
        self.last_use[self.operands] = np.repeat(np.arange(members.size), taken)
        # The final place of a slice read is not known yet.
        self.last_use[self.source[leaves]] = len(members)
        self.last_use[list(self.tape.outputs)] = len(members)


def _is_single(op: Primitive, params: Params, type_: AnyType) -> bool:
    """True if no instruction may match this one: it ends every repetition."""
    if op is GUARD:
        return params[0] == "array"
    if isinstance(op, TupleOp) and not params[0].is_pure:
        return True
    return _is_empty(type_)


def _is_empty(type_: AnyType) -> bool:
    return type_.dtype is not TUPLE and type_.size == 0


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[k + 1 :]) for k in range(len(shape)))


def previous_windows(tokens: Ints) -> Ints:
    """Return, for each place, the last earlier place with the same window of tokens; -1 for none."""
    size = tokens.size - WINDOW + 1
    if size <= 1:
        return np.full(max(size, 0), -1, np.int64)
    mixed = (tokens.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = np.zeros(size, np.uint64)
    for k in range(WINDOW):
        hashes = hashes * np.uint64(0x100000001B3) + mixed[k : k + size]
    order = np.argsort(hashes, kind="stable")
    same = hashes[order[1:]] == hashes[order[:-1]]
    previous = np.full(size, -1, np.int64)
    previous[order[1:][same]] = order[:-1][same]
    return previous


def agreement(tokens: Ints, place: int, period: int) -> int:
    """Count the tokens from a place on that equal those of one period before."""
    done, step = 0, 256
    while place + done < tokens.size:
        here = tokens[place + done : place + done + step]
        differs = here != tokens[place + done - period : place + done - period + here.size]
        if differs.any():
            return done + int(differs.argmax())
        done, step = done + here.size, 2 * step
    return done
