"""The recording that the code of this thread or task belongs to."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeAlias

import numpy as np

# A `recording.recorder.Recorder`, whose folder imports this one.
Recording: TypeAlias = Any

CURRENT: ContextVar[Recording] = ContextVar("tapediff_recorder", default=None)

# Called at every call of a compiled tape, so not a Python function.
current_recorder: Callable[[], Recording] = CURRENT.get

# The context variable of np.errstate. It is private: without it each operation calls np.geterr, which takes 0.8 µs, not 0.03.
_VARIABLE = getattr(getattr(getattr(np, "_core", None), "umath", None), "_extobj_contextvar", None)


def _without_variable(_default: object) -> object:
    return tuple(np.geterr().values())


error_state: Callable[[object], object] = _without_variable if _VARIABLE is None else _VARIABLE.get

# Placeholder for missing filters of warnings.
NO_FILTERS = (None,)


def failure_may_be_caught() -> bool:
    """True if user code may catch the LinAlgError of a factorisation that is recorded now.

    If so, a guard checks the failure, and the path on which it fails is recorded, too. Otherwise no guard is needed: the error ends the
    recorded function as it ends the plain one.
    """
    recorder = current_recorder()
    return recorder is not None and recorder.concrete and recorder.handler_of(np.linalg.LinAlgError) is not None
