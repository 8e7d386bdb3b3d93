"""RecordedLoop: records a loop as one instruction with the body as its callee."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..base.source_location import Site
from ..errors import ArgumentMismatch, ShapeMismatch
from ..ir.instruction import BOOL_SCALAR, Operand, Tree, ValueType, is_tracked
from ..ir.pytree import TreeDef, describe_treedef, flatten
from ..ops.control.calls import LOOP, LoopCotangents, LoopForm
from ..ops.elementwise.arithmetic import CONVERT
from .callees.body import Body, as_operand, caught_outside, items_of, kept_callee, type_of, value_of
from .callees.recorded_callee import RecordedCallee
from .captured.freeze import Frozen

# At most this many td.cond per loop body are inlined; each doubles its paths. Further ones are calls.
BRANCHES_TO_INLINE = 1


class RecordedLoop:
    """A loop to record.

    Args:
        run: run(functions, (carry, x)) gives (carry, further results).
    """

    def __init__(
        self, name: str, f: Callable[..., object], frozen: Frozen, treedef: TreeDef, run: Callable[[list[Callable[..., Tree]], Tree], Tree],
        x_treedef: TreeDef | None, site: Site | None,
    ) -> None:  # fmt: skip
        self.name = f"{getattr(f, 'verb', name)} of {getattr(f, '__name__', 'f')}"
        self.frozen, self.treedef, self.run, self.site = frozen, treedef, run, site
        self.x_treedef = flatten(None)[1] if x_treedef is None else x_treedef
        self.rest: TreeDef = self.x_treedef

    def record(
        self, init: Sequence[Operand], streams: Sequence[Operand], form: LoopForm, leading: Sequence[Operand] = ()
    ) -> tuple[list[Operand], list[Operand]]:
        """Record the loop.

        Args:
            init: the first carries.
            streams: arrays with one entry for each iteration.
            form: of the loop; the counts are filled in.
            leading: the number of iterations, or the first test, if known only at run time.

        Returns:
            The last carries, and the stacked further results.
        """
        runs = not form.stops or bool(value_of(leading[0]))
        callee, body, carries = self._body(self.promoted(init), streams, form.stops, runs)
        n = len(carries)
        form = replace(form, carries=n, streams=len(streams), constants=len(self.frozen.tracked))
        handler = caught_outside()
        if handler is not None:
            callee.must_not_fail(handler)
        returned = LOOP(*leading, *carries, *streams, *self.frozen.tracked, callee=callee, form=form)
        count = len(callee.out_types) - int(form.stops)
        results = items_of(returned, count)
        if body.results is not None:
            self.rest = body.results.parts[1]
        return results[:n], results[n:]

    def carries_read(self, init: Sequence[Operand], streams: Sequence[Operand]) -> list[Operand]:
        """The initial values of the carries that the reverse pass needs at every iteration. Records one iteration, not the loop."""
        from ..transforms.reverse_loop import carries_read

        callee, _, carries = self._body(self.promoted(init), streams, False, True)
        tape = callee.only_tape()
        if tape is None:
            return list(carries)
        n = len(carries)
        active = lambda operands: tuple(k for k, o in enumerate(operands) if is_tracked(o) and type_of(o).is_float)  # noqa: E731 -- its name is its use
        seeds = tuple(k for k, type_ in enumerate(tape.output_types[n:]) if type_.is_float)
        which = LoopCotangents(n, len(streams), active(carries), active(streams), active(self.frozen.tracked), seeds, ())
        return [carries[k] for k in carries_read(tape, which)]

    def _body(
        self, carries: Sequence[Operand], streams: Sequence[Operand], stops: bool, runs: bool
    ) -> tuple[RecordedCallee, Body, Sequence[Operand]]:
        """The callee of the body, and the carries cast to the dtypes that an iteration returns; recorded now if the loop runs at all."""
        items = [ValueType(type_of(s).shape[1:], type_of(s).dtype) for s in streams]
        first = [self._first(stream, item) for stream, item in zip(streams, items)]
        while True:
            types = [type_of(c) for c in carries]
            callee, body = self._callee((*types, *items, *(t.type for t in self.frozen.tracked)), stops)
            if runs:
                callee.ensure([value_of(o) for o in (*carries, *first, *self.frozen.tracked)])
            elif not callee.out_types:
                callee.out_types = (*types, BOOL_SCALAR)
            promoted = self._fitting(callee, carries)
            if promoted is None:
                return callee, body, carries
            carries = promoted

    def promoted(self, init: Sequence[Operand]) -> list[Operand]:
        return [as_operand(leaf) for leaf in init]

    @staticmethod
    def _first(stream: Operand, item: ValueType) -> Operand:
        """The first entry of a stream; zeros for an empty one, so that the result types can be found."""
        value = value_of(stream)
        return value[0] if len(value) else np.zeros(item.shape, item.dtype)[()]

    def _callee(self, types: Sequence[ValueType], stops: bool) -> tuple[RecordedCallee, Body]:
        treedef = TreeDef(tuple, (), (self.treedef, self.x_treedef))

        def run(functions: list[Callable[..., Tree]], tree: Tree) -> Tree:
            result = self.run(functions, tree)
            found = flatten(result[0])[1]
            if found != self.treedef:
                raise ArgumentMismatch(
                    f"the carry of {self.name} changed its structure", at=self.site,
                    got=f"{describe_treedef(found)} after {describe_treedef(self.treedef)}",
                    fix="return the carry as it came in",
                )  # fmt: skip
            return result

        make = lambda: Body(self.name, self.frozen, treedef, run, keeps_arguments=False)  # noqa: E731
        return kept_callee(
            self.name, treedef, self.frozen, types, make, stops=stops, branches_to_inline=BRANCHES_TO_INLINE
        )

    def _fitting(self, callee: RecordedCallee, carries: Sequence[Operand]) -> list[Operand] | None:
        """The carries in the dtypes that an iteration returns; None if they have them already."""
        changed = False
        result = list(carries)
        for k, carry in enumerate(carries):
            given, made = type_of(carry), callee.out_types[k]
            if given == made:
                continue
            dtype = np.result_type(given.dtype, made.dtype)
            if given.shape != made.shape or dtype == given.dtype:
                raise ShapeMismatch(
                    f"the carry of {self.name} changed its type", at=self.site, got=f"{made} after {given}",
                    fix="return carries of the shapes and dtypes that the first one has, e.g. start with 0.0 or np.zeros(n)",
                )  # fmt: skip
            result[k] = CONVERT(carry, dtype=dtype) if is_tracked(carry) else np.asarray(carry, dtype)[()]
            changed = True
        return result if changed else None
