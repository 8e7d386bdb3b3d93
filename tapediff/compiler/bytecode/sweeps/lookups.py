"""The handlers of look-ups: entries at computed positions of arrays whose elements are in consecutive slots. Their runs are not padded.

Words of an operation: the slot of the array's first element, and the slot of the position. An earlier guard has checked the bounds.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...math.simd import Value
from ..handlers import HandlerWriter
from .run_handlers import ADJOINT_WORDS, add_to, begin_adjoint


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
        writer.begin()
        writer.operands_after_header()
        writer.loop(1, lambda done: writer.put(writer.made_at(done), 0, writer.value(_slot(writer, done), self.kind)))
        writer.end(self.arity, self.makes_values)


@dataclass(frozen=True, slots=True)
class AddAt:
    """Adds cotangents to those of the entries read."""

    makes_values = False
    arity = 2
    block = 1

    def write(self, writer: HandlerWriter) -> None:
        begin_adjoint(writer)
        writer.loop(1, lambda done: self._one(writer, done))
        writer.after(ADJOINT_WORDS)

    def _one(self, writer: HandlerWriter, done: str) -> None:
        code = writer.code
        z_bar = code.emit(f"load double, ptr {code.emit(f'getelementptr i64, ptr %z_bar, i64 {done}')}")
        add_to(code, _slot(writer, done), Value(code, z_bar, "f64", 1))


def _slot(writer: HandlerWriter, done: str) -> str:
    start = writer.operands_at(done, 2)
    position = writer.value(writer.word(start, 1), "i64")
    return writer.code.emit(f"add i64 {writer.word(start, 0)}, {position.ref}")
