"""Which recording the code of this thread or task belongs to."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeAlias

import numpy as np

# A `recording.recorder.Recorder`, which stands in a folder that imports this one.
Recording: TypeAlias = Any

CURRENT: ContextVar[Recording] = ContextVar("tapediff_recorder", default=None)

# Asked at every call of a compiled tape, so that it is no Python function.
current_recorder: Callable[[], Recording] = CURRENT.get


def failure_may_be_caught() -> bool:
    """Whether user code may catch the LinAlgError of a factorisation that is recorded now.

    Then whether it fails is a guard like any other, and the path on which it does is recorded, too. Elsewhere it costs nothing:
    the error ends what is recorded as it ends the plain function.
    """
    recorder = current_recorder()
    return recorder is not None and recorder.concrete and recorder.handler_of(np.linalg.LinAlgError) is not None
