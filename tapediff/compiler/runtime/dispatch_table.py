"""Dispatch tables: the Python side of compiled callees. They compile variants when native code first needs them, and answer what it asks.

A callee has a table for each way in which loops feed it (its ArgumentLayout). Native code refers to it by its address, so whoever holds
such code holds the table too; a table holds its variants.
"""

from __future__ import annotations

import ctypes
import itertools
import struct
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base.fork_locks import new_lock
from ...base.held_locks import holding
from ...errors import InvalidTape, RecursionTooDeep, rejection
from ...ir.instruction import FLOAT64, ValueType
from ...ir.interpreter import GuardFailure
from .call_frame import (
    ASKED_AT,
    ASKED_STATUS,
    END,
    ITERATION,
    NUMBERS,
    STEP,
    ArgumentLayout,
    frame_words,
    input_word,
    output_word,
    value_bytes,
)  # fmt: skip
from .callbacks import callback_address, raise_pending
from .dispatch_loop import CALLBACK, CURRENT, DISPATCH_TABLE, DONE, DONE_AND_STOPS, ID, JUMPS, VARIANTS
from .guard_reports import number_miss, report_for, reported_miss
from .status import FAILURE, NAMED, OUT_OF_MEMORY, PENDING, RECURSION, RULE_RAISED, WRONG_RESULT

# Held while dispatch tables and their variants change. Nothing that is done under it runs user code or waits for another lock that does.
_lock = new_lock()

# Beyond this many ways on from a variant, Python is asked; looking through more of them would take as long.
MOST_JUMPS = 1000

_ids = itertools.count(1)
_dispatch_tables: weakref.WeakValueDictionary[int, DispatchTable] = weakref.WeakValueDictionary()


@holding(_lock)
def dispatch_table_of(callee: Any, layout: ArgumentLayout) -> DispatchTable:
    """The table of a callee for loops that feed it in a certain way."""
    if callee.native is None:
        callee.native = {}
    table = callee.native.get(layout)
    if table is None:
        table = callee.native[layout] = DispatchTable(callee, layout)
    return table


def widened(type_: ValueType) -> ValueType:
    """The type in which a value crosses between kernels: floats have 64 bits."""
    return ValueType(type_.shape, FLOAT64) if type_.dtype == np.float32 else type_


class _NativeVariant:
    """A compiled variant: its words are what compiler.runtime.dispatch_loop calls a variant."""

    def __init__(self, kernel: Any, number: int) -> None:
        self.kernel, self.number = kernel, number
        self.jumps: dict[tuple[int, int], _NativeVariant] = {}
        # Every table of jumps there ever was, as a dispatch loop may still be reading it.
        self._tables = [np.zeros(1, np.int64)]
        table = self._tables[0].ctypes.data
        self.words = np.array([kernel.address, kernel.state.ctypes.data, number, table], np.int64)
        self.address = int(self.words.ctypes.data)

    @holding(_lock)
    def add_jump(self, status: int, outcome: int, target: _NativeVariant) -> None:
        """Remember which variant goes on where this one fails at a guard with a certain outcome."""
        if len(self.jumps) >= MOST_JUMPS:
            return
        self.jumps[status, outcome] = target
        words = [len(self.jumps)]
        for (s, o), t in self.jumps.items():
            words += [s, o, t.address]
        self._tables.append(np.array(words, np.int64))
        self.words[JUMPS] = self._tables[-1].ctypes.data


class DispatchTable:
    """The compiled variants of a callee; its words are what compiler.runtime.dispatch_loop calls a table."""

    def __init__(self, callee: Any, layout: ArgumentLayout) -> None:
        self.callee, self.layout = callee, layout
        self.in_types: tuple[ValueType, ...] = tuple(callee.in_types)
        self.out_types: tuple[ValueType, ...] = tuple(callee.out_types)
        self.variants: dict[int, _NativeVariant] = {}
        self._by_address: dict[int, _NativeVariant] = {}
        self._tables = [np.zeros(1, np.int64)]
        self.words = np.zeros(len(DISPATCH_TABLE.words()), np.int64)
        self.words[VARIANTS] = self._tables[0].ctypes.data
        self.words[CURRENT] = 0
        self.words[ID] = next(_ids)
        self.words[CALLBACK] = callback_address(_answer_dispatch_loop, ("i64", "ptr", "ptr", "i32", "i64"), "i64")
        self.address = int(self.words.ctypes.data)
        _dispatch_tables[int(self.words[ID])] = self

    def variant(self, number: int) -> _NativeVariant:
        """A variant's native code, compiled at its first use."""
        known = self.variants.get(number)
        if known is not None:
            return known
        # Asked before the lock is taken, as it is the callee's business how it makes tapes.
        return self._made(number, self._maker(number))

    @holding(_lock)
    def _made(self, number: int, make: Callable[[], Any]) -> _NativeVariant:
        known = self.variants.get(number)
        if known is None:
            known = _NativeVariant(make(), number)
            # An interrupt may come before any line: what is in `variants` is in the other tables as well.
            self._by_address[known.address] = known
            self._list_variants({**self.variants, number: known})
            self.variants[number] = known
        return known

    def _maker(self, number: int) -> Callable[[], Any]:
        """What compiles a variant: a callee that is not made of tapes brings native code of its own."""
        own = getattr(self.callee, "loop_kernel", None)
        if own is not None:
            return own
        # Imported here, as what it emits calls dispatch tables in turn.
        from ..loop_kernel import LoopKernel

        tape = self.callee.variant_tape(number)
        if (tape.input_types, tape.output_types) != (self.in_types, self.out_types):
            # Native code would write beyond the room that its callers made for it.
            raise InvalidTape(
                f"a variant of {self.callee.name} has other types than the first", got=str(tape.output_types)
            )
        return lambda: LoopKernel(tape, self.layout)

    def _list_variants(self, variants: dict[int, _NativeVariant]) -> None:
        table = np.zeros(2 + max(variants), np.int64)
        table[0] = table.size - 1
        for number, each in variants.items():
            table[1 + number] = each.address
        self._tables.append(table)
        self.words[VARIANTS] = table.ctypes.data

    # Questions of the dispatch loops

    def answer(self, frame: _Frame, asker: int, status: int, outcome: int) -> int:
        """The address of the variant to go on with, or what this has done instead. Raises what user code raises."""
        variant = self._by_address.get(asker)
        self._raise_failure(variant, status)
        numbers, t = frame[NUMBERS], frame[ITERATION]
        chosen = None
        if status == NAMED:
            chosen = ctypes.c_int64.from_address(numbers + 8 * t * frame[STEP]).value
        inputs = self.inputs_at(frame)
        if not self.callee.is_compiled:
            return self._run_in_python(frame, chosen, inputs)
        if chosen is not None:
            if not self.callee.may_compile(chosen):
                return self._run_in_python(frame, chosen, inputs)
            return self.variant(chosen).address
        # Once more at the same guard or an earlier one: the kernels and NumPy do not agree to the last bit.
        if frame[ASKED_AT] == t and status <= frame[ASKED_STATUS]:
            return self._run_in_python(frame, None, inputs)
        miss = None
        if variant is not None:
            miss = self._miss(variant, status, outcome, frame)
            if miss is None:
                return self._run_in_python(frame, None, inputs)
        number = self.callee.missed(variant.number if variant is not None else None, miss, inputs)
        if not self.callee.may_compile(number):
            return self._run_in_python(frame, None, inputs)
        target = self.variant(number)
        if variant is not None:
            variant.add_jump(status, outcome, target)
        frame[ASKED_AT], frame[ASKED_STATUS] = t, status
        return target.address

    def _raise_failure(self, variant: _NativeVariant | None, status: int) -> None:
        if status == RECURSION:
            raise RecursionTooDeep(self.callee.name, None, "half the stack of this thread is in use", "threading.stack_size")
        if status == OUT_OF_MEMORY:
            raise MemoryError(f"no memory to run {self.callee.name}")
        if status >= FAILURE and variant is not None:
            raise rejection(np.linalg.LinAlgError(variant.kernel.failures[status - FAILURE]))
        if status in (WRONG_RESULT, RULE_RAISED):
            raise self.callee.failed(status)

    def _miss(self, variant: _NativeVariant, status: int, outcome: int, frame: _Frame) -> GuardFailure | None:
        """The guard and what it met; None if that is not to be found out."""
        kernel = variant.kernel
        item = kernel.exits[status - 1]
        if item.guard_kind != "array":
            return number_miss(item, status - 1, struct.unpack("d", struct.pack("q", outcome))[0])
        # This iteration again, with room for the array, and with results that go nowhere.
        report = report_for(item, kernel.program)
        again = new_frame(list(frame))
        again[END], again[NUMBERS] = frame[ITERATION] + 1, 0
        scratch = [np.empty(t.shape, t.dtype) for t in map(widened, self.out_types)]
        for k, array in enumerate(scratch):
            word = output_word(k, len(self.in_types))
            # The code knows how far the place of an iteration is from the first one.
            moved = (
                _address_at(frame, word, self.layout.of_output(k, len(self.out_types)), frame[ITERATION]) - frame[word]
            )
            again[word] = array.ctypes.data - moved
        met = _LOOP(kernel.address)(ctypes.addressof(again), kernel.state.ctypes.data, report.ctypes.data)
        if met == PENDING:
            raise_pending()
        return reported_miss(item, status - 1, report, kernel.tape) if met == status else None

    def _run_in_python(self, frame: _Frame, number: int | None, inputs: list[np.ndarray]) -> int:
        outputs, ran = self.callee.answer(number, inputs)
        t = frame[ITERATION]
        for k, (value, type_) in enumerate(zip(outputs, self.out_types)):
            word, role = output_word(k, len(self.in_types)), self.layout.of_output(k, len(self.out_types))
            address = _address_at(frame, word, role, t)
            array = np.empty(type_.shape, widened(type_).dtype)
            array[...] = value  # raises where the shapes differ, which native memory would not
            ctypes.memmove(address, array.ctypes.data, array.nbytes)
        if frame[NUMBERS] and number is None:
            ctypes.c_int64.from_address(frame[NUMBERS] + 8 * t * frame[STEP]).value = int(ran)
        return DONE_AND_STOPS if self.layout.stops and not outputs[-1] else DONE

    def inputs_at(self, frame: _Frame) -> list[np.ndarray]:
        """Copies of the inputs of the iteration that the frame stands at, in the callee's types."""
        inputs = []
        for k, type_ in enumerate(self.in_types):
            address = _address_at(frame, input_word(k), self.layout.of_input(k), frame[ITERATION])
            array = np.empty(type_.shape, widened(type_).dtype)
            ctypes.memmove(array.ctypes.data, address, value_bytes(type_))
            inputs.append(array.astype(type_.dtype, copy=False))
        return inputs


# Frames as Python sees them: arrays of words.
_Frame = Any


def new_frame(words: Sequence[int]) -> _Frame:
    return (ctypes.c_int64 * len(words))(*words)


def _address_at(frame: _Frame, word: int, role: str, t: int) -> int:
    if role == "constant":
        return frame[word]
    place = t & frame[word + 2] if role == "carry" else t
    return frame[word] + place * frame[word + 1]


def _answer_dispatch_loop(table_id: int, frame_address: int, asker: int, status: int, outcome: int) -> int:
    """What the dispatch loops call. What it raises waits for the callers of the kernel, which returns with PENDING."""
    table = _dispatch_tables[table_id]
    words = frame_words(len(table.in_types), len(table.out_types))
    frame = (ctypes.c_int64 * words).from_address(frame_address)
    return table.answer(frame, asker, status, outcome)


_LOOP = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


def run_native(op: Any, params: tuple[Any, ...], values: Sequence[Any]) -> tuple[Any, ...]:
    """See compiler.runtime.run_callee."""
    from .run_callee import run_native

    return run_native(op, params, values)
