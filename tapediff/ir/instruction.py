"""The words of the intermediate representation: value types, instructions and guards.

    tape        ::= instruction*  inputs  outputs
    instruction ::= v{i} : type = op(v{j}, ..., parameter, ...)   with every j < i
    type        ::= dtype [ shape ] | dynamic array of type | ( type, ... )
    op          ::= input | constant | guard | a differentiable primitive of tapediff.ops

Instruction i defines value i. A guard defines no usable value: it checks that a value which Python looked at while recording
is still what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from ..base.source_location import Site
from ..errors import Outcome, describe

FLOAT64 = np.dtype(np.float64)
INT64 = np.dtype(np.int64)
BOOL = np.dtype(np.bool_)

# A value that ops compute with: an array, a number, or a tracked array. No static type covers all that can be done with any of them.
Operand: TypeAlias = Any
# Arrays and numbers, tracked or plain, and tuples, lists and dicts of these; results of the user's functions.
Tree: TypeAlias = Any
# A user's function: from arrays, numbers and containers of these to the same kinds of values.
UserFunction: TypeAlias = Callable[..., Tree]


class Target(Protocol):
    """Anything that has derivatives: a function, a Tape, a CompiledTape or a GuardedTape. All are called in the same way."""

    def __call__(self, *args: Tree, **named: Tree) -> Tree: ...


# A static parameter of an instruction: a shape, an axis, a region, a dtype, a callee; its op's functions know which.
Param: TypeAlias = Any
# The static parameters of an instruction, in the order of its op's names for them.
Params: TypeAlias = tuple[Param, ...]


class ValueType(NamedTuple):
    """Shape and dtype of a value."""

    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def size(self) -> int:
        size = 1
        for extent in self.shape:
            size *= extent
        return size

    @property
    def is_float(self) -> bool:
        return self.dtype.kind == "f"

    def __str__(self) -> str:
        return f"{self.dtype.name}[{', '.join(map(str, self.shape))}]"

    def __reduce__(self) -> tuple[Callable[..., ValueType], tuple[object, ...]]:
        return _value_type, (self.shape, self.dtype.str)


def _value_type(shape: tuple[int, ...], dtype: str) -> ValueType:
    """A type with NumPy's own dtype object; unpickled dtypes are equal to it but not identical."""
    return ValueType(shape, np.dtype(dtype))


FLOAT_SCALAR = ValueType((), FLOAT64)
INT_SCALAR = ValueType((), INT64)
BOOL_SCALAR = ValueType((), BOOL)


# The dtype of values other than arrays: tuples of several values, and dynamic arrays.
TUPLE = np.dtype("V8")


class DynamicArrayType(NamedTuple):
    """A sequence of arrays of one type whose length is known only when the tape runs."""

    item: ValueType
    dtype: np.dtype = TUPLE

    @property
    def shape(self) -> tuple[int, ...]:
        return ()

    @property
    def size(self) -> int:
        return 1

    @property
    def is_float(self) -> bool:
        return self.item.is_float

    def __str__(self) -> str:
        return f"dynamic array of {self.item}"

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return DynamicArrayType, (self.item,)


class TupleType(NamedTuple):
    """The results of a call or a loop, taken apart by `get` instructions."""

    items: tuple[ValueType | DynamicArrayType, ...]
    dtype: np.dtype = TUPLE

    @property
    def shape(self) -> tuple[int, ...]:
        return ()

    @property
    def size(self) -> int:
        return 1

    @property
    def is_float(self) -> bool:
        return False

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.items))})"

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return TupleType, (self.items,)


AnyType: TypeAlias = ValueType | DynamicArrayType | TupleType
# The type of an instruction's result: a ValueType, except for calls, loops and `get`, which may have another AnyType.
ResultType: TypeAlias = ValueType | Any


class Primitive:
    """An op, as instructions hold it: one of the three below, or one that `ops/` declares.

    Its attributes are fields of `ops.declaration.Op`; values here are the defaults.
    """

    name: str
    evaluate: Callable[..., Operand]
    infer: Callable[..., ResultType]
    vjp: tuple[Callable[..., Operand] | None, ...] | Callable[..., Sequence[Operand]]
    checked: Callable[..., Operand] | None
    compares: Callable[..., tuple[Operand, Operand, Operand]] | None = None
    squared: tuple[Callable[..., Operand] | None, ...] | None = None
    jump: Callable[[np.ndarray], np.ndarray] | None = None
    moves: bool = False
    is_view: bool = False
    raises: bool = False

    def named(self, params: Params) -> dict[str, Param]:
        """The static parameters by name."""
        raise NotImplementedError

    def __call__(self, *args: Operand, **named: Param) -> Operand:
        raise NotImplementedError


class StructuralOp(Primitive):
    """An op without mathematics: input, constant and guard."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        return self.name.upper()  # pickled by its name in this module


class Instruction(NamedTuple):
    """One operation: its primitive, the values it reads, its static parameters, the type of its result, the user's line."""

    op: Primitive
    inputs: tuple[int, ...]
    params: Params
    type: ResultType
    site: Site | None


class Columns(NamedTuple):
    """Instructions as arrays: instruction i is template `which[i]` with up to two numbers, whose meaning `takes` of the template gives.

    Attributes:
        templates: an instruction for each operation at each place of the program, without what changes between iterations.
        takes: OWN: the template is the instruction; ONE, TWO: the numbers are its operands; ENTRY: it reads the entry of array `first` at
            flat position `second`; ORDINAL: the guard on value `first` with ordinal `second`; NUMBER: a float64 with the bits `second`.
    """

    templates: list[Instruction]
    takes: np.ndarray
    which: np.ndarray
    first: np.ndarray
    second: np.ndarray


OWN, ONE, TWO, ENTRY, ORDINAL, NUMBER = range(6)


class ColumnInstructions(Sequence[Instruction]):
    """The instructions of a long tape, kept as arrays. All are built once many of them were read one by one.

    Attributes:
        columns: the arrays.
    """

    columns: Columns

    def some(self, numbers: Sequence[int]) -> list[Instruction]:
        """A few of the instructions."""
        raise NotImplementedError

    def like(self, columns: Columns) -> Sequence[Instruction]:
        """Other instructions, kept in the same way."""
        raise NotImplementedError


def some_of(instructions: Sequence[Instruction], numbers: Sequence[int]) -> list[Instruction]:
    """The instructions of these numbers, without building the others."""
    if isinstance(instructions, ColumnInstructions):
        return instructions.some(numbers)
    return [instructions[number] for number in numbers]


def numbers_of(instructions: Sequence[Instruction], numbers: np.ndarray) -> np.ndarray:
    """The values of constants of one type, in a row."""
    columns = columns_of(instructions)
    if columns is not None and bool((columns.takes[columns.which[numbers]] == NUMBER).all()):
        return columns.second[numbers].view(np.float64)
    return np.array([made.params[0] for made in some_of(instructions, numbers.tolist())])


def columns_of(instructions: Sequence[Instruction]) -> Columns | None:
    """The instructions of a tape as arrays, if it keeps them so; else None."""
    return instructions.columns if isinstance(instructions, ColumnInstructions) else None


def item_types(instruction: Instruction) -> tuple[ValueType | DynamicArrayType, ...]:
    """The types of the results of a call or a loop."""
    assert isinstance(instruction.type, TupleType)
    return instruction.type.items


INPUT = StructuralOp("input")  # params: (position,)
CONSTANT = StructuralOp("constant")  # params: (read-only array,)
# params: (kind, outcome, ordinal), and of kind "each" its columns, see guard_rows; inputs: the value looked at
GUARD = StructuralOp("guard")

GUARD_KINDS = ("bool", "int", "array", "each")


@dataclass(frozen=True, slots=True)
class Guard:
    """A guard in readable form: its line, its kind, the value it checks and the required outcome."""

    ordinal: int
    kind: str
    value: int
    outcome: Outcome
    site: Site | None

    def __str__(self) -> str:
        return f"{self.site or 'unknown line'} → {describe(self.outcome)}"


class SupportsRecording(Protocol):
    """The Recorder, as seen by the values that belong to it.

    Attributes:
        level: its nesting depth in other recordings.
        site: the user's line that instructions are recorded for; None to look it up.
    """

    level: int
    site: Site | None

    def apply(self, op: Primitive, args: Sequence[Operand], params: Params = ()) -> Operand: ...

    def observe(self, value: Recorded, kind: str) -> Outcome: ...


class Recorded:
    """Base of every value that belongs to a recording; ops find the recorder through such an argument."""

    __slots__ = ()
    _recorder: SupportsRecording


class Computes:
    """An operand to which tracked arrays leave all operations with it: it behaves like an array that it does not hold."""

    __slots__ = ()

    def settled(self) -> Operand:
        """The tracked array that it stands for, by guards if need be."""
        raise NotImplementedError

    def first_entries(self) -> tuple[Sequence[int], Sequence[Operand]] | None:
        """As a result: axes, and an array with the number of its first entries along each that exist; None to settle it."""
        raise NotImplementedError

    def applied(self, form: str, function: Callable[..., Operand], args: tuple[Operand, ...], named: dict[str, Operand]) -> Operand:
        """The result of a function of a known form; see `of_form`."""
        raise NotImplementedError

    def read_from(self, array: Operand, index: Operand) -> Operand:
        """array[index], where this is the index or a part of it."""
        raise NotImplementedError

    def written_at(self, array: Operand, index: Operand) -> Operand:
        """The next version of an array after this was written to some of its entries."""
        raise NotImplementedError

    def written_through(self, array: Operand, index: Operand, value: Operand) -> Operand:
        """Likewise after a value was written where this is the index or a part of it."""
        raise NotImplementedError


def of_form(form: str) -> Callable[[Callable[..., Operand]], Callable[..., Operand]]:
    """Wrap a function of arrays so that operands that are `Computes` answer it; the forms are those of recording/arrays."""

    def wrapper(function: Callable[..., Operand]) -> Callable[..., Operand]:
        @wraps(function)
        def call(*args: Operand, **named: Operand) -> Operand:
            for value in args:
                found: Operand = value[0] if type(value) is tuple and value else value
                if issubclass(type(found), Computes):
                    return found.applied(form, function, args, named)
            return function(*args, **named)

        return call

    return wrapper


def is_tracked(value: object) -> bool:
    """True if a value belongs to a recording."""
    return isinstance(value, Recorded)


def observed(value: Recorded, kind: str) -> Outcome:
    """The outcome of a tracked value that Python needs, guarded by its recording from now on."""
    return value._recorder.observe(value, kind)


def innermost_recorder(values: Iterable[object]) -> SupportsRecording | None:
    """The innermost recording that any of the values belongs to."""
    recorder = None
    for value in values:
        if isinstance(value, Recorded):
            candidate = value._recorder
            if recorder is None or candidate.level > recorder.level:
                recorder = candidate
    return recorder
