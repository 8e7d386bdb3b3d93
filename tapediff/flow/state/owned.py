"""Objects that one place alone holds: where both sides leave one of a class there, a new one stands for both, attribute by attribute.

Nothing else can tell the three apart, as nothing else refers to them.
"""

from __future__ import annotations

import sys
import weakref
from types import FunctionType

from ...ir.instruction import Operand
from ..anything import Object
from .joins import join
from .places import Contents, Final, Member, mark_made
from .values import UNBOUND, Maybe, Unjoinable, state


def references(value: Object) -> int:
    """The reference count of a value, with that of this frame."""
    return sys.getrefcount(value)


def _of_argument(value: Object) -> int:
    return references(value)


def _of_owned() -> int:
    holder = [object()]
    value = holder[0]
    return _of_argument(value)


# Of an argument that a variable of the caller's holds, and one thing else.
_OWNED = _of_owned()


def join_owned(test: Operand, key: Object, yes: Object, no: Object, sides: tuple[Final, Final], depth: int = 0) -> Object:
    """The value of a place after a branch, or the result of one.

    Args:
        key: of the place; None for results, and parts of objects.
        sides: what the two leave in all places that they have changed.
    """
    if type(yes) is type(no) and yes is not no and has_parts(type(yes)) and depth < _DEEPEST and not state.has_identities:
        # Journals hold what was there before.
        mine, other = _noted(key, yes), _noted(key, no)
        if references(yes) - mine == _OWNED and references(no) - other == _OWNED:
            try:
                made = (_of_lists if type(yes) is list else _of_objects)(test, yes, no, sides, depth + 1)
            except Unjoinable:
                made = None  # it is one of the two
            if made is not None:
                return made
    return join(test, yes, no)


# Of objects in objects.
_DEEPEST = 16


def _noted(key: Object, value: Object) -> int:
    """How many journals hold a value as what was in a place before."""
    if key is None:
        return 0
    count = 0
    for journal in state.journals:
        noted = journal.get(key)
        if noted is not None and noted[1] is value:
            count += 1
    return count


def _of_lists(test: Operand, yes: list[Object], no: list[Object], sides: tuple[Final, Final], depth: int) -> Object:
    """The list that stands for two; None for lists of unlike lengths."""
    ours, theirs = _contents(yes, sides[0]), _contents(no, sides[1])
    if len(ours) != len(theirs) or Maybe in map(type, ours) or Maybe in map(type, theirs):
        return None
    made: list[Object] = []
    for k in range(len(ours)):
        a, b = ours[k], theirs[k]
        made.append(join_owned(test, None, a, b, sides, depth))
    mark_made(made)
    return made


def _of_objects(test: Operand, yes: Object, no: Object, sides: tuple[Final, Final], depth: int) -> Object:
    """The object that stands for two; None for those with unlike attributes."""
    if vars(yes).keys() != vars(no).keys() or weakref.getweakrefcount(yes) or weakref.getweakrefcount(no):
        return None
    if _has_other_attributes(yes, sides[0]) or _has_other_attributes(no, sides[1]):
        return None
    made = object.__new__(type(yes))
    for name in vars(yes):
        a, b = _attribute(yes, name, sides[0]), _attribute(no, name, sides[1])
        vars(made)[name] = join_owned(test, None, a, b, sides, depth)
    mark_made(made)
    return made


def _has_other_attributes(value: Object, side: Final) -> bool:
    """True if a side adds attributes to an object, or takes some away."""
    own = vars(value)
    return any(
        (place.name not in own or new is UNBOUND) for place, new in side.values() if type(place) is Member and place.holder is value
    )


def _contents(value: list[Object], side: Final) -> list[Object]:
    """The entries that a side leaves in a list."""
    found = side.get((Contents, id(value), None))
    return value if found is None else found[1]


def _attribute(value: Object, name: str, side: Final) -> Object:
    """What a side leaves in an attribute."""
    found = side.get((Member, id(value), name))
    return vars(value)[name] if found is None else found[1]


def has_parts(kind: type) -> bool:
    """True for lists, and for classes of the user's whose instances have all their state in their namespace."""
    known = _kinds.get(kind)
    if known is None:
        known = _kinds[kind] = kind is list or _is_plain(kind)
    return known


# Kept while a class exists.
_kinds: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()


def _is_plain(kind: type) -> bool:
    if type(kind) is not type or kind.__new__ is not object.__new__ or kind.__dictoffset__ == 0 or hasattr(kind, "__del__"):
        return False
    is_native = any(base.__module__ == "builtins" for base in kind.__mro__[:-1])
    slots = any(type(part).__name__ == "member_descriptor" for base in kind.__mro__ for part in vars(base).values())
    return not is_native and not slots and any(type(part) is FunctionType for part in vars(kind).values())


__all__ = ["join_owned"]
