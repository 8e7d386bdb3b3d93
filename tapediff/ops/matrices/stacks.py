"""Ops on matrices, on stacks of them: any axes may stand before the last two."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...ir.instruction import Operand


def turned(x: Operand) -> Operand:
    """The transpose of each matrix."""
    return np.swapaxes(x, -1, -2)


def for_each(factor: Operand, stack: Operand) -> Operand:
    """A number for each matrix of a stack, to be multiplied with it."""
    return factor if len(stack.shape) == 2 else factor[..., None, None]


def identities(stack: Operand) -> Operand:
    """As many identity matrices."""
    eye = np.eye(stack.shape[-1])
    return eye if len(stack.shape) == 2 else np.array(np.broadcast_to(eye, stack.shape))


def over_stacks(evaluate: Callable[..., Operand]) -> Callable[..., Operand]:
    """A function of matrices and options, on stacks of matrices with the same leading axes."""

    def on_stacks(x: Operand, *rest: Operand) -> Operand:
        if x.ndim == 2:
            return evaluate(x, *rest)
        batch = x.shape[:-2]
        arrays = [v if isinstance(v, np.ndarray) else None for v in (x, *rest)]
        options = (None, *rest)
        results = [
            evaluate(*(options[k] if a is None else a[index] for k, a in enumerate(arrays))) for index in np.ndindex(batch)
        ]
        if results:
            return np.stack(results).reshape(*batch, *np.shape(results[0]))
        shape = np.shape(evaluate(*(options[k] if a is None else np.eye(*a.shape[-2:]) for k, a in enumerate(arrays))))
        return np.zeros((*batch, *shape), x.dtype)

    return on_stacks
