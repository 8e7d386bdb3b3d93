"""Reductions, products and look-ups of small arrays as operations on numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ....ir.instruction import CONSTANT, Instruction, Primitive
from ....ops.arrays.indexing import GATHER
from ....ops.arrays.reductions import ALL, ANY, CUMSUM, MAX, MIN, SUM
from ....ops.declaration.op import Op, declared_op
from ....ops.elementwise.arithmetic import ADD, MULTIPLY
from ....ops.elementwise.comparison import LOGICAL_AND, LOGICAL_OR
from ....ops.matrices.products import MATMUL
from .tables import OPERANDS, Table, Unsuited


def square(table: Table, number: int, instruction: Instruction) -> np.ndarray:
    """Add the square of a value with a kink."""
    found = table.squares[number]
    if found is None:
        raise Unsuited
    form = table.form(found.op, (), ("f64",) * len(found.operands), "f64")
    made = table.operations(number, form, [table.array(i) for i in found.operands])
    return _sum(table, number, made) if instruction.op is MATMUL else made


def _sum(table: Table, number: int, terms: np.ndarray) -> np.ndarray:
    """Sum many terms, in parts."""
    while len(terms) > 1:
        parts = np.array_split(terms, -(-len(terms) // OPERANDS))
        terms = np.stack([_several(table, number, SUM, list(part)) if len(part) > 1 else part[0] for part in parts])
    return terms[0]


def _several(table: Table, number: int, op: Op, operands: Sequence[np.ndarray]) -> np.ndarray:
    """An operation on several numbers."""
    count = len(operands)
    form = table.form(ADD if op is SUM and count == 2 else op, (), ("f64",) * count, "f64")
    return table.operations(number, form, operands)


def _summed(table: Table, number: int, instruction: Instruction) -> np.ndarray:
    terms, kind = _terms(table, instruction)
    if kind == "f64":
        return _sum(table, number, terms)
    if kind == "i1":
        raise Unsuited
    return _by_halves(table, number, ADD, kind, terms)


def _by_halves(table: Table, number: int, op: Op, kind: str, terms: np.ndarray) -> np.ndarray:
    """Reduce pairwise by a binary operation: short chains, always in the same order."""
    form = table.form(op, (), (kind, kind), kind)
    while len(terms) > 1:
        half = len(terms) // 2
        terms = np.concatenate([table.operations(number, form, [terms[:half], terms[half : 2 * half]]), terms[2 * half :]])
    return terms[0]


def _all_or_any(table: Table, number: int, instruction: Instruction) -> np.ndarray:
    terms, kind = _terms(table, instruction)
    if kind != "i1":
        raise Unsuited
    return _by_halves(table, number, LOGICAL_AND if instruction.op is ALL else LOGICAL_OR, kind, terms)


def _extremum(table: Table, number: int, instruction: Instruction) -> np.ndarray:
    """Take the extremum of all entries in one operation, which shares the cotangent among the extremal ones."""
    terms, kind = _terms(table, instruction)
    if len(terms) > OPERANDS or kind != "f64":
        raise Unsuited
    return _several(table, number, declared_op(instruction), list(terms))


def _cumulated(table: Table, number: int, instruction: Instruction) -> np.ndarray:
    axis, backwards = instruction.params
    ids, kind = table.array(instruction.inputs[0]), table.kind_of(instruction.inputs[0])
    if not ids.size or kind == "i1":
        raise Unsuited
    terms = np.moveaxis(np.flip(ids, axis) if backwards else ids, axis, 0)
    add, sums = table.form(ADD, (), (kind, kind), kind), [terms[0]]
    for term in terms[1:]:
        sums.append(table.operations(number, add, [sums[-1], term]))
    cumulated = np.moveaxis(np.array(sums), 0, axis)
    return np.flip(cumulated, axis) if backwards else cumulated


def _looked_up(table: Table, number: int, instruction: Instruction) -> np.ndarray:
    """Look up entries at computed positions, in arrays whose elements are consecutive."""
    source, positions = instruction.inputs
    kind, is_constant = table.kind_of(source), table.template(source).op is CONSTANT
    ids = table.in_order(source) if is_constant else table.array(source).ravel()
    if kind == "i1" or not len(ids) or (ids != np.arange(ids[0], ids[0] + len(ids))).any():
        raise Unsuited
    if not is_constant and not any(first <= ids[0] and ids[-1] < first + size for first, size in table.inputs.values()):
        raise Unsuited
    return table.operations(number, table.form(GATHER, (), (kind, "i64"), kind), [ids[0], table.array(positions)])


def _product(table: Table, number: int, instruction: Instruction) -> np.ndarray:
    x, y = (table.array(i) for i in instruction.inputs)
    if x.ndim > 2 or y.ndim > 2 or not len(y) or table.kind_of(instruction.inputs[0]) != "f64":
        raise Unsuited
    lines = (*x.shape[:-1], *[1] * (y.ndim - 1))
    pairs = [(x[..., k].reshape(lines), y[k]) for k in range(len(y))]
    parts = [pairs[k : k + OPERANDS // 2] for k in range(0, len(pairs), OPERANDS // 2)]
    return _sum(table, number, np.stack([_dot(table, number, part) for part in parts]))


def _dot(table: Table, number: int, pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    left, right = zip(*pairs)
    return _several(table, number, MULTIPLY if len(pairs) == 1 else MATMUL, (*left, *right))


def _terms(table: Table, instruction: Instruction) -> tuple[np.ndarray, str]:
    """The terms of a reduction, along a first axis, and their kind."""
    (number,), (axes,) = instruction.inputs, instruction.params
    ids = table.array(number)
    kept = [k for k in range(ids.ndim) if k not in axes]
    terms = ids.transpose([*axes, *kept]).reshape(-1, *[ids.shape[k] for k in kept])
    if not terms.size:
        raise Unsuited
    return terms, table.kind_of(number)


# The elements of the result, by op.
TAKEN_APART: dict[Primitive, Callable[[Table, int, Instruction], np.ndarray]] = {
    SUM: _summed, ALL: _all_or_any, ANY: _all_or_any, MAX: _extremum, MIN: _extremum, CUMSUM: _cumulated, GATHER: _looked_up,
    MATMUL: _product,
}  # fmt: skip
