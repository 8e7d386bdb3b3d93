"""Emits RowBlocks: a loop over blocks of rows, and in it the nests one after the other, each on the rows of the block."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..llvm.values import MEMORY_TYPES
from ..loop_ir.program import RoutineCall, RowBlocks
from .kernel_function import KernelFunction
from .loop_nest import Block, Nest, counted


def emit_row_blocks(owner: KernelFunction, group: RowBlocks, routine: Callable[[RoutineCall, str], None]) -> None:
    """Emit the group. Accumulators are set before the first block and handed out after the last one.

    Args:
        routine: emits a routine on one matrix of its stack.
    """
    (count,), rows = group.domain, group.rows
    members = [nest if isinstance(nest, RoutineCall) else Nest(owner, nest) for nest in group.nests]
    nests = [nest for nest in members if isinstance(nest, Nest)]
    bases = {storage: owner.base(storage) for storage, _ in group.block_buffers}
    last = (count // rows - 1) * rows

    def block(first: str) -> None:
        is_last = owner.code.emit(f"icmp eq i64 {first}, {last}")
        following = owner.code.emit(f"add nuw nsw i64 {first}, {rows}")
        stop = owner.code.emit(f"select i1 {is_last}, i64 {count}, i64 {following}")
        for storage, length in group.block_buffers:
            # Where row 0 would be, so that the row `first` is at the start of the buffer.
            offset = owner.code.emit(f"mul nsw i64 {first}, {-length}")
            element = MEMORY_TYPES[owner.storages[storage].kind]
            owner.rebase(storage, owner.code.emit(f"getelementptr {element}, ptr {bases[storage]}, i64 {offset}"))
        for member in members:
            if isinstance(member, Nest):
                member.run(Block(first, stop, is_last))
            else:
                counted(owner, first, stop, 1, partial(routine, member))

    for nest in nests:
        nest.begin()
    counted(owner, "0", str(last + rows), rows, block)
    for nest in nests:
        nest.end()
