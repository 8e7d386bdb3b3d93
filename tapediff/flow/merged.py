"""The merged form of a function: recorded once for all its paths."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from ..base.current_recording import current_recorder
from . import choices as choices  # which says what operations on choices do
from .callables import call
from .entries import settled_deeply
from .natives import native
from .values import State, state

# Blocks of nested statements are functions: Python's limit is for programs without them.
DEPTH = 20_000


def flowed(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives what `f` gives; a recording of it holds all paths that can be joined."""

    @functools.wraps(f)
    def merged(*args: Any, **named: Any) -> Any:
        if current_recorder() is None or state.is_recording:
            return f(*args, **named)
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, DEPTH))
        state.reset()
        state.is_recording, state.native = True, native
        try:
            return settled_deeply(call(f, *args, **named))
        finally:
            state.reset()
            sys.setrecursionlimit(limit)

    return merged


__all__ = ["State", "flowed"]
