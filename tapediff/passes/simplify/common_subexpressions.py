"""Removes instructions whose value an earlier one has: same op, same operands, same parameters."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from ...ir.columns import first_two, own_with_operands, with_only
from ...ir.instruction import (
    CONSTANT,
    ENTRY,
    FLOAT_SCALAR,
    GUARD,
    INPUT,
    NUMBER,
    ORDINAL,
    OWN,
    AnyType,
    Columns,
    Instruction,
    Params,
    Primitive,
    columns_of,
)
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops.arrays.indexing import INDEX, Region
from ...ops.control.calls import TupleOp

# Comparing larger constants by content costs more than a second copy.
LARGEST_COMPARED = 4096

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
        # Up to the first value that is found again, all have their old numbers.
        if number != count:
            operands = (numbers[inputs[0]], numbers[inputs[1]]) if len(inputs) == 2 else tuple([numbers[i] for i in inputs])
        key = _key(op, operands, params) if params else (op, operands)
        earlier = known.setdefault(key, count) if key is not None else count
        if earlier == count:
            if operands != inputs:
                instruction = _new_tuple(Instruction, (op, operands, params, type_, site))
            made.append(instruction)
            count += 1
        numbers[number] = earlier
    return tape if count == len(numbers) else rewriter.finish()


def _key(op: Primitive, operands: tuple[int, ...], params: Params) -> Hashable:
    """Equal for instructions that are alike; None for those that nothing is like."""
    if op is INPUT or op is GUARD:
        return None
    if isinstance(op, TupleOp) and not params[0].is_pure:
        return None
    if op is CONSTANT:
        array = params[0]
        return (array.shape, array.dtype.char, array.tobytes() if array.size <= LARGEST_COMPARED else id(array))
    return (op, operands, params)


class _Keys(NamedTuple):
    """Of a tape that is kept as arrays: numbers that are equal for instructions that are alike, `fixed + scale * a + b`, where a and b
    are each one more than an operand, or 0.

    Attributes:
        fixed: by instruction, what does not depend on operands.
        first, second: by instruction, the operands; one behind all values where there is none.
        scale: more than the largest b.
        many: by instruction with more operands, these.
    """

    fixed: np.ndarray
    first: np.ndarray
    second: np.ndarray
    scale: int
    many: dict[int, tuple[int, ...]]


# How many keys there may be.
MOST_KEYS = 1 << 62


def _of_columns(tape: Tape, keys: _Keys) -> Tape:
    """The tape without making its instructions."""
    fixed, first, second, scale, many = keys
    size = fixed.size
    place = np.arange(1, size + 2)
    place[size] = 0
    found = fixed + scale * place[first] + place[second]
    start = min(_first_repeated(found), min(many, default=size))
    if start == size:
        return tape
    # Up to there all are known by themselves.
    known: dict[Hashable, int] = dict(zip(found[:start].tolist(), range(1, start + 1)))
    places, alike = place.tolist(), known.setdefault
    for number, key, i, j in zip(range(start, size), fixed[start:].tolist(), first[start:].tolist(), second[start:].tolist()):
        if many and number in many:
            places[number] = alike((key, *[places[k] for k in many[number]]), number + 1)
        else:
            places[number] = alike(key + scale * places[i] + places[j], number + 1)
    earlier = np.array(places[:size], np.int64) - 1
    kept = earlier == np.arange(size)
    return tape if kept.all() else with_only(tape, kept, (np.cumsum(kept) - 1)[earlier])


def _first_repeated(keys: np.ndarray) -> int:
    """The first place that has the same key as an earlier one."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    again = order[1:][ordered[1:] == ordered[:-1]]
    return int(again.min(initial=keys.size))


def _keys_of(tape: Tape, columns: Columns) -> _Keys | None:
    """None where there would be too many different ones."""
    templates, takes, which, _, second = columns
    size, kinds = which.size, takes[which]
    classes: dict[Hashable, int] = {}
    # By template: what it is, and which constant or entry of an array.
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
    """What is equal for templates that are alike but for operands; None for one that nothing is like."""
    op, operands, params, type_, _ = template
    if takes == NUMBER or takes == ENTRY:
        return (_FLOAT if takes == NUMBER else _ENTRY), 0
    if op is CONSTANT and type_ == FLOAT_SCALAR:
        return _FLOAT, int(params[0].view(np.int64))
    if op is INDEX and takes == OWN:
        position = _entry(params[0], columns.templates[columns.which[operands[0]]].type)
        if position >= 0:
            return _ENTRY, position
    return _key(op, (), params) if op is not GUARD or takes == OWN else (op, params), 0


def _entry(region: Region, type_: AnyType) -> int:
    """The flat position of the one entry that a region is; -1 for others."""
    starts, steps, counts, shape = region
    ones = (1,) * len(starts)
    if shape or steps != ones or counts != ones:
        return -1
    position = 0
    for start, extent in zip(starts, type_.shape):
        position = position * extent + start
    return position
