"""Value and gradient: the verbs, which are methods of targets with kernels, and an operator by parts of arguments and with aux."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import overload

import numpy as np

from ...compiler.runtime.status import KEPT, PENDING
from ...errors import ArgumentMismatch, TrackedValueEscaped, hide_frames
from ...ir.containers import Container, flatten_argument
from ...ir.instruction import Operand, Target, Tree, ValueType, is_tracked
from ...ir.outputs import Out, check_out
from ...ir.pytree import ARRAY, holds_tracked, unflatten
from ...recording.recorder import current_recorder
from ..evaluate.call_code import GuardValue, raise_pending
from ..evaluate.chosen import choose, require_own_arrays
from ..evaluate.direct_calls import GRADIENT, VALUE_AND_GRADIENT, DirectCalls, gradient_directly, joined
from ..evaluate.evaluation import evaluate, evaluate_request
from ..evaluate.fast_path import ABSENT, FIRST, Argnums, given, unknown_yet
from ..evaluate.request import Given, Request, requested
from ..tapes.gradient_tape import joint_tape
from ..tapes.operator_tapes import Operator, values_tape


# For editors: the gradient by an array, a number or a container has that type. All other cases depend on options.
@overload
def gradient(target: Target, x: np.ndarray, /, *args: Tree, out: np.ndarray | None = None) -> np.ndarray: ...
@overload
def gradient(target: Target, x: float, /, *args: Tree) -> float: ...
@overload
def gradient(target: Target, x: Container, /, *args: Tree, out: Container | None = None) -> Container: ...
@overload
def gradient(target: Target, x: Tree = ABSENT, /, *args: Tree, argnums: Argnums = FIRST, out: Out = None, **named: Tree) -> Tree: ...
def gradient(target: Target, x: Tree = ABSENT, /, *args: Tree, argnums: Argnums = FIRST, out: Out = None, **named: Tree) -> Tree:
    """Gradient of a real scalar function.

    Args:
        target: function, Tape, CompiledTape or GuardedTape that returns one real scalar.
        x, args: the point: floats or float arrays; td.Constant(y) for run-time data.
        argnums: which argument to differentiate by, -1 is the last; a tuple or list gives a tuple of gradients.
        out: array (or tuple or container of arrays) that receives the gradient; untouched when anything fails.
        named: further arguments by name; argnames= in place of argnums; has_aux=True, where the target returns (value, aux);
            wrt=, a part of the argument; accumulate=True, to add to `out` instead of writing it.

    Returns:
        Array of the argument's shape and dtype: `out`, or a fresh one that no later call touches. By a container, a container of the same
        structure, with None for integers, masks and td.Constant in it. (gradient, aux) with has_aux.

    Raises:
        NonScalarOutput: the target does not return one real scalar; td.jacobian takes arrays.
        GuardFailed: a Tape or CompiledTape was asked for a path it does not hold.
        ShapeMismatch, DtypeMismatch: an argument or `out` differs from the recorded one.

    Cost: two to four times the function itself; a function as target is recorded at every call.
    """
    try:
        if not isinstance(target, FastPath):
            return _answer(target, given(x, args), argnums, out, named, False)
        value = None
        if argnums is FIRST and not named and x is not ABSENT and target._shape is not None and current_recorder() is None:
            into = np.empty(target._shape, target._dtype) if out is None else out
            value = target._fast_gradient(x, *args, into) if args else target._fast_gradient(x, into)
            if type(value) is float:
                return into if out is not None or target._shape else into[()]
        return target.answer(given(x, args), argnums, out, named, value, False)
    except Exception as error:
        hide_frames(error)
        raise


@overload
def value_and_gradient(
    target: Target, x: np.ndarray, /, *args: Tree, out: np.ndarray | None = None
) -> tuple[float, np.ndarray]: ...
@overload
def value_and_gradient(target: Target, x: float, /, *args: Tree) -> tuple[float, float]: ...
@overload
def value_and_gradient(target: Target, x: Container, /, *args: Tree, out: Container | None = None) -> tuple[float, Container]: ...
@overload
def value_and_gradient(
    target: Target, x: Tree = ABSENT, /, *args: Tree, argnums: Argnums = FIRST, out: Out = None, **named: Tree
) -> tuple[Tree, Tree]: ...
def value_and_gradient(
    target: Target, x: Tree = ABSENT, /, *args: Tree, argnums: Argnums = FIRST, out: Out = None, **named: Tree
) -> tuple[Tree, Tree]:
    """Value and gradient of a real scalar function; arguments and errors as td.gradient. ((value, aux), gradient) with has_aux."""
    try:
        if not isinstance(target, FastPath):
            return _answer(target, given(x, args), argnums, out, named, True)
        value = None
        if argnums is FIRST and not named and x is not ABSENT and target._shape is not None and current_recorder() is None:
            into = np.empty(target._shape, target._dtype) if out is None else out
            value = target._fast(x, *args, into) if args else target._fast(x, into)
            if type(value) is float:
                return value, (into if out is not None or target._shape else into[()])
        return target.answer(given(x, args), argnums, out, named, value, True)
    except Exception as error:
        hide_frames(error)
        raise


class FastPath:
    """A target with one native function for the value and the gradient by the first argument.

    Its methods are the verbs: one that called another would take 0.9 µs more, as keywords are packed again.

    Attributes:
        _fast: called with the arguments and the array for the gradient. Returns the value, a float, if it has written the
            gradient; any other result says why not. It checks type, shape and layout of every argument itself.
        _fast_gradient: the same for the gradient alone: any float means success. Often the same function. _fast_value: for the value.
        direct_calls: calls of other forms and verbs that a kernel has answered before.
        _shape, _dtype: of a fresh gradient array. The shape is None if there is no such function yet.
    """

    __slots__ = ()

    _fast: Callable[..., object]
    _fast_gradient: Callable[..., object]
    _fast_value: Callable[..., object]
    direct_calls: DirectCalls
    _shape: tuple[int, ...] | None
    _dtype: np.dtype

    def __call__(self, *args: Tree, **named: Tree) -> Tree:
        raise NotImplementedError

    def forget_calls(self) -> None:
        """Take the full path until a kernel has answered."""
        self._fast = self._fast_gradient = self._fast_value = unknown_yet
        self.direct_calls = DirectCalls()

    def answer(self, args: tuple[Tree, ...], argnums: Argnums, out: Out, named: dict[str, Tree], status: Tree, keep: bool) -> Tree:
        """Gradient, or value and gradient if `keep`, in a direct call or on the full path.

        Args:
            status: of the fast path, None if it was not tried.
        """
        if named and "accumulate" in named:
            return _accumulated(self, args, argnums, out, named, keep)
        if type(status) is not GuardValue:
            if type(status) is int and status in (KEPT, PENDING):
                self._raise_kept(status)
            status = gradient_directly(self, argnums, named, args, out, keep)
            if status is not None and type(status) is not GuardValue:
                return status
        return gradient_answer(requested(self, args, argnums, named), out, keep, status)

    def refresh(self) -> None:
        """Let no result be computed from an environment that has changed; called unless a kernel has compared."""

    def take_error(self, x: Tree = None) -> BaseException | None:
        """See NativeCalls."""
        raise NotImplementedError

    def _raise_kept(self, status: int) -> None:
        """Raise the exception of user code that native code called."""
        if status == PENDING:
            raise_pending()
        if (raised := self.take_error()) is not None:
            raise raised

    gradient = gradient
    value_and_gradient = value_and_gradient


def _answer(target: Target, args: tuple[Tree, ...], argnums: Argnums, out: Out, named: dict[str, Tree], keep: bool) -> Tree:
    """Gradient, or value and gradient if `keep`, of a function or Tape."""
    if "accumulate" in named:
        return _accumulated(target, args, argnums, out, named, keep)
    return gradient_answer(requested(target, args, argnums, named), out, keep)


def _accumulated(target: Target, args: tuple[Tree, ...], argnums: Argnums, out: Out, named: dict[str, Tree], keep: bool) -> Tree:
    """Add the gradient to the caller's arrays, which are checked before one of them changes."""
    verb: Callable[..., Tree] = value_and_gradient if keep else gradient
    options = {name: value for name, value in named.items() if name != "accumulate"}
    if not named["accumulate"]:
        return verb(target, *args, argnums=argnums, out=out, **options)
    if out is None:
        raise ArgumentMismatch("accumulate=True adds to the arrays given as out=", got="no out=", fix="out=np.zeros(x.shape)")
    arrays, tree = flatten_argument(out)
    if any(map(is_tracked, arrays)) or holds_tracked(args):
        raise TrackedValueEscaped("accumulate=True adds to plain arrays, which cannot hold tracked values",
                                  fix="inside a recording: total = total + td.gradient(f, x)")  # fmt: skip
    made = [np.empty_like(array) if isinstance(array, np.ndarray) else array for array in arrays]
    found = verb(target, *args, argnums=argnums, out=unflatten(tree, made), **options)
    if tree != ARRAY:
        require_own_arrays(tree, out)
    check_out(arrays, [ValueType(array.shape, array.dtype) for array in made])
    _add(arrays, made)
    has_aux = bool(options.get("has_aux"))
    return (found[0], out) if keep else (out, found[1]) if has_aux else out


@np.errstate(all="ignore")
def _add(arrays: Sequence[Operand], leaves: Sequence[Operand]) -> None:
    for array, leaf in zip(arrays, leaves):
        array += leaf


def gradient_answer(asked: Request, out: Out, keep: bool, guarded: GuardValue | None = None) -> Tree:
    """Gradient, or value and gradient if `keep`, on the full path, which takes any layout, lists, td.Constant, several gradients, aux.

    Everything is checked before it is computed.

    Args:
        guarded: the value of the user's guard if it was called already.
    """
    chosen = choose(asked.given.target, asked.args, asked.argnums, asked.wrt)
    has_aux, is_whole = asked.has_aux, asked.wrt is None
    found = evaluate_request(asked, chosen, joint_tape, keep, (), chosen.outs(out), guarded)
    first = len(found.outputs) - len(found.wrt)
    gradient = found.derivatives(chosen, first, out, as_scalars=is_whole and not has_aux)
    taken = None if out is None else (chosen.tree_like(out), out)
    if has_aux or not first:
        answer = found.with_aux(has_aux, found.value(), gradient) if keep else found.with_aux(has_aux, gradient)
        return found.remember(VALUE_AND_GRADIENT if keep else GRADIENT, asked, answer, (), taken)
    value = found.value()
    if found.kernel is None:
        return (value.result(), gradient.result()) if keep else gradient.result()
    # The gradient comes with the value, so calls of either verb may run this kernel.
    both = found.remember(VALUE_AND_GRADIENT, asked, joined([value, gradient]), (), taken)
    return both if keep else both[1]


def value_and_aux(target: Target, args: tuple[Tree, ...], given: Given) -> tuple[Tree, Tree]:
    """The result of a CompiledTape or GuardedTape with aux."""
    found = evaluate(target, args, (), lambda wrt: Operator(values_tape, wrt, True, has_aux=True))
    return found.remember("value", Request(args, (), given), joined([found.value(), found.aux()]))
