"""The handlers of look-ups: entries at computed positions of arrays whose elements are in consecutive slots. Their runs are not padded.

Words of an operation: the slot of the array's first element, and the slot of the position. An earlier guard has checked the bounds.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...math.simd import Value
from ..handlers import HEADER_BYTES, HandlerWriter
from .run_handlers import ADJOINT_WORDS, add_to, begin, begin_adjoint, go_on, operands_at, store_made


@dataclass(frozen=True, slots=True)
class LookUp:
    """Reads entries.

    Attributes:
        kind: type of the entries.
    """

    kind: str

    makes_values = True
    arity = 2
    block = 1

    def write(self, writer: HandlerWriter) -> None:
        code = writer.code
        begin(code)
        code.line(f"%operands = getelementptr i8, ptr %run, i64 {HEADER_BYTES}")
        writer.loop(1, lambda done: self._one(writer, done))
        made = code.emit("getelementptr i64, ptr %made, i64 %count")
        words = code.emit(f"mul nuw nsw i64 %count, {self.arity}")
        go_on(code, code.emit(f"getelementptr i32, ptr %operands, i64 {words}"), made)

    def _one(self, writer: HandlerWriter, done: str) -> None:
        code = writer.code
        made = code.emit(f"getelementptr i64, ptr %made, i64 {done}")
        store_made(code, made, 0, writer.value(_slot(writer, done), self.kind))


@dataclass(frozen=True, slots=True)
class AddAt:
    """Adds cotangents to those of the entries read."""

    makes_values = False
    arity = 2
    block = 1

    def write(self, writer: HandlerWriter) -> None:
        code = writer.code
        begin_adjoint(writer)
        writer.loop(1, lambda done: self._one(writer, done))
        go_on(code, code.emit(f"getelementptr i32, ptr %run, i64 {ADJOINT_WORDS}"), "%made")

    def _one(self, writer: HandlerWriter, done: str) -> None:
        code = writer.code
        z_bar = code.emit(f"load double, ptr {code.emit(f'getelementptr i64, ptr %z_bar, i64 {done}')}")
        add_to(code, _slot(writer, done), Value(code, z_bar, "f64", 1))


def _slot(writer: HandlerWriter, done: str) -> str:
    start = operands_at(writer.code, done, 2)
    position = writer.value(writer.word(start, 1), "i64")
    return writer.code.emit(f"add i64 {writer.word(start, 0)}, {position.ref}")
