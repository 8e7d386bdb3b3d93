"""Replacements of library functions during recordings, which equal the original as keys of tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, update_wrapper
from types import MethodType
from typing import TypeVar, cast

from ...ir.instruction import Operand

R = TypeVar("R", bound="Replacement")


class Replacement:
    """Equal to the original function, as tables such as numba's are keyed by it, and pickled by its name.

    Each has its own class, so that a call costs no more than a function's. Such tables keep a weak reference to the function where its
    type has them, else the function itself (np.array has them, np.sum does not), and the two are not equal: so the class supports
    weak references exactly where the original's does.
    """

    __slots__ = ("__dict__",)
    original: Operand

    def __call__(self, *args: Operand, **named: Operand) -> Operand:
        raise NotImplementedError  # given by `standing_for`

    def __eq__(self, other: object) -> bool:
        return other is self or other is self.original

    def __hash__(self) -> int:
        return hash(self.original)

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., Operand]:
        """Bind as a method if the original does, as an attribute of a class."""
        return self if instance is None or not hasattr(type(self.original), "__get__") else MethodType(self, instance)

    def __reduce__(self) -> str | tuple[object, ...]:
        return self.original.__name__

    def __repr__(self) -> str:
        return repr(self.original)


def standing_for(original: Callable[..., Operand], call: Callable[..., Operand], kind: type[R]) -> R:
    """An object that calls `call` and otherwise passes for `original`; `kind` decides how it is pickled, and its other disguises."""
    offset: int = getattr(type(original), "__weakrefoffset__")  # noqa: B009 -- known of all classes
    base: type[R] = cast("type[R]", _with_weak_references(kind)) if offset else kind
    made = _subclass(base, {"__slots__": (), "__call__": staticmethod(call)})()
    made.original = original
    update_wrapper(made, original)
    return made


@cache
def _with_weak_references(kind: type[R]) -> type[R]:
    return _subclass(kind, {"__slots__": ("__weakref__",)})


def _subclass(kind: type[R], content: dict[str, object]) -> type[R]:
    return cast("type[R]", type(kind.__name__, (kind,), {"__module__": kind.__module__, **content}))
