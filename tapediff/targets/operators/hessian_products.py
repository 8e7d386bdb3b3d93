"""Products with Hessians."""

from __future__ import annotations

from typing import overload

import numpy as np

from ...errors import hide_frames, hides_frames
from ...ir.instruction import Target, Tree
from ...ir.outputs import Out
from ..evaluate.chosen import choose
from ..evaluate.direct_calls import directly
from ..evaluate.evaluation import evaluate_request
from ..evaluate.fast_path import FIRST, Argnums
from ..evaluate.request import Request, requested
from ..tapes.operator_tapes import hvp_tape
from .products import count_of


@overload
def hvp(target: Target, x: np.ndarray, v: np.ndarray, /, *args: Tree, out: np.ndarray | None = None) -> np.ndarray: ...
@overload
def hvp(target: Target, x: Tree, v: Tree, /, *args: Tree, argnums: Argnums = FIRST, out: Out = None, **named: Tree) -> Tree: ...
def hvp(target: Target, x: Tree, v: Tree, /, *args: Tree, argnums: Argnums = FIRST, out: Out = None, **named: Tree) -> Tree:
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
    Source: Pearlmutter (1994), Neural Computation 6(1); here: the pullback of the gradient, which is a tape.
    """
    try:
        product = directly(target, "hvp", argnums, named, (x, *args, v), out)
        if product is not None:
            return product
        return _hvp("hvp", requested(target, (x, *args), argnums, named), v, out)
    except Exception as error:
        hide_frames(error)
        raise


@hides_frames
def value_gradient_and_hvp(
    target: Target, x: Tree, v: Tree, /, *args: Tree, argnums: Argnums = FIRST, **named: Tree
) -> tuple[Tree, Tree, Tree]:
    """Value, gradient, and the Hessian times a vector, computed together; see td.hvp."""
    found = directly(target, "value_gradient_and_hvp", argnums, named, (x, *args, v))
    if found is not None:
        return found
    return _hvp("value_gradient_and_hvp", requested(target, (x, *args), argnums, named), v, None)


def _hvp(verb: str, asked: Request, v: Tree, out: Out) -> Tree:
    chosen, has_aux, keep = choose(asked.given.target, asked.args, asked.argnums, asked.wrt), asked.has_aux, verb != "hvp"
    vectors = chosen.flat(v, "the vector")
    count = count_of(vectors, chosen.shapes)
    found = evaluate_request(asked, chosen, hvp_tape, keep, vectors, chosen.outs(out), batch=count)
    product = found.derivatives(chosen, len(found.outputs) - len(vectors), out)
    if keep:
        answer = found.with_aux(has_aux, found.value(), found.derivatives(chosen, len(found.tape.outputs)), product)
    else:
        answer = found.with_aux(has_aux, product)
    taken = None if out is None else (chosen.tree_like(out), out)
    return found.remember(verb, asked, answer, [(chosen.tree_like(v), v)], taken)
