"""Tapes of full Jacobians and Hessians from triplets, computing each entry once. Not for functions with solves, loops or products
of two matrices that both depend on the arguments.

Saves multiplying by vectors of ones and zeros; entries are written at their positions in the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...errors import UnsupportedFunction
from ...ir.instruction import ValueType
from ...ir.tape import Tape
from ...ops.arrays.shape import RESHAPE
from ...passes.pipeline import run_passes
from ...passes.reach import reached_from
from ...recording.python_state.caught_errors import refusals_forgotten
from ...transforms.place_triplets import placed
from ...transforms.triplet_rules import accumulate
from ...transforms.triplets import NotInTriplets, Term, Triplets
from .gradient_tape import with_float_output
from .operator_tapes import Numbers, float_outputs, hvp_tape, jvp_tape, require_float_outputs, vjp_tape

# Forward triplets are not tried if reverse ones are at least this many times the values of one reverse sweep.
CHEAP = 3.0


@dataclass(frozen=True, eq=False)
class Entries:
    """The positions of a sparse matrix's entries, in the order of its data: by row and then by column, or the other way round."""

    rows: np.ndarray
    columns: np.ndarray


@dataclass(frozen=True, eq=False)
class Matrix:
    """A matrix in triplets.

    Attributes:
        made: the tape so far.
        kept: values that it returns as well, first.
        outs, ins: what is differentiated, and by what.
        terms: (j, k, term, rows, columns): coefficients of the block d outs[j] / d ins[k].
    """

    made: Triplets
    kept: tuple[int, ...]
    outs: Sequence[ValueType]
    ins: Sequence[ValueType]
    terms: list[tuple[int, int, Term, np.ndarray, np.ndarray]]

    def dense(self, tape: Tape) -> Tape:
        """Outputs: the kept values, and the blocks, by row."""
        blocks = []
        for j, out in enumerate(self.outs):
            for k, in_ in enumerate(self.ins):
                chosen = [(t, rows, columns) for a, b, t, rows, columns in self.terms if (a, b) == (j, k)]
                positions = [rows * in_.size + columns for _, rows, columns in chosen]
                flat = ValueType((out.size * in_.size,), out.dtype)
                block = placed(self.made, [t for t, *_ in chosen], positions, flat)
                shape = (*out.shape, *in_.shape)
                blocks.append(block if shape == flat.shape else self.made.make(RESHAPE, (block,), (shape,)))
        return self._finished(tape, blocks)

    def sparse(self, tape: Tape, by_column: bool) -> tuple[Tape, Entries]:
        """The tape of all entries of a matrix with one block, and their positions."""
        (out,), (in_,) = self.outs, self.ins
        if by_column:
            keys = [np.ravel(columns * out.size + rows) for *_, rows, columns in self.terms]
        else:
            keys = [np.ravel(rows * in_.size + columns) for *_, rows, columns in self.terms]
        joined = np.concatenate(keys) if keys else np.zeros(0, np.int64)
        # Concatenated ascending runs, which this kind of sorting merges.
        order = np.argsort(joined, kind="stable")
        ordered = joined[order]
        is_new = np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)]
        places = np.empty(len(joined), np.int64)
        places[order] = np.cumsum(is_new) - 1
        lines, within = np.divmod(ordered[is_new], max(out.size if by_column else in_.size, 1))
        entries = Entries(within, lines) if by_column else Entries(lines, within)
        ends = np.cumsum([len(key) for key in keys])
        positions = [p.reshape(rows.shape) for p, (*_, rows, _) in zip(np.split(places, ends[:-1]), self.terms)]
        data = placed(self.made, [t for _, _, t, *_ in self.terms], positions, ValueType((len(entries.rows),), out.dtype))
        return self._finished(tape, [data]), entries

    def _finished(self, tape: Tape, outputs: Sequence[int]) -> Tape:
        inputs = tuple(self.made.number[i] for i in self.made.tape.inputs[: len(tape.inputs)])
        found = replace(
            self.made.tape, instructions=tuple(self.made.instructions), inputs=inputs, outputs=(*self.kept, *outputs),
            active_inputs=tape.active_inputs, returns_tuple=True,
        )  # fmt: skip
        return run_passes(found)


def jacobian_in_triplets(tape: Tape, wrt: Numbers, keep: bool) -> Matrix | None:
    """By reverse accumulation, or by forward accumulation if that is less work; None if a sweep for each row or column is less."""
    floated = with_float_output(tape)
    require_float_outputs(floated)
    ins = [floated.input_types[k] for k in wrt]
    outs = [floated.output_types[k] for k in float_outputs(floated)]
    fewest = min(sum(t.size for t in ins), sum(t.size for t in outs))
    kept = len(tape.outputs) * keep
    if fewest < 2:
        return None
    reverse = vjp_tape(tape, wrt, keep)
    once = _values_reached(reverse, len(tape.inputs))
    most = fewest * once
    found = _accumulated(tape, reverse, kept, outs, ins, most, is_forward=False)
    if found is not None and found.made.work <= CHEAP * once:
        return found
    forward = _if_possible(lambda: jvp_tape(tape, wrt, keep))
    if forward is None:
        return found
    most = most if found is None else found.made.work
    return _accumulated(tape, forward, kept, outs, ins, most, is_forward=True) or found


def _if_possible(make: Callable[[], Tape]) -> Tape | None:
    """A forward product, which is the derivative of the reverse one; None through a user's own rule."""
    try:
        with refusals_forgotten():
            return make()
    except UnsupportedFunction:
        return None


def hessian_in_triplets(tape: Tape, wrt: Numbers, keep: bool, most_in_all: float = math.inf) -> Matrix | None:
    """As the Jacobian of the gradient, by reverse accumulation; None if that takes more coefficients than pay, or than `most_in_all`."""
    types = [tape.input_types[k] for k in wrt]
    size = sum(t.size for t in types)
    if size < 2:
        return None
    product = hvp_tape(tape, wrt, keep)
    most = min(size * _values_reached(product, len(tape.inputs)), most_in_all)
    return _accumulated(tape, product, (len(tape.outputs) + len(wrt)) * keep, types, types, most, is_forward=True)


def _values_reached(product: Tape, first: int) -> float:
    """The number of scalars in a product that depend on its vectors."""
    reached = reached_from(product, product.inputs[first:])
    return float(sum(i.type.size for i, is_reached in zip(product.instructions, reached) if is_reached and isinstance(i.type, ValueType)))


def _accumulated(
    tape: Tape, product: Tape, kept: int, outs: Sequence[ValueType], ins: Sequence[ValueType], most: float, is_forward: bool
) -> Matrix | None:
    first = len(tape.inputs)
    try:
        made = accumulate(product, range(first, len(product.inputs)), most)
    except NotInTriplets:
        return None
    terms = []
    for position, number in enumerate(product.outputs[kept:]):
        for t in made.terms.get(number, ()):
            if is_forward:
                terms.append((position, t.source, t, t.rows, t.columns))
            else:
                terms.append((t.source, position, t, t.columns, t.rows))
    return Matrix(made, tuple(made.number[i] for i in product.outputs[:kept]), outs, ins, terms)
