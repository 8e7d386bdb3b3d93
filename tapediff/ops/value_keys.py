"""Keys that equal instructions share: the same op of the same operands, with the same parameters."""

from __future__ import annotations

from collections.abc import Hashable

from ..ir.instruction import CONSTANT, GUARD, INPUT, Params, Primitive
from .control.calls import TupleOp

# Comparing larger constants by content costs more than a second copy.
LARGEST_COMPARED = 4096


def value_key(op: Primitive, operands: tuple[int, ...], params: Params) -> Hashable:
    """The key of an instruction, by the numbers of its operands. None if it is never equal to another."""
    if op is INPUT or op is GUARD:
        return None
    if isinstance(op, TupleOp) and not params[0].is_pure:
        return None
    if op is CONSTANT:
        array = params[0]
        return (array.shape, array.dtype.char, array.tobytes() if array.size <= LARGEST_COMPARED else id(array))
    return (op, operands, params)
