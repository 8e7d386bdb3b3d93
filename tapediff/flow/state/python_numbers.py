"""Numbers of Python's among tracked ones: they raise errors where those of NumPy are inf or NaN.

Joins of such numbers are Python's, and results of the math module; arithmetic is where all operands are.
"""

from __future__ import annotations

from ...ir.instruction import CONSTANT
from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from .values import both, either, negated, state

_ARITHMETIC = frozenset(
    "add subtract multiply divide negative absolute power integer_power square sqrt reciprocal floor_divide remainder convert".split()
)


def note_chosen(value: Object, test: Object, yes: Object, no: Object) -> Object:
    """Note that a number is one of two by a test; the number."""
    if type(value) is TrackedArray:
        state.kinds[id(value._recorder), value._id] = test, yes, no
    return value


def note_python(value: Object) -> Object:
    """Note that a number is one of Python's; the number."""
    if type(value) is TrackedArray and not value.type.shape:
        state.kinds[id(value._recorder), value._id] = True
    return value


def is_python(value: Object) -> Object:
    """When a value is a number of Python's: a bool, tracked or not."""
    if type(value) is not TrackedArray:
        return type(value) in (int, float, bool)
    if value.type.shape or not state.kinds:
        return False
    return _kind_of(value._recorder, value._id)


def _kind_of(recorder: Object, wanted: int) -> Object:
    """The same of an instruction; iteratively, as sums may be long."""
    pending = [wanted]
    while pending:
        key = id(recorder), pending[-1]
        found = state.kinds.get(key)
        if found is None or type(found) is tuple:
            unknown = [k for k in _operands(recorder, pending[-1], found) if not _is_settled(state.kinds.get((id(recorder), k)))]
            if unknown:
                pending += unknown
                continue
            state.kinds[key] = _kind_by_operands(recorder, pending[-1]) if found is None else _chosen(*found)
        pending.pop()
    return state.kinds[id(recorder), wanted]


def _operands(recorder: Object, number: int, chosen: tuple[Object, Object, Object] | None) -> list[int]:
    """The instructions on which it depends."""
    if chosen is not None:
        return [value._id for value in chosen[1:] if type(value) is TrackedArray and value._recorder is recorder]
    op, inputs, *_ = recorder.instructions[number]
    return list(inputs) if op.name in _ARITHMETIC else []


def _kind_by_operands(recorder: Object, number: int) -> Object:
    op, inputs, params, *_ = recorder.instructions[number]
    if op is CONSTANT:
        return params[0].shape == () and recorder.plain_numbers.get(number) is not False
    kind: Object = op.name in _ARITHMETIC
    for k in inputs if kind else ():
        kind = both(kind, state.kinds[id(recorder), k])
    return kind


def _is_settled(found: Object) -> bool:
    return found is not None and type(found) is not tuple


def _chosen(test: Object, yes: Object, no: Object) -> Object:
    """When a number is Python's that a test chooses."""
    first, second = is_python(yes), is_python(no)
    if type(first) is bool and type(second) is bool:
        return first if first == second else test if first else negated(test)
    return either(both(test, first), both(negated(test), second))
