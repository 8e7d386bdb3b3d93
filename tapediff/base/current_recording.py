"""Which recording the code of this thread or task belongs to."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

CURRENT: ContextVar[Any] = ContextVar("tapediff_recorder", default=None)

# Asked at every call of a compiled tape, so that it is no Python function.
current_recorder: Callable[[], Any] = CURRENT.get
