"""Callables around functions: methods, partials and objects; each can be made again around another form of its function."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from types import FunctionType, MethodType
from typing import Any, ClassVar, TypeAlias

Form: TypeAlias = Callable[..., Any]


class Wrapper:
    """A callable object of this package that passes what it is called with on to a user's function.

    Attributes:
        calls: the name of the attribute that is this function, or None.
    """

    calls: ClassVar[str]
    __call__: Form


def around(f: Form, form_of: Callable[[Form], Form | None]) -> Form | None:
    """A callable that is not a plain function, with another form of the function it calls; None where there is none.

    Args:
        form_of: of a function, or of another such callable, its other form.
    """
    if isinstance(f, MethodType):
        inner = form_of(f.__func__)
        return None if inner is None else MethodType(inner, f.__self__)
    if isinstance(f, partial):
        inner = form_of(f.func)
        return None if inner is None else partial(inner, *f.args, **f.keywords)
    if isinstance(f, Wrapper):
        inner = form_of(getattr(f, f.calls))
        if inner is None:
            return None
        wrapper: Form = copy(f)
        setattr(wrapper, f.calls, inner)
        return wrapper
    method = getattr(type(f), "__call__", None)  # noqa: B004 -- asks for the function behind the call
    inner = form_of(method) if isinstance(method, FunctionType) else None
    return None if inner is None else MethodType(inner, f)
