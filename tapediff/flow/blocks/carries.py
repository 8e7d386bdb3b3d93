"""Carries of a recorded loop: the places that an iteration changes, as numbers and arrays of fixed types.

The form of a place at the start of every iteration (state/forms.py) is widened to a fixed point.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

import numpy as np

from ...ir.instruction import Operand
from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from ..calls.truth import truth
from ..containers import keys
from ..containers.data_keys import has_data_keys
from ..containers.entries import length
from ..containers.lengths import packed
from ..state.joins import MOST_OPTIONS, as_dict, has_order, join_entries, members_of
from ..state.numbers.bounds import note_bounds
from ..state.places import Contents, Place, Version
from ..state.tables.columns import by_position, of_slots, slots, stacked
from ..state.tables.forms import (
    Conditional,
    Constant,
    Form,
    Number,
    Options,
    Parts,
    Reference,
    Selected,
    form_of,
    parts_of,
    reference_of,
    tuple_of,
)
from ..state.values import Choice, DataKey, Maybe, Unjoinable, is_data, parted, state
from ..users_code import is_mutable


class Slots(Form):
    """A list of data-dependent length: its length, and slots of one form, whose leaves are stacked.

    Attributes:
        form: of each entry; None before the first one.
        least: the greatest length seen at the start of an iteration.
        grows: iterations may add entries, up to `state.room`.
        most: a deque's maximum length.
        instead: what to write where there is not enough room.
    """

    instead = "create it in full length before the loop, and write to its entries"

    def __init__(self, kind: Object, form: Form | None, least: int, grows: bool = False, most: int | None = None) -> None:
        self.kind, self.form, self.least, self.grows, self.most = kind, form, least, grows, most

    @property
    def room(self) -> int:
        """The number of slots."""
        return self.least if not self.grows else max(state.room, self.least) if self.most is None else self.most

    def packed(self, value: Object) -> list[Object]:
        """The entries by position."""
        return packed(value)

    def unpacked(self, entries: list[Object]) -> Object:
        """A container for entries by position."""
        return self.kind(entries)

    def entries(self, value: Object) -> Iterable[Object]:
        """The entries in any order, some of them conditional."""
        return value

    def leaves(self, value: Object) -> list[Object] | None:
        if type(value) is not self.kind:
            return None
        entries = self.packed(value)
        if len(entries) > self.room:
            return None
        if self.form is None:
            return [0] if not entries else None
        if is_of_rows(self):
            return self._leaves_of_rows(entries)
        rows: list[list[Object]] = []
        for entry in entries:
            leaves = self.form.leaves(parted(entry)[1])
            if leaves is None:
                return None
            rows.append(leaves)
        blank = self.form.blank()
        rows += [blank] * (self.room - len(rows))
        return [length(entries), *(slots([as_leaf_like(leaf, one) for leaf in column]) for one, column in zip(blank, zip(*rows)))]

    def _leaves_of_rows(self, entries: list[Object]) -> list[Object] | None:
        """The leaves of mutable objects by position."""
        form, values = self.form, [parted(entry)[1] for entry in entries]
        reference = reference_of(values)
        if form is None or (values and reference is None):
            return None
        rows = [form.leaves(one) for one in (reference.objects if reference else ())]
        if None in rows:
            return None
        more, blank = self.room - len(values), form.blank()
        numbers = [reference.number(value) for value in values] if reference else []
        is_in_order = not any(map(is_data, numbers)) and numbers == list(range(len(rows)))
        order = None if is_in_order else stacked([*numbers, *[0] * more])
        rows += [blank] * (more if order is None else 0)
        columns = ([as_leaf_like(leaf, one) for leaf in column] for one, column in zip(blank, zip(*rows)))
        return [length(entries), *(slots(column, order) for column in columns)]

    def made(self, leaves: Iterator[Object]) -> Object:
        count: Object = next(leaves)
        if is_data(count):
            note_bounds(count, 0, self.room)
        form = self.form
        if form is None:
            return self.kind([])
        columns = [of_slots(next(leaves)) for _ in form.blank()]
        rows = zip(*columns) if columns else [()] * self.room
        return self.unpacked(by_position(count, [form.made(iter(row)) for row in rows]))

    def wider(self, value: Object, depth: int = 0) -> Form:
        if type(value) is not self.kind:
            raise Unjoinable("a list is replaced by one of another class in a loop", "use one class")
        form = self.form
        least = self.least if len(value) <= self.room else len(value)
        reference = reference_of([parted(entry)[1] for entry in self.entries(value)])
        if reference is not None and (is_of_rows(self) or _are_rows(reference)):
            form = form if is_of_rows(self) else Parts.of(reference.objects[0])
            for one in reference.objects:
                form = form if form is None or form.leaves(one) is not None else form.wider(one)
            return type(self)(self.kind, form, least, self.grows, getattr(value, "maxlen", None))
        if reference is not None and (form is None or isinstance(form, Reference)):
            form = reference_of([*objects_of(form), *reference.objects])
            return type(self)(self.kind, form, least, self.grows, getattr(value, "maxlen", None))
        for _, part in map(parted, self.entries(value)):
            other = form_of(part)
            if form is None:
                form = other
            elif form.leaves(part) is None:
                # Other references to the object may exist.
                is_object = isinstance(other, Constant) and not other.is_plain and not isinstance(form, Options)
                form = (Options([form]) if is_object else form).wider(part, depth)
            if any(True for _ in made_anew(form, part)):
                raise Unjoinable("a list of new objects changes its length in a loop", "keep tuples of numbers")
        return type(self)(self.kind, form, least, self.grows, getattr(value, "maxlen", None))

    def blank(self) -> list[Object]:
        return [0, *(np.stack([leaf] * self.room) for leaf in (self.form.blank() if self.form else []))]


def is_of_rows(form: Form | None) -> bool:
    """True for a list of mutable objects that nothing else refers to: it is carried by their parts."""
    return type(form) is Slots and isinstance(form.form, Parts) and not issubclass(form.form.kind, tuple)


def _are_rows(reference: Reference) -> bool:
    """True for objects that an iteration creates, or too many for a choice."""
    return len(reference.objects) > MOST_OPTIONS or any(id(one) in state.young for one in reference.objects)


def rows_in(form: Slots, value: Object) -> list[Object]:
    """The mutable objects in a list, and those in them that it carries by their parts."""
    assert form.form is not None, "of rows"
    reference = reference_of([parted(entry)[1] for entry in value])
    return [] if reference is None else [thing for one in reference.objects for thing in made_anew(form.form, one)]


def have_repetitions(value: Object) -> Object:
    """The condition that a list holds a mutable object twice."""
    found = list(map(parted, value))
    if all(type(one) is not Choice for _, one in found) and len({id(one) for _, one in found}) == len(found):
        return False
    reference = reference_of([one for _, one in found])
    assert reference is not None, "of rows"
    numbers = [(condition, reference.number(one)) for condition, one in found]
    # Missing entries count as different ones.
    ordered = np.sort(stacked([np.where(condition, number, -1 - k) for k, (condition, number) in enumerate(numbers)]))
    return truth(np.any(ordered[1:] == ordered[:-1]))


class Items(Slots):
    """A dict or set with data-dependent keys: slots of its items, in order; a set's values are None."""

    instead = "enter all keys before the loop, or keep a flag for each possible key, in a list"

    def packed(self, value: Object) -> list[Object]:
        return packed(keys.items(_dict_of(value)))

    def unpacked(self, entries: list[Object]) -> Object:
        items = {DataKey(key): Maybe(condition, value) for condition, (key, value) in map(parted, entries)}
        return items if self.kind is dict else set(members_of(items))

    def entries(self, value: Object) -> Iterable[Object]:
        return keys.items(_dict_of(value), is_in_order=False)


def _dict_of(value: Object) -> dict[Object, Object]:
    """A dict, or a set as one whose values are None."""
    return as_dict(value) if isinstance(value, set) else value


def made_anew(form: Form, value: Object) -> Iterator[Object]:
    """The objects of a value that an iteration creates."""
    return (thing for thing, _ in _made(form, value))


def _made(form: Form, value: Object) -> Iterator[tuple[Object, bool]]:
    """The objects of a value that an iteration creates, and whether each is in one place alone: others may stand for older ones."""
    if isinstance(form, Selected) or (isinstance(form, Number) and form.shape):
        yield value, False
    elif isinstance(form, Number):
        return
    elif isinstance(form, Parts):
        if not issubclass(form.kind, tuple):
            yield value, form.is_of_new
        for part, inner in zip(form.parts, parts_of(value)):
            yield from _made(part, inner)
    elif isinstance(form, Conditional):
        yield from _made(form.form, parted(value)[1])
    elif isinstance(form, Options):
        # Only one option holds, so several may contain the same object.
        others = list[Object]()
        for option in value.options if type(value) is Choice else (value,):
            part = next((part for part in form.options if part.leaves(option) is not None), None)
            found = [] if part is None else list(_made(part, option))
            yield from (pair for pair in found if not any(pair[0] is other for other in others))
            others += (thing for thing, _ in found)


def has_objects_of(form: Form, value: Object) -> bool:
    """True if a form of an earlier recording has a value's objects and no others: those may be of an iteration that has ended."""
    given = {id(one) for one in objects_of(form_of(value))}
    # An object before the loop is in no place alone.
    stands_for_new = any(is_alone for _, is_alone in _made(form, value))
    return not stands_for_new and all(id(one) in given for one in objects_of(form) if is_mutable(one))


def made_in(place: Place, form: Form, value: Object) -> list[tuple[Object, bool]]:
    """The objects in a place that an iteration creates, and whether each is in it alone; without written arrays and carried containers."""
    if isinstance(place, Contents) and isinstance(form, Parts):
        form, value = tuple_of(form.parts), tuple(parts_of(value))
    return [] if isinstance(place, Version) else list(_made(form, value))


def or_before(first: Operand, form: Form, made: Object, before: Object, *, is_contents: bool = False) -> Object:
    """The value after a loop that may run zero iterations: its objects are the earlier ones, which may have other names."""
    if isinstance(form, Items) or is_of_rows(form):
        return made
    if isinstance(form, Parts) and (is_contents or issubclass(form.kind, tuple)):
        return form.with_parts([or_before(first, *parts) for parts in zip(form.parts, parts_of(made), parts_of(before))])
    if all(isinstance(thing, np.ndarray) for thing in made_anew(form, made)):
        return made
    return join_entries(first, made, before)


def objects_of(form: Form | None) -> Iterator[Object]:
    """A form's objects."""
    if isinstance(form, Constant) and not form.is_plain:
        yield form.value
    elif isinstance(form, Reference):
        yield from form.objects
    elif isinstance(form, (Conditional, Slots)):
        yield from objects_of(form.form)
    elif isinstance(form, (Parts, Options)):
        for part in form.parts if isinstance(form, Parts) else form.options:
            yield from objects_of(part)


def form_at(place: Place, value: Object, *, is_slotted: bool = False) -> Form:
    """The narrowest form of a place."""
    if isinstance(place, Contents):
        if isinstance(value, (list, deque)) and (is_slotted or Maybe in map(type, value)):
            return Slots(type(value), None, 0).wider(value)
        if isinstance(value, (dict, set)) and has_data_keys(_dict_of(value)):
            return Items(type(value), None, 0).wider(value)
        return Parts.of(value) if type(value) in (list, deque, dict) else Constant(value)
    return form_of(value)


def wider_at(place: Place, form: Form, value: Object) -> Form:
    """Widen a form by the value in a place."""
    if isinstance(place, Contents) and isinstance(value, (dict, set)) and not isinstance(form, Items):
        if not isinstance(form, Parts) or not form.is_like(value) or has_order(_dict_of(value)):
            form = Items(type(value), None, 0)
    if isinstance(place, Contents) and isinstance(form, Parts) and form.kind is not dict:
        if len(value) != len(form.parts) or Maybe in map(type, value):
            form = Slots(form.kind, None, len(form.parts))
    return form.wider(value)


def as_leaf_like(leaf: Object, blank: Object) -> Object:
    """A leaf in the dtype of another."""
    wanted = blank.dtype if is_data(blank) else np.asarray(blank).dtype
    if is_data(leaf):
        return leaf if leaf.dtype == wanted else leaf.astype(wanted)
    return leaf if type(leaf) in (int, float) and np.asarray(leaf).dtype == wanted else np.asarray(leaf, wanted)[()]


def as_leaf(value: Object, dtype: np.dtype | None = None) -> Operand:
    """A leaf as an operand."""
    return value if isinstance(value, TrackedArray) else np.asarray(value, dtype)[()]
