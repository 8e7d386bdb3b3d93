"""`yield from` in generators that call the consumer's block."""

from __future__ import annotations

from collections import abc
from collections.abc import Iterator

from ..anything import Object
from ..containers.generators import Emit, Generator
from ..state.completions import Completion, Return, folded, replaced
from ..state.fork import select
from .loops import for_


class Delegate:
    """The iterable of a `yield from`, and the generator's return value.

    Attributes:
        value: None for other iterables.
    """

    __slots__ = ("items", "value")

    def __init__(self, items: Object) -> None:
        self.items, self.value = items, None


def delegate(source: Delegate, consumer: Emit) -> Completion:
    """Emit all values of a `yield from`."""
    items, source.items = source.items, None
    if type(items) is Generator and items.emitting is not None and items.is_fresh:
        completion = items.emitting(consumer)
        source.value = _returned(completion)
        return replaced(completion, lambda end: None if type(end) is Return else end)
    if isinstance(items, abc.Generator):
        return _delegated(source, iter(items), consumer)
    return for_(items, consumer, None)


def _delegated(source: Delegate, generator: Iterator[Object], consumer: Emit) -> Completion:
    """Emit the values of a generator that Python runs."""

    def values() -> Iterator[Object]:
        source.value = yield from generator

    return for_(values(), consumer, None)


def _returned(completion: Completion) -> Object:
    """A generator's return value, where it ends normally."""
    return folded(
        completion,
        lambda end: end.value if type(end) is Return else None if end is None else _NO_VALUE,
        lambda part, yes, no: no if yes is _NO_VALUE else yes if no is _NO_VALUE else select(part.test, yes, no),
    )


_NO_VALUE = object()
