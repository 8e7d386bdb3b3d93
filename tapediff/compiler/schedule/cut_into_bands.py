"""Cuts the outermost loop of long loops into bands of rows, which several threads may run.

A reduction over rows sums each band on its own, and then the bands in order. The rows of a band depend only on the loop's extents: not on
the number of threads, so any number gives the same bits; nor on other steps of the nest, so two kernels that share a guard compute the same
operand. Every long reduction is cut; other threads are only used if the bands are independent and long enough.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ..loop_ir.dependencies import read_by, written_by
from ..loop_ir.program import (
    Access,
    Bands,
    Group,
    Literal,
    LoopNest,
    Outlined,
    RoutineCall,
    RowBlocks,
    Step,
    Storage,
    assembled,
    neutral,
)  # fmt: skip
from .cost_model import LOAD, STORE, cost_of, memory_factor
from .independent_rows import are_independent, is_sum
from .row_blocking import row_of

# There are 16 to 31 bands, so that late or slow threads leave work for the others.
FEWEST_BANDS = 16
# Loops of at least MANY_ROWS rows are cut; from FEW_ROWS rows on if they have MANY_POINTS.
MANY_ROWS, FEW_ROWS, MANY_POINTS = 4096, 256, 1 << 17
# Bands are multiples of a pair of vectors, for loops that are collapsed with the one inside.
PAIR = 16

# The work from which sharing pays, in additions of the cost model: about 20 us; in loop bodies, whose threads are still awake from the last
# iteration, 8. Asking takes 1 to 2 us, and 3 more for each thread to wake.
WORTH_ASKING, WORTH_ASKING_AGAIN = 1_000_000, 400_000
# The cost of one term of a sum of products, in a routine.
TERM = 4

# Limit on the bytes of a block's buffers on a band's stack.
MOST_ON_STACK = 1 << 18


def rows_of_band(domain: tuple[int, ...]) -> int:
    """The number of rows of a band of a reduction; 0 if it is not cut."""
    rows = domain[0]
    if rows < FEW_ROWS or (rows < MANY_ROWS and math.prod(domain) < MANY_POINTS):
        return 0
    return 1 << ((rows // FEWEST_BANDS).bit_length() - 1)


def cut_into_bands(
    groups: Sequence[Group], storages: Sequence[Storage], before_blocking: Sequence[Storage], threads: int, is_body: bool
) -> tuple[list[Group], list[Storage]]:
    """The groups, with long loops in Bands, each followed by the sums of its bands.

    Args:
        before_blocking: the storages before row blocking, which may be undone.
        threads: the most threads of a loop.
        is_body: True for the groups of a loop's body.
    """
    cutter = _Cutter(list(storages), before_blocking, assembled(groups), threads, WORTH_ASKING_AGAIN if is_body else WORTH_ASKING)
    cut = [part for group in groups for part in cutter.cut(group)]
    return cut, _numbers_in_memory(cut, cutter.storages)


class _Cutter:
    """Cuts group after group; new storages are appended."""

    def __init__(
        self, storages: list[Storage], before_blocking: Sequence[Storage], assembled: frozenset[int], threads: int, least_work: int
    ) -> None:  # fmt: skip
        self.storages, self.before_blocking, self.assembled = storages, before_blocking, assembled
        self.threads, self.least_work = threads, least_work

    def cut(self, group: Group) -> list[Group]:
        if isinstance(group, Outlined) and isinstance(group.group, LoopNest):
            parts = self._nest(group.group)
            return [Outlined(part) if isinstance(part, LoopNest) and part is group.group else part for part in parts]
        if isinstance(group, LoopNest):
            return self._nest(group)
        if isinstance(group, RowBlocks):
            return self._row_blocks(group)
        if isinstance(group, RoutineCall):
            return [self._routine(group)]
        return [group]

    # Nests

    def _nest(self, nest: LoopNest) -> list[Group]:
        parts = _by_extents(nest)
        if len(parts) > 1:
            return [group for part in parts for group in self._nest(part)]
        rows = rows_of_band(nest.domain) if any(map(is_sum, nest.body)) else _loose_rows(nest.domain)
        return self._banded(nest, [nest], rows)

    def _row_blocks(self, blocks: RowBlocks) -> list[Group]:
        nests = [nest for nest in blocks.nests if isinstance(nest, LoopNest)]
        wanted = {rows_of_band(nest.domain) for nest in nests if any(map(is_sum, nest.body))}
        if len(wanted) > 1:
            return self._without_blocks(blocks)
        rows = wanted.pop() if wanted else _loose_rows((blocks.count, _common_length(blocks)))
        longest = _longest_block(blocks, rows) if rows else 0
        if sum(8 * longest * length for _, length in blocks.block_buffers) > MOST_ON_STACK:
            return self._without_blocks(blocks)
        cut = self._banded(blocks, blocks.nests, rows)
        for storage, length in blocks.block_buffers if cut != [blocks] else ():
            self.storages[storage] = replace(self.storages[storage], size=longest * length)
        return cut

    def _without_blocks(self, blocks: RowBlocks) -> list[Group]:
        """Undo the row blocks: the sums of the nests are cut differently."""
        for storage, _ in blocks.block_buffers:
            self.storages[storage] = replace(self.storages[storage], size=self.before_blocking[storage].size)
        return [group for nest in blocks.nests for group in self.cut(nest)]

    def _banded(self, group: LoopNest | RowBlocks, members: Sequence[LoopNest | RoutineCall], rows: int) -> list[Group]:
        adds = rows > 0 and any(isinstance(item, Step) and is_sum(item) for item in group.body)
        work = self._work(group.body)
        is_shared = self.threads > 1 and work >= self.least_work and are_independent(members)
        if not adds and not (is_shared and rows):
            return [group]
        sums: list[tuple[int, int]] = []
        after: list[Group] = []
        number = group.domain[0] // rows
        changed = [self._with_sums(member, number, sums, after) for member in members]
        if isinstance(group, RowBlocks):
            whole: LoopNest | RowBlocks = replace(group, nests=tuple(changed))
        else:
            assert isinstance(changed[0], LoopNest)
            whole = changed[0]
        others = [item for item in group.body if isinstance(item, Step) and not self._sets_whole_rows(item, rows)]
        filled = frozenset(step.write.storage for step in others)
        fewest = self._fewest(group.domain[0], work)
        bands = Bands(whole, group.domain[0], rows, self.threads if is_shared else 1, tuple(sums), filled, fewest)
        return [*map(self._filled, others), bands, *after]

    def _filled(self, step: Step) -> LoopNest:
        """A nest that initialises the result of a reduction before the bands."""
        result = self.storages[step.write.storage]
        literal = Literal(neutral(step.combine or "add", result.kind), result.kind)
        write = Access(result.number, 0, (1,))
        return LoopNest((result.size,), (Step((result.size,), (literal,), "r0", (), write, site=step.site),))

    def _sets_whole_rows(self, step: Step, rows: int) -> bool:
        """True if a reduction within rows needs no fill: it has no sums in memory, or each band sets whole vectors of its own rows."""
        if step.write.storage in self.assembled:
            return True  # it is set before, or by the nest of another step
        strides = step.write.strides
        moving = [k for k, stride in enumerate(strides) if stride]
        if step.combine is None or step.write.index_read >= 0 or not moving or all(strides[: moving[-1] + 1]) or is_sum(step):
            return True
        row = row_of(step.write, step.domain)
        size = self.storages[step.write.storage].size
        return row is not None and not row.shift and row.length * step.domain[0] == size and row.length * rows % PAIR == 0

    def _with_sums(
        self, nest: LoopNest | RoutineCall, number: int, sums: list[tuple[int, int]], after: list[Group]
    ) -> LoopNest | RoutineCall:  # fmt: skip
        """Let a nest's reductions over rows write partial sums for each band, and append the nests that add these up."""
        if isinstance(nest, RoutineCall):
            return nest
        steps: list[Step] = []
        for step in nest.body:
            if is_sum(step):
                result = self.storages[step.write.storage]
                own = Storage(len(self.storages), number * result.size, result.kind, in_memory=True)
                self.storages.append(own)
                sums.append((own.number, result.size))
                after.append(_sum_of_bands(step, own.number, result.size, number))
                step = replace(step, write=replace(step.write, storage=own.number))
            steps.append(step)
        return LoopNest(nest.domain, tuple(steps))

    def _fewest(self, rows: int, work: float) -> int:
        """The rows that are worth sharing."""
        return math.ceil(rows * self.least_work / work) if work else 0

    def _work(self, body: Sequence[Step | RoutineCall]) -> float:
        return sum(_work_of(item, self.storages) for item in body)

    # Routines

    def _routine(self, call: RoutineCall) -> Group:
        """Cut a product into bands of the rows of its result; a stack of products into bands of matrices."""
        work = _work_of(call, self.storages)
        if call.routine != "product" or call.failure >= 0 or self.threads < 2 or work < self.least_work:
            return call
        count = call.sizes[0] if call.count == 1 else call.count
        rows = max(1, count // FEWEST_BANDS)
        if call.count == 1:
            # Whole tiles, and not too few: each band packs the right operand once more.
            rows = max(FEWEST_PRODUCT_ROWS, rows - rows % 8)
        return Bands(call, count, rows, self.threads, fewest=self._fewest(count, work)) if count >= 2 * rows else call


FEWEST_PRODUCT_ROWS = 64


def _longest_block(blocks: RowBlocks, rows: int) -> int:
    """The longest block in bands of `rows` rows; see codegen.row_block_loop."""
    last = blocks.count - (blocks.count // rows - 1) * rows
    return max(length if length < blocks.rows else blocks.rows + length % blocks.rows for length in (rows, last))


def _common_length(blocks: RowBlocks) -> int:
    """The greatest common divisor of the row lengths of all nests."""
    return math.gcd(*(math.prod(nest.domain[1:]) for nest in blocks.nests if isinstance(nest, LoopNest)))


def _loose_rows(domain: tuple[int, ...]) -> int:
    """The rows of bands without sums: whole vectors, also in loops that are collapsed with the outermost."""
    rows = rows_of_band(domain)
    if rows:
        return rows
    rows = domain[0] // FEWEST_BANDS
    inner = math.prod(domain[1:])
    if inner % PAIR:
        rows -= rows % PAIR
    return rows


def _sum_of_bands(step: Step, storage: int, size: int, number: int) -> LoopNest:
    """A nest that adds up a step's partial sums of all bands."""
    moving = [(extent, stride) for extent, stride in zip(step.domain, step.write.strides) if stride]
    extents, strides = [extent for extent, _ in moving], [stride for _, stride in moving]
    domain = (number, *extents)
    read = Access(storage, step.write.offset, (size, *strides))
    write = replace(step.write, strides=(0, *strides))
    return LoopNest(domain, (Step(domain, (read,), "r0", (), write, step.combine, site=step.site),))


def _by_extents(nest: LoopNest) -> list[LoopNest]:
    """The steps of a nest of nearly equal loops, split by extents if these have different bands."""
    extents = sorted({step.domain for step in nest.body}, reverse=True)
    cuts = {(rows := rows_of_band(domain), domain[0] // rows if rows else 0) for domain in extents}
    if len(cuts) == 1:
        return [nest]
    return [LoopNest(domain, tuple([step for step in nest.body if step.domain == domain])) for domain in extents]


def _work_of(item: Step | RoutineCall, storages: Sequence[Storage]) -> float:
    if isinstance(item, RoutineCall):
        return TERM * math.prod(item.sizes[:3]) * item.count if item.routine == "product" else 0
    each = cost_of(item.expression)
    for read in item.reads:
        if not isinstance(read, Literal) and any(read.strides):
            each += LOAD * memory_factor(storages[read.storage])
    written = storages[item.write.storage]
    if written.in_memory and item.combine is None:
        each += STORE * memory_factor(written)
    return math.prod(item.domain) * each


def _numbers_in_memory(groups: Sequence[Group], storages: list[Storage]) -> list[Storage]:
    """The storages, with numbers in memory if they are read in bands, which are separate functions, and written elsewhere."""
    read = {s for group in groups if isinstance(group, Bands) for item in group.body for s in read_by(item)}
    own = {s for group in groups if isinstance(group, Bands) for item in group.body for s in written_by(item)}
    return [
        replace(item, in_memory=True)
        if item.size == 1 and item.home == "workspace" and item.number in read and item.number not in own else item
        for item in storages
    ]  # fmt: skip
