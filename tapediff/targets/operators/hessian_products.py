"""Products with Hessians."""

from __future__ import annotations

from typing import overload

import numpy as np

from ...ir.instruction import Target, Tree
from ...ir.outputs import Out
from ..evaluate.chosen import Chosen, choose
from ..evaluate.evaluation import Evaluation, evaluate
from ..evaluate.fast_path import Argnums, fast_operator
from ..evaluate.request import Request, requested
from ..tapes import operator_tapes as tapes
from ..tapes.operator_tapes import Operator
from .products import count_of


@overload
def hvp(target: Target, x: np.ndarray, v: np.ndarray, /, *args: Tree, out: np.ndarray | None = None) -> np.ndarray: ...
@overload
def hvp(target: Target, x: Tree, v: Tree, /, *args: Tree, argnums: Argnums = 0, out: Out = None, **named: Tree) -> Tree: ...
def hvp(target: Target, x: Tree, v: Tree, /, *args: Tree, argnums: Argnums = 0, out: Out = None, **named: Tree) -> Tree:
    """Hessian of a scalar function times a vector, without forming the Hessian.

    Args:
        target: function, Tape, CompiledTape or GuardedTape; maps its arguments to a real scalar.
        x: the first argument.
        v: the vector, of the shape of the argument that `argnums` names, for several of them a tuple; with one axis more in front, many.
        args, named: further arguments, by position and by name.
        argnums: which argument to differentiate by; a tuple gives a tuple of products, of the Hessian by all of them.
        out: array (or tuple or container of arrays) that receives the product.

    Returns:
        Array of the shape of v, in the units of f(x) / x.

    Raises:
        NonScalarOutput: the target does not return one real scalar.
        ShapeMismatch: v has another shape than x.
        GuardFailed: a Tape or CompiledTape was asked for a path that it does not hold.

    Cost: about two to three gradients, whatever the size of x.
    Source: Pearlmutter (1994), Neural Computation 6(1); here the gradient of a tape is a tape, whose pullback is taken.
    """
    fast = fast_operator(target, "hvp", argnums, named)
    if fast is not None and (product := fast.output((x, *args, v), out)) is not None:
        return product
    asked = requested(target, (x, *args), argnums, named)
    found, product, count, _ = _hvp(target, asked, v, out, keep=asked.has_aux)
    if count is None:
        found.remember(target, "hvp", argnums, named)
    return found.with_aux(asked.has_aux, product)


def value_gradient_and_hvp(
    target: Target, x: Tree, v: Tree, /, *args: Tree, argnums: Argnums = 0, **named: Tree
) -> tuple[Tree, Tree, Tree]:
    """Value, gradient, and the Hessian times a vector, computed together; see td.hvp."""
    fast = fast_operator(target, "value, gradient and hvp", argnums, named)
    if fast is not None and (outputs := fast.outputs((x, *args, v))) is not None:
        return tuple(outputs)
    asked = requested(target, (x, *args), argnums, named)
    found, product, count, chosen = _hvp(target, asked, v, None, keep=True)
    if count is None:
        found.remember(target, "value, gradient and hvp", argnums, named)
    return found.with_aux(asked.has_aux, found.value(), chosen.nested(chosen.plain(found.gradients())), product)


def _hvp(target: Target, asked: Request, v: Tree, out: Out, keep: bool) -> tuple[Evaluation, Tree, int | None, Chosen]:
    chosen = choose(target, asked.args, asked.argnums, asked.wrt)
    vectors = chosen.flat(v, "the vector")
    count = count_of(vectors, chosen.shapes)
    build = lambda wrt: Operator(  # noqa: E731 -- its name is its use
        tapes.hvp_tape, wrt, keep, count, len(vectors), has_aux=asked.has_aux, parts=chosen.parts
    )
    into = out if out is None or chosen.is_plain else chosen.flat(out, "out")
    found = evaluate(target, asked.args, chosen.numbers, build, vectors, into, not chosen.is_plain, asked.has_aux)
    product = found.delivered(found.outputs[len(found.outputs) - len(vectors) :], into, not chosen.is_plain)
    if not chosen.is_plain:
        product = out if out is not None else chosen.nested(chosen.plain(product))
    return found, product, count, chosen
