"""Column-stored tapes: the operands of all instructions as arrays, and the same tape with fewer instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import numpy as np

from ..ir.instruction import NUMBER, OWN, TWO, ColumnInstructions, Columns, Instruction, columns_of
from ..ir.tape import Tape

# See ir/rewriter.py.
_new_tuple = tuple.__new__


def on_numbers(columns: Columns) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and second operand of each instruction from the columns; -1 for none, and for operands stored in the template."""
    kinds = columns.takes[columns.which]
    first = np.where((kinds == OWN) | (kinds == NUMBER), -1, columns.first)
    return first, np.where(kinds == TWO, columns.second, -1)


def own_with_operands(columns: Columns) -> list[int]:
    """Return the instructions whose operands are stored in their template, if it has any."""
    has_any = np.fromiter((bool(i.inputs) for i in columns.templates), bool, len(columns.templates)) & (columns.takes == OWN)
    return np.flatnonzero(has_any[columns.which]).tolist()


def first_two(columns: Columns) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and second operand of each instruction; -1 for none."""
    first, second = on_numbers(columns)
    own = own_with_operands(columns)
    if own:
        operands = [columns.templates[k].inputs for k in columns.which[own].tolist()]
        first[own] = [each[0] for each in operands]
        second[own] = [each[1] if len(each) > 1 else -1 for each in operands]
    return first, second


def operands_in(columns: Columns, number: int) -> tuple[int, ...]:
    """The operands of one instruction that are in columns."""
    takes = columns.takes[columns.which[number]]
    if takes == OWN or takes == NUMBER:
        return ()
    first = int(columns.first[number])
    return (first, int(columns.second[number])) if takes == TWO else (first,)


class Operands(NamedTuple):
    """The operands of all instructions, concatenated.

    Attributes:
        of: the operands, instruction by instruction.
        first: by instruction, the index of its first operand in `of`.
        counts: by instruction, the number of operands.
    """

    of: np.ndarray
    first: np.ndarray
    counts: np.ndarray


def operands_of(columns: Columns) -> Operands:
    templates, takes, which, first, second = columns
    given = [template.inputs for template in templates]
    taken = np.fromiter(map(len, given), np.int64, len(given)) if given else np.zeros(0, np.int64)
    taken = np.where((takes == OWN) | (takes == NUMBER), taken, np.where(takes == TWO, 2, 1))[which]
    kind, begins = takes[which], np.cumsum(taken) - taken
    operands = np.empty(int(taken.sum()), np.int64)
    is_made, is_own = (kind != OWN) & (kind != NUMBER), (kind == OWN) & (taken > 0)
    operands[begins[is_made]] = first[is_made]
    operands[begins[kind == TWO] + 1] = second[kind == TWO]
    own = np.flatnonzero(is_own)
    places = np.repeat(begins[own] - (np.cumsum(taken[own]) - taken[own]), taken[own]) + np.arange(int(taken[own].sum()))
    operands[places] = np.fromiter(chain.from_iterable(given[k] for k in which[own].tolist()), np.int64, places.size)
    return Operands(operands, begins, taken)


def as_columns(instructions: Sequence[Instruction]) -> Columns:
    """Return the instructions as columns; each is its own template if they are not column-stored."""
    known = columns_of(instructions)
    if known is not None:
        return known
    none = np.full(len(instructions), -1, np.int32)
    return Columns(list(instructions), np.full(none.size, OWN, np.int8), np.arange(none.size, dtype=np.int32), none, none)


def with_only(tape: Tape, kept: np.ndarray, number: np.ndarray) -> Tape:
    """Keep some instructions of the tape, in their order.

    Args:
        kept: by instruction, True if it stays.
        number: by value, the new number of the value that replaces it.
    """
    instructions = tape.instructions
    assert isinstance(instructions, ColumnInstructions)
    return replace(
        tape,
        instructions=instructions.like(_selected(instructions.columns, kept, number)),
        inputs=tuple(number[list(tape.inputs)].tolist()),
        outputs=tuple(number[list(tape.outputs)].tolist()),
    )


def _selected(columns: Columns, kept: np.ndarray, number: np.ndarray) -> Columns:
    templates, takes, which, first, second = columns
    made = with_used_templates(Columns(templates, takes, which[kept], first[kept], second[kept]))
    renumber(made, np.ones(made.which.size, bool), number)
    return made


def with_used_templates(columns: Columns) -> Columns:
    """Drop unused templates."""
    templates, takes, which, first, second = columns
    counts = np.bincount(which, minlength=len(templates))
    used = np.flatnonzero(counts)
    renumbered = np.cumsum(counts > 0, dtype=np.int32) - 1
    return Columns([templates[k] for k in used.tolist()], takes[used], renumbered[which], first, second)


def renumber(columns: Columns, chosen: np.ndarray, number: np.ndarray) -> None:
    """Give the operands of the chosen instructions their new numbers, in place."""
    templates, takes, which, first, second = columns
    kinds = takes[which]
    is_made, is_two = chosen & (kinds != OWN) & (kinds != NUMBER), chosen & (kinds == TWO)
    first[is_made] = number[first[is_made]]
    second[is_two] = number[second[is_two]]
    _renumber_own(templates, which[chosen & (kinds == OWN)].tolist(), number)


def _renumber_own(templates: list[Instruction], chosen: Sequence[int], number: np.ndarray) -> None:
    chosen = list(dict.fromkeys(chosen))
    sizes = [len(templates[k][1]) for k in chosen]
    operands = number[np.fromiter(chain.from_iterable(templates[k][1] for k in chosen), np.int64, sum(sizes))].tolist()
    at = 0
    for k, size in zip(chosen, sizes):
        if size:
            op, _, params, type_, site = templates[k]
            templates[k] = _new_tuple(Instruction, (op, tuple(operands[at : at + size]), params, type_, site))
            at += size
