"""Long tapes of operations on numbers as a forward and a backward sweep of byte code, without a tape of the derivative.

    tape → elements (operations on numbers) → runs of operations that are alike → words

Operations that are alike and do not depend on each other stand together. The backward sweep is the same runs in reverse, each with the
adjoint of its operation: it adds to the cotangents of the operands. What is not active, or does not reach the result, has no adjoint.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

import numpy as np

from ...errors import UnsupportedFunction
from ...ir.instruction import GUARD, INPUT
from ...ir.tape import Tape
from ...ops.arrays.indexing import INDEX
from ...ops.arrays.regions import Region, cover
from ...ops.declaration.op import Elementwise, Op
from ...ops.elementwise.comparison import SELECT
from ...passes.activity import active_values
from ...passes.simplify.smooth_squares import Squares
from ...transforms.reverse import multiplies_by_finite
from ..loop_ir.program import Access, Exit, Interpreted, Program, Storage
from .elements import KINDS, Elements, Form, Unsuited, elements_of
from .formulas import adjoint_formula, forward_formula
from .handlers import Check, Constants, End, Handler, Store, addresses_of
from .sweep_handlers import ADJOINT_WORDS, Adjoint, CopyIn, CopyOut, Forward, Turn

# A run costs 20 ns beside its operations, as the processor guesses wrong where it goes on: chains of unlike operations take 4 times as long
# as compiled, and compiling them pays after 10 000 calls; where runs are of 3 operations it does after 35 000, of 6 after 80 000. So runs
# have so many on average, unless there are more operations than are compiled at all.
SHORTEST_RUNS, MOST_COMPILED = 3, 10_000

AnyHandler: TypeAlias = Handler | Forward | Adjoint | Turn | CopyIn | CopyOut

# Bits of a key behind the number of a form: which operands get a cotangent, and whether the adjoint selects exact zeros.
OPERANDS = 4
GUARDED = 1 << OPERANDS
KEYS = 2 * GUARDED


@dataclass(frozen=True, slots=True)
class Sweeps(Interpreted):
    """A group that runs both sweeps.

    Attributes:
        words, headers: as of bytecode.translate.Translation.
        handlers: without repetition.
        handler_of: by run, its number in `handlers`.
        counts: by run, how many operations it has without those that only fill it up.
        slots: how many words the values and the cotangents have.
        bases: storages of inputs and outputs.
        operations: how many there are in both sweeps.
        whole: the slots of constants that are no floats, and their kinds.
    """

    words: np.ndarray
    headers: np.ndarray
    handlers: tuple[AnyHandler, ...]
    handler_of: np.ndarray
    counts: np.ndarray
    slots: int
    bases: tuple[int, ...]
    operations: int
    whole: dict[int, str]

    @property
    def checks(self) -> tuple[Exit, ...]:
        """Guards that look at arrays."""
        return ()

    def linked(self) -> np.ndarray:
        """The words with the addresses of the handlers in this process."""
        addresses = np.array(addresses_of(self.handlers), np.uint64)[self.handler_of]
        words = self.words.copy()
        words[self.headers] = (addresses & np.uint64(0xFFFFFFFF)).astype(np.uint32)
        words[self.headers + 1] = (addresses >> np.uint64(32)).astype(np.uint32)
        return words


def swept(tape: Tape, wrt: Sequence[int] | None) -> Program | None:
    """The program of a tape that is ready to be differentiated: its outputs, then the gradient of the first one with respect to the
    inputs `wrt`; None where the tape has something that sweeps do not have."""
    try:
        elements = elements_of(tape)
        keys = _keys(tape, elements, wrt)
        return _Builder(tape, elements, keys, wrt).program()
    except (Unsuited, UnsupportedFunction):
        # The reverse pass raises the second one, too, and names the line.
        return None


# Adjoints


def _keys(tape: Tape, elements: Elements, wrt: Sequence[int] | None) -> np.ndarray:
    """By operation: its form, and what its adjoint is."""
    forms = np.array(elements.form_of, np.int64) * KEYS
    if not wrt:
        return forms
    if tape.output_types[0].shape != ():
        raise Unsuited
    guarded = _guarded(tape, {tape.inputs[k] for k in wrt})
    wanted = np.array(_wanted(tape, elements, wrt), np.int64)
    return forms + wanted + GUARDED * (guarded[np.array(elements.makers, np.int64)] & (wanted > 0))


def _wanted(tape: Tape, elements: Elements, wrt: Sequence[int]) -> list[int]:
    """By operation, the operands to whose cotangents it adds, as bits."""
    rule_bits = [_rule_bits(form) for form in elements.forms]
    active = bytearray(len(elements.kinds))
    for k in wrt:
        first, size = elements.inputs[k]
        active[first : first + size] = b"\1" * size
    wanted: list[int] = []
    for form, row, result in zip(elements.form_of, elements.rows, elements.results):
        bits = active[row[0]]
        if len(row) > 1:
            bits |= active[row[1]] << 1
            for k in range(2, len(row)):
                bits |= active[row[k]] << k
        bits &= rule_bits[form]
        wanted.append(bits)
        if bits:
            active[result] = 1
    reached = bytearray(len(elements.kinds))
    reached[elements.ids[tape.outputs[0]]] = 1
    for k in range(len(wanted) - 1, -1, -1):
        bits = wanted[k]
        if bits:
            if not reached[elements.results[k]]:
                wanted[k] = 0
                continue
            for operand in elements.rows[k]:
                if bits & 1:
                    reached[operand] = 1
                bits >>= 1
    return wanted


def _rule_bits(form: Form) -> int:
    op = form.op
    if form.kind != "f64" or not isinstance(op, Op) or callable(op.vjp):
        return 0
    if len(form.kinds) > OPERANDS:
        raise Unsuited
    return sum(1 << k for k, rule in enumerate(op.vjp) if rule is not None and form.kinds[k] == "f64")


def _guarded(tape: Tape, sources: set[int]) -> np.ndarray:
    """By instruction: whether its cotangent may be an exact zero of something discarded, which its adjoint must not make NaN of. As in
    transforms/reverse.py; transforms/cotangents.py explains the qualities. Raises Unsuited where there are rules of its own."""
    instructions = tape.instructions
    found = np.zeros(len(instructions), bool)
    used = {instruction[0] for instruction in instructions}
    if any(op.squared is not None for op in used) and any(map(Squares(tape).is_square, instructions)):
        raise Unsuited
    # Entries of the inputs are parts of what needs no cotangent but their own.
    reads_parts = INDEX in used and any(i[0] is INDEX and instructions[i[1][0]][0] is not INPUT for i in instructions)
    if not reads_parts and not any(isinstance(op, Op) and op.masks and op is not INDEX for op in used):
        return found
    active = active_values(tape, sources)
    if SELECT in used and any(i.op is SELECT and active[n] for n, i in enumerate(instructions)):
        raise Unsuited
    # 0: no cotangent yet, 1: perhaps discarded, 2: not.
    quality = bytearray(len(instructions))
    quality[tape.outputs[0]] = 2
    parts: dict[int, list[Region]] = {}
    for number in range(len(instructions) - 1, -1, -1):
        op, inputs, *_ = instruction = instructions[number]
        if not active[number] or op is INPUT:
            continue
        if number in parts:
            own = 2 if quality[number] != 1 and cover(parts[number], instruction.type.shape) else 1
            quality[number] = max(quality[number], own)
        if not quality[number] or not isinstance(op, Op):
            continue
        passed = 1 if op.masks and op is not INDEX else quality[number]
        multiplies = isinstance(op, Elementwise) and not op.linear and not multiplies_by_finite(tape, instruction)
        found[number] = multiplies and quality[number] == 1
        for k, i in enumerate(inputs):
            if not active[i] or (not callable(op.vjp) and op.vjp[k] is None):
                continue
            if op is INDEX:
                if instructions[i].op is not INPUT:
                    parts.setdefault(i, []).append(instruction.params[0])
                    quality[i] = max(quality[i], passed) if passed == 1 else quality[i]
            else:
                quality[i] = max(quality[i], passed)
    return found


# Runs


@dataclass(frozen=True, slots=True)
class _Runs:
    """Operations in runs.

    Attributes:
        of: by operation, the number of its run.
        keys: by run, the key of its operations.
    """

    of: np.ndarray
    keys: list[int]


def _grouped(elements: Elements, keys: Sequence[int]) -> _Runs:
    """Every operation in the first run of its key behind those that make its operands; guards in their order."""
    run_of, runs, of = [-1] * len(elements.kinds), list[int](), list[int]()
    runs_of: dict[int, list[int]] = {}
    last_guard = 0
    for key, row, result in zip(keys, elements.rows, elements.results):
        earliest = run_of[row[0]]
        if len(row) > 1:
            other = run_of[row[1]]
            earliest = other if other > earliest else earliest
            if len(row) > 2:
                earliest = max([earliest, *[run_of[operand] for operand in row[2:]]])
        earliest += 1
        if result < 0 and earliest < last_guard:
            earliest = last_guard
        numbers = runs_of.get(key)
        if numbers is None:
            numbers = runs_of[key] = []
        if numbers and numbers[-1] >= earliest:
            number = numbers[bisect_left(numbers, earliest)]
        else:
            number = len(runs)
            numbers.append(number)
            runs.append(key)
        of.append(number)
        if result >= 0:
            run_of[result] = number
        else:
            last_guard = number
    return _Runs(np.array(of, np.int64), runs)


class _Builder:
    """Lays the runs out as words.

    Attributes:
        handlers_of: of both sweeps, by key.
        counts, true_counts: of operations by run, with and without those that only fill it up.
        place: by operation, where in its run it stands.
        made_at: by run, the slot of its first result.
        slot_of: by element.
    """

    def __init__(self, tape: Tape, elements: Elements, keys: np.ndarray, wrt: Sequence[int] | None) -> None:
        self.tape, self.elements, self.keys, self.wrt = tape, elements, keys, wrt
        self.runs = _grouped(elements, keys.tolist())
        if len(elements.rows) < min(MOST_COMPILED, SHORTEST_RUNS * len(self.runs.keys)):
            raise Unsuited
        self.words: list[np.ndarray] = []
        self.headers: list[np.ndarray] = []
        self.length = 0
        self.handlers: dict[AnyHandler, int] = {}
        self.handler_of: list[np.ndarray] = []
        self.run_counts: list[np.ndarray] = []
        self.handlers_of = {key: self._handlers(key) for key in set(self.runs.keys)}
        self.bases: list[int] = []
        self._number()

    def _number(self) -> None:
        """Slots: constants, inputs, then the results of the runs, of which each is filled up to whole blocks."""
        elements, of = self.elements, self.runs.of
        results = np.array(elements.results, np.int64)
        blocks = np.array([self._block(key) for key in self.runs.keys], np.int64)
        self.true_counts = np.bincount(of, minlength=len(blocks))
        self.counts = -(-self.true_counts // blocks) * blocks
        # Where in its run an operation stands, and where the results of a run begin.
        order = np.argsort(of, kind="stable")
        self.place = np.empty(len(of), np.int64)
        self.place[order] = np.arange(len(of)) - np.repeat(np.cumsum(self.true_counts) - self.true_counts, self.true_counts)
        first = [*elements.constants.values(), *chain.from_iterable(range(n, n + size) for n, size in elements.inputs.values())]
        makes = np.array([self.handlers_of[key][0].makes_values for key in self.runs.keys], np.int64) * self.counts
        self.made_at = len(first) + np.cumsum(makes) - makes
        self.values = len(first) + int(makes.sum())
        self.slot_of = np.zeros(len(elements.kinds), np.int64)
        self.slot_of[first] = np.arange(len(first))
        makers = results >= 0
        self.slot_of[results[makers]] = (self.made_at[of] + self.place)[makers]

    def _block(self, key: int) -> int:
        """How many operations are computed together, in one sweep or the other."""
        return max([handler.block for handler in self.handlers_of[key] if isinstance(handler, (Forward, Adjoint))], default=1)

    def _handlers(self, key: int) -> tuple[Check | Forward, Adjoint | None]:
        """Of a key: for the forward sweep, and for the backward sweep if anything has a derivative."""
        form, wanted = self.elements.forms[key // KEYS], tuple([k for k in range(OPERANDS) if key >> k & 1])
        if form.op is GUARD:
            kind, expects_nan = form.params
            return Check(kind, form.kinds[0], expects_nan), None
        adjoint = Adjoint(adjoint_formula(form, wanted, bool(key & GUARDED)), wanted) if wanted else None
        return Forward(forward_formula(form)), adjoint

    # Words

    def add(self, handler: AnyHandler, count: int, words: Sequence[int] | np.ndarray) -> None:
        """One run."""
        self._append(np.array([0, 0, count, *words], np.int64), np.zeros(1, np.int64), np.array([self.handler(handler)]), np.array([count]))

    def _append(self, words: np.ndarray, headers: np.ndarray, handlers: np.ndarray, counts: np.ndarray) -> None:
        self.words.append(words)
        self.headers.append(headers + self.length)
        self.handler_of.append(handlers)
        self.run_counts.append(counts)
        self.length += len(words)

    def handler(self, handler: AnyHandler) -> int:
        return self.handlers.setdefault(handler, len(self.handlers))

    def base(self, storage: int) -> int:
        if storage not in self.bases:
            self.bases.append(storage)
        return self.bases.index(storage)

    def program(self) -> Program:
        tape, elements, wrt = self.tape, self.elements, self.wrt
        storages = self._storages()
        if elements.constants:
            bits = np.frombuffer(b"".join(bits for _, bits in elements.constants), np.uint32)
            self.add(Constants(), len(elements.constants), bits)
        for position, (_, size) in elements.inputs.items():
            self.add(CopyIn(), size, [self.base(position)])
        starts = self._forward()
        if wrt:
            self.add(Turn(), 0, [self.values, int(self.slot_of[elements.ids[tape.outputs[0]]])])
            self._backward(starts)
        for k, output in enumerate(tape.outputs):
            self._write(len(tape.inputs) + k, np.ravel(elements.ids[output]))
        for k, position in enumerate(wrt or ()):
            first, size = elements.inputs[position]
            self.add(CopyOut(), size, [self.base(len(tape.inputs) + len(tape.outputs) + k), self.values + int(self.slot_of[first])])
        self.add(End(), 0, [])
        group = Sweeps(
            self._exits(), np.concatenate(self.words).astype(np.uint32), np.concatenate(self.headers), tuple(self.handlers),
            np.concatenate(self.handler_of), np.concatenate(self.run_counts), self.values * (2 if wrt else 1), tuple(self.bases),
            len(elements.rows) * (3 if wrt else 1), {k: kind for k, (kind, _) in enumerate(elements.constants) if kind != "f64"},
        )  # fmt: skip
        outputs = len(tape.outputs) + len(wrt or ())
        return Program(tape.name, storages, [group], b"", len(tape.inputs), outputs, (), 8 * group.slots)

    def _storages(self) -> list[Storage]:
        """Of inputs, then outputs; last of all one for the number that a guard looked at."""
        tape = self.tape
        inputs = [(type_, "input", k) for k, type_ in enumerate(tape.input_types)]
        types = [*tape.output_types, *(tape.input_types[k] for k in self.wrt or ())]
        outputs = [(type_, "output", k) for k, type_ in enumerate(types)]
        made = [Storage(n, type_.size, KINDS[type_.dtype], home, k, True) for n, (type_, home, k) in enumerate(inputs + outputs)]
        return [*made, Storage(len(made), 1, "f64")]

    def _exits(self) -> tuple[Exit, ...]:
        elements, last = self.elements, len(self.tape.inputs) + len(self.tape.outputs) + len(self.wrt or ())
        found = []
        for k, ordinal in elements.ordinals.items():
            op, _, params, _, site = self.tape.instructions[elements.makers[k]]
            assert op is GUARD
            found.append(Exit(ordinal, params[0], Access(last, 0, ()), float(params[1]), (last, 1), site))
        return tuple(found)

    def _forward(self) -> np.ndarray:
        """The words of the runs; gives where each begins."""
        elements, runs, counts = self.elements, self.runs, self.counts
        numbers = np.array([self.handler(self.handlers_of[key][0]) for key in runs.keys], np.int64)
        arities = np.array([self.handlers_of[key][0].arity for key in runs.keys], np.int64)
        lengths = 3 + counts * arities
        starts = np.cumsum(lengths) - lengths
        words = np.full(int(lengths.sum()), self.slot_of[elements.filler], np.int64)
        words[starts + 2] = counts
        at = starts[runs.of] + 3 + self.place * arities[runs.of]
        sizes = np.fromiter(map(len, elements.rows), np.int64, len(elements.rows))
        operands = self.slot_of[np.fromiter(chain.from_iterable(elements.rows), np.int64, int(sizes.sum()))]
        ends = np.cumsum(sizes)
        within = np.arange(len(operands)) - np.repeat(ends - sizes, sizes)
        words[np.repeat(at, sizes) + within] = operands
        for k, ordinal in elements.ordinals.items():
            words[at[k] + 2] = ordinal
        first = self.length
        self._append(words, starts, numbers, self.true_counts)
        return starts + first

    def _backward(self, starts: np.ndarray) -> None:
        """The adjoints of the runs that have one, from the last to the first."""
        keys = np.array(self.runs.keys, np.int64)
        chosen = np.flatnonzero(keys % GUARDED)[::-1]
        words = np.zeros((len(chosen), ADJOINT_WORDS), np.int64)
        at = self.length + ADJOINT_WORDS * np.arange(len(chosen))
        words[:, 2] = self.counts[chosen]
        words[:, 3] = at - (starts[chosen] + 3)
        words[:, 4] = self.made_at[chosen]
        adjoints = [self.handlers_of[key][1] for key in keys[chosen].tolist()]
        numbers = [self.handler(adjoint) for adjoint in adjoints if adjoint is not None]
        self._append(words.ravel(), at - self.length, np.array(numbers, np.int64), self.true_counts[chosen])

    def _write(self, storage: int, ids: np.ndarray) -> None:
        """An output of the tape."""
        kind = self.elements.kinds[ids[0]] if len(ids) else "f64"
        base = self.base(storage)
        words = [word for k, slot in enumerate(self.slot_of[ids].tolist()) for word in (base, k, slot)]
        self.add(Store(kind, False, False), len(ids), words)
