"""Fast path to a gradient: if the arguments match the kernel, call it directly; otherwise `answer`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, NoReturn, overload

import numpy as np

from ...compiler.runtime.status import PENDING, REFUSED
from ...ir.arguments import Constant
from ...ir.instruction import Operand, Target, Tree
from ...ir.outputs import Out
from ...recording.recorder import current_recorder

if TYPE_CHECKING:
    from ...compiler.kernel import Kernel

Argnums = int | Sequence[int]

# The argnums of nearly every call; small integers are shared, and a call that is not recognised takes the full path.
FIRST = 0

# Stands for the first argument of a call that has none.
ABSENT: Tree = inspect.Parameter.empty


def unknown_yet(*_: Tree) -> int:
    """In place of a native function that is not compiled yet."""
    return REFUSED


def given(x: Tree, args: tuple[Tree, ...]) -> tuple[Tree, ...]:
    """The arguments of a call."""
    return () if x is ABSENT else (x, *args)


def only_gradient(answer: tuple[Tree, ...]) -> Tree:
    """The result of td.gradient, from value and gradient, with aux where that was asked for."""
    return answer[1] if len(answer) == 2 else answer[1:]


def with_gradient(answer: tuple[Tree, ...]) -> tuple[Tree, Tree]:
    """The result of td.value_and_gradient."""
    return answer if len(answer) == 2 else ((answer[0], answer[2]), answer[1])


def as_kernels_take(args: Sequence[Tree]) -> list[Operand] | None:
    """td.Constant without its mark, NumPy's numbers as Python's, and arrays in one piece; None if nothing is to be changed.

    The first argument, by which is differentiated, must not be a td.Constant; a kernel checks everything else.
    """
    if type(args[0]) is Constant:
        return None
    changed = False
    given = list(args)
    for k, argument in enumerate(given):
        kind = type(argument)
        if kind is Constant:
            argument = given[k] = argument.value
            kind, changed = type(argument), True
        if kind is np.ndarray:
            if not argument.flags.c_contiguous:
                given[k], changed = np.array(argument, order="C"), True
        elif kind is np.float64:
            given[k], changed = float(argument), True
    return given if changed else None


class FastOperator:
    """The kernel of an operator: called directly, where the arguments match it.

    Attributes:
        note_use: called after every answer.
        returns_tuple: of the kernel's tape.
        structure: of a sparse matrix whose entries are the output.
    """

    __slots__ = ("_call", "_dtype", "_dtypes", "_returns_value", "_shape", "_shapes", "note_use", "returns_tuple", "structure")

    def __init__(self, kernel: Kernel, note_use: Callable[[], None] | None = None) -> None:
        types = kernel.written_types
        self._call, self._returns_value = kernel.call, kernel.returns_value
        self._shapes, self._dtypes = tuple(t.shape for t in types), tuple(t.dtype for t in types)
        # Of the last output, the only one of most operators.
        self._shape, self._dtype = (self._shapes[-1], self._dtypes[-1]) if types else ((), np.dtype(float))
        self.note_use = note_use
        self.returns_tuple = kernel.tape.returns_tuple
        self.structure: object = None

    def output(self, inputs: Sequence[Operand], out: np.ndarray | None = None) -> Operand | None:
        """The array that is the only output, or `out`; None where the arguments do not match or a guard fails.

        As below, but for the lists, which take twice as long as the call of a small kernel.
        """
        if self._returns_value:
            found = self.outputs(inputs) if out is None else None
            return found and found[0]
        target = np.empty(self._shape, self._dtype) if out is None else out
        status = self._call(*inputs, target)
        if type(status) is not float:
            if status == PENDING:
                raise_pending()
            return None
        if self.note_use is not None:
            self.note_use()
        return target if out is not None or self._shape else target[()]

    def outputs(self, inputs: Sequence[Operand], out: np.ndarray | None = None) -> list[Operand] | None:
        """The outputs, the last one in `out` if given; None where the arguments do not match or a guard fails."""
        targets = [np.empty(shape, dtype) for shape, dtype in zip(self._shapes, self._dtypes)]
        if out is not None:
            targets[-1] = out
        status = self._call(*inputs, *targets)
        if type(status) is not float:
            if status == PENDING:
                raise_pending()
            return None
        if self.note_use is not None:
            self.note_use()
        found = [target if target.shape else target[()] for target in targets]
        return [status, *found] if self._returns_value else found


def fast_operator(target: Target, name: str, argnums: Argnums, named: dict[str, Tree]) -> FastOperator | None:
    """The kernel that answered the last call of a verb by the first argument, outside a recording."""
    if argnums is not FIRST or named or current_recorder() is not None:
        return None
    known = getattr(target, "fast_operators", None)
    return known.get(name) if known else None


def raise_pending() -> NoReturn:
    """Raise the exception of user code that a kernel called."""
    # Imported when a kernel has called something, so that `import tapediff` stays fast.
    from ...compiler.runtime import callbacks

    callbacks.raise_pending()


class FastPath:
    """A target with one native function for the value and the gradient by the first argument.

    The verbs in derivatives.py have the same lines written out. td.gradient(c, x, out=g) takes 0.33 µs and the method 0.30; a verb
    that calls the method takes 1.25, as keywords are packed anew.

    Attributes:
        _fast: called with the arguments and the array for the gradient. Returns a float, the value, where it has written the
            gradient; anything else says why not. It checks type, shape and layout of every argument itself.
        _fast_gradient: the same for the gradient alone: any float means that it is written. Often the same function.
        fast_operators: for the next calls of other verbs, by their names, and of gradients by several arguments, by their argnums.
        _shape, _dtype: those of a fresh array for the gradient.
    """

    __slots__ = ()

    _fast: Callable[..., object]
    _fast_gradient: Callable[..., object]
    fast_operators: dict[Hashable, FastOperator]
    _shape: tuple[int, ...]
    _dtype: np.dtype

    def retried(self, args: Sequence[Tree], argnums: Argnums, out: Out, status: object) -> tuple[float, Tree] | None:
        """Value and gradient where the fast path refused nothing but the form of the arguments; None for the full path."""
        if status != REFUSED or argnums is not FIRST or self._fast is unknown_yet:
            return None
        given = as_kernels_take(args)
        if given is None:
            return None
        target = np.empty(self._shape, self._dtype) if out is None else out
        value = self._fast(*given, target)
        if type(value) is not float:
            return None
        return value, target if out is not None or self._shape else target[()]

    def by_several(self, args: Sequence[Tree], argnums: tuple[int, ...]) -> tuple[float, tuple[Tree, ...]] | None:
        """Value and gradients by several arguments, by the kernel that gave them last; None for the full path."""
        fast = self.fast_operators.get(argnums)
        outputs = None if fast is None else fast.outputs(as_kernels_take(args) or args)
        return None if outputs is None else (outputs[0], tuple(outputs[1:]))

    def answer(self, args: Sequence[Tree], argnums: Argnums, out: Out, named: dict[str, Tree], status: object, keep: bool = True) -> Tree:
        """Value and gradient on the full path, and aux where that is asked for.

        Args:
            status: that of the fast path, None if it was not tried.
        """
        raise NotImplementedError

    # As in derivatives.py.
    @overload
    def gradient(self, x: np.ndarray, /, *args: Tree, out: np.ndarray | None = None) -> np.ndarray: ...
    @overload
    def gradient(self, x: float, /, *args: Tree) -> float: ...
    @overload
    def gradient(self, x: Tree = ABSENT, /, *args: Tree, argnums: Argnums = 0, out: Out = None, **named: Tree) -> Tree: ...
    def gradient(self, x: Tree = ABSENT, /, *args: Tree, argnums: Argnums = 0, out: Out = None, **named: Tree) -> Tree:
        """See td.gradient."""
        value = None
        if argnums is FIRST and not named and x is not ABSENT and current_recorder() is None:
            target = np.empty(self._shape, self._dtype) if out is None else out
            value = self._fast_gradient(x, *args, target) if args else self._fast_gradient(x, target)
            if type(value) is float:
                return target if out is not None or self._shape else target[()]
        return only_gradient(self.answer(given(x, args), argnums, out, named, value, False))

    @overload
    def value_and_gradient(
        self, x: np.ndarray, /, *args: Tree, out: np.ndarray | None = None
    ) -> tuple[float, np.ndarray]: ...
    @overload
    def value_and_gradient(self, x: float, /, *args: Tree) -> tuple[float, float]: ...
    @overload
    def value_and_gradient(
        self, x: Tree = ABSENT, /, *args: Tree, argnums: Argnums = 0, out: Out = None, **named: Tree
    ) -> tuple[Tree, Tree]: ...
    def value_and_gradient(
        self, x: Tree = ABSENT, /, *args: Tree, argnums: Argnums = 0, out: Out = None, **named: Tree
    ) -> tuple[Tree, Tree]:
        """See td.value_and_gradient."""
        value = None
        if argnums is FIRST and not named and x is not ABSENT and current_recorder() is None:
            target = np.empty(self._shape, self._dtype) if out is None else out
            value = self._fast(x, *args, target) if args else self._fast(x, target)
            if type(value) is float:
                return value, (target if out is not None or self._shape else target[()])
        return with_gradient(self.answer(given(x, args), argnums, out, named, value))
