"""Emits one loop nest: outer loops over scalars, the innermost one over SIMD lanes, its tail under a mask.

Every reduction accumulates in the same fixed order in every kernel, whatever it is fused with: lane l of the accumulator takes
the entries l, l + 8, l + 16, ... of each row, rows follow each other, and the lanes are added pairwise at the end. Two kernels
that share a guard therefore compute what feeds it to the same bits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .expressions import emit_expression
from .lanes import Value, constant, fma, select, splat
from .program import Access, Group, Literal, Step, neutral
from .values import SCALAR, TYPES
from .vector_math import FUNCTIONS

LANES = 8

# An innermost loop inside another is unrolled up to this many vectors, and up to this much code; what the outer loops do not
# change then stays in registers, and so do sums over the outer loops.
MOST_VECTORS = 8
MOST_UNROLLED = 64
MEMORY_TYPES = {"f64": "double", "i64": "i64", "i1": "i8"}


def lanes_for(extent: int) -> int:
    """SIMD lanes for a loop of this extent: 8, or the next power of two for shorter ones."""
    width = 1
    while width < extent and width < LANES:
        width *= 2
    return width


def collapsed(group: Group) -> Group:
    """Merge neighbouring loops wherever every address advances evenly through both.

    A loop that a reduction runs over is merged only when its rows fill all lanes, which keeps the order of accumulation.
    """
    domain, steps = list(group.domain), list(group.body)
    k = len(domain) - 2
    while k >= 0:
        inner = domain[k + 1]
        accesses = [a for s in steps for a in (*s.reads, s.write) if isinstance(a, Access)]
        even = all(a.strides[k] == a.strides[k + 1] * inner for a in accesses)
        reduced = any(s.combine is not None and s.write.strides[k] == 0 and s.write.strides[k + 1] == 0 for s in steps)
        scattered = any(s.write.via >= 0 for s in steps)
        if even and not scattered and not (reduced and inner % LANES):
            domain[k : k + 2] = [domain[k] * inner]
            steps = [_without_dimension(s, k, tuple(domain)) for s in steps]
        k -= 1
    return Group(group.form, tuple(domain), steps)


def _without_dimension(step: Step, k: int, domain: tuple[int, ...]) -> Step:
    def shorter(access: Any) -> Any:
        if not isinstance(access, Access):
            return access
        return replace(access, strides=access.strides[:k] + access.strides[k + 1 :])

    return replace(step, domain=domain, reads=tuple(map(shorter, step.reads)), write=shorter(step.write))


class Nest:
    """Emits one group. `owner` is the kernel's Emitter, which knows the base address of each storage."""

    def __init__(self, owner: Any, group: Group) -> None:
        self.owner = owner
        self.code = owner.code
        group = collapsed(group) if group.form == "nest" else group
        self.domain = group.domain
        self.steps: list[Step] = group.body
        self.last = len(self.domain) - 1
        self.width = 1 if group.form == "alone" else lanes_for(self.domain[-1])
        self.written = {s.write.storage for s in self.steps if s.combine is None}
        self.indices: list[str] = []
        # Values read outside the innermost loop, and the address at which each innermost row starts.
        self.hoisted: dict[Access, Value] = {}
        self.rows: dict[Access, str] = {}
        self.accumulators: dict[int, tuple[str, int]] = {}
        # For unrolled innermost loops: one accumulator per vector of the row, and rows that never change.
        self.vectors = self._vectors(group)
        self.panels: dict[int, tuple[list[str], int]] = {}
        self.resident: dict[tuple[Access, int], Value] = {}

    def _vectors(self, group: Group) -> list[tuple[int, int]]:
        """First index and active lanes of each vector of an innermost loop that is to be unrolled; none if it is not."""
        extent = self.domain[-1]
        count = -(-extent // self.width)
        scattered = any(s.write.via >= 0 for s in self.steps)
        if group.form != "nest" or len(self.domain) < 2 or scattered:
            return []
        if count > MOST_VECTORS or count * len(self.steps) > MOST_UNROLLED:
            return []
        return [(start, min(self.width, extent - start)) for start in range(0, extent, self.width)]

    def emit(self) -> None:
        for number, step in enumerate(self.steps):
            if step.combine is not None:
                self._prepare(number, step)
        self._enter(-1)
        self._loop(0)

    # Accumulators

    def _prepare(self, number: int, step: Step) -> None:
        if step.write.via >= 0 or self.owner.is_assembled(step.write.storage):
            return
        start = self._suffix_start(step)
        if self.vectors and start > self.last:
            start = self._panel_start(step)
            if start < self.last:
                vector = TYPES[self._kind(step), self.width]
                names = [f"%acc{self.owner.fresh()}" for _ in self.vectors]
                self.owner.entry += [f"{name} = alloca {vector}, align 64" for name in names]
                self.panels[number] = (names, start)
        elif start <= self.last:
            vector = TYPES[self._kind(step), 1 if step.running else self.width]
            name = f"%acc{self.owner.fresh()}"
            self.owner.entry.append(f"{name} = alloca {vector}, align 64")
            self.accumulators[number] = (name, start)
        reduced_outside = any(stride == 0 for stride in step.write.strides[:start])
        if reduced_outside:
            self.owner.fill(step.write.storage, neutral(step.combine, self._kind(step)))

    def _suffix_start(self, step: Step) -> int:
        """The first of the innermost loops that the step reduces over; beyond the last when there is none."""
        if step.running:
            return self.last
        start = len(self.domain)
        while start > 0 and step.write.strides[start - 1] == 0:
            start -= 1
        return start

    def _panel_start(self, step: Step) -> int:
        """The first of the loops around the innermost one that the step reduces over, without a break."""
        start = self.last
        while start > 0 and step.write.strides[start - 1] == 0:
            start -= 1
        return start

    def _kind(self, step: Step) -> str:
        return self.owner.storages[step.write.storage].kind

    def _neutral(self, step: Step, width: int) -> str:
        kind = self._kind(step)
        return constant(self.code, neutral(step.combine, kind), kind, width).ref  # type: ignore[arg-type]

    def _combined(self, step: Step, a: Value, b: Value) -> Value:
        if step.combine == "add":
            return a + b
        if step.combine == "and":
            return a & b
        if step.combine == "or":
            return a | b
        if a.kind == "i64":
            return select(a < b, b, a) if step.combine == "maximum" else select(a < b, a, b)
        return FUNCTIONS[step.combine](a, b)  # type: ignore[index]

    def _update(self, step: Step, operands: list[Any], old: Value) -> Value:
        """The accumulator after one more value; products are added with one rounding, as BLAS does."""
        if step.combine == "add" and step.expression == "r0 * r1" and old.kind == "f64":
            return fma(operands[0], operands[1], old)
        return self._combined(step, old, self._value(step, operands))

    def _start_accumulators(self, level: int) -> None:
        for number, (names, start) in self.panels.items():
            if start == level:
                step = self.steps[number]
                for name in names:
                    self.code.line(f"store {TYPES[self._kind(step), self.width]} {self._neutral(step, self.width)}, ptr {name}, align 64")
        for number, (name, start) in self.accumulators.items():
            if start == level:
                step = self.steps[number]
                width = 1 if step.running else self.width
                self.code.line(f"store {TYPES[self._kind(step), width]} {self._neutral(step, width)}, ptr {name}, align 64")

    def _finish_accumulators(self, level: int) -> None:
        for number, (name, start) in self.accumulators.items():
            step = self.steps[number]
            if start != level or step.running:
                continue
            kind = self._kind(step)
            loaded = self.code.emit(f"load {TYPES[kind, self.width]}, ptr {name}, align 64")
            total = self._across_lanes(step, Value(self.code, loaded, kind, self.width))
            self._deliver(step, total, start)

        for number, (names, start) in self.panels.items():
            if start == level:
                self._deliver_panel(self.steps[number], names, start)

    def _deliver_panel(self, step: Step, names: list[str], start: int) -> None:
        kind, row = self._kind(step), self._address(step.write, self.indices)
        stride = step.write.strides[-1]
        for name, (first, active) in zip(names, self.vectors):
            loaded = self.code.emit(f"load {TYPES[kind, self.width]}, ptr {name}, align 64")
            total = Value(self.code, loaded, kind, self.width)
            address = row
            if first:
                address = self.code.emit(f"getelementptr {MEMORY_TYPES[kind]}, ptr {row}, i64 {first * stride}")
            if any(s == 0 for s in step.write.strides[:start]):
                total = self._combined(step, self.owner.load_lanes(address, stride, kind, self.width, active), total)
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
                    name = self.code.emit(f"shufflevector {vector} {value.ref}, {vector} poison, <{half} x i32> <{mask}>")
                parts.append(Value(self.code, name, value.kind, half))
            value = self._combined(step, *parts)
        return value

    def _deliver(self, step: Step, total: Value, start: int) -> None:
        """A row's total goes to its register or address; a total over outer loops too is added to what is there."""
        storage = self.owner.storages[step.write.storage]
        if any(stride == 0 for stride in step.write.strides[:start]):
            address = self._address(step.write, self.indices)
            total = self._combined(step, self.owner.load(address, storage.kind), total)
            self.owner.store(address, total)
        elif storage.size == 1:
            self.owner.set_scalar(step.write.storage, total)
        else:
            self.owner.store(self._address(step.write, self.indices), total)

    # Loops

    def _loop(self, level: int) -> None:
        self._start_accumulators(level)
        if level == self.last:
            self._innermost()
        else:
            before, head, end = self.code.block, self.code.label(), self.code.label()
            self.code.line(f"br label %{head}")
            self.code.start(head)
            index = f"%i{self.owner.fresh()}"
            position = len(self.code.lines)
            self.code.line("")  # the phi, whose incoming block is known once the body is emitted
            self.indices.append(index)
            self._enter(level)
            self._loop(level + 1)
            following = self.code.emit(f"add nuw nsw i64 {index}, 1")
            more = self.code.emit(f"icmp ult i64 {following}, {self.domain[level]}")
            self.code.lines[position] = f"{index} = phi i64 [ 0, %{before} ], [ {following}, %{self.code.block} ]"
            self.code.line(f"br i1 {more}, label %{head}, label %{end}")
            self.code.start(end)
            self.indices.pop()
        self._finish_accumulators(level)

    def _enter(self, level: int) -> None:
        """At the top of loop `level`'s body (before all loops for -1): read what no inner loop changes."""
        for step in self.steps:
            for read in step.reads:
                if isinstance(read, Access) and read.via < 0 and self._level_of(read) == level < self.last:
                    if read.storage not in self.written:
                        self.hoisted[read] = self._hoisted_value(read)
        if level == -1 and self.vectors:
            self._load_resident()
        if level == self.last - 1:
            self.rows = {}
            for step in self.steps:
                for access in (*step.reads, step.write):
                    if isinstance(access, Access) and self._needs_row(access):
                        self.rows[access] = self._address(access, self.indices)

    def _load_resident(self) -> None:
        """Rows that are the same for every turn of the outer loops are read once."""
        accumulators = sum(len(names) for names, _ in self.panels.values())
        for step in self.steps:
            for read in step.reads:
                if not isinstance(read, Access) or read.via >= 0 or read.storage in self.written:
                    continue
                moves = read.strides[-1] != 0 and not any(read.strides[:-1])
                if not moves or (read, 0) in self.resident or len(self.resident) + accumulators + len(self.vectors) > 20:
                    continue
                row = self._address(read, [])
                kind, stride = self.owner.storages[read.storage].kind, read.strides[-1]
                for first, active in self.vectors:
                    address = self.code.emit(f"getelementptr {MEMORY_TYPES[kind]}, ptr {row}, i64 {first * stride}")
                    self.resident[read, first] = self.owner.load_lanes(address, stride, kind, self.width, active)

    def _hoisted_value(self, read: Access) -> Value:
        scalar = self.owner.scalars.get(read.storage)
        if scalar is not None:
            return scalar
        return self.owner.load(self._address(read, self.indices), self.owner.storages[read.storage].kind)

    def _level_of(self, access: Access) -> int:
        level = -1
        for k, stride in enumerate(access.strides):
            if stride != 0:
                level = k
        return level

    def _needs_row(self, access: Access) -> bool:
        storage = self.owner.storages[access.storage]
        return storage.in_memory and access not in self.rows and (access.via >= 0 or access.strides[-1] != 0)

    def _address(self, access: Access, indices: list[str]) -> str:
        """Address of the access at the given outer indices, with the innermost ones at zero."""
        total, constant_part = None, access.offset
        for index, stride in zip(indices, access.strides):
            if stride == 0:
                continue
            term = index if stride == 1 else self.code.emit(f"mul nsw i64 {index}, {stride}")
            total = term if total is None else self.code.emit(f"add nsw i64 {total}, {term}")
        base = self.owner.base(access.storage)
        element = MEMORY_TYPES[self.owner.storages[access.storage].kind]
        if constant_part:
            base = self.code.emit(f"getelementptr {element}, ptr {base}, i64 {constant_part}")
        return base if total is None else self.code.emit(f"getelementptr {element}, ptr {base}, i64 {total}")

    def _innermost(self) -> None:
        extent, width = self.domain[self.last], self.width
        if self.vectors:
            for number, (first, active) in enumerate(self.vectors):
                self._point(str(first), active, number)
            return
        whole = extent - extent % width
        if whole == width:
            self._point("0", width)
        elif whole:
            before, head, end = self.code.block, self.code.label(), self.code.label()
            self.code.line(f"br label %{head}")
            self.code.start(head)
            index = f"%i{self.owner.fresh()}"
            position = len(self.code.lines)
            self.code.line("")
            self._point(index, width)
            following = self.code.emit(f"add nuw nsw i64 {index}, {width}")
            more = self.code.emit(f"icmp ult i64 {following}, {whole}")
            self.code.lines[position] = f"{index} = phi i64 [ 0, %{before} ], [ {following}, %{self.code.block} ]"
            self.code.line(f"br i1 {more}, label %{head}, label %{end}")
            self.code.start(end)
        if extent > whole:
            self._point(str(whole), extent - whole)

    # One point: `active` lanes starting at an index of the innermost loop

    def _point(self, index: str, active: int, vector: int = -1) -> None:
        at_point: dict[int, Value] = {}
        loaded: dict[Access, Value] = {}
        for number, step in enumerate(self.steps):
            operands: list[Any] = []
            for read in step.reads:
                operands.append(self._operand(read, operands, index, active, at_point, loaded))
            if number in self.accumulators:
                self._accumulate(self.accumulators[number][0], step, operands, index, active)
            elif number in self.panels:
                self._accumulate(self.panels[number][0][vector], step, operands, index, active)
            elif step.write.via >= 0:
                self._scatter(step, operands[0], self._value(step, operands), active)
            elif step.combine is not None:
                address = self._lane_address(step.write, index)
                stride = step.write.strides[-1]
                old = self.owner.load_lanes(address, stride, self._kind(step), self.width, active)
                self.owner.store_lanes(address, stride, self._update(step, operands, old), active)
            else:
                value = self._value(step, operands)
                at_point[step.write.storage] = value
                if self.owner.storages[step.write.storage].in_memory:
                    self.owner.store_lanes(self._lane_address(step.write, index), step.write.strides[-1], value, active)

    def _value(self, step: Step, operands: list[Any]) -> Value:
        if step.expression == "r0" and not step.parameters:
            value = operands[0]
        else:
            value = emit_expression(step.expression, {**dict(zip(step.names, operands)), **dict(step.parameters)})
        return value if value.width == self.width else splat(value, self.width)

    def _operand(
        self, read: Any, earlier: list[Any], index: str, active: int, at_point: dict[int, Value], loaded: dict[Access, Value]
    ) -> Value:
        if isinstance(read, Literal):
            return constant(self.code, read.value, read.kind, 1)
        if read.via >= 0:
            storage = self.owner.storages[read.storage]
            return self.owner.gather(self.rows[read], splat(earlier[read.via], self.width), storage.kind, self.width, active)
        if read.storage in at_point:
            return at_point[read.storage]
        if read in self.hoisted:
            return self.hoisted[read]
        known = loaded.get(read)
        if known is None and self.resident:
            known = self.resident.get((read, int(index))) if index.isdigit() else None
        if known is None:
            storage = self.owner.storages[read.storage]
            address = self._lane_address(read, index)
            known = loaded[read] = self.owner.load_lanes(address, read.strides[-1], storage.kind, self.width, active)
        return known

    def _lane_address(self, access: Access, index: str) -> str:
        row = self.rows[access]
        if index == "0":
            return row
        stride = access.strides[-1]
        element = MEMORY_TYPES[self.owner.storages[access.storage].kind]
        place = index if stride == 1 else self.code.emit(f"mul nsw i64 {index}, {stride}")
        return self.code.emit(f"getelementptr {element}, ptr {row}, i64 {place}")

    def _accumulate(self, name: str, step: Step, operands: list[Any], index: str, active: int) -> None:
        kind, width = self._kind(step), 1 if step.running else self.width
        vector = TYPES[kind, width]
        old = Value(self.code, self.code.emit(f"load {vector}, ptr {name}, align 64"), kind, width)
        new = self._update(step, operands, old)
        if active < self.width:
            new = select(Value(self.code, self.owner.mask(self.width, active), "i1", self.width), new, old)
        self.code.line(f"store {vector} {new.ref}, ptr {name}, align 64")
        if step.running:
            self.owner.store_lanes(self._lane_address(step.write, index), step.write.strides[-1], new, 1)

    def _scatter(self, step: Step, positions: Value, value: Value, active: int) -> None:
        """One lane after the other, as positions may repeat."""
        positions = splat(positions, self.width)
        element = MEMORY_TYPES[value.kind]
        for lane in range(active):
            place, item = positions.ref, value
            if self.width > 1:
                place = self.code.emit(f"extractelement {TYPES['i64', self.width]} {positions.ref}, i64 {lane}")
                picked = self.code.emit(f"extractelement {TYPES[value.kind, self.width]} {value.ref}, i64 {lane}")
                item = Value(self.code, picked, value.kind, 1)
            address = self.code.emit(f"getelementptr {element}, ptr {self.rows[step.write]}, i64 {place}")
            if step.combine is not None:
                item = self._combined(step, self.owner.load(address, value.kind), item)
            self.owner.store(address, item)


__all__ = ["LANES", "MEMORY_TYPES", "SCALAR", "Nest", "collapsed", "lanes_for"]
