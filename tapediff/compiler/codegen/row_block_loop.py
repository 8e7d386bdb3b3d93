"""Emits RowBlocks: a loop over blocks of rows, which runs several nests on each block."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..llvm.values import MEMORY_TYPES
from ..loop_ir.program import RoutineCall, RowBlocks
from .kernel_function import KernelFunction
from .loop_nest import Block, Nest, counted


def emit_row_blocks(
    owner: KernelFunction, group: RowBlocks, routine: Callable[[RoutineCall, str], None], band: Block | None = None
) -> None:
    """Emit the group. Accumulators are initialised before the first block and delivered after the last one.

    Args:
        routine: emits a routine on one matrix of its stack.
        band: the rows to run; None for all.
    """
    members = [nest if isinstance(nest, RoutineCall) else Nest(owner, nest) for nest in group.nests]
    nests = [nest for nest in members if isinstance(nest, Nest)]
    bases = {storage: owner.base(storage) for storage, _ in group.block_buffers}
    start, end, block_from = _all_rows(owner, group) if band is None else _rows_of_band(owner, group, band)

    def block(first: str) -> None:
        rows = block_from(first)
        for storage, length in group.block_buffers:
            # The address that row 0 would have, if row `first` is at the start of the buffer.
            offset = owner.code.emit(f"mul nsw i64 {first}, {-length}")
            element = MEMORY_TYPES[owner.storages[storage].kind]
            owner.rebase(storage, owner.code.emit(f"getelementptr {element}, ptr {bases[storage]}, i64 {offset}"))
        for member in members:
            if isinstance(member, Nest):
                member.run(rows)
            else:
                counted(owner, rows.first, rows.stop, 1, partial(routine, member))

    for nest in nests:
        nest.begin(band)
    counted(owner, start, end, group.rows, block)
    for nest in nests:
        nest.end()


def _all_rows(owner: KernelFunction, group: RowBlocks) -> tuple[str, str, Callable[[str], Block]]:
    """The start of the first block, the end of the loop over blocks, and the function from a first row to its block."""
    (count,), rows, code = group.domain, group.rows, owner.code
    last = (count // rows - 1) * rows

    def block_from(first: str) -> Block:
        is_last = code.emit(f"icmp eq i64 {first}, {last}")
        following = code.emit(f"add nuw nsw i64 {first}, {rows}")
        return Block(first, code.emit(f"select i1 {is_last}, i64 {count}, i64 {following}"), is_last)

    return "0", str(last + rows), block_from


def _rows_of_band(owner: KernelFunction, group: RowBlocks, band: Block) -> tuple[str, str, Callable[[str], Block]]:
    """The same for a band, which may be shorter than a block."""
    rows, code = group.rows, owner.code
    code.declare("declare i64 @llvm.umax.i64(i64, i64)")
    length = code.emit(f"sub nuw nsw i64 {band.stop}, {band.first}")
    blocks = code.emit(f"call i64 @llvm.umax.i64(i64 {code.emit(f'udiv i64 {length}, {rows}')}, i64 1)")
    end = code.emit(f"add nuw nsw i64 {band.first}, {code.emit(f'mul nuw nsw i64 {blocks}, {rows}')}")

    def block_from(first: str) -> Block:
        following = code.emit(f"add nuw nsw i64 {first}, {rows}")
        ends_band = code.emit(f"icmp uge i64 {following}, {end}")
        stop = code.emit(f"select i1 {ends_band}, i64 {band.stop}, i64 {following}")
        return Block(first, stop, code.emit(f"and i1 {ends_band}, {band.is_last}"))

    return band.first, end, block_from
