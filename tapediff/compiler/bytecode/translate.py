"""Translates long straight-line code to a program of the interpreter, whose handlers are in interpreter_handlers.

Every step goes into the first run of its operation after the runs of its operands. So independent equal operations share a few long runs.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from ...ir.guard_rows import EACH
from ..loop_ir.program import Access, Exit, Interpreted, Literal, Step, Storage
from .handlers import Check, Constants, End, Handler, Load, Operation, Store, addresses_of

# The base address of a load or store: the number of an input's or output's storage, or one of these.
WORKSPACE, CONSTANT = -1, -2
LARGEST_OFFSET = 2**32 - 1


@dataclass(frozen=True, slots=True)
class Translation(Interpreted):
    """A group with its byte code.

    Attributes:
        words: the runs, without the addresses of the handlers, which go to `headers`.
        headers: the start of each run in `words`.
        handlers: the handlers of the runs.
        slots: the number of values that it has room for.
        bases: storages of inputs and outputs, WORKSPACE or CONSTANT, in the order in which loads and stores number them.
        checks: its guards on arrays.
    """

    words: np.ndarray
    headers: np.ndarray
    handlers: tuple[Handler, ...]
    slots: int
    bases: tuple[int, ...]
    checks: tuple[Exit, ...]

    @property
    def handler_of_run(self) -> list[Handler]:
        return list(self.handlers)

    def linked(self) -> np.ndarray:
        """The words with the addresses of the handlers in this process."""
        distinct = list(dict.fromkeys(self.handlers))
        found = dict(zip(distinct, addresses_of(distinct)))
        addresses = np.array([found[handler] for handler in self.handlers], np.uint64)
        words = self.words.copy()
        words[self.headers] = (addresses & np.uint64(0xFFFFFFFF)).astype(np.uint32)
        words[self.headers + 1] = (addresses >> np.uint64(32)).astype(np.uint32)
        return words


def translated(storages: Sequence[Storage], group: Interpreted, assembled: frozenset[int]) -> Translation:
    """Return the byte code of an interpreted group, after memory planning. `assembled`: the storages that several steps write."""
    translator = _Translator(storages, assembled)
    for item in group.body:
        if isinstance(item, Exit):
            translator.exit(item)
        else:
            translator.step(item)
    return translator.finish(group)


class _Run:
    """Operations of one handler. Operands: value numbers, or -1 - k for a plain number k."""

    __slots__ = ("count", "handler", "operands")

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.operands: list[int] = []
        self.count = 0


class _Translator:
    """The growing program of byte code."""

    def __init__(self, storages: Sequence[Storage], assembled: frozenset[int]) -> None:
        self.storages = storages
        self.assembled = assembled
        self.runs: list[_Run] = [_Run(Constants())]
        self.runs_of: dict[Handler, list[int]] = {}
        # By value: the run that computes it, its position there, and its kind.
        self.run_of: list[int] = []
        self.index_of: list[int] = []
        self.kind_of: list[str] = []
        self.constants: dict[tuple[str, bytes], int] = {}
        # Literals are keyed by identity: they belong to the steps, which outlive this.
        self.literals: dict[int, int] = {}
        # Values by the storage that holds only them, and by storage and offset of loads.
        self.value_of: dict[int, int] = {}
        self.loaded: dict[int, dict[int, int]] = {}
        # The last run that writes or reads a storage; the last guard.
        self.written: dict[int, int] = {}
        self.read: dict[int, int] = {}
        self.last_exit = 0
        self.bases: dict[int, int] = {}
        self.operations: dict[Hashable, Operation] = {}
        self.checks: list[Exit] = []

    # Runs

    def add(self, handler: Handler, operands: list[int], earliest: int) -> int:
        """Append an operation to the first run of its handler at or after `earliest`; return the number of the run."""
        numbers = self.runs_of.get(handler)
        if numbers is None:
            numbers = self.runs_of[handler] = []
        place = bisect_left(numbers, earliest)
        if place < len(numbers):
            number = numbers[place]
        else:
            number = len(self.runs)
            numbers.append(number)
            self.runs.append(_Run(handler))
        run = self.runs[number]
        run.operands += operands
        run.count += 1
        return number

    def value(self, number: int, kind: str) -> int:
        """The value that the last operation of a run makes."""
        self.run_of.append(number)
        self.index_of.append(self.runs[number].count - 1)
        self.kind_of.append(kind)
        return len(self.run_of) - 1

    def constant(self, number: float, kind: str) -> int:
        bits = struct.pack("=d", number) if kind == "f64" else struct.pack("=q", int(number))
        known = self.constants.get((kind, bits))
        if known is None:
            run = self.runs[0]
            run.operands += [-1 - word for word in struct.unpack("=II", bits)]
            run.count += 1
            known = self.constants[kind, bits] = self.value(0, kind)
        return known

    def after(self, values: list[int]) -> int:
        return 1 + max([self.run_of[v] for v in values], default=0)

    # Steps

    def step(self, step: Step) -> None:
        operands: list[int] = []
        value_of = self.value_of
        for read in step.reads:
            if isinstance(read, Literal):
                known = self.literals.get(id(read))
                if known is None:
                    known = self.literals[id(read)] = self.constant(read.value, read.kind)
            elif read.index_read >= 0:
                known = self.load(read, operands[read.index_read])
            else:
                known = value_of.get(read.storage)
                if known is None:
                    known = self.load(read, -1)
            operands.append(known)
        if step.expression in _OPERANDS and not step.parameters:
            value = operands[int(step.expression[1:])]
        else:
            value = self.computed(step, operands)
        storage = self.storages[step.write.storage]
        if storage.in_memory or storage.home == "output":
            self.write(step, storage, operands, value)
        else:
            value_of[step.write.storage] = value

    def computed(self, step: Step, operands: list[int]) -> int:
        """Compute a value by the step's expression."""
        key = (step.expression, step.parameters, tuple([self.kind_of[v] for v in operands]))
        handler = self.operations.get(key)
        if handler is None:
            handler = self.operations[key] = Operation(*key, self.storages[step.write.storage].kind)
        return self.value(self.add(handler, operands, self.after(operands)), handler.kind)

    def write(self, step: Step, storage: Storage, operands: list[int], value: int) -> None:
        """Write a value that is read elsewhere."""
        write = step.write
        if storage.size == 1 and write.storage not in self.assembled and write.index_read < 0:
            self.value_of[write.storage] = value
            self.store(write, value, -1, False)
            return
        self.store(write, value, operands[write.index_read] if write.index_read >= 0 else -1, step.combine is not None)

    # Memory

    def place(self, access: Access) -> list[int]:
        """Base and offset, as operands."""
        storage = self.storages[access.storage]
        offset, base = access.offset, access.storage
        if storage.home in ("workspace", "constant"):
            base = WORKSPACE if storage.home == "workspace" else CONSTANT
            offset += storage.position if storage.kind == "i1" else storage.position // 8
        assert 0 <= offset <= LARGEST_OFFSET, "an operand is a word of 32 bits"
        return [-1 - self.bases.setdefault(base, len(self.bases)), -1 - offset]

    def load(self, read: Access, index: int) -> int:
        storage, kind = read.storage, self.storages[read.storage].kind
        known = self.loaded.setdefault(storage, {})
        if index < 0 and read.offset in known:
            return known[read.offset]
        earliest = self.written.get(storage, 1)
        place = self.place(read)
        if index >= 0:
            # Computed indices are valid only after the guards before them.
            earliest = max(earliest, self.last_exit, self.after([index]))
            place.append(index)
        number = self.add(Load(kind, index >= 0), place, earliest)
        self.read[storage] = max(self.read.get(storage, 0), number)
        value = self.value(number, kind)
        if index < 0:
            known[read.offset] = value
        return value

    def store(self, write: Access, value: int, index: int, adds: bool) -> None:
        """Store after all earlier accesses to the same storage; outputs also after the guards."""
        storage, kind = write.storage, self.storages[write.storage].kind
        earliest = max(self.written.get(storage, 1), self.read.get(storage, 0), self.after([value]))
        place = self.place(write)
        if index >= 0:
            earliest = max(earliest, self.last_exit, self.after([index]))
            place.append(index)
        if self.storages[storage].home == "output":
            earliest = max(earliest, self.last_exit)
        self.written[storage] = self.add(Store(kind, index >= 0, adds), [*place, value], earliest)
        self.loaded.pop(storage, None)

    # Guards

    def exit(self, item: Exit) -> None:
        known = self.value_of.get(item.read.storage)
        value = self.load(item.read, -1) if known is None else known
        kind = self.kind_of[value]
        if item.guard_kind == "int":
            expects_nan = item.expected != item.expected
            expected = self.constant(item.expected if kind == "f64" else int(item.expected), kind)
        else:
            expects_nan, expected = False, self.constant(bool(item.expected), "i1")
        is_array = item.guard_kind in ("array", EACH)
        if is_array:
            self.checks.append(item)
        earliest = max(self.last_exit, self.after([value]))
        check = Check("array" if is_array else item.guard_kind, kind, expects_nan)
        self.last_exit = self.add(check, [value, expected, -1 - item.ordinal], earliest)

    # The whole program

    def finish(self, group: Interpreted) -> Translation:
        self.runs.append(_Run(End()))
        starts, slots, headers, flat = [], 0, [], []
        for run in self.runs:
            starts.append(slots)
            slots += run.count * run.handler.makes_values
            headers.append(len(flat))
            flat += (-1, -1, -1 - run.count)
            flat += run.operands
        slot_of = np.array(starts, np.int64)[self.run_of] + np.array(self.index_of, np.int64)
        numbers = np.array(flat, np.int64)
        is_value = numbers >= 0
        words = (-1 - numbers).astype(np.uint32)
        words[is_value] = slot_of[numbers[is_value]]
        handlers = tuple([run.handler for run in self.runs])
        return Translation(group.body, words, np.array(headers), handlers, slots, tuple(self.bases), tuple(self.checks))


_OPERANDS = frozenset(f"r{k}" for k in range(8))
