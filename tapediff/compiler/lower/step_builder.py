"""Builds the loop steps of a tape one by one: storages for results, constants, copies and fills. Without fusion."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import cache

import numpy as np

from ...base.source_location import Site
from ...ir.instruction import FLOAT64, Instruction
from ...ir.tape import Tape
from ...ops import Elementwise
from ..llvm.values import KINDS
from ..loop_ir.program import Access, Item, Literal, Parameters, Step, Storage
from ..loop_ir.views import StridedView, contiguous

CONSTANT_ALIGNMENT = 64

CONVERSIONS = {
    ("f64", "i64"): "to_i64(x)", ("i1", "i64"): "to_i64(x)", ("i64", "f64"): "to_f64(x)", ("i1", "f64"): "to_f64(x)",
    ("f64", "i1"): "not_equal(x, 0.0)", ("i64", "i1"): "not_equal(x, 0)",
}  # fmt: skip


class StepBuilder:
    """Collects the steps of one tape. `self.views[i]` is the view of value i, `self.tuples[i]` has the views of the items of tuple i.

    Args:
        threads: as asked for by the user; 0 if not, so that BLAS may use its own threads.
    """

    def __init__(self, tape: Tape, threads: int = 0) -> None:
        self.tape, self.threads = tape, threads
        self.storages: list[Storage] = []
        self.steps: list[Item] = []
        self.views: list[StridedView] = []
        self.tuples: dict[int, tuple[StridedView, ...]] = {}
        self.constants = bytearray()
        self.failures: list[str] = []
        # The guarded arrays, with their expected outcomes.
        self.looked_at: set[tuple[int, bytes]] = set()
        # The write accesses, and read accesses, of results without dimensions, by storage.
        self.numbers: dict[int, Access] = {}
        # Expressions of elementwise ops in terms of r0, r1, ..., by op and by the kinds of operand and result.
        self.expressions: dict[tuple[Elementwise, str | None, str], str] = {}
        # By value that is the first positions of rows, the strides of a row's entries.
        self.row_tails: dict[int, tuple[int, ...]] = {}
        self.site: Site | None = None

    # Storages and views

    def storage(self, shape: tuple[int, ...], kind: str, home: str = "workspace", position: int = -1) -> StridedView:
        size = math.prod(shape)
        self.storages.append(Storage(len(self.storages), size, kind, home, position, home != "workspace"))
        return StridedView(shape, len(self.storages) - 1, 0, contiguous(shape))

    def constant(self, array: np.ndarray) -> StridedView:
        kind = KINDS[array.dtype.kind]
        if kind == "f64":
            array = array.astype(np.float64)
        if array.size == 1:
            return StridedView(array.shape, -1, 0, (0,) * array.ndim, Literal(array.reshape(-1)[0].item(), kind))
        self.constants.extend(b"\0" * (-len(self.constants) % CONSTANT_ALIGNMENT))
        view = self.storage(array.shape, kind, "constant", len(self.constants))
        self.constants.extend(np.ascontiguousarray(array).tobytes())
        return view

    def kind_of(self, view: StridedView) -> str:
        return view.literal.kind if view.literal is not None else self.storages[view.storage].kind

    def result(self, instruction: Instruction) -> StridedView:
        shape, dtype = instruction.type
        kind = "f64" if dtype is FLOAT64 else KINDS[dtype.kind]
        if shape == ():
            number = len(self.storages)
            self.storages.append(Storage(number, 1, kind))
            view = StridedView((), number, 0, ())
        else:
            view = self.storage(shape, kind)
        self.views.append(view)
        return view

    # Steps

    def step(
        self, domain: tuple[int, ...], reads: list[tuple[StridedView, tuple[int, ...]]], expression: str, target: StridedView,
        strides: tuple[int, ...], combine: str | None = None, *, parameters: Parameters = (), gathers: bool = False,
        scatters: bool = False, is_scan: bool = False, is_disjoint_part: bool = False,
    ) -> None:  # fmt: skip
        """Append a step; extents of 1 are dropped from the domain. Each read is a view with its strides over the domain.

        For gathers and scatters the first read is the index, of the second read or of the write.
        """
        kept = tuple(k for k, extent in enumerate(domain) if extent != 1)
        accesses: list[Access | Literal] = []
        for view, read_strides in reads:
            if view.literal is not None:
                accesses.append(view.literal)
            else:
                accesses.append(Access(view.storage, view.offset, tuple(read_strides[k] for k in kept)))
        if gathers:
            first, source = accesses[0], accesses[1]
            assert isinstance(source, Access)
            accesses = [first, replace(source, index_read=0)]
        write = Access(target.storage, target.offset, tuple(strides[k] for k in kept), 0 if scatters else -1)
        domain = tuple(domain[k] for k in kept)
        self.steps.append(
            Step(domain, tuple(accesses), expression, parameters, write, combine, is_scan, self.site, is_disjoint_part)
        )

    def spread(self, view: StridedView, shape: tuple[int, ...]) -> tuple[StridedView, tuple[int, ...]]:
        """A view as a read over a domain of `shape`, by NumPy's broadcasting."""
        extra = len(shape) - len(view.shape)
        strides = tuple(0 if e == 1 else s for s, e in zip(view.strides, view.shape))
        return view, (0,) * extra + strides

    def copy(self, source: StridedView, target: StridedView, combine: str | None = None) -> None:
        self.step(target.shape, [self.spread(source, target.shape)], "r0", target, target.strides, combine)

    def fill(self, value: float, target: StridedView) -> None:
        kind = self.storages[target.storage].kind
        zero = StridedView((), -1, 0, (), Literal(int(value) if kind == "i64" else value, kind))
        # One loop over the whole storage, so that the fill is a memset.
        size = self.storages[target.storage].size
        self.step((size,), [(zero, (0,))], "r0", StridedView((size,), target.storage, 0, (1,)), (1,))

    def in_memory(self, number: int) -> StridedView:
        """A value as a contiguous array at an address, for a routine; copied if it is a view or a number."""
        view = self.views[number]
        if view.is_contiguous:
            return view
        fresh = self.storage(view.shape, self.kind_of(view))
        self.copy(view, fresh)
        return fresh

    def floats_in_memory(self, number: int) -> StridedView:
        """in_memory, with masks and integers converted to floats."""
        view = self.views[number]
        conversion = CONVERSIONS.get((self.kind_of(view), "f64"))
        if conversion is None:
            return self.in_memory(number)
        fresh = self.storage(view.shape, "f64")
        self.step(view.shape, [self.spread(view, view.shape)], rename(conversion, ("x",)), fresh, fresh.strides)
        return fresh


@cache
def rename(expression: str, names: tuple[str, ...]) -> str:
    """The expression in terms of r0, r1, ...; the names of declarations are single letters, so words are safe to replace."""
    table = {name: f"r{k}" for k, name in enumerate(names)}
    return re.sub(r"[A-Za-z_]\w*", lambda m: table.get(m.group(), m.group()), expression)
