"""Emits a scheduled loop program as the LLVM text of one function: `i32 kernel(ptr inputs, ptr outputs, ptr state, ptr report)`.

Returns 0 for success; g + 1 if guard g failed; FAILURE + f if routine f failed; -1 if out of memory. `report` points to a byte count and a
buffer of that size, for the outcome of a failed guard: a double, or an array if it fits. Outputs are written only after the last guard has
passed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...ir.guard_rows import EACH
from ..linalg.routine_table import ROUTINES
from ..linalg.stacked_calls import call_in_lanes, is_in_lanes
from ..llvm.alike_functions import alike_functions
from ..loop_ir.program import (
    Bands,
    EmptyReduction,
    Exit,
    Group,
    InPlace,
    Interpreted,
    Invoke,
    Literal,
    LoopNest,
    Outlined,
    RoutineCall,
    RowBlocks,
    Scan,
    Step,
    Straight,
    neutral,
)  # fmt: skip
from ..math.simd import Value, constant, to_f64, trunc
from ..runtime.status import FAILURE, OUT_OF_MEMORY
from ..runtime.workspaces import (
    LARGEST_STACK_WORKSPACE,
    STATE_CONSTANTS,
    array_hash,
    new_blocks,
    workspace_functions,
)
from ..schedule.memory_plan import ALIGNMENT
from .band_function import emit_bands
from .callees.call_callee import emit_invoke
from .kernel_function import KernelFunction
from .loop_guard_report import report_each
from .loop_nest import Nest, fill
from .row_block_loop import emit_row_blocks
from .scalar_code import straight_step

_CHUNK_ARGUMENTS = "(ptr %inputs, ptr %outputs, ptr %constant, ptr %workspace, ptr %report)"


class Emitter(KernelFunction):
    """The growing kernel function."""

    largest_on_stack = LARGEST_STACK_WORKSPACE
    # True if an array that a guard looked at is also reported as one number, a hash.
    mixes_arrays = False

    # Groups

    def group(self, group: Group) -> None:
        match group:
            case Straight(body):
                for item in body:
                    self.exit(item) if isinstance(item, Exit) else straight_step(self, item)
            case LoopNest() if self._clears(group):
                self._clear(group.body[0])
            case LoopNest() | Scan():
                Nest(self, group).emit()
            case InPlace(step):
                self.group(LoopNest(step.domain, (step,)) if step.domain else Straight((step,)))
            case EmptyReduction(step):
                self._empty_reduction(step)
            case RowBlocks():
                emit_row_blocks(self, group, self.routine_of_matrix)
            case Bands():
                part = _Chunk(self, f"{self.name}_band{self.fresh()}")
                emit_bands(self, group, part, part.routine_of_matrix)
            case Outlined(inner):
                self._call_chunk(inner)
            case Interpreted() if type(group) is not Interpreted:
                from ..bytecode.emit_call import emit_interpreted  # few kernels need it

                emit_interpreted(self, group)  # type: ignore[arg-type]  # Translation or Sweeps
            case RoutineCall():
                self.call(group)
            case Invoke():
                emit_invoke(self, group)
            case Interpreted():
                raise AssertionError("the pipeline translates interpreted groups")

    def _clears(self, nest: LoopNest) -> bool:
        """True if a nest only sets a stretch of memory to zero."""
        if len(nest.domain) != 1 or len(nest.body) != 1:
            return False
        step = nest.body[0]
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
            fill(self, step.write.storage, value)

    def call(self, call: RoutineCall) -> None:
        operands, result = self._places(call)
        if call.count and is_in_lanes(call):
            failed = call_in_lanes(self.code, call, operands, result)
            if call.failure >= 0:
                self.leave_if(failed, FAILURE + call.failure)
        elif call.count == 1:
            self._routine(call, operands, result)
        elif call.count:
            self._routine_of_stack(call, operands, result)

    def _places(self, call: RoutineCall) -> tuple[list[str], str]:
        return [self.address(storage, offset) for storage, offset in call.operands], self.base(call.result)

    def _routine(self, call: RoutineCall, operands: list[str], result: str) -> None:
        failed = ROUTINES[call.routine].emit(self.code, self.slots, operands, result, call.sizes, self.fresh())
        if call.failure >= 0 and failed is not None:
            self.leave_if(failed, FAILURE + call.failure)

    def _routine_of_stack(self, call: RoutineCall, operands: list[str], result: str) -> None:
        """Emit a loop over the matrices of a stack."""
        code, counter = self.code, f"%matrix{self.fresh()}"
        self.slots.append(f"{counter} = alloca i64")
        code.line(f"store i64 0, ptr {counter}")
        head, after = code.label(), code.label()
        code.line(f"br label %{head}")
        code.start(head)
        number = code.emit(f"load i64, ptr {counter}")
        self._routine_at(call, operands, result, number)
        following = code.emit(f"add i64 {number}, 1")
        code.line(f"store i64 {following}, ptr {counter}")
        more = code.emit(f"icmp ult i64 {following}, {call.count}")
        code.line(f"br i1 {more}, label %{head}, label %{after}")
        code.start(after)

    def routine_of_matrix(self, call: RoutineCall, number: str) -> None:
        """Emit a routine on one matrix of its stack."""
        self._routine_at(call, *self._places(call), number)

    def _routine_at(self, call: RoutineCall, operands: list[str], result: str, number: str) -> None:
        pointers = []
        for pointer, advance in zip((*operands, result), call.advances):
            entries = self.code.emit(f"mul i64 {number}, {advance}")
            pointers.append(self.code.emit(f"getelementptr double, ptr {pointer}, i64 {entries}"))
        self._routine(call, pointers[:-1], pointers[-1])

    def exit(self, item: Exit) -> None:
        value = self.scalar(item.read)
        if item.guard_kind == "int":
            whole = trunc(value) if value.kind == "f64" else value
            if math.isnan(item.expected):
                fails = whole.eq(whole)
            else:
                fails = whole.ne(item.expected if value.kind == "f64" else int(item.expected))
        else:
            truth = self._truth(value)
            fails = ~truth if item.expected else truth
        self.leave_if(fails.ref, item.ordinal + 1, item)

    @staticmethod
    def _truth(value: Value) -> Value:
        return value if value.kind == "i1" else value.ne(0.0 if value.kind == "f64" else 0)

    def _call_chunk(self, group: Straight | LoopNest | Scan) -> None:
        """Call code too long for one function as a function of its own, which returns a status."""
        chunk = _Chunk(self, f"{self.name}_chunk{self.fresh()}")
        *declarations, text = chunk.definition(group)
        self.code.declare_all([*declarations, text])
        self.code.symbols |= chunk.code.symbols
        status = self.code.emit(f"call i32 @{chunk.name}{_CHUNK_ARGUMENTS}")
        self.chunks[chunk.name] = text, f"{status} = "
        if chunk.failing:
            self.leave_if(self.code.emit(f"icmp ne i32 {status}, 0"), status)

    def _share_chunks(self) -> None:
        """Merge chunks that differ only in numbers into one function."""
        definitions, calls = dict[str, str | None](), dict[str, str]()
        for shared in alike_functions({name: text for name, (text, _) in self.chunks.items()}):
            for name, (called, argument) in shared.arguments.items():
                text, result = self.chunks[name]
                definitions[text] = shared.definition if name == called else None
                calls[f"{result}call i32 @{name}{_CHUNK_ARGUMENTS}"] = f"{result}call i32 @{called}{_CHUNK_ARGUMENTS[:-1]}, {argument})"
        if definitions:
            texts = (definitions.get(text, text) for text in self.code.declarations)
            self.code.declarations = {text: None for text in texts if text is not None}
            self.code.lines[:] = [calls.get(line, line) for line in self.code.lines]

    # The whole function

    def text(self) -> str:
        self._body(self.program.groups)
        self._share_chunks()
        return "\n".join(self._module())

    def _body(self, groups: Sequence[Group]) -> None:
        for group in groups:
            self.group(group)
        self._leave(0)
        for label, status, item in self.failing:
            self.code.start(label)
            self._leave(status if item is None else self._report(item))

    def _leave(self, status: int | str) -> None:
        self._clean_up()
        self.code.line(f"ret i32 {status}")

    def _clean_up(self) -> None:
        """Release memory; the last thing the function does."""
        if self.stack_count:
            self.code.line(f"call void @tapediff_free_stacks(ptr %stacks, i64 {self.stack_count})")
        if self.program.workspace_bytes > self.largest_on_stack:
            self.code.line("call void @tapediff_release(ptr %state, ptr %workspace)")

    def _report(self, item: Exit) -> int | str:
        """Report the outcome, for the look-up of another tape; return the status to leave with."""
        if item.guard_kind == EACH:
            return report_each(self, item)
        if item.guard_kind == "array":
            self._report_array(item)
            return item.ordinal + 1
        room = self.code.emit("getelementptr i8, ptr %report, i64 8")
        value = self.scalar(item.read)
        if item.guard_kind == "bool":
            # The outcome alone: native code looks up the next path by it.
            value = self._truth(value)
        outcome = to_f64(value)
        outcome = trunc(outcome) if item.guard_kind == "int" else outcome
        self.code.line(f"store double {outcome.ref}, ptr {room}")
        return item.ordinal + 1

    def _report_array(self, item: Exit) -> None:
        """Copy the array, if it fits in the report."""
        room = self.code.emit("getelementptr i8, ptr %report, i64 8")
        storage = self.storages[item.report[0]]
        if self.mixes_arrays:
            self.code.declare_all(array_hash())
            base = self.base(storage.number)
            mixed = self.code.emit(f"call i64 @tapediff_mix(ptr {base}, i64 {storage.bytes})")
            self.code.line(f"store i64 {mixed}, ptr {room}")
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
        parameters = "ptr noalias %inputs, ptr noalias %outputs, ptr %state, ptr %report"
        return self._function(parameters, [*self.entry, "br label %body", "body:", *self.code.lines])

    def _function(self, parameters: str, lines: list[str]) -> list[str]:
        """The module: declarations, and the function with its memory set up before `lines`."""
        prologue = [*self._stacks(), *self._workspace()]
        return [
            *self.code.declarations, f"define i32 @{self.name}({parameters}) #0 {{", "entry:", *self.slots, *prologue,
            *lines, "}", "attributes #0 = { nounwind }", '!0 = !{!"branch_weights", i32 1, i32 1000}',
        ]  # fmt: skip

    def _stacks(self) -> list[str]:
        """The addresses of stacks, which have no memory yet."""
        if not self.stack_count:
            return []
        self.code.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        return new_blocks(self.stack_count)

    def _workspace(self) -> list[str]:
        size = self.program.workspace_bytes
        lines = [
            f"%constants_slot = getelementptr i64, ptr %state, i64 {STATE_CONSTANTS}",
            "%constant = load ptr, ptr %constants_slot",
        ]
        if size <= self.largest_on_stack:
            return [*lines, f"%workspace = alloca [{size} x i8], align 64"]
        self.code.declare_all(workspace_functions())
        # A multiple of the alignment: macOS refuses other sizes.
        size += -size % ALIGNMENT
        return [
            *lines,
            f"%workspace = call ptr @tapediff_acquire(ptr %state, i64 {size})",
            "%no_memory = icmp eq ptr %workspace, null",
            "br i1 %no_memory, label %starved, label %start",
            "starved:",
            f"ret i32 {OUT_OF_MEMORY}",
            "start:",
        ]


class _Chunk(Emitter):
    """A stretch of straight-line code, or a loop, as a function that uses the caller's workspace."""

    def __init__(self, owner: Emitter, name: str) -> None:
        super().__init__(owner.program, name, owner)
        self.mixes_arrays = owner.mixes_arrays

    def definition(self, group: Straight | LoopNest | Scan) -> list[str]:
        """The function's text, after the declarations that it needs."""
        self._body([group])
        head = f"define internal i32 @{self.name}{_CHUNK_ARGUMENTS} noinline nounwind {{"
        return [*self.code.declarations, self.as_function(head, self.entry)]

    def _leave(self, status: int | str) -> None:
        self.code.line(f"ret i32 {status}")
