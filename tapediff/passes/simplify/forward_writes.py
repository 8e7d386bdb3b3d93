"""Forwards values written into an array to their reads, and makes an array that is written in parts all at once.

Every write of a recording makes a new version of the array. Here a version is first only a map of entries (see array_entries.py): a read of
some entries becomes a read of the values that were written there, and a version that something needs as a whole array is put
together from these values. A loop that fills n entries so costs n, not n copies of the array, and its derivative as well.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence

import numpy as np

from ...ir.columns import as_columns, first_two, operands_of
from ...ir.instruction import Columns, Instruction, columns_of, some_of
from ...ir.rewriter import ColumnRewriter
from ...ir.tape import Tape
from ...ops.arrays.indexing import ASSEMBLE, INDEX, REPLACE, Region
from .forwarder import FORWARDED, Forwarder

_MADE = frozenset((REPLACE, ASSEMBLE))

# Smaller parts of arrays are made of their entries.
SMALLEST_SHIFTED = 32


def forward_writes(tape: Tape, kept: Collection[int] = ()) -> Tape:
    """The tape without versions of arrays that are only read in parts; `kept` are versions that are made all the same, and read from."""
    if not {REPLACE, ASSEMBLE} & tape.ops:
        return tape
    forwarder = Forwarder if columns_of(tape.instructions) is None else _ColumnForwarder
    return forwarder(tape, _read_in_shifts(tape).union(kept)).run()


def _read_in_shifts(tape: Tape) -> set[int]:
    """The versions of arrays of which a large box was written, and several large parts are read that lie across it, such as the
    neighbours in a stencil: an array for each of them would be several times the work of one for all."""
    across: dict[int, set[Hashable]] = {}
    if REPLACE not in tape.ops:
        return set()
    for _, inputs, params, type_, _ in _large_reads(tape):
        version = tape.instructions[inputs[0]]
        if version.op is not REPLACE or len(version.params[0]) > 1 or 4 * type_.size < version.type.size:
            continue
        (written,) = version.params[0]
        if 2 * math.prod(written.counts) >= version.type.size and _lies_across(params[0], written):
            across.setdefault(inputs[0], set()).add(params[0][:3])
    return {version for version, regions in across.items() if len(regions) > 1}


def _large_reads(tape: Tape) -> list[Instruction]:
    columns = columns_of(tape.instructions)
    if columns is None:
        return [i for i in tape.instructions if i.op is INDEX and i.type.size >= SMALLEST_SHIFTED]
    are_large = np.array([i.op is INDEX and i.type.size >= SMALLEST_SHIFTED for i in columns.templates], bool)
    return some_of(tape.instructions, np.flatnonzero(are_large[columns.which]).tolist())


def _lies_across(read: Region, written: Region) -> bool:
    """Whether a read has entries of what was written, and others."""
    is_inside = True
    for a, s, n, b, t, m in zip(*read[:3], *written[:3]):
        ends, others = sorted((a, a + s * (n - 1))), sorted((b, b + t * (m - 1)))
        if ends[1] < others[0] or others[1] < ends[0]:
            return False
        is_inside &= others[0] <= ends[0] and ends[1] <= others[1]
    return not is_inside


class _ColumnForwarder(Forwarder, ColumnRewriter):
    """The same for a tape that is kept as arrays: only what is written, and reads of such values, is looked at one by one."""

    def _instructions(self) -> Mapping[int, Instruction] | Sequence[Instruction]:
        return _Templates(as_columns(self.tape.instructions))

    def run(self) -> Tape:
        columns, count = as_columns(self.tape.instructions), len(self.tape.instructions)
        first, _ = first_two(columns)
        is_forwarded, is_made = (np.array([i.op in ops for i in columns.templates], bool)[columns.which] for ops in (FORWARDED, _MADE))
        of, _, counts = operands_of(columns)
        # Readers of a value come behind it, so that the order does not matter.
        needed = np.array(self.needed, bool)
        needed[of[np.repeat(~is_forwarded, counts)]] = True
        self.needed = needed.tolist()
        # What reads values that are no versions is as before.
        numbers = np.flatnonzero(is_made | (is_forwarded & is_forwarded[first])).tolist()
        instructions = some_of(self.tape.instructions, numbers)
        for number, instruction in zip(reversed(numbers), reversed(instructions)):
            self._plan(number, instruction)
        begin = 0
        for number, instruction in zip(numbers, instructions):
            if begin < number:
                self.copy_stretch(begin, number)
            self.add(number, instruction)
            begin = number + 1
        self.copy_stretch(begin, count)
        return self.finish()


class _Templates(Mapping[int, Instruction]):
    """What the instructions of a tape that is kept as arrays are made of."""

    def __init__(self, columns: Columns) -> None:
        self.templates, self.which = columns.templates, columns.which.tolist()

    def __getitem__(self, number: int) -> Instruction:
        return self.templates[self.which[number]]

    def __len__(self) -> int:
        return len(self.which)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.which)))
