"""Data-dependent dict keys and set members. A key with few possible plain values is a choice of them. Any other is compared with each
existing key, and stored as a `DataKey`."""

from __future__ import annotations

import itertools

import numpy as np

from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from ..calls.truth import truth
from ..state.fork import exclude
from ..state.joins import LEAST_GATHERED
from ..state.numbers.bounds import as_choice, equals
from ..state.tables.columns import Table, stacked, table_of
from ..state.tables.forms import Constant, Form, Number, Parts
from ..state.values import (
    CHOICES,
    Choice,
    DataKey,
    Maybe,
    Unjoinable,
    all_of,
    any_of,
    both,
    choice_of,
    counted_from,
    either,
    entry_on_path,
    is_data,
    negated,
    once,
    parted,
    state,
)

_NUMBERS = (int, float, bool, np.int64, np.float64, np.bool_)
# Maximum number of plain values of a key.
_MOST_KEYS = 64


def is_data_key(key: Object) -> bool:
    """True for data-dependent numbers and choices, and tuples with one, or with conditional entries."""
    kind = type(key)
    if kind is TrackedArray:
        return not key.type.shape
    if kind in CHOICES or kind is Maybe:
        return True
    return isinstance(key, tuple) and any(map(is_data_key, key))


def read(key: Object) -> Object:
    """A key, after which a loop's iteration is known to read the variables in it."""
    if type(key) in CHOICES:
        return CHOICES[type(key)].read(key)
    return tuple(map(read, key)) if type(key) is tuple and not {*map(type, key)}.isdisjoint(CHOICES) else key


def has_data_keys(holder: Object) -> bool:
    """True for a dict with data-dependent keys."""
    return state.has_maybes and DataKey in map(type, holder)


def plain_keys(key: Object) -> list[tuple[Object, Object]] | None:
    """The possible plain values of a key, with their conditions; None if there are too many."""
    key = as_choice(key)
    if type(key) is Choice:
        key = _hashable(key)
    if type(key) is Choice:
        return list(zip(key.conditions, key.options)) if not any(map(is_data_key, key.options)) else None
    if is_data(key):
        return None
    if not isinstance(key, tuple):
        return [(True, key)]
    parts = [_plain_parts(part) for part in key]
    if None in parts or np.prod([len(part) for part in parts if part]) > _MOST_KEYS:
        if Maybe in map(type, key):
            raise Unjoinable("a key is a tuple whose length depends on data", "make it a tuple of fixed length")
        return None
    made: list[tuple[Object, Object]] = []
    for chosen in itertools.product(*filter(None, parts)):
        values = [value for _, value in chosen if value is not _ABSENT]
        made.append((all_of(when for when, _ in chosen), type(key)(*values) if hasattr(key, "_fields") else tuple(values)))
    return made


def _hashable(choice: Choice) -> Object:
    """A choice without its unhashable options, which are Python's error."""
    left: list[int] = []
    for k, option in enumerate(choice.options):
        try:
            if not is_data_key(option):
                hash(option)
        except TypeError as error:
            exclude(choice.conditions[k], lambda error=error: error.with_traceback(None))
        else:
            left.append(k)
    if len(left) == len(choice.options) or not left:
        return choice
    return choice.options[left[0]] if len(left) == 1 else choice_of([choice.options[k] for k in left], [choice.conditions[k] for k in left])


def _plain_parts(part: Object) -> list[tuple[Object, Object]] | None:
    """The possible plain values of an entry of a tuple; one is that it does not exist."""
    condition, value = parted(part)
    found = plain_keys(value)
    if type(part) is not Maybe or found is None:
        return found
    return [(negated(condition), _ABSENT), *((both(condition, when), plain) for when, plain in found)]


_ABSENT = object()


def same(a: Object, b: Object) -> Object:
    """The condition that two keys are equal."""
    if a is b:
        return True
    if type(a) is Choice or type(b) is Choice:
        choice, other = (a, b) if type(a) is Choice else (b, a)
        return any_of(both(when, same(option, other)) for option, when in zip(choice.options, choice.conditions))
    if is_data(a) or is_data(b):
        other = b if is_data(a) else a
        if not is_data(other) and type(other) not in _NUMBERS:
            return False
        is_whole = all((v.type.dtype.kind == "i") if is_data(v) else type(v) in (int, np.int64) for v in (a, b))
        return equals(a, b) if is_whole else truth(a == b)
    if isinstance(a, tuple) and isinstance(b, tuple) and (is_data_key(a) or is_data_key(b)):
        return len(a) == len(b) and all_of(map(same, a, b))
    return a == b


def entry(holder: dict[Object, Object], key: Object) -> tuple[Object, Object]:
    """The condition that an existing key is present, and its value."""
    return entry_on_path(dict.__getitem__(holder, key))


def unwrapped(key: Object) -> Object:
    """The key as the program sees it."""
    return key.value if type(key) is DataKey else key


class Rows:
    """Many packed keys that may equal a key, as a table.

    Attributes:
        keys: the existing keys.
        hits: a vector of bools: a key exists, and equals the sought one.
        values: the table of their values.
        condition: that the sought key is this one.
    """

    __slots__ = ("condition", "hits", "keys", "values")

    def __init__(self, keys: list[Object], hits: Object, values: Table, condition: Object) -> None:
        self.keys, self.hits, self.values, self.condition = keys, hits, values, condition

    @property
    def is_hit(self) -> Object:
        """The condition that one of the keys is the sought one."""
        return truth(once("any", lambda: np.any(self.hits), self.hits))

    def value(self) -> Object:
        """The value of the key that is hit."""
        return self.values.at(once("position", lambda: np.argmax(self.hits), self.hits))

    def selected(self) -> Object:
        """The hits where the sought key is this one."""
        return self.hits if self.condition is True else np.logical_and(self.hits, self.condition)


def _rows(holder: dict[Object, Object], key: Object, condition: Object) -> Rows | None:
    """The first keys of a dict that a loop carries; None for few, and others than numbers and tuples of these."""
    entries = list(map(parted, dict.values(holder)))
    conditions, values = [condition for condition, _ in entries], [value for _, value in entries]
    known = next((k for k, one in enumerate(conditions) if one is not True), len(conditions))
    covered, count = counted_from(conditions, known) if known < len(conditions) and is_data(conditions[known]) else (0, 0)
    if not covered or known + covered < LEAST_GATHERED:
        return None
    keys = list(holder)[: known + covered]
    table, of_values = table_of([*map(unwrapped, keys), key]), table_of(values[: len(keys)])
    if table is None or of_values is None or not _is_of_numbers(table.form):
        return None

    def hits() -> Object:
        found: Object = np.arange(len(keys)) < known + count
        for column in table.columns:
            *numbers, wanted = column.numbers
            found = np.logical_and(found, stacked(numbers) == wanted)
        return found

    numbers = [number for column in table.columns for number in column.numbers]
    return Rows(keys, once("hits", hits, *conditions[: len(keys)], *numbers), of_values, condition)


def _is_of_numbers(form: Form) -> bool:
    return all(map(_is_of_numbers, form.parts)) if isinstance(form, Parts) else isinstance(form, (Constant, Number))


def lookup(holder: dict[Object, Object], key: Object) -> tuple[list[tuple[Object, Object, Object]], Object]:
    """Existing keys that may equal a key, as (condition, key or Rows, value); and the condition that none does."""
    key = read(key)
    plain = plain_keys(key)
    hits: list[tuple[Object, Object, Object]] = []
    missing: Object = False
    tracked = [k for k in holder if plain is None or type(k) is DataKey]
    for condition, k in [(True, key)] if plain is None else plain:
        absent: Object = True
        left = ([k] if plain is not None and k in holder else []) + tracked
        if (rows := _rows(holder, k, condition)) is not None:
            hits.append((both(condition, rows.is_hit), rows, rows.value()))
            absent = negated(rows.is_hit)
            found = set(rows.keys)
            left = [own for own in left if own not in found]
        for own in left:
            is_there, value = entry(holder, own)
            is_same = both(is_there, same(unwrapped(own), k)) if is_there is not False else False
            hit = both(condition, is_same)
            if hit is not False:
                hits.append((hit, own, value))
                absent = both(absent, negated(is_same))
        missing = either(missing, both(condition, absent))
    return hits, missing if hits else True
