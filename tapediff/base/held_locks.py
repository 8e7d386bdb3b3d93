"""State of several threads: locks that are held while a function runs, whatever interrupts it, and tables of limited length."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
K = TypeVar("K")
T = TypeVar("T")


def holding(lock: AbstractContextManager[object, None] | str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: the function runs with a lock held.

    A `with` statement of several lines is left on a line of its own, where a tracer or a debugger may raise before the lock is
    released. Here the call is on the same line, so any exception is raised before the lock is taken or inside.

    Args:
        lock: the lock, or its name among the attributes of the function's first argument.
    """

    # fmt: off
    def with_this(function: Callable[P, R], lock: AbstractContextManager[object, None]) -> Callable[P, R]:
        @functools.wraps(function)
        def held(*args: P.args, **named: P.kwargs) -> R:
            with lock: return function(*args, **named)  # noqa: E701 -- see above

        return held

    def with_own(function: Callable[P, R], name: str) -> Callable[P, R]:
        @functools.wraps(function)
        def held(*args: P.args, **named: P.kwargs) -> R:
            with getattr(args[0], name): return function(*args, **named)  # noqa: E701 -- see above

        return held
    # fmt: on

    return lambda function: with_own(function, lock) if isinstance(lock, str) else with_this(function, lock)


def drop_oldest(table: dict[K, T], most: int) -> None:
    """Drop the first entries of a table until at most so many are left; other threads may do the same meanwhile."""
    for key in list(table)[: max(len(table) - most, 0)]:
        table.pop(key, None)
