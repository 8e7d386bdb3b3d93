"""Finds carries of a loop whose iterations write only a few entries: these are written in place.

    K → put(K, b, places) → ... → add(K, scatter_add(v, places))

Such a carry has one copy in memory, and an iteration costs only the entries that it reads and writes. All reads of a version of the array
must come before the next version is written.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ...ir.instruction import FLOAT64, GUARD, Instruction
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops import Op
from ...ops.arrays.indexing import ASSEMBLE, GATHER, INDEX, PUT, REPLACE, SCATTER_ADD
from ...ops.arrays.shape import RESHAPE
from ...ops.control.callee import Callee
from ...ops.control.calls import GET, LOOP, LoopForm, TupleOp
from ...ops.elementwise.arithmetic import ADD, SUBTRACT

# Copying smaller arrays is as fast as writing them in place.
SMALLEST = 64
# Limit on the share of entries that an iteration reads and writes: above it, loops over the whole array are as fast, and can be fused.
LARGEST_PART = 0.5


@dataclass(slots=True)
class Places:
    """The values of a body that share a carry's memory.

    Attributes:
        carry: by number of the carry, its versions and the loops that write it: the index of the carry.
        writers: the instructions that make a version from the previous one.
        terms: by addition to a version, the values that it adds to a few entries; they have no other readers.
        added: the terms, and their sums, which are not computed themselves.
        readers: the instructions that read entries of a version.
        first: by carry, the first instruction that writes it.
        orders: pairs of instructions; the first must come before the second.
    """

    carry: dict[int, int] = field(default_factory=dict)
    writers: set[int] = field(default_factory=set)
    terms: dict[int, list[int]] = field(default_factory=dict)
    added: set[int] = field(default_factory=set)
    readers: set[int] = field(default_factory=set)
    first: list[int] = field(default_factory=list)
    orders: list[tuple[int, int]] = field(default_factory=list)

    def add(self, other: Places) -> None:
        self.carry |= other.carry
        self.writers |= other.writers
        self.terms |= other.terms
        self.added |= other.added
        self.readers |= other.readers
        self.first += other.first
        self.orders += other.orders



def carries_in_place(callee: Callee, form: LoopForm) -> tuple[int, ...]:
    """The carries of a loop that its iterations write in place; other variants of the body, if there will be any, copy them there."""
    if form.saves_carries or form.carries == 0 or not callee.is_compiled or callee.only_path() is None:
        return ()
    return callee.once(("in place", form.carries), lambda: _found(callee, form.carries))


def _found(callee: Callee, carries: int) -> tuple[int, ...]:
    tape = callee.variant_tape(0)
    if any(isinstance(i.op, TupleOp) and i.op is not LOOP for i in tape.instructions):
        return ()
    found = [k for k in range(carries) if tape.instructions[tape.inputs[k]].type.size >= SMALLEST]
    search = _Search(tape)
    found = [k for k in found if search.places_of(k) is not None]
    return tuple(found) if found and in_place(tape, found) is not None else ()


def in_place(tape: Tape, carries: Sequence[int]) -> tuple[Tape, Places] | None:
    """Reorder the tape so that each version of a carry is read before the next is written; None if there is no such order."""
    search, places = _Search(tape), Places()
    for k in carries:
        found = search.places_of(k)
        if found is None:
            return None
        places.add(found)
    orders = [*places.orders, *_exits_first(tape, places.first)]
    if all(before < after for before, after in orders):
        return tape, places
    ordered = _ordered(tape, [*orders, *_behind_guards(tape)])
    return None if ordered is None else in_place(ordered, carries)


def _exits_first(tape: Tape, writers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Put guards and routines that can fail before the first write: on failure another variant restarts the iteration with the old
    array."""
    for number, (op, *_) in enumerate(tape.instructions):
        if op is GUARD or (isinstance(op, Op) and (op.raises or op.lapack)):
            yield from ((number, writer) for writer in writers)


def _behind_guards(tape: Tape) -> Iterator[tuple[int, int]]:
    """Keep instructions after the guards that they were recorded after."""
    guard = -1
    for number, (op, *_) in enumerate(tape.instructions):
        if guard >= 0:
            yield guard, number
        if op is GUARD:
            guard = number


def _ordered(tape: Tape, orders: Sequence[tuple[int, int]]) -> Tape | None:
    """The tape in the first order that also obeys `orders`; None if there is none."""
    count = len(tape.instructions)
    later: list[list[int]] = [[] for _ in range(count)]
    waits = [0] * count
    for before, after in (*orders, *((i, n) for n, instruction in enumerate(tape.instructions) for i in instruction.inputs)):
        later[before].append(after)
        waits[after] += 1
    ready = [n for n in range(count) if not waits[n]]
    made = Rewriter(tape)
    while ready:
        number = heapq.heappop(ready)
        made.number[number] = made.copy(number)
        for after in later[number]:
            waits[after] -= 1
            if not waits[after]:
                heapq.heappush(ready, after)
    return made.finish() if len(made.instructions) == count else None


# A version: the previous one, the instruction that writes it, and the terms that an addition adds to a few entries.
Version: TypeAlias = tuple[int, int, list[int]]


class _Search:
    """Follows carries through a body, backwards from its output to its input."""

    def __init__(self, tape: Tape) -> None:
        self.tape, self.instructions = tape, tape.instructions
        self.outputs = Counter(tape.outputs)
        self.users: dict[int, list[int]] = {}
        for number, instruction in enumerate(tape.instructions):
            for i in instruction.inputs:
                self.users.setdefault(i, []).append(number)

    def places_of(self, k: int) -> Places | None:
        """The places of a carry's versions; None if it is not written in place."""
        tape, places = self.tape, Places()
        given, version = tape.inputs[k], tape.outputs[k]
        if version == given:
            return places  # never written
        if self.outputs[version] != 1:
            return None
        type_ = self.instructions[given].type
        left = LARGEST_PART * type_.size
        while version != given:
            found = self._version(version)
            if found is None:
                return None
            before, writer, terms = found
            places.carry[version] = places.carry[writer] = k
            if self.instructions[version].op is not RESHAPE:
                places.writers.add(writer)
                places.first = [writer]
            if terms:
                places.terms[version] = [n for n in terms if self.instructions[n].op is not ADD]
                places.added.update(terms)
            readers = self._readers(before, writer)
            if readers is None:
                return None
            places.readers.update(readers)
            places.orders += [(reader, writer) for reader in readers]
            left -= self._written(version, terms) + sum(self._read(reader) for reader in readers)
            if left < 0:
                return None
            version = before
        places.carry[given] = k
        return places if places.writers else None

    def _version(self, number: int) -> Version | None:
        op, inputs, params, type_, _ = self.instructions[number]
        if op is PUT or op is REPLACE:
            return inputs[0], number, []
        if op is RESHAPE:
            return inputs[0], number, []
        if op is GET and self.instructions[inputs[0]].op is LOOP:
            loop = self.instructions[inputs[0]]
            callee, form = loop.params
            is_sole = sum(self.instructions[n].params == params for n in self.users[inputs[0]]) == 1
            if is_sole and params[0] in carries_in_place(callee, form):
                return loop.inputs[form.leading + params[0]], inputs[0], []
        if (op is ADD or op is SUBTRACT) and type_.dtype == FLOAT64:
            for before, added in (inputs, inputs[::-1]) if op is ADD else (inputs,):
                terms = self._terms(added, number)
                if terms is not None and self.instructions[before].type == type_:
                    return before, number, terms
        return None

    def _terms(self, number: int, user: int) -> list[int] | None:
        """The terms of a sum that only an addition reads, and their partial sums; None if a term has many entries."""
        found, pending = list[int](), [(number, user)]
        while pending:
            number, user = pending.pop()
            op, inputs, *_ = self.instructions[number]
            if self.users.get(number) != [user] or number in self.outputs:
                return None
            found.append(number)
            if op is ADD and all(self.instructions[i].type == self.instructions[number].type for i in inputs):
                pending += [(i, number) for i in reversed(inputs)]
            elif op is not SCATTER_ADD and op is not ASSEMBLE:
                return None
        return found

    def _readers(self, version: int, writer: int) -> list[int] | None:
        """The instructions that read entries of a version, except its writer; None if one reads it in another way."""
        if version in self.outputs or self.instructions[writer].inputs.count(version) != 1:
            return None
        readers = [n for n in self.users[version] if n != writer]
        return readers if all(self._is_reader(self.instructions[n], version) for n in readers) else None

    def _is_reader(self, instruction: Instruction, version: int) -> bool:
        op, inputs, params, *_ = instruction
        if op is LOOP:
            form: LoopForm = params[1]
            return version not in inputs[: form.leading + form.carries]
        return op is INDEX or (op is GATHER and inputs[1] != version)

    def _read(self, reader: int) -> int:
        """The number of entries that an instruction reads; 0 for a loop, which reads them itself."""
        instruction = self.instructions[reader]
        return 0 if instruction.op is LOOP else instruction.type.size

    def _written(self, version: int, terms: Sequence[int]) -> int:
        """The number of entries that the writer of a version writes."""
        op, inputs, *_ = self.instructions[version]
        if op is PUT:
            return self.instructions[inputs[2]].type.size
        if op is REPLACE:
            return sum(self.instructions[i].type.size for i in inputs[1:])
        return sum(size for term in terms for size in self._sizes(term))

    def _sizes(self, term: int) -> Iterator[int]:
        op, inputs, *_ = self.instructions[term]
        for i in inputs[:1] if op is SCATTER_ADD else inputs if op is ASSEMBLE else ():
            yield self.instructions[i].type.size
