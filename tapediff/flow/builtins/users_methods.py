"""Translates the user's methods that builtins call: they may depend on data or have side effects."""

from __future__ import annotations

import builtins
import itertools
import math
import operator
from collections.abc import Callable

from ..anything import Object
from ..calls.callables import call
from ..containers.items import iterated
from ..users_code import users_method

_BUILTINS = (
    abs, float, int, complex, round, str, repr, hash, format, divmod, reversed, math.floor, math.ceil, math.trunc, operator.index,
)  # fmt: skip
# Methods that a builtin tries where that of its name is missing.
_OTHERS: dict[Object, tuple[str, ...]] = {float: ("__index__",), int: ("__index__",), str: ("__repr__",)}
_METHODS = {id(f): (f"__{f.__name__}__", *_OTHERS.get(f, ())) for f in _BUILTINS}
# Exhaust their arguments.
_CONSUMING = {id(getattr(builtins, name)) for name in "sum list tuple set frozenset sorted min max any all".split()} | {
    id(math.fsum),
    id(math.prod),
}
# Iterate over their arguments lazily.
_LAZY = {id(iter), *(id(f) for f in (enumerate, zip, map, filter, *vars(itertools).values()) if isinstance(f, type))}
# Methods that C functions may call on arguments.
_ASKED = ("__float__", "__index__", "__int__", "__iter__", "__array__", "__array_ufunc__")


def method_for(f: Object, args: tuple[Object, ...]) -> Callable[[], Object] | None:
    """The call of the user's method that computes a builtin's result; None without one."""
    names = _METHODS.get(id(f))
    if names is None or not args:
        return None
    for name in names:
        method = users_method(type(args[0]), name)
        if method is not None:
            return lambda: call(method, *args)
        if hasattr(type(args[0]), name):
            return None
    return None


def taken_out(f: Object, args: tuple[Object, ...]) -> tuple[Object, ...]:
    """A builtin's arguments, with each iterable of the user's replaced by its items or iterator."""
    if id(f) in _LAZY or id(getattr(f, "__self__", None)) in _LAZY:
        return tuple(iterated(value) if users_method(type(value), "__iter__") is not None else value for value in args)
    if id(f) not in _CONSUMING or len(args) != 1 or users_method(type(args[0]), "__iter__") is None:
        return args
    return (list(iterated(args[0])),)


def may_ask(args: tuple[Object, ...]) -> bool:
    """True if a C function may call the user's code through an argument."""
    return any(users_method(type(value), name) is not None for value in args for name in _ASKED)
