"""Tracks the unwritten elements of a recording's buffers, instruction by instruction, and reports each read of one.

Instructions are followed in tape order: moves of elements also move unwritten ones, writes make them written, and all other
instructions read their operands. For every value, an array of its shape holds the mark of each unwritten entry, a number from 0 on that
identifies buffer and element; -1 for an ordinary entry.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...ir.instruction import CONSTANT, Instruction, Operand
from ...ops.arrays.indexing import GATHER, PUT, REPLACE
from ...ops.declaration.op import Op
from ...ops.elementwise.arithmetic import CONVERT
from ...ops.elementwise.comparison import SELECT
from ...ops.elementwise.structure import STOP_GRADIENT

# Later than any instruction.
NEVER = np.iinfo(np.int64).max


class _Versions:
    """All versions of an array whose elements are written one by one, in one record, as each differs little from the last.

    Attributes:
        marks: of each element, before any write.
        written: the instruction that wrote it first.
        latest: the instruction that gave the latest version.
        left: how many elements of the latest version are unwritten.
    """

    __slots__ = ("latest", "left", "marks", "written")

    def __init__(self, marks: np.ndarray, latest: int) -> None:
        self.marks, self.latest = marks, latest
        self.written = np.where(marks >= 0, NEVER, -1)
        self.left = int(np.count_nonzero(marks >= 0))

    def write(self, where: Operand, number: int, *, is_flat: bool) -> None:
        """Note that instruction `number` writes to these elements. Keep the first write of each, as earlier versions are looked up, too."""
        written = self.written.reshape(-1) if is_flat else self.written
        if is_flat:
            where = np.unique(where)
        before = written[where]
        self.left -= int(np.count_nonzero(before == NEVER))
        written[where] = np.minimum(before, number)
        self.latest = number


class Labelled(NamedTuple):
    """A buffer in messages."""

    name: str
    shape: tuple[int, ...]
    first: int


class BufferReads:
    """The unwritten elements of all buffers of one recording.

    Args:
        instructions: of the recording; they may grow.
        on_read: called with an instruction and the marks that it reads.
    """

    def __init__(self, instructions: Sequence[Instruction], on_read: Callable[[Instruction, np.ndarray], None]) -> None:
        self._instructions, self._on_read = instructions, on_read
        self._values: dict[int, _Versions] = {}
        self._next = 0
        self._buffers: list[Labelled] = []
        self.count = 0

    def add(self, number: int, shape: tuple[int, ...], name: str) -> int:
        """Value `number` is a buffer, none of whose elements is written. Returns its first mark."""
        first, size = self.count, int(np.prod(shape))
        self._buffers.append(Labelled(name, shape, self.count))
        if size:
            self._values[number] = _Versions(np.arange(first, first + size).reshape(shape), number)
        self.count += size
        return first

    def follow(self) -> None:
        """Process the instructions recorded since the last call."""
        while self._next < len(self._instructions):
            number, self._next = self._next, self._next + 1
            instruction = self._instructions[number]
            if any(i in self._values for i in instruction.inputs):
                self._step(number, instruction)

    def marks(self, number: int) -> np.ndarray | None:
        """The marks of a value's unwritten entries; None if there are none."""
        known = self._values.get(number)
        if known is None:
            return None
        unwritten = known.written > number
        return np.where(unwritten, known.marks, -1) if unwritten.any() else None

    def element(self, mark: int) -> str:
        """An element in messages."""
        name, shape, first = next(b for b in reversed(self._buffers) if b.first <= mark)
        index = np.unravel_index(mark - first, shape)
        return f"element [{', '.join(map(str, index))}] of {name}" if shape else name

    def _step(self, number: int, instruction: Instruction) -> None:
        op = instruction.op
        if op is REPLACE or (op is PUT and self._constant(instruction.inputs[2]) is not None):
            return self._write(number, instruction)
        if op is SELECT:
            return self._select(number, instruction)
        if op is CONVERT or op is STOP_GRADIENT:
            return self._set(number, self.marks(instruction.inputs[0]))
        if isinstance(op, Op) and op.moves and (op is not GATHER or self._constant(instruction.inputs[1]) is not None):
            return self._move(number, instruction, op)
        if op is PUT:
            # The written positions are not known before it runs.
            self._read(instruction, instruction.inputs[1:])
            return self._set(number, self.marks(instruction.inputs[0]))
        return self._read(instruction, instruction.inputs)

    def _set(self, number: int, marks: np.ndarray | None) -> None:
        if marks is not None and (marks >= 0).any():
            self._values[number] = _Versions(np.array(marks), number)

    def _read(self, instruction: Instruction, inputs: Sequence[int]) -> None:
        for i in inputs:
            marks = self.marks(i)
            if marks is not None:
                self._on_read(instruction, marks[marks >= 0])

    def _move(self, number: int, instruction: Instruction, op: Op) -> None:
        """Look at the moved elements only, which may be one of many."""
        array, *rest = instruction.inputs
        known = self._values.get(array)
        if known is None:
            return self._read(instruction, rest)
        further = [self._constant(i) for i in rest]
        marks, written = (np.asarray(op.evaluate(a, *further, *instruction.params)) for a in (known.marks, known.written))
        return self._set(number, np.where(written > array, marks, -1))

    def _write(self, number: int, instruction: Instruction) -> None:
        array, *parts = instruction.inputs
        positions = None
        if instruction.op is PUT:
            positions = self._constant(parts.pop())
        known = self._values.get(array)
        given = [self.marks(i) for i in parts]
        if known is not None and known.latest == array and all(marks is None for marks in given):
            for where in [r.slices for r in instruction.params[0]] if positions is None else [positions]:
                known.write(where, number, is_flat=positions is not None)
            if known.left:
                self._values[number] = known
            return
        types = [self._instructions[i].type for i in (array, *parts)]
        filled = [np.full(type_.shape, -1) if m is None else m for m, type_ in zip((self.marks(array), *given), types)]
        further = [] if positions is None else [positions]
        self._set(number, instruction.op.evaluate(*filled, *further, *instruction.params))

    def _select(self, number: int, instruction: Instruction) -> None:
        """Mark a selected element as unwritten if either candidate is."""
        condition, *sides = instruction.inputs
        self._read(instruction, [condition])
        shape = instruction.type.shape
        marks = [self.marks(i) for i in sides]
        one, other = (np.broadcast_to(np.int64(-1) if m is None else m, shape) for m in marks)
        known = self._constant(condition)
        self._set(number, np.where(one >= 0, one, other) if known is None else np.where(known, one, other))

    def _constant(self, number: int) -> Operand:
        instruction = self._instructions[number]
        return instruction.params[0] if instruction.op is CONSTANT else None
