"""Joins: a place's value after a branch, from those that the two sides leave.

| sides | joined |
|---|---|
| the same object, equal constants | that one |
| numbers of one kind | a tracked number, `where(test, a, b)` |
| tuples of one length, instances of one frozen dataclass | part by part |
| lists of as many numbers | a new list, entry by entry, if none of the three is written to later |
| anything else | a choice between the two, by the test |
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from itertools import zip_longest
from types import BuiltinMethodType

import numpy as np

from ...ir.instruction import CONSTANT, Operand, ValueType
from ...ops.arrays.indexing import GATHER, INDEX, PUT, REPLACE
from ...ops.elementwise.comparison import SELECT
from ...recording.arrays.compressed import CompressedArray, Kept
from ...recording.arrays.numbers import chosen_by
from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from ..users_code import is_mutable
from .identities import frozen_fields, note_origin
from .numbers.bounds import equals
from .numbers.python_numbers import note_kind
from .numbers.selects import selected
from .places import mark_made, unwritable
from .values import (
    UNBOUND,
    Choice,
    DataKey,
    Maybe,
    Unjoinable,
    both,
    choice_of,
    conditions_of,
    either,
    entry_on_path,
    holds_several,
    index_of,
    indexed,
    is_by_index,
    is_data,
    join_conditions,
    negated,
    note_packed,
    packed_count,
    possible_objects,
    state,
    where,
)

# Minimum number of entries for a gather at a data-dependent position.
LEAST_GATHERED = 9
# Maximum number of options of a value in an operation.
MOST_OPTIONS = 32
# Likewise for constants.
_MOST_CONSTANTS = 24
# Maximum number of stored options.
_MOST_HELD = 48

CONSTANTS = (bool, int, float, str, bytes, type(None))
_NUMBERS = (int, float, np.float64, np.int64)
_FLOATS = {float, np.float64, TrackedArray}


def join(test: Operand, yes: Object, no: Object) -> Object:
    """Select a value by a test."""
    if yes is no or is_equal(yes, no):
        return yes
    return note_origin(_joined(test, yes, no), (test, yes), (True, no)) if state.has_identities else _joined(test, yes, no)


def _joined(test: Operand, yes: Object, no: Object) -> Object:
    if {type(yes), type(no)} <= _FLOATS and (number := _joined_float(test, yes, no)) is not None:
        return number
    if _is_number(yes) and _is_number(no) and _are_of_one_kind(yes, no):
        return note_kind(where(test, yes, no), (test, yes, no))
    if state.joins_arrays and are_alike_arrays(yes, no):
        return _joined_array(test, yes, no)
    if state.joins_arrays and (found := _joined_compressed(test, yes, no)) is not None:
        return found
    if are_alike_lists(yes, no):
        return _joined_list(test, yes, no)
    if type(yes) is type(no) and isinstance(yes, tuple) and len(yes) == len(no) and not callable(yes):
        parts = [join_entries(test, a, b) for a, b in zip(yes, no)]
        return type(yes)(*parts) if hasattr(yes, "_fields") else tuple(parts) if type(yes) is tuple else chosen(test, yes, no)
    if are_frozen(yes, no):
        return _joined_frozen(test, yes, no)
    return chosen(test, yes, no)


def _joined_float(test: Operand, yes: Object, no: Object) -> Object:
    """Select floats; None for other values."""
    number: Object = selected(test, yes, no)
    if number is not None and number._id <= max(yes._id, no._id):
        return number  # known already
    number = chosen_by(SELECT, test, yes, no) if number is None else number
    return None if number is None else note_kind(number, (test, yes, no))


def are_frozen(yes: Object, no: Object) -> bool:
    """True for two instances of one frozen dataclass that hold data: they are joined by fields, as tuples are."""
    if type(yes) is not type(no) or state.has_identities or not (names := frozen_fields(type(yes))):
        return False
    if not all(vars(value).keys() == names.keys() for value in (yes, no) if hasattr(value, "__dict__")):
        return False
    # Of constants, they may be keys.
    return any(is_data(getattr(value, name)) or holds_several(getattr(value, name)) for value in (yes, no) for name in names)


def _joined_frozen(test: Operand, yes: Object, no: Object) -> Object:
    """Join fields into a new instance."""
    found = mark_made(object.__new__(type(yes)))
    state.joins_frozen = True
    for name in frozen_fields(type(yes)):
        object.__setattr__(found, name, join(test, getattr(yes, name), getattr(no, name)))
    return found


def are_alike_arrays(*values: Object) -> bool:
    """True for tracked arrays of one type that are not views."""
    first = values[0]
    return type(first) is TrackedArray and all(
        type(value) is TrackedArray and value.type == first.type and value.type.shape and value._view is None for value in values
    )


def _joined_array(test: Operand, yes: TrackedArray, no: TrackedArray) -> TrackedArray:
    """Select entries into a new array. A later write to any of the three repeats the recording without such joins."""
    found = where(test, yes, no)
    for array in (yes, no, found):
        state.joined_arrays.setdefault(id(array), (array, array._writes))
    return found


def _joined_compressed(test: Operand, yes: Object, no: Object) -> Object:
    """Select masks and entries of arrays, of which at least one has data-dependent lengths; None for others."""
    like = next((value for value in (yes, no) if issubclass(type(value), CompressedArray)), None)
    if like is None or not all(type(value) is TrackedArray or issubclass(type(value), CompressedArray) for value in (yes, no)):
        return None
    axes = {axis for value in (yes, no) if issubclass(type(value), CompressedArray) for axis in value.kept}
    shapes = (value.whole.type.shape if issubclass(type(value), CompressedArray) else np.shape(value) for value in (yes, no))
    shape = tuple(map(max, zip(*shapes)))
    parts = [masked_parts(value, tuple(axes), ValueType(shape, like.dtype)) for value in (yes, no)]
    if parts[0] is None or parts[1] is None or not are_alike_arrays(parts[0][-1], parts[1][-1]):
        return None
    if not owns_memory(yes) or not owns_memory(no):
        return None
    for array in map(_memory, (yes, no)):
        state.joined_arrays.setdefault(id(array), (array, array._writes))
    whole = _joined_array(test, parts[0][-1], parts[1][-1])
    kept = {axis: _joined_kept(test, whole.type.shape[axis], *(length_along(value, axis) for value in (yes, no))) for axis in axes}
    masks = {axis: where(test, *pair) for axis, *pair in zip(axes, parts[0], parts[1]) if kept[axis] is None}
    return type(like)(whole, {axis: one or Kept(masks[axis]) for axis, one in kept.items()})


def _joined_kept(test: Operand, extent: int, yes: Object, no: Object) -> Kept | None:
    """The first entries of an axis, as many as one of two lengths; None where it has no length."""
    if yes is None or no is None:
        return None
    length = yes if equals(yes, no) is True else note_kind(where(test, yes, no), (test, yes, no))
    return Kept.first(length, extent)


def length_along(value: Object, axis: int) -> Object:
    """The length of an array along an axis; None where a mask selects entries."""
    kept = value.kept.get(axis) if issubclass(type(value), CompressedArray) else None
    return np.shape(_memory(value))[axis] if kept is None else kept.length


def _memory(value: Object) -> Object:
    """The tracked array that holds an array's entries."""
    return value.whole if issubclass(type(value), CompressedArray) else value


def owns_memory(value: Object) -> bool:
    """False for a view of another array."""
    return getattr(_memory(value), "_view", None) is None


def masked_parts(value: Object, axes: tuple[int, ...], type_: ValueType) -> list[Object] | None:
    """The masks of some axes and the entries of a compressed array, or of a whole one; None for other values.

    Args:
        type_: of all entries; there may be fewer along the axes.
    """
    whole: Object = value
    kept: dict[int, Kept] = {}
    if issubclass(type(value), CompressedArray) and {*value.kept} <= {*axes}:
        whole, kept = value.whole, value.kept
    elif type(value) is not TrackedArray:
        return None
    if whole.type.dtype != type_.dtype or len(whole.type.shape) != len(type_.shape) or not all(-axis <= len(type_.shape) for axis in axes):
        return None
    more = [longer - extent for longer, extent in zip(type_.shape, whole.type.shape)]
    if min(more) < 0 or any(count for axis, count in enumerate(more) if axis - len(more) not in axes):
        return None
    make = whole._recorder.tracked_constant
    masks = [kept[axis].mask if axis in kept else make(np.ones(whole.type.shape[axis], bool)) for axis in axes]
    if any(more):
        masks = [np.concatenate([mask, np.zeros(more[axis], bool)]) if more[axis] else mask for axis, mask in zip(axes, masks)]
        whole = np.pad(whole, [(0, count) for count in more])
    return [*masks, whole]


# Maximum nesting of joined lists: deeper ones are links of a chain.
_DEEPEST = 8


def are_alike_lists(a: Object, b: Object, depth: int = 0) -> bool:
    """True for short lists that the function created and that differ in numbers only."""
    return (
        state.joins_lists
        and depth <= _DEEPEST
        and type(a) is list
        and type(b) is list
        and 0 < len(a) == len(b) <= MOST_OPTIONS
        and id(a) not in state.callers
        and id(b) not in state.callers
        and all(_is_alike(x, y, depth + 1) for x, y in zip(a, b))
    )


def _joined_list(test: Operand, yes: list[Object], no: list[Object]) -> list[Object]:
    """Join entries into a new list. A later write to any of the three repeats the recording without such joins."""
    found = [join(test, a, b) for a, b in zip(yes, no)]
    mark_made(found)
    for value in (yes, no, found):
        state.shown[id(value)] = value
    return found


def check_joined_arrays() -> None:
    """Repeat the recording if a joined array was written to."""
    if any(array._writes != writes for array, writes in state.joined_arrays.values()):
        raise unwritable("an array is written to that a branch has chosen")


def is_equal(a: Object, b: Object) -> bool:
    """True for equal constants of one type and sign."""
    if type(a) is not type(b) or type(a) not in CONSTANTS:
        return False
    return a == b and (type(a) is not float or math.copysign(1.0, a) == math.copysign(1.0, b))


def _is_number(value: Object) -> bool:
    return type(value) in _NUMBERS or (type(value) is TrackedArray and not value.type.shape and value._view is None)


# Larger ints are not exact as floats, or overflow int64.
_EXACT, _MOST_INT = 2**53, 2**62


def _are_of_one_kind(a: Object, b: Object) -> bool:
    """True if a tracked number can stand for both: not for bools, as Python computes with them, nor for different dtypes."""
    kinds = {value.type.dtype.str if type(value) is TrackedArray else type(value) for value in (a, b)}
    if np.dtype(bool).str in kinds:
        return len(kinds) == 1
    if any(type(value) is int and abs(value) > (_EXACT if kinds & {float, "<f8", np.float64} else _MOST_INT) for value in (a, b)):
        return False
    return kinds <= {"<f8", "<i8", *_NUMBERS}


def chosen(test: Operand, yes: Object, no: Object) -> Object:
    """A choice of two values; joins options where possible."""
    holds = _is_true(yes), _is_true(no)
    if None not in holds:
        condition = join_conditions(test, *holds)
        return condition if type(condition) is bool else choice_of([False, True], [negated(condition), condition])
    if (joined := joined_by_index([(test, yes), (True, no)])) is not None:
        return joined
    ours, theirs = (options_of(value) for value in (yes, no))
    options: list[Object] = []
    conditions: list[Object] = []
    left = list(theirs)
    for option, when in ours:
        match = next((k for k, (other, _) in enumerate(left) if _is_alike(option, other)), None)
        if match is None:
            options.append(option)
            conditions.append(both(test, when))
        else:
            other, other_when = left.pop(match)
            options.append(join(test, option, other))
            conditions.append(join_conditions(test, when, other_when))
    for option, when in left:
        options.append(option)
        conditions.append(both(negated(test), when))
    _check_count(options)
    return choice_of(options, conditions)


def joined_by_index(hits: list[tuple[Object, Object]]) -> Object:
    """The first value whose condition holds, of many mutable objects or choices by index of these; None for others."""
    values = [value for _, value in hits]
    has_index = any(map(is_by_index, values))
    if not has_index and len(values) < LEAST_GATHERED:
        return None
    options = {id(option): option for value in values for option in possible_objects(value)}
    if (not has_index and len(options) < LEAST_GATHERED) or not all(map(is_mutable, options.values())):
        return None
    numbers = {key: number for number, key in enumerate(options)}
    index = index_of(values[-1], numbers)
    for condition, value in reversed(hits[:-1]):
        if condition is not False:
            index = index_of(value, numbers) if condition is True else where(condition, index_of(value, numbers), index)
    return indexed(tuple(options.values()), index)


def is_mutable_or_choice(value: Object) -> bool:
    """True for a mutable object, and a choice of these by index."""
    return is_by_index(value) or is_mutable(value)


def one_of(hits: list[tuple[Object, Object]]) -> Object:
    """The value whose condition holds; exactly one does."""
    if len(hits) > 1 and (joined := joined_by_index(hits)) is not None:
        return joined
    found = [(both(condition, when), option) for condition, value in hits for option, when in options_of(value)]
    found = [hit for hit in found if hit[0] is not False] or found[:1]
    first = next((value for condition, value in found if condition is True), found[0][1])
    if any(condition is True for condition, _ in found) or all(value is first or is_equal(value, first) for _, value in found):
        return first
    if type(first) is tuple and all(type(value) is tuple and len(value) == len(first) for _, value in found):
        if not any(Maybe in map(type, value) for _, value in found):
            return note_origin(tuple(one_of([(condition, value[k]) for condition, value in found]) for k in range(len(first))), *found)
    groups: list[list[Object]] = []
    for condition, value in found:
        _group(groups, condition, value)
    if len(groups) == 1:
        return groups[0][1]
    _check_count([value for _, value in groups])
    return choice_of([value for _, value in groups], [condition for condition, _ in groups])


def most_options(options: Iterable[Object]) -> int:
    """Maximum number of options in an operation."""
    return _MOST_CONSTANTS if all(type(option) is TrackedArray or is_constant(option) for option in options) else MOST_OPTIONS


def is_constant(value: Object) -> bool:
    """True for constants and their methods."""
    return type(value) in CONSTANTS or (type(value) is BuiltinMethodType and type(value.__self__) in CONSTANTS)


def _check_count(options: list[Object]) -> None:
    """Allows more options than operations do, as the value may never be used."""
    if len(options) > _MOST_HELD:
        raise Unjoinable(
            f"a value may be one of more than {_MOST_HELD} things", "keep a number, such as an index"
        )


def _group(groups: list[list[Object]], condition: Object, value: Object) -> None:
    """Add an option to a group that can be joined with it."""
    for group in groups:
        when, other = group
        if _is_alike(value, other):
            group[:] = either(when, condition), join(condition, value, other)
            return
    groups.append([condition, value])


def _is_true(value: Object) -> Object:
    """The condition that a Python bool is True; None for other values."""
    if type(value) is bool:
        return value
    is_bool = type(value) is Choice and all(type(option) is bool for option in value.options) and value.options == (False, True)
    return value.conditions[1] if is_bool else None


def options_of(value: Object) -> list[tuple[Object, Object]]:
    """The options of a choice, with their conditions; a choice by index is one."""
    return list(zip(value.options, value.conditions)) if type(value) is Choice and value.index is None else [(value, True)]


def _is_alike(a: Object, b: Object, depth: int = 0) -> bool:
    """True for options that can be joined."""
    if (is_by_index(a) and is_mutable_or_choice(b)) or (is_by_index(b) and is_mutable(a)):
        return True
    if a is b or is_equal(a, b) or (state.joins_arrays and are_alike_arrays(a, b)) or are_alike_lists(a, b, depth):
        return True
    if type(a) is type(b) and isinstance(a, tuple):
        return len(a) == len(b) and not callable(a) and (type(a) is tuple or hasattr(a, "_fields"))
    return are_frozen(a, b) or (_is_number(a) and _is_number(b) and _are_of_one_kind(a, b))


# Maximum number of writes replayed on their side's condition; beyond it, all entries are selected.
_MOST_WRITES = 16


def join_versions(test: Operand, base: Operand, yes: Operand, no: Operand) -> Operand:
    """An array after a branch: the earlier one, with each side's writes where it is taken."""
    found = [_writes(base, version) for version in (yes, no)]
    writes = [side for side in found if side is not None]
    if len(writes) < 2 or 2 * sum(size for side in writes for _, size in side) > base.type.size:
        return where(test, yes, no)
    joined = base
    for side, version, taken in zip(writes, (yes, no), (test, negated(test))):
        for number, _ in side:
            joined = _written(joined, version, number, taken)
    return joined


def _writes(base: Operand, version: Operand) -> list[tuple[int, int]] | None:
    """The writes since a base version, in order, with their sizes; None if another operation made this version."""
    instructions, found, number = base._recorder.instructions, [], version._id
    while number != base._id:
        op, inputs, params, *_ = instructions[number]
        is_put = op is PUT
        if len(found) == _MOST_WRITES or not (is_put or op is REPLACE) or len(inputs) < 2 + is_put or (is_put and not params[0]):
            return None
        if is_put and instructions[inputs[2]][0] is not CONSTANT and number not in base._recorder.written_at:
            return None
        found.append((number, sum(instructions[k].type.size for k in (inputs[1:2] if is_put else inputs[1:]))))
        number = inputs[0]
    return found[::-1]


def _written(array: Operand, version: Operand, number: int, taken: Operand) -> Operand:
    """Replay one version's write on an array, where its side is taken."""
    recorder = array._recorder
    op, inputs, params, *_ = recorder.instructions[number]

    def part(k: int, value: Operand) -> Operand:
        return TrackedArray(recorder, inputs[k], value, recorder.instructions[inputs[k]].type)

    if op is REPLACE:
        regions = params[0]
        parts = [part(k + 1, INDEX(version._value, region=region)) for k, region in enumerate(regions)]
        parts = [where(taken, new, INDEX(array, region=region)) for region, new in zip(regions, parts)]
        return REPLACE(array, *parts, regions=regions)
    positions = recorder.written_at.get(number)
    if positions is None:
        positions = part(2, recorder.instructions[inputs[2]].params[0])
    value = part(1, np.ravel(version._value)[positions._value])
    return PUT(array, where(taken, value, GATHER(array, positions)), positions, distinct=True)


def join_contents(test: Operand, yes: Object, no: Object) -> Object:
    """A container's entries after a branch."""
    if isinstance(yes, dict):
        return _join_dicts(test, yes, no)
    if isinstance(yes, set):
        return yes if yes == no else _join_sets(test, yes, no)
    if isinstance(yes, bytearray):
        if yes != no:
            raise Unjoinable("a branch changes a bytearray", "use a list of ints")
        return yes
    entries = [join_entries(test, a, b) for a, b in zip_longest(yes, no, fillvalue=UNBOUND)]
    if Maybe in map(type, entries) and all(packed_count(conditions_of(side)) == len(side) for side in (yes, no)):
        note_packed(conditions_of(entries))
    elif isinstance(yes, deque) and yes.maxlen is not None and Maybe in map(type, entries):
        raise Unjoinable("a branch removes entries from within a deque of limited length", "make a new one")
    return deque(entries, yes.maxlen) if isinstance(yes, deque) else entries


def _join_sets(test: Operand, yes: set[Object], no: set[Object]) -> list[Object]:
    """Join sets, as dicts without values, into conditional members."""
    ours, theirs = as_dict(yes), as_dict(no)
    return members_of({key: join_entries(test, ours.get(key, UNBOUND), theirs.get(key, UNBOUND)) for key in as_dict([*no, *yes])})


def as_dict(holder: Iterable[Object]) -> dict[Object, Object]:
    """The members of a set as keys."""
    plain = [member for member in holder if type(member) is not Maybe]
    # Their hashes are addresses, so the set's order varies.
    found = sorted((member for member in holder if type(member) is Maybe), key=lambda member: member.order)
    return {**dict.fromkeys(plain), **{member.value: Maybe(member.condition, None) for member in found}}


def members_of(entries: dict[Object, Object]) -> list[Object]:
    """The members of a set for the keys of a dict."""
    made: list[Object] = []
    for key, value in entries.items():
        condition, _ = entry_on_path(value)
        if condition is True and type(key) is not DataKey:
            made.append(key)
        elif condition is not False:
            state.stamp += 1
            made.append(Maybe(condition, key, state.stamp))
    return made


def _join_dicts(test: Operand, yes: dict[Object, Object], no: dict[Object, Object]) -> dict[Object, Object]:
    """Join dicts by key; values are numbered if the sides' keys differ in order."""
    if yes.keys() == no.keys() and not any(type(v) is Maybe for v in (*yes.values(), *no.values())) and list(yes) == list(no):
        return {key: join(test, yes[key], no[key]) for key in yes}
    keys = next((keys for keys in ([*no, *(k for k in yes if k not in no)], [*yes, *(k for k in no if k not in yes)])
                 if [k for k in keys if k in yes] == list(yes) and [k for k in keys if k in no] == list(no)), None)  # fmt: skip
    if keys is None or has_order(yes) or has_order(no):
        yes, no = numbered(yes), numbered(no)
        keys = [*no, *(k for k in yes if k not in no)]
    return {key: join_entries(test, yes.get(key, UNBOUND), no.get(key, UNBOUND)) for key in keys}


def numbered(entries: dict[Object, Object]) -> dict[Object, Object]:
    """Number a dict's values by position."""
    if has_order(entries):
        return entries
    return {key: Maybe(*_there(value), place) for place, (key, value) in enumerate(entries.items())}


def has_order(entries: dict[Object, Object]) -> bool:
    """True for a dict whose values are numbered."""
    return any(type(value) is Maybe and value.order is not None for value in entries.values())


def join_entries(test: Operand, yes: Object, no: Object) -> Object:
    """The entry at a position; UNBOUND if a side has none."""
    if yes is no or (type(yes) is not Maybe and type(no) is not Maybe and yes is not UNBOUND and no is not UNBOUND):
        return join(test, yes, no)
    (first, a), (second, b) = _there(yes), _there(no)
    if a is UNBOUND or b is UNBOUND:
        value = b if a is UNBOUND else a
    else:
        value = join(test, a, b)
    condition = join_conditions(test, first, second)
    first_order, second_order = (e.order if type(e) is Maybe else None for e in (yes, no))
    if first_order is None and second_order is None:
        return maybe(condition, value)
    order = second_order if first_order is None else first_order if second_order is None else join(test, first_order, second_order)
    return Maybe(condition, value, order)


def _there(entry: Object) -> tuple[Object, Object]:
    """An entry's condition and value."""
    if type(entry) is Maybe:
        return entry.condition, entry.value
    return entry is not UNBOUND, entry


def maybe(condition: Object, value: Object) -> Object:
    """An entry with a condition."""
    return value if condition is True else Maybe(condition, value)
