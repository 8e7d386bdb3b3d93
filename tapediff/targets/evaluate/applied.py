"""Verbs applied to a function, as functions of their own, which can be pickled and copied."""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import ClassVar, Self

from ...base.token import token_of
from ...base.wrapper import Wrapper
from ...functions.captured.pickling import Portable
from ...ir.instruction import Tree, UserFunction
from .like_function import like


class Applied(Wrapper):
    """verb(f, *args, **options), as a function of f's arguments.

    Attributes:
        f: the function, or another target.
    """

    calls: ClassVar[str] = "f"

    def __init__(self, verb: UserFunction, f: UserFunction, options: dict[str, Tree]) -> None:
        self.f, self._verb, self._options = f, verb, options
        name = getattr(f, "__name__", None) or getattr(f, "name", type(f).__name__)
        if callable(f):
            like(self, f)
        self.__name__ = self.__qualname__ = f"{verb.__name__}_of_{name}"
        chosen = options.get("argnames") or (f"argument {options['argnums']}" if "argnums" in options else "")
        text = f"{verb.__name__.capitalize()} of {name}{' with respect to ' * bool(chosen)}{chosen}."
        said = getattr(f, "__doc__", None) if type(f) in (FunctionType, MethodType) else None
        self.__doc__ = f"{text}\n\n{said}" if said else text

    def __call__(self, *args: Tree, **named: Tree) -> Tree:
        return self._verb(self.f, *args, **self._options, **named)

    def _parts(self) -> tuple[Tree, ...]:
        """The arguments of the constructor."""
        return self._verb, self.f, self._options

    def __copy__(self) -> Self:
        return type(self)(*self._parts())

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return type(self)(*copy.deepcopy(self._parts(), memo))

    def __reduce__(self) -> tuple[object, ...]:
        verb, f, *rest = self._parts()
        return type(self), (verb, Portable(f), *rest)

    def __dask_tokenize__(self) -> str:
        return token_of(self.__name__, self.f, self._options)

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., Tree]:
        return self if instance is None else MethodType(self, instance)

    def _tapediff_rebuilt(self, rebuild: Callable[[object], Tree]) -> Self:
        """Replace the closure variables of the function; the verb and its options tell equal functions apart."""
        _, f, _ = (rebuild(part) for part in Applied._parts(self))
        if f is self.f:
            return self
        made = copy.copy(self)
        made.f = f
        return made
