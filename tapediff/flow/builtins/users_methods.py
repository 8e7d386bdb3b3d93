"""Translates the user's methods that builtins call: they may depend on data or have side effects."""

from __future__ import annotations

import builtins
import functools
import heapq
import itertools
import math
import operator
from collections import deque
from collections.abc import Callable

from ..anything import Object
from ..calls.callables import call
from ..containers.items import is_iterable_of_users, iterated
from ..users_code import users_method

_BUILTINS = (
    abs, float, int, complex, round, str, repr, hash, format, divmod, reversed, math.floor, math.ceil, math.trunc, operator.index,
)  # fmt: skip
# Methods that a builtin tries where that of its name is missing.
_OTHERS: dict[Object, tuple[str, ...]] = {float: ("__index__",), int: ("__index__",), str: ("__repr__",)}
_METHODS = {id(f): (f"__{f.__name__}__", *_OTHERS.get(f, ())) for f in _BUILTINS}
# Exhaust arguments, at these positions.
_CONSUMING: dict[int, tuple[int, ...]] = {
    **{id(getattr(builtins, name)): (0,) for name in "sum list tuple set frozenset sorted any all".split()},
    **{id(f): (0,) for f in (math.fsum, math.prod, deque)},
    **{id(f): (1,) for f in (functools.reduce, heapq.nlargest, heapq.nsmallest)},
    **{id(getattr(math, name)): (0, 1) for name in ("dist", "sumprod") if hasattr(math, name)},
}
# Exhaust their only argument.
_COMPARING = (id(min), id(max))
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
    """A builtin's arguments, with each iterable of the user's replaced by its iterator."""
    if id(f) in _LAZY or id(getattr(f, "__self__", None)) in _LAZY:
        return tuple(iterated(value) if is_iterable_of_users(type(value)) else value for value in args)
    places = (0,) if id(f) in _COMPARING and len(args) == 1 else _CONSUMING.get(id(getattr(f, "original", f)), ())
    return tuple(iterated(value) if k in places and is_iterable_of_users(type(value)) else value for k, value in enumerate(args))


def may_ask(args: tuple[Object, ...]) -> bool:
    """True if a C function may call the user's code through an argument."""
    return any(users_method(type(value), name) is not None for value in args for name in _ASKED)
