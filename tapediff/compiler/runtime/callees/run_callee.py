"""Runs a call or a loop of a callee natively on NumPy arrays, with the dispatch loops that kernels use."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from ....ir.instruction import INT_SCALAR, Operand, Params, Primitive, ValueType
from ....ops.control.calls import CALL_VARIANT, LOOP, DynamicArray, LoopForm, loop_with_numpy
from ....ops.control.loop_forms import saved_bytes_limit
from ..call_frame import (
    ASKED_AT,
    END,
    ITERATION,
    NO_END,
    NUMBERS,
    ONCE,
    STACK,
    STEP,
    STOPPED,
    ArgumentLayout,
    Frame,
    frame_words,
    input_word,
    new_frame,
    output_word,
    value_bytes,
    widened,
)  # fmt: skip
from ..callbacks import outermost, raise_pending
from .dispatch_loop import dispatch_loop_address
from .dispatch_table import DispatchTable, dispatch_table_of
from .native_callee import NativeCallee

# The initial capacity, in iterations, of a loop of unknown length.
FIRST_ENTRIES = 64


def run_native(op: Primitive, params: Params, values: Sequence[Operand]) -> tuple[Operand, ...]:
    """The items of a CALL, CALL_VARIANT or LOOP at these values.

    Raises:
        numpy.linalg.LinAlgError: a factorisation failed.
        Any exception of user code that runs to record a new variant.
    """
    callee = params[0]
    if not callee.out_types:
        # A recursive call while its first variant is being recorded: the size of the results is not known yet.
        return _with_numpy(op, params, values)
    if op is LOOP:
        return _LoopRun(callee, params[1], values).items()
    return _once(callee, op is CALL_VARIANT, values)


def _with_numpy(op: Primitive, params: Params, values: Sequence[Operand]) -> tuple[Operand, ...]:
    callee = params[0]
    if op is LOOP:
        return loop_with_numpy(callee, params[1], values)
    if op is CALL_VARIANT:
        return tuple(callee.answer(int(values[0]), values[1:])[0])
    outputs, number = callee.answer(None, values)
    return (*outputs, np.int64(number))


def _once(callee: NativeCallee, is_chosen: bool, values: Sequence[Operand]) -> tuple[Operand, ...]:
    table = dispatch_table_of(callee, ONCE)
    number = np.array(values[0] if is_chosen else 0, np.int64)
    inputs = [_given(v, t) for v, t in zip(values[int(is_chosen) :], table.in_types)]
    outputs = [_fresh(t.shape, t) for t in table.out_types]
    frame = _frame(table, 1)
    frame[NUMBERS], frame[STEP] = number.ctypes.data, 1
    for k, array in enumerate(inputs):
        frame[input_word(k)] = array.ctypes.data
    for k, array in enumerate(outputs):
        frame[output_word(k, len(inputs))] = array.ctypes.data
    _dispatch(table, frame, is_chosen)
    results = tuple(_taken(array, t) for array, t in zip(outputs, table.out_types))
    return results if is_chosen else (*results, number[()])


def _frame(table: DispatchTable, end: int) -> Frame:
    frame = new_frame([0] * frame_words(len(table.in_types), len(table.out_types)))
    frame[END], frame[ASKED_AT] = end, -1
    frame[STACK] = outermost()
    return frame


def _dispatch(table: DispatchTable, frame: Frame, is_chosen: bool) -> None:
    if _dispatch_loop("run_chosen" if is_chosen else "run_decided")(table.address, ctypes.addressof(frame)):
        raise_pending()


@cache
def _dispatch_loop(name: str) -> Callable[[int, int], int]:
    return ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(dispatch_loop_address(name))


def _fresh(shape: tuple[int, ...], type_: ValueType) -> np.ndarray:
    return np.empty(shape, widened(type_).dtype)


def _given(value: Operand, type_: ValueType) -> np.ndarray:
    array = value.array if type(value) is DynamicArray else value
    return np.asarray(array, widened(type_).dtype, order="C")


def _taken(array: np.ndarray, type_: ValueType) -> Operand:
    return array.astype(type_.dtype, copy=False)[()]


class _LoopRun:
    """One loop: its arrays, and the frame that points into them."""

    def __init__(self, callee: NativeCallee, form: LoopForm, values: Sequence[Operand]) -> None:
        self.form = form
        self.table = dispatch_table_of(callee, ArgumentLayout.of(form))
        self.in_types, self.out_types = self.table.in_types, self.table.out_types
        self.length = form.length if form.length is not None else 0
        self.goes = not form.stops or bool(values[form.leading - 1])
        if form.length is None and not form.stops:
            self.length = max(0, int(values[form.leading - 1]))
        self.room = FIRST_ENTRIES if form.stops else self.length
        self._allow()
        first = form.leading
        self.given = [_given(v, t) for v, t in zip(values[first:], self.in_types)]
        self.frame = _frame(self.table, self.end if self.goes else 0)
        self.frame[STEP] = -1 if form.backwards else 1
        self.frame[STOPPED] = int(not self.goes)
        self.numbers = _given(values[0], INT_SCALAR) if form.variant_given else np.empty(self.room, np.int64)
        self._make_arrays()
        self._point()

    def _make_arrays(self) -> None:
        """Allocate results, one entry per iteration, and carries: one entry more, or two alternating entries."""
        form = self.form
        last = len(self.out_types) - int(form.stops)
        self.ys = [_fresh((self.room, *t.shape), t) for t in self.out_types[form.carries : last]]
        entries = self.room + 1 if form.saves_carries else 2
        self.carries = [_fresh((entries, *t.shape), t) for t in self.in_types[: form.carries]]
        start = self.room if form.saves_carries and form.backwards else 0
        for carry, initial in zip(self.carries, self.given):
            carry[start] = initial
        self.goes_on = np.zeros((), np.bool_)

    def _point(self) -> None:
        form, frame, count = self.form, self.frame, len(self.in_types)
        if form.variant_given or form.returns_variants:
            frame[NUMBERS] = self._start(self.numbers)
        for k in range(form.carries, count):
            array = self.given[k]
            if k < form.carries + form.streams:
                frame[input_word(k)], frame[input_word(k) + 1] = self._start(array), self._stride(array)
            else:
                frame[input_word(k)] = array.ctypes.data
        for k, array in enumerate(self.ys):
            word = output_word(form.carries + k, count)
            frame[word], frame[word + 1] = self._start(array), self._stride(array)
        if form.stops:
            frame[output_word(len(self.out_types) - 1, count)] = self.goes_on.ctypes.data
        for k, array in enumerate(self.carries):
            size = array.strides[0]
            step, mask, base = size, 1, array.ctypes.data
            back = -size
            if form.saves_carries:
                step = -size if form.backwards else size
                base += self.room * size if form.backwards else 0
                mask, back = -1, step
            word = input_word(k)
            frame[word], frame[word + 1], frame[word + 2] = base, step, mask
            word = output_word(k, count)
            frame[word], frame[word + 1], frame[word + 2] = base + step, back, mask

    def _stride(self, array: np.ndarray) -> int:
        return -array.strides[0] if self.form.backwards else array.strides[0]

    def _start(self, array: np.ndarray) -> int:
        return array.ctypes.data + (array.strides[0] * (self.length - 1) if self.form.backwards else 0)

    def _allow(self) -> None:
        """Limit the iterations by the loop's form and by the memory for their values."""
        form, self.most, self.end = self.form, NO_END, self.room
        if form.length is not None:
            return
        held = self.out_types[form.carries : len(self.out_types) - int(form.stops)]
        held = (*held, *(self.in_types[: form.carries] if form.saves_carries else ()))
        size = sum(value_bytes(type_) for type_ in held) + 8 * form.returns_variants
        by_memory = saved_bytes_limit() // size if size else NO_END
        self.is_by_memory = form.most is None or by_memory < form.most
        self.most = by_memory if form.most is None else min(by_memory, form.most)
        if not form.stops and self.room > self.most:
            raise form.too_large(self.room)
        self.room = min(self.room, self.most)
        # If nothing is kept per iteration, the capacity is unlimited.
        self.end = self.room if size or not form.stops else self.most

    def _grow(self) -> None:
        """Double the capacity of a while loop that has used it up."""
        done = self.frame[ITERATION]
        if done >= self.most:
            raise self.form.too_large(done) if self.is_by_memory else self.form.too_long(done)
        self.room = min(2 * self.room, self.most)
        self.ys = [_longer(y, self.room) for y in self.ys]
        if self.form.returns_variants:
            self.numbers = _longer(self.numbers, self.room)
        if self.form.saves_carries:
            self.carries = [_longer(carry, self.room + 1) for carry in self.carries]
        self._point()
        self.frame[END] = self.room

    def items(self) -> tuple[Operand, ...]:
        form = self.form
        _dispatch(self.table, self.frame, form.variant_given)
        while form.stops and not self.frame[STOPPED]:
            self._grow()
            _dispatch(self.table, self.frame, form.variant_given)
        done = self.frame[ITERATION]
        final = 0 if form.backwards and form.saves_carries else done if form.saves_carries else done % 2
        finals = [_taken(carry[final], t) for carry, t in zip(self.carries, self.in_types)]
        items = [*finals, *(self._handed_out(y[:done], t) for y, t in zip(self.ys, self.out_types[form.carries :]))]
        if form.stops:
            items.append(np.int64(done))
        if form.returns_variants:
            items.append(self._handed_out(self.numbers[:done], INT_SCALAR))
        if form.saves_carries:
            first = 1 if form.backwards else 0
            for carry, type_ in zip(self.carries, self.in_types):
                items.append(self._handed_out(carry[first : first + done], type_))
        return tuple(items)

    def _handed_out(self, array: np.ndarray, type_: ValueType) -> Operand:
        array = array.astype(type_.dtype, copy=False)
        return DynamicArray(array) if self.form.length is None else array


def _longer(array: np.ndarray, entries: int) -> np.ndarray:
    result = np.empty((entries, *array.shape[1:]), array.dtype)
    result[: array.shape[0]] = array
    return result
