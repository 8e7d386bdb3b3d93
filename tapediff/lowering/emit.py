"""Emits a scheduled loop program as the LLVM text of one function: `i32 kernel(ptr inputs, ptr outputs, ptr state, ptr report)`.

0 is success; g + 1 that guard g failed; FAILURE + f that routine f failed; -1 that no memory was left. `report` points to a
number of bytes and that much room, for the outcome of a failed guard: a double, or an array where it fits. Nothing is written to the
outputs before the last guard has passed.
"""

from __future__ import annotations

import math
from typing import Any

from ..errors import TapediffError
from .accumulators import MEMORY_TYPES
from .functions import outlines
from .lanes import Code, Value, constant, to_f64, trunc
from .nest import Nest
from .program import Access, Call, Exit, Group, Literal, Program, Step, neutral
from .routines import ROUTINES
from .status import FAILURE, OUT_OF_MEMORY
from .straight import straight_step

# Workspaces up to this size live on the C stack; larger ones are kept between calls, one for each call in progress.
LARGEST_STACK_WORKSPACE = 1 << 15
STATE_CONSTANTS, STATE_SLOTS, SLOT_COUNT = 1, 2, 4
STATE_WORDS = STATE_SLOTS + SLOT_COUNT


class Emitter:
    """The growing kernel function."""

    def __init__(self, program: Program, name: str, owner: Emitter | None = None) -> None:
        self.program = program
        self.storages = program.storages
        self.name = name
        self.code = Code("body")
        # Stack slots, which LLVM turns into registers only where they stand first of all; then addresses.
        self.slots: list[str] = []
        self.entry: list[str] = []
        self.scalars: dict[int, Value] = {}
        self.failing: list[tuple[str, int | str, Exit | None]] = []
        # Of the whole module: where functions and declarations go, which expressions have been made functions, and whether
        # they are to be; and which storages are filled first and then added to.
        self.module: Code = self.code if owner is None else owner.module
        self.functions: dict[tuple[Any, ...], tuple[str, str]] = {} if owner is None else owner.functions
        self.outlines: bool = outlines(program) if owner is None else owner.outlines
        self.assembled: frozenset[int] = program.assembled() if owner is None else owner.assembled
        self._bases: dict[int, str] = {}
        self._fresh = 0

    def fresh(self) -> int:
        self._fresh += 1
        return self._fresh

    def is_assembled(self, storage: int) -> bool:
        """Whether a storage is filled first and then added to, so that a reduction must not initialise it."""
        return storage in self.assembled

    # Memory

    def base(self, storage: int) -> str:
        """The address of a storage's first element, worked out once in the entry block."""
        known = self._bases.get(storage)
        if known is not None:
            return known
        item = self.storages[storage]
        name = f"%base{storage}"
        if item.home in ("input", "output"):
            self.entry.append(f"%slot{storage} = getelementptr ptr, ptr %{item.home}s, i64 {item.position}")
            self.entry.append(f"{name} = load ptr, ptr %slot{storage}")
        else:
            self.entry.append(f"{name} = getelementptr i8, ptr %{item.home}, i64 {item.position}")
        self._bases[storage] = name
        return name

    def load(self, address: str, kind: str) -> Value:
        name = self.code.emit(f"load {MEMORY_TYPES[kind]}, ptr {address}")
        return Value(self.code, self.code.emit(f"icmp ne i8 {name}, 0") if kind == "i1" else name, kind, 1)

    def store(self, address: str, value: Value) -> None:
        name = self.code.emit(f"zext i1 {value.ref} to i8") if value.kind == "i1" else value.ref
        self.code.line(f"store {MEMORY_TYPES[value.kind]} {name}, ptr {address}")

    def mask(self, width: int, active: int) -> str:
        if active >= width:
            return "splat (i1 true)"
        return "<" + ", ".join(f"i1 {'true' if k < active else 'false'}" for k in range(width)) + ">"

    def load_lanes(self, address: str, stride: int, kind: str, width: int, active: int) -> Value:
        """`width` elements from an address on, `stride` apart; lanes beyond `active` are 1 and touch no memory."""
        if width == 1:
            return self.load(address, kind)
        element = MEMORY_TYPES[kind]
        if stride != 1:
            places = "<" + ", ".join(f"i64 {k * stride}" for k in range(width)) + ">"
            return self._gathered(address, places, kind, width, active)
        vector = f"<{width} x {element}>"
        if active >= width:
            name = self.code.emit(f"load {vector}, ptr {address}, align {8 if kind != 'i1' else 1}")
        else:
            name = self._masked_load(address, kind, width, active)
        return self._from_memory(name, kind, width)

    def _from_memory(self, name: str, kind: str, width: int) -> Value:
        if kind == "i1":
            name = self.code.emit(f"icmp ne <{width} x i8> {name}, zeroinitializer")
        return Value(self.code, name, kind, width)

    def _masked_load(self, address: str, kind: str, width: int, active: int) -> str:
        element = MEMORY_TYPES[kind]
        vector, suffix = f"<{width} x {element}>", f"v{width}{'f64' if kind == 'f64' else element}"
        one = "splat (double 1.0)" if kind == "f64" else f"splat ({element} 1)"
        self.code.declare(f"declare {vector} @llvm.masked.load.{suffix}.p0(ptr, i32, <{width} x i1>, {vector})")
        align = 1 if kind == "i1" else 8
        return self.code.emit(
            f"call {vector} @llvm.masked.load.{suffix}.p0(ptr {address}, i32 {align}, "
            f"<{width} x i1> {self.mask(width, active)}, {vector} {one})"
        )

    def gather(self, address: str, places: Value, kind: str, width: int, active: int) -> Value:
        if width == 1:
            element = MEMORY_TYPES[kind]
            return self.load(self.code.emit(f"getelementptr {element}, ptr {address}, i64 {places.ref}"), kind)
        return self._gathered(address, places.ref, kind, width, active)

    def _gathered(self, address: str, places: str, kind: str, width: int, active: int) -> Value:
        element = MEMORY_TYPES[kind]
        vector, suffix = f"<{width} x {element}>", f"v{width}{'f64' if kind == 'f64' else element}"
        one = "splat (double 1.0)" if kind == "f64" else f"splat ({element} 1)"
        pointers = self.code.emit(f"getelementptr {element}, ptr {address}, <{width} x i64> {places}")
        self.code.declare(
            f"declare {vector} @llvm.masked.gather.{suffix}.v{width}p0(<{width} x ptr>, i32, <{width} x i1>, {vector})"
        )
        align = 1 if kind == "i1" else 8
        name = self.code.emit(
            f"call {vector} @llvm.masked.gather.{suffix}.v{width}p0(<{width} x ptr> {pointers}, i32 {align}, "
            f"<{width} x i1> {self.mask(width, active)}, {vector} {one})"
        )
        return self._from_memory(name, kind, width)

    def store_lanes(self, address: str, stride: int, value: Value, active: int) -> None:
        width, kind = value.width, value.kind
        if width == 1:
            self.store(address, value)
            return
        element = MEMORY_TYPES[kind]
        vector = f"<{width} x {element}>"
        name = self.code.emit(f"zext <{width} x i1> {value.ref} to {vector}") if kind == "i1" else value.ref
        align, suffix = (1, f"v{width}i8") if kind == "i1" else (8, f"v{width}{'f64' if kind == 'f64' else 'i64'}")
        mask = f"<{width} x i1> {self.mask(width, active)}"
        if stride != 1:
            places = "<" + ", ".join(f"i64 {k * stride}" for k in range(width)) + ">"
            pointers = self.code.emit(f"getelementptr {element}, ptr {address}, <{width} x i64> {places}")
            self.code.declare(
                f"declare void @llvm.masked.scatter.{suffix}.v{width}p0({vector}, <{width} x ptr>, i32, <{width} x i1>)"
            )
            self.code.line(
                f"call void @llvm.masked.scatter.{suffix}.v{width}p0({vector} {name}, <{width} x ptr> {pointers}, i32 {align}, {mask})"
            )
        elif active >= width:
            self.code.line(f"store {vector} {name}, ptr {address}, align {align}")
        else:
            self.code.declare(f"declare void @llvm.masked.store.{suffix}.p0({vector}, ptr, i32, <{width} x i1>)")
            self.code.line(
                f"call void @llvm.masked.store.{suffix}.p0({vector} {name}, ptr {address}, i32 {align}, {mask})"
            )

    def fill(self, storage: int, value: Any) -> None:
        """A loop that sets a whole storage to one number."""
        item = self.storages[storage]
        step = Step((item.size,), (Literal(value, item.kind),), "r0", (), Access(storage, 0, (1,)))
        Nest(self, Group("nest", (item.size,), [step])).emit()

    def set_scalar(self, storage: int, value: Value) -> None:
        self.scalars[storage] = value
        item = self.storages[storage]
        if item.home == "output" or item.in_memory:
            self.store(self.base(storage), value)

    # Groups

    def group(self, group: Group) -> None:
        if group.form == "call":
            self.call(group.body[0])
        elif group.form == "chunk":
            self._call_chunk(group)
        elif group.form == "straight":
            for item in group.body:
                self.exit(item) if isinstance(item, Exit) else straight_step(self, item)
        elif self._clears(group):
            self._clear(group.body[0])
        elif 0 in group.domain:
            for step in group.body:
                self._empty_reduction(step)
        else:
            Nest(self, group).emit()

    def _clears(self, group: Group) -> bool:
        """Whether a nest does no more than set a stretch of memory to zero."""
        if group.form != "nest" or len(group.domain) != 1 or len(group.body) != 1:
            return False
        step = group.body[0]
        source = step.reads[0]
        is_zero = (
            isinstance(source, Literal)
            and source.kind == "f64"
            and source.value == 0.0
            and math.copysign(1.0, source.value) > 0
        )
        stores = self.storages[step.write.storage].in_memory and step.combine is None and step.write.strides == (1,)
        return is_zero and stores and step.expression == "r0"

    def _clear(self, step: Step) -> None:
        self.code.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        address = self.address(step.write.storage, step.write.offset)
        self.code.line(f"call void @llvm.memset.p0.i64(ptr {address}, i8 0, i64 {8 * step.domain[0]}, i1 false)")

    def _empty_reduction(self, step: Step) -> None:
        storage = self.storages[step.write.storage]
        value = neutral(step.combine, storage.kind)  # type: ignore[arg-type]
        if storage.size == 1:
            self.set_scalar(step.write.storage, constant(self.code, value, storage.kind))
        elif storage.size:
            self.fill(step.write.storage, value)

    def address(self, storage: int, offset: int) -> str:
        base = self.base(storage)
        return (
            base
            if not offset
            else self.code.emit(f"getelementptr {MEMORY_TYPES[self.storages[storage].kind]}, ptr {base}, i64 {offset}")
        )

    def scalar(self, read: Access) -> Value:
        known = self.scalars.get(read.storage)
        if known is not None:
            return known
        return self.load(self.address(read.storage, read.offset), self.storages[read.storage].kind)

    def call(self, call: Call) -> None:
        routine = ROUTINES[call.routine]
        operands = [self.address(storage, offset) for storage, offset in call.operands]
        failed = routine.emit(self.code, self.slots, operands, self.base(call.result), call.sizes, self.fresh())
        if call.failure >= 0 and failed is not None:
            self._leave_if(failed, FAILURE + call.failure, None)

    def exit(self, item: Exit) -> None:
        value = self.scalar(item.read)
        if item.guard_kind == "int":
            whole = trunc(value) if value.kind == "f64" else value
            if math.isnan(item.expected):
                fails = whole.eq(whole)
            else:
                fails = whole.ne(item.expected if value.kind == "f64" else int(item.expected))
        else:
            truth = value if value.kind == "i1" else value.ne(0.0 if value.kind == "f64" else 0)
            fails = ~truth if item.expected else truth
        self._leave_if(fails.ref, item.ordinal + 1, item)

    def _call_chunk(self, group: Group) -> None:
        """Straight-line code too long for one function: a function of its own, which hands back a status."""
        chunk = _Chunk(self, f"{self.name}_chunk{self.fresh()}")
        for declaration in chunk.definition(group):
            self.code.declare(declaration)
        self.code.symbols |= chunk.code.symbols
        status = self.code.emit(
            f"call i32 @{chunk.name}(ptr %inputs, ptr %outputs, ptr %constant, ptr %workspace, ptr %report)"
        )
        self._leave_if(self.code.emit(f"icmp ne i32 {status}, 0"), status, None)

    def _leave_if(self, fails: str, status: int | str, item: Exit | None) -> None:
        label, onward = f"leave{self.fresh()}", self.code.label()
        self.code.line(f"br i1 {fails}, label %{label}, label %{onward}, !prof !0")
        self.code.start(onward)
        self.failing.append((label, status, item))

    # The whole function

    def text(self) -> str:
        self._body(self.program.groups)
        return "\n".join(self._module())

    def _body(self, groups: list[Group]) -> None:
        for group in groups:
            self.group(group)
        self._leave(0)
        for label, status, item in self.failing:
            self.code.start(label)
            if item is not None:
                self._report(item)
            self._leave(status)

    def _leave(self, status: int | str) -> None:
        if self.program.workspace_bytes > LARGEST_STACK_WORKSPACE:
            self.code.line("call void @tapediff_release(ptr %state, ptr %workspace)")
        self.code.line(f"ret i32 {status}")

    def _report(self, item: Exit) -> None:
        """Hand out what was met, for the look-up of another tape."""
        room = self.code.emit("getelementptr i8, ptr %report, i64 8")
        if item.guard_kind != "array":
            met = to_f64(self.scalar(item.read))
            met = trunc(met) if item.guard_kind == "int" else met
            self.code.line(f"store double {met.ref}, ptr {room}")
            return
        storage = self.storages[item.report[0]]
        copied, done = self.code.label(), self.code.label()
        size = self.code.emit("load i64, ptr %report")
        fits = self.code.emit(f"icmp uge i64 {size}, {storage.bytes}")
        self.code.line(f"br i1 {fits}, label %{copied}, label %{done}")
        self.code.start(copied)
        self.code.declare("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        self.code.line(
            f"call void @llvm.memcpy.p0.p0.i64(ptr {room}, ptr {self.base(storage.number)}, i64 {storage.bytes}, i1 false)"
        )
        self.code.line(f"br label %{done}")
        self.code.start(done)

    def _module(self) -> list[str]:
        size = self.program.workspace_bytes
        prologue = [
            f"define i32 @{self.name}(ptr noalias %inputs, ptr noalias %outputs, ptr %state, ptr %report) #0 {{",
            "entry:",
            *self.slots,
            f"%constants_slot = getelementptr i64, ptr %state, i64 {STATE_CONSTANTS}",
            "%constant = load ptr, ptr %constants_slot",
        ]
        if size > LARGEST_STACK_WORKSPACE:
            prologue += [
                f"%workspace = call ptr @tapediff_acquire(ptr %state, i64 {size})",
                "%no_memory = icmp eq ptr %workspace, null",
                "br i1 %no_memory, label %starved, label %start",
                "starved:",
                f"ret i32 {OUT_OF_MEMORY}",
                "start:",
            ]
            self.code.declare(WORKSPACE_FUNCTIONS)
        else:
            prologue.append(f"%workspace = alloca [{size} x i8], align 64")
        return [
            *self.code.declarations, *prologue, *self.entry, "br label %body", "body:", *self.code.lines, "}",
            "attributes #0 = { nounwind }",
            '!0 = !{!"branch_weights", i32 1, i32 1000}',
        ]  # fmt: skip


class _Chunk(Emitter):
    """A stretch of straight-line code as a function; its workspace is the caller's."""

    def __init__(self, owner: Emitter, name: str) -> None:
        super().__init__(owner.program, name, owner)

    def definition(self, group: Group) -> list[str]:
        """The function's text, after the declarations that it needs."""
        self._body([Group("straight", (), group.body)])
        parameters = "ptr %inputs, ptr %outputs, ptr %constant, ptr %workspace, ptr %report"
        head = [f"define internal i32 @{self.name}({parameters}) noinline nounwind {{", "entry:"]
        text = "\n".join([*head, *self.slots, *self.entry, "br label %body", "body:", *self.code.lines, "}"])
        return [*self.code.declarations, text]

    def _leave(self, status: int | str) -> None:
        self.code.line(f"ret i32 {status}")


# A call takes an idle workspace out of the kernel's state, or makes one; so threads and re-entrant calls never share.
WORKSPACE_FUNCTIONS = f"""declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
define internal ptr @tapediff_acquire(ptr %state, i64 %size) noinline {{
entry:
br label %look
look:
%k = phi i64 [ {STATE_SLOTS}, %entry ], [ %next, %again ]
%slot = getelementptr i64, ptr %state, i64 %k
%held = atomicrmw xchg ptr %slot, i64 0 seq_cst
%has = icmp ne i64 %held, 0
br i1 %has, label %found, label %again
again:
%next = add i64 %k, 1
%more = icmp ult i64 %next, {STATE_WORDS}
br i1 %more, label %look, label %make
found:
%workspace = inttoptr i64 %held to ptr
ret ptr %workspace
make:
%made = call ptr @aligned_alloc(i64 64, i64 %size)
ret ptr %made
}}
define internal void @tapediff_release(ptr %state, ptr %workspace) noinline {{
entry:
%value = ptrtoint ptr %workspace to i64
br label %look
look:
%k = phi i64 [ {STATE_SLOTS}, %entry ], [ %next, %again ]
%slot = getelementptr i64, ptr %state, i64 %k
%swap = cmpxchg ptr %slot, i64 0, i64 %value seq_cst seq_cst
%kept = extractvalue {{ i64, i1 }} %swap, 1
br i1 %kept, label %done, label %again
again:
%next = add i64 %k, 1
%more = icmp ult i64 %next, {STATE_WORDS}
br i1 %more, label %look, label %drop
drop:
call void @free(ptr %workspace)
br label %done
done:
ret void
}}"""


def emit(program: Program, name: str) -> Emitter:
    if len(program.groups) > 1_000_000:
        raise TapediffError("the tape is too long to compile", fix="replay it without compiling")
    return Emitter(program, name)
