"""The merged form of a function: recorded once for all its paths."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from ..base.current_recording import current_recorder
from .callables import call
from .choices import settled
from .fork import in_side
from .natives import native
from .values import State, state

# Blocks of nested statements are functions: Python's limit is for programs without them.
DEPTH = 20_000


def flowed(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives what `f` gives; a recording of it holds all paths that can be joined."""

    @functools.wraps(f)
    def merged(*args: Any, **named: Any) -> Any:
        recorder = current_recorder()
        if recorder is None or state.is_recording:
            return f(*args, **named)
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, DEPTH))
        state.reset()
        state.is_recording, state.native = True, native
        recorder.asked = in_side
        try:
            return _plain(call(f, *args, **named))
        finally:
            state.reset()
            recorder.asked = None
            sys.setrecursionlimit(limit)

    return merged


def _plain(result: Any) -> Any:
    """A result without choices."""
    result = settled(result)
    if isinstance(result, (tuple, list)) and type(result) in (tuple, list):
        return type(result)(map(_plain, result))
    if type(result) is dict:
        return {key: _plain(value) for key, value in result.items()}
    return result


__all__ = ["State", "flowed"]
