"""Traces the entries of a tape's values to their origins, and groups isomorphic instructions into runs: see batch_alike.py.

    tape → nodes: computations, whose entries are numbered throughout, and for each operand the numbers of its entries

Instructions that only move entries (indexing, reshaping, stacking) permute their numbers and are no nodes; a sum added up by many
instructions is one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ....ir.instruction import BOOL, CONSTANT, FLOAT64, GUARD, INPUT, INT64, Instruction, Operand, ValueType
from ....ir.tape import Tape
from ....ops import Elementwise, Op
from ....ops.arrays.indexing import ASSEMBLE, INDEX, PUT, REPLACE
from ....ops.arrays.reductions import SUM
from ....ops.elementwise.arithmetic import ADD, CONVERT, MULTIPLY, NEGATIVE, SUBTRACT
from ....ops.matrices.products import MATMUL
from ..vectorize import LARGEST_ARRAY

# Larger arrays fill the lanes by themselves; kernels move their entries.
LARGEST_VALUE = 4096

# Limit on moved entries of a tape: per instruction, and in addition.
MOST_MOVED, MOST_MOVED_BESIDE = 64, 1 << 20

# Sums of fewer terms are left as they are.
FEWEST_TERMS = 4


# Up to so many entries, the run of each is looked up.
FEW_ENTRIES = 16

DTYPES = (FLOAT64, INT64, BOOL)


class Unsuited(Exception):
    """The tape would need too many operations, or too many moved entries."""


@dataclass(slots=True)
class Entries:
    """A value as numbered entries.

    Attributes:
        first: the number of its first entry, if it is a whole node or constant.
        run: the last run among its nodes; -1 for constants.
        ids: the numbers of its entries, in its shape; None if consecutive from `first`. Numbers of constants are negative.
    """

    first: int
    type: ValueType
    run: int
    ids: np.ndarray | None = None

    def numbers(self) -> np.ndarray:
        if self.ids is None:
            size = self.type.size
            ids = np.arange(self.first, self.first + size) if self.first >= 0 else np.arange(self.first, self.first - size, -1)
            self.ids = ids.reshape(self.type.shape)
        return self.ids


class Node(NamedTuple):
    """A computation.

    Attributes:
        instruction: the one on the tape, or one that replaces a part of it; its inputs are meaningless.
        operands: entries; an int is an instruction whose result is not an array.
        first: the number of its first entry.
        old: the instruction on the tape with this value; -1 for parts.
    """

    instruction: Instruction
    operands: tuple[Entries | int, ...]
    first: int
    old: int


@dataclass(slots=True)
class Run:
    """Independent nodes, in the order of the tape.

    Attributes:
        key: equal for isomorphic nodes; ALONE if they are computed one by one.
        size: the total number of their entries.
    """

    key: Hashable
    nodes: list[Node] = field(default_factory=list)
    size: int = 0


@dataclass(slots=True)
class Runs:
    """A tape as runs in topological order.

    Attributes:
        values: by instruction, its entries; its number if it is not an array; None for parts of sums.
        constants: by dtype, arrays of numbers, concatenated; the n-th number is entry -1 - n.
    """

    made: list[Run] = field(default_factory=list)
    values: list[Entries | int | None] = field(default_factory=list)
    constants: dict[np.dtype, list[np.ndarray]] = field(default_factory=dict)


ALONE, ROWS, COLUMNS = "alone", "rows", "columns"


def runs_of(tape: Tape, start: int, most: int) -> Runs:
    """The runs of a tape; instructions before `start` stay as they are. Raises Unsuited where it takes more than `most` operations.

    Every node goes to the first run of its key after those of its operands, as in compiler/bytecode/sweeps/runs.py.
    """
    return _Reader(tape, start, most).read()


class _Reader:
    """Reads the instructions in order.

    Attributes:
        firsts, run_of: of all nodes, the number of the first entry, and the run.
        runs_by_key: the numbers of the runs, by key.
        run_of_other: the run of each instruction that is not an array.
        count, moved: the number of entries, and of moved entries.
        sources: (run, operand, source run) triples: each is a separate read.
    """

    def __init__(self, tape: Tape, start: int, most: int) -> None:
        self.instructions, self.start = tuple(tape.instructions), start
        self.runs = Runs([Run(ALONE)])
        self.firsts, self.run_of = list[int](), list[int]()
        self.runs_by_key: dict[Hashable, list[int]] = {ALONE: [0]}
        self.sizes: dict[np.dtype, int] = {}
        self.run_of_other: dict[int, int] = {}
        self.count = self.moved = self.operations = 0
        self.sources = set[tuple[int, int, int]]()
        self.most = most
        self.most_moved = MOST_MOVED * len(self.instructions) + MOST_MOVED_BESIDE
        uses = Counter(i for instruction in self.instructions for i in instruction.inputs)
        uses.update(tape.outputs)
        self.terms, self.absorbed = _sums(self.instructions, uses, start)
        self.factors = Counter((k, self._factor(i.inputs[k])) for i in self.instructions if i.op is MATMUL for k in range(2))

    def read(self) -> Runs:
        for number, instruction in enumerate(self.instructions):
            self.runs.values.append(None if number in self.absorbed else self._value(number, instruction))
        return self.runs

    def _value(self, number: int, instruction: Instruction) -> Entries | int:
        op, inputs, params, type_, _ = instruction
        if op is CONSTANT:
            return self._constant(params[0], type_)
        if number in self.terms:
            return self._total(number, instruction)
        operands = [self._operand(i) for i in inputs]
        entries = [o for o in operands if isinstance(o, Entries)]
        if op is INPUT or number < self.start or not is_array(instruction) or len(entries) < len(operands):
            return self._add(instruction, ALONE, operands, number)
        if type_.dtype not in DTYPES or (type_.shape and type_.size > LARGEST_VALUE):
            return self._add(instruction, ALONE, operands, number)
        moved = self._moved(instruction, entries)
        if moved is not None:
            return moved
        if op is MATMUL and type_.shape == () and type_.is_float:
            return self._dot(number, instruction, entries)
        return self._add(instruction, self._key(instruction, entries), entries, number)

    def _operand(self, number: int) -> Entries | int:
        value = self.runs.values[number]
        assert value is not None, "what is a part of a sum is read by nothing else"
        return value

    def _constant(self, array: np.ndarray, type_: ValueType) -> Entries:
        before = self.sizes.get(type_.dtype, 0)
        self.runs.constants.setdefault(type_.dtype, []).append(array.ravel())
        self.sizes[type_.dtype] = before + array.size
        return Entries(-1 - before, type_, -1)

    def _add(self, instruction: Instruction, key: Hashable, operands: Sequence[Entries | int], old: int = -1) -> Operand:
        """Add a node; return its entries, or the instruction's number if it is not an array."""
        makes_array = is_array(instruction)
        size = instruction.type.size if makes_array else 0
        needed = [o.run if isinstance(o, Entries) else self.run_of_other[o] for o in operands]
        is_kept = 0 <= old < self.start
        run = 0 if is_kept else self._run(key, needed, size)
        made = self.runs.made[run]
        if not is_kept:
            self._count(run, made, needed)
        made.nodes.append(Node(instruction, tuple(operands), self.count, old))
        made.size += size
        if not makes_array:
            self.run_of_other[old] = run
            return old
        self.firsts.append(self.count)
        self.run_of.append(run)
        self.count += size
        return Entries(self.count - size, instruction.type, run)

    def _count(self, run: int, made: Run, needed: Sequence[int]) -> None:
        """Count one operation for a new run, and one for each further run that an operand is read from."""
        if made.key is ALONE or not made.nodes:
            self.operations += 1
            self.sources.update((run, k, source) for k, source in enumerate(needed))
        else:
            for k, source in enumerate(needed):
                if (run, k, source) not in self.sources:
                    self.sources.add((run, k, source))
                    self.operations += 1
        if self.operations > self.most:
            raise Unsuited

    def _run(self, key: Hashable, needed: Sequence[int], size: int) -> int:
        """Return the number of the first run with this key after the needed ones."""
        earliest, made = 1 + max(needed, default=-1), self.runs.made
        numbers = self.runs_by_key.setdefault(key, [])
        if numbers and numbers[-1] >= earliest:
            number = numbers[bisect_left(numbers, earliest)]
            if key is ALONE or made[number].size + size <= LARGEST_ARRAY:
                return number
        numbers.append(len(made))
        made.append(Run(key))
        return len(made) - 1

    # Keys of isomorphic operations

    def _key(self, instruction: Instruction, operands: Sequence[Entries]) -> Hashable:
        """Elementwise operations: all but the shapes. Sums: the run of their operand, so that it need not be gathered."""
        op, inputs, params, type_, _ = instruction
        if not isinstance(op, Op) or op.raises or op.lapack or op.fails_on_integers:
            return ALONE
        types = [o.type for o in operands]
        if any(t.shape and not t.size for t in (type_, *types)) or any(t.dtype not in DTYPES for t in types):
            return ALONE
        kinds = "".join([t.dtype.kind for t in types]) + type_.dtype.kind
        if isinstance(op, Elementwise) or op is CONVERT:
            return (op, kinds, *params)
        if op is SUM and type_.is_float:
            return op, kinds, operands[0].run
        shapes = tuple([t.shape for t in types])
        if op is MATMUL:
            return self._product_key(inputs, shapes, kinds)
        if op.batching is None or not op.batching.suits(instruction, types, [False] * len(types)):
            return ALONE
        return (op, kinds, shapes, *params)

    def _product_key(self, inputs: Sequence[int], shapes: Sequence[tuple[int, ...]], kinds: str) -> Hashable:
        """Key products by a shared array: they become one product with all rows (or columns) stacked."""
        x, y = map(len, shapes)
        for k, by, suits in ((1, ROWS, 0 < x <= 2 and y <= 2), (0, COLUMNS, x == 2 and y == 1)):
            factor = self._factor(inputs[k])
            if kinds == "fff" and suits and self.factors[k, factor] > 1:
                return MATMUL, by, factor
        return MATMUL, kinds, *shapes

    def _factor(self, number: int) -> Hashable:
        """Equal for equal reads of one array."""
        op, inputs, params, _, _ = self.instructions[number]
        return (op, inputs, params) if op is INDEX else number

    # Nodes for several instructions, or for a part of one

    def _total(self, number: int, instruction: Instruction) -> Entries:
        """Add a sum of many terms: the added ones less the subtracted ones."""
        added, subtracted = (self._sum(number, instruction, is_subtracted) for is_subtracted in (False, True))
        if subtracted is None:
            assert added is not None, "there is a first term, which is kept"
            return added
        if added is None:
            return self._add(instruction._replace(op=NEGATIVE), (NEGATIVE, "ff"), [subtracted])
        return self._add(instruction._replace(op=SUBTRACT), (SUBTRACT, "fff"), [added, subtracted])

    def _sum(self, number: int, instruction: Instruction, is_subtracted: bool) -> Entries | None:
        numbers = [i for i, of_kind in self.terms[number] if of_kind == is_subtracted]
        operands = [self._operand(i) for i in numbers if not self._is_zero(i)]
        terms = [term for term in operands if isinstance(term, Entries)]
        if not terms:
            return None
        ids = self._keep(np.stack([term.numbers() for term in terms]))
        stacked = Entries(0, ValueType(ids.shape, instruction.type.dtype), max(term.run for term in terms), ids)
        return self._add(instruction._replace(op=SUM, params=((0,),)), (SUM, "ff", stacked.run), [stacked])

    def _is_zero(self, number: int) -> bool:
        """True for the zero that a sum begins with."""
        op, _, params, _, _ = self.instructions[number]
        return op is CONSTANT and params[0].shape == () and params[0] == 0

    def _dot(self, number: int, instruction: Instruction, operands: Sequence[Entries]) -> Entries:
        """Add the product of two vectors as a sum of products, batchable with those of other lengths."""
        products = self._add(instruction._replace(op=MULTIPLY, type=operands[0].type), (MULTIPLY, "fff"), operands)
        return self._add(instruction._replace(op=SUM, params=((0,),)), (SUM, "ff", products.run), [products], number)

    def _moved(self, instruction: Instruction, operands: Sequence[Entries]) -> Entries | None:
        """Return the entries of an instruction that only moves them; None if it computes, has large operands or unknown positions."""
        op, inputs, params, type_, _ = instruction
        if not (op.moves or op is REPLACE or (op is ASSEMBLE and params[2]) or op is PUT):
            return None
        at = op.positions[0] if isinstance(op, Op) and op.positions is not None else -1
        if any(o.type.size > LARGEST_ARRAY for o in operands):
            return None
        if at >= 0 and self.instructions[inputs[at]].op is not CONSTANT:
            return None
        arrays = [self.instructions[inputs[k]].params[0] if k == at else o.numbers() for k, o in enumerate(operands)]
        if op is ASSEMBLE:
            # Shift numbers below 0, so that a 0 afterwards marks an unwritten entry.
            shift = 1 + max(int(a.max(initial=-1)) for a in arrays)
            moved = np.asarray(op.evaluate(*[a - shift for a in arrays], *params)) + shift
            if (moved == shift).any():
                zero = self._constant(np.zeros((), type_.dtype), ValueType((), type_.dtype))
                moved = np.where(moved == shift, zero.first, moved)
        else:
            moved = np.asarray(op.evaluate(*arrays, *params))
        return Entries(0, type_, self._last_run(moved, [o for k, o in enumerate(operands) if k != at]), self._keep(moved))

    def _last_run(self, ids: np.ndarray, operands: Sequence[Entries]) -> int:
        """Return the last run that makes one of these entries; of many entries, the last run of the operands."""
        if ids.size > FEW_ENTRIES or (len(operands) == 1 and operands[0].ids is None):
            return max(o.run for o in operands)
        return max([self.run_of[bisect_right(self.firsts, i) - 1] for i in ids.ravel().tolist() if i >= 0], default=-1)

    def _keep(self, ids: np.ndarray) -> np.ndarray:
        self.moved += ids.size
        if self.moved > self.most_moved:
            raise Unsuited
        return ids


def is_array(instruction: Instruction) -> bool:
    """True if the value has entries."""
    return type(instruction.type) is ValueType and instruction.op is not GUARD


def _sums(
    instructions: Sequence[Instruction], uses: Counter[int], start: int
) -> tuple[dict[int, list[tuple[int, bool]]], set[int]]:  # fmt: skip
    """Return sums of many terms, as (term, is subtracted) by their last addition; and the partial sums that they absorb."""
    terms, absorbed = dict[int, list[tuple[int, bool]]](), set[int]()
    looked_at = bytearray(len(instructions))
    for number in range(len(instructions) - 1, start - 1, -1):
        if looked_at[number] or not _adds(instructions, number):
            continue
        found, parts, pending = list[tuple[int, bool]](), list[int](), [(number, False)]
        while pending:
            part, negative = pending.pop()
            op, inputs, _, _, _ = instructions[part]
            for i, sign in ((inputs[0], negative), (inputs[1], negative != (op is SUBTRACT))):
                if i >= start and uses[i] == 1 and _adds(instructions, i) and instructions[i].type == instructions[number].type:
                    looked_at[i] = 1
                    parts.append(i)
                    pending.append((i, sign))
                else:
                    found.append((i, sign))
        if len(found) >= FEWEST_TERMS and any(instructions[i].op is not CONSTANT for i, _ in found):
            terms[number] = found[::-1]
            absorbed.update(parts)
    return terms, absorbed


def _adds(instructions: Sequence[Instruction], number: int) -> bool:
    """True if an instruction adds or subtracts two numbers, or arrays of one shape."""
    op, inputs, _, type_, _ = instructions[number]
    return (op is ADD or op is SUBTRACT) and type_.is_float and all(instructions[i].type == type_ for i in inputs)
