"""Places that the iterations of a loop change, and values before and after an iteration."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..anything import Object
from ..state.joins import options_of
from ..state.places import Place, put
from ..state.tables.forms import Constant, Form, form_of
from ..state.values import Unjoinable, possible_objects, state
from ..users_code import is_mutable
from .carries import form_at, objects_of, wider_at
from .unread import Unread, unread_in


@dataclass(slots=True)
class Known:
    """Facts about a loop, for its recordings within those of an enclosing loop.

    Attributes:
        read: numbers of the variables that an iteration reads before writing.
        carried: variables by number, exits by name, other places; and their forms.
    """

    read: set[int] = field(default_factory=set)
    carried: list[tuple[Object, Form]] = field(default_factory=list)


@dataclass(slots=True)
class Changed:
    """A place that iterations change.

    Attributes:
        form: at the start of the next iteration; None for new objects, which are not carried.
        is_read: an iteration reads the previous one's value; else only the last value matters.
        is_anew: some iterations create the object; none reads another one's.
        seen: if it is not read, a form of the initial value and an iteration's.
        start: the initial value, as leaves of the form.
    """

    place: Place
    form: Object = None
    is_read: bool = True
    is_anew: bool = False
    seen: Form | None = None
    start: list[Object] = field(default_factory=list)


def start_of(place: Place) -> Object:
    """The value of a place at the start of a loop that reads it."""
    value = place.get()
    read = read_before(value)
    if read is not value:
        put(place, read)
    return read


def read_before(value: Object) -> Object:
    """A value that an enclosing loop's iterations may not have read before."""
    if type(value) is Unread:
        return value.value()
    if (unread := unread_in(value)) is not None:
        raise unread.read()
    return value


def ends_of(one: Changed, form: Form) -> list[Object]:
    """The leaves in a place at the end of an iteration; None for each if its form is no longer the same."""
    leaves = form.leaves(one.place.get()) if one.form is form else None
    return [None] * len(form.blank()) if leaves is None else leaves


def form_of_both(place: Place, old: Object, value: Object) -> Form | None:
    """The form of a variable's initial value and an iteration's; None if it has objects."""
    try:
        form = wider_at(place, form_at(place, old), value)
    except Unjoinable:
        return None
    return None if unread_in(value) is not None or any(True for _ in objects_of(form)) else form


def form_of_last(value: Object) -> Form | None:
    """The form of a variable's last value; None for objects that each iteration creates."""
    form = form_of(value)
    if any(map(_is_new, objects_of(form))):
        return None
    return form if form.blank() or (type(form) is Constant and form.is_plain) else None


def is_new_or_unread(value: Object) -> bool:
    """True for objects that an iteration creates, or the unread one before."""
    options = [option for option, _ in options_of(value)]
    made = [option for option in options if type(option) is not Unread]
    return 0 < len(made) < len(options) and all(_is_new(one) for option in made for one in possible_objects(option))


def _is_new(value: Object) -> bool:
    """True for a mutable object that an iteration creates."""
    return is_mutable(value) and id(value) in state.young


def has_lost(*values: Object) -> bool:
    """True if a value may be an object of the last iteration of a loop before."""
    return any(type(option) is Unread and option.is_behind for value in values for option in possible_objects(value))


def is_longer(value: Object, old: Object) -> bool:
    """True for a list with more entries behind the old ones."""
    return type(value) is list and len(value) > len(old) and all(a is b for a, b in zip(value, old))


def is_changed(a: Object, b: Object) -> bool:
    """True if two values of a place differ: by identity, part by part."""
    if a is b:
        return False
    if issubclass(type(a), (list, dict, set)) and type(a) is type(b) and len(a) == len(b):
        parts = zip(a.values(), b.values()) if isinstance(a, dict) else zip(a, b)
        return any(x is not y for x, y in parts) or (isinstance(a, dict) and list(a) != list(b))
    if type(a) is Unread or type(b) is Unread:
        return True
    return not hasattr(a, "_id") or not hasattr(b, "_id") or a._id != b._id or a._recorder is not b._recorder
