"""Selects of numbers, as late as possible: operations common to both sides are computed once, on selected operands.

| sides | selected |
|---|---|
| the same computation | either |
| `a + b` and `a + c` | `a + select(b, c)`, for each operation of one or two numbers |
| `a + b` and `a` | `a + select(b, -0.0)` |
| a select by the same test | its value on this side |

Results are bitwise equal, and sums in loops remain sums.
"""

from __future__ import annotations

from ....ir.instruction import ENTRY, FLOAT64, FLOAT_SCALAR, ONE, OWN, TWO, Operand, Primitive
from ....ops.elementwise.arithmetic import ADD, MULTIPLY, SUBTRACT
from ....ops.elementwise.comparison import SELECT
from ....recording.arrays.tracked import TrackedArray
from ....recording.instruction_columns import GrowingColumns
from ...anything import Object

# Maximum depth of operations compared.
_DEEPEST = 6

# `a op neutral` is a, for every a.
_NEUTRAL: dict[Primitive, float] = {ADD: -0.0, SUBTRACT: 0.0, MULTIPLY: 1.0}


def selected(test: Operand, yes: Object, no: Object) -> TrackedArray | None:
    """Select a number by a test; None for other values, or if the sides share no operation."""
    if type(yes) is not TrackedArray or type(no) is not TrackedArray or yes.type is not FLOAT_SCALAR or no.type is not FLOAT_SCALAR:
        return None
    recorder = test._recorder
    columns = recorder.instructions
    if yes._recorder is not recorder or no._recorder is not recorder or type(columns) is not GrowingColumns:
        return None
    if yes._view is not None or no._view is not None:
        return None
    return _Selects(recorder, test).value(yes, no)


class _Selects:
    """Selects by one test."""

    def __init__(self, recorder: Object, test: Operand) -> None:
        self.recorder, self.test = recorder, test
        self.columns: GrowingColumns = recorder.instructions

    def value(self, yes: TrackedArray, no: TrackedArray) -> TrackedArray | None:
        number = self._of_one_kind(yes._id, no._id, 0)
        if number is None:
            return None
        chosen = yes if self.test._value else no
        return TrackedArray(self.recorder, number, chosen._value, chosen.type)

    def _select(self, yes: int, no: int, depth: int) -> int:
        """The number of the selected value."""
        number = self._of_one_kind(yes, no, depth)
        return self.recorder.append_like(self.test._id, SELECT, (self.test._id, yes, no), FLOAT_SCALAR) if number is None else number

    def _of_one_kind(self, yes: int, no: int, depth: int) -> int | None:
        """Likewise for an operation of both sides; None if there is none."""
        if self._is_same(yes, no, depth):
            return min(yes, no)
        if depth >= _DEEPEST or not (self._is_number(yes) and self._is_number(no)):
            return None
        ours, theirs = self._part_of(yes, 1), self._part_of(no, 2)
        if ours != yes or theirs != no:
            return self._select(ours, theirs, depth + 1)
        return self._factored(yes, no, depth)

    def _factored(self, yes: int, no: int, depth: int) -> int | None:
        columns = self.columns
        mine, other = columns.which[yes], columns.which[no]
        op, takes = columns.templates[mine].op, columns.takes[mine]
        other_op, others = columns.templates[other].op, columns.takes[other]
        if takes == ONE and others == ONE and op is other_op and not columns.templates[mine].params:
            inner = self._select(columns.first[yes], columns.first[no], depth + 1)
            return self._again(mine, inner, -1)
        if takes == TWO and op in _NEUTRAL and columns.first[yes] == no:
            return self._again(mine, no, self._select(columns.second[yes], self.recorder.float_constant(_NEUTRAL[op]), depth + 1))
        if others == TWO and other_op in _NEUTRAL and columns.first[no] == yes:
            return self._again(other, yes, self._select(self.recorder.float_constant(_NEUTRAL[other_op]), columns.second[no], depth + 1))
        if takes != TWO or others != TWO or op is not other_op:
            return None
        (a, b), (c, d) = ((columns.first[k], columns.second[k]) for k in (yes, no))
        if self._is_same(a, c, depth + 1):
            return self._again(mine, a, self._select(b, d, depth + 1))
        if self._is_same(b, d, depth + 1):
            return self._again(mine, self._select(a, c, depth + 1), b)
        return None

    def _again(self, template: int, first: int, second: int) -> int:
        """Emit the template's operation on other operands."""
        columns = self.columns
        columns.first.append(first)
        columns.second.append(second)
        columns.which.append(template)
        return len(columns.which) - 1

    def _part_of(self, number: int, part: int) -> int:
        """The value of a select by the same test on one side; others unchanged."""
        columns = self.columns
        while columns.op_of(number) is SELECT:
            inputs = columns[number].inputs
            if inputs[0] != self.test._id:
                break
            number = inputs[part]
        return number

    def _is_number(self, number: int) -> bool:
        type_ = self.columns.type_of(number)
        return type_ is FLOAT_SCALAR or (type_.shape == () and type_.dtype is FLOAT64)

    def _is_same(self, a: int, b: int, depth: int) -> bool:
        """True for equal operations of equal operands."""
        if a == b:
            return True
        columns = self.columns
        mine, other = columns.which[a], columns.which[b]
        first, second = columns.templates[mine], columns.templates[other]
        takes = columns.takes[mine]
        if depth >= _DEEPEST or first.op is not second.op or takes != columns.takes[other] or takes == OWN or first.params != second.params:
            return False
        if takes not in (ONE, TWO, ENTRY):
            return False
        if takes != TWO and columns.second[a] != columns.second[b]:
            return False
        if not self._is_same(columns.first[a], columns.first[b], depth + 1):
            return False
        return takes != TWO or self._is_same(columns.second[a], columns.second[b], depth + 1)
