"""Bounds of numbers that data decide: the ints that one may be, by the operations that it was recorded from and the tests on this path.

A number is known by the few values that it may have (a frozenset), or by its least and its greatest one.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ....ir.instruction import CONSTANT
from ...anything import Object
from ..values import choice_of, inputs_of, is_data, negated, op_of, state, type_of
from .intervals import ANYTHING, MOST_VALUES, RULES, Bounds, ends, exactly, of_array, union, where
from .python_numbers import type_if_known

_COMPARISONS: dict[str, Callable[..., bool]] = {
    "less": operator.lt, "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge, "equal": operator.eq,
}  # fmt: skip
_MIRRORED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal", "equal": "equal"}


def bounds_of(value: Object) -> Bounds:
    """Bounds of a number on this path."""
    if not is_data(value):
        return exactly(value)
    if value.type.size != 1:
        return ANYTHING
    found = bounds_on_all_paths(value)
    if not state.facts or len(found) == 1:
        return found
    return _narrowed(value, _on_path(value._recorder, value._id))


def bounds_on_all_paths(value: Object) -> Bounds:
    """Bounds of a tracked number, also where this path is not taken."""
    return _of_instruction(value._recorder, value._id)


def note_bounds(value: Object, least: float, greatest: float) -> None:
    """Note what is known of a number."""
    state.bounds[id(value._recorder), value._id] = least, greatest


def possible_ints(value: Object) -> list[int] | None:
    """The values that a tracked int may have on this path, in order; None if they are too many."""
    if value.type.dtype.kind == "b":
        return [0, 1]
    if value.type.dtype.kind != "i":
        return None
    found = bounds_of(value)
    if type(found) is tuple:
        low, high = found
        if not high - low < MOST_VALUES:
            return None
        found = frozenset(range(math.ceil(low), math.floor(high) + 1))
    return sorted(map(int, found)) or None


def as_choice(value: Object) -> Object:
    """A tracked int or bool as a choice of those that it may be; as it is where these are too many."""
    if not is_data(value) or value.type.shape or (found := possible_ints(value)) is None:
        return value
    if value.type.dtype.kind == "b":
        kind = type_if_known(value) or bool
        return choice_of([kind(False), kind(True)], [negated(value), value])
    return found[0] if len(found) == 1 else choice_of(found, [value == k for k in found])


def below(a: Object, b: Object) -> Object:
    """a < b; a plain bool where the bounds of both tell."""
    return _compared("less", a, b)


def equals(a: Object, b: Object) -> Object:
    """a == b for ints; a plain bool where the bounds of both tell."""
    return _compared("equal", a, b)


def _compared(name: str, a: Object, b: Object) -> Object:
    told = _told(name, bounds_of(a), bounds_of(b)) if is_data(a) or is_data(b) else None
    return _COMPARISONS[name](a, b) if told is None else told


def _told(name: str, a: Bounds, b: Bounds) -> bool | None:
    """The outcome of a comparison, if bounds tell it."""
    if name in ("greater", "greater_equal"):
        name, a, b = _MIRRORED[name], b, a
    (low, high), (least, most) = ends(a), ends(b)
    if name == "equal":
        is_apart = high < least or most < low or (type(a) is frozenset and type(b) is frozenset and a.isdisjoint(b))
        return True if low == high == least == most else False if is_apart else None
    is_always, is_never = (high < least, low >= most) if name == "less" else (high <= least, low > most)
    return True if is_always else False if is_never else None


def _narrowed(value: Object, found: Bounds) -> Bounds:
    """The bounds that the tests on this path leave."""
    recorder = value._recorder
    for name, other, holds in _facts_of(recorder).compared.get(value._id, ()):
        found = where(found, name, holds, ends(_of_instruction(recorder, other)))
    return found


def _of_instruction(recorder: Object, wanted: int) -> Bounds:
    """The bounds of an instruction's result; iteratively, as sums may be long."""
    memo, pending = state.bounds, [wanted]
    while pending:
        number = pending[-1]
        if (id(recorder), number) in memo:
            pending.pop()
            continue
        left = [k for k in _operands(recorder, number) if (id(recorder), k) not in memo]
        if left:
            pending += left
            continue
        memo[id(recorder), number] = _result(recorder, number, memo)
        pending.pop()
    return memo[id(recorder), wanted]


# So many instructions are gone over with what this path tells of them.
_MOST_ON_PATH = 64


def _on_path(recorder: Object, wanted: int) -> Bounds:
    """The bounds of an instruction's result, with the tests on this path: by the values that they fix, and the sides that are taken."""
    owner, pending, visited = id(recorder), [wanted], 0
    memo = _facts_of(recorder).memo
    while pending:
        number = pending[-1]
        if (owner, number) in memo:
            pending.pop()
            continue
        visited += 1
        left = [k for k in _operands(recorder, number) if (owner, k) not in memo] if visited <= _MOST_ON_PATH else []
        if left:
            pending += left
            continue
        found = _result(recorder, number, memo, state.facts) if visited <= _MOST_ON_PATH else ANYTHING
        # Of inputs something may be noted.
        memo[owner, number] = _of_instruction(recorder, number) if found == ANYTHING else found
        pending.pop()
    return memo[owner, wanted]


class _Facts(NamedTuple):
    """What the tests on a path tell of a recording's numbers.

    Attributes:
        compared: by number, what it is compared with: the comparison, the other number and the outcome.
        memo: bounds; at first of the numbers that are equal to constants.
    """

    compared: dict[int, list[tuple[str, int, bool]]]
    memo: dict[tuple[int, int], Object]


def _facts_of(recorder: Object) -> _Facts:
    """What the tests on this path tell; found once for each path."""
    owner = id(recorder)
    if state.on_path[0] is not state.facts:
        state.on_path = state.facts, {}
    found: _Facts | None = state.on_path[1].get(owner)
    if found is None:
        found = state.on_path[1][owner] = _Facts({}, {})
        for (of, number), fact in state.facts.items():
            if of == owner and (name := op_of(recorder, number).name) in _COMPARISONS:
                a, b = inputs_of(recorder, number)
                for value, other, comparison in ((a, b, name), (b, a, _MIRRORED[name])):
                    found.compared.setdefault(value, []).append((comparison, other, fact))
                    if fact and name == "equal" and recorder.instructions[other].op is CONSTANT:
                        found.memo[owner, value] = of_array(np.asarray(recorder.instructions[other].params[0]))
    return found


def _operands(recorder: Object, number: int) -> tuple[int, ...]:
    """The instructions whose bounds those of one depend on."""
    part = _OPERANDS.get(op_of(recorder, number).name)
    return () if part is None else inputs_of(recorder, number)[part]


def _result(recorder: Object, number: int, memo: dict[tuple[int, int], Object], facts: dict[tuple[int, int], bool] | None = None) -> Bounds:
    op, inputs, params, type_, *_ = recorder.instructions[number]
    if op is CONSTANT:
        return of_array(np.asarray(params[0]))
    if type_.dtype.kind == "b":
        return _of_test(recorder, op.name, inputs, memo)
    if op.name in ("argmax", "argmin", "searchsorted"):
        return _of_position(recorder, op.name, inputs, params)
    rule = RULES.get(op.name)
    if rule is None:
        return ANYTHING
    given = [memo[id(recorder), k] for k in _operands(recorder, number)]
    if op.name == "select":
        fact = facts.get((id(recorder), inputs[0])) if facts else None
        return _selected(recorder, inputs, given, memo) if fact is None else given[0 if fact else 1]
    return rule(*given, type_) if op.name == "convert" else rule(*given)


def _of_test(recorder: Object, name: str, inputs: tuple[int, ...], memo: dict[tuple[int, int], Object]) -> Bounds:
    """The outcomes of a comparison of ints, or of tests: a NaN is neither less nor greater."""
    given = [memo.get((id(recorder), k), ANYTHING) for k in inputs]
    if name in _COMPARISONS and all(recorder.instructions[k].type.dtype.kind == "i" for k in inputs) and all(given):
        told = _told(name, *given)
        return _EITHER if told is None else frozenset((told,))
    if name in _LOGIC and all(g in (_EITHER, frozenset((True,)), frozenset((False,))) for g in given):
        return frozenset(_LOGIC[name](*chosen) for chosen in itertools.product(*given))
    return _EITHER


_EITHER: Bounds = frozenset((False, True))
_LOGIC: dict[str, Callable[..., bool]] = {
    "logical_and": lambda a, b: a and b, "logical_or": lambda a, b: a or b, "logical_not": lambda a: not a, "logical_xor": operator.xor,
}  # fmt: skip


def outcome(test: Object) -> bool | None:
    """The outcome of a tracked bool, if bounds tell it."""
    if not _is_of_ints(test._recorder, test._id):
        return None
    found = _of_instruction(test._recorder, test._id)
    if len(found) == 2 and state.facts:
        found = _on_path(test._recorder, test._id)
    return bool(next(iter(found))) if len(found) == 1 else None


def _is_of_ints(recorder: Object, number: int, depth: int = 0) -> bool:
    """True for comparisons of ints, and for `and`, `or` and `not` of few of them."""
    name = op_of(recorder, number).name
    if name in _COMPARISONS:
        return all(type_of(recorder, k).dtype.kind == "i" for k in inputs_of(recorder, number))
    return name in _LOGIC and depth < _DEEPEST and all(_is_of_ints(recorder, k, depth + 1) for k in inputs_of(recorder, number))


_DEEPEST = 3


def _of_position(recorder: Object, name: str, inputs: tuple[int, ...], params: tuple[object, ...]) -> Bounds:
    shape = recorder.instructions[inputs[0]].type.shape
    if name == "searchsorted":
        return 0, shape[0]
    axis = params[0]
    return 0, (shape[axis] if type(axis) is int and len(shape) > axis else math.prod(shape)) - 1


def _selected(recorder: Object, inputs: tuple[int, ...], given: list[Bounds], memo: dict[tuple[int, int], Object]) -> Bounds:
    """The values of `select`; each side has those for which its test may hold, and one by a known test is all."""
    op, operands, *_ = recorder.instructions[inputs[0]]
    sides: list[Bounds] = []
    for number, bounds, holds in ((inputs[1], given[0], True), (inputs[2], given[1], False)):
        test, between, is_so = op, operands, holds
        while test.name == "logical_not":
            test, between, *_ = recorder.instructions[between[0]]
            is_so = not is_so
        if test.name in _COMPARISONS and number in between:
            name = test.name if between[0] == number else _MIRRORED[test.name]
            other: Bounds = memo.get((id(recorder), between[1] if between[0] == number else between[0]), ANYTHING)
            bounds = where(bounds, name, is_so, ends(other))
        sides.append(bounds)
    return union(*sides)


# The operands whose bounds a rule is given.
_OPERANDS: dict[str, slice] = {
    **dict.fromkeys((*RULES, *_COMPARISONS, *_LOGIC), slice(0, None)), "select": slice(1, 3), "index": slice(0, 1), "gather": slice(0, 1),
}  # fmt: skip
