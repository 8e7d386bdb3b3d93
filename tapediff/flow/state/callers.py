"""The caller's objects: a recording that is given up restores them; at its end they hold no tracked ints."""

from __future__ import annotations

import gc
import itertools
import operator
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType

import numpy as np

from ...ir.instruction import CONSTANT
from ...ops.declaration.op import Elementwise
from ...ops.elementwise.arithmetic import CONVERT
from ...ops.elementwise.comparison import SELECT
from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from ..users_code import is_users, is_users_file
from .places import Contents, check_writes, root_of
from .values import CHOICES, Choice, DataKey, holds, inputs_of, is_data, op_of, parted, state, type_of

# Maximum number of objects visited, 30 ms; beyond it, every object counts as the caller's.
_MOST_OBJECTS = 20_000
_LEAVES = {int, float, bool, complex, str, bytes, type(None), np.float64, np.int64}


class _All(set[int]):
    """Stands for too many objects: contains every id."""

    def __contains__(self, number: object) -> bool:
        return True


def note_callers(*roots: Object) -> None:
    """Note the objects that exist before a recording and that a function can reach."""
    found: dict[int, Object] = {}
    namespaces: set[int] = set()
    pending = deque(roots)
    while pending and len(found) < _MOST_OBJECTS:
        value = pending.popleft()
        if type(value) not in _LEAVES and id(value) not in found:
            found[id(value)] = value
            if type(value) is FunctionType:
                namespaces.add(id(value.__globals__))
            parts = _parts(value)
            if not _LEAVES.issuperset(map(type, parts)):
                pending.extend(parts)
    state.callers = (_All if pending else set)(namespaces.union(found))


def _parts(value: Object) -> Iterable[Object]:
    """The objects that an object refers to; none for libraries."""
    kind = type(value)
    if kind is TrackedArray:
        return (root_of(value),)
    if isinstance(value, np.ndarray) and value.base is not None:
        return (value.base,)
    if kind is FunctionType:
        return _reached(value) if is_users(value) else ()
    if kind is ModuleType or isinstance(value, type):
        return gc.get_referents(value) if _is_users_module(value if kind is ModuleType else _module_of(value)) else ()
    return () if f"{getattr(kind, '__module__', '')}.".startswith("tapediff.") else gc.get_referents(value)


def _reached(function: Object) -> Iterable[Object]:
    """The objects that a function refers to, of its globals only those that its code names."""
    namespace, names = function.__globals__, _names(function.__code__)
    if "globals" in names:
        return gc.get_referents(function)
    return [
        *(part for part in gc.get_referents(function) if part is not namespace),
        *(namespace[name] for name in names if name in namespace),
    ]


@lru_cache(1024)
def _names(code: CodeType) -> frozenset[str]:
    """Names of globals and attributes in a function's code and that of its inner functions."""
    found, pending = set[str](), [code]
    while pending:
        inner = pending.pop()
        found.update(inner.co_names)
        pending += (constant for constant in inner.co_consts if type(constant) is CodeType)
    return frozenset(found)


def _module_of(kind: Object) -> Object:
    return sys.modules.get(getattr(kind, "__module__", ""))


def _is_users_module(module: Object) -> bool:
    # Bypasses the module's own __getattr__.
    file = getattr(module, "__dict__", {}).get("__file__")
    return file is not None and is_users_file(file)


def leave_plain(result: Object) -> None:
    """Leave plain Python's values in the caller's objects. The result keeps those of the tape."""
    kept = set(map(id, _holders(result)))
    others = state.callers | kept
    for place in (*state.unsettled.values(), *(place for place, _ in state.before.values() if id(place.holder) not in kept)):
        is_kept = id(place.holder) in kept
        if type(place) is Contents:
            _leave_plain_entries(place.holder, is_kept)
        else:
            place.set(at_this_point(place.get(), keeps_ints=is_kept))
        for holder in _holders(place.get(), others):
            _leave_plain_entries(holder, False)


def check_lists() -> None:
    """Repeat the recording if the caller's objects were left with a joined list."""
    for place, _ in state.before.values() if state.shown else ():
        for holder in _holders(place.get(), state.callers):
            check_writes(holder)


def _holders(value: Object, but: Iterable[int] = ()) -> Iterator[Object]:
    """The containers and objects within a value."""
    seen, pending = set(but), [value]
    while pending:
        holder = pending.pop()
        kind = type(holder)
        if kind in _LEAVES or kind is TrackedArray or kind in CHOICES or id(holder) in seen or isinstance(holder, (type, ModuleType)):
            continue
        seen.add(id(holder))
        yield holder
        pending += _entries(holder)


def _entries(holder: Object) -> Iterable[Object]:
    if isinstance(holder, (list, tuple, deque)):
        return holder
    return (holder if isinstance(holder, dict) else getattr(holder, "__dict__", {})).values()


def _leave_plain_entries(holder: Object, keeps_ints: bool) -> None:
    if isinstance(holder, (list, deque, dict, set)):
        place = Contents(holder)
        before = place.get()
        after = entries_at_this_point(before, keeps_ints=keeps_ints)
        if len(after) != len(before) or not all(map(operator.is_, _all_of(after), _all_of(before))):
            place.set(after)
    elif not isinstance(holder, tuple):
        entries = getattr(holder, "__dict__", {})
        entries.update({key: new for key, value in entries.items() if (new := at_this_point(value)) is not value})


def _all_of(entries: Object) -> Iterable[Object]:
    return itertools.chain(entries, entries.values()) if isinstance(entries, dict) else entries


# Values at this point


def at_this_point(value: Object, *, keeps_ints: bool = False) -> Object:
    """Plain Python's value at this point, for a choice, a tracked int or bool, or a float that data choose among constants.

    Args:
        keeps_ints: leave tracked numbers.
    """
    while type(value) is Choice:
        value = value.now()
    if isinstance(value, tuple):
        parts = [at_this_point(part, keeps_ints=keeps_ints) for part in value]
        if all(map(operator.is_, parts, value)):
            return value
        return tuple.__new__(type(value), parts)
    if not keeps_ints and type(value) is TrackedArray and not value.type.shape and _is_of_constants(value):
        return value._value.item()
    return value


def _is_of_constants(value: TrackedArray) -> bool:
    """True for numbers that depend on data only by tests: ints and bools, and floats computed and selected from constants."""
    recorder, pending, seen = value._recorder, [value._id], set[int]()
    while pending:
        number = pending.pop()
        if number in seen or type_of(recorder, number).dtype.kind in "ib":
            continue
        seen.add(number)
        op, inputs = op_of(recorder, number), inputs_of(recorder, number)
        if op is not CONSTANT and op is not CONVERT and not isinstance(op, Elementwise):
            return False
        pending += inputs[1:] if op is SELECT else inputs
    return True


def entries_at_this_point(entries: Object, *, keeps_ints: bool = False) -> Object:
    """Plain Python's entries of a container at this point."""
    if isinstance(entries, dict):
        return {key_at_this_point(key): at_this_point(v, keeps_ints=keeps_ints) for key, entry in entries.items() for v in _now([entry])}
    if isinstance(entries, set):
        return set(map(key_at_this_point, _now(entries)))
    parts = (at_this_point(entry, keeps_ints=keeps_ints) for entry in _now(entries))
    return deque(parts, entries.maxlen) if isinstance(entries, deque) else list(parts)


def _now(entries: Iterable[Object]) -> Iterator[Object]:
    """The values of the entries that exist at this point."""
    return (value for condition, value in map(parted, entries) if holds(condition))


def key_at_this_point(key: Object) -> Object:
    """Plain Python's key at this point."""
    if type(key) is DataKey:
        return key_at_this_point(at_this_point(key.value))
    if is_data(key):
        return key._value.item()
    if type(key) in CHOICES:
        return at_this_point(key)
    return tuple(map(key_at_this_point, key)) if type(key) is tuple else key
