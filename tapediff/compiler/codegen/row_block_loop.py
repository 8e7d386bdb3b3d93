"""Emits bands: a loop over blocks of rows, and in it the nests one after the other, each on the rows of the block."""

from __future__ import annotations

from typing import Any

from ..llvm.values import MEMORY_TYPES
from ..loop_ir.program import Group
from .loop_nest import Block, Nest, counted


def emit_bands(owner: Any, group: Group) -> None:
    """Emit the group. Accumulators are set before the first block and handed out after the last one."""
    bands, count = group.bands, group.domain[0]
    assert bands is not None, "a group of the form bands says which"
    nests = [Nest(owner, nest) for nest in bands.nests]
    bases = {storage: owner.base(storage) for storage, _ in bands.windows}
    last = (count // bands.rows - 1) * bands.rows

    def block(first: str) -> None:
        is_last = owner.code.emit(f"icmp eq i64 {first}, {last}")
        following = owner.code.emit(f"add nuw nsw i64 {first}, {bands.rows}")
        stop = owner.code.emit(f"select i1 {is_last}, i64 {count}, i64 {following}")
        for storage, length in bands.windows:
            # Where row 0 would be, so that the row `first` is at the start of the window.
            offset = owner.code.emit(f"mul nsw i64 {first}, {-length}")
            element = MEMORY_TYPES[owner.storages[storage].kind]
            owner.rebase(storage, owner.code.emit(f"getelementptr {element}, ptr {bases[storage]}, i64 {offset}"))
        for nest in nests:
            nest.run(Block(first, stop, is_last))

    for nest in nests:
        nest.begin()
    counted(owner, "0", str(last + bands.rows), bands.rows, block)
    for nest in nests:
        nest.end()
