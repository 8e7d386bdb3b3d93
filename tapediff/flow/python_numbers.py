"""Numbers of Python's among tracked ones: they raise errors where those of NumPy are inf or NaN.

Numbers become Python's by joins of such, and by functions of the math module; arithmetic of numbers is Python's where that of all operands is.
"""

from __future__ import annotations

from typing import Any

from ..ir.instruction import CONSTANT
from ..recording.arrays.tracked import TrackedArray
from .values import both, either, negated, state

_ARITHMETIC = frozenset(
    "add subtract multiply divide negative absolute power integer_power square sqrt reciprocal floor_divide remainder convert".split()
)


def note_chosen(value: Any, test: Any, yes: Any, no: Any) -> Any:
    """Note that a number is one of two by a test; the number."""
    if type(value) is TrackedArray:
        state.kinds[id(value._recorder), value._id] = test, yes, no
    return value


def note_python(value: Any) -> Any:
    """Note that a number is one of Python's; the number."""
    if type(value) is TrackedArray and not value.type.shape:
        state.kinds[id(value._recorder), value._id] = True
    return value


def is_python(value: Any) -> Any:
    """When a value is a number of Python's: a bool, tracked or not."""
    if type(value) is not TrackedArray:
        return type(value) in (int, float, bool)
    if value.type.shape or not state.kinds:
        return False
    return _kind_of(value._recorder, value._id)


def _kind_of(recorder: Any, number: int) -> Any:
    """The same of an instruction; iteratively, as sums may be long."""
    known, pending, wanted = state.kinds, [number], number
    while pending:
        number = pending[-1]
        found = known.get((id(recorder), number))
        if type(found) is tuple:
            _, yes, no = found
            unknown = [
                v._id for v in (yes, no) if type(v) is TrackedArray and v._recorder is recorder and not _is_settled(known.get((id(recorder), v._id)))
            ]
            if unknown:
                pending += unknown
                continue
            known[id(recorder), number] = _chosen(*found)
        elif found is None:
            op, inputs, *_ = recorder.instructions[number]
            if op is CONSTANT:
                known[id(recorder), number] = recorder.instructions[number].params[0].shape == () and recorder.plain_numbers.get(number) is not False
            elif op.name not in _ARITHMETIC:
                known[id(recorder), number] = False
            else:
                unknown = [k for k in inputs if not _is_settled(known.get((id(recorder), k)))]
                if unknown:
                    pending += unknown
                    continue
                made: Any = True
                for k in inputs:
                    made = both(made, known[id(recorder), k])
                known[id(recorder), number] = made
        pending.pop()
    return known[id(recorder), wanted]


def _is_settled(found: Any) -> bool:
    return found is not None and type(found) is not tuple


def _chosen(test: Any, yes: Any, no: Any) -> Any:
    """When a number is Python's that a test chooses."""
    first, second = is_python(yes), is_python(no)
    if type(first) is bool and type(second) is bool:
        return first if first == second else test if first else negated(test)
    return either(both(test, first), both(negated(test), second))
