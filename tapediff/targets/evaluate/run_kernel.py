"""Runs a kernel on arrays of any layout, and returns its results in the dtypes of its tape.

Comes in: a kernel, its inputs, and arrays for the last results. Goes out: all results, or the guard that failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...compiler.runtime.status import OVERLAP, REFUSED
from ...errors import ArgumentMismatch
from ...ir.instruction import Operand
from ...ir.interpreter import GuardFailure

if TYPE_CHECKING:
    from ...compiler.kernel import Kernel


def run_kernel(kernel: Kernel, inputs: Sequence[Operand], outs: Sequence[np.ndarray] | None) -> list[Operand] | GuardFailure:
    """Return all outputs of a kernel; the last ones are also written to `outs`, which stay unchanged if a guard fails."""
    arrays = [np.ascontiguousarray(a, t.dtype).reshape(t.shape) for a, t in zip(inputs, kernel.input_types)]
    targets = kernel.fresh_outputs()
    outs = () if outs is None else outs
    first = len(targets) - len(outs)
    if outs and first >= 0 and all(o.dtype == t.dtype for o, t in zip(outs, kernel.written_types[first:])):
        targets[first:] = outs
    status = kernel.call(*arrays, *targets)
    if status in (REFUSED, OVERLAP):
        # The kernel cannot write there (layout, overlap with an input) or read from there (alignment): use copies.
        arrays = [np.array(a, order="C") for a in arrays]
        targets = kernel.fresh_outputs()
        status = kernel.call(*arrays, *targets)
    if type(status) is not float:
        if status == REFUSED:
            raise ArgumentMismatch(
                "a compiled tape was called with arguments it cannot read", fix="pass NumPy arrays"
            )
        return kernel.failure(status, arrays)
    for out, target in zip(reversed(outs), reversed([status, *targets])):
        if out is not target:
            out[...] = target
    return _narrowed(kernel, status, targets)


def _narrowed(kernel: Kernel, value: float, arrays: list[np.ndarray]) -> list[Operand]:
    """Cast all outputs to the dtypes of the tape; 0-d arrays become numbers."""
    results: list[Operand] = ([value] if kernel.returns_value else []) + arrays
    for k, type_ in enumerate(kernel.tape_outputs):
        if type_.dtype == np.float32:
            results[k] = np.float32(results[k]) if type_.shape == () else results[k].astype(np.float32)
        elif type_.shape == () and not (k == 0 and kernel.returns_value):
            results[k] = results[k][()]
    return results
