"""Static arguments: a tape is specialised on their values."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...errors import ArgumentMismatch
from ...ir.instruction import BOOL, Operand, Tree, is_tracked
from ...ir.keys import static_key


@dataclass(frozen=True)
class Static:
    """The arguments of a function that its tapes are specialised on; made by td.static.

    As a decorator it marks the function, and td.subtape and td.GuardedTape find the mark.
    """

    argnums: tuple[int, ...]
    argnames: tuple[str, ...]

    def __call__(self, f: Callable[..., object]) -> Callable[..., object]:
        @functools.wraps(f)
        def marked(*args: Operand, **kwargs: Operand) -> object:
            return f(*args, **kwargs)

        marked.__tapediff_static__ = self  # type: ignore[attr-defined]  # functions take attributes
        return marked

    def without_first(self, f: Callable[..., object]) -> Static:
        """The same for a bound method, whose first argument is given."""
        return Static(tuple(k - 1 for k in self.positions(f) if k > 0), ())

    def positions(self, f: Callable[..., object]) -> tuple[int, ...]:
        """The positions of the static arguments, also of those given by name."""
        parameters = list(inspect.signature(f).parameters)
        unknown = [name for name in self.argnames if name not in parameters]
        if unknown:
            raise ArgumentMismatch(
                f"{getattr(f, '__name__', f)} has no argument {unknown[0]}", got=f"its arguments are {', '.join(parameters)}",
                fix="td.static(argnames=...) takes names of arguments",
            )  # fmt: skip
        return tuple(sorted({*self.argnums, *(parameters.index(name) for name in self.argnames)}))


def static(*, argnums: int | Sequence[int] = (), argnames: str | Sequence[str] = ()) -> Static:
    """Mark arguments as values to specialise on: there is one tape for each value that they take.

    Args:
        argnums: their positions.
        argnames: their names.

    Returns:
        What td.subtape(f, static=...) and td.GuardedTape(f, static=...) take, and a decorator that marks a function for them. A
        tracked value that is passed there is guarded by value.
    """
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    names = (argnames,) if isinstance(argnames, str) else tuple(argnames)
    return Static(numbers, names)


def static_of(f: Callable[..., object]) -> Static | None:
    """The mark that td.static left on a function."""
    return getattr(f, "__tapediff_static__", None)


def guarded_value(value: Operand) -> Operand:
    """The plain value of a tracked one, with a guard that it stays the same."""
    if not is_tracked(value):
        return value
    if value.type.size == 1 and value.dtype.kind in "bi":
        return bool(value) if value.dtype == BOOL else int(value)
    return value._recorder.observe(value, "array")[()]


def boxed(
    spec: Static | None, f: Callable[..., object], args: tuple[Tree, ...], kwargs: dict[str, Tree]
) -> tuple[tuple[Tree, ...], dict[str, Tree]]:
    """The arguments, with static ones boxed so that they are not taken for arrays."""
    if spec is None:
        return args, kwargs
    parameters = list(inspect.signature(f).parameters)
    new_args, new_kwargs = list(args), dict(kwargs)
    for position in spec.positions(f):
        name = parameters[position] if position < len(parameters) else None
        if position < len(new_args):
            new_args[position] = Boxed(guarded_value(new_args[position]))
        elif name in new_kwargs:
            new_kwargs[name] = Boxed(guarded_value(new_kwargs[name]))
    return tuple(new_args), new_kwargs


class Boxed:
    """A static value among arguments; equal to others of the same type and bits."""

    __slots__ = ("key", "value")

    def __init__(self, value: Operand) -> None:
        self.value = value
        self.key = static_key(value)

    def __eq__(self, other: object) -> bool:
        return type(other) is Boxed and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __reduce__(self) -> tuple[object, ...]:
        return Boxed, (self.value,)  # the key may be an identity


def unboxed(value: Operand) -> Operand:
    return value.value if type(value) is Boxed else value
