"""A tape as operations on single numbers: its elements, tables of the operations between them, and which of these have an adjoint.

Arrays of a few entries are taken apart. What only moves entries about (indexing, reshaping, stacking) moves their numbers here, and is
no operation at run time.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ...ir.instruction import (
    BOOL,
    CONSTANT,
    FLOAT64,
    GUARD,
    INPUT,
    INT64,
    Instruction,
    Operand,
    Params,
    Primitive,
    ValueType,
)
from ...ir.tape import Tape
from ...ops import Elementwise, Op
from ...ops.arrays.indexing import ASSEMBLE, PUT, REPLACE
from ...ops.arrays.reductions import SUM
from ...ops.elementwise.arithmetic import ADD, CONVERT, MULTIPLY
from ...ops.matrices.products import MATMUL
from .kink_squares import KinkSquare, kink_squares

# Arrays are better in loops on SIMD lanes, which take a third of the time of as many operations on numbers and a half of that of 3 or 4;
# but compiling these takes 0.5 ms an instruction, and sweeps less than 0.1. So a tape may have so many operations on numbers for each
# instruction, and so many if it is longer than LONG, where compiling would take two seconds and pay after 100 000 calls.
MOST_OPERATIONS, MOST_IF_LONG, LONG = 2, 8, 4000

KINDS = {FLOAT64: "f64", INT64: "i64", BOOL: "i1"}


class Form(NamedTuple):
    """What operations have in common that one handler does: op, parameters, kinds of operands and of the result. Of guards: the kind of
    guard as the parameter, and whether its outcome is NaN."""

    op: Primitive
    params: Params
    kinds: tuple[str, ...]
    kind: str


class Unsuited(Exception):
    """A tape has something that the tables do not."""


@dataclass(slots=True)
class Elements:
    """The operations of a tape on numbers.

    Attributes:
        forms: of operations; `form_of[k]` is the number of operation k's.
        rows: its operands, numbers of elements. A guard's: the element that it looks at, and a constant, its outcome.
        results: the element that it makes; -1 for guards.
        makers: the instruction that it is a part of.
        ids: by value of the tape, its element, or an array of them; None for guards.
        constants: elements, by kind and bits.
        inputs: the first element and how many, by position.
        ordinals: of guards, by number of the operation.
        kinds: of the elements.
        filler: a constant that is there to be read by what only fills runs up.
        squares: of values with a kink, by instruction.
    """

    forms: list[Form] = field(default_factory=list)
    form_of: list[int] = field(default_factory=list)
    rows: list[tuple[int, ...]] = field(default_factory=list)
    results: list[int] = field(default_factory=list)
    makers: list[int] = field(default_factory=list)
    ids: list[Operand] = field(default_factory=list)
    constants: dict[tuple[str, bytes], int] = field(default_factory=dict)
    inputs: dict[int, tuple[int, int]] = field(default_factory=dict)
    ordinals: dict[int, int] = field(default_factory=dict)
    kinds: list[str] = field(default_factory=list)
    filler: int = -1
    squares: dict[int, KinkSquare | None] = field(default_factory=dict)


def elements_of(tape: Tape) -> Elements:
    """The operations of a tape. Raises Unsuited."""
    table = _Table(tape)
    known, elements = table.known, table.elements
    ids, scalar, kinds = elements.ids, table.scalar, elements.kinds
    form_of, rows, results, makers = elements.form_of, elements.rows, elements.results, elements.makers
    squares = elements.squares
    for number, (op, inputs, params, _, _) in enumerate(tape.instructions):
        # Nearly all operations are on one or two numbers, by a form that was met before.
        if len(inputs) == 2:
            i, j = inputs
            found = known.get((op, params, scalar[i], scalar[j]))
            row = (ids[i], ids[j])
        elif len(inputs) == 1 and op is not GUARD:
            found = known.get((op, params, scalar[inputs[0]]))
            row = (ids[inputs[0]],)
        else:
            found = row = None
        if found is None or row is None or number in squares:
            table.other(number)
            continue
        form, kind = found
        form_of.append(form)
        rows.append(row)
        makers.append(number)
        results.append(len(kinds))
        ids.append(len(kinds))
        scalar.append(kind)
        kinds.append(kind)
    return elements


class _Table:
    """The growing tables.

    Attributes:
        most: operations that it may have.
        known: the number of the form, and the kind of its result, by op, parameters and kinds of its operands.
        scalar: by value, the kind of a number; "" for arrays.
    """

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.elements = Elements()
        self.known: dict[Hashable, tuple[int, str]] = {}
        self.scalar: list[str] = []
        self.form_numbers: dict[Form, int] = {}
        count = len(tape.instructions)
        self.most = count * (MOST_OPERATIONS if count < LONG else MOST_IF_LONG)
        self.elements.filler = self.constant(1.0, "f64")
        self.elements.squares = kink_squares(tape)

    def define(self, ids: Operand, kind: str) -> None:
        self.elements.ids.append(ids)
        self.scalar.append(kind if isinstance(ids, int) else "")

    def other(self, number: int) -> None:
        """An instruction that is no operation on numbers of a form met before."""
        instruction = self.tape.instructions[number]
        op, _, params, type_, _ = instruction
        if op is GUARD:
            self._guard(instruction)
            return
        if type(type_) is not ValueType or type_.dtype not in KINDS:
            raise Unsuited
        kind = KINDS[type_.dtype]
        if op is INPUT:
            self._input(params[0], type_, kind)
            return
        if type_.size > self.most:
            raise Unsuited
        if number in self.elements.squares:
            self.define(self._plain(self._square(number, instruction), type_), kind)
        elif op is CONSTANT:
            self.define(self._constants(params[0]), kind)
        elif op.moves or op is REPLACE or op is ASSEMBLE or op is PUT:
            self.define(self._moved(instruction), kind)
        elif isinstance(op, Elementwise) or op is CONVERT:
            if kind != "f64" and isinstance(op, Op) and op.fails_on_integers:
                raise Unsuited
            self._elementwise(number, instruction)
        elif op is SUM and kind == "f64":
            self.define(self._plain(self._sum(number, self._array(instruction.inputs[0]), params[0]), type_), kind)
        elif op is MATMUL and kind == "f64":
            self.define(self._plain(self._product(number, instruction), type_), kind)
        else:
            raise Unsuited

    # Values

    def _input(self, position: int, type_: ValueType, kind: str) -> None:
        if kind == "i1":
            raise Unsuited
        kinds = self.elements.kinds
        first, size = len(kinds), type_.size
        self.elements.inputs[position] = (first, size)
        kinds += [kind] * size
        self.define(first if type_.shape == () else np.arange(first, first + size).reshape(type_.shape), kind)

    def constant(self, value: float, kind: str) -> int:
        bits = struct.pack("=d", value) if kind == "f64" else struct.pack("=q", int(value))
        known = self.elements.constants.get((kind, bits))
        if known is None:
            known = self.elements.constants[kind, bits] = len(self.elements.kinds)
            self.elements.kinds.append(kind)
        return known

    def _constants(self, array: np.ndarray) -> Operand:
        kind = KINDS[array.dtype]
        if array.shape == ():
            return self.constant(array.item(), kind)
        return np.array([self.constant(value, kind) for value in array.ravel().tolist()], int).reshape(array.shape)

    def _array(self, value: int) -> np.ndarray:
        return np.asarray(self.elements.ids[value])

    def _plain(self, ids: np.ndarray, type_: ValueType) -> Operand:
        return int(ids) if type_.shape == () else ids

    def _moved(self, instruction: Instruction) -> Operand:
        op, inputs, params, type_, _ = instruction
        if op is ASSEMBLE and not params[2]:
            raise Unsuited  # it adds
        arrays = [self._array(i) for i in inputs]
        if isinstance(op, Op) and op.positions is not None:
            at = op.positions[0]
            source = self.tape.instructions[inputs[at]]
            if source.op is not CONSTANT:
                raise Unsuited
            arrays[at] = source.params[0]
        if op is ASSEMBLE:
            # One more, so that what is 0 afterwards was not written.
            moved = np.asarray(op.evaluate(*[a + 1 for a in arrays], *params)) - 1
            moved = np.where(moved < 0, self.constant(0, KINDS[type_.dtype]), moved)
        else:
            moved = np.asarray(op.evaluate(*arrays, *params))
        return self._plain(moved, type_)

    # Operations

    def form(self, op: Primitive, params: Params, kinds: tuple[str, ...], kind: str) -> int:
        form = Form(op, params, kinds, kind)
        number = self.form_numbers.get(form)
        if number is None:
            number = self.form_numbers[form] = len(self.elements.forms)
            self.elements.forms.append(form)
        return number

    def operations(self, maker: int, form: int, operands: Sequence[np.ndarray]) -> np.ndarray:
        """An operation for every entry of the operands, which are broadcast; gives the elements of the results."""
        elements = self.elements
        arrays = np.broadcast_arrays(*operands)
        count, first = arrays[0].size, len(elements.kinds)
        if len(elements.rows) + count > self.most:
            raise Unsuited
        elements.form_of += [form] * count
        elements.rows += zip(*[array.ravel().tolist() for array in arrays])
        elements.makers += [maker] * count
        elements.results += range(first, first + count)
        elements.kinds += [elements.forms[form].kind] * count
        return np.arange(first, first + count).reshape(arrays[0].shape)

    def _elementwise(self, number: int, instruction: Instruction) -> None:
        op, inputs, params, type_, _ = instruction
        instructions = self.tape.instructions
        kinds = tuple([KINDS[instructions[i].type.dtype] for i in inputs])
        form = self.form(op, params, kinds, KINDS[type_.dtype])
        ids = self.operations(number, form, [self._array(i) for i in inputs])
        if type_.shape == () and len(inputs) < 3:
            self.known[op, params, *kinds] = form, KINDS[type_.dtype]
        self.define(self._plain(ids, type_), KINDS[type_.dtype])

    def _square(self, number: int, instruction: Instruction) -> np.ndarray:
        square = self.elements.squares[number]
        if square is None:
            raise Unsuited
        form = self.form(square.op, (), ("f64",) * len(square.operands), "f64")
        made = self.operations(number, form, [self._array(i) for i in square.operands])
        return self._sum(number, made, (0,)) if instruction.op is MATMUL else made

    def _sum(self, number: int, ids: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
        """By halves: the same order at every call, and short chains."""
        kept = [k for k in range(ids.ndim) if k not in axes]
        shape = tuple(ids.shape[k] for k in kept)
        terms = ids.transpose([*axes, *kept]).reshape(-1, *shape)
        if not len(terms):
            raise Unsuited
        add = self.form(ADD, (), ("f64", "f64"), "f64")
        while len(terms) > 1:
            half = len(terms) // 2
            terms = np.concatenate([self.operations(number, add, [terms[:half], terms[half : 2 * half]]), terms[2 * half :]])
        return terms[0]

    def _product(self, number: int, instruction: Instruction) -> np.ndarray:
        x, y = (self._array(i) for i in instruction.inputs)
        if x.ndim > 2 or y.ndim > 2:
            raise Unsuited
        left = x.reshape(*x.shape, *[1] * (y.ndim - 1))
        right = y.reshape(*[1] * (x.ndim - 1), *y.shape)
        multiply = self.form(MULTIPLY, (), ("f64", "f64"), "f64")
        return self._sum(number, self.operations(number, multiply, [left, right]), (x.ndim - 1,))

    def _guard(self, instruction: Instruction) -> None:
        kind, outcome, ordinal = instruction.params[:3]
        looked_at = self.elements.ids[instruction.inputs[0]]
        if kind not in ("bool", "int") or not isinstance(looked_at, int):
            raise Unsuited
        elements, of_value = self.elements, self.elements.kinds[looked_at]
        expected = self.constant(float(outcome), of_value) if kind == "int" and of_value == "f64" else (
            self.constant(int(outcome), of_value) if kind == "int" else self.constant(bool(outcome), "i1"))  # fmt: skip
        form = self.form(GUARD, (kind, outcome != outcome), (of_value,), "")
        elements.ordinals[len(elements.rows)] = ordinal
        elements.form_of.append(form)
        elements.rows.append((looked_at, expected))
        elements.makers.append(len(elements.ids))
        elements.results.append(-1)
        self.define(None, "")
