"""Other libraries, each in a file of its own and imported only when it is used: `from tapediff.adapters import nutpie`.

Comes in: a target or its C function. Goes out: what the other library calls a model, a function or an operation.
Open first: `nutpie.py`.
"""

from __future__ import annotations

import numpy as np

from ..ir.instruction import Tree


def of_posterior(target: Tree, args: tuple[Tree, ...], *, example: bool = False) -> tuple[Tree, tuple[Tree, ...]]:
    """The tape of a td.Posterior, and the arguments with its data behind them; anything else as it is.

    Args:
        example: the arguments are those of a call; where there are none, the origin is one.
    """
    if not hasattr(target, "log_density_gradient"):
        return target, args
    point = args or (np.zeros(target.param_unc_num()),) if example else args
    return target.tape, (*point, target.constants)
