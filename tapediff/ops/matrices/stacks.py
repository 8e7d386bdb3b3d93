"""Ops on stacks of matrices: any number of axes may precede the last two."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...ir.instruction import Operand
from ..declaration.op import Batching

# For ops on stacks. SOLVED excludes a matrix that is the same at all iterations, as all right-hand sides can then be solved together.
STACKED = Batching(lambda batch, i: batch.stacked(i))
SOLVED = Batching(lambda batch, i: batch.solved(i), lambda i, types, fixed: not any(fixed[:-1]) and len(types[0].shape) == 2)


def turned(x: Operand) -> Operand:
    """The transpose of each matrix."""
    return np.swapaxes(x, -1, -2)


def for_each(factor: Operand, stack: Operand) -> Operand:
    """Reshape one number per matrix of a stack, to multiply each matrix by its number."""
    return factor if len(stack.shape) == 2 else factor[..., None, None]


def identities(stack: Operand) -> Operand:
    """An identity matrix for each matrix of a stack."""
    eye = np.eye(stack.shape[-1])
    return eye if len(stack.shape) == 2 else np.array(np.broadcast_to(eye, stack.shape))


# The shape of one result, from those of the matrices.
ShapeRule = Callable[..., tuple[int, ...]]


def over_stacks(evaluate: Callable[..., Operand], shape: ShapeRule) -> Callable[..., Operand]:
    """Apply a function of matrices and options to stacks of matrices with the same leading axes, if any."""

    def on_stacks(x: Operand, *rest: Operand) -> Operand:
        if x.ndim == 2:
            return evaluate(x, *rest)
        operands, batch = (x, *rest), x.shape[:-2]
        is_stack = [isinstance(v, np.ndarray) for v in operands]
        own = shape(*(v.shape[-2:] for v, stacked in zip(operands, is_stack) if stacked))
        results = np.empty((*batch, *own), x.dtype)
        for index in np.ndindex(batch):
            results[index] = evaluate(*(v[index] if stacked else v for v, stacked in zip(operands, is_stack)))
        return results

    return on_stacks
