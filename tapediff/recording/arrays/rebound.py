"""In-place operators on plain arrays with a single reference: the variable is rebound to a tracked array.

```
r = y - np.mean(y)          a plain array of its own
r -= X @ b                  NumPy would write tracked values into it; Python stores the operator's result in r
```
An array that another variable, a list or a view holds as well would have to change there, too, so the write is refused. The reference
count tells: it is compared with that of a trial operation on an array that one variable holds. Since Python 3.14 a caller may lend
what its variable holds, without counting the argument or what is assigned from it, so the variables of callers are checked, too.
"""

from __future__ import annotations

import dis
import sys
from functools import lru_cache
from inspect import CO_OPTIMIZED
from itertools import pairwise
from types import CodeType, FrameType

import numpy as np

from ...base.byte_code import COUNTS_REFERENCES, LENDS, names_of
from ...ir.instruction import Operand


def is_rebound(array: np.ndarray, references: int, frame: FrameType) -> bool:
    """True if a frame's code writes to an array by an in-place operator on the local variable that alone holds it.

    Args:
        references: to the array, as counted in `__array_ufunc__` of the other operand.
    """
    own = _in_place(frame.f_code).get(frame.f_lasti, 0)
    return COUNTS_REFERENCES and references <= own and array.base is None and not (LENDS and _is_lent(array, frame.f_back))


def _is_lent(array: np.ndarray, caller: FrameType | None) -> bool:
    """True if a variable of a calling function holds an array."""
    while caller is not None:
        if caller.f_code.co_flags & CO_OPTIMIZED and any(value is array for value in caller.f_locals.values()):
            return True
        caller = caller.f_back
    return False


class _Counts:
    found = 0

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Operand, **kwargs: Operand) -> _Counts:
        references = sys.getrefcount(inputs[0])
        self.found = references
        return self


def _of_a_local() -> int:
    array, counts = np.empty(1), _Counts()
    array -= counts  # pyright: ignore[reportOperatorIssue]
    return counts.found


def _of_a_cell() -> int:
    array, counts = np.empty(1), _Counts()

    def operate() -> None:
        nonlocal array
        array -= counts  # pyright: ignore[reportOperatorIssue]

    operate()
    return counts.found


# Instruction that stores the result -> the reference count of an array that its variable alone holds.
_OWN = {
    **dict.fromkeys(names_of("store local"), _of_a_local()),
    **dict.fromkeys(names_of("store cell"), _of_a_cell()),
}


@lru_cache(maxsize=1024)
def _in_place(code: CodeType) -> dict[int, int]:
    """Offsets of in-place operators on local variables -> the reference count if one variable alone holds the array."""
    nothing, operators = names_of("nothing"), names_of("operator")
    instructions = [i for i in dis.get_instructions(code) if i.opname not in nothing]
    return {
        i.offset: _OWN[after.opname]
        for i, after in pairwise(instructions)
        if i.opname in operators and i.argrepr.endswith("=") and after.opname in _OWN
    }
