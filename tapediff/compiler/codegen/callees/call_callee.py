"""Emits calls of callees, and the calls of the functions that run them."""

from __future__ import annotations

from ....ops.control.calls import CALL_VARIANT, LOOP
from ...loop_ir.program import Invoke
from ...runtime.call_frame import ArgumentLayout, input_word, output_word
from ...runtime.workspaces import BLOCK_WORDS, block_functions
from ..kernel_function import KernelFunction
from ..loop_nest import end_of
from .invocation import Invocation
from .loop_of_callee import LoopOfCallee


def emit_invoke(owner: KernelFunction, item: Invoke) -> None:
    """Call the function that does a call or loop.

    Calls and loops of a module that differ only in the addresses of their values share a function: LLVM's time grows faster than the length
    of a kernel's own function.
    """
    key = (item.op, item.params, item.types, item.in_place, item.stays, bool(item.stop))
    known = owner.invocations.get(key)
    if known is None:
        symbol = f"tapediff_cell_{len(owner.dispatch_tables)}"
        name = f"tapediff_invoke_{len(owner.invocations)}"
        kind = LoopOfCallee if item.op is LOOP else CallOfCallee
        invocation = kind(item, symbol, owner.program.threads)
        body = owner.body_for(item, invocation.layout, f"{name}_body") if invocation.threads == 1 else None
        if body is not None:
            invocation.body, invocation.registers = f"{name}_body", body.registers
            owner.module.declare(body.text)
        known = owner.invocations[key] = (name, invocation.stacks)
        for declaration in invocation.definition(known[0]):
            owner.module.declare(declaration)
        owner.dispatch_tables.append(invocation.table)
        owner.runs += invocation.kept
        owner.addresses |= invocation.addresses
    name, stacks = known
    pointers = [owner.address(*pair) for pair in (*item.operands, *item.items)]
    pointers += [owner.base(storage) for storage in (*item.slots, item.scratch) if storage >= 0]
    if stacks:
        owner.code.declare_all(block_functions())
        pointers.append(owner.code.emit(f"getelementptr i64, ptr %stacks, i64 {BLOCK_WORDS * owner.stack_count}"))
        owner.stack_count += stacks
    stop = [f"i64 {end_of(owner, item.stop, item.params[1].length).ref}"] if item.stop else []
    arguments = ", ".join([*(f"ptr {p}" for p in pointers), f"i64 {owner.outermost}", *stop])
    status = owner.code.emit(f"call i32 @{name}({arguments})")
    owner.leave_if(owner.code.emit(f"icmp ne i32 {status}, 0"), status)


class CallOfCallee(Invocation):
    """A call: a loop of one iteration. A side that is not taken, variant 0, leaves the memory of its results unchanged."""

    def __init__(self, item: Invoke, symbol: str, threads: int) -> None:
        super().__init__(item, ArgumentLayout.of_call(threads), symbol)

    def emit(self) -> None:
        chosen, code = self.item.op is CALL_VARIANT, self.code
        onward = code.label()
        if self.callee.is_side:
            run = code.label()
            is_taken = code.emit(f"icmp ne i64 {code.emit(f'load i64, ptr {self.operand(0)}')}, 0")
            code.line(f"br i1 {is_taken}, label %{run}, label %{onward}")
            code.start(run)
        numbers = self.operand(0) if chosen else self.result(self.outputs)
        self.header(1, numbers, 1)
        for k in range(self.inputs):
            self.point(input_word(k), self.operand(k + int(chosen)))
        for k in range(self.outputs):
            self.point(output_word(k, self.inputs), self.result(k))
        self.run(chosen)
        if self.callee.is_side:
            code.line(f"br label %{onward}")
            code.start(onward)
