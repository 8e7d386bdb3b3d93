"""Locks that are held while a function runs, whatever interrupts it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def holding(lock: Any) -> Callable[[F], F]:
    """A decorator: the function runs with a lock held.

    A `with` statement of several lines is left on a line of its own, where a tracer or a debugger may raise before the lock is
    given back. Here the call stands on the same line, so whatever is raised is raised before the lock is taken or inside.

    Args:
        lock: the lock, or its name among the attributes of the function's first argument.
    """

    def decorated(function: Any) -> Any:
        # fmt: off
        @functools.wraps(function)
        def with_this(*args: Any, **named: Any) -> Any:
            with lock: return function(*args, **named)  # noqa: E701 -- see above

        @functools.wraps(function)
        def with_own(self: Any, *args: Any, **named: Any) -> Any:
            with getattr(self, lock): return function(self, *args, **named)  # noqa: E701 -- see above
        # fmt: on

        return with_own if isinstance(lock, str) else with_this

    return decorated
