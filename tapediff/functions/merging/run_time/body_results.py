"""Results of merged bodies that are Python ints in the bodies themselves: merging counts in floats, and callers get ints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CodeType

import numpy as np

from ....ir.instruction import (
    BOOL,
    CONSTANT,
    FLOAT64,
    FLOAT_SCALAR,
    INT64,
    Instruction,
    Operand,
    Tree,
    ValueType,
    is_tracked,
)
from ....ops.elementwise.arithmetic import CONVERT
from ...captured.code_keys import names_of
from ..purity import is_users


def whose_results_are_data(functions: Sequence[Callable[..., Tree]]) -> set[CodeType]:
    """The code of a body that is one function of the user's, unless that may call itself; of several, one may see another's results."""
    if len(functions) != 1 or not is_users(functions[0]):
        return set()
    code: CodeType = functions[0].__code__
    return set() if code.co_name in (*names_of(code), *code.co_freevars) else {code}


def with_type(result: Operand, wanted: ValueType) -> Operand:
    """A result as an int, if it is a whole number that merging has made a float of."""
    if not is_tracked(result) or result.type != FLOAT_SCALAR or wanted != ValueType((), INT64):
        return result
    return CONVERT(result, dtype=INT64) if _is_whole(result._recorder.instructions, result._id) else result


def _is_whole(instructions: Sequence[Instruction], number: int) -> bool:
    """Whether a value is computed from whole numbers only, so that it is one; how large they may be is a rule of merging."""
    pending, seen = [number], {number}
    while pending:
        op, inputs, params, type_, _ = instructions[pending.pop()]
        if type_.dtype in (INT64, BOOL):
            continue
        if type_.dtype != FLOAT64:
            return False
        if op.name not in _OF_WHOLE_NUMBERS and not (op is CONSTANT and np.all(np.mod(params[0], 1.0) == 0.0)):
            return False
        pending += [k for k in inputs if k not in seen]
        seen.update(inputs)
    return True




_OF_WHOLE_NUMBERS = frozenset("add subtract multiply negative absolute square maximum minimum select where convert".split())
