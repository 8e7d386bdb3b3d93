"""Fast path for scalar operations, which Python loops consist of: one instruction of a known type each, without type inference.

A number here is a plain one, or a float64 scalar of the current recording that is not a view. Elementwise operations on float64 arrays
have a similar path. `Recorder.apply` records everything else, and operations that fail; it would record the same.
"""

from __future__ import annotations

import operator
import sys
import warnings
from collections.abc import Callable
from functools import cache
from itertools import count

import numpy as np

from ...base.current_recording import NO_FILTERS, Recording, current_recorder, error_state
from ...ir.instruction import (
    BOOL,
    BOOL_SCALAR,
    ENTRY,
    FLOAT64,
    FLOAT_SCALAR,
    INT64,
    INT_SCALAR,
    ONE,
    TWO,
    Computes,
    Operand,
    ValueType,
)
from ...numpy_api.kinds import is_converted, plain_data
from ...ops import Op
from ...ops.arrays.indexing import INDEX
from ...ops.declaration.op import Elementwise
from ...ops.elementwise.arithmetic import DIVIDE, MULTIPLY
from ...ops.elementwise.comparison import MASK_OPS
from .views import Versioned

# Larger Python ints are noted: combined with others that became floats they may not be exact.
LARGEST_INT = 1 << 31


def binary(op: Op) -> tuple[Callable[..., Operand], Callable[..., Operand]]:
    """An operator and its reflected form."""
    type_ = _result_type(op)
    general, general_reflected = _general(op)
    if type_ is None:
        REFLECTED[op] = general_reflected
        return general, general_reflected
    evaluate, shift, is_comparison = _OPERATORS.get(op, op.evaluate), _shift(op), type_ is BOOL_SCALAR

    # For scalars: what Recorder.apply does, without a search for the operands' types.
    # Where NumPy may raise errors (`is_noted`, `Recorder.warns`), Recorder.apply records.
    # type() and not isinstance(): the __class__ property of tracked arrays is slow. Few further calls: each costs a tenth.
    def forward(self: Versioned, other: Operand) -> Operand:
        recorder = self._recorder
        is_noted = error_state(None) is recorder.error_state and (warnings.filters or NO_FILTERS)[0] is recorder.filter
        is_number = self.type is FLOAT_SCALAR and self._view is None and (is_noted or recorder.warns())
        if is_number and recorder.concrete and current_recorder() is recorder:
            if type(other) is type(self):
                if other.type is not FLOAT_SCALAR or other._view is not None or other._recorder is not recorder:
                    return general(self, other)
                number, plain = other._id, other._value
            else:
                number, plain = _constant(recorder, other)
                if number < 0:
                    return general(self, other)
            try:
                value = evaluate(self._value, plain)
            except _FAILURES:
                return general(self, other)
            # As in _recorded, inlined.
            columns, frame = recorder.instructions, _getframe(1)
            is_known = frame.f_code is recorder._code and recorder.site is None
            template = recorder._code_sites.get(frame.f_lasti + shift) if is_known else None
            if template is None:
                template = recorder.template_at(frame, op, shift, type_, TWO)
            which = columns.which
            number_of_made = len(which)
            if number_of_made > recorder.longest:
                recorder.stop()
            made = _new_object(type(self))
            made._recorder, made._id, made._value, made.type, made._view, made._writes = recorder, number_of_made, value, type_, None, 0
            columns.first.append(self._id)
            columns.second.append(number)
            which.append(template)
            return made
        if self.type is not INT_SCALAR:
            made = _of_arrays(op, self, (self, other), 3)
        else:
            made = _of_ints(op, self, other) if is_comparison else None
        return general(self, other) if made is None else made

    def reflected(self: Versioned, other: Operand) -> Operand:
        recorder = self._recorder
        is_noted = error_state(None) is recorder.error_state and (warnings.filters or NO_FILTERS)[0] is recorder.filter
        is_number = self.type is FLOAT_SCALAR and self._view is None and (is_noted or recorder.warns())
        if is_number and recorder.concrete and current_recorder() is recorder:
            number, plain = _constant(recorder, other)
            if number >= 0:
                try:
                    value = evaluate(plain, self._value)
                except _FAILURES:
                    return general_reflected(self, other)
                return _recorded(self, op, shift, type_, value, TWO, number, self._id)
        made = _of_arrays(op, self, (other, self), 3)
        return general_reflected(self, other) if made is None else made

    REFLECTED[op] = reflected
    return forward, reflected


def _general(op: Op) -> tuple[Callable[..., Operand], Callable[..., Operand]]:
    """The operator and its reflected form for operands of any kind."""
    is_product = op is MULTIPLY

    def forward(self: Versioned, other: Operand) -> Operand:
        kind, recorder = type(other), self._recorder
        if is_product and kind in _SEQUENCES and _is_whole(self):
            return other * operator.index(self)
        if issubclass(kind, Versioned):
            return recorder.apply(op, (self, other)) if other._recorder is recorder else op(self, other)
        if issubclass(kind, Computes):
            return NotImplemented
        if kind is float or isinstance(other, _OPERANDS):
            return recorder.apply(op, (self, other))
        return recorder.apply(op, (self, plain_data(other))) if is_converted(other, self.type.shape) else NotImplemented

    def reflected(self: Versioned, other: Operand) -> Operand:
        if is_product and type(other) in _SEQUENCES and _is_whole(self):
            return other * operator.index(self)
        if isinstance(other, _OPERANDS) and not issubclass(type(other), Computes):
            return self._recorder.apply(op, (other, self))
        return self._recorder.apply(op, (plain_data(other), self)) if is_converted(other, self.type.shape) else NotImplemented

    return forward, reflected


def _recorded(
    like: Versioned, op: Op, shift: int, type_: ValueType, value: Operand, takes: int, first: int, second: int, depth: int = 2
) -> Versioned:
    """Append an instruction on behalf of a caller, `depth` calls up."""
    recorder = like._recorder
    columns = recorder.instructions
    frame = _getframe(depth)
    template = recorder._code_sites.get(frame.f_lasti + shift) if frame.f_code is recorder._code and recorder.site is None else None
    if template is None or columns.templates[template].type is not type_:
        template = recorder.template_at(frame, op, shift, type_, takes)
    which = columns.which
    number_of_made = len(which)
    if number_of_made > recorder.longest:
        recorder.stop()
    # The same as calling the class, in less time.
    made = _new_object(type(like))
    made._recorder, made._id, made._value, made.type, made._view, made._writes = recorder, number_of_made, value, type_, None, 0
    columns.first.append(first)
    columns.second.append(second)
    which.append(template)
    return made


@cache
def _shift(op: Op) -> int:
    """An offset added to code positions, so that different operations at one position have different keys."""
    return next(_SHIFTS) << 32


@cache
def _array_shift(op: Op) -> int:
    """The same for an operation on arrays, whose result type may change each time."""
    return next(_SHIFTS) << 32


# For two NumPy scalars these equal the ufuncs, in a quarter of the time.
_OPERATORS: dict[Op, Callable[..., Operand]] = {DIVIDE: operator.truediv}

_SHIFTS = count(1)

# Errors of scalar operations; Recorder.apply notes them.
_FAILURES = ArithmeticError, RuntimeWarning

# Reflected operators by operation: NumPy scalars call the ufunc in place of the operator.
REFLECTED: dict[Op, Callable[..., Operand]] = {}


def unary(self: Versioned, op: Op) -> Operand:
    type_, recorder = _result_type(op), self._recorder
    is_noted = error_state(None) is recorder.error_state and (warnings.filters or NO_FILTERS)[0] is recorder.filter
    is_number = self.type is FLOAT_SCALAR and self._view is None and current_recorder() is recorder
    if type_ is None or not recorder.concrete or not is_number or not (is_noted or recorder.warns()):
        made = _of_arrays(op, self, (self,), 4)
        return recorder.apply(op, (self,)) if made is None else made
    try:
        value = op.evaluate(self._value)
    except _FAILURES:
        return recorder.apply(op, (self,))
    if type(value) is not type_.dtype.type:
        return recorder.apply(op, (self,))
    return _recorded(self, op, _shift(op), type_, value, ONE, self._id, -1, 3)


def of_two(op: Op, x: Operand, y: Operand) -> Operand:
    """Apply an operation to two operands, at least one tracked; None unless both are numbers or float64 arrays."""
    type_ = _result_type(op)
    like = x if isinstance(x, Versioned) else y
    recorder = like._recorder
    is_noted = error_state(None) is recorder.error_state and (warnings.filters or NO_FILTERS)[0] is recorder.filter
    if type_ is None or not recorder.concrete or current_recorder() is not recorder or not (is_noted or recorder.warns()):
        return None
    operands = x, y
    (first, x), (second, y) = _number(recorder, x, type(like)), _number(recorder, y, type(like))
    if first < 0 or second < 0:
        return _of_arrays(op, like, operands, 4)
    try:
        value = op.evaluate(x, y)
    except _FAILURES:
        return None
    return _recorded(like, op, _shift(op), type_, value, TWO, first, second, 3) if type(value) is type_.dtype.type else None


def chosen_by(op: Op, test: Versioned, yes: Operand, no: Operand) -> Versioned | None:
    """Select a number or bool by a condition, recorded by `op` at the condition's line; None for other values."""
    recorder, kind = test._recorder, type(test)
    if test.type is not BOOL_SCALAR or test._view is not None or not recorder.concrete or current_recorder() is not recorder:
        return None
    type_ = yes.type if type(yes) is kind else no.type if type(no) is kind else INT_SCALAR if type(yes) is int else FLOAT_SCALAR
    (first, x), (second, y) = _of_type(recorder, type_, yes, kind), _of_type(recorder, type_, no, kind)
    if first < 0 or second < 0:
        return None
    made = _new_object(kind)
    made._recorder, made._value, made.type, made._view, made._writes = recorder, type_.dtype.type(x if test._value else y), type_, None, 0
    made._id = recorder.append_like(test._id, op, (test._id, first, second), type_)
    return made


def _of_type(recorder: Recording, type_: ValueType, operand: Operand, tracked: type) -> tuple[int, Operand]:
    """The instruction and the value of a number or a bool of one type; -1 for others."""
    kind = type(operand)
    if kind is tracked:
        is_usual = operand.type is type_ and not type_.shape and type_.dtype in _WIDE
        return (operand._id, operand._value) if is_usual and operand._view is None and operand._recorder is recorder else (-1, None)
    dtype = type_.dtype
    if kind is float or kind is np.float64:
        return _constant(recorder, operand) if dtype is FLOAT64 else (-1, None)
    if (kind is bool and dtype == BOOL) or (kind is int and dtype == INT64 and -LARGEST_INT <= operand <= LARGEST_INT):
        return recorder.constant(np.array(operand)), operand
    return -1, None


def _of_arrays(op: Op, like: Versioned, operands: tuple[Operand, ...], depth: int) -> Versioned | None:
    """Apply an elementwise operation to float64 arrays for a caller `depth` calls up; None if Recorder.apply has to record it."""
    recorder, type_ = like._recorder, _result_type(op)
    is_noted = error_state(None) is recorder.error_state and (warnings.filters or NO_FILTERS)[0] is recorder.filter
    if type_ is None or not recorder.concrete or current_recorder() is not recorder or not (is_noted or recorder.warns()):
        return None
    numbers: list[int] = []
    values: list[Operand] = []
    for operand in operands:
        kind = type(operand)
        if kind is _ARRAY and operand.dtype is FLOAT64 and operand.shape and op not in MASK_OPS:
            number, value = recorder.array_constant(operand)
        elif kind is not type(like):
            number, value = _constant(recorder, operand)
        elif operand._recorder is not recorder or operand.type[1] is not FLOAT64:
            return None
        else:
            if operand._view is not None:
                operand._refresh()
            number, value = operand._id, operand._value
        if number < 0:
            return None
        numbers.append(number)
        values.append(value)
    try:
        value = op.evaluate(*values)
    except Exception:  # noqa: BLE001 -- raised again where it is computed again
        return None
    if type(value) is not _ARRAY or value.dtype != type_.dtype:
        return None
    takes = TWO if len(numbers) == 2 else ONE
    return _recorded(like, op, _array_shift(op), recorder.type_of(value), value, takes, numbers[0], numbers[-1], depth)


def _of_ints(op: Op, first: Versioned, second: Operand) -> Versioned | None:
    """Compare a tracked int with another int; None if Recorder.apply has to record it."""
    recorder, kind = first._recorder, type(first)
    if not recorder.concrete or current_recorder() is not recorder:
        return None
    (a, x), (b, y) = _of_type(recorder, INT_SCALAR, first, kind), _of_type(recorder, INT_SCALAR, second, kind)
    return None if a < 0 or b < 0 else _recorded(first, op, _array_shift(op), BOOL_SCALAR, op.evaluate(x, y), TWO, a, b, 3)


def logical(op: Op, *tests: Versioned) -> Operand:
    """`and`, `or` or `not` of tracked conditions, recorded at the line of the last one."""
    first, last = tests[0], tests[-1]
    recorder, columns = first._recorder, first._recorder.instructions
    is_usual = recorder.concrete and current_recorder() is recorder and last._recorder is recorder
    if not is_usual or any(test._view is not None or test.type is not BOOL_SCALAR for test in tests):
        return op(*tests)
    made = _new_object(type(first))
    made._recorder, made._value, made.type, made._view, made._writes = (
        recorder, op.evaluate(*[test._value for test in tests]), BOOL_SCALAR, None, 0
    )  # fmt: skip
    which = columns.which
    site = columns.templates[which[last._id]].site
    template = columns.template(op, (), BOOL_SCALAR, site, ONE if len(tests) == 1 else TWO)
    made._id = len(which)
    if made._id > recorder.longest:
        recorder.stop()
    columns.first.append(first._id)
    columns.second.append(-1 if len(tests) == 1 else last._id)
    which.append(template)
    return made


@cache
def _result_type(op: Op) -> ValueType | None:
    """The result type of an operation on numbers; None if Recorder.apply has to find it."""
    if not isinstance(op, Elementwise) or op.promote is not None or op in MASK_OPS:
        return None
    return FLOAT_SCALAR if op.result is None else BOOL_SCALAR if op.result == BOOL else None


def _constant(recorder: Recording, other: Operand) -> tuple[int, Operand]:
    """The instruction and the value of a plain operand; -1 unless it is a number."""
    kind = type(other)
    if kind is int:
        if not -LARGEST_INT <= other <= LARGEST_INT:
            return recorder.large_int(other), float(other)
        other = float(other)
    elif kind is not float and kind is not np.float64:
        return -1, None
    number = recorder._float_constants.get(other)
    return recorder.float_constant(other) if number is None else number, other


def _number(recorder: Recording, operand: Operand, tracked: type) -> tuple[int, Operand]:
    """The same of any operand."""
    if type(operand) is not tracked:
        return _constant(recorder, operand)
    is_number = operand.type is FLOAT_SCALAR and operand._view is None and operand._recorder is recorder
    return (operand._id, operand._value) if is_number else (-1, None)


def entry_of(array: Versioned, index: Operand) -> Versioned | None:
    """array[index] if that is a number; else None."""
    recorder = array._recorder
    if array.type.dtype is not FLOAT64 or current_recorder() is not recorder or not recorder.concrete:
        return None
    if array._view is not None:
        array._refresh()
    shape = array.type.shape
    position = index if type(index) is int and len(shape) == 1 and 0 <= index < shape[0] else _flat_position(index, shape)
    if position < 0:
        return None
    return _recorded(array, INDEX, _INDEX_SHIFT, FLOAT_SCALAR, array._value[index], ENTRY, array._id, position, 3)


def all_entries(vector: Versioned) -> list[Versioned]:
    """The entries of a vector of float64 or int64 of the current recording, recorded one after the other."""
    recorder = vector._recorder
    if vector._view is not None:
        vector._refresh()
    columns, count = recorder.instructions, vector.type.size
    is_float = vector.type.dtype == FLOAT64
    type_, shift = (FLOAT_SCALAR, _INDEX_SHIFT) if is_float else (INT_SCALAR, _array_shift(INDEX))
    template = recorder.template_at(_getframe(1), INDEX, shift, type_, ENTRY)
    first, kind = len(columns.which), type(vector)
    columns.first.extend([vector._id] * count)
    columns.second.extend(range(count))
    columns.which.extend([template] * count)
    found: list[Versioned] = []
    for number, value in enumerate(vector._value, first):
        made = _new_object(kind)
        made._recorder, made._id, made._value, made.type, made._view, made._writes = recorder, number, value, type_, None, 0
        found.append(made)
    return found


def _flat_position(index: Operand, shape: tuple[int, ...]) -> int:
    """The flat position of an entry; -1 if `index` is not that of one entry, or is out of bounds."""
    if type(index) is int:
        index = (index,)
    if type(index) is not tuple or len(index) != len(shape) or {*map(type, index)} != _ALL_INTS:
        return -1
    position = 0
    for k, extent in zip(index, shape):
        if not -extent <= k < extent:
            return -1
        position = position * extent + (k + extent if k < 0 else k)
    return position


def _is_whole(number: Versioned) -> bool:
    """True for an int64 scalar, by which Python repeats lists."""
    return number.type.dtype == INT64 and not number.type.shape and number._view is None


_WIDE = (FLOAT64, INT64, BOOL)
_SEQUENCES = (list, tuple, str, bytes)
_OPERANDS = (Versioned, int, float, complex, np.ndarray, np.generic, list, tuple)
_ALL_INTS = {int}
_INDEX_SHIFT = _shift(INDEX)
_ARRAY = np.ndarray
_getframe, _new_object = sys._getframe, object.__new__
