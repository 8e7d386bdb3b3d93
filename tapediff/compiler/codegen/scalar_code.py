"""Emits steps outside loops, on numbers in registers."""

from __future__ import annotations

from ..llvm.values import MEMORY_TYPES
from ..loop_ir.program import Literal, Step
from ..math.simd import Value, constant
from .kernel_function import KernelFunction
from .outlining import inlined, is_costly, outlined


def straight_step(owner: KernelFunction, step: Step) -> None:
    """Emit one step outside loops."""
    operands: list[Value] = []
    for read in step.reads:
        if isinstance(read, Literal):
            operands.append(constant(owner.code, read.value, read.kind))
        elif read.index_read >= 0:
            element = MEMORY_TYPES[owner.storages[read.storage].kind]
            address = owner.address(read.storage, read.offset)
            address = owner.code.emit(f"getelementptr {element}, ptr {address}, i64 {operands[read.index_read].ref}")
            operands.append(owner.load(address, owner.storages[read.storage].kind))
        else:
            operands.append(owner.scalar(read))
    value = operands[0]
    if step.expression != "r0" or step.parameters:
        is_call = owner.longest_calling and is_costly(step)
        value = outlined(owner.code, owner.addresses, step, operands, 1) if is_call else inlined(step, operands)
    _write(owner, step, operands, value)


def _write(owner: KernelFunction, step: Step, operands: list[Value], value: Value) -> None:
    write = step.write
    storage = owner.storages[write.storage]
    if storage.size == 1 and not owner.is_assembled(write.storage) and write.index_read < 0:
        owner.set_scalar(write.storage, value)
        return
    address = owner.address(write.storage, write.offset)
    if write.index_read >= 0:
        address = owner.code.emit(
            f"getelementptr {MEMORY_TYPES[storage.kind]}, ptr {address}, i64 {operands[write.index_read].ref}"
        )
    if step.combine is not None:
        value = owner.load(address, storage.kind) + value
    owner.store(address, value)
