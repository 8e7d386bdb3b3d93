"""Forms: the structure of a value, whose numbers and arrays are its leaves.

A form is widened along a finite ladder to hold another value: a constant becomes a number, an int a float, different things a choice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

import numpy as np

from ....ir.instruction import ValueType
from ....recording.arrays.compressed import CompressedArray, Kept
from ....recording.arrays.tracked import TrackedArray
from ...anything import Object
from ...users_code import attributes_of, has_only_attributes, is_mutable, with_attributes
from ..joins import CONSTANTS, MOST_OPTIONS, is_equal, is_mutable_or_choice, masked_parts, options_of, owns_memory
from ..numbers.bounds import note_bounds
from ..values import (
    Choice,
    Maybe,
    Unjoinable,
    choice_with_rest,
    either,
    index_of,
    indexed,
    is_data,
    parted,
    possible_objects,
    state,
)


class Form:
    """The structure of a value."""

    def leaves(self, value: Object) -> list[Object] | None:
        """The numbers and arrays of a value; None if the form does not fit."""
        raise NotImplementedError

    def made(self, leaves: Iterator[Object]) -> Object:
        """Rebuild a value from its leaves."""
        raise NotImplementedError

    def wider(self, value: Object, depth: int = 0) -> Form:
        """The narrowest form of both this form and a value.

        Args:
            depth: of nesting in objects.
        """
        return Options([self]).wider(value)

    def blank(self) -> list[Object]:
        """Leaves that are never read."""
        raise NotImplementedError


class Constant(Form):
    """Always the same value."""

    def __init__(self, value: Object) -> None:
        self.value: Object = value

    def leaves(self, value: Object) -> list[Object] | None:
        return [] if value is self.value or is_equal(value, self.value) else None

    def made(self, leaves: Iterator[Object]) -> Object:
        return self.value

    def wider(self, value: Object, depth: int = 0) -> Form:
        ours, theirs = number_form(self.value), number_form(value)
        is_bool = type(self.value) is bool or type(value) is bool
        if ours is not None and theirs is not None and ours.shape == theirs.shape and not is_bool:
            return ours.wider(value)
        own: Object = self.value
        if _is_like(own, value) and (isinstance(value, tuple) or id(value) in state.young):
            if depth == _DEEPEST:
                raise Unjoinable(*_TOO_DEEP)
            return Parts.of(own).wider(value, depth + 1)
        return Options([self]).wider(value)

    @property
    def is_plain(self) -> bool:
        """True for numbers, strings and the like, and tuples of them."""
        parts = self.value if type(self.value) is tuple else (self.value,)
        return all(type(part) in CONSTANTS for part in parts)  # pyright: ignore[reportGeneralTypeIssues] -- a tuple

    def blank(self) -> list[Object]:
        return []


class Number(Form):
    """A number or an array of one type."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, is_int: bool = False) -> None:
        self.shape, self.dtype, self.is_int = shape, dtype, is_int

    def leaves(self, value: Object) -> list[Object] | None:
        other = number_form(value)
        if other is None or other.shape != self.shape or type(value) is bool:
            return None
        if other.dtype != self.dtype and not self._holds(other):
            return None
        return [value]

    def _holds(self, other: Number) -> bool:
        return self.dtype == np.float64 and other.dtype == np.int64

    def made(self, leaves: Iterator[Object]) -> Object:
        return next(leaves)

    def wider(self, value: Object, depth: int = 0) -> Form:
        if issubclass(type(value), CompressedArray) and owns_memory(value) and (selected := Selected.of(value)).has(self):
            return selected
        other = number_form(value)
        if other is not None and type(value) is not bool and self.fits(other):
            return other if other._holds(self) else self
        return Options([self]).wider(value)

    def fits(self, other: Number) -> bool:
        """True if one form holds both."""
        return self.shape == other.shape and (self.dtype == other.dtype or self._holds(other) or other._holds(self))

    def blank(self) -> list[Object]:
        return [np.zeros(self.shape, self.dtype)[()]]


class Reference(Form):
    """One of several mutable objects, by its number."""

    def __init__(self, objects: tuple[Object, ...]) -> None:
        self.objects = objects
        self._numbers = {id(one): number for number, one in enumerate(objects)}

    def leaves(self, value: Object) -> list[Object] | None:
        number = self.number(value)
        return None if number is None else [number]

    def number(self, value: Object) -> Object:
        """The number of an object, or of those in a choice; None for others."""
        return index_of(value, self._numbers)

    def wider(self, value: Object, depth: int = 0) -> Form:
        return reference_of([*self.objects, value]) or Options([self]).wider(value)

    def made(self, leaves: Iterator[Object]) -> Object:
        number: Object = next(leaves)
        if is_data(number):
            note_bounds(number, 0, len(self.objects) - 1)
        return indexed(self.objects, number)

    def blank(self) -> list[Object]:
        return [0]


def reference_of(values: Iterable[Object]) -> Reference | None:
    """The form of mutable objects, and choices of these; None if some value is another."""
    objects: dict[int, Object] = {}
    for value in values:
        for option in possible_objects(value):
            if not is_mutable(option):
                return None
            objects[id(option)] = option
    return Reference(tuple(objects.values())) if objects else None


class Selected(Form):
    """The entries that masks select along some axes of an array of fixed shape; or all of them."""

    def __init__(self, kind: Object, type_: ValueType, axes: tuple[int, ...]) -> None:
        self.kind, self.type, self.axes = kind, type_, axes

    @classmethod
    def of(cls, value: Object) -> Selected:
        return cls(type(value), value.whole.type, tuple(value.kept))

    def has(self, form: Number) -> bool:
        """True for the form of whole arrays."""
        return form.shape == self.type.shape and form.dtype == self.type.dtype

    def leaves(self, value: Object) -> list[Object] | None:
        return masked_parts(value, self.axes, self.type) if owns_memory(value) else None

    def made(self, leaves: Iterator[Object]) -> Object:
        kept = {axis: Kept(next(leaves)) for axis in self.axes}
        return self.kind(next(leaves), kept)

    def blank(self) -> list[Object]:
        masks = [np.zeros(self.type.shape[axis], bool) for axis in self.axes]
        return [*masks, np.zeros(self.type.shape, self.type.dtype)]


class Parts(Form):
    """Part by part: a tuple, a list of fixed length, a dict with fixed keys, an instance that each iteration creates.

    Attributes:
        names: of the parts; positions, keys or attributes.
        is_of_new: iterations have created the object, and it is in this place alone.
    """

    def __init__(self, kind: Object, names: list[Object], parts: list[Form], is_of_new: bool = False) -> None:
        self.kind, self.names, self.parts, self.is_of_new = kind, names, parts, is_of_new

    @classmethod
    def of(cls, value: Object) -> Form:
        """The narrowest form of a value."""
        return cls(type(value), _names(value), [form_of(part) for part in parts_of(value)])

    def is_like(self, value: Object) -> bool:
        """True for a value of the same class, with the same parts."""
        return type(value) is self.kind and _names(value) == self.names

    def leaves(self, value: Object) -> list[Object] | None:
        if not self.is_like(value):
            return None
        found: list[Object] = []
        for form, part in zip(self.parts, parts_of(value)):
            leaves = form.leaves(part)
            if leaves is None:
                return None
            found += leaves
        return found

    def made(self, leaves: Iterator[Object]) -> Object:
        return self.with_parts([form.made(leaves) for form in self.parts])

    def with_parts(self, parts: list[Object]) -> Object:
        """Rebuild a value from its parts."""
        if self.kind is dict:
            return dict(zip(self.names, parts))
        if issubclass(self.kind, _SEQUENCES):
            made = self.kind(*parts) if hasattr(self.kind, "_fields") else self.kind(parts)
            if state.has_identities and isinstance(made, tuple):
                state.tuples_of_loops[id(made)] = made
            return made
        return with_attributes(self.kind, dict(zip(self.names, parts)))

    def wider(self, value: Object, depth: int = 0) -> Form:
        if self.is_like(value):
            parts = [_wider(form, part, depth) for form, part in zip(self.parts, parts_of(value))]
            return Parts(self.kind, self.names, parts, self.is_of_new)
        if self.kind in (list, deque):
            raise Unjoinable(
                "a list in a variable or another list changes its length in a loop",
                "create it in full length before the loop, and write to its entries",
            )
        if self.kind is dict:
            raise Unjoinable("a dict gets other keys in a loop", "enter all keys before the loop")
        return Options([self]).wider(value)

    def blank(self) -> list[Object]:
        return [leaf for part in self.parts for leaf in part.blank()]


def tuple_of(parts: list[Form]) -> Form:
    """The form of a tuple."""
    return Parts(tuple, list(range(len(parts))), parts)


_SEQUENCES = (tuple, list, deque)
_CONTAINERS = (list, deque, dict)


# Maximum nesting of objects that an iteration creates.
_DEEPEST = 8


def _is_like(own: Object, value: Object) -> bool:
    """True for values of one class with the same parts."""
    is_of_parts = isinstance(own, (tuple, list)) or has_only_attributes(own)
    return type(own) is type(value) and is_of_parts and _names(own) == _names(value)


def _names(value: Object) -> list[Object]:
    """The names of a value's parts."""
    return list(range(len(value)) if isinstance(value, _SEQUENCES) else value if type(value) is dict else attributes_of(value))


def parts_of(value: Object) -> Iterable[Object]:
    return value if isinstance(value, _SEQUENCES) else (value if type(value) is dict else attributes_of(value)).values()


class Conditional(Form):
    """A conditional entry of a list."""

    def __init__(self, form: Form) -> None:
        self.form = form

    def leaves(self, value: Object) -> list[Object] | None:
        condition, entry = parted(value)
        if type(value) is Maybe and value.order is not None:
            return None
        leaves = self.form.leaves(entry)
        return None if leaves is None else [condition, *leaves]

    def made(self, leaves: Iterator[Object]) -> Object:
        condition = next(leaves)
        return Maybe(condition, self.form.made(leaves))

    def wider(self, value: Object, depth: int = 0) -> Form:
        if type(value) is Maybe and value.order is not None:
            raise Unjoinable(
                "the order of a dict's new keys in a loop depends on data", "enter all keys before the loop"
            )
        return Conditional(self.form.wider(parted(value)[1], depth))

    def blank(self) -> list[Object]:
        return [False, *self.form.blank()]


def _wider(form: Form, part: Object, depth: int) -> Form:
    """Widen the form of an entry by one more iteration."""
    if type(part) is Maybe and not isinstance(form, Conditional):
        form = Conditional(form)
    return form if form.leaves(part) is not None else form.wider(part, depth)


class Options(Form):
    """A choice: a bool for each option, and the leaves of all options."""

    def __init__(self, options: list[Form]) -> None:
        self.options = options

    def leaves(self, value: Object) -> list[Object] | None:
        given = options_of(value)
        conditions: list[Object] = [False] * len(self.options)
        parts = [form.blank() for form in self.options]
        for option, condition in given:
            for k, form in enumerate(self.options):
                leaves = form.leaves(option)
                if leaves is not None:
                    if conditions[k] is not False:
                        leaves = [np.where(condition, new, old) for new, old in zip(leaves, parts[k])]
                    conditions[k], parts[k] = either(conditions[k], condition), leaves
                    break
            else:
                return None
        return [*conditions[1:], *(leaf for part in parts for leaf in part)]

    def made(self, leaves: Iterator[Object]) -> Object:
        others = [next(leaves) for _ in self.options[1:]]
        return choice_with_rest([form.made(leaves) for form in self.options], others)

    def wider(self, value: Object, depth: int = 0) -> Form:
        options = list(self.options)
        for option, _ in options_of(value):
            if any(form.leaves(option) is not None for form in options):
                continue
            is_new = is_mutable(option) and id(option) in state.young
            match = next((k for k, form in enumerate(options) if _may_hold(form, option, is_new)), None)
            if match is not None and type(option) is not bool:
                options[match] = options[match].wider(option, depth)
            else:
                options.append(_of_new(option, depth) if is_new else form_of(option))
        if len(options) > MOST_OPTIONS:
            raise Unjoinable(
                f"a value may be one of more than {MOST_OPTIONS} things, in a loop", "keep a number, such as an index"
            )
        return Options(options)

    def blank(self) -> list[Object]:
        return [*[False] * (len(self.options) - 1), *(leaf for form in self.options for leaf in form.blank())]


def _of_new(value: Object, depth: int) -> Form:
    """The narrowest form of an object that an iteration has created, part by part."""
    if depth == _DEEPEST:
        raise Unjoinable(*_TOO_DEEP)
    return Parts(type(value), _names(value), [_of_part(part, depth + 1) for part in parts_of(value)], is_of_new=True)


def _of_part(value: Object, depth: int) -> Form:
    """The narrowest form of a part, which may be such objects, too."""
    if type(value) is Choice and value.index is None:
        return Options([_of_part(value.options[0], depth)]).wider(value, depth)
    return _of_new(value, depth) if is_mutable(value) and id(value) in state.young else form_of(value)


_TOO_DEEP = "objects created in a loop are nested too deeply", "keep numbers in variables"


def _may_hold(form: Form, option: Object, is_new: bool) -> bool:
    """True for a form that can be widened to an option; `is_new`: an iteration has created it."""
    if is_new:
        return isinstance(form, Parts) and (form.is_like(option) or form.kind is type(option) in _CONTAINERS)
    return _can_be_number(form, number_form(option)) or (isinstance(form, Reference) and is_mutable_or_choice(option))


def _can_be_number(form: Form, other: Number | None) -> bool:
    ours = number_form(form.value) if isinstance(form, Constant) else form if isinstance(form, Number) else None
    is_bool = isinstance(form, Constant) and type(form.value) is bool
    return other is not None and ours is not None and ours.fits(other) and not is_bool


def number_form(value: Object) -> Number | None:
    """The form of a number or a tracked array."""
    if type(value) is TrackedArray:
        return Number(value.type.shape, value.type.dtype)
    if type(value) in (int, float, bool, np.float64, np.int64, np.bool_):
        return Number((), np.asarray(value).dtype, type(value) is int)
    if type(value) is np.ndarray and value.dtype.kind in "fib":
        return Number(value.shape, value.dtype)
    return None


def form_of(value: Object) -> Form:
    """The narrowest form of a value."""
    if type(value) is TrackedArray:
        return Number(value.type.shape, value.type.dtype)
    if issubclass(type(value), CompressedArray) and owns_memory(value):
        return Selected.of(value)
    if type(value) is Maybe:
        return Conditional(form_of(value.value))
    if type(value) is Choice:
        return Options([form_of(option) for option in value.options]) if value.index is None else Reference(value.options)
    if isinstance(value, tuple) and (type(value) is tuple or hasattr(value, "_fields")):
        return Parts.of(value)
    return Constant(value)
