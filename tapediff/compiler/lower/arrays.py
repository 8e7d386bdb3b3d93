"""Lowers elementwise ops, views, reductions, and reading and writing parts of arrays to loop steps."""

from __future__ import annotations

import math
import operator
from dataclasses import replace

import numpy as np

from ...ir.instruction import CONSTANT, Instruction
from ...ops import Elementwise
from ...ops.arrays.partition import Part, partition
from ...ops.arrays.regions import Region, frame
from ..llvm.values import KINDS
from ..loop_ir.program import Access, Literal, Parameters, Step
from ..loop_ir.views import StridedView, contiguous, reshaped_strides
from .row_positions import computed_row_axes, row_axes, tail_strides
from .step_builder import CONVERSIONS, StepBuilder, rename


def _expression_of(op: Elementwise, kind: str | None, result: str) -> str:
    """The expression of an op on operands of a kind, in terms of r0, r1, ..."""
    expression = op.scalar
    if kind == "i64" and result == "i":
        expression = op.integer_scalar or expression
    elif kind == "i1":
        expression = op.mask_scalar or expression
    return rename(expression, op.arguments)


# Arrays of more dimensions are copied as a whole before a box is written.
MOST_FRAMED = 3


class ArrayLowering(StepBuilder):
    """The methods that array ops name in their declarations."""

    def elementwise(self, i: Instruction, op: Elementwise) -> None:
        _, inputs, params, type_, _ = i
        views = self.views
        operands = [views[k] for k in inputs]
        first = 0 if op.promote is None else 1
        kind = self.kind_of(operands[first]) if len(operands) > first else None
        key = (op, kind, type_.dtype.kind)
        expression = self.expressions.get(key)
        if expression is None:
            expression = self.expressions[key] = _expression_of(op, kind, type_.dtype.kind)
        self._expression(i, operands, expression, tuple(op.named(params).items()) if params else ())

    def _expression(
        self, i: Instruction, operands: list[StridedView], expression: str, parameters: Parameters = ()
    ) -> None:
        shape = i.type.shape
        target = self.result(i)
        if i.type.dtype == np.float32:
            expression = f"round_to_float32({expression})"
        if shape == ():
            # Inlined by hand: tapes of unrolled Python loops have thousands of these.
            numbers = self.numbers
            reads = tuple([p.literal or numbers.get(p.storage) or Access(p.storage, p.offset, ()) for p in operands])
            write = numbers[target.storage] = Access(target.storage, 0, ())
            self.steps.append(Step((), reads, expression, parameters, write, None, False, self.site))
            return
        self.step(
            shape, [self.spread(p, shape) for p in operands], expression, target, target.strides, parameters=parameters
        )

    def round_last(self, i: Instruction) -> None:
        """Replace the result just lowered by its values rounded to 32 bits."""
        self._expression(i, [self.views.pop()], "round_to_float32(r0)")

    def convert(self, i: Instruction) -> None:
        source = self.views[i.inputs[0]]
        conversion = CONVERSIONS.get((self.kind_of(source), KINDS[i.type.dtype.kind]), "x")
        self._expression(i, [source], rename(conversion, ("x",)))

    def reshape(self, i: Instruction) -> None:
        view = self.views[i.inputs[0]]
        strides = reshaped_strides(view.shape, view.strides, i.type.shape)
        if strides is None:
            view = self.in_memory(i.inputs[0])
            strides = contiguous(i.type.shape)
        self.views.append(replace(view, shape=i.type.shape, strides=strides))

    def transpose(self, i: Instruction, axes: tuple[int, ...]) -> None:
        view = self.views[i.inputs[0]]
        strides = tuple(view.strides[a] for a in axes)
        self.views.append(replace(view, shape=i.type.shape, strides=strides))

    def broadcast(self, i: Instruction) -> None:
        view = self.views[i.inputs[0]]
        _, strides = self.spread(view, i.type.shape)
        self.views.append(replace(view, shape=i.type.shape, strides=strides))

    def index(self, i: Instruction) -> None:
        self.views.append(self.part(self.views[i.inputs[0]], i.params[0]))

    def part(self, view: StridedView, region: Region) -> StridedView:
        """The view of a region of a view."""
        offset = view.offset + sum(a * s for a, s in zip(region.starts, view.strides))
        strides = tuple(step * s for step, s in zip(region.steps, view.strides))
        shaped = reshaped_strides(region.counts, strides, region.shape)
        assert shaped is not None, "a region only drops or adds axes of length 1"
        return replace(view, shape=region.shape, offset=offset, strides=shaped)

    def reduce(self, i: Instruction, combine: str) -> None:
        (axes,) = i.params
        source = self.views[i.inputs[0]]
        target = self.result(i)
        kept = iter(target.strides)
        strides = tuple(0 if k in axes else next(kept) for k in range(len(source.shape)))
        expression = "r0"
        if self.kind_of(source) == "i1":
            expression = "to_i64(r0)" if i.type.dtype.kind == "i" else "r0"
            combine = {"maximum": "or", "minimum": "and"}.get(combine, combine)
        # Over axes of length 1 there is nothing to combine, and no step would initialise the accumulator.
        several = any(source.shape[k] != 1 for k in axes)
        self.step(
            source.shape, [self.spread(source, source.shape)], expression, target, strides, combine if several else None
        )

    def cumulate(self, i: Instruction) -> None:
        axis, backwards = i.params
        source, target = self.views[i.inputs[0]], self.result(i)
        order = [k for k in range(len(source.shape)) if k != axis] + [axis]
        views = []
        for view in (source, target):
            strides = [view.strides[k] for k in order]
            offset = view.offset
            if backwards:
                offset += strides[-1] * (view.shape[axis] - 1)
                strides[-1] = -strides[-1]
            views.append((replace(view, offset=offset), tuple(strides)))
        domain = tuple(source.shape[k] for k in order)
        is_scan = source.shape[axis] != 1
        self.step(domain, [views[0]], "r0", views[1][0], views[1][1], "add" if is_scan else None, is_scan=is_scan)

    def assemble(self, i: Instruction) -> None:
        regions, _, disjoint = i.params
        target = self.result(i)
        parts = partition(regions, i.type.shape) if not disjoint and self.kind_of(target) == "f64" else None
        if parts is not None:
            self._sum_in_parts(i, parts, target)
            return
        covered = sum(math.prod(r.counts) for r in regions)
        if not (disjoint and covered == i.type.size):
            self.fill(0.0, target)
        for number, region in zip(i.inputs, regions):
            part, source = self.part(target, region), self.spread(self.views[number], region.shape)
            combine = None if disjoint else "add"
            self.step(part.shape, [source], "r0", part, part.strides, combine, is_disjoint_part=disjoint)

    def _sum_in_parts(self, i: Instruction, parts: list[Part], target: StridedView) -> None:
        """Write each entry once: zero plus the values of the regions that cover it, in their order."""
        zero = StridedView((), -1, 0, (), Literal(0.0, "f64"))
        for part in parts:
            reads = [(zero, (0,) * len(part.counts))]
            for k in part.covered_by:
                region = i.params[0][k]
                view, strides = self.spread(self.views[i.inputs[k]], region.shape)
                along = reshaped_strides(region.shape, strides, region.counts)
                assert along is not None, "a region only drops or adds axes of length 1"
                shift = sum(s * (b - a) for s, a, b in zip(along, region.starts, part.starts))
                reads.append((replace(view, offset=view.offset + shift), along))
            offset = target.offset + sum(map(operator.mul, target.strides, part.starts))
            view = replace(target, shape=part.counts, offset=offset)
            sum_ = " + ".join(f"r{k}" for k in range(len(reads)))
            self.step(part.counts, reads, sum_, view, view.strides, is_disjoint_part=True)

    def replace(self, i: Instruction) -> None:
        target = self.result(i)
        if self._is_framed(i):
            # Each entry is written once, and a slice computed only for this is computed in place.
            base, box = (self.views[k] for k in i.inputs)
            region = i.params[0][0]
            for source, strip in ((box, region), *((self.part(base, strip), strip) for strip in frame(region, i.type.shape))):
                part = self.part(target, strip)
                self.step(part.shape, [self.spread(source, part.shape)], "r0", part, part.strides, is_disjoint_part=True)
            return
        self.copy(self.views[i.inputs[0]], target)
        for number, region in zip(i.inputs[1:], i.params[0]):
            self.copy(self.views[number], self.part(target, region))

    def _is_framed(self, i: Instruction) -> bool:
        """True if a write leaves a frame of few strips of the array."""
        shape, regions = i.type.shape, i.params[0]
        if len(regions) != 1 or len(shape) > MOST_FRAMED or 2 * math.prod(regions[0].counts) < i.type.size or not i.type.size:
            return False
        return set(regions[0].steps) <= {1}

    def gather(self, i: Instruction) -> None:
        source = self.flat(i.inputs[0])
        indices = self.views[i.inputs[1]]
        target = self.result(i)
        shape = i.type.shape
        reads = [self.spread(indices, shape), (source, self.row_tails.get(i.inputs[1], (0,) * len(shape)))]
        if source.literal is not None:
            self.step(shape, reads[1:], "r0", target, target.strides)
        else:
            self.step(shape, reads, "r1", target, target.strides, gathers=True)

    def row_positions(self, number: int, i: Instruction) -> bool:
        """Lower positions that form whole rows: only the first position of each row is stored, with stride 0 along the row."""
        if i.op is CONSTANT:
            array = i.params[0]
            axes = row_axes(array)
            starts = self.constant(array[(..., *(0,) * axes)]) if axes else None
        else:
            first, axes = computed_row_axes(self.tape, number)
            starts = self.views[first] if axes else None
        if starts is None or starts.literal is not None:
            return False
        shape = i.type.shape
        leading = starts.strides[: len(shape) - axes]
        self.row_tails[number] = tail_strides(shape, axes)
        self.views.append(StridedView(shape, starts.storage, starts.offset, (*leading, *(0,) * axes)))
        return True

    def flat(self, number: int) -> StridedView:
        """A value whose element k is at offset + k."""
        view = self.views[number]
        return view if view.literal is not None else self.in_memory(number)

    def scatter_add(self, i: Instruction) -> None:
        target = self.result(i)
        self.fill(0.0, target)
        self._scatter(i.inputs[1], self.views[i.inputs[0]], target, "add")

    def put(self, i: Instruction) -> None:
        target = self.result(i)
        self.copy(self.views[i.inputs[0]], target)
        self._scatter(i.inputs[2], self.views[i.inputs[1]], target, None)

    def _scatter(
        self, indices: int, source: StridedView, target: StridedView, combine: str | None, expression: str = "r1"
    ) -> None:
        places = self.views[indices]
        shape = places.shape
        reads = [self.spread(places, shape), self.spread(source, shape)]
        tail = self.row_tails.get(indices, (0,) * len(shape))
        self.step(shape, reads, expression, target, tail, combine, scatters=True)
