"""Emits loops of a callee: the addresses of each iteration's values, memory of dynamic arrays, and the results of the loop."""

from __future__ import annotations

from ....ir.instruction import GUARD, INT_SCALAR, DynamicArrayType, ValueType
from ....ops.control.callee import Callee
from ....ops.control.calls import LOOP, TupleOp
from ....ops.control.loop_forms import LoopForm, saved_bytes_limit
from ....passes.loops.save_or_recompute import cost_of_loop
from ...jit.toolchain import toolchain
from ...loop_ir.program import Invoke
from ...runtime.call_frame import (
    END,
    ITERATION,
    NO_END,
    NUMBERS,
    STOPPED,
    ArgumentLayout,
    frame_words,
    input_word,
    output_word,
    value_bytes,
)  # fmt: skip
from ...runtime.callbacks import callback_address
from ...runtime.callees.dispatch_loop import ROOM
from ...runtime.callees.shared_loop import MOST_WORDS
from ...runtime.status import OUT_OF_MEMORY, PENDING
from ...runtime.workspaces import BLOCK_WORDS
from .invocation import Invocation, Number

# The initial capacity of a dynamic array of unknown length, in entries. Later loops start with the last final length, up to a limit:
# growing an array may copy it.
FIRST_ENTRIES, MOST_FIRST_ENTRIES = 16, 1 << 16

# The work, in additions, from which sharing with other threads pays, as in schedule/cut_into_bands.py. There additions run in SIMD lanes:
# each operation of an iteration, however small, takes as long as OPERATION of them.
WORTH_SHARING, OPERATION = 1_000_000, 64


def may_be_shared(callee: Callee, form: LoopForm) -> bool:
    """True if several threads may run the iterations of a loop: independent, free of Python, and long enough."""
    is_simple = form.carries == 0 and form.length is not None and form.length > 1 and not form.variant_given
    if not is_simple or form.returns_variants or frame_words(len(callee.in_types), len(callee.out_types)) > MOST_WORDS:
        return False
    if not _runs_without_python(callee):
        return False
    return cost_of_loop(callee, form) + OPERATION * _operations(callee, form) >= WORTH_SHARING


def _runs_without_python(callee: Callee) -> bool:
    """True if a callee has one path, and calls only loops of such callees."""
    tape = callee.only_tape() if callee.is_compiled and not callee.may_branch else None
    if tape is None:
        return False
    calls = [i for i in tape.instructions if i.op is GUARD or (isinstance(i.op, TupleOp) and i.op is not LOOP)]
    return not calls and all(_runs_without_python(i.params[0]) for i in tape.instructions if i.op is LOOP)


def _operations(callee: Callee, form: LoopForm) -> int:
    """The number of operations of a loop; loops of unknown length count as one iteration."""
    tape = callee.only_tape()
    assert tape is not None
    return (form.length or 1) * sum(_operations(*i.params) if i.op is LOOP else 1 for i in tape.instructions)


class Limit:
    """The limit on the iterations of a loop; kept alive by the code that has its number."""

    def __init__(self, form: LoopForm, by_memory: int) -> None:
        self.form, self.number = form, toolchain.number(Limit, self)
        self.is_by_memory = form.most is None or by_memory < form.most
        self.most = by_memory if form.most is None else min(by_memory, form.most)


def _loop_too_long(number: int, steps: int) -> int:
    """Called by native code."""
    limit = toolchain.numbered(Limit, number)
    raise limit.form.too_large(steps) if limit.is_by_memory else limit.form.too_long(steps)


class LoopOfCallee(Invocation):
    """A loop. If its length is known only at run time, its stacked outputs are on the heap."""

    def __init__(self, item: Invoke, symbol: str, threads: int) -> None:
        self.form: LoopForm = item.params[1]
        super().__init__(item, ArgumentLayout.of(self.form, threads, item.in_place, item.kept), symbol)
        if threads > 1 and may_be_shared(item.params[0], self.form):
            self.threads = threads
        self.types = item.types[1]
        self.limit: Limit | None = None
        # By item that is a dynamic array: its index among these, and the bytes of an entry.
        self.heap: dict[int, tuple[int, int]] = {}
        for k, type_ in enumerate(self.types):
            if isinstance(type_, DynamicArrayType):
                self.heap[k] = (self.stacks, value_bytes(type_.item))
                self.stacks += 1
        if self.form.length is None:
            size = sum(size for _, size in self.heap.values())
            self.limit = Limit(self.form, saved_bytes_limit() // size if size else NO_END)
            self.kept.append(self.limit)

    def emit(self) -> None:
        form = self.form
        length = "%stop" if self.item.stop else form.length if form.length is not None else None if form.stops else self._count()
        if isinstance(length, str) and self.heap:
            self._leave_too_long(self.code.emit(f"icmp sgt i64 {length}, {self._most}"), length)
        room: Number = self._first_room() if length is None else length
        pointers = self._rooms(room)
        self.header(room, None, -1 if form.backwards else 1)
        self.set(STOPPED, 0)
        self._point_inputs(room)
        self._point_results(pointers, room)
        for k in set(range(form.carries)).difference(self.item.stays):
            target = self.code.emit(f"load ptr, ptr {self.slot(input_word(k))}")
            self._copy(self.operand(form.leading + k), target, value_bytes(self.callee.in_types[k]))
            if self.item.stop and k in self.registers:
                # There may be no iteration.
                target = self.code.emit(f"load ptr, ptr {self.slot(output_word(k, self.inputs))}")
                self._copy(self.operand(form.leading + k), target, value_bytes(self.callee.in_types[k]))
        if form.stops:
            self._run_until_it_stops(pointers, room)
        else:
            self.run(form.variant_given)
        self._deliver()

    @property
    def _most(self) -> int:
        assert self.limit is not None
        return self.limit.most

    def _leave_too_long(self, fails: str, steps: Number) -> None:
        """Raise LoopTooLong where a condition holds."""
        assert self.limit is not None
        symbol, code = f"{self.symbol}_limit", self.code
        code.declare(f"@{symbol} = external global i64")
        code.declare("declare i64 @tapediff_loop_too_long(i64, i64)")
        self.addresses |= {symbol: self.limit.number, "tapediff_loop_too_long": callback_address(_loop_too_long, ("i64", "i64"), "i64")}
        leave, onward = code.label(), code.label()
        code.line(f"br i1 {fails}, label %{leave}, label %{onward}, !prof !0")
        code.start(leave)
        code.line(f"call i64 @tapediff_loop_too_long(i64 ptrtoint (ptr @{symbol} to i64), i64 {steps})")
        code.line(f"ret i32 {PENDING}")
        code.start(onward)

    def _count(self) -> str:
        count = self.code.emit(f"load i64, ptr {self.operand(self.form.leading - 1)}")
        self.code.declare("declare i64 @llvm.smax.i64(i64, i64)")
        return self.code.emit(f"call i64 @llvm.smax.i64(i64 {count}, i64 0)")

    # Addresses: that of iteration 0, and the stride between iterations

    def _times(self, number: Number, factor: int) -> Number:
        return number * factor if isinstance(number, int) else self.code.emit(f"mul nsw i64 {number}, {factor}")

    def _moved(self, address: str, entries: Number, size: int) -> str:
        offset = self._times(entries, size)
        return address if offset == 0 else self.code.emit(f"getelementptr i8, ptr {address}, i64 {offset}")

    def _last(self, address: str, length: Number, size: int) -> str:
        """The address of the last entry."""
        return self._moved(self._moved(address, length, size), -1, size)

    def _entries(self, word: int, address: str, length: Number, size: int) -> None:
        """Point at one entry for each iteration."""
        if self.form.backwards:
            self.point(word, self._last(address, length, size), -size)
        else:
            self.point(word, address, size)

    def _point_inputs(self, length: Number) -> None:
        form, types = self.form, self.item.types[0]
        if form.variant_given:
            self._point_numbers(self._array(0, types[0]), length)
        for k in range(form.carries, self.inputs):
            number = form.leading + k
            address = self._array(number, types[number])
            if k < form.carries + form.streams:
                self._entries(input_word(k), address, length, value_bytes(self.callee.in_types[k]))
            else:
                self.point(input_word(k), address)

    def _array(self, operand: int, type_: ValueType | DynamicArrayType) -> str:
        address = self.operand(operand)
        return self.code.emit(f"load ptr, ptr {address}") if isinstance(type_, DynamicArrayType) else address

    def _point_numbers(self, address: str, length: Number) -> None:
        if self.form.backwards:
            address = self._last(address, length, 8)
        self.code.line(f"store ptr {address}, ptr {self.slot(NUMBERS)}")

    def _point_results(self, pointers: dict[int, str], length: Number) -> None:
        form = self.form
        last = self.outputs - int(form.stops)
        for k in range(form.carries, last):
            address = pointers[k] if k in pointers else self.result(k)
            size = value_bytes(self.callee.out_types[k])
            self._entries(output_word(k, self.inputs), address, length, size)
        if form.stops:
            self.point(output_word(last, self.inputs), "%scratch")
        kept = last + int(form.stops)
        if form.returns_variants:
            self._point_numbers(pointers[kept] if kept in pointers else self.result(kept), length)
            kept += 1
        for k in range(form.carries):
            self._point_carry(k, pointers.get(kept + k), length)

    def _point_carry(self, k: int, heap: str | None, length: Number) -> None:
        """Iterations read a carry at one entry and write the next; without a trajectory two entries alternate."""
        form, size = self.form, value_bytes(self.callee.in_types[k])
        if k in self.registers:
            # A loop of known length reads the last carries where alternating entries would leave them.
            self.point(input_word(k), f"%slot{k}", 0, 0)
            self.point(output_word(k, self.inputs), self._moved(f"%slot{k}", (form.length or 0) % 2, size), 0, 0)
            return
        if k in self.item.in_place:
            self.point(input_word(k), f"%slot{k}", 0, 0)
            self.point(output_word(k, self.inputs), f"%slot{k}", 0, 0)
            return
        base = heap if heap is not None else f"%slot{k}"
        if form.backwards and k in self.item.kept:
            base = self._moved(base, length, size)
        step, alternates = self.layout.step("carry", k, False, size)
        back, _ = self.layout.step("carry", k, True, size)
        mask = 1 if alternates else -1
        self.point(input_word(k), base, step, mask)
        self.point(output_word(k, self.inputs), self._moved(base, 1, step), back, mask)

    # Stacks

    def _rooms(self, length: Number) -> dict[int, str]:
        """Allocate `length` entries, and one more, in every stack; return the addresses by item."""
        pointers = {}
        for item, (number, size) in self.heap.items():
            wanted = self._times(length, size)
            # At least a word, so that null means out of memory.
            more = max(size, 8)
            total = wanted + more if isinstance(wanted, int) else self.code.emit(f"add nsw i64 {wanted}, {more}")
            pair = self.code.emit(f"getelementptr i64, ptr %stacks, i64 {BLOCK_WORDS * number}")
            pointers[item] = self.code.emit(f"call ptr @tapediff_room(ptr {pair}, i64 {total})")
            self.leave_if(self.code.emit(f"icmp eq ptr {pointers[item]}, null"), OUT_OF_MEMORY)
        return pointers

    def _first_room(self) -> Number:
        """The initial capacity of a while loop, in iterations."""
        if not self.heap:
            return min(FIRST_ENTRIES, self._most)
        code = self.code
        for name in ("smax", "smin"):
            code.declare(f"declare i64 @llvm.{name}.i64(i64, i64)")
        # Other threads may write it at the same time: any value read was right for some loop.
        last = code.emit(f"load atomic i64, ptr {self._last_room()} monotonic, align 8")
        room = code.emit(f"call i64 @llvm.smax.i64(i64 {last}, i64 {FIRST_ENTRIES})")
        return code.emit(f"call i64 @llvm.smin.i64(i64 {room}, i64 {min(MOST_FIRST_ENTRIES, self._most)})")

    def _last_room(self) -> str:
        self._refer_to_table()
        return self.code.emit(f"getelementptr i64, ptr @{self.symbol}, i64 {ROOM}")

    def _run_until_it_stops(self, pointers: dict[int, str], room: Number) -> None:
        """Run a while loop until its stacks are full, then double them and continue."""
        code = self.code
        byte = code.emit(f"load i8, ptr {self.operand(self.form.leading - 1)}")
        goes = code.emit(f"icmp ne i8 {byte}, 0")
        self.set(END, code.emit(f"select i1 {goes}, i64 {room if self.heap else self._most}, i64 0"))
        self.set(STOPPED, code.emit(f"select i1 {goes}, i64 0, i64 1"))
        if not self.heap:
            self.run(self.form.variant_given)
            if self._most < NO_END:
                self._leave_too_long(code.emit(f"icmp eq i64 {self.get(STOPPED)}, 0"), self._most)
            return
        before, run, grow, done = code.block, code.label(), code.label(), code.label()
        code.line(f"br label %{run}")
        code.start(run)
        length, position = "%room", len(code.lines)
        code.line("")  # the phi, whose incoming block is known once the body is emitted
        self.run(self.form.variant_given)
        stopped = code.emit(f"icmp ne i64 {self.get(STOPPED)}, 0")
        code.line(f"br i1 {stopped}, label %{done}, label %{grow}")
        code.start(grow)
        self._leave_too_long(code.emit(f"icmp sge i64 {length}, {self._most}"), length)
        code.declare("declare i64 @llvm.smin.i64(i64, i64)")
        double = code.emit(f"shl i64 {length}, 1")
        twice = code.emit(f"call i64 @llvm.smin.i64(i64 {double}, i64 {self._most})")
        self._point_results(self._rooms(twice), twice)
        self.set(END, twice)
        code.lines[position] = f"{length} = phi i64 [ {room}, %{before} ], [ {twice}, %{code.block} ]"
        code.line(f"br label %{run}")
        code.start(done)
        code.line(f"store atomic i64 {length}, ptr {self._last_room()} monotonic, align 8")

    # Results

    def _deliver(self) -> None:
        """Store the addresses of dynamic arrays, and copy the final carries of loops of any length."""
        form = self.form
        if form.length is not None and not self.item.stop:
            return
        for item, (number, size) in self.heap.items():
            pair = self.code.emit(f"getelementptr i64, ptr %stacks, i64 {BLOCK_WORDS * number}")
            address = self.code.emit(f"load ptr, ptr {pair}")
            if form.backwards and item >= len(self.types) - form.carries and form.saves_carries:
                # The entry before the first is the final carry.
                address = self._moved(address, 1, size)
            self.code.line(f"store ptr {address}, ptr {self.result(item)}")
        done = self.get(ITERATION)
        if form.stops:
            self.code.line(f"store i64 {done}, ptr {self.result(self.outputs - 1)}")
        at_end = self.registers if self.item.stop else frozenset[int]()
        for k in set(range(form.carries)).difference(self.item.in_place, at_end):
            word = input_word(k)
            at = self.code.emit(f"and i64 {done}, {self.get(word + 2)}")
            offset = self.code.emit(f"mul i64 {at}, {self.get(word + 1)}")
            start = self.code.emit(f"load ptr, ptr {self.slot(word)}")
            final = self.code.emit(f"getelementptr i8, ptr {start}, i64 {offset}")
            self._copy(final, self.result(k), value_bytes(self.callee.in_types[k]))

    def _copy(self, source: str, target: str, size: int) -> None:
        # With a stop, the last carry may be in its place already.
        name = "memmove" if self.item.stop else "memcpy"
        self.code.declare(f"declare void @llvm.{name}.p0.p0.i64(ptr, ptr, i64, i1)")
        self.code.line(f"call void @llvm.{name}.p0.p0.i64(ptr {target}, ptr {source}, i64 {size}, i1 false)")


assert value_bytes(INT_SCALAR) == 8, "variant numbers are one word each"
