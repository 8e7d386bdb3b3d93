"""Places: everything that a statement can change; journals: their values before a side changed them."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from types import CellType, MemberDescriptorType
from typing import TypeAlias, TypeVar

import numpy as np

from ...base.current_recording import current_recorder
from ...errors import TrackedValueEscaped
from ...ir.instruction import is_tracked
from ...recording.arrays.compressed import CompressedArray
from ...recording.arrays.tracked import TrackedArray
from ...recording.arrays.views import laid_as
from ..anything import Object
from ..translate import stored_cells
from ..users_code import KNOWN, attributes_of, is_mutable
from .histories import history_of, note_rewriting
from .values import UNBOUND, Unjoinable, WritesJoined, WritesOutside, state

T = TypeVar("T")


class Place:
    """A mutable location, identified by its holder."""

    __slots__ = ("holder", "name")

    def __init__(self, holder: Object, name: Object = None) -> None:
        self.holder, self.name = holder, name

    @property
    def key(self) -> tuple[Object, ...]:
        """A key that is equal for the same place."""
        return type(self), id(self.holder), self.name

    def get(self) -> Object:
        """A snapshot of the value."""
        raise NotImplementedError

    def set(self, value: Object) -> None:
        """Store a value."""
        raise NotImplementedError

    def joined(self, test: Object, yes: Object, no: Object) -> Object:
        """The value after a branch; NotImplemented if that is a value of any place."""
        return NotImplemented


class Cell(Place):
    """A variable of a function."""

    __slots__ = ()

    @property
    def key(self) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        return id(self.holder)

    def get(self) -> Object:
        try:
            return self.holder.cell_contents
        except ValueError:
            return UNBOUND

    def set(self, value: Object) -> None:
        if value is not UNBOUND:
            self.holder.cell_contents = value
        elif self.get() is not UNBOUND:
            del self.holder.cell_contents


class Entry(Place):
    """A name in a namespace, such as a global variable's."""

    @property
    def _namespace(self) -> dict[Object, Object]:
        return self.holder

    def get(self) -> Object:
        return self._namespace.get(self.name, UNBOUND)

    def set(self, value: Object) -> None:
        if value is UNBOUND:
            self._namespace.pop(self.name, None)
        else:
            self._namespace[self.name] = value


class Member(Entry):
    """An attribute in an object's namespace."""

    @property
    def _namespace(self) -> dict[Object, Object]:
        return vars(self.holder)

    def joined(self, test: Object, yes: Object, no: Object) -> Object:
        if (yes is UNBOUND or no is UNBOUND) and id(self._namespace) in state.namespaces:
            raise _namespace_read()
        return NotImplemented


class Attribute(Place):
    """An attribute outside a namespace: a slot, or one of a class."""

    def get(self) -> Object:
        return vars(self.holder).get(self.name, UNBOUND) if isinstance(self.holder, type) else getattr(self.holder, self.name, UNBOUND)

    def set(self, value: Object) -> None:
        if value is self.get():
            # Some are read-only, such as fields of named tuples.
            return
        owner = type if isinstance(self.holder, type) else object
        if value is not UNBOUND:
            owner.__setattr__(self.holder, self.name, value)
        elif self.get() is not UNBOUND:
            owner.__delattr__(self.holder, self.name)


    def joined(self, test: Object, yes: Object, no: Object) -> Object:
        if self.name in ("__dict__", "__class__"):
            raise Unjoinable(f"`{self.name}` of an object is set in a branch", "set it before, or set attributes")
        return NotImplemented


def _namespace_read() -> Unjoinable:
    return Unjoinable("an object gets or loses an attribute in a branch, and its `__dict__` is used", "use getattr, or a dict of its own")


class Contents(Place):
    """The entries of a list, dict, set or deque."""

    def get(self) -> Object:
        return _COPIES[self._kind](self.holder)

    def set(self, value: Object) -> None:
        kind = self._kind
        note_rewriting(self.holder)
        kind.clear(self.holder)
        if kind is OrderedDict:
            for key, entry in value.items():
                kind.__setitem__(self.holder, key, entry)
        else:
            (kind.update if kind in (dict, set) else kind.extend)(self.holder, value)

    @property
    def _kind(self) -> Object:
        return next(kind for kind in _COPIES if isinstance(self.holder, kind))


def items_in_order(holder: dict[Object, Object]) -> Iterable[tuple[Object, Object]]:
    """The stored items of a dict, bypassing a user's class; those of an OrderedDict in its own order."""
    return OrderedDict.items(holder) if isinstance(holder, OrderedDict) else dict.items(holder)


def _copied(holder: set[Object]) -> set[Object]:
    history_of(holder)
    return set().union(holder)


_COPIES: dict[Object, Object] = {
    # A user's subclass may override iteration.
    list: list.copy, OrderedDict: lambda d: dict(items_in_order(d)), dict: lambda d: dict(items_in_order(d)), set: _copied,
    deque: lambda d: deque(deque.__iter__(d), d.maxlen), bytearray: bytearray,
}  # fmt: skip
_CONTAINERS = tuple(_COPIES)


class Version(Place):
    """The version of a tracked array that is written to."""

    def get(self) -> Object:
        array = self.holder
        value = array._value.copy("K") if isinstance(array._value, np.ndarray) else array._value
        return TrackedArray(array._recorder, array._id, value, array.type)

    def set(self, value: Object) -> None:
        made = value._value.copy() if isinstance(value._value, np.ndarray) else value._value
        self.holder._id, self.holder._value = value._id, laid_as(self.holder._value, made)
        self.holder._writes += 1


class Plain(Place):
    """The entries of a plain array."""

    def get(self) -> Object:
        return self.holder.copy()

    def set(self, value: Object) -> None:
        self.holder[...] = value


ENDS = ("full", "large", "unjoinable")


def loop_ended(why: str) -> Place:
    """The place that notes when a rolled loop cannot continue; a guard after the loop tests it."""
    return Entry(state.ended, why)


Final: TypeAlias = "dict[Object, tuple[Place, Object]]"


class Journal(dict[Object, tuple[Place, Object]]):
    """The places that a side has changed, with their values before.

    Attributes:
        made: ids of objects created on this side; their contents are not noted, as no other path reaches them.
    """

    __slots__ = ("made",)

    def __init__(self) -> None:
        self.made: set[int] = set()


def mark_made(value: T) -> T:
    """Note that the current side created an object; returns the object."""
    if state.journals:
        state.journals[-1].made.add(id(value))
    return value


def hand_on_made(journal: Journal) -> None:
    """Pass objects that a side created on to the enclosing side."""
    if state.journals:
        state.journals[-1].made |= journal.made


def hand_on(journal: Journal) -> None:
    """Pass a side's lasting changes and created objects on to the enclosing journal."""
    hand_on_made(journal)
    for place, before in journal.values():
        around = _journal_of(place.holder)
        if around is not None:
            around.setdefault(place.key, (place, before))


def _journal_of(holder: Object) -> Journal | None:
    """The journal for changes of an object: the side's, or that of the caller's objects."""
    if state.journals:
        return state.journals[-1]
    return state.before if id(holder) in state.callers else None


def note(place: Place) -> None:
    """Note a place's value before a change, on a side or in the caller's objects."""
    journal = _journal_of(place.holder)
    if journal is not None:
        key = place.key
        if key not in journal and (type(place) not in _OF_OBJECTS or id(place.holder) not in journal.made):
            journal[key] = place, place.get()


class WithCells:
    """A side that runs blocks, with their variables."""

    __slots__ = ("blocks", "run")

    def __init__(self, run: Callable[..., Object], *blocks: Object) -> None:
        self.run, self.blocks = run, blocks

    def __call__(self, *args: Object) -> Object:
        return self.run(*args)


def cells_of(block: Object) -> tuple[CellType, ...]:
    """The cells of the variables that a block may assign to."""
    if type(block) is not WithCells:
        return stored_cells(block)
    return tuple([cell for inner in block.blocks for cell in cells_of(inner)])


def note_variables(block: Object) -> None:
    """Note the variables that a block may assign to."""
    if state.journals:
        note_cells(cells_of(block))
        for namespace, name in state.global_names.values():
            note(Entry(namespace, name))


def note_cells(cells: Iterable[CellType]) -> None:
    """Note variables on a side."""
    journal = state.journals[-1]
    for cell in cells:
        key = id(cell)
        if key not in journal:
            place = Cell(cell)
            journal[key] = place, place.get()


def refuse_withdrawn(value: Object) -> None:
    """Refuse to use an object that a loop has replaced."""
    for place in places_of(value) if state.withdrawn and is_mutable(value) else ():
        if is_withdrawn(place, place.get()):
            raise state.withdrawn[place.key][0].read()


def places_of(value: Object) -> list[Place]:
    """The places of a mutable object's parts."""
    return [Contents(value)] if isinstance(value, _CONTAINERS) else [place_of_attribute(value, name) for name in attributes_of(value)]


def is_withdrawn(place: Place, value: Object) -> bool:
    """True for a value of a place in an object that a loop has replaced."""
    if (found := state.withdrawn.get(place.key)) is None:
        return False
    parts = (value,) if type(place) is not Contents else value.values() if isinstance(value, dict) else value
    return any(type(part) is type(found[0]) and part.is_behind for part in parts)


def note_attribute(owner: Object, name: str) -> None:
    """Note an attribute."""
    refuse_withdrawn(owner)
    if state.shown:
        check_writes(owner)
    if isinstance(owner, type):
        KNOWN.forget()
    journal = _journal_of(owner)
    if journal is not None and id(owner) not in journal.made:
        note(place_of_attribute(owner, name))


def place_of_attribute(owner: Object, name: str) -> Place:
    """Where an object's own attribute is kept."""
    namespace = getattr(owner, "__dict__", None) if not isinstance(owner, type) else None
    return Member(owner, name) if type(namespace) is dict and not _is_of_class(owner, name) else Attribute(owner, name)


def note_shown(objects: Iterable[Object]) -> None:
    """Note objects that may be copies of each other: a write to one, or a test of its identity, repeats the recording without copies."""
    state.shown.update((id(one), one) for one in objects if is_mutable(one))


def has_copies() -> bool:
    """True if there are such objects, or joined lists."""
    return any(map(is_mutable, state.shown.values()))


def check_writes(holder: Object) -> None:
    """Repeat the recording without joins and copies of lists and objects if one is written to."""
    if id(holder) in state.shown and is_mutable(holder):
        raise WritesJoined


def _is_of_class(owner: Object, name: str) -> bool:
    """True for slots, `__dict__` and `__class__`."""
    return name in ("__dict__", "__class__") or type(getattr(type(owner), name, None)) is MemberDescriptorType


def are_restorable(holder: Object) -> bool:
    """True for objects whose entries are noted, and those without any."""
    if issubclass(type(holder), CompressedArray):
        return True
    if isinstance(holder, np.ndarray) and not is_tracked(holder):
        return type(holder).__setitem__ is np.ndarray.__setitem__
    return isinstance(holder, (*_CONTAINERS, TrackedArray)) or not hasattr(type(holder), "__setitem__")


def note_contents(holder: Object) -> None:
    """Note the entries of a container or an array."""
    if issubclass(type(holder), CompressedArray):
        holder = holder.whole
    refuse_withdrawn(holder)
    if state.shown:
        check_writes(holder)
    if state.shown and isinstance(holder, np.ndarray):
        root = root_of(holder) if type(holder) is TrackedArray else plain_root(holder)
        if id(root) in state.shown:
            raise shown_by_data()
    if state.journals or id(holder) in state.callers or isinstance(holder, np.ndarray):
        if state.journals and id(holder) in state.namespaces:
            raise Unjoinable("a branch changes an object's `__dict__` by a method", "use setattr, or a dict of its own")
        if isinstance(holder, _CONTAINERS):
            note(Contents(holder))
        elif type(holder) is TrackedArray:
            root = root_of(holder)
            if state.is_in_loop and root._recorder is not current_recorder():
                raise WritesOutside(root)
            note(Version(root))
        elif isinstance(holder, np.ndarray):
            note(Plain(plain_root(holder)))


def root_of(array: TrackedArray) -> TrackedArray:
    """The array that owns the memory."""
    return array if array._view is None else array._view.root  # pyright: ignore[reportReturnType]


def plain_root(array: np.ndarray) -> np.ndarray:
    """The plain array that owns the memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


_OF_OBJECTS = {Member, Attribute, Contents}


def changes(journal: Journal) -> Final:
    """The changed places, with their present values."""
    found: Final = {}
    for key, (place, old) in journal.items():
        value = place.get()
        if value is not old:
            found[key] = place, value
    return found


def undo(journal: Journal) -> None:
    """Restore the values before."""
    for place, old in reversed(journal.values()):
        place.set(old)


def put(place: Place, value: Object) -> None:
    """Change a place."""
    if type(place) is Contents:
        check_writes(place.holder)
    note(place)
    place.set(value)


def shown_by_data() -> Unjoinable:
    """The refusal of a write to an array with another data-dependent name, whose value would change as well."""
    return Unjoinable(
        "an array is written to that another variable may hold, depending on data", "copy it where a branch chooses it: b = a.copy()"
    )


def unwritable(what: str) -> TrackedValueEscaped | Unjoinable:
    """The error that repeats the recording with more tracked arrays; where that is done already, a guard decides."""
    if not state.may_fill:
        return Unjoinable(what, "write into a copy; or compute both sides with np.where")
    error = TrackedValueEscaped(what)
    error.is_write = True
    return error
