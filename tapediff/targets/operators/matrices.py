"""Jacobians and Hessians as a whole."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from ...errors import ArgumentMismatch
from ...ir.containers import structured
from ...ir.instruction import Operand, Target, Tree
from ...ir.outputs import Out
from ...ir.pytree import parts_of
from ...ir.tape import Tape
from ..evaluate.chosen import Chosen, choose
from ..evaluate.evaluation import Evaluation, evaluate
from ..evaluate.fast_path import ABSENT, Argnums, fast_operator, given
from ..evaluate.request import Request, requested
from ..tapes.operator_tapes import Operator


def jacobian(
    target: Target, x: Tree = ABSENT, /, *args: Tree, argnums: Argnums = 0, mode: str | None = None, out: Out = None, **named: Tree
) -> Tree:
    """Jacobian of a function from an array of shape S to an array of shape T.

    Args:
        target: function, Tape, CompiledTape or GuardedTape.
        x, args, named: the point.
        argnums: which argument to differentiate by; a tuple gives a tuple of Jacobians.
        mode: "forward" or "reverse"; unless given, whichever takes fewer sweeps.
        out: array (or tuple of arrays) that receives the Jacobian.

    Returns:
        Array of shape (*T, *S): entry [t, s] is d f[t] / d x[s]. A tuple of these where f returns a tuple.

    Raises:
        NonScalarOutput: the target returns no float.
        ArgumentMismatch: an unknown mode.

    Cost: min(size of T, size of S) sweeps, all in one pass over the tape; entries that are zero at every point are not computed, and
        columns or rows that have no entries at the same places share a sweep.
    """
    fast = fast_operator(target, f"jacobian {mode}", argnums, named)
    if fast is not None and (matrix := fast.output((x, *args), out)) is not None:
        return matrix
    if mode not in (None, "forward", "reverse"):
        raise ArgumentMismatch("mode of a Jacobian", got=repr(mode), fix='"forward", "reverse", or None for the cheaper one')
    asked = requested(target, given(x, args), argnums, named)
    found, blocks, _ = _matrix(target, asked, out, _tapes().jacobian_tape, asked.has_aux, mode)
    if not found.tape.returns_tuple:
        found.remember(target, f"jacobian {mode}", argnums, named)
    return found.with_aux(asked.has_aux, blocks)


def value_and_jacobian(
    target: Target, x: Tree = ABSENT, /, *args: Tree, argnums: Argnums = 0, mode: str | None = None, out: Out = None, **named: Tree
) -> tuple[Tree, Tree]:
    """Value and Jacobian, computed together; see td.jacobian."""
    asked = requested(target, given(x, args), argnums, named)
    found, blocks, _ = _matrix(target, asked, out, _tapes().jacobian_tape, True, mode)
    return found.with_aux(asked.has_aux, found.value(), blocks)


def hessian(target: Target, x: Tree = ABSENT, /, *args: Tree, argnums: Argnums = 0, out: Out = None, **named: Tree) -> Tree:
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

    Cost: as many Hessian-vector products as x has entries, all in one pass over the tape; of sparse Hessians, as many as there are
        groups of columns without entries in the same row.
    """
    fast = fast_operator(target, "hessian", argnums, named)
    if fast is not None and (matrix := fast.output((x, *args), out)) is not None:
        return matrix
    asked = requested(target, given(x, args), argnums, named)
    found, blocks, _ = _matrix(target, asked, out, _tapes().hessian_tape, asked.has_aux, None)
    found.remember(target, "hessian", argnums, named)
    return found.with_aux(asked.has_aux, blocks)


def value_gradient_and_hessian(
    target: Target, x: Tree = ABSENT, /, *args: Tree, argnums: Argnums = 0, **named: Tree
) -> tuple[Tree, Tree, Tree]:
    """Value, gradient and Hessian, computed together; see td.hessian."""
    fast = fast_operator(target, "value, gradient and hessian", argnums, named)
    if fast is not None and (outputs := fast.outputs((x, *args))) is not None:
        return tuple(outputs)
    asked = requested(target, given(x, args), argnums, named)
    found, blocks, chosen = _matrix(target, asked, None, _tapes().hessian_tape, True, None)
    found.remember(target, "value, gradient and hessian", argnums, named)
    return found.with_aux(asked.has_aux, found.value(), chosen.nested(chosen.plain(found.gradients())), blocks)


def _tapes() -> ModuleType:
    """Imported with the first matrix: with its patterns and colours it is a tenth of what a first gradient would import."""
    from ..tapes import matrix_tapes

    return matrix_tapes


def _matrix(
    target: Target, asked: Request, out: Out, make: Callable[..., Tape], keep: bool, mode: str | None
) -> tuple[Evaluation, Tree, Chosen]:
    """The blocks of a matrix, nested as JAX nests them: by result, where there are several, then by argument, where there are."""
    chosen = choose(target, asked.args, asked.argnums, asked.wrt)
    build = lambda wrt: Operator(make, wrt, keep, mode=mode, has_aux=asked.has_aux, parts=chosen.parts)  # noqa: E731 -- its name is its use
    flat = None if out is None else _flat(out)
    found = evaluate(target, asked.args, chosen.numbers, build, (), flat, True, asked.has_aux)
    is_hessian = make is _tapes().hessian_tape
    count = len(found.wrt)
    kept = (len(found.tape.outputs) + count * is_hessian) * keep
    blocks = found.delivered(found.outputs[kept:], flat, True)
    if out is not None:
        return found, out, chosen
    rows = [chosen.nested(blocks[k : k + count]) for k in range(0, len(blocks), count)]
    if is_hessian:
        return found, chosen.nested(rows), chosen
    return found, structured(found.tape.result, found.tape.returns_tuple, rows), chosen


def _flat(out: Out) -> list[Operand]:
    """The caller's blocks, in order: nested as the result is."""
    found = parts_of(out)
    return [out] if found is None else [array for part in found[2] for array in _flat(part)]
