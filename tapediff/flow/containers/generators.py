"""Generators: run by Python, or by calling the consuming loop's block at each yield.

In the second form branches around a `yield` are joined like any other, as the block is part of the side. It needs a generator that
nothing else can advance: one that a loop gets from a call, or whose values are all consumed.
"""

from __future__ import annotations

from collections import abc
from collections.abc import Callable
from types import GeneratorType

from ..anything import Object
from ..state.completions import Completion, Jump
from ..state.fork import guarded, refuse
from ..state.values import Restart, Unjoinable, state

Emit = Callable[[Object], Completion]


class UsedAgain(Restart):
    """A generator that a loop runs with its own block is advanced by something else: repeat the recording without that."""


class Left(Jump):
    """The exit of a generator when its consumer leaves, by a break, return or exception. Only `finally` sees it.

    Attributes:
        end: the completion of the consumer's block.
    """

    __slots__ = ("end",)

    def __init__(self, end: Jump) -> None:
        self.kind, self.end = "close", end


class Raised(Jump):
    """An error raised in the consumer's block, which the generator cannot catch."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.kind, self.error = "raise", error


class Generator(abc.Generator[Object, Object, Object]):
    """The result of a generator function.

    Attributes:
        emitting: its body as a function of the consumer; None if only Python can run it.
        cleans_up: it runs code when it is closed.
        is_owned: nothing but one loop can advance it.
        is_lent: a loop runs it, or has left it at a position that depends on data.
    """

    __slots__ = ("_made_in", "_native", "_run", "cleans_up", "emitting", "is_lent", "is_owned")

    def __init__(self, native: Callable[[], Object], emitting: Callable[[Emit], Completion] | None, cleans_up: bool) -> None:
        self.cleans_up = cleans_up
        self._native, self.emitting, self._run = native, emitting, None
        self.is_owned = self.is_lent = False
        self._made_in = state.journals[-1] if state.journals else None

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        return GeneratorType

    @property
    def is_fresh(self) -> bool:
        """True before the first value is requested."""
        return self._run is None

    def native(self) -> Object:
        """Python's generator. A side of a branch can only advance one that it created."""
        self._use()
        if self._run is None:
            self._run = self._native()
        return self._run

    def _use(self) -> None:
        if self.is_lent:
            raise UsedAgain
        if not state.journals or self._made_in is state.journals[-1]:
            return
        begun = next((k + 1 for k, journal in enumerate(state.journals) if journal is self._made_in), 0)
        attempts = [attempt for attempt in state.attempts if any(attempt.journal is journal for journal in state.journals[begun:])]
        if len(attempts) < len(state.journals) - begun:
            refuse("a branch advances a generator that was made before it", "take the value before the branch")
        for attempt in attempts:
            attempt.by_guards = True  # the body cannot run again

    def use_up(self) -> None:
        """Mark it as exhausted."""
        self._use()
        self._run = (None for _ in ())

    def __iter__(self) -> abc.Generator[Object, Object, Object]:
        return self

    def __next__(self) -> Object:
        return self._stepped(next, self.native())

    def send(self, value: Object) -> Object:
        return self._stepped(self.native().send, value)

    def throw(self, *args: Object) -> Object:
        return self._stepped(self.native().throw, *args)

    @staticmethod
    def _stepped(step: Callable[..., Object], *args: Object) -> Object:
        """The next value. Data-dependent errors become guards, since the generator may be used after the `try`."""
        if not state.attempts:
            return step(*args)
        with guarded():
            return step(*args)

    def close(self) -> None:
        if self._made_in is not None and not any(journal is self._made_in for journal in state.journals):
            raise Unjoinable("a generator is closed that was made in a branch", "close it in the branch")
        if not self.is_lent:
            self.native().close()

    def __getattr__(self, name: str) -> Object:
        return getattr(self.native(), name)


def is_emitting(items: Object, is_held: bool) -> bool:
    """True for a generator that a loop can run with its own block.

    Args:
        is_held: something else can advance it.
    """
    return (
        type(items) is Generator
        and items.emitting is not None
        and items.is_fresh
        and (items.is_owned or not is_held or (state.lends_generators and not items.cleans_up))
    )


def emit(consumer: Emit, value: Object) -> Completion:
    """yield value"""
    return consumer(value)

Generator.__name__ = Generator.__qualname__ = "generator"
