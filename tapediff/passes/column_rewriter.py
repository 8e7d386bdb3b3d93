"""Rebuilds a column-stored tape: instructions that only change their number are copied as columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from ..ir.instruction import NUMBER, OWN, ColumnInstructions, Columns, Instruction, columns_of, some_of
from ..ir.rewriter import Rewriter
from ..ir.tape import Tape
from .columns import renumber, with_used_templates


class ColumnRewriter(Rewriter):
    """A Rewriter that keeps a column-stored tape in columns. Copied instructions are never built.

    Attributes:
        columns: of the old tape; None if it is not column-stored, and then this is a plain Rewriter.
    """

    def __init__(self, tape: Tape) -> None:
        super().__init__(tape)
        self.columns = columns_of(tape.instructions)
        # By new number: the old number of a copied instruction, or -1 minus the index of a new one in `_others`.
        self._copied_from: list[int] = []
        self._others: list[Instruction] = []
        if self.columns is not None:
            # Supports the list methods that are used.
            self.instructions = cast("list[Instruction]", _Appended(tape, self.columns, self._copied_from, self._others))

    def copy(self, old: int) -> int:
        if self.columns is None:
            return super().copy(old)
        made = self.number[old] = len(self._copied_from)
        self._copied_from.append(old)
        return made

    def changing(self, changed: Iterable[tuple[int, Instruction]]) -> Iterator[tuple[int, Instruction]]:
        """Yield the changed old instructions in order; copy all others in between."""
        done = 0
        for number, instruction in changed:
            self._copy_all_between(done, number)
            yield number, instruction
            done = number + 1
        self._copy_all_between(done, len(self.tape.instructions))

    def _copy_all_between(self, start: int, stop: int) -> None:
        if self.columns is None:
            for old in range(start, stop):
                self.copy(old)
            return
        begin = len(self._copied_from)
        self._copied_from += range(start, stop)
        self.number[start:stop] = range(begin, begin + stop - start)

    def copy_those(self, old: Sequence[int]) -> None:
        """Copy old instructions that are not consecutive."""
        numbers = self.number
        for made, number in enumerate(old, len(self._copied_from)):
            numbers[number] = made
        self._copied_from += old

    def final_numbers(self) -> np.ndarray:
        """Return the new number of each old value."""
        return np.array(self.number, np.int64)

    def finish(self) -> Tape:
        old, tape, number = self.tape.instructions, self.tape, self.number
        if not isinstance(old, ColumnInstructions):
            return super().finish()
        return replace(
            tape, instructions=old.like(self._finished(old.columns)), inputs=tuple([number[i] for i in tape.inputs]),
            outputs=tuple([number[i] for i in tape.outputs]),
        )  # fmt: skip

    def _finished(self, columns: Columns) -> Columns:
        templates, takes, which, first, second = columns
        origins = np.array(self._copied_from, np.int64)
        is_copied, others = origins >= 0, np.full(len(self._others), OWN, np.int8)
        source = np.where(is_copied, origins, 0)
        made = Columns(
            [*templates, *self._others], np.concatenate([takes, others]),
            np.where(is_copied, which[source], len(templates) - 1 - origins).astype(np.int32),
            np.where(is_copied, first[source], -1).astype(np.int32), np.where(is_copied, second[source], -1),
        )  # fmt: skip
        made = with_used_templates(made)
        renumber(made, is_copied, self.final_numbers())
        return made


class _Appended:
    """The instructions of a new tape, by number. A copied one is its template, which may lack operands and parameters."""

    def __init__(self, tape: Tape, columns: Columns, origins: list[int], others: list[Instruction]) -> None:
        self.tape, self.templates, self.takes, self.which = tape, columns.templates, columns.takes, columns.which
        self.origins, self.others = origins, others

    def append(self, instruction: Instruction) -> None:
        self.others.append(instruction)
        self.origins.append(-len(self.others))

    def __len__(self) -> int:
        return len(self.origins)

    def __getitem__(self, number: int) -> Instruction:
        origin = self.origins[number]
        if origin < 0:
            return self.others[-1 - origin]
        template = self.which[origin]
        return some_of(self.tape.instructions, [origin])[0] if self.takes[template] == NUMBER else self.templates[template]
