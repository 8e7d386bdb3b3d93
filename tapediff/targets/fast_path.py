"""Fast path to a gradient: if the arguments match the kernel, call it directly; otherwise `answer`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..compiler.runtime.status import REFUSED
from ..recording.recorder import current_recorder

Argnums = int | Sequence[int]

# The argnums of nearly every call; small integers are shared, and a call that is not recognised takes the full path.
FIRST = 0

# Stands for the first argument of a call that has none.
ABSENT: Any = inspect.Parameter.empty


def unknown_yet(*_: Any) -> int:
    """In place of a native function that is not compiled yet."""
    return REFUSED


def given(x: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a call."""
    return () if x is ABSENT else (x, *args)


class FastPath:
    """A target with one native function for the value and the gradient by the first argument.

    The verbs in derivatives.py have the same lines written out. Of the 0.16 µs that td.gradient(c, x, out=g) takes, a verb that
    calls the method adds 0.25, as keywords are packed anew; methods that are the verbs themselves add 0.02, as they test for a target.

    Attributes:
        _fast: called with the arguments and the array for the gradient. Returns a float, the value, where it has written the
            gradient; anything else says why not. It checks type, shape and layout of every argument itself.
        _shape, _dtype: those of a fresh array for the gradient.
    """

    __slots__ = ()

    _fast: Callable[..., Any]
    _shape: tuple[int, ...]
    _dtype: np.dtype

    def answer(self, args: Sequence[Any], argnums: Argnums, out: Any, named: dict[str, Any], status: Any) -> Any:
        """Value and gradient on the full path; `status` is that of the fast path, None if it was not tried."""
        raise NotImplementedError

    def gradient(self, x: Any = ABSENT, /, *args: Any, argnums: Argnums = 0, out: Any = None, **named: Any) -> Any:
        """See td.gradient."""
        value = None
        if argnums is FIRST and not named and x is not ABSENT and current_recorder() is None:
            target = np.empty(self._shape, self._dtype) if out is None else out
            value = self._fast(x, *args, target) if args else self._fast(x, target)
            if type(value) is float:
                return target if out is not None or self._shape else target[()]
        return self.answer(given(x, args), argnums, out, named, value)[1]

    def value_and_gradient(
        self, x: Any = ABSENT, /, *args: Any, argnums: Argnums = 0, out: Any = None, **named: Any
    ) -> tuple[Any, Any]:
        """See td.value_and_gradient."""
        value = None
        if argnums is FIRST and not named and x is not ABSENT and current_recorder() is None:
            target = np.empty(self._shape, self._dtype) if out is None else out
            value = self._fast(x, *args, target) if args else self._fast(x, target)
            if type(value) is float:
                return value, (target if out is not None or self._shape else target[()])
        return self.answer(given(x, args), argnums, out, named, value)
