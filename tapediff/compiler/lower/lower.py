"""From tape to loop steps: the `lower` of each op calls the building blocks of ArrayLowering, FactorLowering and CallLowering."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...errors import UnsupportedFunction
from ...ir.guard_rows import EACH
from ...ir.instruction import CONSTANT, GUARD, INPUT, TUPLE, Instruction, ValueType
from ...ir.tape import Tape
from ...ops import Elementwise, Op
from ...ops.control.calls import LOOP
from ..llvm.values import KINDS
from ..loop_ir.dependencies import read_by
from ..loop_ir.program import Access, Exit, InPlace, Invoke, Item, Literal, RoutineCall, Step, Storage
from ..loop_ir.views import StridedView
from .calls import CallLowering
from .factors import FactorLowering
from .in_place import Places, in_place
from .row_positions import only_positions
from .written_in_place import InPlaceLowering

# 32-bit floats are computed in 64 bits and rounded after each operation.
SUPPORTED = (np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.int64), np.dtype(np.bool_), TUPLE)

# Equality of entries of an array that Python looked at: floats by their bits, with all NaN equal.
_SAME = {
    "i1": "~(r0 ^ r1)",
    "i64": "equal(r0, r1)",
    "f64": "select(isnan(r1), isnan(r0), equal(r0, r1) & ~(signbit(r0) ^ signbit(r1)))",
}


class Lowering(InPlaceLowering, FactorLowering, CallLowering):
    """Collects the steps of one tape. `self.views[i]` is the view of value i."""

    def guard(self, i: Instruction) -> None:
        kind, outcome, ordinal = i.params[:3]
        view = self.views[i.inputs[0]]
        self.views.append(StridedView((), -1, 0, (), Literal(0.0, "f64")))
        if kind in ("array", EACH):
            self._array_guard(i, view, np.asarray(outcome))
            return
        if view.literal is not None:
            fresh = self.storage((), view.literal.kind)
            self.copy(view, fresh)
            view = fresh
        # Integers stay integers: a double cannot distinguish neighbours beyond 2**53.
        expected = int(outcome) if self.kind_of(view) == "i64" else float(outcome)
        self.steps.append(
            Exit(ordinal, kind, Access(view.storage, view.offset, ()), expected, (view.storage, 1), self.site)
        )

    def _array_guard(self, i: Instruction, view: StridedView, outcome: np.ndarray) -> None:
        """Compare the whole array with its recorded pattern; a failure reports the array itself, or its first entry that differs."""
        kind, _, ordinal, *columns = i.params
        looked_at = (i.inputs[0], outcome.tobytes())
        if looked_at in self.looked_at:
            return  # the earlier guard fails first
        self.looked_at.add(looked_at)
        view = self.in_memory(i.inputs[0])
        size = int(np.prod(view.shape))
        if view.literal is None and self.storages[view.storage].size != size:
            # A failure reports a whole storage, but the view is only a part of one.
            part, view = view, self.storage(view.shape, self.kind_of(view))
            self.copy(part, view)
        pattern = compared = self.constant(outcome)
        if kind == EACH and (outcome == outcome.flat[0]).all():
            # All outcomes are equal: compare with one number, not a pattern.
            compared = self.constant(outcome.flat[0])
        same = self.storage((), "i1")
        shape = view.shape
        expression = _SAME[self.kind_of(view)]
        reads = [self.spread(view, shape), self.spread(compared, shape)]
        self.step(shape, reads, expression, same, (0,) * len(shape), "and")
        self.steps.append(
            Exit(
                ordinal, kind, Access(same.storage, 0, ()), 1.0, (view.storage, size), self.site,
                pattern=pattern.storage, kinds=columns[0].kinds if columns else (),
            )
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lowered:
    """The unfused steps of a tape, ending with the copies into its outputs.

    Attributes:
        failures: messages of the routines that can fail, by failure number.
    """

    tape: Tape
    storages: tuple[Storage, ...]
    steps: tuple[Item, ...]
    constants: bytes
    failures: tuple[str, ...]


def lower(tape: Tape, threads: int = 0, carries: Sequence[int] = ()) -> Lowered:
    """The loop steps of a tape, in order. `threads`: as asked for by the user, or 0.

    Args:
        carries: those of a loop's body that it reads and writes in place.
    """
    found = in_place(tape, carries)
    tape, places = (tape, Places()) if found is None else found
    low = Lowering(tape, threads, places)
    rows = only_positions(tape)
    for number, instruction in enumerate(tape.instructions):
        low.site = instruction.site
        op = instruction.op
        assert min(instruction.inputs, default=0) >= 0, f"an operand of {op} is missing: a pass has left it out"
        _require_supported(instruction.type, instruction)
        if number in rows and low.row_positions(number, instruction):
            continue
        if number in places.added:
            low.leave_out()
        elif number in places.readers and op is not LOOP:
            low.read_in_place(instruction)
        elif number in places.writers and op is not LOOP:
            low.write_in_place(number, instruction)
        elif op is CONSTANT:
            low.views.append(low.constant(instruction.params[0]))
        elif op is INPUT:
            kind = KINDS[instruction.type.dtype.kind]
            low.views.append(low.storage(instruction.type.shape, kind, "input", instruction.params[0]))
        elif op is GUARD:
            low.guard(instruction)
        elif isinstance(op, Elementwise):
            low.elementwise(instruction, op)
        elif isinstance(op, Op) and op.lower is not None:
            op.lower(low, instruction)
            if instruction.type.dtype == np.float32 and not (op.exact or op.moves or op.is_view):
                low.round_last(instruction)
        else:
            raise UnsupportedFunction(
                f"{op.name} cannot be compiled", at=instruction.site, fix="replay the tape without compiling"
            )
        assert len(low.views) == number + 1, f"{op} must define exactly one view"
    low.site = None
    _place_outputs(low, set(carries))
    if found is None:
        low.bring_back(carries)
    return Lowered(tape, tuple(low.storages), tuple(low.steps), bytes(low.constants), tuple(low.failures))


def _place_outputs(low: Lowering, in_place: set[int]) -> None:
    """Compute each output at its destination, or copy it there if it is a view, an input, or used elsewhere.

    Args:
        in_place: the outputs that are already in place.
    """
    read_storages = {k for s in low.steps if isinstance(s, (Step, InPlace)) for k in read_by(s)}
    read_storages |= {pair[0] for s in low.steps if isinstance(s, RoutineCall) for pair in s.operands}
    read_storages |= {s for e in low.steps if isinstance(e, Exit) for s in (e.read.storage, e.report[0])}
    # A routine that can fail could leave a partial result with the caller.
    taken = {s.result for s in low.steps if isinstance(s, RoutineCall) and s.failure >= 0}
    for invoke in low.steps:
        if isinstance(invoke, Invoke):
            taken |= {*invoke.written, *(storage for storage, _ in invoke.operands)}
    taken |= read_storages
    for position, number in enumerate(low.tape.outputs):
        if position in in_place:
            continue
        view = low.views[number]
        storage = low.storages[view.storage] if view.literal is None else None
        if storage is not None and _fills(view, storage) and storage.number not in taken:
            low.storages[storage.number] = replace(storage, home="output", position=position, in_memory=True)
            taken.add(storage.number)
            continue
        target = low.storage(view.shape, low.kind_of(view), "output", position)
        low.copy(view, target)


def _fills(view: StridedView, storage: Storage) -> bool:
    """True if a view is the whole of a workspace storage."""
    return storage.home == "workspace" and storage.size == math.prod(view.shape) and view.is_contiguous


def _require_supported(type_: ValueType, instruction: Instruction) -> None:
    if type_.dtype not in SUPPORTED:
        raise UnsupportedFunction(
            f"compiling {type_.dtype} arithmetic", at=instruction.site,
            fix="convert the arguments to float64, or replay the tape without compiling",
        )  # fmt: skip
