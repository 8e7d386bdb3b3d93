"""The accumulators of a loop nest: the storage of a reduction's running value, and the order in which it adds.

A reduction over the innermost loop keeps one vector: lane l takes the entries l, l + 8, l + 16, ... of each row, rows follow each
other, and the lanes are combined pairwise at the end. One over outer loops only keeps a vector for each vector of the row (a
panel) when the row is short, and adds in memory otherwise; the order is the same. It does not depend on the other steps of the nest, nor on
row blocks, each of which continues where the one before stopped. So two kernels that share a guard compute its operand to the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..llvm.values import MEMORY_TYPES, TYPES
from ..loop_ir.program import Access, Step, neutral
from ..math.function_table import FUNCTIONS
from ..math.simd import Code, Value, constant, fma, halves, select, splat
from .kernel_function import KernelFunction


class EmittedNest(Protocol):
    """The nest that owns the accumulators: compiler.codegen.loop_nest.Nest.

    Attributes:
        last: the number of the innermost loop.
        lanes, width: SIMD lanes of the nest, and of the point that is being emitted.
        vectors: first index and active lanes of each vector of an unrolled innermost loop.
        indices: of the loops around the point.
        active: the lanes that count, if data say which.
    """

    owner: KernelFunction
    code: Code
    domain: tuple[int, ...]
    steps: Sequence[Step]
    last: int
    lanes: int
    width: int
    vectors: list[tuple[int, int]]
    indices: list[str]
    active: Value | None

    def value(self, step: Step, operands: list[Value]) -> Value: ...
    def address(self, access: Access, indices: list[str]) -> str: ...
    def lane_address(self, access: Access, index: str) -> str: ...
    def fill(self, write: Access, value: float) -> None: ...


class Accumulators:
    """The accumulators of one nest."""

    def __init__(self, nest: EmittedNest) -> None:
        self.nest = nest
        self.owner = nest.owner
        self.code = nest.code
        # By step number: the name of each accumulator, and the outermost loop that it reduces over.
        self.rows: dict[int, tuple[str, int]] = {}
        self.panels: dict[int, tuple[list[str], int]] = {}

    def add(self, number: int, step: Step, operands: list[Value], index: str, active: int, vector: int) -> bool:
        """Add this point's value, if the step accumulates in registers."""
        if number in self.rows:
            self._add_to(self.rows[number][0], step, operands, index, active)
            return True
        if number in self.panels:
            self._add_to(self.panels[number][0][vector], step, operands, index, active)
            return True
        return False

    @property
    def count(self) -> int:
        return len(self.rows) + sum(len(names) for names, _ in self.panels.values())

    def prepare(self, number: int, step: Step) -> None:
        if step.write.index_read >= 0 or self.owner.is_assembled(step.write.storage):
            return
        start = self._suffix_start(step)
        if self.nest.vectors and start > self.nest.last:
            start = self._panel_start(step)
            if start < self.nest.last:
                vector = TYPES[self.kind(step), self.nest.lanes]
                names = [f"%acc{self.owner.fresh()}" for _ in self.nest.vectors]
                self.owner.slots += [f"{name} = alloca {vector}, align 64" for name in names]
                self.panels[number] = (names, start)
        elif start <= self.nest.last:
            vector = TYPES[self.kind(step), 1 if step.is_scan else self.nest.lanes]
            name = f"%acc{self.owner.fresh()}"
            self.owner.slots.append(f"{name} = alloca {vector}, align 64")
            self.rows[number] = (name, start)
        reduced_outside = any(stride == 0 for stride in step.write.strides[:start])
        if reduced_outside:
            assert step.combine is not None, "only reductions have accumulators"
            self.nest.fill(step.write, neutral(step.combine, self.kind(step)))

    def _suffix_start(self, step: Step) -> int:
        """The first of the innermost loops that the step reduces over; one past the last if there is none."""
        if step.is_scan:
            return self.nest.last
        start = len(self.nest.domain)
        while start > 0 and step.write.strides[start - 1] == 0:
            start -= 1
        return start

    def _panel_start(self, step: Step) -> int:
        """The first of the contiguous loops around the innermost one that the step reduces over."""
        start = self.nest.last
        while start > 0 and step.write.strides[start - 1] == 0:
            start -= 1
        return start

    def kind(self, step: Step) -> str:
        return self.owner.storages[step.write.storage].kind

    def _neutral(self, step: Step, width: int) -> str:
        kind = self.kind(step)
        return constant(self.code, neutral(step.combine, kind), kind, width).ref  # type: ignore[arg-type]

    def combined(self, step: Step, a: Value, b: Value) -> Value:
        if step.combine == "add":
            return a + b
        if step.combine == "and":
            return a & b
        if step.combine == "or":
            return a | b
        if a.kind == "i64":
            return select(a < b, b, a) if step.combine == "maximum" else select(a < b, a, b)
        return FUNCTIONS[step.combine](a, b)  # type: ignore[index]

    def update(self, step: Step, operands: list[Value], old: Value) -> Value:
        """The accumulator after one more value; products use a fused multiply-add, as in BLAS."""
        if _adds_products(step, old):
            return fma(operands[0], operands[1], old)
        return self.combined(step, old, self.nest.value(step, operands))

    def _of_pair(self, step: Step, operands: list[Value], old: Value) -> Value:
        """The accumulator after two vectors, one after the other."""
        if _adds_products(step, old):
            (a, c), (b, d) = (halves(splat(operand, self.nest.width)) for operand in operands)
            return fma(c, d, fma(a, b, old))
        first, last = halves(self.nest.value(step, operands))
        return self.combined(step, self.combined(step, old, first), last)

    def start_level(self, level: int) -> None:
        for number, (names, start) in self.panels.items():
            if start == level:
                step = self.nest.steps[number]
                for name in names:
                    self.code.line(
                        f"store {TYPES[self.kind(step), self.nest.lanes]} {self._neutral(step, self.nest.lanes)}, ptr {name}, align 64"
                    )
        for number, (name, start) in self.rows.items():
            if start == level:
                step = self.nest.steps[number]
                width = 1 if step.is_scan else self.nest.lanes
                self.code.line(
                    f"store {TYPES[self.kind(step), width]} {self._neutral(step, width)}, ptr {name}, align 64"
                )

    def finish_level(self, level: int) -> None:
        for number, (name, start) in self.rows.items():
            step = self.nest.steps[number]
            if start != level or step.is_scan:
                continue
            kind = self.kind(step)
            loaded = self.code.emit(f"load {TYPES[kind, self.nest.lanes]}, ptr {name}, align 64")
            total = self._across_lanes(step, Value(self.code, loaded, kind, self.nest.lanes))
            self._deliver(step, total, start)

        for number, (names, start) in self.panels.items():
            if start == level:
                self._deliver_panel(self.nest.steps[number], names, start)

    def _deliver_panel(self, step: Step, names: list[str], start: int) -> None:
        kind, row = self.kind(step), self.nest.address(step.write, self.nest.indices)
        stride = step.write.strides[-1]
        for name, (first, active) in zip(names, self.nest.vectors):
            loaded = self.code.emit(f"load {TYPES[kind, self.nest.lanes]}, ptr {name}, align 64")
            total = Value(self.code, loaded, kind, self.nest.lanes)
            address = row
            if first:
                address = self.code.emit(f"getelementptr {MEMORY_TYPES[kind]}, ptr {row}, i64 {first * stride}")
            if any(s == 0 for s in step.write.strides[:start]):
                total = self.combined(
                    step, self.owner.load_lanes(address, stride, kind, self.nest.lanes, active), total
                )
            self.owner.store_lanes(address, stride, total, active)

    def _across_lanes(self, step: Step, value: Value) -> Value:
        while value.width > 1:
            half, vector = value.width // 2, TYPES[value.kind, value.width]
            parts = []
            for first in (0, half):
                mask = ", ".join(f"i32 {first + k}" for k in range(half))
                if half == 1:
                    name = self.code.emit(f"extractelement {vector} {value.ref}, i64 {first}")
                else:
                    name = self.code.emit(
                        f"shufflevector {vector} {value.ref}, {vector} poison, <{half} x i32> <{mask}>"
                    )
                parts.append(Value(self.code, name, value.kind, half))
            value = self.combined(step, *parts)
        return value

    def _deliver(self, step: Step, total: Value, start: int) -> None:
        """Store a row's total in its register or memory; if it also sums over outer loops, add it to the old value."""
        storage = self.owner.storages[step.write.storage]
        if any(stride == 0 for stride in step.write.strides[:start]):
            address = self.nest.address(step.write, self.nest.indices)
            total = self.combined(step, self.owner.load(address, storage.kind), total)
            self.owner.store(address, total)
        elif storage.size == 1:
            self.owner.set_scalar(step.write.storage, total)
        else:
            self.owner.store(self.nest.address(step.write, self.nest.indices), total)

    def _add_to(self, name: str, step: Step, operands: list[Value], index: str, active: int) -> None:
        kind, width = self.kind(step), 1 if step.is_scan else self.nest.lanes
        vector = TYPES[kind, width]
        old = Value(self.code, self.code.emit(f"load {vector}, ptr {name}, align 64"), kind, width)
        new = self._of_pair(step, operands, old) if self.nest.width > width else self.update(step, operands, old)
        if self.nest.active is not None:
            new = select(self.nest.active, new, old)
        if active < self.nest.lanes:
            new = select(Value(self.code, self.owner.mask(self.nest.lanes, active), "i1", self.nest.lanes), new, old)
        self.code.line(f"store {vector} {new.ref}, ptr {name}, align 64")
        if step.is_scan:
            self.owner.store_lanes(self.nest.lane_address(step.write, index), step.write.strides[-1], new, 1)


def _adds_products(step: Step, total: Value) -> bool:
    return step.combine == "add" and step.expression == "r0 * r1" and total.kind == "f64"
