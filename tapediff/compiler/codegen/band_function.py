"""Emits Bands: a function that computes one band of rows, and the call that shares the bands among threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..linalg.dense_calls import product_of_rows
from ..llvm.values import MEMORY_TYPES, Value, greatest, least
from ..loop_ir.program import Bands, Extent, LoopNest, RoutineCall, RowBlocks, Storage
from ..runtime.thread_pool import RUN_BANDS
from .kernel_function import KernelFunction
from .loop_nest import Block, Nest, counted, end_of
from .row_block_loop import emit_row_blocks

# The arguments of a band: the addresses of inputs, outputs, constants and the caller's workspace.
_CONTEXT = ("inputs", "outputs", "constant", "workspace")

# Emits a routine on one matrix of its stack.
Routine = Callable[[RoutineCall, str], None]


def emit_bands(owner: KernelFunction, group: Bands, part: KernelFunction, routine: Routine) -> None:
    """Emit the function of a band into the module, and its calls into the owner.

    Args:
        part: the function of a band, still empty.
        routine: emits a routine into it.
    """
    part.filled, part.assembled = group.filled, owner.assembled - group.filled
    _emit_body(part, group, routine)
    head = f"define internal void @{part.name}(ptr noalias %context, i64 %band) noinline nounwind {{"
    owner.code.declare_all([*part.code.declarations, part.as_function(head, [*_from_context(), *part.entry])])
    owner.code.symbols |= part.code.symbols
    context = _filled_context(owner)
    if group.threads > 1:
        owner.addresses[RUN_BANDS.name] = RUN_BANDS.address
        owner.code.declare(f"declare void @{RUN_BANDS.name}(ptr, ptr, i64, i64)")
        owner.code.line(f"call void @{RUN_BANDS.name}(ptr @{part.name}, ptr {context}, i64 {group.number}, i64 {_threads(owner, group)})")
    else:
        counted(owner, "0", str(group.number), 1, lambda band: owner.code.line(f"call void @{part.name}(ptr {context}, i64 {band})"))


def _threads(owner: KernelFunction, group: Bands) -> str:
    """The most threads: one, where fewer rows exist than are worth sharing."""
    rows = group.group.sizes[0] if isinstance(group.group, RoutineCall) else group.domain[0]
    if not isinstance(rows, Extent):
        return str(group.threads)
    is_worth = end_of(owner, rows.ends, rows) >= group.fewest
    return owner.code.emit(f"select i1 {is_worth.ref}, i64 {group.threads}, i64 1")


def _filled_context(owner: KernelFunction) -> str:
    context = f"%context{owner.fresh()}"
    owner.slots.append(f"{context} = alloca [{len(_CONTEXT)} x ptr]")
    for k, pointer in enumerate(_CONTEXT):
        place = owner.code.emit(f"getelementptr ptr, ptr {context}, i64 {k}")
        owner.code.line(f"store ptr %{pointer}, ptr {place}")
    return context


def _from_context() -> list[str]:
    lines: list[str] = []
    for k, pointer in enumerate(_CONTEXT):
        lines += [f"%{pointer}_place = getelementptr ptr, ptr %context, i64 {k}", f"%{pointer} = load ptr, ptr %{pointer}_place"]
    return lines


def _emit_body(part: KernelFunction, group: Bands, routine: Routine) -> None:
    code = part.code
    first = code.emit(f"mul nuw nsw i64 %band, {group.rows}")
    following = code.emit(f"add nuw nsw i64 {first}, {group.rows}")
    is_last = code.emit(f"icmp eq i64 %band, {group.number - 1}")
    band = Block(first, code.emit(f"select i1 {is_last}, i64 {group.count}, i64 {following}"), is_last, is_band=True)
    _take_own_sums(part, group)
    whole = group.group
    if isinstance(whole, LoopNest):
        nest = Nest(part, whole)
        nest.begin(band)
        nest.run(band)
        nest.end()
    elif isinstance(whole, RowBlocks):
        _take_own_buffers(part, whole)
        emit_row_blocks(part, whole, routine, band)
    elif whole.count == 1:
        operands, result = [part.address(storage, offset) for storage, offset in whole.operands], part.base(whole.result)
        _emit_rows(part, whole, operands, result, band)
    else:
        counted(part, band.first, band.stop, 1, partial(routine, whole))
    assert not part.failing, "nothing in a band may fail"
    code.line("ret void")


def _emit_rows(part: KernelFunction, call: RoutineCall, operands: list[str], result: str, band: Block) -> None:
    """The rows of a product in a band, as far as data tell that they exist."""
    code, (count, *_) = part.code, call.sizes
    if not any(isinstance(size, Extent) for size in call.sizes):
        rows = code.emit(f"sub nuw nsw i64 {band.stop}, {band.first}")
        product_of_rows(code, operands, result, call.sizes, band.first, rows)
        return
    first, stop = (Value(code, name, "i64", 1) for name in (band.first, band.stop))
    if isinstance(count, Extent):
        stop = least(stop, end_of(part, count.ends, count))
    _, *counts = [end_of(part, size.ends, size) if isinstance(size, Extent) else size for size in call.sizes]
    rows = greatest(stop - first, 0)
    product_of_rows(code, operands, result, call.sizes, band.first, rows.ref, [rows, *counts])


def _take_own_sums(part: KernelFunction, group: Bands) -> None:
    """Point the storages of sums at this band's partial sums."""
    storages = list(part.storages)
    for storage, size in group.sums:
        item = storages[storage]
        storages[storage] = Storage(storage, size, item.kind, item.home, item.position, item.in_memory)
        entries = part.code.emit(f"mul nuw nsw i64 %band, {size}")
        element = MEMORY_TYPES[item.kind]
        part.rebase(storage, part.code.emit(f"getelementptr {element}, ptr {part.base(storage)}, i64 {entries}"))
    part.storages = storages


def _take_own_buffers(part: KernelFunction, blocks: RowBlocks) -> None:
    """Have the buffers of a block of rows on this thread's stack."""
    for storage, _ in blocks.block_buffers:
        item = part.storages[storage]
        part.slots.append(f"%buffer{storage} = alloca [{item.size} x {MEMORY_TYPES[item.kind]}], align 64")
        part.rebase(storage, f"%buffer{storage}")
