"""The inputs of which a program reads no more entries than exist: a caller need not copy them into larger arrays."""

from __future__ import annotations

from collections.abc import Sequence

from ...ops.control.calls import LOOP
from .beyond import Ends, axis_of
from .dependencies import read_by
from .leading_blocks import form_of, reads_of
from .program import Access, Extent, Group, InPlace, Invoke, RoutineCall, Step, Storage

# Sizes that are data are never less.
LEAST = 2


def short_inputs(groups: Sequence[Group], storages: Sequence[Storage]) -> frozenset[tuple[int, int]]:
    """Pairs of inputs: an array of which only the first rows are read, and the integer that says how many there are."""
    found = _Read(storages)
    for group in groups:
        for item in group.body:
            form = form_of(item) if isinstance(item, RoutineCall) else None
            if isinstance(item, Step) and not isinstance(group, InPlace):
                for read in item.reads:
                    if isinstance(read, Access):
                        found.note_read(read, item.domain)
            elif isinstance(item, RoutineCall) and form is not None:
                for read, domain in reads_of(item, form):
                    found.note_read(read, domain)
            elif isinstance(item, Invoke):
                found.note_invoke(item)
            else:
                found.whole.update(read_by(item))
    inputs = [item for item in storages if item.home == "input" and item.size > 1 and item.number not in found.whole]
    sizes = [item for item in storages if item.home == "input" and item.kind == "i64" and item.size == 1]
    pairs = set[tuple[int, int]]()
    for item in inputs:
        size, row = found.rows.get(item.number, (None, 1))
        if found.fixed.get(item.number, 0) <= LEAST * row:
            # Any size, if no rows are read up to one.
            pairs |= {(item.position, one.position) for one in sizes if size in (None, one.number)}
    return frozenset(pairs) if found.rows else frozenset()


class _Read:
    """Reads of the inputs.

    Attributes:
        rows: by array of which rows are read up to an integer, that integer and the entries of a row.
        fixed: by array, the end of the entries that are read in any case; `whole`: those that may be read as a whole.
    """

    def __init__(self, storages: Sequence[Storage]) -> None:
        self.storages = storages
        self.rows: dict[int, tuple[int, int]] = {}
        self.fixed: dict[int, int] = {}
        self.whole = set[int]()

    def note_read(self, read: Access, domain: tuple[int, ...]) -> None:
        if self.storages[read.storage].home != "input":
            return
        size = self.storages[read.storage].size
        if read.index_read >= 0:
            self.whole.add(read.storage)
            return
        for level, extent in enumerate(domain):
            place = axis_of(read, domain, level, size) if isinstance(extent, Extent) and extent.scale == 1 else None
            if place is not None and isinstance(extent, Extent) and place[0][0] * place[0][1] == size:
                self._note_rows(read.storage, place[0][0], place[1], extent.ends)
                return
        if any(isinstance(extent, Extent) and stride for extent, stride in zip(domain, read.strides)):
            self.whole.add(read.storage)
            return
        end = read.offset + 1 + sum(max(0, stride * (extent - 1)) for stride, extent in zip(read.strides, domain))
        self.fixed[read.storage] = max(self.fixed.get(read.storage, 0), end)

    def note_invoke(self, invoke: Invoke) -> None:
        form = invoke.params[1] if invoke.op is LOOP else None
        for k, ((storage, offset), type_) in enumerate(zip(invoke.operands, invoke.types[0])):
            item = self.storages[storage]
            if item.home != "input":
                continue
            number = -1 if form is None else k - form.leading - form.carries
            if invoke.stop and form is not None and 0 <= number < form.streams:
                row = invoke.params[0].in_types[form.carries + number].size
                if row and not offset % row:
                    self._note_rows(storage, row, offset // row, invoke.stop)
                    continue
            self.fixed[storage] = max(self.fixed.get(storage, 0), offset + getattr(type_, "size", item.size))

    def _note_rows(self, storage: int, row: int, first: int, ends: Ends) -> None:
        size = min(ends)[0]
        exist = all(number + first <= 0 and one == size for one, number in ends)
        if self.rows.setdefault(storage, (size, row)) != (size, row) or not exist:
            self.whole.add(storage)
