"""What stands for a function of a library's while something is recorded: it passes for that function wherever tables are keyed by it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, update_wrapper
from types import MethodType
from typing import TypeVar, cast

from ...ir.instruction import Operand

R = TypeVar("R", bound="Replacement")


class Replacement:
    """Equal to the original function, as tables are keyed by it (numba's, for one), and pickled by its name.

    Each is of a class of its own, so that a call costs no more than one of a function. Such tables keep weak references to what has
    them and the function itself otherwise (of NumPy's, np.array has them and np.sum does not), which are not equal to each other: so
    the class has weak references where the original's has.
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
        """As an attribute of a class it is a method where the original is one."""
        return self if instance is None or not hasattr(type(self.original), "__get__") else MethodType(self, instance)

    def __reduce__(self) -> str | tuple[object, ...]:
        return self.original.__name__

    def __repr__(self) -> str:
        return repr(self.original)


def standing_for(original: Callable[..., Operand], call: Callable[..., Operand], kind: type[R]) -> R:
    """What is called as `call` and passes for `original` otherwise; `kind` says how it is pickled, and what else it passes for."""
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
