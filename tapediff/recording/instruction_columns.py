"""The instructions of a recording as columns of numbers: built faster, in a fifth of the memory of an object for each.

Scalar operations, which make up long programs, are a template (operation, type, user's line) and two numbers each. Every other
instruction is a template of its own.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from struct import Struct
from typing import overload

import numpy as np

from ..base.source_location import Site
from ..errors import UnsupportedFunction
from ..ir.instruction import (
    CONSTANT,
    ENTRY,
    FLOAT64,
    FLOAT_SCALAR,
    NUMBER,
    ONE,
    ORDINAL,
    OWN,
    TWO,
    ColumnInstructions,
    Columns,
    Instruction,
    Params,
    Primitive,
    ResultType,
)
from ..ops.arrays.indexing import Region

# Calling the class costs three times as much.
_new_tuple = tuple.__new__

# A float64 as the int64 of the same bits, and back.
_as_bytes, _as_bits = Struct("d").pack, Struct("q").unpack
_bits_as_bytes, _from_bits = Struct("q").pack, Struct("d").unpack

# Shorter tapes build all instructions at once.
SHORTEST_KEPT = 256

# Build all instructions once one in so many has been read by itself.
SHARE_ASKED_FOR = 8


class GrowingColumns:
    """The instructions of a tape that is being recorded.

    Attributes:
        which, first, second: as in Columns; `recording/arrays/numbers.py` appends to them.
    """

    __slots__ = ("_known", "first", "second", "takes", "templates", "which")

    def __init__(self) -> None:
        # 4, 4 and 8 bytes an instruction; lists of ints take 60.
        self.which, self.first, self.second = array("i"), array("i"), array("q")
        self.templates: list[Instruction] = []
        self.takes: list[int] = []
        # Templates by operation and by the identity of type and line, which the template keeps alive.
        self._known: dict[tuple[Primitive, Params, int, int], int] = {}

    def template(self, op: Primitive, params: Params, type_: ResultType, site: Site | None, takes: int) -> int:
        """The number of an operation's template at a line; add one if there is none."""
        key = (op, params, id(type_), id(site))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = len(self.templates)
            self.templates.append(Instruction(op, (), params, type_, site))
            self.takes.append(takes)
        return known

    def append(self, instruction: Instruction) -> None:
        """Append an instruction as a template of its own."""
        self.which.append(len(self.templates))
        self.first.append(-1)
        self.second.append(-1)
        self.templates.append(instruction)
        self.takes.append(OWN)

    def append_constant(self, value: float) -> int:
        """Append a scalar constant; return its value number."""
        template = self.template(CONSTANT, (), FLOAT_SCALAR, None, NUMBER)
        self.first.append(-1)
        self.second.append(_as_bits(_as_bytes(value))[0])
        self.which.append(template)
        return len(self.which) - 1

    def __len__(self) -> int:
        return len(self.which)

    def __getitem__(self, number: int) -> Instruction:
        which = self.which[number]
        template, takes = self.templates[which], self.takes[which]
        return template if takes == OWN else _made(template, takes, self.first[number], self.second[number], self)

    def __setitem__(self, number: int, instruction: Instruction) -> None:
        self.which[number] = len(self.templates)
        self.templates.append(instruction)
        self.takes.append(OWN)

    def __iter__(self) -> Iterator[Instruction]:
        return iter(_all_made(self.templates, self.takes, self.which, self.which, self.first, self.second))

    def __reversed__(self) -> Iterator[Instruction]:
        return (self[number] for number in range(len(self) - 1, -1, -1))

    def type_of(self, number: int) -> ResultType:
        """The type of a value."""
        return self.templates[self.which[number]].type

    def op_of(self, number: int) -> Primitive:
        """The operation that makes a value."""
        return self.templates[self.which[number]].op

    def inputs_of(self, number: int) -> tuple[int, ...]:
        """The operands of an operation."""
        which = self.which[number]
        takes = self.takes[which]
        if takes == TWO:
            return self.first[number], self.second[number]
        return self.templates[which].inputs if takes == OWN else () if takes == NUMBER else (self.first[number],)

    def finished(self) -> Sequence[Instruction]:
        """Freeze the instructions so far."""
        if not len(self.which) == len(self.first) == len(self.second):
            raise UnsupportedFunction("the function was interrupted while an operation was recorded, and went on", fix="record it again")
        if len(self) < SHORTEST_KEPT:
            return tuple(self)
        which, first = np.array(self.which, np.int32), np.array(self.first, np.int32)
        # int64, as an array may have more entries than the tape has instructions.
        second = np.array(self.second, np.int64)
        return FinishedColumns(Columns(list(self.templates), np.array(self.takes, np.int8), which, first, second))


class FinishedColumns(ColumnInstructions):
    """The instructions of a recorded tape."""

    __slots__ = ("_asked", "_made", "columns")

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self._made: tuple[Instruction, ...] | None = None
        self._asked = 0

    def _all(self) -> tuple[Instruction, ...]:
        if self._made is None:
            templates, *columns = self.columns
            takes, which, first, second = (column.tolist() for column in columns)
            self._made = tuple(_all_made(templates, takes, which, which, first, second))
        return self._made

    def __len__(self) -> int:
        return self.columns.which.size

    @overload
    def __getitem__(self, number: int) -> Instruction: ...

    @overload
    def __getitem__(self, number: slice) -> tuple[Instruction, ...]: ...

    def __getitem__(self, number: int | slice) -> Instruction | tuple[Instruction, ...]:
        if self._made is not None or isinstance(number, slice):
            return self._all()[number]
        self._asked += 1
        if SHARE_ASKED_FOR * self._asked > self.columns.which.size:
            return self._all()[number]
        return self._one(self.columns, number)

    def some(self, numbers: Sequence[int]) -> list[Instruction]:
        made = self._made
        if made is not None:
            return [made[k] for k in numbers]
        templates, takes, which, first, second = self.columns
        chosen = np.array(numbers, np.int64)
        return _all_made(templates, takes.tolist(), which, *(column[chosen].tolist() for column in (which, first, second)))

    def like(self, columns: Columns) -> Sequence[Instruction]:
        made = FinishedColumns(columns)
        return made._all() if columns.which.size < SHORTEST_KEPT else made

    def _one(self, columns: Columns, number: int) -> Instruction:
        which = columns.which[number]
        template, takes = columns.templates[which], columns.takes[which]
        if takes == OWN:
            return template
        return _made(template, int(takes), int(columns.first[number]), int(columns.second[number]), self)

    def __iter__(self) -> Iterator[Instruction]:
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (tuple, FinishedColumns)) and self._all() == tuple(other)

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return repr(self._all())


def _made(template: Instruction, takes: int, first: int, second: int, instructions: Sequence[Instruction] | GrowingColumns) -> Instruction:
    """Build one instruction."""
    op, _, params, type_, site = template
    if takes == NUMBER:
        return Instruction(op, (), (_number(second),), type_, site)
    if takes == ENTRY:
        params = (entry_region(instructions[first].type.shape, second),)
    elif takes == ORDINAL:
        params = (*params, second)
    return Instruction(op, (first, second) if takes == TWO else (first,), params, type_, site)


def _all_made(
    templates: Sequence[Instruction], takes: Sequence[int], template_of: Sequence[int] | np.ndarray, which: Sequence[int],
    first: Sequence[int], second: Sequence[int],
) -> list[Instruction]:  # fmt: skip
    """Build some instructions, or all; reads of one entry share their region.

    Args:
        template_of: by value, the number of its template.
        which, first, second: the columns of the instructions to build.
    """
    made: list[Instruction] = []
    append, regions = made.append, dict[tuple[tuple[int, ...], int], tuple[Region]]()
    for template, a, b in zip(which, first, second):
        op, _, params, type_, site = templates[template]
        kind = takes[template]
        if kind == TWO:
            append(_new_tuple(Instruction, (op, (a, b), params, type_, site)))
        elif kind == OWN:
            append(templates[template])
        elif kind == ONE:
            append(_new_tuple(Instruction, (op, (a,), params, type_, site)))
        elif kind == ORDINAL:
            append(_new_tuple(Instruction, (op, (a,), (*params, b), type_, site)))
        elif kind == NUMBER:
            append(_new_tuple(Instruction, (op, (), (_number(b),), type_, site)))
        else:
            key = (templates[template_of[a]].type.shape, b)
            region = regions.get(key)
            if region is None:
                region = regions[key] = (entry_region(*key),)
            append(_new_tuple(Instruction, (op, (a,), region, type_, site)))
    return made


def float_of(bits: int) -> float:
    """The float64 that has the same bits as an int64."""
    return _from_bits(_bits_as_bytes(bits))[0]


def _number(bits: int) -> np.ndarray:
    """The parameter of a constant."""
    value = np.array(float_of(bits), FLOAT64)
    value.flags.writeable = False
    return value


def entry_region(shape: tuple[int, ...], position: int) -> Region:
    """The region of the entry at a flat position."""
    starts: list[int] = []
    for extent in reversed(shape):
        position, start = divmod(position, extent)
        starts.append(start)
    ones = (1,) * len(shape)
    return Region(tuple(reversed(starts)), ones, ones, ())
