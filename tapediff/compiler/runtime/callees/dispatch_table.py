"""Dispatch tables: the Python side of compiled callees. They compile variants when native code first needs them.

A callee has a table for each ArgumentLayout of its calls. Native code refers to the table by its address, so the holder of such code also
holds the table; a table holds its variants.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from ....base.fork_locks import new_lock
from ....base.held_locks import holding
from ....errors import RecursionTooDeep, rejection
from ....ir.instruction import ValueType
from ....ir.interpreter import GuardFailure
from ...jit.toolchain import toolchain
from ..call_frame import (
    ASKED_AT,
    ASKED_STATUS,
    END,
    ITERATION,
    NUMBERS,
    STEP,
    ArgumentLayout,
    Frame,
    address_at,
    frame_words,
    input_word,
    new_frame,
    output_word,
    value_bytes,
    widened,
)  # fmt: skip
from ..callbacks import callback_address, raise_pending
from ..guard_reports import number_failure, report_for, reported_failure
from ..status import FAILURE, NAMED, OUT_OF_MEMORY, PENDING, RECURSION, RULE_RAISED, WRONG_RESULT
from .dispatch_loop import CALLBACK, DISPATCH_TABLE, DONE, DONE_AND_STOPS, ID, JUMPS, VARIANTS
from .native_callee import NativeCallee, NativeKernel, TapeKernel

# Held while dispatch tables and their variants change. Code under it runs no user code, and waits for no lock whose holder does.
_lock = new_lock()

# With more jumps than this from a variant, ask Python: searching more would take as long.
MOST_JUMPS = 1000


@holding(_lock)
def dispatch_table_of(callee: NativeCallee, layout: ArgumentLayout) -> CalleeTable:
    """The table of a callee for loops with this layout."""
    if callee.native is None:
        callee.native = {}
    table = callee.native.get(layout)
    if table is None:
        table = callee.native[layout] = CalleeTable(callee, layout)
    return table


class NativeVariant:
    """A compiled variant, as a VARIANT of native code."""

    def __init__(self, kernel: NativeKernel, number: int) -> None:
        self.kernel, self.number = kernel, number
        self.jumps: dict[tuple[int, int], NativeVariant] = {}
        # All jump tables so far: a dispatch loop may still be reading an old one.
        self._tables = [np.zeros(1, np.int64)]
        table = self._tables[0].ctypes.data
        self.words = np.array([kernel.address, kernel.state.ctypes.data, number, table], np.int64)
        self.address = int(self.words.ctypes.data)

    @holding(_lock)
    def add_jump(self, status: int, outcome: int, target: NativeVariant) -> None:
        """Add the variant to continue with if this one fails at a guard with this outcome; an existing entry stays."""
        if len(self.jumps) >= MOST_JUMPS or (status, outcome) in self.jumps:
            return
        self.jumps[status, outcome] = target
        words = [len(self.jumps)]
        for (s, o), t in self.jumps.items():
            words += [s, o, t.address]
        self._tables.append(np.array(words, np.int64))
        self.words[JUMPS] = self._tables[-1].ctypes.data


class DispatchTable:
    """A DISPATCH_TABLE of native code, with the callback's replies."""

    def __init__(
        self, in_types: Sequence[ValueType], out_types: Sequence[ValueType], layout: ArgumentLayout
    ) -> None:
        self.in_types, self.out_types, self.layout = tuple(in_types), tuple(out_types), layout
        # All lists of variants so far: a dispatch loop may still be reading an old one.
        self._lists = [np.zeros(1, np.int64)]
        self.words = np.zeros(len(DISPATCH_TABLE.words()), np.int64)
        self.words[VARIANTS] = self._lists[0].ctypes.data
        self.words[ID] = toolchain.number(DispatchTable, self)
        self.words[CALLBACK] = callback_address(_answer_dispatch_loop, ("i64", "ptr", "ptr", "i32", "i64"), "i64")
        self.address = int(self.words.ctypes.data)

    def answer(self, frame: Frame, asker: int, status: int, outcome: int) -> int:
        """The address of the variant to continue with, or DONE or DONE_AND_STOPS. Raises exceptions of user code."""
        raise NotImplementedError


class CalleeTable(DispatchTable):
    """The compiled variants of a callee."""

    def __init__(self, callee: NativeCallee, layout: ArgumentLayout) -> None:
        super().__init__(callee.in_types, callee.out_types, layout)
        self.callee = callee
        self.variants: dict[int, NativeVariant] = {}
        self._by_address: dict[int, NativeVariant] = {}

    def variant(self, number: int) -> NativeVariant:
        """A variant's native code, compiled at its first use."""
        known = self.variants.get(number)
        if known is not None:
            return known
        # Called before taking the lock, since the callee may do anything to make a tape.
        return self._made(number, self.callee.loop_kernel(number, self.layout))

    @holding(_lock)
    def _made(self, number: int, make: Callable[[], NativeKernel]) -> NativeVariant:
        known = self.variants.get(number)
        if known is None:
            known = NativeVariant(make(), number)
            # An interrupt may come before any line: an entry of `variants` must also be in the other tables.
            self._by_address[known.address] = known
            self._list_variants({**self.variants, number: known})
            self.variants[number] = known
        return known

    def _list_variants(self, variants: dict[int, NativeVariant]) -> None:
        listed = np.zeros(2 + max(variants), np.int64)
        listed[0] = listed.size - 1
        for number, each in variants.items():
            listed[1 + number] = each.address
        self._lists.append(listed)
        self.words[VARIANTS] = listed.ctypes.data

    # Replies to the dispatch loops

    def answer(self, frame: Frame, asker: int, status: int, outcome: int) -> int:
        variant = self._by_address.get(asker)
        self._raise_failure(variant, status)
        inputs = self.inputs_at(frame)
        if status == NAMED:
            return self._answer_named(frame, inputs)
        return self._answer_unknown(frame, variant, status, outcome, inputs)

    def _answer_named(self, frame: Frame, inputs: list[np.ndarray]) -> int:
        """The variant with the number in the frame."""
        number = ctypes.c_int64.from_address(_number_address(frame)).value
        if self.callee.is_compiled and self.callee.may_compile(number):
            return self.variant(number).address
        return self._run_in_python(frame, number, inputs)

    def _answer_unknown(
        self, frame: Frame, variant: NativeVariant | None, status: int, outcome: int, inputs: list[np.ndarray]
    ) -> int:
        """The first variant, or the one to continue with after one failed."""
        # A repeated failure, at the same guard or an earlier one: the kernels and NumPy differ in the last bit.
        again = frame[ASKED_AT] == frame[ITERATION] and status <= frame[ASKED_STATUS]
        if again or not self.callee.is_compiled:
            return self._run_in_python(frame, None, inputs)
        failure = None
        if variant is not None:
            failure = self._guard_failure(variant, status, outcome, frame)
            if failure is None:
                return self._run_in_python(frame, None, inputs)
        number = self.callee.missed(variant.number if variant is not None else None, failure, inputs)
        if not self.callee.may_compile(number):
            return self._run_in_python(frame, None, inputs)
        target = self.variant(number)
        if variant is not None:
            variant.add_jump(status, outcome, target)
        frame[ASKED_AT], frame[ASKED_STATUS] = frame[ITERATION], status
        return target.address

    def _raise_failure(self, variant: NativeVariant | None, status: int) -> None:
        if status == RECURSION:
            raise RecursionTooDeep(self.callee.name, None, "half the stack of this thread is in use", "threading.stack_size")
        if status == OUT_OF_MEMORY:
            raise MemoryError(f"no memory to run {self.callee.name}")
        if status >= FAILURE and variant is not None:
            raise rejection(np.linalg.LinAlgError(cast(TapeKernel, variant.kernel).failures[status - FAILURE]))
        if status in (WRONG_RESULT, RULE_RAISED):
            raise self.callee.failed(status)

    def _guard_failure(self, variant: NativeVariant, status: int, outcome: int, frame: Frame) -> GuardFailure | None:
        """The guard and its outcome; None if they cannot be determined."""
        kernel = cast(TapeKernel, variant.kernel)
        item = kernel.exits[status - 1]
        if item.guard_kind != "array":
            return number_failure(item, status - 1, struct.unpack("d", struct.pack("q", outcome))[0])
        # Repeat the iteration, with room to report the array, and its results discarded.
        report = report_for(item)
        again = new_frame(list(frame))
        again[END], again[NUMBERS] = frame[ITERATION] + 1, 0
        scratch = [np.empty(t.shape, t.dtype) for t in map(widened, self.out_types)]
        for k, array in enumerate(scratch):
            # The code adds the offset of the iteration to the first address.
            word = output_word(k, len(self.in_types))
            again[word] = array.ctypes.data - (self._output_address(frame, k) - frame[word])
        second = _LOOP(kernel.address)(ctypes.addressof(again), kernel.state.ctypes.data, report.ctypes.data)
        if second == PENDING:
            raise_pending()
        return reported_failure(item, status - 1, report, kernel.tape) if second == status else None

    def _output_address(self, frame: Frame, k: int) -> int:
        word, role = output_word(k, len(self.in_types)), self.layout.of_output(k, len(self.out_types))
        return address_at(frame, word, role, frame[ITERATION])

    def _run_in_python(self, frame: Frame, number: int | None, inputs: list[np.ndarray]) -> int:
        outputs, ran = self.callee.answer(number, inputs)
        for k, (value, type_) in enumerate(zip(outputs, self.out_types)):
            array = np.empty(type_.shape, widened(type_).dtype)
            array[...] = value  # raises where the shapes differ, which native memory would not
            ctypes.memmove(self._output_address(frame, k), array.ctypes.data, array.nbytes)
        if frame[NUMBERS] and number is None:
            ctypes.c_int64.from_address(_number_address(frame)).value = int(ran)
        return DONE_AND_STOPS if self.layout.stops and not outputs[-1] else DONE

    def inputs_at(self, frame: Frame) -> list[np.ndarray]:
        """Copies of the inputs of the frame's current iteration, in the callee's types."""
        inputs = []
        for k, type_ in enumerate(self.in_types):
            address = address_at(frame, input_word(k), self.layout.of_input(k), frame[ITERATION])
            array = np.empty(type_.shape, widened(type_).dtype)
            ctypes.memmove(array.ctypes.data, address, value_bytes(type_))
            inputs.append(array.astype(type_.dtype, copy=False))
        return inputs


def _number_address(frame: Frame) -> int:
    """The address of the variant number of the frame's current iteration."""
    return frame[NUMBERS] + 8 * frame[ITERATION] * frame[STEP]


def _answer_dispatch_loop(table_id: int, frame_address: int, asker: int, status: int, outcome: int) -> int:
    """The callback of dispatch loops. An exception stays pending for the kernel's caller, and the kernel returns PENDING."""
    table = toolchain.numbered(DispatchTable, table_id)
    words = frame_words(len(table.in_types), len(table.out_types))
    frame = (ctypes.c_int64 * words).from_address(frame_address)
    return table.answer(frame, asker, status, outcome)


_LOOP = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
