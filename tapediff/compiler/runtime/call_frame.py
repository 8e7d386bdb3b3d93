"""Call frames: the words in memory that tell a loop of callee variants the addresses of its values.

    frame ::= header (pointer, stride in bytes, mask)*       one triple per input of the callee, then one per output

Iteration t finds a value at pointer + (t & mask) * stride. Streams have mask -1, and a negative stride if the loop runs backwards; carries
that are not kept alternate between two entries (mask 1), or are written in place (mask 0); constants are always at `pointer`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ...ir.instruction import FLOAT64, ValueType
from ...ops.control.calls import LoopForm
from ..llvm.memory import Layout
from ..llvm.values import I64, ITEM_BYTES, KINDS, PTR

# The header. `iteration`: the first one, or the one that a guard stopped; `end`: one past the last; `numbers`: the address of the variant
# numbers, and `step`: their stride in words; `stopped`: 1 if a while loop has ended; `stack`: the start of this thread's stack of callee
# calls, 0 for here; `asked_at`, `asked_status`: the iteration for which Python last chose a variant, and the status then.
CALL_FRAME = Layout.of_words(
    iteration=I64, end=I64, numbers=PTR, step=I64, stopped=I64, stack=I64, asked_at=I64, asked_status=I64
)
ITERATION, END, NUMBERS, STEP, STOPPED, STACK, ASKED_AT, ASKED_STATUS = CALL_FRAME.words()
HEADER = len(CALL_FRAME.words())

NO_END = 1 << 62


@dataclass(frozen=True, slots=True)
class ArgumentLayout:
    """The roles of a compiled callee's inputs and outputs, on which its code depends.

    Attributes:
        carries, streams: the number of such inputs, in this order; the others are constants.
        stops: True if the last output tells whether to continue.
        once: True for a call, a loop of one iteration: everything is a constant.
        backwards: as in LoopForm; it determines the addresses of an iteration's values.
        kept: the carries that are kept for each iteration.
        threads: the most threads that may share a loop in it; see pipeline.build_program.
        in_place: the carries with one entry.
    """

    carries: int
    streams: int
    stops: bool
    once: bool
    backwards: bool = False
    kept: tuple[int, ...] = ()
    threads: int = 0
    in_place: tuple[int, ...] = ()

    @classmethod
    def of(
        cls, form: LoopForm, threads: int = 0, in_place: tuple[int, ...] = (), kept: tuple[int, ...] | None = None
    ) -> ArgumentLayout:
        """The layout of a loop. All carries are kept if it saves them, or only those in `kept`."""
        if kept is None:
            kept = tuple(range(form.carries)) if form.saves_carries else ()
        return cls(form.carries, form.streams, form.stops, False, form.backwards, kept, threads, in_place)

    @classmethod
    def of_call(cls, threads: int) -> ArgumentLayout:
        return cls(0, 0, False, True, threads=threads) if threads else ONCE

    def of_input(self, k: int) -> str:
        if self.once or k >= self.carries + self.streams:
            return "constant"
        return "carry" if k < self.carries else "stream"

    def of_output(self, k: int, outputs: int) -> str:
        if self.once or (self.stops and k == outputs - 1):
            return "constant"
        return "carry" if k < self.carries else "stream"

    def step(self, role: str, k: int, is_output: bool, size: int) -> tuple[int, bool]:
        """The stride between iterations of a value, in bytes, and True if it alternates between two entries."""
        if role == "stream" or k in self.kept:
            return (-size if self.backwards else size), False
        return (-size if is_output else size), True


ONCE = ArgumentLayout(0, 0, False, True)


def input_word(k: int) -> int:
    """The first of the three words of an input."""
    return HEADER + 3 * k


def output_word(k: int, inputs: int) -> int:
    return HEADER + 3 * (inputs + k)


def frame_words(inputs: int, outputs: int) -> int:
    return HEADER + 3 * (inputs + outputs)


def value_bytes(type_: ValueType) -> int:
    """The bytes of a value in kernels, which have only 64-bit floats."""
    return type_.size * ITEM_BYTES[KINDS[type_.dtype.kind]]


def widened(type_: ValueType) -> ValueType:
    """The type in which a value crosses between kernels: floats have 64 bits."""
    return ValueType(type_.shape, FLOAT64) if type_.dtype == np.float32 else type_


# A call frame as Python sees it: an array of words.
Frame: TypeAlias = "ctypes.Array[ctypes.c_int64]"


def new_frame(words: Sequence[int]) -> Frame:
    return (ctypes.c_int64 * len(words))(*words)


def address_at(frame: Frame, word: int, role: str, t: int) -> int:
    """The address of a value at iteration t, by its role and the three words from `word` on."""
    if role == "constant":
        return frame[word]
    place = t & frame[word + 2] if role == "carry" else t
    return frame[word] + place * frame[word + 1]
