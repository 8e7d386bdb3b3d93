"""Calls: the user's functions run translated, builtins that call or compare as programs, all others unchanged."""

from __future__ import annotations

import functools
import operator
from enum import EnumMeta
from types import BuiltinMethodType, FunctionType, MethodType

from ..anything import Object
from ..state.identities import GENERATED
from ..state.places import mark_made
from ..state.values import CHOICES, state
from ..translate import is_translated, translated
from ..users_code import is_users, users_method

# By address: functions, the attributes that reloaders replace, and translated forms.
_functions: dict[int, tuple[FunctionType, tuple[object, ...], FunctionType]] = {}


def of_function(f: FunctionType) -> FunctionType:
    """The translated form of a user's function."""
    known = _functions.get(id(f))
    parts = f.__code__, f.__defaults__, f.__kwdefaults__
    if known is not None and known[0] is f and all(map(operator.is_, known[1], parts)):
        return known[2]
    if is_translated(f) or not is_users(f):
        return f
    made = translated(f)
    if len(_functions) > _MOST_FUNCTIONS:
        _functions.clear()
    _functions[id(f)] = f, parts, made
    return made


_MOST_FUNCTIONS = 4096


def function(f: Object) -> Object:
    """The translated form of a callable."""
    kind = type(f)
    if kind is FunctionType:
        made = of_function(f)
        return made if made is not f or is_translated(f) or not state.is_recording else state.native(f)
    if kind is MethodType:
        inner = function(f.__func__)
        if inner is f.__func__:
            return f
        return MethodType(inner, f.__self__) if type(inner) is FunctionType else functools.partial(inner, f.__self__)
    if kind is BuiltinMethodType:
        return f if not state.is_recording else state.native(f)
    if isinstance(f, type):
        return _of_class(f)
    if kind is functools.partial:
        return functools.partial(function(f.func), *f.args, **f.keywords)
    if kind in CHOICES:
        return CHOICES[kind].called(f)
    method = users_method(kind, "__call__")
    if method is not None:
        return functools.partial(function(method), f)
    return f if not state.is_recording else state.native(f)


def call(f: Object, /, *args: Object, **named: Object) -> Object:
    """Call a function in translated form."""
    return function(f)(*args, **named)


def _of_class(kind: type) -> Object:
    """A user's class with a translated constructor."""
    if type(kind) is not type:
        made = users_method(type(kind), "__call__")
        if made is not None:
            return functools.partial(function(made), kind)
        if type(kind).__call__ is not type.__call__:
            return state.native(kind) if state.is_recording and isinstance(kind, EnumMeta) else kind
    if users_method(kind, "__init__") is None and users_method(kind, "__new__") is None:
        return kind if not state.is_recording or _is_made_by_python(kind) else state.native(kind)
    return functools.partial(_constructed, kind)


def _is_made_by_python(kind: type) -> bool:
    """True for classes with inherited constructors only, such as most errors."""
    makers = [next(base for base in kind.__mro__ if name in vars(base)) for name in ("__init__", "__new__")]
    if kind.__module__ == "builtins":
        return False
    return all(base is object or (issubclass(base, BaseException) and base.__module__ == "builtins") for base in makers)


def _constructed(kind: type, /, *args: Object, **named: Object) -> Object:
    new, init = users_method(kind, "__new__"), users_method(kind, "__init__")
    if new is not None:
        # A named tuple's `__new__` only stores, and has no source.
        made = new(kind, *args, **named) if _is_named_tuple(kind) else call(new, kind, *args, **named)
    elif kind.__new__ is not object.__new__:
        made = kind.__new__(kind, *args, **named)
    elif init is None or getattr(kind, "__abstractmethods__", None):
        # object.__new__ takes no further arguments if `__init__` does.
        return kind(*args, **named)
    else:
        made = object.__new__(kind)
        mark_made(made)
    if isinstance(made, kind):
        init = users_method(type(made), "__init__")
        is_generated = init is not None and _is_generated(type(made), init)
        if init is None or (is_generated and not hasattr(type(made), "__post_init__")):
            result = type(made).__init__(made, *args, **named)
        elif is_generated and hasattr(made, "__dict__"):
            result = _stored(made, init, *args, **named)
        else:
            result = call(init, made, *args, **named)
        if result is not None:
            raise TypeError(f"__init__() should return None, not '{type(result).__name__}'")
    return made


def _is_named_tuple(kind: type) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields") and kind.__new__.__code__.co_filename == GENERATED


def _is_generated(kind: type, init: FunctionType) -> bool:
    """True for constructors generated by dataclasses, which have no source."""
    parameters = getattr(kind, "__dataclass_params__", None)
    return parameters is not None and parameters.init and init.__code__.co_filename == GENERATED


def _stored(made: Object, init: FunctionType, /, *args: Object, **named: Object) -> Object:
    """Run a dataclass's constructor with its `__post_init__` translated."""
    given: list[tuple[Object, ...]] = []
    vars(made)["__post_init__"] = lambda *variables: given.append(variables)
    try:
        init(made, *args, **named)
    finally:
        vars(made).pop("__post_init__")
    for variables in given:
        method = users_method(type(made), "__post_init__")
        call(type(made).__post_init__ if method is None else method, made, *variables)


def lambda_(f: FunctionType, defaults: tuple[Object, ...], keyword_defaults: dict[str, Object]) -> FunctionType:
    """Give a lambda its defaults."""
    f.__defaults__, f.__kwdefaults__ = defaults or None, keyword_defaults or None
    return f
