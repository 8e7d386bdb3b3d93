"""The verbs: value and derivatives of any target, be it a function, a Tape, a CompiledTape or a GuardedTape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Concatenate, overload

import numpy as np

from ..errors import ArgumentMismatch, hide_frames
from ..functions import mapped
from ..ir.instruction import Target, Tree, UserFunction
from ..ir.tape import Tape
from ..ops.elementwise.structure import STOP_GRADIENT
from ..recording.arrays.tracked import TrackedArray
from ..recording.recorder import current_recorder
from .compiled_tape import CompiledTape
from .evaluate.applied import Applied
from .evaluate.fast_path import ABSENT, FIRST
from .evaluate.function_types import Gradient, P, Scalar, ValueAndGradient, X
from .evaluate.request import is_options
from .guarded_tape import GuardedTape
from .operators import matrices
from .operators.gradients import gradient, value_and_gradient

Argnums = int | Sequence[int]


@overload
def grad(f: Scalar[X, P]) -> Gradient[X, P]: ...
@overload
def grad(f: Callable[P, Tree], argnums: Argnums = FIRST, has_aux: bool = False, **options: Tree) -> Callable[P, Tree]: ...
def grad(f: UserFunction, argnums: Argnums = FIRST, has_aux: bool = False, **options: Tree) -> UserFunction:
    """A function that returns the gradient of f, in autograd's and JAX's spelling.

    Args:
        f: returns a real scalar, or (scalar, aux) with has_aux.
        argnums: which argument to differentiate by; a tuple gives a tuple of gradients. argnames= names them.
        has_aux: f returns a second value, which comes with the gradient: (gradient, aux).
        options: of td.GuardedTape, such as static, merge, check_contents.

    Returns:
        A function of f's arguments. It keeps one GuardedTape, so Python control flow is followed at every call, and f is recorded again
        if a global, a closure, an attribute or an array that it reads has changed.

    Cost: the first calls on a path replay with NumPy; a path that is used often is compiled.
    """
    return _later(gradient, f, argnums, has_aux=has_aux, **options)


@overload
def value_and_grad(f: Scalar[X, P]) -> ValueAndGradient[X, P]: ...
@overload
def value_and_grad(
    f: Callable[P, Tree], argnums: Argnums = FIRST, has_aux: bool = False, **options: Tree
) -> Callable[P, tuple[Tree, Tree]]: ...
def value_and_grad(f: UserFunction, argnums: Argnums = FIRST, has_aux: bool = False, **options: Tree) -> UserFunction:
    """A function that returns (value, gradient) of f; see td.grad. With has_aux: ((value, aux), gradient)."""
    return _later(value_and_gradient, f, argnums, has_aux=has_aux, **options)


# Options of the GuardedTape.
_SETTINGS = (
    "guard", "max_tapes", "compile_after", "name", "on_new_tape", "check_every", "static", "backend", "merge", "memory", "threads",
    "check_contents", "frozen",
)  # fmt: skip

# Compiling does not pay for a function that is differentiated once or twice.
COMPILE_AFTER = 3


@overload
def jacobian(target: CompiledTape[np.ndarray] | GuardedTape[np.ndarray], x: np.ndarray, /, *args: Tree) -> np.ndarray: ...
@overload
def jacobian(target: Callable[P, np.ndarray], /) -> Callable[P, np.ndarray]: ...
@overload
def jacobian(
    target: Tape | CompiledTape | GuardedTape, x: Tree = ABSENT, /, *args: Tree, argnums: Argnums = FIRST, **options: Tree
) -> Tree: ...
@overload
def jacobian(
    target: Callable[Concatenate[np.ndarray, ...], np.ndarray], x: np.ndarray, /, *args: Tree, out: np.ndarray | None = None
) -> np.ndarray: ...
@overload
def jacobian(target: Target, x: Tree = ABSENT, /, *args: Tree, argnums: Argnums = FIRST, **options: Tree) -> Tree: ...
def jacobian(target: Target, x: Tree = ABSENT, /, *args: Tree, argnums: Argnums = FIRST, **options: Tree) -> Tree:
    """Jacobian of a function from an array of shape S to an array of shape T.

    Args:
        target: function, Tape, CompiledTape or GuardedTape. td.jacobian(f) alone is a function that returns the Jacobian of f.
        x, args: the point; further arguments of a function or GuardedTape also by name.
        argnums: which argument to differentiate by; a tuple gives a tuple of Jacobians.
        mode: "forward" or "reverse"; unless given, whichever takes fewer sweeps.
        out: array (or tuple of arrays) that receives the Jacobian.
        argnames, has_aux: as for td.gradient.

    Returns:
        Array of shape (*T, *S): entry [t, s] is d f[t] / d x[s]. A tuple of these where f returns a tuple. (Jacobian, aux) with has_aux.

    Raises:
        NonScalarOutput: the target returns no float.
        ArgumentMismatch: an unknown mode.
        GuardFailed: a Tape or CompiledTape was asked for a path that it does not hold.

    Cost: min(size of T, size of S) sweeps, all in one pass over the tape. Entries that are zero at every point are not computed, and
        columns or rows without entries in the same places share a sweep.
    """
    try:
        if x is ABSENT and is_options(options):
            return _later(matrices.jacobian, target, argnums, **options)
        return matrices.jacobian(target, x, *args, argnums=argnums, **options)
    except Exception as error:
        hide_frames(error)
        raise


@overload
def hessian(target: Target, x: np.ndarray, /, *args: Tree, out: np.ndarray | None = None) -> np.ndarray: ...
@overload
def hessian(target: Target, x: Tree = ABSENT, /, *args: Tree, argnums: Argnums = FIRST, **options: Tree) -> Tree: ...
def hessian(target: Target, x: Tree = ABSENT, /, *args: Tree, argnums: Argnums = FIRST, **options: Tree) -> Tree:
    """Hessian of a scalar function of an array of shape S.

    Args:
        target: function, Tape, CompiledTape or GuardedTape. td.hessian(f) alone is a function that returns the Hessian of f.
        x, args: the point; further arguments of a function or GuardedTape also by name.
        argnums: which argument to differentiate by; a tuple gives a tuple of tuples of blocks.
        out: array that receives the Hessian (a tuple of tuples of arrays for several arguments).
        argnames, has_aux: as for td.gradient.

    Returns:
        Array of shape (*S, *S). (Hessian, aux) with has_aux.

    Raises:
        NonScalarOutput: the target does not return one real scalar.
        GuardFailed: a Tape or CompiledTape was asked for a path that it does not hold.

    Cost: as many Hessian-vector products as x has entries, all in one pass over the tape; for sparse Hessians, one for each
        group of columns without entries in the same row.
    """
    try:
        if x is ABSENT and is_options(options):
            return _later(matrices.hessian, target, argnums, **options)
        return matrices.hessian(target, x, *args, argnums=argnums, **options)
    except Exception as error:
        hide_frames(error)
        raise


@overload
def jacfwd(f: Callable[P, np.ndarray]) -> Callable[P, np.ndarray]: ...
@overload
def jacfwd(f: Callable[P, Tree], argnums: Argnums = FIRST, has_aux: bool = False, **options: Tree) -> Callable[P, Tree]: ...
def jacfwd(f: UserFunction, argnums: Argnums = FIRST, has_aux: bool = False, **options: Tree) -> UserFunction:
    """A function that returns the Jacobian of f by forward sweeps, in JAX's spelling; see td.jacobian."""
    return _later(matrices.jacobian, f, argnums, mode="forward", has_aux=has_aux, **options)


@overload
def jacrev(f: Callable[P, np.ndarray]) -> Callable[P, np.ndarray]: ...
@overload
def jacrev(f: Callable[P, Tree], argnums: Argnums = FIRST, has_aux: bool = False, **options: Tree) -> Callable[P, Tree]: ...
def jacrev(f: UserFunction, argnums: Argnums = FIRST, has_aux: bool = False, **options: Tree) -> UserFunction:
    """A function that returns the Jacobian of f by reverse sweeps, in JAX's spelling; see td.jacobian."""
    return _later(matrices.jacobian, f, argnums, mode="reverse", has_aux=has_aux, **options)


def vmap(f: UserFunction, in_axes: mapped.Axes = 0, out_axes: mapped.Axes = 0, **options: Tree) -> UserFunction:
    """A function that calls f for each row of its arguments, and stacks the results.

    Args:
        f: a function of one row; returns numbers, arrays, or containers of these. It may branch on data: each row takes its own path.
        in_axes: the axis of the rows in all arguments; or a tuple with an entry for each of the first ones: an axis, None for an argument
            that all rows share, or a container of axes with the argument's structure. Further ones have rows along their first axis.
        out_axes: where the results have their rows: an axis, or a container of axes with the result's structure.
        options: of td.GuardedTape, such as static, merge, check_contents.

    Returns:
        A function of arrays with one more axis. It keeps one GuardedTape, as td.grad's does; inside a recording, also of td.grad or of
        another td.vmap, it is one instruction.

    Raises:
        ShapeMismatch: arguments have different numbers of rows, or no such axis.
        ArgumentMismatch: f is no function; axes of another structure than the arguments; no argument with rows.

    Cost: one loop, in SIMD lanes where f allows it, whose derivative is such a loop, too. A number of rows that is new is recorded again.
    Source: the signature is that of jax.vmap, whose out_axes may also be None.

    ```python
    slopes = td.vmap(td.grad(f), in_axes=(0, None))(X, scale)
    ```
    """
    if not callable(f):
        raise ArgumentMismatch("td.vmap takes a function", got=type(f).__name__, fix="td.vmap(f)(X), not td.vmap(f(X))")
    axes: dict[str, Tree] = {"in_axes": in_axes, "out_axes": out_axes}
    settings: Tree = {"compile_after": COMPILE_AFTER, **options}
    return _Mapped(mapped.vmap, f, axes, GuardedTape(Applied(mapped.vmap, f, axes), **settings))


def _later(verb: UserFunction, f: UserFunction, argnums: Argnums, **options: Tree) -> UserFunction:
    """A function of f's arguments with one GuardedTape of f, so that Python control flow is followed at every call."""
    is_plain = callable(f) and not isinstance(f, (Tape, CompiledTape, GuardedTape))
    given = {name: options.pop(name) for name in _SETTINGS if name in options} if is_plain else {}
    settings: Tree = {"compile_after": COMPILE_AFTER, "has_aux": bool(options.get("has_aux")), **given}
    return _Kept(verb, f, {"argnums": argnums, **options}, GuardedTape(f, **settings) if is_plain else f)


class _Kept(Applied):
    """A verb applied to a function, which outside recordings takes its GuardedTape: what td.grad and the like return."""

    def __init__(self, verb: UserFunction, f: UserFunction, options: dict[str, Tree], kept: Target) -> None:
        super().__init__(verb, f, options)
        self._kept = kept

    def __call__(self, *args: Tree, **named: Tree) -> Tree:
        try:
            return self._verb(self.f if current_recorder() is not None else self._kept, *args, **self._options, **named)
        except Exception as error:
            hide_frames(error)
            raise

    def _parts(self) -> tuple[Tree, ...]:
        return (*super()._parts(), self._kept)


class _Mapped(_Kept):
    """A function over rows, which outside recordings has a GuardedTape."""

    def __call__(self, *args: Tree, **named: Tree) -> Tree:
        try:
            return Applied.__call__(self, *args, **named) if current_recorder() is not None else self._kept(*args, **named)
        except Exception as error:
            hide_frames(error)
            raise


def stop_gradient(x: Tree) -> Tree:
    """The value of x with no derivative: gradients treat it as a constant, guards and replays still recompute it.

    Args:
        x: float, array or tracked array.

    Returns:
        A float or an array of its own: writes to it leave x alone.
    """
    if type(x) is TrackedArray:
        return STOP_GRADIENT(x)
    return x.copy() if isinstance(x, np.ndarray) else x
