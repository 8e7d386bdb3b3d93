"""Changes the number of rows of a tape: each axis that counts rows gets another length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...ir.instruction import CONSTANT, AnyType, Instruction, Params, ValueType
from ...ir.rewriter import Rewriter, part_of_tape
from ...ir.tape import Tape
from ...ops.arrays.indexing import ASSEMBLE, INDEX, REPLACE
from ...ops.arrays.regions import Region, Regions
from ...ops.arrays.shape import BROADCAST, RESHAPE
from ...ops.control.calls import GET, LOOP
from ...passes.loops.loop_builder import Items, items_without, loop_like, with_loops
from .row_axes import body_of


def with_rows(tape: Tape, rows: int, wanted: int) -> Tape:
    """Return the tape for `wanted` rows. Constants with rows must be filled with one value; constants_lifted moves others out."""
    made = Rewriter(tape)
    for number, (op, inputs, params, type_, site) in enumerate(tape.instructions):
        operands, made.site = tuple([made.number[i] for i in inputs]), site
        if op is LOOP:
            callee, form = params
            body = body_of(callee, form)
            assert body is not None
            shorter = callee.once(("rows", rows, wanted), lambda c=callee, b=body: c.fixed(with_rows(b, rows, wanted)))
            made.number[number] = made.make(LOOP, operands, (shorter, form))
        elif op is GET:
            made.number[number] = made.make(GET, operands, params)
        else:
            given = made.instructions[operands[0]].type if operands else None
            new = _type(type_, rows, wanted)
            made.number[number] = made.emit(op, operands, _params(tape, number, rows, wanted, given, new), new, site)
    return made.finish()


def _type(type_: AnyType, rows: int, wanted: int) -> ValueType:
    return ValueType(_shape(type_.shape, rows, wanted), type_.dtype)


def _shape(shape: Sequence[int], rows: int, wanted: int) -> tuple[int, ...]:
    return tuple([wanted if extent == rows else extent for extent in shape])


def _params(tape: Tape, number: int, rows: int, wanted: int, given: AnyType | None, new: ValueType) -> Params:
    op, _, params, type_, _ = tape.instructions[number]
    if op is CONSTANT and new != type_:
        return (_filled(params[0].flat[0], new),)
    if op is BROADCAST or op is RESHAPE:
        return (new.shape,)
    if op is INDEX:
        return (_region(params[0], rows, wanted),)
    if op is ASSEMBLE:
        return (_regions(params[0], rows, wanted), new.shape, params[2])
    if op is REPLACE:
        return (_regions(params[0], rows, wanted),)
    return params


def _filled(value: np.generic, type_: ValueType) -> np.ndarray:
    array = np.full(type_.shape, value, type_.dtype)
    array.flags.writeable = False
    return array


def _region(region: Region, rows: int, wanted: int) -> Region:
    return region._replace(counts=_shape(region.counts, rows, wanted), shape=_shape(region.shape, rows, wanted))


def _regions(regions: Sequence[Region], rows: int, wanted: int) -> Regions:
    return Regions([_region(region, rows, wanted) for region in regions])


def is_filled(array: np.ndarray) -> bool:
    """True if all entries have the same bits."""
    bits = np.ascontiguousarray(array).reshape(-1).view(f"u{array.dtype.itemsize}")
    return bool((bits == bits[0]).all())


def constants_lifted(tape: Tape, rows: int) -> Tape:
    """Move constants that differ between rows out of the bodies of loops into the tape."""

    def emitted(made: Rewriter, loop: Instruction, lifted: tuple[Tape, list[np.ndarray]]) -> Items:
        body, arrays = lifted
        carries, streams, constants = loop.params[1].parts(loop.inputs)
        more = [made.constant(array, ValueType(array.shape, array.dtype)) for array in arrays]
        return items_without(made, loop_like(made, loop, loop.params[0].fixed(body), carries, streams, [*constants, *more]), ())

    return with_loops(tape, lambda loop, _: _lifted(loop, rows), emitted)


def _lifted(loop: Instruction, rows: int) -> tuple[Tape, list[np.ndarray]] | None:
    """The body of a loop with such constants as its last inputs; None where it has none."""
    callee, form = loop.params
    body = body_of(callee, form)
    if body is None:
        return None
    body = constants_lifted(body, rows)
    found = [
        n for n, i in enumerate(body.instructions)
        if i.op is CONSTANT and rows in i.type.shape and not is_filled(i.params[0])
    ]  # fmt: skip
    if not found:
        return None
    return part_of_tape(body, [*body.inputs, *found], body.outputs), [body.instructions[n].params[0] for n in found]
