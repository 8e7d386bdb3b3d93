"""The arrays that a recorded function is given to write to: those of td.Cache, td.Output and td.ConstantOrCache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.source_location import Site, user_site
from ...errors import UnwrittenElement
from ...ir.buffers import Buffer
from ...ir.instruction import CONSTANT, Instruction, Operand
from ...ir.pytree import MIXED, TreeDef
from ...numpy_api.shaping import copy
from .buffer_reads import BufferReads
from .tracked import TrackedArray

# An array that a function is given: a new buffer, or the treedef of an input of the tape.
Slot = Buffer | TreeDef


def is_output(slot: Slot) -> bool:
    return isinstance(slot, Buffer) and slot.is_output


def plain_arrays(slots: Sequence[Slot], leaves: Sequence[Operand]) -> list[Operand]:
    """The arrays that a function is given outside recordings."""
    rest = iter(leaves)
    return [
        slot.unwritten() if isinstance(slot, Buffer) else np.array(next(rest)) if slot == MIXED else next(rest) for slot in slots
    ]


class Buffers:
    """The buffers of one recording, and a check that it reads no unwritten entry.

    A new buffer holds NaN while recording, so that any use of it shows. On the tape it is zeros, which nothing reads and which passes
    can simplify.
    """

    def __init__(self, recorder: Any) -> None:
        self._recorder = recorder
        self._reads = BufferReads(recorder.instructions, self._note_read)
        self._numbers: list[int] = []
        self._mixed: list[tuple[TrackedArray, int, str]] = []
        self._error: UnwrittenElement | None = None

    def given(self, slots: Sequence[Slot], leaves: Sequence[Operand], names: Sequence[str]) -> list[Operand]:
        """The arrays that a function is given."""
        rest = iter(leaves)
        found: list[Operand] = []
        for slot, name in zip(slots, names):
            array = self._new(slot, name) if isinstance(slot, Buffer) else next(rest)
            found.append(self._mixed_array(array, name) if slot == MIXED else array)
        return found

    def _new(self, buffer: Buffer, name: str) -> TrackedArray:
        """A new array without written elements."""
        array = self._constant(buffer.unwritten())
        self._numbers.append(array._id)
        self._reads.add(array._id, buffer.shape, name)
        # A NumPy scalar is immutable; a view is an array, also when 0-d.
        return array if buffer.shape else copy(array)._as_view(array, lambda base: base, lambda _, part: part)

    def _mixed_array(self, array: Operand, name: str) -> TrackedArray:
        """The array of a td.ConstantOrCache: data if it is only read. The caller's array is not written to."""
        if type(array) is not TrackedArray:
            array = self._constant(np.array(array))
        self._mixed.append((array, array._id, name))
        return array

    def _constant(self, array: np.ndarray) -> TrackedArray:
        """A new constant, not shared with equal ones."""
        number = self._recorder._new_constant(array.copy())
        return TrackedArray(self._recorder, number, array if array.shape else array[()], self._recorder.instructions[number].type)

    def check(self, wanted: int | None = None) -> None:
        """Raise UnwrittenElement if an unwritten element was read so far, even if the error was caught.

        Args:
            wanted: a value that Python is about to look at.
        """
        self._reads.follow()
        marks = None if wanted is None else self._reads.marks(wanted)
        if marks is not None:
            self._note_read(self._recorder.instructions[wanted], marks[marks >= 0])
        if self._error is not None:
            raise self._error

    def _note_read(self, instruction: Instruction, marks: np.ndarray) -> None:
        if self._error is None:
            self._error = UnwrittenElement(
                f"{self._reads.element(int(marks[0]))} was read before it was written",
                at=instruction.site or user_site(), got=f"{instruction.op.name} of what nobody has written",
                fix="write it first; or pass it as td.Constant(...), or as an argument, if its contents are meant",
            )  # fmt: skip

    def require_written(self, outputs: Sequence[tuple[TrackedArray, str]], at: Site | None) -> None:
        """Raise UnwrittenElement if a part of an output was not written."""
        self.check()
        for array, name in outputs:
            array._refresh()
            self._reads.follow()
            marks = self._reads.marks(array._id)
            if marks is not None:
                index = [int(k[0]) for k in np.nonzero(marks >= 0)]
                what = f"element {index} of {name}" if index else name
                raise UnwrittenElement(
                    f"{what} was never written", at=at, got=f"{int(np.sum(marks >= 0))} of {marks.size} elements not written",
                    fix="fill all of it: out[...] = ...; where tracked values decide what is written, begin with out[...] = 0.0",
                )  # fmt: skip

    def finish(self, returned: Sequence[int]) -> None:
        """Check the whole recording, which returns these values."""
        self.check()
        for number in returned:
            marks = self._reads.marks(number)
            if marks is not None:
                raise UnwrittenElement(
                    f"{self._reads.element(int(marks[marks >= 0][0]))} was returned before it was written",
                    at=self._recorder.last_site(), fix="write it first",
                )  # fmt: skip
        self._check_mixed()
        for number in self._numbers:
            _, inputs, (array,), type_, site = self._recorder.instructions[number]
            zeros = np.zeros_like(array)
            zeros.flags.writeable = False
            self._recorder.instructions[number] = Instruction(CONSTANT, inputs, (zeros,), type_, site)

    def _check_mixed(self) -> None:
        """Raise UnwrittenElement if an element of td.ConstantOrCache was read, and overwritten afterwards."""
        for array, _, _ in self._mixed:
            array._refresh()
        if all(array._id == number for array, number, _ in self._mixed):
            return
        read: dict[int, Instruction] = {}

        def note(instruction: Instruction, marks: np.ndarray) -> None:
            for mark in marks.tolist():
                read.setdefault(mark, instruction)

        reads = BufferReads(self._recorder.instructions, note)
        first = {number: reads.add(number, array.shape, name) for array, number, name in self._mixed}
        reads.follow()
        for array, number, _ in self._mixed:
            marks = reads.marks(array._id)
            own = np.arange(first[number], first[number] + array.size)
            kept = own[:0] if marks is None else marks.reshape(-1)
            overwritten = own if marks is None else own[kept != own]
            found = next((mark for mark in overwritten.tolist() if mark in read), None)
            if found is not None:
                raise UnwrittenElement(
                    f"{reads.element(found)} is read as data and overwritten in the same call",
                    at=read[found].site or user_site(), got=f"{read[found].op.name} of what it held before the call",
                    fix="pass what is read as td.Constant(...), and other arrays to write to as td.Cache(...)",
                )  # fmt: skip
