"""The function of a kernel that runs a callee: it fills a call frame and runs the native dispatch loop on it."""

from __future__ import annotations

from ...jit.native_function import INLINED
from ...loop_ir.program import Invoke
from ...math.simd import Code
from ...runtime.call_frame import (
    ASKED_AT,
    END,
    ITERATION,
    NUMBERS,
    STACK,
    STEP,
    ArgumentLayout,
    frame_words,
)  # fmt: skip
from ...runtime.callees.dispatch_loop import dispatch_loop_address
from ...runtime.callees.dispatch_table import CalleeTable, dispatch_table_of
from ...runtime.callees.native_callee import NativeCallee
from ...runtime.callees.shared_loop import RUN_SHARED
from ...runtime.status import PENDING

# A number known at code generation, or the name of a run-time one.
Number = int | str

# LLVM's time to optimise the one long block of a call with many values grows quadratically: a loop with 100 carries took 1.4 s, and takes
# 0.2 s unoptimised. The block runs once for the whole loop.
MOST_OPTIMISED_LINES = 500


class Invocation:
    """The function that fills a frame, runs the dispatch loop, and delivers the results.

    Its parameters: the addresses of operands and items, of the carries' slots and scratch, and of its stacks; the start of the stack of
    calls.
    """

    def __init__(self, item: Invoke, layout: ArgumentLayout, symbol: str) -> None:
        self.item, self.code = item, Code("entry")
        # The text has symbols instead of this process's addresses, so that its code may be kept on disk; `symbol` is the dispatch table's.
        self.symbol, self.addresses = symbol, dict[str, int]()
        # The function of the same module that runs the callee, instead of the dispatch loop; empty if there is none.
        self.body = ""
        # The number of threads that may share it; see may_be_shared.
        self.threads = 1
        # Carries read before the first iteration, and written to the same place after the last.
        self.registers: frozenset[int] = frozenset()
        self.callee: NativeCallee = item.params[0]
        self.layout = layout
        self.table: CalleeTable = dispatch_table_of(self.callee, layout)
        self.inputs, self.outputs = len(self.callee.in_types), len(self.callee.out_types)
        self.stacks = 0
        # Objects that the code refers to by number, kept alive with the kernel.
        self.kept: list[object] = []
        self._leaving: list[tuple[str, int]] = []

    def emit(self) -> None:
        raise NotImplementedError

    def definition(self, name: str) -> list[str]:
        """The declarations that the function needs, and its text."""
        self.emit()
        self.code.line("ret i32 0")
        for label, status in self._leaving:
            self.code.start(label)
            self.code.line(f"ret i32 {status}")
        item = self.item
        names = [f"operand{k}" for k in range(len(item.operands))] + [f"item{k}" for k in range(len(item.items))]
        names += [f"slot{k}" for k, storage in enumerate(item.slots) if storage >= 0]
        names += ["scratch"] * (item.scratch >= 0) + ["stacks"] * (self.stacks > 0)
        parameters = ", ".join([*(f"ptr %{n}" for n in names), "i64 %outermost", *["i64 %stop"] * bool(item.stop)])
        attributes = "noinline nounwind" + " optnone" * (len(self.code.lines) > MOST_OPTIMISED_LINES)
        if self.body:
            attributes = f"{INLINED} nounwind"
        head = [
            f"define internal i32 @{name}({parameters}) {attributes} {{", "entry:",
            f"%call_frame = alloca [{frame_words(self.inputs, self.outputs)} x i64], align 64",
        ]  # fmt: skip
        return [*self.code.declarations, "\n".join([*head, *self.code.lines, "}"])]

    def leave_if(self, fails: str, status: int) -> None:
        label, onward = self.code.label(), self.code.label()
        self.code.line(f"br i1 {fails}, label %{label}, label %{onward}, !prof !0")
        self.code.start(onward)
        self._leaving.append((label, status))

    def slot(self, word: int) -> str:
        return self.code.emit(f"getelementptr i64, ptr %call_frame, i64 {word}") if word else "%call_frame"

    def set(self, word: int, value: Number) -> None:
        self.code.line(f"store i64 {value}, ptr {self.slot(word)}")

    def get(self, word: int) -> str:
        return self.code.emit(f"load i64, ptr {self.slot(word)}")

    def point(self, word: int, address: str, stride: Number | None = None, mask: int | None = None) -> None:
        """Store the address of a value in the frame. Constants need no stride, and only carries a mask."""
        self.code.line(f"store ptr {address}, ptr {self.slot(word)}")
        if stride is not None:
            self.set(word + 1, stride)
        if mask is not None:
            self.set(word + 2, mask)

    def operand(self, k: int) -> str:
        return f"%operand{k}"

    def result(self, k: int) -> str:
        return f"%item{k}"

    def run(self, chosen: bool) -> None:
        """Call the dispatch loop; leave if Python has raised an exception."""
        if self.body:
            self._run_body()
            return
        if self.threads > 1:
            self._run_shared()
            return
        dispatch_loop = "run_chosen" if chosen else "run_decided"
        self.addresses |= {f"tapediff_{dispatch_loop}": dispatch_loop_address(dispatch_loop)}
        self.code.declare(f"declare i32 @tapediff_{dispatch_loop}(ptr, ptr)")
        self._refer_to_table()
        status = self.code.emit(f"call i32 @tapediff_{dispatch_loop}(ptr @{self.symbol}, ptr %call_frame)")
        self.leave_if(self.code.emit(f"icmp ne i32 {status}, 0"), PENDING)

    def _run_shared(self) -> None:
        """Run a loop whose iterations several threads may share."""
        self.addresses[RUN_SHARED.name] = RUN_SHARED.address
        self.code.declare(f"declare i32 @{RUN_SHARED.name}(ptr, ptr, i64, i64)")
        self._refer_to_table()
        words = frame_words(self.inputs, self.outputs)
        arguments = f"ptr @{self.symbol}, ptr %call_frame, i64 {words}, i64 {self.threads}"
        status = self.code.emit(f"call i32 @{RUN_SHARED.name}({arguments})")
        self.leave_if(self.code.emit(f"icmp ne i32 {status}, 0"), PENDING)

    def _run_body(self) -> None:
        """Run the iterations, if any, by the function of this module."""
        code, enter, onward = self.code, self.code.label(), self.code.label()
        has_any = code.emit(f"icmp slt i64 {self.get(ITERATION)}, {self.get(END)}")
        code.line(f"br i1 {has_any}, label %{enter}, label %{onward}")
        code.start(enter)
        status = code.emit(f"call i32 @{self.body}(ptr %call_frame, ptr null, ptr null)")
        self.leave_if(code.emit(f"icmp ne i32 {status}, 0"), PENDING)
        code.line(f"br label %{onward}")
        code.start(onward)

    def _refer_to_table(self) -> None:
        """Declare the symbol of the dispatch table."""
        self.addresses[self.symbol] = self.table.address
        self.code.declare(f"@{self.symbol} = external global i64")

    def header(self, end: Number, numbers: str | None, step: int) -> None:
        self.set(ITERATION, 0)
        self.set(END, end)
        self.code.line(f"store ptr {numbers or 'null'}, ptr {self.slot(NUMBERS)}")
        self.set(STEP, step)
        self.set(STACK, "%outermost")
        self.set(ASKED_AT, -1)
