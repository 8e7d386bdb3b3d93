"""Vectorised search of a long tape for plain instructions: one scalar operation, or one number read from an input."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....ir.instruction import ENTRY, INPUT, ONE, TWO, Columns, Instruction
from ....ops import Elementwise, Op
from ....ops.elementwise.arithmetic import CONVERT
from .tables import KINDS, Elements, Table, kind_of_number

_KINDS = (*KINDS.values(), "")


@dataclass(frozen=True, slots=True)
class Plain:
    """The plain instructions of a tape.

    Attributes:
        numbers: the instructions that are scalar operations.
        is_left: by instruction, True if it is neither plain nor an input.
    """

    numbers: np.ndarray
    is_left: np.ndarray

    def with_others(self, table: Table) -> Elements:
        """The elements of all instructions: the plain ones, and the others from the table."""
        makers = np.array(table.makers, np.int64)
        form_of, results = np.array(table.form_of, np.int64), np.array(table.results, np.int64)
        counts = np.fromiter(map(len, table.rows), np.int64, len(table.rows))
        operands = np.fromiter((i for row in table.rows for i in row), np.int64, int(counts.sum()))
        ordinals = table.ordinals
        if self.numbers.size:
            forms, own, own_counts = _operations(table, self.numbers, _elements_of_numbers(table))
            order = np.argsort(np.concatenate([self.numbers, makers]), kind="stable")
            operands, counts = _in_order(np.concatenate([own, operands]), np.concatenate([own_counts, counts]), order)
            form_of, results, makers = (
                np.concatenate(both)[order] for both in ((forms, form_of), (self.numbers, results), (self.numbers, makers))
            )
            if ordinals:
                place = np.argsort(order)[self.numbers.size :]
                ordinals = {int(place[k]): ordinal for k, ordinal in ordinals.items()}
        return Elements(
            table.forms, form_of, operands, counts, np.cumsum(counts) - counts, results, makers, table.ids, table.constants, table.inputs,
            ordinals, table.kinds, table.filler, table.squares,
        )  # fmt: skip


def plain_of(table: Table) -> Plain:
    """Find the plain instructions, and note the entries that they read from inputs."""
    columns = table.columns
    is_left = np.array([i.op is not INPUT for i in columns.templates], bool)[columns.which]
    if not np.isin(columns.takes, (ONE, TWO, ENTRY)).any():
        return Plain(np.zeros(0, np.int64), is_left)
    numbers = _plain(table, columns)
    is_left[numbers] = False
    table.before = np.zeros(is_left.size, np.int64)
    table.before[numbers] = 1
    table.before = np.cumsum(table.before)
    _read_inputs(table, columns, is_left)
    return Plain(numbers, is_left)


def _plain(table: Table, columns: Columns) -> np.ndarray:
    templates, takes, which, first, second = columns
    may_be = [kind in (ONE, TWO) and _is_plain(i) for i, kind in zip(templates, takes.tolist())]
    chosen = np.array(may_be, bool)[which]
    chosen[list(table.squares)] = False
    is_number = np.array([kind_of_number(i.type) != "" for i in templates], bool)[which]
    numbers = np.flatnonzero(chosen)
    other = np.where(takes[which[numbers]] == TWO, second[numbers], first[numbers])
    return numbers[is_number[first[numbers]] & is_number[other]]


def _is_plain(template: Instruction) -> bool:
    op, kind = template.op, kind_of_number(template.type)
    if not kind or op.moves or not (isinstance(op, Elementwise) or op is CONVERT):
        return False
    return kind == "f64" or not (isinstance(op, Op) and op.fails_on_integers)


def _read_inputs(table: Table, columns: Columns, is_left: np.ndarray) -> None:
    """Note the entries of inputs that are read."""
    _, takes, which, first, second = columns
    begins = np.full(which.size, -1, np.int64)
    for number, instruction in table.tape.numbered(INPUT):
        begins[number] = table.inputs[instruction.params[0]][0]
    read = np.flatnonzero(takes[which] == ENTRY)
    read = read[begins[first[read]] >= 0]
    is_left[read] = False
    for number, element in zip(read.tolist(), (begins[first[read]] + second[read]).tolist()):
        table.ids[number] = element


def _elements_of_numbers(table: Table) -> np.ndarray:
    """The element of each scalar instruction; any number for the others."""
    return np.array([i if type(i) is int else -1 for i in table.ids], np.int64)


def _operations(table: Table, numbers: np.ndarray, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The forms of operations, their concatenated operands, and the number of operands of each."""
    templates, takes, which, first, second = table.columns
    of, one = which[numbers], first[numbers]
    is_two = takes[of] == TWO
    other = np.where(is_two, second[numbers], 0)
    # A form is a template and the kinds of the operands.
    kinds = np.array([_KINDS.index(kind_of_number(i.type)) for i in templates], np.int64)
    keys, which_key = np.unique((of * 4 + kinds[which[one]]) * 4 + np.where(is_two, kinds[which[other]], 3), return_inverse=True)
    forms = [_form(table, templates[key // 16], key // 4 % 4, key % 4) for key in keys.tolist()]
    counts = 1 + is_two.astype(np.int64)
    pairs = np.stack([ids[one], ids[other]], 1)
    return np.array(forms, np.int64)[which_key], pairs[np.stack([np.ones(len(of), bool), is_two], 1)], counts


def _form(table: Table, template: Instruction, one: int, other: int) -> int:
    kinds = (_KINDS[one],) if other == 3 else (_KINDS[one], _KINDS[other])
    return table.form(template.op, template.params, kinds, kind_of_number(template.type))


def _in_order(operands: np.ndarray, counts: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The operands of operations in another order."""
    begins, sizes = (np.cumsum(counts) - counts)[order], counts[order]
    within = np.arange(len(operands)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return operands[np.repeat(begins, sizes) + within], sizes
