"""Removes instructions that compute the same value as an earlier one: same op, same operands, same parameters."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import chain
from typing import NamedTuple

import numpy as np

from ...ir.instruction import (
    CONSTANT,
    ENTRY,
    FLOAT_SCALAR,
    GUARD,
    NUMBER,
    ORDINAL,
    OWN,
    AnyType,
    Columns,
    Instruction,
    columns_of,
)
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops.arrays.indexing import INDEX, Region
from ...ops.value_keys import value_key
from ..columns import first_two, own_with_operands, with_only

# See ir/rewriter.py.
_new_tuple = tuple.__new__


def common_subexpressions(tape: Tape) -> Tape:
    columns = columns_of(tape.instructions)
    keys = None if columns is None else _keys_of(tape, columns)
    return _one_by_one(tape) if keys is None else _of_columns(tape, keys)


def _one_by_one(tape: Tape) -> Tape:
    rewriter = Rewriter(tape)
    known: dict[Hashable, int] = {}
    numbers, made, count = rewriter.number, rewriter.instructions, 0
    for number, instruction in enumerate(tape.instructions):
        op, inputs, params, type_, site = instruction
        operands = inputs
        # Until the first duplicate, all values keep their numbers.
        if number != count:
            operands = (numbers[inputs[0]], numbers[inputs[1]]) if len(inputs) == 2 else tuple([numbers[i] for i in inputs])
        key = value_key(op, operands, params) if params else (op, operands)
        earlier = known.setdefault(key, count) if key is not None else count
        if earlier == count:
            if operands != inputs:
                instruction = _new_tuple(Instruction, (op, operands, params, type_, site))
            made.append(instruction)
            count += 1
        numbers[number] = earlier
    return tape if count == len(numbers) else rewriter.finish()


class _Keys(NamedTuple):
    """Integer value-numbering keys of a column-stored tape: `fixed + scale * a + b`, where a and b are each one more than an operand, or 0.

    Attributes:
        fixed: by instruction, the part of the key without operands.
        first, second: by instruction, the operands; the number of values if absent.
        scale: more than the largest b.
        many: the operands of instructions with more than two.
    """

    fixed: np.ndarray
    first: np.ndarray
    second: np.ndarray
    scale: int
    many: dict[int, tuple[int, ...]]


# Limit on the range of keys.
MOST_KEYS = 1 << 62


# Shorter tapes are processed one by one, as are those with more than one in so many instructions of more than two operands.
SHORTEST_IN_ROUNDS, FEW_OF_SEVERAL = 4096, 16

# Equalities that follow from equal operands are found in rounds: limits on the rounds, and on the mean visits per instruction. Beyond them,
# instructions are processed one by one.
MOST_ROUNDS, MOST_LOOKS = 32, 1


def _of_columns(tape: Tape, keys: _Keys) -> Tape:
    """common_subexpressions without building the instructions."""
    size = keys.fixed.size
    in_rounds = size >= SHORTEST_IN_ROUNDS and FEW_OF_SEVERAL * len(keys.many) <= size
    earlier = _in_rounds(keys) if in_rounds else None
    if earlier is None:
        earlier = _in_order(keys)
    kept = earlier == np.arange(size)
    return tape if kept.all() else with_only(tape, kept, (np.cumsum(kept) - 1)[earlier])


def _in_rounds(keys: _Keys) -> np.ndarray | None:
    """Return, by instruction, the first one equal to it; None if that takes more rounds.

    Each round gives new keys only to instructions with a replaced operand. Their former keys belong to dropped values.
    """
    size, found = keys.fixed.size, _Found(keys)
    place, numbers = found.place, np.arange(size)
    known = found.keys_of(numbers)
    order = np.argsort(known, kind="stable")
    begins, alike = _groups(known[order])
    # All keys, and the first instruction with each.
    known, users = known[order[begins]], order[begins]
    place[order] = np.repeat(users, alike) + 1
    changed = np.append(place[:size] != numbers + 1, False)
    total = 0
    for _ in range(MOST_ROUNDS):
        again = found.users_of(changed)
        total += again.size
        if not again.size:
            return place[:size] - 1
        if total > MOST_LOOKS * size:
            return None
        new = found.keys_of(again)
        order = np.argsort(new, kind="stable")
        again, new = again[order], new[order]
        begins, alike = _groups(new)
        at = np.searchsorted(known, new[begins])
        is_there = known[np.minimum(at, known.size - 1)] == new[begins]
        stand_for = place[again] - 1
        best = np.minimum.reduceat(stand_for, begins)
        there = place[users[at[is_there]]] - 1
        best[is_there] = np.minimum(best[is_there], there)
        # Maps each representative to the one that replaces it.
        first = numbers.copy()
        first[stand_for] = np.repeat(best, alike)
        first[there] = best[is_there]
        is_new = ~is_there
        known = np.insert(known, at[is_new], new[begins[is_new]])
        users = np.insert(users, at[is_new], again[begins[is_new]])
        after = first[place[:size] - 1] + 1
        changed[:size] = after != place[:size]
        place[:size] = after
    return None


def _groups(ordered: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the starts and lengths of runs of equal entries."""
    begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    return begins, np.diff(begins, append=ordered.size)


class _Found:
    """Keys of instructions, given the representatives of their operands.

    Attributes:
        place: one more than the representative of each value, and 0 for an absent operand.
    """

    def __init__(self, keys: _Keys) -> None:
        self.keys, self.place = keys, np.append(np.arange(1, keys.fixed.size + 1), 0)
        # Instructions with more than two operands, and those operands, concatenated.
        self._several = np.fromiter(keys.many, np.int64)
        counts = np.fromiter(map(len, keys.many.values()), np.int64)
        self._operands = np.fromiter(chain.from_iterable(keys.many.values()), np.int64)
        self._begins = np.cumsum(counts) - counts
        self._of_several: dict[tuple[int, ...], int] = {}

    def keys_of(self, numbers: np.ndarray) -> np.ndarray:
        """Return keys that are equal for equal instructions."""
        fixed, first, second, scale, many = self.keys
        place = self.place
        found = fixed[numbers] + scale * place[first[numbers]] + place[second[numbers]]
        if many:
            for k in np.flatnonzero(np.isin(numbers, self._several)).tolist():
                number = int(numbers[k])
                operands = place[list(many[number])].tolist()
                found[k] = -1 - self._of_several.setdefault((int(fixed[number]), *operands), len(self._of_several))
        return found

    def users_of(self, changed: np.ndarray) -> np.ndarray:
        """Return the instructions with an operand among these values."""
        is_user = changed[self.keys.first] | changed[self.keys.second]
        if self._several.size:
            is_user[self._several] = np.logical_or.reduceat(changed[self._operands], self._begins)
        return np.flatnonzero(is_user)


def _in_order(keys: _Keys) -> np.ndarray:
    """As _in_rounds, one instruction after the other."""
    fixed, first, second, scale, many = keys
    # One more than the representative of each value, and 0 for an absent operand.
    places = [*range(1, fixed.size + 1), 0]
    known: dict[Hashable, int] = {}
    alike = known.setdefault
    for number, key, i, j in zip(range(fixed.size), fixed.tolist(), first.tolist(), second.tolist()):
        if many and number in many:
            places[number] = alike((key, *[places[k] for k in many[number]]), number + 1)
        else:
            places[number] = alike(key + scale * places[i] + places[j], number + 1)
    return np.array(places[:-1], np.int64) - 1


def _keys_of(tape: Tape, columns: Columns) -> _Keys | None:
    """Return the keys; None if their range would be too large."""
    templates, takes, which, _, second = columns
    size, kinds = which.size, takes[which]
    classes: dict[Hashable, int] = {}
    # By template: a class, and the number of a constant or the position of an entry.
    class_of, extra_of = np.empty(len(templates), np.int64), np.zeros(len(templates), np.int64)
    for k, (template, kind) in enumerate(zip(templates, takes.tolist())):
        what, extra_of[k] = _what(template, kind, columns)
        class_of[k] = classes.setdefault(what or ("only", k), len(classes))
    extra = np.where((kinds == NUMBER) | (kinds == ENTRY) | (kinds == ORDINAL), second, extra_of[which])
    is_number = class_of[which] == classes.get(_FLOAT, -1)
    extra[is_number] = np.unique(extra[is_number], return_inverse=True)[1]
    i, j = first_two(columns)
    own = ((number, templates[which[number]].inputs) for number in own_with_operands(columns))
    many = {number: operands for number, operands in own if len(operands) > 2}
    i[list(many)] = j[list(many)] = -1
    scale = max(size, int(extra.max(initial=0))) + 1
    if len(classes) * (size + 1) * scale >= MOST_KEYS:
        return None
    return _Keys(class_of[which] * ((size + 1) * scale) + extra, np.where(i < 0, size, i), np.where(j < 0, size, j), scale, many)


_FLOAT, _ENTRY = ("float",), ("entry",)


def _what(template: Instruction, takes: int, columns: Columns) -> tuple[Hashable, int]:
    """Return a value-numbering key without operands, and a number. The key is None if the instruction is never equal to another."""
    op, operands, params, type_, _ = template
    if takes == NUMBER or takes == ENTRY:
        return (_FLOAT if takes == NUMBER else _ENTRY), 0
    if op is CONSTANT and type_ == FLOAT_SCALAR:
        return _FLOAT, int(params[0].view(np.int64))
    if op is INDEX and takes == OWN:
        position = _entry(params[0], columns.templates[columns.which[operands[0]]].type)
        if position >= 0:
            return _ENTRY, position
    return value_key(op, (), params) if op is not GUARD or takes == OWN else (op, params), 0


def _entry(region: Region, type_: AnyType) -> int:
    """Return the flat position of a one-entry region; -1 for other regions."""
    starts, steps, counts, shape = region
    ones = (1,) * len(starts)
    if shape or steps != ones or counts != ones:
        return -1
    position = 0
    for start, extent in zip(starts, type_.shape):
        position = position * extent + start
    return position
