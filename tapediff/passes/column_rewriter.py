"""Rebuilds a tape that is kept as arrays: what only changes its number is copied in these."""

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
    """A Rewriter; of a tape that is kept as arrays, it makes another one. What is only copied is made in no other form.

    Attributes:
        columns: of the old tape; None where it is not kept so, and all is as in a Rewriter.
    """

    def __init__(self, tape: Tape) -> None:
        super().__init__(tape)
        self.columns = columns_of(tape.instructions)
        # By new number, the old number of what was copied, or -1 minus the place of another one among those.
        self._copied_from: list[int] = []
        self._others: list[Instruction] = []
        if self.columns is not None:
            # It has what of a list is used.
            self.instructions = cast("list[Instruction]", _Appended(tape, self.columns, self._copied_from, self._others))

    def copy(self, old: int) -> int:
        if self.columns is None:
            return super().copy(old)
        made = self.number[old] = len(self._copied_from)
        self._copied_from.append(old)
        return made

    def copy_stretch(self, start: int, stop: int) -> None:
        """Emit some old instructions one behind the other."""
        begin = len(self._copied_from)
        self._copied_from += range(start, stop)
        self.number[start:stop] = range(begin, begin + stop - start)

    def changing(self, changed: Iterable[tuple[int, Instruction]]) -> Iterator[tuple[int, Instruction]]:
        """Old instructions that are changed, in order; what stands before, between and behind them is copied."""
        done = 0
        for number, instruction in changed:
            self._copy_all_between(done, number)
            yield number, instruction
            done = number + 1
        self._copy_all_between(done, len(self.tape.instructions))

    def _copy_all_between(self, start: int, stop: int) -> None:
        if self.columns is not None:
            self.copy_stretch(start, stop)
            return
        for old in range(start, stop):
            self.number[old] = self.copy(old)

    def copy_those(self, old: Sequence[int]) -> None:
        """The same for old instructions that stand apart."""
        numbers = self.number
        for made, number in enumerate(old, len(self._copied_from)):
            numbers[number] = made
        self._copied_from += old

    def final_numbers(self) -> np.ndarray:
        """By old value, the number of the new one."""
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
    """The instructions of a new tape, by number. Of what was copied there is what its template says, and no operands."""

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
