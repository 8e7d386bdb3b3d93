"""The handlers of the interpreter: native functions that do one operation on many values, compiled on first use.

A program of the interpreter is a list of runs of 32-bit words, `handler (2 words), count, operands of each of the count operations`.
A handler does its run and jumps to the handler of the next one, so the processor predicts one jump for a run, not one for an operation.
Values are 64-bit words in slots, masks are 0 or 1. The results of a run are in the slots after those of the run before.

    i32 handler(ptr run, ptr slots, ptr next slot, ptr bases, ptr report)

A handler is made from the same expression as straight-line code, without any freedom to round differently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ...ops.declaration.scalar_expressions import has_costly
from ..jit.native_function import NativeFunction
from ..jit.toolchain import toolchain
from ..llvm.values import MEMORY_TYPES, TYPES
from ..loop_ir.collapse_loops import LANES
from ..loop_ir.program import Parameters
from ..math.expressions import emit_expression
from ..math.simd import Code, Value, to_f64, trunc

HEADER_BYTES = 12
SIGNATURE = "ptr %run, ptr %slots, ptr %made, ptr %bases, ptr %report"

# Cheap operations are unrolled in blocks of this size; costly ones run on SIMD lanes.
UNROLLED = 4


@dataclass(frozen=True, slots=True)
class Operation:
    """A handler that computes one expression of values.

    Attributes:
        kinds: types of the operands r0, r1, ...
        kind: type of the result.
    """

    expression: str
    parameters: Parameters
    kinds: tuple[str, ...]
    kind: str

    makes_values = True

    @property
    def arity(self) -> int:
        return len(self.kinds)


@dataclass(frozen=True, slots=True)
class Load:
    """Reads memory. Operands: base, offset in elements and, if `indexed`, a value to add to the offset."""

    kind: str
    indexed: bool

    makes_values = True

    @property
    def arity(self) -> int:
        return 2 + self.indexed


@dataclass(frozen=True, slots=True)
class Store:
    """Writes memory, or adds to it. Operands: those of a load, then the value."""

    kind: str
    indexed: bool
    adds: bool

    makes_values = False

    @property
    def arity(self) -> int:
        return 3 + self.indexed


@dataclass(frozen=True, slots=True)
class Check:
    """A guard. Operands: the value, the expected outcome, the guard's ordinal.

    Attributes:
        expects_nan: the recorded outcome is NaN, which is equal to nothing.
    """

    guard_kind: str
    kind: str
    expects_nan: bool

    makes_values = False
    arity = 3


@dataclass(frozen=True, slots=True)
class Constants:
    """Puts its operands, two words each, into slots."""

    makes_values = True
    arity = 2


@dataclass(frozen=True, slots=True)
class End:
    """Returns 0."""

    makes_values = False
    arity = 0


Handler = Operation | Load | Store | Check | Constants | End


class SweepHandler(Protocol):
    """Another handler, which writes its own text: see sweeps/run_handlers.py."""

    def write(self, writer: HandlerWriter) -> None: ...


def addresses_of(handlers: Iterable[Handler | SweepHandler]) -> list[int]:
    """The addresses of the handlers. New ones are compiled, and kept for good."""
    return [toolchain.once(("handler", handler), lambda handler=handler: _compiled(handler)).address for handler in handlers]


def _compiled(handler: Handler | SweepHandler) -> NativeFunction:
    text, symbols = handler_text(handler)
    return NativeFunction(text, NAME, symbols, is_portable=True)


NAME = "tapediff_handler"


def handler_text(handler: Handler | SweepHandler) -> tuple[str, set[str]]:
    """The LLVM text of a handler, and the external routines that it calls."""
    writer = HandlerWriter(handler)
    writer.body()
    text = [
        *writer.code.declarations,
        f"define i32 @{NAME}({SIGNATURE}) nounwind {{",
        "entry:",
        *writer.code.lines,
        "}",
    ]
    return "\n".join(text), writer.code.symbols


class HandlerWriter:
    """The growing text of one handler."""

    def __init__(self, handler: Handler | SweepHandler) -> None:
        self.handler = handler
        self.code = Code("entry")

    def body(self) -> None:
        code, handler = self.code, self.handler
        if isinstance(handler, End):
            code.line("ret i32 0")
            return
        if not isinstance(handler, Handler):
            handler.write(self)
            return
        self.begin()
        self.operands_after_header()
        if isinstance(handler, Operation):
            step = LANES if is_vectorised(handler) else UNROLLED
            self.loop(step, lambda done: self._operations(handler, done, step))
        self.loop(1, lambda done: self._operations(handler, done, 1))
        self.end(handler.arity, handler.makes_values)

    def begin(self) -> None:
        """Load the count of a run."""
        code = self.code
        code.line("%done_slot = alloca i64")
        code.line("store i64 0, ptr %done_slot")
        code.line("%count_at = getelementptr i8, ptr %run, i64 8")
        code.line("%count_word = load i32, ptr %count_at, align 4")
        code.line("%count = zext i32 %count_word to i64")

    def operands_after_header(self) -> None:
        self.code.line(f"%operands = getelementptr i8, ptr %run, i64 {HEADER_BYTES}")

    def loop(self, step: int, operations: Callable[[str], None]) -> None:
        """A loop over the operations, `step` at a time, while at least `step` are left."""
        code = self.code
        head, body, end = code.label(), code.label(), code.label()
        code.line(f"br label %{head}")
        code.start(head)
        done = code.emit("load i64, ptr %done_slot")
        following = code.emit(f"add nuw nsw i64 {done}, {step}")
        enough = code.emit(f"icmp ule i64 {following}, %count")
        code.line(f"br i1 {enough}, label %{body}, label %{end}")
        code.start(body)
        operations(done)
        code.line(f"store i64 {following}, ptr %done_slot")
        code.line(f"br label %{head}")
        code.start(end)

    def end(self, arity: int, makes_values: bool) -> None:
        """Go on after the operands of a run, and after the values that it has made."""
        made = self.code.emit("getelementptr i64, ptr %made, i64 %count") if makes_values else "%made"
        words = self.code.emit(f"mul nuw nsw i64 %count, {arity}")
        self.go_on(self.code.emit(f"getelementptr i32, ptr %operands, i64 {words}"), made)

    def after(self, words: int, made: str = "%made") -> None:
        """Go on after a run of this many words."""
        self.go_on(self.code.emit(f"getelementptr i32, ptr %run, i64 {words}"), made)

    def go_on(self, following: str, made: str) -> None:
        """Jump to the handler of the next run."""
        target = self.code.emit(f"load ptr, ptr {following}, align 4")
        result = self.code.emit(f"musttail call i32 {target}(ptr {following}, ptr %slots, ptr {made}, ptr %bases, ptr %report)")
        self.code.line(f"ret i32 {result}")

    def operands_at(self, done: str, arity: int) -> str:
        return self.code.emit(f"getelementptr i32, ptr %operands, i64 {self.code.emit(f'mul nuw nsw i64 {done}, {arity}')}")

    def made_at(self, done: str) -> str:
        return self.code.emit(f"getelementptr i64, ptr %made, i64 {done}")

    def _operations(self, handler: Handler, first: str, count: int) -> None:
        start, made = self.operands_at(first, handler.arity), self.made_at(first)
        if isinstance(handler, Operation):
            self._compute(handler, start, made, count)
        elif isinstance(handler, Load):
            kind = handler.kind
            loaded = self.code.emit(f"load {MEMORY_TYPES[kind]}, ptr {self._address(handler, start)}")
            self.put(made, 0, Value(self.code, self._from_memory(loaded, kind), kind, 1))
        elif isinstance(handler, Store):
            self._store(handler, start)
        elif isinstance(handler, Check):
            self._check(handler, start)
        else:
            low = self.code.emit(f"load i64, ptr {start}, align 4")
            self.code.line(f"store i64 {low}, ptr {made}")

    # Operations

    def _compute(self, handler: Operation, start: str, made: str, count: int) -> None:
        """Read all operands first: none is a result of the same run."""
        arity = handler.arity
        groups = [
            [self.value(self.word(start, k * arity + j), kind) for j, kind in enumerate(handler.kinds)]
            for k in range(count)
        ]
        if count > 1 and is_vectorised(handler):
            groups = [list(map(together, zip(*groups)))]
        for k, operands in enumerate(groups):
            self.put(made, k, computed(handler.expression, dict(enumerate(operands)), handler.parameters, handler.kind))

    # Slots and memory

    def word(self, start: str, k: int) -> str:
        """An operand: a non-negative integer."""
        place = self.code.emit(f"getelementptr i32, ptr {start}, i64 {k}") if k else start
        word = self.code.emit(f"load i32, ptr {place}, align 4")
        return self.code.emit(f"zext i32 {word} to i64")

    def value(self, slot: str, kind: str) -> Value:
        return self.loaded(self.code.emit(f"getelementptr i64, ptr %slots, i64 {slot}"), 0, kind)

    def loaded(self, place: str, k: int, kind: str) -> Value:
        """The value in a slot, or in the `k`-th slot after it."""
        place = self.code.emit(f"getelementptr i64, ptr {place}, i64 {k}") if k else place
        loaded = self.code.emit(f"load {'double' if kind == 'f64' else 'i64'}, ptr {place}")
        return Value(self.code, self._from_memory(loaded, kind, "i64"), kind, 1)

    def _from_memory(self, loaded: str, kind: str, type_: str = "i8") -> str:
        return self.code.emit(f"icmp ne {type_} {loaded}, 0") if kind == "i1" else loaded

    def put(self, made: str, k: int, value: Value) -> None:
        """Store a result of one or several lanes in consecutive slots, from the `k`-th on."""
        place = self.code.emit(f"getelementptr i64, ptr {made}, i64 {k}") if k else made
        kind, name = value.kind, value.ref
        if kind == "i1":
            name, kind = self.code.emit(f"zext {TYPES['i1', value.width]} {name} to {TYPES['i64', value.width]}"), "i64"
        self.code.line(f"store {TYPES[kind, value.width]} {name}, ptr {place}, align 8")

    def _address(self, handler: Load | Store, start: str) -> str:
        element = MEMORY_TYPES[handler.kind]
        place = self.code.emit(f"getelementptr ptr, ptr %bases, i64 {self.word(start, 0)}")
        base = self.code.emit(f"load ptr, ptr {place}")
        address = self.code.emit(f"getelementptr {element}, ptr {base}, i64 {self.word(start, 1)}")
        if handler.indexed:
            index = self.value(self.word(start, 2), "i64")
            address = self.code.emit(f"getelementptr {element}, ptr {address}, i64 {index.ref}")
        return address

    def _store(self, handler: Store, start: str) -> None:
        code, kind = self.code, handler.kind
        address = self._address(handler, start)
        value = self.value(self.word(start, handler.arity - 1), kind)
        if handler.adds:
            value = Value(code, code.emit(f"load {MEMORY_TYPES[kind]}, ptr {address}"), kind, 1) + value
        name = code.emit(f"zext i1 {value.ref} to i8") if kind == "i1" else value.ref
        code.line(f"store {MEMORY_TYPES[kind]} {name}, ptr {address}")

    # Guards

    def _check(self, handler: Check, start: str) -> None:
        code = self.code
        value = self.value(self.word(start, 0), handler.kind)
        if handler.guard_kind == "int":
            outcome = trunc(value) if handler.kind == "f64" else value
            expected = self.value(self.word(start, 1), handler.kind)
            fails = outcome.eq(outcome) if handler.expects_nan else outcome.ne(expected)
        else:
            outcome = value if value.kind == "i1" else value.ne(0.0 if value.kind == "f64" else 0)
            fails = outcome ^ self.value(self.word(start, 1), "i1")
        failed, onward = code.label(), code.label()
        code.line(f"br i1 {fails.ref}, label %{failed}, label %{onward}")
        code.start(failed)
        if handler.guard_kind != "array":
            room = code.emit("getelementptr i8, ptr %report, i64 8")
            code.line(f"store double {to_f64(outcome).ref}, ptr {room}")
        status = code.emit(f"trunc i64 {self.word(start, 2)} to i32")
        code.line(f"ret i32 {code.emit(f'add i32 {status}, 1')}")
        code.start(onward)


def computed(expression: str, operands: Mapping[int, Value], parameters: Parameters, kind: str) -> Value:
    """The value of an expression of r0, r1, ..."""
    result = emit_expression(expression, {**{f"r{k}": operand for k, operand in operands.items()}, **dict(parameters)})
    assert result.kind == kind, f"{expression} makes {result.kind}, not {kind}"
    return result


def together(values: Sequence[Value]) -> Value:
    """Join scalars to one vector value."""
    code, kind, lanes = values[0].code, values[0].kind, "poison"
    for k, value in enumerate(values):
        lanes = code.emit(f"insertelement {TYPES[kind, len(values)]} {lanes}, {TYPES[kind, 1]} {value.ref}, i64 {k}")
    return Value(code, lanes, kind, len(values))


def is_vectorised(handler: Operation) -> bool:
    """True if an operation takes long enough for gathering its operands in lanes to pay."""
    return has_costly(handler.expression)
