"""Loop kernels: a variant of a callee as native code that runs iterations of a loop until the end or until a guard fails.

`i32 loop(ptr frame, ptr state, ptr report)`: 0 when the loop reached its end, else as for kernels. Word ITERATION of the frame then holds
the iteration that was not done. Loop-invariant values are computed before the first iteration; scalars are carried in registers, and stored
as well, so that another variant can continue from any iteration.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..base.source_location import Site
from ..ir.instruction import DynamicArrayType
from ..ir.tape import Tape
from ..ops.control.callee import Callee
from .codegen.loop_function import LoopEmitter, varying
from .codegen.outlining import is_compiled_quickly
from .jit.native_function import NativeFunction
from .loop_ir.dependencies import written_by
from .loop_ir.program import Invoke, Program
from .pipeline import build_body
from .runtime.call_frame import ArgumentLayout
from .runtime.callees.dispatch_table import CalleeTable
from .runtime.guard_reports import exits_of
from .runtime.workspaces import SLOT_COUNT, aligned_bytes, free_workspaces


class LoopKernel:
    """Native code for the variant of a callee.

    Attributes:
        address: the address of the native function.
        state: its constants and idle workspaces, in words.
        exits: its guards by their ordinals.
        failures: messages of its routines.
    """

    def __init__(self, tape: Tape, layout: ArgumentLayout) -> None:
        start = time.perf_counter()
        self.tape = tape
        self.program = build_body(tape, varying(tape, layout), layout.carries, layout.threads, layout.in_place)
        emitter = LoopEmitter(self.program, "tapediff_loop", layout, tape)
        self.llvm = emitter.text()
        # Dispatch tables keep the native code of other callees that this code calls alive.
        self.dispatch_tables = emitter.dispatch_tables
        self._runs = emitter.runs
        self.native = NativeFunction(
            self.llvm, emitter.name, emitter.code.symbols, quickly=is_compiled_quickly(self.program),
            addresses=emitter.addresses, is_portable=True,
        )  # fmt: skip
        self._constants = aligned_bytes(self.program.constants)
        self.address = self.native.address
        self.state = np.array([self.address, self._constants.ctypes.data, *[0] * SLOT_COUNT], np.int64)
        self.exits = exits_of(self.program)
        self.failures = self.program.failures
        weakref.finalize(self, free_workspaces, self.state)
        self.seconds = time.perf_counter() - start


def functions_of(tables: Sequence[CalleeTable]) -> Iterator[NativeFunction]:
    """The functions of all variants of callees, and of their callees."""
    seen, pending = set[int](), list(tables)
    while pending:
        table = pending.pop()
        if id(table) in seen:
            continue
        seen.add(id(table))
        for variant in list(table.variants.values()):
            if isinstance(variant.kernel, LoopKernel):
                yield variant.kernel.native
                pending += variant.kernel.dispatch_tables


class Needed(NamedTuple):
    """Memory that a part of a program needs.

    Attributes:
        bytes: None if known only at run time.
        of, site: its description, and the user's line.
    """

    bytes: int | None
    of: str
    site: Site | None


def needed_memory(program: Program) -> list[Needed]:
    """The workspaces of a program, and of all callees with one variant, each once.

    The first is the program's own; its contents are not itemised.
    """
    found = [Needed(program.workspace_bytes, "the arrays of the function", None)]
    seen, pending = set[tuple[Callee, ArgumentLayout]](), [program]
    while pending:
        for group in pending.pop().groups:
            if not isinstance(group, Invoke):
                continue
            callee, layout = group.params[0], _layout(group, program.threads)
            if any(isinstance(t, DynamicArrayType) for t in group.types[1]):
                found.append(Needed(None, "the values of a loop", group.site))
            inner = None if (callee, layout) in seen else body_of(group, program.threads)
            if inner is not None:
                seen.add((callee, layout))
                found.append(Needed(inner.workspace_bytes, "an iteration of a loop" if len(group.params) > 1 else "a call", group.site))
                pending.append(inner)
    return found


def _layout(group: Invoke, threads: int) -> ArgumentLayout:
    _, *form = group.params
    return ArgumentLayout.of(form[0], threads, group.in_place, group.kept) if form else ArgumentLayout.of_call(threads)


def body_of(group: Invoke, threads: int) -> Program | None:
    """The program of an iteration or call; None if its callee has several paths or is not compiled."""
    callee, layout = group.params[0], _layout(group, threads)
    if callee.only_tape() is None or not callee.is_compiled:
        return None
    tape = callee.variant_tape(0)
    return build_body(tape, varying(tape, layout), layout.carries, layout.threads, layout.in_place)


def largest_array(program: Program) -> Site | None:
    """The line that writes the largest array in the workspace."""
    sizes = {s.number: s.bytes for s in program.storages if s.home == "workspace" and s.in_memory}
    largest, site = 0, None
    for group in program.groups:
        for item in group.body:
            size = max((sizes.get(storage, 0) for storage in written_by(item)), default=0)
            if size > largest and item.site is not None:
                largest, site = size, item.site
    return site
