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
from ....ops.arrays.indexing import INDEX
from ....recording.arrays.compressed import LEAST_SIZE
from ....recording.arrays.equal_values import first_equal
from ....recording.arrays.tracked import TrackedArray
from ...anything import Object
from ..values import choice_of, inputs_of, is_data, negated, op_of, state, type_of
from .intervals import ANYTHING, MOST_VALUES, RULES, Bounds, ends, exactly, of_array, union, where
from .linear import Linear, linear, linear_of
from .python_numbers import note_kind, type_if_known

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
    return _narrowed(value._recorder, value._id, _on_path(value._recorder, value._id))


def bounds_on_all_paths(value: Object) -> Bounds:
    """Bounds of a tracked number, also where this path is not taken."""
    return _of_instruction(value._recorder, value._id)


def magnitude(recorder: Object, number: int) -> float:
    """The largest magnitude of a tracked number, also where this path is not taken; infinite for arrays."""
    return max(map(abs, ends(_of_instruction(recorder, number)))) if type_of(recorder, number).size == 1 else math.inf


def note_bounds(value: Object, least: float, greatest: float) -> None:
    """Note what is known of a number."""
    _numbers(value._recorder).everywhere[value._id] = least, greatest


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


def difference(a: Object, b: Object) -> int | None:
    """b - a for tracked ints, if one is the other and a constant on this path."""
    if not (is_data(a) and is_data(b)):
        return None
    a, b = (_shifts((value._recorder, value._id), {})[-1] for value in (a, b))
    return int(b.above - a.above) if a[:2] == b[:2] else None


def equals(a: Object, b: Object) -> Object:
    """a == b for ints; a plain bool where the bounds of both tell."""
    return _compared("equal", a, b)


def _compared(name: str, a: Object, b: Object) -> Object:
    told = _told(name, bounds_of(a), bounds_of(b)) if is_data(a) or is_data(b) else None
    if told is None and _is_of_sizes() and _is_int(a) and _is_int(b):
        told = _told(name, _of_linear(linear(a).plus(linear(b), -1)), exactly(0))
    if told is not None:
        return told
    test: Object = _COMPARISONS[name](a, b)
    return first_equal(test) if is_data(test) else test


def _is_of_sizes() -> bool:
    return state.recorder is not None and state.recorder.is_of_sizes


def _is_int(value: Object) -> bool:
    return type(value) is int or (is_data(value) and not value.type.shape and value.type.dtype.kind == "i")


def _of_linear(form: Linear) -> Bounds:
    """The least and the greatest value of a sum on this path."""
    return _least(form, _MOST_EXPANDED), -_least(Linear(0, {}).plus(form, -1), _MOST_EXPANDED)


def _least(form: Linear, left: int) -> float:
    """A lower bound of a sum, by its terms, and by what minima, maxima, choices and quotients are made of."""
    low, compound = float(form.constant), None
    for key, (times, recorder, number) in form.terms.items():
        node = _node(recorder, number)
        low += min(times * end for end in ends(_narrowed(recorder, number, _on_path(recorder, number))))
        compound = (key, times, recorder, node) if node.name in _COMPOUND else compound
    if compound is None or not left or low > 0:
        return low
    key, times, recorder, node = compound
    rest = Linear(form.constant, {other: term for other, term in form.terms.items() if other != key})
    if node.name == "floor_divide":
        divisor = of_array(np.asarray(_node(recorder, node.inputs[1]).params[0])) if op_of(recorder, node.inputs[1]) is CONSTANT else ()
        by, inner = (int(ends(divisor)[0]) if divisor else 0), linear_of(recorder, node.inputs[0])
        if by < 1:
            return low
        # by * (x // by) is x less a remainder.
        made = Linear(0, {}).plus(rest, by).plus(inner, times)
        least = (_least(made, left - 1) - max(times, 0) * (by - 1)) / by
        return max(low, math.ceil(least) if math.isfinite(least) else least)
    sides = [_least(rest.plus(linear_of(recorder, k), times), left - 1) for k in node.inputs[-2:]]
    is_either = node.name == "select" or (node.name == "minimum") == (times > 0)
    return max(low, min(sides) if is_either else max(sides))


_COMPOUND = ("minimum", "maximum", "select", "floor_divide")
_MOST_EXPANDED = 5


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


def _narrowed(recorder: Object, number: int, found: Bounds) -> Bounds:
    """The bounds that the tests on this path leave."""
    is_int = type_of(recorder, number).dtype.kind == "i"
    for name, other, holds, shift in _facts_of(recorder).compared.get(number, ()):
        low, high = (0, 0) if other is None else ends(_of_instruction(recorder, other))
        found = where(found, name, holds, (low + shift, high + shift), is_int=is_int)
    return found


class _Node(NamedTuple):
    """What an instruction's bounds depend on.

    Attributes:
        operands: the instructions whose bounds they depend on.
    """

    name: str
    operands: tuple[int, ...]
    inputs: tuple[int, ...]
    params: tuple[object, ...]
    type: Object


class _Numbers(NamedTuple):
    """What is known of a recording's numbers: bounds on all paths, and nodes."""

    everywhere: dict[int, Bounds]
    nodes: dict[int, _Node]


def _numbers(recorder: Object) -> _Numbers:
    found: _Numbers | None = state.bounds.get(id(recorder))
    if found is None:
        sizes: dict[int, Bounds] = {number: (LEAST_SIZE, most) for number, most in recorder.sizes.items()}
        found = state.bounds[id(recorder)] = _Numbers(sizes, {})
    return found


def _node(recorder: Object, number: int) -> _Node:
    nodes = _numbers(recorder).nodes
    found = nodes.get(number)
    if found is None:
        op, inputs, params, type_, *_ = recorder.instructions[number]
        name = "less" if op.name == "exists" else op.name
        part = _OPERANDS.get(name)
        found = nodes[number] = _Node(name, () if part is None else inputs[part], inputs, params, type_)
    return found


def _of_instruction(recorder: Object, wanted: int) -> Bounds:
    """The bounds of an instruction's result; iteratively, as sums may be long."""
    memo, pending = _numbers(recorder).everywhere, [wanted]
    while pending:
        number = pending[-1]
        if number in memo:
            pending.pop()
            continue
        node = _node(recorder, number)
        left = [k for k in node.operands if k not in memo]
        if left:
            pending += left
            continue
        origin = recorder.origins.get(number) if _is_of_sizes() else None
        memo[number] = _result(recorder, node, memo) if origin is None else bounds_on_all_paths(origin)
        pending.pop()
    return memo[wanted]


# So many instructions are gone over with what this path tells of them.
_MOST_ON_PATH = 64


def _on_path(recorder: Object, wanted: int) -> Bounds:
    """The bounds of an instruction's result, with the tests on this path: by the values that they fix, and the sides that are taken."""
    owner, facts, memo, pending, visited = id(recorder), state.facts, _facts_of(recorder).memo, [wanted], 0
    while pending:
        number = pending[-1]
        if number in memo:
            pending.pop()
            continue
        node, everywhere = _node(recorder, number), _of_instruction(recorder, number)
        operands = node.operands if visited < _MOST_ON_PATH else ()
        visited += bool(operands)
        taken = None
        if node.name == "select" and operands:
            test = node.inputs[0]
            taken = facts.get((owner, test), _entry_outcome(recorder, test))
            if taken is None and (op_of(recorder, test) is CONSTANT or _is_of_ints(recorder, test)):
                if test not in memo:
                    pending.append(test)
                    continue
                taken = bool(next(iter(memo[test]))) if len(memo[test]) == 1 else None
        operands = operands if taken is None else node.inputs[1:2] if taken else node.inputs[2:]
        left = [k for k in operands if k not in memo]
        if left:
            pending += left
            continue
        found = everywhere if not operands else _result(recorder, node, memo) if taken is None else memo[operands[0]]
        if found == _EITHER and (told := _told_by_difference(recorder, node, memo)) is not None:
            found = frozenset((told,))
        # Of inputs something may be noted.
        found = everywhere if found == ANYTHING else found
        memo[number] = _narrowed(recorder, number, found) if node.type.dtype.kind == "i" else found
        pending.pop()
    return memo[wanted]


def _told_by_difference(recorder: Object, node: _Node, memo: dict[int, Bounds]) -> bool | None:
    """The outcome of a comparison of ints, if tests on this path tell it of these, or of numbers that differ from them by constants."""
    if node.name not in _COMPARISONS or any(type_of(recorder, k).dtype.kind != "i" for k in node.inputs):
        return None
    a, b = (_shifts((recorder, k), memo) for k in node.inputs)
    told = _told(node.name, _difference(a, b[-1]), exactly(b[-1].above - a[-1].above))
    if told is None:
        told = _told(_MIRRORED[node.name], _difference(b, a[-1]), exactly(a[-1].above - b[-1].above))
    return told


def _difference(shifts: list[_Shift], other: _Shift) -> Bounds:
    """Bounds of the last number of the shifts minus another one, by the tests on this path of any of them."""
    found, last = ANYTHING, shifts[-1]
    for recorder, number, above in shifts:
        for name, compared, holds, shift in _facts_of(recorder).compared.get(number, ()):
            if compared is not None:
                end = _shifts((recorder, compared), {})[-1]
                if (end.recorder, end.number) == (other.recorder, other.number):
                    least = end.above + shift + above - last.above
                    found = where(found, name, holds, (least, least), is_int=True)
    return found


def without_shift(value: Object) -> tuple[Object, int]:
    """The tracked int from which one differs by a constant on this path, and the constant."""
    recorder, number, above = _shifts((value._recorder, value._id), {})[-1]
    made = TrackedArray(recorder, number, value._value - int(above), type_of(recorder, number))
    return (value, 0) if (recorder, number) == (value._recorder, value._id) else (made, int(above))


class _Shift(NamedTuple):
    """A number from which an int differs by a constant on this path, its recording, and the constant."""

    recorder: Object
    number: int
    above: float


def _shifts(of: tuple[Object, int], memo: dict[int, Bounds]) -> list[_Shift]:
    """The numbers from which an int differs by constants on this path: itself, and what it was made of; captured ones are outer values.

    Args:
        memo: bounds of numbers of its recording on this path.
    """
    found = [_Shift(*of, 0.0)]
    while len(found) < _MOST_SHIFTS:
        recorder, number, above = found[-1]
        node = _node(recorder, number)
        test = memo.get(node.inputs[0], ()) if node.name == "select" else ()
        if (origin := recorder.origins.get(number)) is not None:
            found.append(_Shift(origin._recorder, origin._id, above))
            memo = {}
        elif len(test) == 1:
            found.append(_Shift(recorder, node.inputs[1 if next(iter(test)) else 2], above))
        elif shifted := _shifted(recorder, number):
            number, shift = shifted[0]
            found.append(_Shift(recorder, number, above - shift))
        else:
            break
    return found


_MOST_SHIFTS = 16


class _Facts(NamedTuple):
    """What the tests on a path tell of a recording's numbers.

    Attributes:
        compared: by number, what it is compared with: the comparison, the other number, None for 0, the outcome, and what the other
            number has to be increased by.
        memo: bounds; at first of the numbers that are equal to constants.
    """

    compared: dict[int, list[tuple[str, int | None, bool, float]]]
    memo: dict[int, Bounds]


def _facts_of(recorder: Object) -> _Facts:
    """What the tests on this path tell; found once for each path."""
    owner = id(recorder)
    if state.on_path[0] is not state.facts:
        state.on_path = state.facts, {}
    found: _Facts | None = state.on_path[1].get(owner)
    if found is None:
        found = state.on_path[1][owner] = _Facts({}, {})
        for (of, number), fact in state.facts.items():
            if of != owner:
                continue
            node = _node(recorder, number)
            if node.name in _COMPARISONS:
                a, b = node.inputs
                for value, other, comparison in ((a, b, node.name), (b, a, _MIRRORED[node.name])):
                    found.compared.setdefault(value, []).append((comparison, other, fact, 0))
                    for operand, shift in _shifted(recorder, value):
                        found.compared.setdefault(operand, []).append((comparison, other, fact, shift))
                    if fact and node.name == "equal" and op_of(recorder, other) is CONSTANT:
                        found.memo[value] = _of_instruction(recorder, other)
            elif (entry := _entry_compared(recorder, node)) is not None:
                value, comparison, constant = entry
                found.compared.setdefault(value, []).append((comparison, None, fact, constant))
    return found


def _entry_compared(recorder: Object, node: _Node) -> tuple[int, str, float] | None:
    """The number, comparison and constant of an entry of a comparison of a number with a constant array; None for others."""
    if node.name != INDEX.name or node.type.shape:
        return None
    whole = _node(recorder, node.inputs[0])
    if whole.name not in _COMPARISONS:
        return None
    (a, b), name = whole.inputs, _MIRRORED[whole.name]
    if op_of(recorder, a) is not CONSTANT:
        a, b, name = b, a, whole.name
    if op_of(recorder, a) is not CONSTANT or type_of(recorder, b).shape or type_of(recorder, a).shape != whole.type.shape:
        return None
    return b, name, float(INDEX.evaluate(np.asarray(_node(recorder, a).params[0]), *node.params))


def _entry_outcome(recorder: Object, number: int) -> bool | None:
    """The outcome of an entry of a comparison of a number with a constant array, if the tests on this path tell it."""
    entry = _entry_compared(recorder, _node(recorder, number))
    if entry is None:
        return None
    value, name, constant = entry
    return _told(name, _narrowed(recorder, value, _of_instruction(recorder, value)), exactly(constant))


def _shifted(recorder: Object, number: int) -> list[tuple[int, float]]:
    """The number of which this one is a sum or a difference with a constant, and what it has to be increased by to be that one."""
    node = _node(recorder, number)
    if node.type.dtype.kind != "i" or node.name not in ("add", "subtract"):
        return []
    a, b = node.inputs
    if op_of(recorder, b) is CONSTANT:
        low, high = ends(_of_instruction(recorder, b))
        return [(a, low if node.name == "subtract" else -low)] if low == high else []
    return []


def _result(recorder: Object, node: _Node, memo: dict[int, Bounds]) -> Bounds:
    if node.name == CONSTANT.name:
        return of_array(np.asarray(node.params[0]))
    if node.type.dtype.kind == "b":
        return _of_test(recorder, node, memo)
    if node.name in ("argmax", "argmin", "searchsorted"):
        return _of_position(recorder, node)
    given = [memo[k] for k in node.operands]
    if node.name in _SUMS:
        # Of at most so many entries.
        most, (low, high) = type_of(recorder, node.inputs[0]).size, ends(given[0])
        return most * min(low, 0), most * max(high, 0)
    rule = RULES.get(node.name)
    if rule is None:
        return ANYTHING
    if node.name == "select":
        return _selected(recorder, node.inputs, given, memo)
    return rule(*given, node.type) if node.name == "convert" else rule(*given)


def _of_test(recorder: Object, node: _Node, memo: dict[int, Bounds]) -> Bounds:
    """The outcomes of a comparison of ints, or of tests: a NaN is neither less nor greater."""
    given = [memo.get(k, ANYTHING) for k in node.inputs]
    if node.name in _COMPARISONS and all(type_of(recorder, k).dtype.kind == "i" for k in node.inputs) and all(given):
        told = _told(node.name, *given)
        return _EITHER if told is None else frozenset((told,))
    if node.name in _LOGIC and all(g in (_EITHER, frozenset((True,)), frozenset((False,))) for g in given):
        return frozenset(_LOGIC[node.name](*chosen) for chosen in itertools.product(*given))
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


def _of_position(recorder: Object, node: _Node) -> Bounds:
    shape = type_of(recorder, node.inputs[0]).shape
    if node.name == "searchsorted":
        return 0, shape[0]
    axis = node.params[0]
    return 0, (shape[axis] if type(axis) is int and len(shape) > axis else math.prod(shape)) - 1


def _selected(recorder: Object, inputs: tuple[int, ...], given: list[Bounds], memo: dict[int, Bounds]) -> Bounds:
    """The values of `select`; each side has those for which its test may hold, and one by a known test is all."""
    sides: list[Bounds] = []
    everywhere = _numbers(recorder).everywhere
    for number, bounds, holds in ((inputs[1], given[0], True), (inputs[2], given[1], False)):
        test, is_so = _node(recorder, inputs[0]), holds
        while test.name == "logical_not":
            test, is_so = _node(recorder, test.inputs[0]), not is_so
        if test.name in _COMPARISONS and number in test.inputs:
            is_first = test.inputs[0] == number
            other = test.inputs[1 if is_first else 0]
            other = memo.get(other) or everywhere.get(other, ANYTHING)
            bounds = where(bounds, test.name if is_first else _MIRRORED[test.name], is_so, ends(other))
        sides.append(bounds)
    return union(*sides)


# The operands whose bounds a rule is given.
_SUMS = ("sum", "cumsum")
_OPERANDS: dict[str, slice] = {
    **dict.fromkeys((*RULES, *_COMPARISONS, *_LOGIC, *_SUMS), slice(0, None)), "select": slice(1, 3), "index": slice(0, 1),
    "gather": slice(0, 1),
}  # fmt: skip


def smaller(a: Object, b: Object) -> Object:
    """The minimum of two ints."""
    t = below(b, a)
    return b if t is True else a if t is False else note_kind(np.where(t, b, a), (t, b, a))


def greater(a: Object, b: Object) -> Object:
    """The maximum of two ints."""
    t = below(a, b)
    return b if t is True else a if t is False else note_kind(np.where(t, b, a), (t, b, a))
