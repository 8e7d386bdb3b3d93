"""Emits the functions of kernels and of loop kernels. Short loops are inlined."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.tape import Tape
from ...ops.control.calls import LOOP
from ..jit.native_function import INLINED
from ..llvm.values import MEMORY_TYPES
from ..loop_ir.program import (
    Access,
    Bands,
    EmptyReduction,
    Group,
    InPlace,
    Invoke,
    LoopNest,
    Outlined,
    Program,
    Scan,
    Step,
    Straight,
)
from ..math.simd import Value
from ..pipeline import build_body
from ..runtime.call_frame import END, STACK, STOPPED, ArgumentLayout, input_word, output_word, value_bytes
from ..runtime.signal_checks import CLOCK, FIRST_SLICE, PAUSE
from ..runtime.status import PENDING
from .emitter import Emitter
from .kernel_function import InlinedBody

# Longer bodies take longer to run than the loop takes to enter.
MOST_INLINED = 200

# Smaller than for kernels, since calls of callees may be deeply nested.
LARGEST_STACK_WORKSPACE = 1 << 12


def varying(tape: Tape, layout: ArgumentLayout) -> set[int]:
    """The inputs that differ between iterations. For a call all of them: it has one iteration, and nothing to hoist."""
    return {k for k in range(len(tape.inputs)) if layout.once or layout.of_input(k) != "constant"}


class LoopEmitter(Emitter):
    """The growing function of a loop kernel: `enter` and the program's first groups run once, then `top` and the body in a loop."""

    largest_on_stack = LARGEST_STACK_WORKSPACE
    mixes_arrays = True
    outermost = "%outermost"

    def __init__(self, program: Program, name: str, layout: ArgumentLayout, tape: Tape) -> None:
        super().__init__(program, name)
        self.layout = layout
        self._types = {"input": tape.input_types, "output": tape.output_types}
        self.enter: list[str] = []
        self.top: list[str] = []
        self._entered_from = "enter"
        # The storage by home and position; the first value and kind of the carries in registers.
        self._storage_at = {(s.home, s.position): s for s in program.storages if s.home in ("input", "output")}
        self._carried: dict[int, tuple[str, str]] = {}
        self._has_chunks = any(isinstance(group, (Outlined, Bands)) for group in program.groups)
        # The carries that are in memory before the first iteration and after the last only.
        self.registers: frozenset[int] = frozenset()

    def base(self, storage: int) -> str:
        item = self.storages[storage]
        if item.home in ("input", "output"):
            return f"%{item.home}{item.position}"
        return super().base(storage)

    def text(self) -> str:
        for k in range(self.program.input_count):
            self._place("input", k, self.layout.of_input(k), input_word(k))
            self._number(k, self.layout.of_input(k))
        for k in range(self.program.output_count):
            word = output_word(k, self.program.input_count)
            self._place("output", k, self.layout.of_output(k, self.program.output_count), word)
        if self._has_chunks:
            self._addresses_for_chunks()
        return super().text()

    def body_for(self, item: Invoke, layout: ArgumentLayout, name: str) -> InlinedBody | None:
        """Inline short loops: they take longer to enter than to run, and are entered at every iteration."""
        return _inlined_body(self, item, layout, name)

    # Before the first iteration, and at the top of each

    def _place(self, home: str, k: int, role: str, word: int) -> None:
        """The address of an input or output: computed once for constants, at every iteration for others."""
        name = f"%{home}{k}"
        if role == "constant":
            self._load_word(name, "ptr", word)
            return
        self._load_word(f"{name}_first", "ptr", word)
        if role == "carry" and (k in self.registers or k in self.layout.in_place):
            self.enter.append(f"{name} = getelementptr i8, ptr {name}_first, i64 0")
            return
        self._address(self.top, name, home, k, role, "%t")

    def _address(self, lines: list[str], name: str, home: str, k: int, role: str, t: str) -> None:
        """The address of a value at iteration t. Strides are literals, so that values of one size share their offset."""
        step, alternates = self.layout.step(role, k, home == "output", value_bytes(self._types[home][k]))
        if alternates:
            lines.append(f"{name}_turn = and i64 {t}, 1")
            t = f"{name}_turn"
        lines.append(f"{name}_offset = mul i64 {t}, {step}")
        lines.append(f"{name} = getelementptr i8, ptr %{home}{k}_first, i64 {name}_offset")

    def _load_word(self, name: str, type_: str, word: int) -> None:
        self.enter.append(f"{name}_slot = getelementptr i64, ptr %frame, i64 {word}")
        self.enter.append(f"{name} = load {type_}, ptr {name}_slot")

    def _number(self, k: int, role: str) -> None:
        """Read a number once: before the loop, from the iteration before, or at the top of the body."""
        storage = self._storage_at.get(("input", k))
        if storage is None or storage.size != 1:
            return
        name = f"%number{k}"
        if role == "carry":
            # The start of this run of the loop. It differs from the start of the loop if another variant ran before.
            start = f"{name}_start"
            if k in self.registers:
                start = f"%input{k}"
            else:
                self._address(self.enter, start, "input", k, role, "%t_first")
            self._load_number(self.enter, f"{name}_first", start, storage.kind)
            self._carried[k] = (f"{name}_first", storage.kind)
        else:
            self._load_number(self.enter if role == "constant" else self.top, name, f"%input{k}", storage.kind)
        self.scalars[storage.number] = Value(self.code, name, storage.kind, 1)

    @staticmethod
    def _load_number(lines: list[str], name: str, address: str, kind: str) -> None:
        if kind == "i1":
            lines.append(f"{name}_byte = load i8, ptr {address}")
            lines.append(f"{name} = icmp ne i8 {name}_byte, 0")
        else:
            lines.append(f"{name} = load {MEMORY_TYPES[kind]}, ptr {address}")

    def _addresses_for_chunks(self) -> None:
        """Pass inputs and outputs to outlined parts of the body in the form that kernels use."""
        for home, count in (("input", self.program.input_count), ("output", self.program.output_count)):
            self.slots.append(f"%{home}s = alloca [{max(count, 1)} x ptr]")
            for k in range(count):
                self.top.append(f"%{home}{k}_for_chunks = getelementptr ptr, ptr %{home}s, i64 {k}")
                self.top.append(f"store ptr %{home}{k}, ptr %{home}{k}_for_chunks")

    # After each iteration

    def _body(self, groups: Sequence[Group]) -> None:
        code, before = self.code, self.program.before
        # The code continues the block that _module begins with.
        code.block = "enter"
        for group in groups[:before]:
            self.group(group)
        self._entered_from = code.block
        code.line("br label %body")
        code.start("body")
        position = len(code.lines)
        for group in groups[before:]:
            self.group(group)
        phis = self._next_iteration()
        code.lines[position:position] = [*phis, *self.top]
        for label, status, item in self.failing:
            self.code.start(label)
            left_with = status if item is None else self._report(item)
            self._store_iteration("%t")
            self._leave(left_with)

    def _next_iteration(self) -> list[str]:
        """Continue or return; return the phis of the body."""
        if self.layout.once:
            self._store_iteration("1")
            self._leave(0)
            return ["%t = add i64 0, 0"]
        code = self.code
        carried = {k: self._output_number(k).ref for k in self._carried}
        following = code.emit("add nsw i64 %t, 1")
        more = code.emit(f"icmp slt i64 {following}, %slice_end")
        goes = stop = None
        if self.layout.stops:
            goes = self._output_number(self.program.output_count - 1).ref
            stop = code.emit(f"xor i1 {goes}, true")
            more = code.emit(f"and i1 {more}, {goes}")
        before, left, pause, resume, done = code.block, code.label(), code.label(), code.label(), code.label()
        code.line(f"br i1 {more}, label %body, label %{left}")
        code.start(left)
        goes_on = code.emit(f"icmp slt i64 {following}, %end")
        if goes is not None:
            goes_on = code.emit(f"and i1 {goes_on}, {goes}")
        code.line(f"br i1 {goes_on}, label %{pause}, label %{done}")
        self._pause(pause, following, resume)
        code.start(done)
        for k in self.registers:
            self.store(f"%output{k}", self._output_number(k))
        self._store_iteration(following)
        if stop is not None:
            flag = code.emit(f"getelementptr i64, ptr %frame, i64 {STOPPED}")
            code.line(f"store i64 {code.emit(f'zext i1 {stop} to i64')}, ptr {flag}")
        self._leave(0)
        ways = [("%t", "i64", "%t_first", following, following), ("%slice_end", "i64", "%slice_first", "%slice_end", "%slice_next")]
        for k, (first, kind) in self._carried.items():
            ways.append((f"%number{k}", "i1" if kind == "i1" else MEMORY_TYPES[kind], first, carried[k], carried[k]))
        return [
            f"{name} = phi {type_} [ {first}, %{self._entered_from} ], [ {again}, %{before} ], [ {resumed}, %{resume} ]"
            for name, type_, first, again, resumed in ways
        ]

    def _pause(self, label: str, following: str, resume: str) -> None:
        """Check for signals after a slice of the iterations: see compiler.runtime.signal_checks."""
        code, interrupted = self.code, self.code.label()
        code.declare("declare i64 @tapediff_pause(ptr, i64, i64)")
        self.addresses["tapediff_pause"] = PAUSE.address
        code.start(label)
        code.line(f"%slice_next = call i64 @tapediff_pause(ptr %clock, i64 {following}, i64 %end)")
        raised = code.emit("icmp slt i64 %slice_next, 0")
        code.line(f"br i1 {raised}, label %{interrupted}, label %{resume}, !prof !0")
        code.start(interrupted)
        self._store_iteration(following)
        self._leave(PENDING)
        code.start(resume)
        code.line("br label %body")

    def _output_number(self, k: int) -> Value:
        storage = self._storage_at["output", k]
        known = self.scalars.get(storage.number)
        return known if known is not None else self.load(self.base(storage.number), storage.kind)

    def _store_iteration(self, number: str) -> None:
        self.code.line(f"store i64 {number}, ptr %frame")

    def _module(self) -> list[str]:
        end_slot = f"%end_slot = getelementptr i64, ptr %frame, i64 {END}"
        enter = ["%t_first = load i64, ptr %frame", end_slot, "%end = load i64, ptr %end_slot"]
        self._load_word("%outermost", "i64", STACK)
        enter += self.enter
        if not self.layout.once:
            self.code.declare("declare i64 @llvm.smin.i64(i64, i64)")
            self.slots.append(f"%clock = alloca [{CLOCK.size // 8} x i64]")
            enter += ["%slice_slot = getelementptr i64, ptr %clock, i64 1", "store i64 0, ptr %slice_slot"]
            enter += [f"%slice_reach = add i64 %t_first, {FIRST_SLICE}"]
            enter += ["%slice_first = call i64 @llvm.smin.i64(i64 %slice_reach, i64 %end)"]
        lines = [*self.entry, "br label %enter", "enter:", *enter, *self.code.lines]
        return self._function("ptr noalias %frame, ptr %state, ptr %report", lines)


class KernelEmitter(Emitter):
    """The growing kernel function of a tape."""

    def body_for(self, item: Invoke, layout: ArgumentLayout, name: str) -> InlinedBody | None:
        """Inline loops of unknown length, too: they may be short, and often have a few others around them."""
        return _inlined_body(self, item, layout, name) if item.op is LOOP and item.params[1].length is None else None


def _inlined_body(owner: Emitter, item: Invoke, layout: ArgumentLayout, name: str) -> InlinedBody | None:
    """Inline the function of a loop whose callee has one short tape without guards."""
    callee = item.params[0]
    if item.op is not LOOP or item.params[1].variant_given or not callee.is_compiled or callee.only_tape() is None:
        return None
    tape = callee.variant_tape(0)
    if len(tape.instructions) > MOST_INLINED:
        return None
    program = build_body(tape, varying(tape, layout), layout.carries, layout.threads, layout.in_place)
    if not all(map(_is_inlined, program.groups)) or program.workspace_bytes > LARGEST_STACK_WORKSPACE:
        return None
    inner = _InlinedEmitter(program, name, layout, tape)
    inner.registers = _in_registers(program, layout, tape)
    text = inner.text()
    owner.module.declare_all(inner.code.declarations)
    owner.module.symbols |= inner.code.symbols
    owner.addresses |= inner.addresses
    return InlinedBody(text, inner.registers)


def _in_registers(program: Program, layout: ArgumentLayout, tape: Tape) -> frozenset[int]:
    """The carries that are in memory only before the first iteration and after the last: no other variant continues from there, and no step
    of the body reads them at an address."""
    steps = [item for group in program.groups for item in group.body if isinstance(item, Step)]
    is_plain = all(isinstance(group, Straight) for group in program.groups)
    if not is_plain or any(isinstance(read, Access) and read.index_read >= 0 for step in steps for read in step.reads):
        return frozenset()
    return frozenset(k for k in range(layout.carries) if k not in layout.kept and tape.input_types[k].size == 1)


def _is_inlined(group: Group) -> bool:
    """True if a group cannot fail, and calls nothing that needs Python."""
    plain = isinstance(group, (Straight, LoopNest, Scan, EmptyReduction, InPlace))
    return plain and all(isinstance(item, Step) for item in group.body)


class _InlinedEmitter(LoopEmitter):
    """The function of a loop that is inlined into its caller: its constants are in the same module, and LLVM splits its frame into
    registers."""

    def set_scalar(self, storage: int, value: Value) -> None:
        item = self.storages[storage]
        is_goes = self.layout.stops and item.position == self.program.output_count - 1
        if item.home == "output" and (item.position in self.registers or (is_goes and self.registers)):
            self.scalars[storage] = value
        else:
            super().set_scalar(storage, value)

    def _function(self, parameters: str, lines: list[str]) -> list[str]:
        constants = self.program.constants
        prologue = [f"%workspace = alloca [{self.program.workspace_bytes} x i8], align 64"]
        if constants:
            data = "".join(f"\\{byte:02x}" for byte in constants)
            self.code.declare(f'@{self.name}_constants = internal constant [{len(constants)} x i8] c"{data}", align 64')
            prologue.append(f"%constant = getelementptr i8, ptr @{self.name}_constants, i64 0")
        head = f"define internal i32 @{self.name}({parameters}) {INLINED} nounwind {{"
        return [head, "entry:", *self.slots, *prologue, *lines, "}"]
