"""The tables of elements, and of operations between them, that a tape is split into: see elements.py."""

from __future__ import annotations

import math
import struct
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ....ir.instruction import (
    BOOL,
    FLOAT64,
    INT64,
    AnyType,
    Columns,
    Instruction,
    Operand,
    Params,
    Primitive,
    ValueType,
)
from ....ir.tape import Tape
from .kink_squares import KinkSquare, kink_squares

# Arrays are faster in loops on SIMD lanes: of 3 entries they take 50 to 100 % of the time of as many scalar operations, of 8 a third, of 16
# a quarter. But compiling takes 0.3 to 1 ms an instruction, and sweeps a tenth of that, so with 8 entries it pays after 50 000 calls. Hence
# these limits on scalar operations per instruction; the second one for tapes longer than LONG, whose compilation takes seconds.
MOST_OPERATIONS, MOST_IF_LONG, LONG = 8, 24, 4000

KINDS = {FLOAT64: "f64", INT64: "i64", BOOL: "i1"}

# Limit on the operands of an operation: numbers of a sum or extremum, or half as many pairs of a dot product.
OPERANDS = 12


class Form(NamedTuple):
    """The key of a handler: op, parameters, kinds of operands and of the result. For guards: the kind of guard as the parameter, and True
    if the outcome is NaN."""

    op: Primitive
    params: Params
    kinds: tuple[str, ...]
    kind: str


class Unsuited(Exception):
    """A tape has an instruction that the tables do not support."""


@dataclass(frozen=True, slots=True)
class Elements:
    """The scalar operations of a tape. The element of an instruction that is one operation has the number of that instruction.

    Attributes:
        forms: the distinct forms; `form_of[k]` is the form number of operation k.
        operands: element numbers, concatenated for all operations. A guard has two: the element that it checks, and a constant, its
            outcome.
        counts: the number of operands of each operation; `begins`, their start in `operands`.
        results: the element that each operation computes; -1 for guards.
        makers: the instruction of each operation.
        ids: by value of the tape, its element, or an array of elements; None for guards.
        constants: elements by kind and bits; for look-up tables, by the position, too.
        inputs: by position, the first element and the number of elements.
        ordinals: guard ordinals, by operation number.
        kinds: types of the elements.
        filler: a constant that padding reads.
        squares: squares of values with a kink, by instruction.
    """

    forms: list[Form]
    form_of: np.ndarray
    operands: np.ndarray
    counts: np.ndarray
    begins: np.ndarray
    results: np.ndarray
    makers: np.ndarray
    ids: list[Operand]
    constants: dict[tuple[str, bytes, *tuple[int, ...]], int]
    inputs: dict[int, tuple[int, int]]
    ordinals: dict[int, int]
    kinds: list[str]
    filler: int
    squares: dict[int, KinkSquare | None]


class Table:
    """The growing tables, for all operations that are not found all at once.

    Attributes:
        columns: the tape as arrays.
        most: limit on the number of operations.
        before: by instruction, the number of earlier operations that are found all at once; empty if there are none.
        known: form numbers by op, parameters and kinds of the operands.
        scalar: by value, its kind if it is a number; "" for arrays.
        in_orders: by value, the elements of constant look-up tables.
        rows: by operation, its operands. The other attributes are as in Elements.
    """

    def __init__(self, tape: Tape, columns: Columns) -> None:
        self.tape, self.columns = tape, columns
        self.before = np.zeros(0, np.int64)
        self.known: dict[Hashable, int] = {}
        kind_of = [kind_of_number(i.type) for i in columns.templates]
        self.scalar = [kind_of[k] for k in columns.which.tolist()]
        self.form_numbers: dict[Form, int] = {}
        self.in_orders: dict[int, np.ndarray] = {}
        count = len(self.scalar)
        self.most = count * (MOST_OPERATIONS if count < LONG else MOST_IF_LONG)
        self.forms: list[Form] = []
        self.form_of: list[int] = []
        self.rows: list[tuple[int, ...]] = []
        self.results: list[int] = []
        self.makers: list[int] = []
        self.ids: list[Operand] = list(range(count))
        self.constants: dict[tuple[str, bytes, *tuple[int, ...]], int] = {}
        self.inputs: dict[int, tuple[int, int]] = {}
        self.ordinals: dict[int, int] = {}
        self.kinds = list(self.scalar)
        self.filler = self.constant(1.0, "f64")
        self.squares = kink_squares(tape)

    def define(self, number: int, ids: Operand, kind: str) -> None:
        self.ids[number] = ids
        self.scalar[number] = kind if isinstance(ids, int) else ""

    def constant(self, value: float, kind: str, *place: int) -> int:
        """The element of a number; a separate one for each place in a look-up table."""
        bits = struct.pack("=d", value) if kind == "f64" else struct.pack("=q", int(value))
        return self.constant_of(kind, bits, *place)

    def constant_of(self, kind: str, bits: bytes, *place: int) -> int:
        known = self.constants.get((kind, bits, *place))
        if known is None:
            known = self.constants[kind, bits, *place] = len(self.kinds)
            self.kinds.append(kind)
        return known

    def array_of_constants(self, array: np.ndarray) -> Operand:
        kind = KINDS[array.dtype]
        if array.shape == ():
            return self.constant(array.item(), kind)
        return np.array([self.constant(value, kind) for value in array.ravel().tolist()], int).reshape(array.shape)

    def in_order(self, value: int) -> np.ndarray:
        """Copies of the numbers of a constant array, as consecutive elements."""
        if value not in self.in_orders:
            array = self.tape.instructions[value].params[0]
            numbers, place = array.ravel().tolist(), len(self.in_orders) + 1
            self.in_orders[value] = np.array([self.constant(n, KINDS[array.dtype], place, k) for k, n in enumerate(numbers)], int)
        return self.in_orders[value]

    def kind_of(self, value: int) -> str:
        return KINDS[self.template(value).type.dtype]

    def template(self, value: int) -> Instruction:
        return self.columns.templates[self.columns.which[value]]

    def array(self, value: int) -> np.ndarray:
        return np.asarray(self.ids[value])

    def plain(self, ids: np.ndarray, type_: ValueType) -> Operand:
        return int(ids) if type_.shape == () else ids

    # Operations

    def form(self, op: Primitive, params: Params, kinds: tuple[str, ...], kind: str) -> int:
        form = Form(op, params, kinds, kind)
        number = self.form_numbers.get(form)
        if number is None:
            number = self.form_numbers[form] = len(self.forms)
            self.forms.append(form)
        return number

    def operations(self, maker: int, form: int, operands: Sequence[np.ndarray]) -> np.ndarray:
        """Add an operation for every entry of the broadcast operands; return the elements of the results."""
        shape = operands[0].shape
        if any(each.shape != shape for each in operands):
            shape = np.broadcast_shapes(*[each.shape for each in operands])
        count, first = math.prod(shape), len(self.kinds)
        others = int(self.before[maker]) if self.before.size else 0
        if others + len(self.rows) + count > self.most:
            raise Unsuited
        self.form_of += [form] * count
        self.rows += zip(*[_spread(each, shape, count) for each in operands])
        self.makers += [maker] * count
        self.results += range(first, first + count)
        self.kinds += [self.forms[form].kind] * count
        return np.arange(first, first + count).reshape(shape)


def kind_of_number(type_: AnyType) -> str:
    return KINDS.get(type_.dtype, "") if type(type_) is ValueType and type_.shape == () else ""


def _spread(ids: np.ndarray, shape: tuple[int, ...], count: int) -> list[int]:
    """All entries, after broadcasting to the shape."""
    if ids.shape == shape:
        return ids.ravel().tolist()
    return [ids.item()] * count if ids.size == 1 else np.broadcast_to(ids, shape).ravel().tolist()
