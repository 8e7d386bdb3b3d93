"""Rules that turn the terms of an operation's operands into those of its result; see triplets.py."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.instruction import CONSTANT, INPUT, Instruction, ValueType
from ..ir.tape import Tape
from ..ops import Elementwise
from ..ops.arrays.indexing import ASSEMBLE, GATHER, INDEX, PUT, REPLACE, SCATTER_ADD, known_positions
from ..ops.arrays.reductions import SUM
from ..ops.arrays.regions import Region
from ..ops.arrays.shape import BROADCAST, RESHAPE, TRANSPOSE
from ..ops.elementwise.arithmetic import (
    ADD,
    CONVERT,
    DIVIDE,
    MULTIPLY,
    NEGATIVE,
    PRODUCT_OR_ZERO,
    QUOTIENT_OR_ZERO,
    SUBTRACT,
)
from ..ops.elementwise.comparison import EQUAL, IS_NAN, LOGICAL_AND, SELECT
from ..ops.matrices.products import MATMUL
from .place_triplets import placed
from .triplets import NotInTriplets, Term, Triplets


def accumulate(tape: Tape, vectors: Sequence[int], most_work: float) -> Triplets:
    """The terms of all values of a tape that is linear in some inputs.

    Args:
        tape: any tape.
        vectors: the positions of the linear inputs.
        most_work: the most coefficients that pay.

    Raises:
        NotInTriplets: an operation mixes all entries, or it is too much work.

    Cost: in proportion to the coefficients and to the length of the tape.
    Source: Griewank and Walther (2008), Evaluating Derivatives, section 10.3: accumulation in the order of the tape.
    """
    made = Triplets(tape, most_work)
    sources = {tape.inputs[k]: source for source, k in enumerate(vectors)}
    for number, instruction in enumerate(tape.instructions):
        made.site = instruction.site
        if number in sources:
            type_ = instruction.type
            ids = made.same(np.arange(type_.size).reshape(type_.shape))
            made.terms[number] = [Term(made.constant(1.0, ValueType((), type_.dtype)), ids, ids, sources[number])]
        elif instruction.op is INPUT or not any(i in made.terms for i in instruction.inputs):
            made.number[number] = made.copy(number)
        else:
            made.terms[number] = made.merged(_terms_of(made, instruction))
    # Instructions made from here on are needed in any case.
    made.most_work = made.most_instructions = made.most_moves = math.inf
    return made


def _terms_of(made: Triplets, instruction: Instruction) -> list[Term]:
    op = instruction.op
    if isinstance(op, Elementwise) or op is CONVERT:
        return _elementwise(made, instruction)
    rule = RULES.get(op)
    if rule is None:
        raise NotInTriplets
    return rule(made, instruction)


# Elementwise operations


# By op, the operands in which it is linear if the others are fixed.
LINEAR: dict[Any, tuple[int, ...]] = {
    MULTIPLY: (0, 1), DIVIDE: (0,), NEGATIVE: (0,), PRODUCT_OR_ZERO: (0, 1), QUOTIENT_OR_ZERO: (0,), CONVERT: (0,),
}  # fmt: skip
TESTS = {EQUAL, IS_NAN, LOGICAL_AND, SELECT}


def _elementwise(made: Triplets, instruction: Instruction) -> list[Term]:
    op, inputs, _, type_, _ = instruction
    reached = [k for k, i in enumerate(inputs) if i in made.terms]
    terms = {k: _spread(made, inputs[k], type_.shape) for k in reached}
    if op is ADD or op is SUBTRACT:
        if len(reached) < 2 and not made.is_zero(inputs[1 - reached[0]]):
            raise NotInTriplets
        second = terms.get(1, [])
        if op is SUBTRACT:
            second = [_scaled(made, t, NEGATIVE, (t.value,)) for t in second]
        return [*terms.get(0, ()), *second]
    if op is SELECT and 0 not in reached:
        return _selected(made, instruction, terms)
    if len(reached) == 1 and reached[0] in LINEAR.get(op, ()):
        (k,) = reached
        return [_applied(made, instruction, {k: t}) for t in terms[k]]
    if op in TESTS:
        return _tested(made, instruction, terms)
    raise NotInTriplets


def _spread(made: Triplets, number: int, shape: tuple[int, ...]) -> list[Term]:
    """The terms of an operand, broadcast."""
    own = made.tape.instructions[number].type.shape
    if own == shape:
        return made.terms[number]
    ids = np.arange(math.prod(own)).reshape(own)
    return made.merged(made.moved(number, np.broadcast_to(ids, shape)))


def _applied(made: Triplets, instruction: Instruction, given: dict[int, Term]) -> Term:
    """Apply the op to coefficients of the same entries, and to the other operands there."""
    op, inputs, params, type_, _ = instruction
    term = next(iter(given.values()))
    if op is MULTIPLY:
        term = _without_zeros(made, term, inputs[1 - next(iter(given))], type_.shape)
        given = dict.fromkeys(given, term)
    operands = tuple(given[k].value if k in given else _beside(made, term, i, type_.shape) for k, i in enumerate(inputs))
    if len(given) == 1 and op in (MULTIPLY, DIVIDE, NEGATIVE):
        return _scaled(made, term, op, operands)
    return Term(made.make(op, operands, params), term.rows, term.columns, term.source)


def _scaled(made: Triplets, term: Term, op: Any, operands: tuple[int, ...]) -> Term:
    """Multiply, divide or negate coefficients; scale a smaller factor of them instead, if they have one."""
    known = made.instructions[term.value]
    others = [i for i in operands if i != term.value]
    is_one = [made.is_one(i) for i in operands]
    if op is MULTIPLY and any(is_one):
        value = operands[is_one.index(True) - 1]
    elif known.op is MULTIPLY and made.size(known.inputs[1]) < made.size(term.value) and (
        not others or made.size(others[0]) <= made.size(known.inputs[1])
    ):
        factor = made.make(op, tuple(known.inputs[1] if i == term.value else i for i in operands))
        value = made.make(MULTIPLY, (known.inputs[0], factor))
    else:
        # The larger operand first, as above.
        if op is MULTIPLY and made.size(operands[0]) < made.size(operands[1]):
            operands = operands[::-1]
        value = made.make(op, operands)
    return Term(value, term.rows, term.columns, term.source)


def _beside(made: Triplets, term: Term, number: int, shape: tuple[int, ...]) -> int:
    """Return the entries of an input-independent operand, for each coefficient."""
    own = made.tape.instructions[number].type.shape
    new = made.number[number]
    if term.rows.shape == shape and (np.ravel(term.rows) == np.arange(term.rows.size)).all():
        return new  # broadcast by the op itself
    positions = term.rows
    if own != shape:
        ids = np.broadcast_to(np.arange(math.prod(own)).reshape(own), shape)
        positions = made.same(np.ravel(ids)[term.rows])
    return made.picked(new, positions)


def _without_zeros(made: Triplets, term: Term, factor: int, shape: tuple[int, ...]) -> Term:
    """Without coefficients that are multiplied by the zeros of a constant."""
    instruction = made.tape.instructions[factor]
    if instruction.op is not CONSTANT:
        return term
    nonzero = np.ravel(np.broadcast_to(instruction.params[0] != 0, shape))
    return term if nonzero.all() else made.restricted(term, nonzero[term.rows])


def _selected(made: Triplets, instruction: Instruction, terms: dict[int, list[Term]]) -> list[Term]:
    """Select the terms of each side, which are zero where the other one is chosen."""
    mask = instruction.inputs[0]
    if len(terms) == 2 and _entries(terms[1]) == _entries(terms[2]):
        return _tested(made, instruction, terms)
    found = []
    for k, side in terms.items():
        other = instruction.inputs[3 - k]
        if 3 - k not in terms and not made.is_zero(other) and not _is_nan(made, other):
            raise NotInTriplets
        zero = made.constant(np.nan if 3 - k not in terms and _is_nan(made, other) else 0.0, ValueType((), instruction.type.dtype))
        for term in side:
            sides = (term.value, zero) if k == 1 else (zero, term.value)
            value = made.make(SELECT, (_beside(made, term, mask, instruction.type.shape), *sides))
            found.append(Term(value, term.rows, term.columns, term.source))
    return found


def _tested(made: Triplets, instruction: Instruction, terms: dict[int, list[Term]]) -> list[Term]:
    """Apply the test for discarded coefficients, and their replacement by 0: see transforms/reverse.py."""
    entries = [_entries(found) for found in terms.values()]
    if any(e != entries[0] for e in entries):
        raise NotInTriplets
    if instruction.op is SELECT and not all(k in terms or made.is_zero(instruction.inputs[k]) for k in (1, 2)):
        raise NotInTriplets
    return [_applied(made, instruction, dict(zip(terms, group))) for group in zip(*terms.values())]


def _is_nan(made: Triplets, number: int) -> bool:
    instruction = made.tape.instructions[number]
    return instruction.op is CONSTANT and bool(np.isnan(instruction.params[0]).all())


def _entries(terms: list[Term]) -> list[tuple[int, int, int]]:
    """Return comparable keys of the terms' entries and inputs."""
    return [(id(t.rows), id(t.columns), t.source) for t in terms]


# Operations that move entries or add them up: the op is evaluated on the entries' numbers.


def _moved(made: Triplets, instruction: Instruction) -> list[Term]:
    i = instruction.inputs[0]
    type_ = made.tape.instructions[i].type
    ids = np.arange(type_.size).reshape(type_.shape)
    return made.moved(i, np.asarray(instruction.op.evaluate(ids, *instruction.params)))


def _known_positions(made: Triplets, instruction: Instruction, operand: int) -> np.ndarray:
    number = instruction.inputs[operand]
    known = known_positions(made.tape.instructions, number)
    if known is None or number in made.terms:
        raise NotInTriplets
    return known


def _gathered(made: Triplets, instruction: Instruction) -> list[Term]:
    return made.moved(instruction.inputs[0], _known_positions(made, instruction, 1))


def _scattered(made: Triplets, instruction: Instruction) -> list[Term]:
    return made.combined(instruction.inputs[0], _known_positions(made, instruction, 1))


def _reduced(made: Triplets, instruction: Instruction) -> list[Term]:
    i, (axes,) = instruction.inputs[0], instruction.params
    shape = made.tape.instructions[i].type.shape
    kept = tuple(1 if k in axes else extent for k, extent in enumerate(shape))
    return made.combined(i, np.broadcast_to(np.arange(math.prod(kept)).reshape(kept), shape))


def _assembled(made: Triplets, instruction: Instruction) -> list[Term]:
    regions, shape, _ = instruction.params
    return [t for i, region in zip(instruction.inputs, regions) for t in _into_region(made, i, region, shape)]


def _into_region(made: Triplets, i: int, region: Region, shape: tuple[int, ...]) -> list[Term]:
    return _combined(made, i, np.arange(math.prod(shape)).reshape(shape)[region.slices])


def _combined(made: Triplets, i: int, places: np.ndarray) -> list[Term]:
    """As Triplets.combined; an input-independent value must be zero, or else the result is not linear."""
    if i in made.terms:
        return made.combined(i, places)
    if not made.is_zero(i):
        raise NotInTriplets
    return []


def _replaced(made: Triplets, instruction: Instruction) -> list[Term]:
    x, *parts = instruction.inputs
    shape, (regions,) = instruction.type.shape, instruction.params
    kept = np.arange(math.prod(shape)).reshape(shape)
    for region in regions:
        kept[region.slices] = -1
    found = [t for i, region in zip(parts, regions) for t in _into_region(made, i, region, shape)]
    return [*_combined(made, x, kept), *found]


def _put(made: Triplets, instruction: Instruction) -> list[Term]:
    """Where positions repeat, keep the last value."""
    x, v, _ = instruction.inputs
    at = _known_positions(made, instruction, 2)
    size = math.prod(instruction.type.shape)
    kept, last = np.arange(size), np.full(size, -1)
    kept[np.ravel(at)] = -1
    last[np.ravel(at)] = np.arange(at.size)
    places = np.where(last[np.ravel(at)] == np.arange(at.size), np.ravel(at), -1)
    return [*_combined(made, x, kept), *_combined(made, v, places)]


# Products


def _product(made: Triplets, instruction: Instruction) -> list[Term]:
    """Multiply a known matrix by a vector."""
    left, right = instruction.inputs
    is_right = right in made.terms
    known, vector = (left, right) if is_right else (right, left)
    shape, length = made.tape.instructions[known].type.shape, made.tape.instructions[vector].type.size
    # A vector, or a matrix of one column (of one row).
    is_vector = made.tape.instructions[vector].type.shape in ((length,), (length, 1) if is_right else (1, length))
    if known in made.terms or not is_vector or len(shape) > 2:
        raise NotInTriplets
    matrix = made.number[known]
    if len(shape) == 1:
        matrix = made.reshaped(matrix, (1, length))
    elif not is_right:
        matrix = made.make(TRANSPOSE, (matrix,), ((1, 0),))
    found = []
    for source in sorted({t.source for t in made.terms[vector]}):
        found += _multiplied(made, matrix, [t for t in made.terms[vector] if t.source == source])
    return [made.summed(term) for term in found]


def _multiplied(made: Triplets, matrix: int, terms: list[Term]) -> list[Term]:
    """Return columns of the matrix for each coefficient; if several share a column, a product with a block of all."""
    count, length = made.shape(matrix)
    columns = np.unique(np.concatenate([np.ravel(t.columns) for t in terms]))
    if sum(t.rows.size for t in terms) == len(columns):
        return [_by_columns(made, matrix, t) for t in terms]
    block = _block(made, terms, columns, length)
    value = made.make(MATMUL, (matrix, block))
    ids = np.broadcast_to(np.arange(count)[:, None], (count, len(columns)))
    return [Term(value, made.same(ids), made.same(np.broadcast_to(columns, ids.shape)), terms[0].source)]


def _by_columns(made: Triplets, matrix: int, term: Term) -> Term:
    count, length = made.shape(matrix)
    flat = np.ravel(term.rows)
    value = matrix
    if len(flat) != length or (flat != np.arange(length)).any():
        value = made.picked(matrix, made.same(np.arange(count)[:, None] * length + flat))
    columns = made.same(np.broadcast_to(np.ravel(term.columns), (count, len(flat))))
    ids = made.same(np.broadcast_to(np.arange(count)[:, None], columns.shape))
    made_of = Term(value, ids, columns, term.source)
    if made.is_one(term.value):
        return made_of
    factor = made.reshaped(made.whole(term), flat.shape)
    return _scaled(made, made_of, MULTIPLY, (made_of.value, factor))


def _block(made: Triplets, terms: list[Term], columns: np.ndarray, length: int) -> int:
    """Terms of a vector as a matrix of some columns."""
    shape = (length, len(columns))
    (term, *more) = terms
    if not more and term.rows.shape == shape:
        ids = np.arange(length)[:, None]
        if (term.rows == ids).all() and (term.columns == columns).all():
            return made.whole(term)
    positions = [t.rows * len(columns) + np.searchsorted(columns, t.columns) for t in terms]
    flat = ValueType((math.prod(shape),), made.instructions[term.value].type.dtype)
    return made.reshaped(placed(made, terms, positions, flat), shape)


RULES: dict[Any, Callable[[Triplets, Instruction], list[Term]]] = {
    **dict.fromkeys((INDEX, RESHAPE, TRANSPOSE, BROADCAST), _moved),
    GATHER: _gathered,
    SCATTER_ADD: _scattered,
    SUM: _reduced,
    ASSEMBLE: _assembled,
    REPLACE: _replaced,
    PUT: _put,
    MATMUL: _product,
}
