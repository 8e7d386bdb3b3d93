"""The loop program: storages, loop steps, library calls and guard exits, between the tape and native code.

    program ::= group*
    group   ::= Straight((step | exit)*)          numbers and guards, outside loops
              | LoopNest(domain, step*)           one nest of loops; each step at every point of its own domain
              | Scan(step)                        a nest that stores running totals along its last loop
              | EmptyReduction(step)              a reduction over no entries: the neutral element
              | InPlace(step)                     reads or writes entries of an array that a loop changes where it is
              | RowBlocks((nest | routine)*)      nests over the same rows, one after the other on each block of rows
              | Bands(nest | blocks | routine)    the same in bands of rows, which several threads may run
              | Outlined(straight | nest | scan)  the same, as a function of its own
              | Interpreted((step | exit)*)       straight-line code that is run as byte code
              | RoutineCall(routine)              BLAS, LAPACK or an index routine
              | Invoke(callee)                    a call or a loop of a function that is compiled on its own
    step    ::= write[address] (combine)= expression(read[address], ...)
    address ::= storage, offset + sum of stride * loop index (+ the value of another read)

Every group has a `body`: its steps, exits and calls in order. A storage is written once, by one step or by a fill followed by steps on
parts of it, and read only afterwards; except carries written in place, which are read and written in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ...base.source_location import Site
from ...ir.instruction import DynamicArrayType, Param, Params, Primitive, ValueType
from ..llvm.values import ITEM_BYTES

# Neutral element of each reduction.
NEUTRAL: dict[str, float | bool] = {"add": 0.0, "maximum": -np.inf, "minimum": np.inf, "and": True, "or": False}
INTEGER_NEUTRAL: dict[str, int] = {"add": 0, "maximum": -(2**63), "minimum": 2**63 - 1}


def neutral(combine: str, kind: str) -> float | int | bool:
    """The neutral element as a number of a kind; integers have no infinity."""
    return INTEGER_NEUTRAL[combine] if kind == "i64" else NEUTRAL[combine]


# Not frozen: creating a frozen one takes four times as long, and every operation has some. Nobody mutates them. Nor a named tuple, whose
# attributes take five times as long to read.
@dataclass(slots=True, unsafe_hash=True)
class Storage:
    """Memory for one array, or a register for one number.

    Attributes:
        home: "input", "constant", "output" or "workspace".
        position: index of the input or output; byte offset in the constants or in the workspace.
        in_memory: True if it needs an address. A workspace storage may live in registers alone: schedule.placement decides.
    """

    number: int
    size: int
    kind: str
    home: str = "workspace"
    position: int = -1
    in_memory: bool = False

    @property
    def bytes(self) -> int:
        return self.size * ITEM_BYTES[self.kind]


# Not frozen for the same reason.
@dataclass(slots=True, unsafe_hash=True)
class Access:
    """The address that a step reads or writes, as a function of the loop indices.

    Attributes:
        index_read: index of another read of the step whose (integer) value is added to the address; -1 for none.
    """

    storage: int
    offset: int
    strides: tuple[int, ...]
    index_read: int = -1


@dataclass(frozen=True, slots=True)
class Literal:
    """A number that is part of the code."""

    value: float | int | bool
    kind: str


class Extent(int):
    """The extent of a loop that ends earlier: at the largest sum of an integer, in a storage of the caller's, and a number.

    Attributes:
        ends: the storages and the numbers.
        scale: how many iterations there are for each one of these, if it is several loops in one.
    """

    ends: frozenset[tuple[int, int]]
    scale: int

    def __new__(cls, value: int, ends: frozenset[tuple[int, int]], scale: int = 1) -> Extent:
        made = super().__new__(cls, value)
        made.ends, made.scale = ends, scale
        return made

    def __reduce__(self) -> tuple[type[Extent], tuple[int, frozenset[tuple[int, int]], int]]:
        return Extent, (int(self), self.ends, self.scale)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Extent) and int(self) == int(other) and (self.ends, self.scale) == (other.ends, other.scale)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((int(self), self.ends, self.scale))


# Numbers that an expression names in addition to its reads.
Parameters: TypeAlias = tuple[tuple[str, Param], ...]


# Not frozen, for the same reason.
@dataclass(slots=True, unsafe_hash=True)
class Step:
    """One assignment at every point of its domain.

    Attributes:
        domain: loop extents, outermost first; none is 1. An Extent is a loop that ends where the data end.
        expression: over the names r0, r1, ... of the reads and the names in `parameters`.
        combine: None to assign, else the reduction of values at the same address.
        is_scan: store the running total at every point (a cumulative sum along the last loop).
        is_disjoint_part: True for one of several steps that write disjoint parts of an array.
    """

    domain: tuple[int, ...]
    reads: tuple[Access | Literal, ...]
    expression: str
    parameters: Parameters
    write: Access
    combine: str | None = None
    is_scan: bool = False
    site: Site | None = None
    is_disjoint_part: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"r{k}" for k in range(len(self.reads)))


@dataclass(frozen=True, slots=True)
class Exit:
    """Leaves the kernel with the guard's ordinal when a value differs from the recorded one.

    Attributes:
        read: the value that Python looked at; for arrays, whether all of it is as recorded.
        expected: the outcome, as a number of the compared kind.
        report: storage and length of the outcome to hand out on failure.
        pattern, kinds: for guards of all iterations of a loop, the storage of the recorded outcomes, and the kinds of a row's entries; the
            ordinal is then that of the first entry.
    """

    ordinal: int
    guard_kind: str
    read: Access
    expected: float | int
    report: tuple[int, int]
    site: Site | None = None
    domain: tuple[int, ...] = ()
    pattern: int = -1
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RoutineCall:
    """A routine on whole contiguous arrays.

    Attributes:
        routine: name in compiler.linalg.routine_table.
        operands: storages with their element offsets, in the routine's order.
        result: the storage it writes.
        sizes: its integer arguments.
        fails: True if it can fail (a singular or indefinite matrix), as failure number `failure` of the program.
        count: the number of calls, on consecutive matrices.
        advances: the strides between calls in entries, of each operand and, last, the result.
    """

    routine: str
    operands: tuple[tuple[int, int], ...]
    result: int
    sizes: tuple[int, ...]
    failure: int = -1
    site: Site | None = None
    count: int = 1
    advances: tuple[int, ...] = ()

    @property
    def body(self) -> tuple[RoutineCall]:
        return (self,)


@dataclass(frozen=True, slots=True)
class InPlace:
    """A step that reads or writes entries of a carry that is written in place: it keeps its position in the order.

    Attributes:
        is_last: True if it runs after everything else in the iteration.
    """

    step: Step
    is_last: bool = False

    @property
    def domain(self) -> tuple[int, ...]:
        return self.step.domain

    @property
    def body(self) -> tuple[Step]:
        return (self.step,)


ItemType: TypeAlias = ValueType | DynamicArrayType


@dataclass(frozen=True, slots=True)
class Invoke:
    """A call or a loop of a callee, whose variants are compiled on their own.

    Attributes:
        op, params: those of the instruction, with the callee and the loop form.
        operands: storages with their element offsets, in the op's order.
        items: storages with their element offsets, one for each item of the tuple; for dynamic arrays they hold an address.
        types: the types of the operands and of the items.
        slots: the storage of each carry during a loop: two entries, one, or one for each iteration; -1 for a dynamic array.
        scratch: the storage of a while loop's condition; -1 for none.
        in_place: the carries with one entry, which all iterations read and write.
        kept: the carries with an entry for each iteration.
        stop: the ends of an Extent; the iterations beyond leave all carries as they are. Without any, all run.
    """

    op: Primitive
    params: Params
    operands: tuple[tuple[int, int], ...]
    items: tuple[tuple[int, int], ...]
    types: tuple[tuple[ItemType, ...], tuple[ItemType, ...]]
    slots: tuple[int, ...] = ()
    scratch: int = -1
    site: Site | None = None
    in_place: tuple[int, ...] = ()
    kept: tuple[int, ...] = ()
    stop: frozenset[tuple[int, int]] = frozenset()

    @property
    def body(self) -> tuple[Invoke]:
        return (self,)

    @property
    def written(self) -> tuple[int, ...]:
        """The storages that it writes."""
        rest = [s for s in (*self.slots, self.scratch) if s >= 0]
        return tuple(dict.fromkeys([*(storage for storage, _ in self.items), *rest]))

    @property
    def stays(self) -> tuple[int, ...]:
        """The carries that are in their place when the loop begins."""
        first = len(self.operands) - len(self.params[0].in_types) if self.in_place else 0
        return tuple(k for k in self.in_place if self.operands[first + k] == (self.slots[k], 0))


Item: TypeAlias = Step | Exit | RoutineCall | Invoke | InPlace


@dataclass(frozen=True, slots=True)
class Straight:
    """Steps and guards outside loops, on numbers."""

    body: tuple[Step | Exit, ...]

    @property
    def domain(self) -> tuple[int, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class LoopNest:
    """One nest of loops. Extents of `domain` are at least 1; a step's own extent of the last loop may be a little smaller."""

    domain: tuple[int, ...]
    body: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class OneStep:
    """A group of one step."""

    step: Step

    @property
    def domain(self) -> tuple[int, ...]:
        return self.step.domain

    @property
    def body(self) -> tuple[Step, ...]:
        return (self.step,)


class Scan(OneStep):
    """One step that stores the running total at every point of its last loop."""

    __slots__ = ()


class EmptyReduction(OneStep):
    """A reduction over a domain without points: its result is the neutral element."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class RowBlocks:
    """Nests whose outermost loop is cut into blocks of rows, so that each nest finds the rows of the one before in the cache.

    Attributes:
        nests: in order; all outermost loops are over the same rows. Products of a stack with as many matrices may be among them.
        count: the number of rows.
        rows: the rows of a block; the last block also has the remaining rows.
        block_buffers: storages that hold one block at a time, and the row length of each.
    """

    nests: tuple[LoopNest | RoutineCall, ...]
    count: int
    rows: int
    block_buffers: tuple[tuple[int, int], ...]

    @property
    def domain(self) -> tuple[int, ...]:
        """The rows; nests may have more loops inside."""
        return (self.count,)

    @property
    def body(self) -> tuple[Step | RoutineCall, ...]:
        return tuple([item for nest in self.nests for item in nest.body])


@dataclass(frozen=True, slots=True)
class Bands:
    """A group whose outermost loop is cut into bands of rows. Each band is a call of one function; several threads may share them.

    Attributes:
        group: nests over the rows; or a product, or a stack of them, whose result has the rows.
        count: the number of rows.
        rows: the rows of a band; the last band also has the remaining rows.
        threads: the most threads; with 1, the bands run in sequence.
        sums: storages that hold the partial reduction of each band, and its number of entries in each.
        filled: storages of reductions within rows, which are set before the bands.
        fewest: rows that have to exist for several threads to share them, if data tell how many do.
    """

    group: LoopNest | RowBlocks | RoutineCall
    count: int
    rows: int
    threads: int
    sums: tuple[tuple[int, int], ...] = ()
    filled: frozenset[int] = frozenset()
    fewest: int = 0

    @property
    def number(self) -> int:
        """The number of bands."""
        return self.count // self.rows

    @property
    def domain(self) -> tuple[int, ...]:
        return (self.count,) if isinstance(self.group, RoutineCall) else self.group.domain

    @property
    def body(self) -> tuple[Step | RoutineCall, ...]:
        return self.group.body


@dataclass(frozen=True, slots=True)
class Outlined:
    """A group that becomes a function of its own; scalars pass between functions through the workspace."""

    group: Straight | LoopNest | Scan

    @property
    def domain(self) -> tuple[int, ...]:
        return self.group.domain

    @property
    def body(self) -> tuple[Step | Exit, ...]:
        return self.group.body


@dataclass(frozen=True, slots=True)
class Interpreted:
    """Long straight-line code to run as byte code. compiler.bytecode.translate.Translation adds the byte code."""

    body: tuple[Step | Exit, ...]


Group: TypeAlias = Straight | LoopNest | Scan | EmptyReduction | RowBlocks | Bands | Outlined | Interpreted | RoutineCall | Invoke | InPlace


@dataclass(frozen=True, slots=True)
class Program:
    """A scheduled loop program and its memory plan.

    Attributes:
        failures: messages of the routines that can fail, by failure number.
        before: the number of groups that run once, before the iterations of a loop kernel.
        slots_at: byte offset of the interpreter's values in the workspace.
        threads: the most threads that may share a loop; 0 if no loop is cut into bands.
        short: inputs of which no more rows are read than exist, each with the input that says how many.
    """

    name: str
    storages: Sequence[Storage]
    groups: Sequence[Group]
    constants: bytes
    input_count: int
    output_count: int
    failures: tuple[str, ...]
    workspace_bytes: int = 0
    before: int = 0
    slots_at: int = 0
    threads: int = 0
    short: frozenset[tuple[int, int]] = frozenset()

    def assembled(self) -> frozenset[int]:
        return assembled(self.groups)


def assembled(groups: Iterable[Group]) -> frozenset[int]:
    """Storages that several steps write, filled first and then added to, or added to in place: no reduction initialises them."""
    seen: set[int] = set()
    several: set[int] = set()
    for group in groups:
        for item in group.body:
            if isinstance(item, Step):
                is_added = isinstance(group, InPlace) and item.combine is not None
                (several if item.write.storage in seen or is_added else seen).add(item.write.storage)
    return frozenset(several)
