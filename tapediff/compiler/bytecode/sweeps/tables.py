"""The tables of elements and of operations between them, which a tape is taken apart into: see elements.py."""

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

# Arrays are better in loops on SIMD lanes: of 3 entries they take a half to all of the time of as many operations on numbers, of 8 a
# third, of 16 a quarter. But compiling these takes 0.3 to 1 ms an instruction, and sweeps a tenth of it, so that with 8 entries it pays
# after 50 000 calls. So a tape may have so many operations on numbers for each instruction, and so many if it is longer than LONG, where
# compiling takes seconds.
MOST_OPERATIONS, MOST_IF_LONG, LONG = 8, 24, 4000

KINDS = {FLOAT64: "f64", INT64: "i64", BOOL: "i1"}

# An operation has at most so many operands: a sum, or the greatest of so many numbers, or a dot product of half as many pairs.
OPERANDS = 12


class Form(NamedTuple):
    """What operations have in common that one handler does: op, parameters, kinds of operands and of the result. Of guards: the kind of
    guard as the parameter, and whether its outcome is NaN."""

    op: Primitive
    params: Params
    kinds: tuple[str, ...]
    kind: str


class Unsuited(Exception):
    """A tape has something that the tables do not."""


@dataclass(frozen=True, slots=True)
class Elements:
    """The operations of a tape on numbers. The element that an instruction makes, if it is one operation, has the number of that one.

    Attributes:
        forms: of operations; `form_of[k]` is the number of operation k's.
        operands: numbers of elements, those of one operation behind those of the one before. A guard's: the element that it looks at,
            and a constant, its outcome.
        counts: how many each operation has; `begins`, where they begin.
        results: the element that it makes; -1 for guards.
        makers: the instruction that it is a part of.
        ids: by value of the tape, its element, or an array of them; None for guards.
        constants: elements, by kind and bits; of tables, by the place, too.
        inputs: the first element and how many, by position.
        ordinals: of guards, by number of the operation.
        kinds: of the elements.
        filler: a constant that is there to be read by what only fills runs up.
        squares: of values with a kink, by instruction.
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
    """The growing tables: of all operations but those that are found all at once.

    Attributes:
        columns: the tape as arrays.
        most: operations that there may be.
        before: by instruction, how many operations found all at once stand before it; none if it is empty.
        known: the number of the form by op, parameters and kinds of its operands.
        scalar: by value, the kind of a number; "" for arrays.
        in_orders: of constant arrays that are looked up, by value, their elements.
        rows: by operation, its operands. The others are as of Elements.
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
        """The element of a number; another one for each place in a table."""
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
        """The numbers of a constant array, once more: elements that stand one behind the other."""
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
        """An operation for every entry of the operands, which are broadcast; gives the elements of the results."""
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
    """All entries of what is broadcast."""
    if ids.shape == shape:
        return ids.ravel().tolist()
    return [ids.item()] * count if ids.size == 1 else np.broadcast_to(ids, shape).ravel().tolist()
