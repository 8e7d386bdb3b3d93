"""Emits one loop nest: outer loops over scalars, the innermost one over SIMD lanes, with a masked tail."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ..llvm.values import MEMORY_TYPES, greatest, least
from ..loop_ir.collapse_loops import LANES, collapsed
from ..loop_ir.program import Access, Extent, Literal, LoopNest, Scan, Step
from ..math.simd import Value, constant, select, splat
from .kernel_function import KernelFunction
from .outlining import inlined, is_costly, is_short, outlined, runs_in_pairs
from .reductions import Accumulators

# Limits in vectors and in code for unrolling an innermost loop inside another. Values that the outer loops do not change then stay in
# registers, and so do sums over the outer loops.
MOST_VECTORS = 8
MOST_UNROLLED = 64
# Shorter loops run one vector at a time.
FEWEST_PAIRS = 4


def lanes_for(extent: int) -> int:
    """SIMD lanes for a loop of this extent: 8, or the next power of two for shorter ones."""
    width = 1
    while width < extent and width < LANES:
        width *= 2
    return width


def counted(owner: KernelFunction, first: str, stop: str, stride: int, body: Callable[[str], None]) -> None:
    """Emit a loop that runs at least once, from `first` in steps of `stride` for as long as it is below `stop`."""
    code = owner.code
    before, head, end = code.block, code.label(), code.label()
    code.line(f"br label %{head}")
    code.start(head)
    index = f"%i{owner.fresh()}"
    position = len(code.lines)
    code.line("")  # the phi, whose incoming block is known once the body is emitted
    body(index)
    following = code.emit(f"add nuw nsw i64 {index}, {stride}")
    more = code.emit(f"icmp ult i64 {following}, {stop}")
    code.lines[position] = f"{index} = phi i64 [ {first}, %{before} ], [ {following}, %{code.block} ]"
    code.line(f"br i1 {more}, label %{head}, label %{end}")
    code.start(end)


@dataclass(frozen=True, slots=True)
class Block:
    """Rows from `first` up to `stop`, as names in the code. `is_last`: of the last block. `is_band`: of a band, with many rows."""

    first: str
    stop: str
    is_last: str
    is_band: bool = False

    def scaled(self, nest: Nest) -> tuple[str, str]:
        """The rows as iterations of the outermost loop of a nest."""
        if nest.repeats == 1:
            return self.first, self.stop
        first, stop = (nest.code.emit(f"mul nuw nsw i64 {k}, {nest.repeats}") for k in (self.first, self.stop))
        return first, stop


def fill(owner: KernelFunction, storage: int, value: float) -> None:
    """Emit a loop that sets a whole storage to one number."""
    item = owner.storages[storage]
    step = Step((item.size,), (Literal(value, item.kind),), "r0", (), Access(storage, 0, (1,)))
    Nest(owner, LoopNest((item.size,), (step,))).emit()


def end_of(owner: KernelFunction, stop: frozenset[tuple[int, int]], extent: int, scale: int = 1) -> Value:
    """The end of a loop, at most its extent: the largest sum of an integer and a number."""
    found: Value | None = None
    for storage, number in sorted(stop):
        end = owner.scalar(Access(storage, 0, ())) + number
        found = end if found is None else greatest(found, end)
    assert found is not None
    return least(greatest(found, 0), extent) * scale


class Nest:
    """Emits one group into a function."""

    def __init__(self, owner: KernelFunction, group: LoopNest | Scan) -> None:
        self.owner = owner
        self.code = owner.code
        extent = group.domain[0]
        group = collapsed(group) if isinstance(group, LoopNest) else group
        self.domain = group.domain
        self.steps: Sequence[Step] = group.body
        self.last = len(self.domain) - 1
        self.lanes = 1 if isinstance(group, Scan) else lanes_for(self.domain[-1])
        # The lanes of the point being emitted: `lanes`, or twice as many.
        self.width = self.lanes
        self.is_short = is_short(group)
        self.calls = math.prod(group.domain) <= owner.longest_calling
        self.written = {s.write.storage for s in self.steps if s.combine is None}
        self.indices: list[str] = []
        # Values read outside the innermost loop, and the start address of each innermost row.
        self.hoisted: dict[Access, Value] = {}
        self.rows: dict[Access, str] = {}
        # For unrolled innermost loops: the vectors of a row, and loop-invariant rows.
        # Where loops end whose ends are data, as names in the code; and the active lanes of the point being emitted, if these are data.
        self.stops: dict[int, str] = {}
        self.active: Value | None = None
        for level, ended in enumerate(self.domain):
            if isinstance(ended, Extent):
                self.stops[level] = end_of(owner, ended.ends, ended // ended.scale, ended.scale).ref
        self.vectors = self._vectors(group)
        self.accumulators = Accumulators(self)
        self.resident: dict[tuple[Access, int], Value] = {}
        # The first iteration of the outermost loop.
        self.first = "0"
        # In row blocks: the rows to run, and the iterations of the outermost loop, which may be collapsed, for each row.
        self.block: Block | None = None
        self.repeats = self.domain[0] // extent

    def _vectors(self, group: LoopNest | Scan) -> list[tuple[int, int]]:
        """First index and active lanes of each vector of an innermost loop to unroll; empty if it is not unrolled."""
        extent = self.domain[-1]
        count = -(-extent // self.width)
        scattered = any(s.write.index_read >= 0 and s.write.strides[-1] == 0 for s in self.steps)
        if isinstance(group, Scan) or len(self.domain) < 2 or scattered or self.last in self.stops:
            return []
        if count > MOST_VECTORS or count * len(self.steps) > MOST_UNROLLED:
            return []
        return [(start, min(self.width, extent - start)) for start in range(0, extent, self.width)]

    def fill(self, write: Access, value: float) -> None:
        """Set the target of a step, or its rows in the block, to one number."""
        if write.storage in self.owner.filled:
            return
        if self.block is None or not write.strides[0]:
            fill(self.owner, write.storage, value)
            return
        # The outermost loop may be collapsed with the next one.
        domain = count, length = self.domain[0] // self.repeats, write.strides[0] * self.repeats
        literal = Literal(value, self.owner.storages[write.storage].kind)
        step = Step(domain, (literal,), "r0", (), Access(write.storage, 0, (length, 1)))
        Nest(self.owner, LoopNest((count, length), (step,))).run(self.block)

    def emit(self) -> None:
        self.begin()
        self.run()
        self.end()

    def begin(self, band: Block | None = None) -> None:
        """Before the loops, all of them or a band's: initialise the accumulators."""
        self.block = band
        if band is not None and 0 in self.stops:
            self._end_band(band)
        for number, step in enumerate(self.steps):
            if step.combine is not None:
                self.accumulators.prepare(number, step)
        self.accumulators.start_level(0)

    def _end_band(self, band: Block) -> None:
        """Let a band end where the data end, which may be before its first row."""
        first, stop = (Value(self.code, name, "i64", 1) for name in band.scaled(self))
        self.stops[0] = greatest(least(Value(self.code, self.stops[0], "i64", 1), stop), first).ref
        self.first = first.ref

    def run(self, block: Block | None = None) -> None:
        """The loops, all of them or one block of the outermost."""
        self.block = block
        self._enter(-1)
        self._loop(0)

    def end(self) -> None:
        """After the loops: deliver the accumulated values."""
        self.accumulators.finish_level(0)

    # Loops

    def _loop(self, level: int) -> None:
        if level == self.last:
            self._innermost()
            return
        body = lambda index: self._at_index(level, index)  # noqa: E731 -- its name is its use
        if level in self.stops:
            self._counted_if_any("0" if level else self.first, self.stops[level], 1, body)
            return
        first, stop = ("0", str(self.domain[level])) if level or self.block is None else self.block.scaled(self)
        counted(self.owner, first, stop, 1, body)

    def _counted_if_any(self, first: str, stop: str, stride: int, body: Callable[[str], None]) -> None:
        """A loop that may have no iterations."""
        some = self.code.emit(f"icmp ult i64 {first}, {stop}")
        self._if(some, lambda: counted(self.owner, first, stop, stride, body))

    def _if(self, condition: str, body: Callable[[], None]) -> None:
        then, onward = self.code.label(), self.code.label()
        self.code.line(f"br i1 {condition}, label %{then}, label %{onward}")
        self.code.start(then)
        body()
        self.code.line(f"br label %{onward}")
        self.code.start(onward)

    def _at_index(self, level: int, index: str) -> None:
        self.indices.append(index)
        self._enter(level)
        self.accumulators.start_level(level + 1)
        self._loop(level + 1)
        self.accumulators.finish_level(level + 1)
        self.indices.pop()

    def _enter(self, level: int) -> None:
        """At the top of loop `level`'s body (before all loops for -1): read values that no inner loop changes."""
        for step in self.steps:
            for read in step.reads:
                if isinstance(read, Access) and read.index_read < 0 and self._level_of(read) == level < self.last:
                    if read.storage not in self.written:
                        self.hoisted[read] = self._hoisted_value(read)
        if level == -1 and self.vectors:
            self._load_resident()
        if level == self.last - 1:
            self.rows = {}
            for step in self.steps:
                for access in (*step.reads, step.write):
                    if isinstance(access, Access) and self._needs_row(access):
                        self.rows[access] = self.address(access, self.indices)

    def _load_resident(self) -> None:
        """Read loop-invariant rows once."""
        for step in self.steps:
            for read in step.reads:
                if not isinstance(read, Access) or read.index_read >= 0 or read.storage in self.written:
                    continue
                moves = read.strides[-1] != 0 and not any(read.strides[:-1])
                if (
                    not moves
                    or (read, 0) in self.resident
                    or len(self.resident) + self.accumulators.count + len(self.vectors) > 20
                ):
                    continue
                row = self.address(read, [])
                kind, stride = self.owner.storages[read.storage].kind, read.strides[-1]
                for first, active in self.vectors:
                    address = self.code.emit(f"getelementptr {MEMORY_TYPES[kind]}, ptr {row}, i64 {first * stride}")
                    self.resident[read, first] = self.owner.load_lanes(address, stride, kind, self.width, active)

    def _hoisted_value(self, read: Access) -> Value:
        scalar = self.owner.scalars.get(read.storage)
        if scalar is not None:
            return scalar
        return self.owner.load(self.address(read, self.indices), self.owner.storages[read.storage].kind)

    def _level_of(self, access: Access) -> int:
        level = -1
        for k, stride in enumerate(access.strides):
            if stride != 0:
                level = k
        return level

    def _needs_row(self, access: Access) -> bool:
        storage = self.owner.storages[access.storage]
        return storage.in_memory and access not in self.rows and (access.index_read >= 0 or access.strides[-1] != 0)

    def address(self, access: Access, indices: list[str]) -> str:
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
        extent, width = min(step.domain[self.last] for step in self.steps), self.width
        if self.vectors:
            for number, (first, active) in enumerate(self.vectors):
                self._point(str(first), active, number)
            return
        whole = extent - extent % width
        if self.last in self.stops:
            self._innermost_until(self.stops[self.last], extent)
            return
        if self.block is not None and self.last == 0:
            if self.block.is_band:
                self._innermost_of_band(self.block, extent)
            else:
                self._innermost_of_block(self.block, whole)
            return
        start = self._pairs(whole)
        if whole == start + width:
            self._point(str(start), width)
        elif whole > start:
            counted(self.owner, str(start), str(whole), width, lambda index: self._point(index, width))
        # Loops merged with nearly equal extents each have their own end.
        for end in sorted({step.domain[self.last] for step in self.steps}):
            for start in range(whole, end, width):
                self._point(str(start), min(width, end - start), extent=end)

    def _innermost_until(self, stop: str, extent: int) -> None:
        """Run to an end that is data. In the last vector, lanes beyond it do not count."""
        width, start = self.width, "0" if self.last else self.first
        if extent >= FEWEST_PAIRS * 2 * width and not (self.is_short or self.calls) and runs_in_pairs(self.steps):
            first, start = start, self.code.emit(f"and i64 {stop}, {-2 * width}")
            self.width = 2 * width
            self._counted_if_any(first, start, self.width, lambda index: self._point(index, 2 * width))
            self.width = width
        whole = self.code.emit(f"and i64 {stop}, {-width}")
        self._counted_if_any(start, whole, width, lambda index: self._point(index, width))
        some = self.code.emit(f"icmp ult i64 {whole}, {stop}")

        def part(active: int, index: str) -> None:
            left = Value(self.code, self.code.emit(f"sub i64 {stop}, {whole}"), "i64", 1)
            lanes = Value(self.code, "<" + ", ".join(f"i64 {k}" for k in range(width)) + ">", "i64", width)
            self.active = lanes < splat(left, width)
            self._point(index, active)
            self.active = None

        def last() -> None:
            if extent % width == 0:
                part(width, whole)
                return
            fits = self.code.emit(f"icmp ult i64 {whole}, {extent - extent % width}")
            self._if(fits, lambda: part(width, whole))
            rest = self.code.emit(f"xor i1 {fits}, true")
            self._if(rest, lambda: part(extent % width, str(extent - extent % width)))

        self._if(some, last) if width > 1 else None

    def _pairs(self, whole: int) -> int:
        """Run two vectors at a time as long as possible, if it pays; return the end. LLVM splits each operation in two."""
        pair = 2 * self.width
        if whole < FEWEST_PAIRS * pair or self.is_short or self.calls or not runs_in_pairs(self.steps):
            return 0
        end = whole - whole % pair
        self.width = pair
        counted(self.owner, "0", str(end), pair, lambda index: self._point(index, pair))
        self.width = self.lanes
        return end

    def _innermost_of_block(self, block: Block, whole: int) -> None:
        """Run a block. It begins at a multiple of the lanes; the last one also has the remaining entries."""
        first, stop = block.scaled(self)
        if whole == self.domain[0]:
            counted(self.owner, first, stop, self.width, lambda index: self._point(index, self.width))
            return
        stop = self.code.emit(f"select i1 {block.is_last}, i64 {whole}, i64 {stop}")
        counted(self.owner, first, stop, self.width, lambda index: self._point(index, self.width))
        rest, onward = self.code.label(), self.code.label()
        self.code.line(f"br i1 {block.is_last}, label %{rest}, label %{onward}")
        self.code.start(rest)
        self._point(str(whole), self.domain[0] - whole)
        self.code.line(f"br label %{onward}")
        self.code.start(onward)

    def _innermost_of_band(self, band: Block, extent: int) -> None:
        """Run a band. It begins at a multiple of two vectors and has several; the last one also has the remaining entries."""
        first, stop = band.scaled(self)
        pair = 2 * self.lanes
        width = pair if runs_in_pairs(self.steps) else self.lanes
        whole = extent - extent % width
        self.width = width
        stop = self.code.emit(f"select i1 {band.is_last}, i64 {whole}, i64 {stop}")
        counted(self.owner, first, stop, width, lambda index: self._point(index, width))
        self.width = self.lanes
        rest, onward = self.code.label(), self.code.label()
        self.code.line(f"br i1 {band.is_last}, label %{rest}, label %{onward}")
        self.code.start(rest)
        for end in sorted({step.domain[self.last] for step in self.steps}):
            for start in range(whole, end, self.width):
                self._point(str(start), min(self.width, end - start), extent=end)
        self.code.line(f"br label %{onward}")
        self.code.start(onward)

    # One point: `active` lanes from an index of the innermost loop on

    def _point(self, index: str, active: int, vector: int = -1, extent: int = 0) -> None:
        """Emit all steps, or those whose innermost loop has `extent` iterations."""
        at_point: dict[int, Value] = {}
        loaded: dict[Access, Value] = {}
        for number, step in enumerate(self.steps):
            if extent and step.domain[-1] != extent:
                continue
            operands: list[Value] = []
            for read in step.reads:
                operands.append(self._operand(read, operands, index, active, at_point, loaded))
            if self.accumulators.add(number, step, operands, index, active, vector):
                continue
            if step.write.index_read >= 0:
                self._scatter(step, operands[0], self.value(step, operands), index, active)
            elif step.combine is not None:
                address = self.lane_address(step.write, index)
                stride = step.write.strides[-1]
                old = self.owner.load_lanes(address, stride, self.accumulators.kind(step), self.width, active)
                self._store(step, address, self.accumulators.update(step, operands, old), active)
            else:
                value = self.value(step, operands)
                at_point[step.write.storage] = value
                if self.owner.storages[step.write.storage].in_memory:
                    self._store(step, self.lane_address(step.write, index), value, active)

    def _store(self, step: Step, address: str, value: Value, active: int) -> None:
        """Store lanes; of an array that is filled before, those that do not count stay as they are."""
        stride = step.write.strides[-1]
        if self.active is not None and self.owner.is_assembled(step.write.storage):
            old = self.owner.load_lanes(address, stride, value.kind, self.width, active)
            value = select(self.active, value, old)
        self.owner.store_lanes(address, stride, value, active)

    def value(self, step: Step, operands: list[Value]) -> Value:
        if step.expression == "r0" and not step.parameters:
            value = operands[0]
        else:
            is_call = self.calls and is_costly(step)
            value = outlined(self.code, self.owner.addresses, step, operands, self.width) if is_call else inlined(step, operands)
        return value if value.width == self.width else splat(value, self.width)

    def _operand(
        self,
        read: Access | Literal,
        earlier: list[Value],
        index: str,
        active: int,
        at_point: dict[int, Value],
        loaded: dict[Access, Value],
    ) -> Value:
        if isinstance(read, Literal):
            return constant(self.code, read.value, read.kind, 1)
        if read.index_read >= 0:
            return self._gathered(read, earlier[read.index_read], index, active)
        if read.storage in at_point:
            return at_point[read.storage]
        if read in self.hoisted:
            return self.hoisted[read]
        known = loaded.get(read)
        if known is None and self.resident:
            known = self.resident.get((read, int(index))) if index.isdigit() else None
        if known is None:
            storage = self.owner.storages[read.storage]
            address = self.lane_address(read, index)
            if self.active is not None and storage.home == "input" and storage.position in self.owner.short:
                known = self.owner.load_active(address, read.strides[-1], storage.kind, self.width, self.active)
            else:
                known = self.owner.load_lanes(address, read.strides[-1], storage.kind, self.width, active)
            if self.active is not None:
                known = select(self.active, known, constant(self.code, 1, storage.kind, self.width))
            loaded[read] = known
        return known

    def _gathered(self, read: Access, place: Value, index: str, active: int) -> Value:
        kind = self.owner.storages[read.storage].kind
        if not read.strides[-1]:
            return self.owner.gather(self.rows[read], self._active_places(place), kind, self.width, active)
        address = self._row_address(read, place, index)
        return self.owner.load_lanes(address, read.strides[-1], kind, self.width, active)

    def _active_places(self, places: Value) -> Value:
        """Computed indices; 0 in lanes that do not count."""
        places = splat(places, self.width)
        return places if self.active is None else select(self.active, places, constant(self.code, 0, "i64", self.width))

    def _row_address(self, access: Access, place: Value, index: str) -> str:
        """The address in a row with a computed start."""
        element = MEMORY_TYPES[self.owner.storages[access.storage].kind]
        assert place.width == 1, "the rows of a nest change with its outer loops only"
        return self.code.emit(f"getelementptr {element}, ptr {self.lane_address(access, index)}, i64 {place.ref}")

    def lane_address(self, access: Access, index: str) -> str:
        row = self.rows[access]
        if index == "0":
            return row
        stride = access.strides[-1]
        element = MEMORY_TYPES[self.owner.storages[access.storage].kind]
        place = index if stride == 1 else self.code.emit(f"mul nsw i64 {index}, {stride}")
        return self.code.emit(f"getelementptr {element}, ptr {row}, i64 {place}")

    def _scatter(self, step: Step, indices: Value, value: Value, index: str, active: int) -> None:
        combine = None if step.combine is None else partial(self.accumulators.combined, step)
        stride = step.write.strides[-1]
        if stride:
            self.owner.scatter_row(self._row_address(step.write, indices, index), stride, value, active, combine)
        else:
            if self.active is not None:
                # Added to any number, also -0.0, it changes nothing.
                nothing = constant(self.code, -0.0 if value.kind == "f64" else 0, value.kind, self.width)
                value = select(self.active, splat(value, self.width), nothing)
            self.owner.scatter(self.rows[step.write], self._active_places(indices), value, active, combine)
