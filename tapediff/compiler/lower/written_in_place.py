"""Lowers reads and writes of a loop's carries that are written where they are, by steps that keep their order: see in_place.py."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ...ir.instruction import Instruction
from ...ir.tape import Tape
from ...ops.arrays.indexing import INDEX, PUT, REPLACE, SCATTER_ADD
from ...ops.elementwise.arithmetic import SUBTRACT
from ..loop_ir.program import InPlace, Literal, Step
from ..loop_ir.views import StridedView, contiguous
from .arrays import ArrayLowering
from .in_place import Places


class InPlaceLowering(ArrayLowering):
    """`self.places` has the instructions that read and write such carries."""

    def __init__(self, tape: Tape, threads: int, places: Places) -> None:
        super().__init__(tape, threads)
        self.places = places

    def leave_out(self) -> None:
        """A value that the instruction that adds it to a version computes."""
        self.views.append(StridedView((), -1, 0, (), Literal(0.0, "f64")))

    def read_in_place(self, i: Instruction) -> None:
        """Read entries now, before they are overwritten."""
        first = len(self.steps)
        if i.op is INDEX:
            part = self.part(self.views[i.inputs[0]], i.params[0])
            fresh = self.storage(part.shape, self.kind_of(part))
            self.copy(part, fresh)
            self.views.append(fresh)
        else:
            self.gather(i)
        self._keep_in_order(first)

    def write_in_place(self, number: int, i: Instruction) -> None:
        """Write, or add to, entries of the previous version."""
        first = len(self.steps)
        terms = self.places.terms.get(number, [])
        before = next(k for k in i.inputs if k in self.places.carry)
        target = self.views[before]
        if i.op is PUT:
            self._scatter(i.inputs[2], self.views[i.inputs[1]], target, None)
        elif i.op is REPLACE:
            for part, region in zip(i.inputs[1:], i.params[0]):
                self.copy(self.views[part], self.part(target, region))
        for term in terms:
            self._add_term(self.tape.instructions[term], target, is_lost=i.op is SUBTRACT)
        self._keep_in_order(first)
        self.views.append(target)

    def _add_term(self, term: Instruction, target: StridedView, *, is_lost: bool) -> None:
        if term.op is SCATTER_ADD:
            self._scatter(term.inputs[1], self.views[term.inputs[0]], target, "add", "-r1" if is_lost else "r1")
            return
        for number, region in zip(term.inputs, term.params[0]):
            part = self.part(target, region)
            reads = [(part, part.strides), self.spread(self.views[number], part.shape)]
            self.step(part.shape, reads, "r0 - r1" if is_lost else "r0 + r1", part, part.strides)

    def bring_back(self, carries: Sequence[int]) -> None:
        """Copy the carry's output back to its input, once everything else is done."""
        copies: list[tuple[StridedView, StridedView]] = []
        inputs = {self.views[self.tape.inputs[k]].storage for k in carries}
        for k in carries:
            target, source = self.views[self.tape.inputs[k]], self.views[self.tape.outputs[k]]
            if source.storage in inputs and source.literal is None:
                fresh = self.storage(source.shape, self.kind_of(source))
                self.copy(source, fresh)
                source = fresh
            copies.append((source, target))
        for source, target in copies:
            first = len(self.steps)
            self.copy(source, replace(target, shape=source.shape, strides=contiguous(source.shape)))
            self._keep_in_order(first, is_last=True)

    def _keep_in_order(self, first: int, is_last: bool = False) -> None:
        steps = [step for step in self.steps[first:] if isinstance(step, Step) and math.prod(step.domain)]
        self.steps[first:] = [InPlace(step, is_last) for step in steps]
