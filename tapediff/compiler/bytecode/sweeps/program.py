"""Long tapes of scalar operations as a forward and a backward sweep of byte code, without a tape of the derivative.

    tape → elements (scalar operations) → runs of operations of one form → words

Independent operations of one form are grouped in a run. The backward sweep is the same runs in reverse, each with the adjoint of its
operation: it adds to the cotangents of the operands. `runs.py` finds the runs; here they are laid out as words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

import numpy as np

from ....errors import UnsupportedFunction
from ....ir.instruction import GUARD, ValueType, some_of
from ....ir.tape import Tape
from ....ops.arrays.indexing import GATHER
from ....ops.declaration.op import Op
from ....passes.columns import as_columns
from ...loop_ir.collapse_loops import LANES
from ...loop_ir.program import Access, Exit, Interpreted, Program, Storage
from ..handlers import Check, Constants, End, Handler, Store, addresses_of
from .elements import elements_of
from .formulas import adjoint_formula, forward_formula
from .lookups import AddAt, LookUp
from .run_handlers import ADJOINT_WORDS, Adjoint, CopyIn, CopyOut, Forward, Turn
from .runs import ADJOINTS, KEYS, grouped, keys_of
from .tables import KINDS, OPERANDS, Elements, Unsuited

# A run costs 20 ns in addition to its operations, for a mispredicted jump. Chains of unlike operations take 4 times as long as compiled
# code, and compiling them pays after 10 000 calls; with runs of 3 operations it pays after 35 000, of 6 after 80 000. So runs have at least
# SHORTEST_RUNS operations on average, unless there are more than MOST_COMPILED. Operations on arrays take OF_ARRAYS times as long to
# compile.
SHORTEST_RUNS, MOST_COMPILED, OF_ARRAYS = 3, 7000, 4

AnyHandler: TypeAlias = Handler | Forward | Adjoint | LookUp | AddAt | Turn | CopyIn | CopyOut

@dataclass(frozen=True, slots=True)
class Sweeps(Interpreted):
    """A loop program group that runs both sweeps.

    Attributes:
        words, headers: as of bytecode.translate.Translation.
        handlers: each once.
        handler_of: by run, its number in `handlers`.
        counts: by run, the number of operations without padding.
        slots: the words that the values and the cotangents take.
        bases: storages of inputs and outputs.
        operations: their number in both sweeps.
        whole: the slots of constants that are not floats, and their kinds.
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
        """Guards on arrays."""
        return ()

    @property
    def handler_of_run(self) -> list[AnyHandler]:
        return [self.handlers[number] for number in self.handler_of]

    def linked(self) -> np.ndarray:
        """The words with the addresses of the handlers in this process."""
        addresses = np.array(addresses_of(self.handlers), np.uint64)[self.handler_of]
        words = self.words.copy()
        words[self.headers] = (addresses & np.uint64(0xFFFFFFFF)).astype(np.uint32)
        words[self.headers + 1] = (addresses >> np.uint64(32)).astype(np.uint32)
        return words


def swept(tape: Tape, wrt: Sequence[int] | None) -> Program | None:
    """The program of a tape that is ready to be differentiated: its outputs, then the gradient of the first one with respect to the inputs
    `wrt`. None if sweeps do not support an instruction."""
    try:
        elements = elements_of(tape)
        keys = keys_of(tape, elements, wrt)
        return _Builder(tape, elements, keys, wrt).program()
    except (Unsuited, UnsupportedFunction):
        # The reverse pass raises UnsupportedFunction, too, and names the line.
        return None


def _compiling_time(tape: Tape, elements: Elements) -> int:
    """The time that LLVM would take for the tape, in scalar operations."""
    columns = as_columns(tape.instructions)
    is_array = [isinstance(i.op, Op) and not i.op.moves and isinstance(i.type, ValueType) and bool(i.type.shape) for i in columns.templates]
    return len(elements.makers) + (OF_ARRAYS - 1) * int(np.count_nonzero(np.array(is_array, bool)[columns.which]))


class _Builder:
    """Lays the runs out as words.

    Attributes:
        handlers_of: by key, the handlers of both sweeps, in the order of the first runs.
        counts, true_counts: operations by run, with and without padding.
        place: by operation, its position in the run.
        made_at: by run, the slot of its first result.
        slot_of: by element, its slot.
    """

    def __init__(self, tape: Tape, elements: Elements, keys: np.ndarray, wrt: Sequence[int] | None) -> None:
        self.tape, self.elements, self.keys, self.wrt = tape, elements, keys, wrt
        self.runs = grouped(elements, keys)
        least = min(MOST_COMPILED, SHORTEST_RUNS * len(self.runs.which))
        if len(elements.makers) < least and _compiling_time(tape, elements) < least:
            raise Unsuited
        self.words: list[np.ndarray] = []
        self.headers: list[np.ndarray] = []
        self.length = 0
        self.handlers: dict[AnyHandler, int] = {}
        self.handler_of: list[np.ndarray] = []
        self.run_counts: list[np.ndarray] = []
        self.handlers_of = {key: self._handlers(key) for key in self.runs.keys}
        self.bases: list[int] = []
        self._number()

    def _number(self) -> None:
        """Number the slots: constants, inputs, then the results of the runs, each padded to whole blocks."""
        elements, of = self.elements, self.runs.of
        results = elements.results
        blocks = self._by_run({key: self._block(key) for key in self.handlers_of})
        self.true_counts = np.bincount(of, minlength=len(blocks))
        self.counts = -(-self.true_counts // blocks) * blocks
        # The position of each operation in its run, and the first slot of each run's results.
        order = np.argsort(of, kind="stable")
        self.place = np.empty(len(of), np.int64)
        self.place[order] = np.arange(len(of)) - np.repeat(np.cumsum(self.true_counts) - self.true_counts, self.true_counts)
        first = [*elements.constants.values(), *chain.from_iterable(range(n, n + size) for n, size in elements.inputs.values())]
        makes = self._by_run({key: forward.makes_values for key, (forward, _) in self.handlers_of.items()}) * self.counts
        self.made_at = len(first) + np.cumsum(makes) - makes
        self.values = -(-(len(first) + int(makes.sum())) // LANES) * LANES
        self.slot_of = np.zeros(len(elements.kinds), np.int64)
        self.slot_of[first] = np.arange(len(first))
        makers = results >= 0
        self.slot_of[results[makers]] = (self.made_at[of] + self.place)[makers]

    def _by_run(self, by_key: dict[int, int]) -> np.ndarray:
        """Map a value by key to a value by run."""
        return np.array([by_key[key] for key in self.runs.keys], np.int64)[self.runs.which]

    def _block(self, key: int) -> int:
        """The number of operations computed together, the larger of both sweeps."""
        return max([handler.block for handler in self.handlers_of[key] if isinstance(handler, (Forward, Adjoint))], default=1)

    def _handlers(self, key: int) -> tuple[Check | Forward | LookUp, Adjoint | AddAt | None]:
        """The handlers of a key: for the forward sweep, and for the backward sweep if anything has a derivative."""
        form, wanted = self.elements.forms[key // KEYS], tuple([k for k in range(OPERANDS) if key >> k & 1])
        if form.op is GUARD:
            kind, expects_nan = form.params
            return Check(kind, form.kinds[0], expects_nan), None
        if form.op is GATHER:
            return LookUp(form.kind), AddAt() if wanted else None
        adjoint = Adjoint(adjoint_formula(form, wanted, key % KEYS // ADJOINTS), wanted) if wanted else None
        return Forward(forward_formula(form)), adjoint

    # Words

    def add(self, handler: AnyHandler, count: int, words: Sequence[int] | np.ndarray) -> None:
        """Append one run."""
        self._append(np.array([0, 0, count, *words], np.int64), np.zeros(1, np.int64), np.array([self.handler(handler)]), np.array([count]))

    def _append(self, words: np.ndarray, headers: np.ndarray, handlers: np.ndarray, counts: np.ndarray) -> None:
        self.words.append(words.astype(np.uint32))
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
            bits = np.frombuffer(b"".join(bits for _, bits, *_ in elements.constants), np.uint32)
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
            self._exits(), np.concatenate(self.words), np.concatenate(self.headers), tuple(self.handlers),
            np.concatenate(self.handler_of), np.concatenate(self.run_counts), self.values * (2 if wrt else 1), tuple(self.bases),
            len(elements.makers) * (3 if wrt else 1), {k: kind for k, (kind, *_) in enumerate(elements.constants) if kind != "f64"},
        )  # fmt: skip
        outputs = len(tape.outputs) + len(wrt or ())
        return Program(tape.name, storages, [group], b"", len(tape.inputs), outputs, (), 8 * group.slots)

    def _storages(self) -> list[Storage]:
        """The storages of inputs, then outputs; the last one is for the number that a guard looked at."""
        tape = self.tape
        inputs = [(type_, "input", k) for k, type_ in enumerate(tape.input_types)]
        types = [*tape.output_types, *(tape.input_types[k] for k in self.wrt or ())]
        outputs = [(type_, "output", k) for k, type_ in enumerate(types)]
        made = [Storage(n, type_.size, KINDS[type_.dtype], home, k, True) for n, (type_, home, k) in enumerate(inputs + outputs)]
        return [*made, Storage(len(made), 1, "f64")]

    def _exits(self) -> tuple[Exit, ...]:
        elements, last = self.elements, len(self.tape.inputs) + len(self.tape.outputs) + len(self.wrt or ())
        found = []
        guards = some_of(self.tape.instructions, elements.makers[list(elements.ordinals)].tolist()) if elements.ordinals else []
        for ordinal, guard in zip(elements.ordinals.values(), guards):
            op, _, params, _, site = guard
            assert op is GUARD
            found.append(Exit(ordinal, params[0], Access(last, 0, ()), float(params[1]), (last, 1), site))
        return tuple(found)

    def _forward(self) -> np.ndarray:
        """Write the forward runs; return the start of each."""
        elements, runs, counts = self.elements, self.runs, self.counts
        numbers = self._by_run({key: self.handler(forward) for key, (forward, _) in self.handlers_of.items()})
        arities = self._by_run({key: forward.arity for key, (forward, _) in self.handlers_of.items()})
        lengths = 3 + counts * arities
        starts = np.cumsum(lengths) - lengths
        words = np.full(int(lengths.sum()), self.slot_of[elements.filler], np.int64)
        words[starts + 2] = counts
        at = starts[runs.of] + 3 + self.place * arities[runs.of]
        sizes, operands = elements.counts, self.slot_of[elements.operands]
        within = np.arange(len(operands)) - np.repeat(elements.begins, sizes)
        words[np.repeat(at, sizes) + within] = operands
        for k, ordinal in elements.ordinals.items():
            words[at[k] + 2] = ordinal
        first = self.length
        self._append(words, starts, numbers, self.true_counts)
        return starts + first

    def _backward(self, starts: np.ndarray) -> None:
        """Write the adjoints of the runs that have one, from the last to the first."""
        keys = np.array(self.runs.keys, np.int64)[self.runs.which]
        chosen = np.flatnonzero(keys % ADJOINTS)[::-1]
        words = np.zeros((len(chosen), ADJOINT_WORDS), np.int64)
        at = self.length + ADJOINT_WORDS * np.arange(len(chosen))
        words[:, 2] = self.counts[chosen]
        words[:, 3] = at - (starts[chosen] + 3)
        words[:, 4] = self.made_at[chosen]
        numbers = self._by_run({key: self.handler(adjoint) if adjoint else -1 for key, (_, adjoint) in self.handlers_of.items()})
        self._append(words.ravel(), at - self.length, numbers[chosen], self.true_counts[chosen])

    def _write(self, storage: int, ids: np.ndarray) -> None:
        """Write an output of the tape."""
        kind = self.elements.kinds[ids[0]] if len(ids) else "f64"
        base = self.base(storage)
        words = [word for k, slot in enumerate(self.slot_of[ids].tolist()) for word in (base, k, slot)]
        self.add(Store(kind, False, False), len(ids), words)
