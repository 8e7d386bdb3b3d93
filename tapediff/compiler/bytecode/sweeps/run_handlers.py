"""The handlers of sweeps: native functions that run a formula, or its adjoint, on many operations each.

A program of sweeps is a list of runs as in handlers.py. Slots hold the values, then the cotangents. A forward run computes the values of
consecutive slots; its adjoint run has no operands of its own, it reads those of the forward run again:

    forward run: handler (2 words), count, operands of each operation
    adjoint run: handler (2 words), count, how many words back the operands are, the first slot of the results

A run is padded to whole blocks of operations, which are computed together: the padding reads a filler constant, and adds to its cotangent,
which is never read. So there is no loop over a remainder, whose end the processor would mispredict.

No operation of a run reads a result of the same run, so no adjoint adds to a cotangent that its run reads: all are read first, then added
to one by one, in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....ops.declaration.scalar_expressions import called_functions, has_costly
from ...llvm.values import SCALAR, TYPES
from ...loop_ir.collapse_loops import LANES
from ...loop_ir.program import Literal
from ...math.function_table import CALLED_BY_ELEMENT
from ...math.simd import Code, Value, constant
from ..handlers import UNROLLED, HandlerWriter, computed, together
from .formulas import Formula

# Words of an adjoint run.
ADJOINT_WORDS = 5


@dataclass(frozen=True, slots=True)
class Forward:
    """Computes a formula with one result."""

    formula: Formula

    makes_values = True

    @property
    def arity(self) -> int:
        return len(self.formula.kinds)

    @property
    def block(self) -> int:
        return block_of(self.formula)

    def write(self, writer: HandlerWriter) -> None:
        writer.begin()
        writer.operands_after_header()
        writer.loop(self.block, lambda done: self._operations(writer, done, self.block))
        writer.end(self.arity, self.makes_values)

    def _operations(self, writer: HandlerWriter, done: str, step: int) -> None:
        formula, start, made = self.formula, writer.operands_at(done, self.arity), writer.made_at(done)
        slots = [[writer.word(start, k * self.arity + j) for j in range(self.arity)] for k in range(step)]
        operands = [[writer.value(slot, kind) for slot, kind in zip(row, formula.kinds)] for row in slots]
        for first, values in _evaluated(writer.code, formula, operands):
            writer.put(made, first, values[0])


@dataclass(frozen=True, slots=True)
class Adjoint:
    """Adds to cotangents: a formula of the cotangent of a result, the result and the operands.

    Attributes:
        wanted: the operands to whose cotangents the results of the formula are added.
    """

    formula: Formula
    wanted: tuple[int, ...]

    makes_values = False

    @property
    def arity(self) -> int:
        return len(self.formula.kinds) - 2

    @property
    def block(self) -> int:
        return block_of(self.formula)

    def write(self, writer: HandlerWriter) -> None:
        begin_adjoint(writer)
        writer.loop(self.block, lambda done: self._operations(writer, done, self.block))
        writer.after(ADJOINT_WORDS)

    def _operations(self, writer: HandlerWriter, done: str, step: int) -> None:
        code, formula, arity = writer.code, self.formula, self.arity
        start = writer.operands_at(done, arity)
        slots = [[writer.word(start, k * arity + j) for j in range(arity)] for k in range(step)]
        used = {ref for line in formula.lines for ref in line.operands if isinstance(ref, int)} | {*formula.results}
        operands: list[list[Value | None]] = [[] for _ in range(step)]
        for j, base in enumerate(("%z_bar", "%z")):
            at = code.emit(f"getelementptr i64, ptr {base}, i64 {done}") if j in used else ""
            for k, row in enumerate(operands):
                row.append(writer.loaded(at, k, formula.kinds[j]) if at else None)
        kinds = formula.kinds[2:]
        for row, own in zip(operands, slots):
            row += [writer.value(own[j], kinds[j]) if 2 + j in used else None for j in range(arity)]
        for first, values in _evaluated(code, formula, operands):
            for k in range(values[0].width if values else 0):
                for operand, value in zip(self.wanted, values):
                    add_to(code, slots[first + k][operand], _lane(code, value, k))


@dataclass(frozen=True, slots=True)
class Turn:
    """Begins the backward sweep. Words: the number of values, a multiple of the vector length, and the slot of the result."""

    makes_values = False
    arity = 2

    def write(self, writer: HandlerWriter) -> None:
        code = writer.code
        writer.operands_after_header()
        count = writer.word("%operands", 0)
        cotangents = code.emit(f"getelementptr i64, ptr %slots, i64 {count}")
        code.line("%done_slot = alloca i64")
        code.line("store i64 0, ptr %done_slot")
        code.line(f"%count = add i64 {count}, 0")
        nothing = ", ".join(["double -0.0"] * LANES)
        writer.loop(LANES, lambda done: code.line(
            f"store <{LANES} x double> <{nothing}>, ptr {code.emit(f'getelementptr i64, ptr {cotangents}, i64 {done}')}, align 8"))
        seed = code.emit(f"getelementptr i64, ptr {cotangents}, i64 {writer.word('%operands', 1)}")
        code.line(f"store double 1.0, ptr {seed}")
        writer.go_on(code.emit("getelementptr i32, ptr %operands, i64 2"), cotangents)


@dataclass(frozen=True, slots=True)
class CopyIn:
    """Puts `count` numbers of an input into slots. Word: the base."""

    makes_values = True
    arity = 1

    def write(self, writer: HandlerWriter) -> None:
        code = writer.code
        writer.begin()
        base = _base(writer)
        _copy(code, "%made", base)
        made = code.emit("getelementptr i64, ptr %made, i64 %count")
        writer.after(4, made)


@dataclass(frozen=True, slots=True)
class CopyOut:
    """Puts `count` consecutive cotangents into an output. Words: the base, the first slot."""

    makes_values = False
    arity = 2

    def write(self, writer: HandlerWriter) -> None:
        code = writer.code
        writer.begin()
        base = _base(writer)
        first = code.emit(f"getelementptr i64, ptr %slots, i64 {writer.word('%run', 4)}")
        writer.loop(1, lambda done: self._one(code, base, first, done))
        writer.after(5)

    def _one(self, code: Code, base: str, first: str, done: str) -> None:
        cotangent = code.emit(f"load double, ptr {code.emit(f'getelementptr double, ptr {first}, i64 {done}')}")
        total = code.emit(f"fadd double {cotangent}, 0.0")
        code.line(f"store double {total}, ptr {code.emit(f'getelementptr double, ptr {base}, i64 {done}')}")


def begin_adjoint(writer: HandlerWriter) -> None:
    """Load the operands of the forward run, and its results with their cotangents."""
    code = writer.code
    writer.begin()
    back = code.emit(f"sub nsw i64 0, {writer.word('%run', 3)}")
    code.line(f"%operands = getelementptr i32, ptr %run, i64 {back}")
    first = writer.word("%run", 4)
    code.line(f"%z = getelementptr i64, ptr %slots, i64 {first}")
    code.line(f"%z_bar = getelementptr i64, ptr %made, i64 {first}")


def _base(writer: HandlerWriter) -> str:
    place = writer.code.emit(f"getelementptr ptr, ptr %bases, i64 {writer.word('%run', 3)}")
    return writer.code.emit(f"load ptr, ptr {place}")


def _copy(code: Code, target: str, source: str) -> None:
    code.declare("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    size = code.emit("mul i64 %count, 8")
    code.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {size}, i1 false)")


def _is_vectorised(formula: Formula) -> bool:
    return any(has_costly(line.expression) for line in formula.lines)


def block_of(formula: Formula) -> int:
    """The number of operations computed together, a power of two."""
    if any(name in CALLED_BY_ELEMENT for line in formula.lines for name in called_functions(line.expression)):
        return 1
    return LANES if _is_vectorised(formula) else UNROLLED


def _evaluated(code: Code, formula: Formula, operands: Sequence[Sequence[Value | None]]) -> list[tuple[int, list[Value]]]:
    """Evaluate the formula for several operations. Return pairs: the first operation of a vector, and its results."""
    if len(operands) > 1 and _is_vectorised(formula):
        columns = [None if column[0] is None else together([v for v in column if v is not None]) for column in zip(*operands)]
        return [(0, _results(code, formula, columns, len(operands)))]
    return [(k, _results(code, formula, row, 1)) for k, row in enumerate(operands)]


def _results(code: Code, formula: Formula, operands: Sequence[Value | None], width: int) -> list[Value]:
    values = list(operands)

    def value(ref: int | Literal) -> Value:
        found = constant(code, ref.value, ref.kind, width) if isinstance(ref, Literal) else values[ref]
        assert found is not None, "operands that lines name are loaded"
        return found

    for line in formula.lines:
        values.append(computed(line.expression, {k: value(ref) for k, ref in enumerate(line.operands)}, line.parameters, line.kind))
    return [value(ref) for ref in formula.results]


def _lane(code: Code, value: Value, k: int) -> Value:
    if value.width == 1:
        return value
    return Value(code, code.emit(f"extractelement {TYPES[value.kind, value.width]} {value.ref}, i64 {k}"), value.kind, 1)


def add_to(code: Code, slot: str, value: Value) -> None:
    place = code.emit(f"getelementptr i64, ptr %made, i64 {slot}")
    before = code.emit(f"load {SCALAR['f64']}, ptr {place}")
    code.line(f"store double {code.emit(f'fadd double {before}, {value.ref}')}, ptr {place}")
