"""Answers calls whose path a numba program does not have, with NumPy, and notes these paths for the next program."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from ...ir.instruction import ValueType
from ..jit.toolchain import toolchain
from ..runtime.call_frame import widened
from ..runtime.callbacks import keep_pending
from ..runtime.status import PENDING
from .learned_paths import LearnedPaths, TapedCallee
from .scalar_functions import inner

# Words of the array `note` that each call hands on: which program runs; whether Python has answered; the variant that answered, or the
# number of what went wrong; how deep calls stand in each other, or how many iterations a loop took.
PROGRAM, ANSWERED, NUMBER, DEPTH = range(4)
NOTE_WORDS = 4


class Answers:
    """Answers the questions of one program.

    Attributes:
        callees: in the order of their numbers in the program.
        seconds: how long answering took so far.
    """

    def __init__(self, callees: Sequence[TapedCallee], learned: LearnedPaths) -> None:
        self.callees, self.learned = callees, learned
        self.seconds = 0.0
        self._number = toolchain.number(Answers, self)

    def note(self) -> np.ndarray:
        """The note of a new call."""
        note = np.zeros(NOTE_WORDS, np.int64)
        note[PROGRAM] = self._number
        return note

    def answer(self, number: int, chosen: int, left: tuple[int, int, float], addresses: int) -> int:
        """Compute the results of a call where its function expects them, and give the variant that did."""
        start = time.perf_counter()
        callee = self.callees[number]
        types = (*callee.in_types, *callee.out_types)
        places = (ctypes.c_int64 * len(types)).from_address(addresses)
        arrays = [_array(address, widened(type_)) for address, type_ in zip(places, types)]
        count = len(callee.in_types)
        inputs = [array.astype(t.dtype)[()] for array, t in zip(arrays[:count], callee.in_types)]
        outputs, ran = callee.answer(None if chosen < 0 else chosen, inputs)
        for array, value in zip(arrays[count:], outputs):
            array[...] = value
        self.learned.note(callee, ran, *left)
        self.seconds += time.perf_counter() - start
        return ran


def _array(address: int, type_: ValueType) -> np.ndarray:
    size = type_.size * type_.dtype.itemsize
    if not size:
        return np.empty(type_.shape, type_.dtype)
    return np.frombuffer(memoryview((ctypes.c_char * size).from_address(address)), type_.dtype).reshape(type_.shape)


def _answer(note_address: int, callee: int, chosen: int, left_by: int, status: int, outcome: float, addresses: int) -> None:
    """Called by native code, which looks at the note: an exception may come before any line, and its answer would be anything."""
    note = (ctypes.c_int64 * NOTE_WORDS).from_address(note_address)
    try:
        note[NUMBER] = toolchain.numbered(Answers, int(note[PROGRAM])).answer(callee, chosen, (left_by, status, outcome), addresses)
        note[ANSWERED] = 1
    except BaseException as raised:  # noqa: BLE001 -- raised again by the caller of the program
        keep_pending(raised)


_whole = ctypes.c_int64
_callback = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, _whole, _whole, _whole, _whole, ctypes.c_double, ctypes.c_void_p
)(_answer)  # fmt: skip


@cache
def asking_function() -> Callable[..., int]:
    """The function `ask` of programs in this process; see program_support."""

    @inner
    def ask(note, callee, chosen, left_by, status, outcome, addresses):
        note[ANSWERED] = 0
        _callback(note.ctypes, callee, chosen, left_by, status, outcome, addresses.ctypes)
        return 0 if note[ANSWERED] == 1 else PENDING

    return ask
