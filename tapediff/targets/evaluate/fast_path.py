"""Fast path to a gradient: if the arguments match the kernel, call it directly; otherwise `answer`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import overload

import numpy as np

from ...compiler.runtime.status import REFUSED
from ...ir.containers import Container
from ...ir.instruction import Tree
from ...ir.outputs import Out
from ...recording.recorder import current_recorder
from .direct_calls import FIRST, DirectCalls

Argnums = int | Sequence[int]

# Marks a missing first argument.
ABSENT: Tree = inspect.Parameter.empty


def unknown_yet(*_: Tree) -> int:
    """Stub for a native function that is not compiled yet."""
    return REFUSED


def given(x: Tree, args: tuple[Tree, ...]) -> tuple[Tree, ...]:
    """The arguments of a call."""
    return () if x is ABSENT else (x, *args)


class FastPath:
    """A target with one native function for the value and the gradient by the first argument.

    The verbs in derivatives.py repeat these lines: td.gradient(c, x, out=g) takes 0.33 µs and the method 0.30; a verb
    that calls the method takes 1.25, as keywords are packed again.

    Attributes:
        _fast: called with the arguments and the array for the gradient. Returns the value, a float, if it has written the
            gradient; any other result says why not. It checks type, shape and layout of every argument itself.
        _fast_gradient: the same for the gradient alone: any float means success. Often the same function.
        direct_calls: calls of other forms and verbs that a kernel has answered before.
        _shape, _dtype: of a fresh gradient array. The shape is None if there is no such function yet.
    """

    __slots__ = ()

    _fast: Callable[..., object]
    _fast_gradient: Callable[..., object]
    direct_calls: DirectCalls
    _shape: tuple[int, ...] | None
    _dtype: np.dtype

    def answer(self, args: tuple[Tree, ...], argnums: Argnums, out: Out, named: dict[str, Tree], status: Tree, keep: bool) -> Tree:
        """Gradient, or value and gradient if `keep`, in a direct call or on the full path.

        Args:
            status: of the fast path, None if it was not tried.
        """
        raise NotImplementedError

    # As in derivatives.py.
    @overload
    def gradient(self, x: np.ndarray, /, *args: Tree, out: np.ndarray | None = None) -> np.ndarray: ...
    @overload
    def gradient(self, x: float, /, *args: Tree) -> float: ...
    @overload
    def gradient(self, x: Container, /, *args: Tree, out: Container | None = None) -> Container: ...
    @overload
    def gradient(self, x: Tree = ABSENT, /, *args: Tree, argnums: Argnums = FIRST, out: Out = None, **named: Tree) -> Tree: ...
    def gradient(self, x: Tree = ABSENT, /, *args: Tree, argnums: Argnums = FIRST, out: Out = None, **named: Tree) -> Tree:
        """See td.gradient."""
        value = None
        if argnums is FIRST and not named and x is not ABSENT and self._shape is not None and current_recorder() is None:
            target = np.empty(self._shape, self._dtype) if out is None else out
            value = self._fast_gradient(x, *args, target) if args else self._fast_gradient(x, target)
            if type(value) is float:
                return target if out is not None or self._shape else target[()]
        return self.answer(given(x, args), argnums, out, named, value, False)

    @overload
    def value_and_gradient(
        self, x: np.ndarray, /, *args: Tree, out: np.ndarray | None = None
    ) -> tuple[float, np.ndarray]: ...
    @overload
    def value_and_gradient(self, x: float, /, *args: Tree) -> tuple[float, float]: ...
    @overload
    def value_and_gradient(self, x: Container, /, *args: Tree, out: Container | None = None) -> tuple[float, Container]: ...
    @overload
    def value_and_gradient(
        self, x: Tree = ABSENT, /, *args: Tree, argnums: Argnums = FIRST, out: Out = None, **named: Tree
    ) -> tuple[Tree, Tree]: ...
    def value_and_gradient(
        self, x: Tree = ABSENT, /, *args: Tree, argnums: Argnums = FIRST, out: Out = None, **named: Tree
    ) -> tuple[Tree, Tree]:
        """See td.value_and_gradient."""
        value = None
        if argnums is FIRST and not named and x is not ABSENT and self._shape is not None and current_recorder() is None:
            target = np.empty(self._shape, self._dtype) if out is None else out
            value = self._fast(x, *args, target) if args else self._fast(x, target)
            if type(value) is float:
                return value, (target if out is not None or self._shape else target[()])
        return self.answer(given(x, args), argnums, out, named, value, True)
