"""Attributes: Python's look-up, with the user's properties and descriptors translated."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType, MemberDescriptorType, MethodType, ModuleType, WrapperDescriptorType

import numpy as np

from ...base.current_recording import current_recorder
from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from ..calls.callables import call, function
from ..containers import rows
from ..containers.choices import kinds_of, mapped, possible
from ..containers.entries import settle_attributes
from ..state.fork import by_guards, decide, fork_value, refuse_store
from ..state.numbers.bounds import as_choice
from ..state.numbers.python_numbers import plain_like
from ..state.objects.unshared import join_options
from ..state.places import note_attribute, note_contents, place_of_attribute
from ..state.values import CHOICES, UNBOUND, Choice, is_by_index, lifted, state, unset_where, without_unbound
from ..users_code import KNOWN, class_member, has_simple_attributes, is_users, shared_method, users_method

_PLAIN = {int, float, str, list, tuple, dict, set, type, ModuleType, np.ndarray, TrackedArray}
# Types of plain class members; NoneType stands for no member.
_SIMPLE_MEMBERS = {type(None), FunctionType, int, float, str, bool, list, dict, tuple}
_DESCRIPTORS = (property, functools.cached_property)


def attribute(value: Object, name: str) -> Object:
    """value.name"""
    kind = type(value)
    if KNOWN.simple.get(kind) and type(getattr(kind, name, None)) in _SIMPLE_MEMBERS:
        found = getattr(value, name)
        return found if type(found) not in CHOICES else _bound(found, value, name)
    if kind is TrackedArray and not hasattr(TrackedArray, name) and hasattr(int, name) and type(plain_like(value)) is int:
        return _of_int(value, name)
    if kind in _PLAIN:
        return _bound(getattr(value, name), value, name)
    if kind in CHOICES:
        return _of_options(value, name)
    if has_simple_attributes(kind) and type(getattr(kind, name, None)) in _SIMPLE_MEMBERS:
        return _bound(getattr(value, name), value, name)
    if name == "bit_generator" and id(value) in state.streams:
        state.streams[id(value)].leave()
    fallback = users_method(kind, "__getattr__")
    if fallback is None:
        return _bound(_looked_up(value, kind, name), value, name)
    found: Object = UNBOUND
    try:
        found = _looked_up(value, kind, name, object.__getattribute__)
    except AttributeError:
        pass
    # Outside the handler, so that an error of the method has no context.
    return call(fallback, value, name) if found is UNBOUND else _bound(found, value, name)


def _of_int(value: Object, name: str) -> Object:
    """A method of a Python int that depends on data."""
    choice = as_choice(value)
    if type(choice) in CHOICES:
        return mapped(attribute, choice, name)
    reason = decide(f"the method {name} of an int that depends on data", "compute with the int itself")
    return getattr(by_guards(current_recorder(), lambda: int(value), reason), name)


def _of_options(value: Object, name: str) -> Object:
    """An attribute of a choice: a method that all options share becomes the choice's; plain attributes are read without running sides."""
    if _is_column(value, name):
        return rows.attribute(value, name)
    if type(value) is Choice and len(value.options) >= _MANY and not state.path:
        join_options(value)
    options = [value.options[k] for k in possible(value)] if type(value) is Choice else []
    if len(options) > 1 and all(_has_plainly(option, name) for option in options):
        return mapped(attribute, value, name, is_pure=True)
    member = shared_method(kinds_of(value), name) if options else None
    if member is not None and not any(name in getattr(option, "__dict__", ()) for option in options):
        return MethodType(member, value)
    return mapped(attribute, value, name)


# Minimum number of options of a choice for a search for those that can be joined.
_MANY = 4


def _is_column(value: Object, name: str) -> bool:
    """True for an attribute that each object of a choice by index has itself."""
    return is_by_index(value) and all(_has_plainly(option, name) for option in value.options)


def _has_plainly(option: Object, name: str) -> bool:
    """True for an attribute of an object itself that no code of the user takes part in reading."""
    kind = type(option)
    if not has_simple_attributes(kind) or type(getattr(kind, name, None)) not in _SIMPLE_MEMBERS:
        return False
    return name in getattr(option, "__dict__", ()) and type(option.__dict__[name]) not in CHOICES


def _bound(found: Object, value: Object, name: str) -> Object:
    """An attribute that may be set on one side only."""
    if type(found) not in CHOICES:
        return found
    unset = unset_where(found)
    if unset is None or (owner := _owner(value, name, found)) is None:
        return CHOICES[type(found)].bound(found, lambda: _missing(value, name))
    return fork_value(unset, lambda: _of_next(owner, value, name), lambda: without_unbound(found))


def _owner(value: Object, name: str, found: Object) -> Object:
    """The object or class whose own attribute this is, if the look-up goes on where it is not set."""
    holders = [value, *(value.__mro__ if isinstance(value, type) else type(value).__mro__)]
    holding = [holder for holder in holders if name in getattr(holder, "__dict__", ())]
    goes_on = len(holding) > 1 or users_method(type(value), "__getattr__") is not None
    return holding[0] if goes_on and holding[0].__dict__[name] is found else None


def _of_next(owner: Object, value: Object, name: str) -> Object:
    """An attribute on the side where its first owner does not have it."""
    note_attribute(owner, name)
    delattr(owner, name) if isinstance(owner, type) else owner.__dict__.pop(name)
    return attribute(value, name)


def _missing(value: Object, name: str) -> AttributeError:
    return AttributeError(f"'{type(value).__name__}' object has no attribute '{name}'", name=name, obj=value)


def _looked_up(value: Object, kind: type, name: str, native: Callable[[Object, str], Object] = getattr) -> Object:
    if (found := users_method(kind, "__getattribute__")) is not None:
        return call(found, value, name)
    member = class_member(kind, name)
    if isinstance(member, _DESCRIPTORS):
        if type(member) is property:
            if is_users(member.fget):
                return call(member.fget, value)
        elif isinstance(member, functools.cached_property) and is_users(member.func) and name not in getattr(value, "__dict__", ()):
            made = call(member.func, value)
            note_attribute(value, name)
            value.__dict__[name] = made
            return made
    elif member is not None and (get := users_method(type(member), "__get__")) is not None and not isinstance(member, type):
        is_data = hasattr(type(member), "__set__")
        if is_data or name not in getattr(value, "__dict__", ()):
            return call(get, member, value, kind)
    found = native(value, name)
    if name == "__dict__" and type(found) is dict:
        settle_attributes(value)
        state.namespaces[id(found)] = value
        if id(value) in state.callers:
            state.callers.add(id(found))  # on some Pythons an object refers to it only after this access, or never
    return found


def set_attribute(value: Object, name: str, new: Object) -> None:
    """value.name = new"""
    kind = type(value)
    if kind not in CHOICES and has_simple_attributes(kind) and getattr(kind, name, None) is None and _is_of_python(kind):
        note_attribute(value, name)
        setattr(value, name, new)
    elif _is_column(value, name):
        rows.set_attribute(value, name, new)
    else:
        lifted(lambda one: _changed(one, name, "set", new), value)


def delete_attribute(value: Object, name: str) -> None:
    """del value.name"""
    lifted(lambda one: _changed(one, name, "delete"), value)


def _changed(value: Object, name: str, how: str, *new: Object) -> None:
    """Set or delete an attribute like Python: by the object's method, a descriptor of its class, or directly."""
    kind = type(value)
    if (found := users_method(kind, "__setattr__" if new else "__delattr__")) is not None:
        call(found, value, name, *new)
        return
    member = class_member(kind, name) if not isinstance(value, type) else None
    if type(member) is property and is_users(accessor := member.fset if new else member.fdel):
        call(accessor, value, *new)
    elif (put := users_method(type(member), f"__{how}__")) is not None:
        call(put, member, value, *new)
    elif kind is TrackedArray and new:
        note_contents(value)  # the descriptors write entries
        setattr(value, name, *new)
    else:
        # Fields of named tuples are never set.
        if not isinstance(value, (type, tuple)) and not (_is_of_python(kind) and _is_kept(member)):
            refuse_store(f"`{name}` of a {kind.__name__} is set in a branch")
        if not new:
            _check_set(value, name)
        note_attribute(value, name)
        (setattr if new else delattr)(value, name, *new)


def _is_of_python(kind: type) -> bool:
    """True for objects whose attributes Python itself sets."""
    return type(kind.__setattr__) is WrapperDescriptorType


def _is_kept(member: Object) -> bool:
    """True for slots, and attributes that no descriptor of the class sets."""
    return type(member) is MemberDescriptorType or not hasattr(type(member), "__set__")


def _check_set(value: Object, name: str) -> None:
    """Raise where an attribute that is deleted is not set."""
    found = place_of_attribute(value, name).get()
    if type(found) in CHOICES:
        CHOICES[type(found)].bound(found, lambda: _missing(value, name))


def deleted(value: Object, name: str) -> None:
    """Check that a variable that is deleted has a value."""
    if type(value) in CHOICES:
        what = f"cannot access local variable '{name}' where it is not associated with a value"
        CHOICES[type(value)].bound(value, lambda: UnboundLocalError(what))


def method(value: Object, name: str) -> Object:
    """The translated form of a method."""
    return function(attribute(value, name))
