"""Full Jacobians and Hessians."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from ...errors import ArgumentMismatch, hides_frames
from ...ir.instruction import Target, Tree
from ...ir.outputs import Out
from ...ir.pytree import ARRAY, TreeDef, parts_of
from ...ir.tape import Tape
from ..evaluate.call_code import GIVEN
from ..evaluate.chosen import choose, leaves_like
from ..evaluate.direct_calls import KernelAnswer, directly, substituted
from ..evaluate.evaluation import evaluate_request, floats_tree, scalars
from ..evaluate.fast_path import ABSENT, FIRST, Argnums, given
from ..evaluate.request import Request, requested


def jacobian(
    target: Target, x: Tree = ABSENT, /, *args: Tree, argnums: Argnums = FIRST, mode: str | None = None, out: Out = None, **named: Tree
) -> Tree:
    """Jacobian of a function from an array of shape S to an array of shape T.

    Args:
        target: function, Tape, CompiledTape or GuardedTape.
        x, args, named: the point.
        argnums: which argument to differentiate by; a tuple gives a tuple of Jacobians.
        mode: "forward" or "reverse"; unless given, whichever takes fewer sweeps.
        out: array (or tuple of arrays) that receives the Jacobian.

    Returns:
        Array of shape (*T, *S): entry [t, s] is d f[t] / d x[s]. A container of these where f returns one, with None for ints and bools.

    Raises:
        NonScalarOutput: the target returns no float.
        ArgumentMismatch: an unknown mode.

    Cost: min(size of T, size of S) sweeps, all in one pass over the tape. Entries that are zero at every point are not computed, and
        columns or rows without entries in the same places share a sweep.
    """
    verb = "jacobian" if mode is None else f"jacobian {mode}"
    matrix = directly(target, verb, argnums, named, given(x, args), out)
    if matrix is not None:
        return matrix
    if mode not in (None, "forward", "reverse"):
        raise ArgumentMismatch("mode of a Jacobian", got=repr(mode), fix='"forward", "reverse", or None for the cheaper one')
    return _matrix(verb, requested(target, given(x, args), argnums, named), out, _tapes().jacobian_tape, mode)


@hides_frames
def value_and_jacobian(
    target: Target, x: Tree = ABSENT, /, *args: Tree, argnums: Argnums = FIRST, mode: str | None = None, out: Out = None, **named: Tree
) -> tuple[Tree, Tree]:
    """Value and Jacobian, computed together; see td.jacobian."""
    verb = f"value_and_jacobian {mode}"
    found = directly(target, verb, argnums, named, given(x, args), out)
    if found is not None:
        return found
    return _matrix(verb, requested(target, given(x, args), argnums, named), out, _tapes().jacobian_tape, mode, keep=True)


def hessian(target: Target, x: Tree = ABSENT, /, *args: Tree, argnums: Argnums = FIRST, out: Out = None, **named: Tree) -> Tree:
    """Hessian of a scalar function of an array of shape S.

    Args:
        target: function, Tape, CompiledTape or GuardedTape.
        x, args, named: the point.
        argnums: which argument to differentiate by; a tuple gives a tuple of tuples of blocks.
        out: array that receives the Hessian (a tuple of tuples of arrays for several arguments).

    Returns:
        Array of shape (*S, *S).

    Raises:
        NonScalarOutput: the target does not return one real scalar.

    Cost: as many Hessian-vector products as x has entries, all in one pass over the tape; for sparse Hessians, one for each
        group of columns without entries in the same row.
    """
    matrix = directly(target, "hessian", argnums, named, given(x, args), out)
    if matrix is not None:
        return matrix
    return _matrix("hessian", requested(target, given(x, args), argnums, named), out, _tapes().hessian_tape)


@hides_frames
def value_gradient_and_hessian(
    target: Target, x: Tree = ABSENT, /, *args: Tree, argnums: Argnums = FIRST, **named: Tree
) -> tuple[Tree, Tree, Tree]:
    """Value, gradient and Hessian, computed together; see td.hessian."""
    verb = "value_gradient_and_hessian"
    found = directly(target, verb, argnums, named, given(x, args))
    if found is not None:
        return found
    return _matrix(verb, requested(target, given(x, args), argnums, named), None, _tapes().hessian_tape, keep=True)


def _tapes() -> ModuleType:
    """Imported with the first matrix: patterns and colourings would be a tenth of the imports of a first gradient."""
    from ..tapes import matrix_tapes

    return matrix_tapes


def _matrix(
    verb: str, asked: Request, out: Out, make: Callable[..., Tape], mode: str | None = None, *, keep: bool = False
) -> Tree:
    """The blocks of a matrix, nested as in JAX: by result if there are several, then by argument if there are several.

    Args:
        keep: the function's results come before the matrix, and the gradient before a Hessian.
    """
    has_aux, is_hessian = asked.has_aux, make is _tapes().hessian_tape
    chosen = choose(asked.given.target, asked.args, asked.argnums, asked.wrt)
    tree = None if out is None else _tree_of(out)
    into = None if tree is None else leaves_like(tree, out, "out")
    found = evaluate_request(asked, chosen, make, keep, (), into, mode=mode)
    count, first = len(found.wrt), len(found.tape.outputs)
    kept = (first + count * is_hessian) * (keep or has_aux)
    blocks = found.delivered(found.outputs[kept:], into)
    if out is None:
        rows = chosen.tree if is_hessian else floats_tree(found.tape)
        # Derivatives of numbers by numbers are NumPy scalars, as gradients are.
        matrix = KernelAnswer(substituted(rows, chosen.tree), range(kept, len(found.outputs)), scalars(blocks))
    else:
        matrix = KernelAnswer(ARRAY, (GIVEN,), (out,))
    if not keep:
        answer = found.with_aux(has_aux, matrix)
    elif is_hessian:
        answer = found.with_aux(has_aux, found.value(), found.derivatives(chosen, first), matrix)
    else:
        answer = found.with_aux(has_aux, found.value(), matrix)
    return found.remember(verb, asked, answer, (), None if tree is None else (tree, out))


def _tree_of(out: Out) -> TreeDef:
    """The structure of the caller's blocks, nested as the result."""
    found = parts_of(out)
    return ARRAY if found is None else TreeDef(found[0], found[1], tuple(map(_tree_of, found[2])))
