"""Pads arrays that get shorter at every iteration to one length, so that their loop rolls.

```
while len(v) > 1:                      for t in range(n):
    v = f(v[:-1], v[1:])        →          v = append(f(v[:-1], v[1:]), 0)
```

Examples are lattices of prices, divided differences and de Casteljau's algorithm. Each array is the beginning of a longer one; the padding
is computed too and never read. Unpadded, each length would compile as its own loop. Long arrays shrink in a few steps.

Each instruction is rewritten on its own: its true result is the beginning of the longer one whatever the other iterations are.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from ...ir.instruction import CONSTANT, INPUT, Instruction, ValueType, columns_of
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops import Elementwise
from ...ops.arrays.indexing import ASSEMBLE, INDEX, REPLACE
from ...ops.arrays.regions import Region, Regions
from ...ops.arrays.shape import BROADCAST, RESHAPE, TRANSPOSE
from .tape_arrays import agreement, previous_windows

FEWEST_ITERATIONS = 16
# Limit on the entries of an array of all iterations.
LARGEST_TABLE = 1 << 22
# Fewer instructions compile in half a second, and padding would only slow calls.
FEWEST_INSTRUCTIONS = 800
# (size, k): arrays of at most `size` entries shrink in k steps. Each is a loop to compile, for 0.1 to 0.3 s; k steps compute
# (k + 1) / k of the entries read.
STEPS = ((128, 1), (512, 2), (2048, 4), (LARGEST_TABLE, 8))

Shape = tuple[int, ...]


@dataclass(frozen=True)
class _Run:
    """Iterations that differ only in the lengths of arrays: `count` of `period` instructions from a place of the sequence on."""

    start: int
    period: int
    count: int


def shrinking_arrays(tape: Tape) -> Tape:
    """Return the tape with padded iterations; itself if there are none. Cost: linear in the number of instructions."""
    columns = columns_of(tape.instructions)
    kinds = tape.instructions if columns is None else columns.templates
    if len({i.type for i in kinds}) < FEWEST_ITERATIONS:
        return tape
    sequence = [n for n, i in enumerate(tape.instructions) if i.op is not CONSTANT and i.op is not INPUT]
    runs = _runs(tape, sequence)
    pays = sum(run.count * run.period for run in runs) >= FEWEST_INSTRUCTIONS
    return _Lengthened(tape, sequence, runs).made() if pays else tape


# Finding iterations


def _runs(tape: Tape, sequence: Sequence[int]) -> list[_Run]:
    known: dict[Hashable, int] = {}
    tokens = np.array([known.setdefault(_token(tape.instructions[n]), len(known)) for n in sequence], np.int64)
    previous = previous_windows(tokens)
    periods = np.where(previous >= 0, np.arange(previous.size) - previous, 0)
    found: list[_Run] = []
    place = 0
    for change in np.flatnonzero(np.diff(periods, prepend=-1)).tolist():
        period = int(periods[change])
        if not period or change < place + period:
            continue
        first = change - period
        end = change + agreement(tokens, change, period)
        run = _run(tape, sequence, first, period, (end - first) // period)
        if run is not None:
            found.append(run)
            place = run.start + run.period * run.count
    return found


def _token(instruction: Instruction) -> Hashable:
    """Equal for an operation on arrays of any length."""
    op, inputs, params, type_, _ = instruction
    if not isinstance(type_, ValueType):
        return op, len(inputs), type_
    if op is INDEX:
        return op, params[0].starts, params[0].steps, type_.dtype
    if op is ASSEMBLE or op is REPLACE:
        return op, tuple((r.starts, r.steps) for r in params[0]), type_.dtype
    return op, len(inputs), len(type_.shape), type_.dtype


def _run(tape: Tape, sequence: Sequence[int], start: int, period: int, count: int) -> _Run | None:
    """Return the iterations from a place on that fit the lengths of the first; None if few do, or their lengths are equal."""
    if count < FEWEST_ITERATIONS:
        return None
    begin = start + _boundary(tape, sequence, start, period)
    # Instructions before a loop may look like the end of an iteration.
    for first in (begin, begin + period):
        alike = _alike(tape, sequence, first, period, min(count, (len(sequence) - first) // period))
        if alike >= FEWEST_ITERATIONS:
            return _Run(first, period, alike)
    return None


def _alike(tape: Tape, sequence: Sequence[int], start: int, period: int, count: int) -> int:
    """Count the iterations that fit the lengths of the first; 0 if their lengths are equal."""
    iterations = [[tape.instructions[n] for n in sequence[start + t * period : start + (t + 1) * period]] for t in range(count)]
    if count < 2 or all(a.type == b.type for a, b in zip(iterations[0], iterations[1])):
        return 0
    for iteration in range(1, count):
        # Compare with the previous iteration as well: lengths never grow again.
        pairs = zip(iterations[iteration], iterations[0], iterations[iteration - 1])
        if not all(_fits(tape, i, first) and _fits(tape, i, last) for i, first, last in pairs):
            return iteration
    return count


def _boundary(tape: Tape, sequence: Sequence[int], start: int, period: int) -> int:
    """Return the offset at which the fewest arrays cross from one iteration to the next."""
    place = {n: k for k, n in enumerate(sequence[start : start + 3 * period])}
    last_read: dict[int, int] = {}
    for k, n in enumerate(sequence[start : start + 3 * period]):
        for i in tape.instructions[n].inputs:
            if period <= place.get(i, 0) < 2 * period and tape.instructions[i].type.shape:
                last_read[place[i]] = k
    # By boundary, the change in the number of arrays that cross it.
    changes = np.zeros(3 * period + 1, np.int64)
    for made, read in last_read.items():
        changes[made + 1] += 1
        changes[min(read, made + period) + 1] -= 1
    return int(np.argmin(np.cumsum(changes[:-1]).reshape(3, period).sum(axis=0)))


# Instructions whose result is the beginning of a longer one's


def _fits(tape: Tape, short: Instruction, long: Instruction) -> bool:
    """True if an instruction gives the beginning of a longer one's result, given beginnings of its operands."""
    if short.op is not long.op or len(short.inputs) != len(long.inputs):
        return False
    types = [tape.instructions[i].type for i in (*short.inputs, *long.inputs)] + [short.type, long.type]
    if not all(isinstance(t, ValueType) for t in types):
        return False
    count = len(short.inputs)
    if _is_as_long(tape, short, long):
        return True
    pairs = [*zip(types[:count], types[count : 2 * count]), (short.type, long.type)]
    if not all(_begins(a, b) for a, b in pairs):
        return False
    op = short.op
    if isinstance(op, Elementwise) or op is BROADCAST:
        return all(_broadcasts_alike(a.shape, b.shape, short.type.shape, long.type.shape) for a, b in pairs[:-1])
    if op is INDEX:
        return _reads_alike(short.params[0], long.params[0])
    if op is ASSEMBLE or op is REPLACE:
        regions = zip(short.params[0], long.params[0])
        return all(_covers_alike(a, b, short.type.shape, long.type.shape) for a, b in regions) and short.params[2:] == long.params[2:]
    if op is RESHAPE:
        return all(_without_ones(a, b) == _without_ones(short.type.shape, long.type.shape) for a, b in [(types[0].shape, types[1].shape)])
    return op is TRANSPOSE and short.params == long.params


def _is_as_long(tape: Tape, short: Instruction, long: Instruction) -> bool:
    """True if operands and result have the same types, so that the instruction stays as it is."""
    return short.type == long.type and all(
        tape.instructions[i].type == tape.instructions[k].type for i, k in zip(short.inputs, long.inputs)
    )


def _begins(short: ValueType, long: ValueType) -> bool:
    is_short = len(short.shape) == len(long.shape) and all(0 < a <= b for a, b in zip(short.shape, long.shape))
    return is_short and short.dtype == long.dtype


def _broadcasts_alike(short: Shape, long: Shape, short_result: Shape, long_result: Shape) -> bool:
    """True if an operand broadcasts along the same axes."""
    pairs = zip(reversed(short), reversed(short_result), reversed(long), reversed(long_result))
    return all((a == b and c == d) or (a == 1 and c == 1) for a, b, c, d in pairs)


def _reads_alike(short: Region, long: Region) -> bool:
    if (short.starts, short.steps) != (long.starts, long.steps) or any(s < 0 for s in short.steps):
        return False
    if len(short.shape) == len(short.counts):
        return short.shape == short.counts and long.shape == long.counts
    # Axes of one entry that the result drops.
    return _without_ones(short.counts, long.counts) == _without_ones(short.shape, long.shape)


def _covers_alike(short: Region, long: Region, short_array: Shape, long_array: Shape) -> bool:
    """True if a slice has the same extent along each axis, or goes to its end."""
    if (short.starts, short.steps) != (long.starts, long.steps) or not _reads_alike(short, long):
        return False
    for start, step, few, many, few_in_all, many_in_all in zip(
        short.starts, short.steps, short.counts, long.counts, short_array, long_array
    ):
        if few != many and (step != 1 or start + few != few_in_all or start + many != many_in_all):
            return False
    return True


def _without_ones(short: Shape, long: Shape) -> list[tuple[int, int]]:
    return [(a, b) for a, b in zip(short, long) if b != 1]


# Rewriting


class _Lengthened(Rewriter):
    """Rebuilds a tape; the values of a run are beginnings of longer arrays."""

    def __init__(self, tape: Tape, sequence: Sequence[int], runs: Sequence[_Run]) -> None:
        super().__init__(tape)
        self.models = {number: model for run in runs for number, model in self._models(sequence, run)}
        self.lengthened: dict[tuple[int, Shape], int] = {}

    def _models(self, sequence: Sequence[int], run: _Run) -> list[tuple[int, Instruction]]:
        """Pair each instruction of a run with the one whose lengths it takes."""
        instructions = self.tape.instructions
        iterations = [sequence[run.start + t * run.period : run.start + (t + 1) * run.period] for t in range(run.count)]
        sizes = [max(instructions[n].type.size for n in iteration) for iteration in iterations]
        steps = min(next((s for most, s in STEPS if sizes[0] <= most), 0), run.count // FEWEST_ITERATIONS)
        if not steps or sizes[0] * run.count > LARGEST_TABLE * steps:
            return []
        made: list[tuple[int, Instruction]] = []
        first, begins = 0, [sizes[0] - (sizes[0] - sizes[-1]) * k / steps for k in range(1, steps)]
        for iteration, numbers in enumerate(iterations):
            if begins and sizes[iteration] <= begins[0]:
                first = iteration
                begins.pop(0)
            made += [(n, instructions[model]) for n, model in zip(numbers, iterations[first])]
        return made

    def made(self) -> Tape:
        instructions = self.tape.instructions
        for number, instruction in enumerate(instructions):
            model = self.models.get(number)
            if model is None or _is_as_long(self.tape, instruction, model):
                operands = tuple([self._with_shape(i, instructions[i].type.shape) for i in instruction.inputs])
                self.number[number] = self.keep(instruction, operands)
                continue
            wanted = [instructions[i].type.shape for i in model.inputs]
            operands = tuple([self._with_shape(i, shape) for i, shape in zip(instruction.inputs, wanted)])
            self.number[number] = self.emit(model.op, operands, model.params, model.type, instruction.site)
        for old in self.tape.outputs:
            self.number[old] = self._with_shape(old, instructions[old].type.shape)
        return self.finish()

    def _with_shape(self, old: int, shape: Shape) -> int:
        """A value as the beginning of an array of a shape."""
        number = self.number[old]
        have = self.instructions[number].type
        if have.shape == shape:
            return number
        key = number, shape
        if key not in self.lengthened:
            self.lengthened[key] = self._other_length(number, have, shape)
        return self.lengthened[key]

    def _other_length(self, number: int, have: ValueType, shape: Shape) -> int:
        op, _, params, _, site = self.instructions[number]
        if op is CONSTANT:
            # Repeat the last entry, so that padding holds numbers that the function computes with anyway.
            longer = [(0, b - a) for a, b in zip(have.shape, shape)]
            return self.constant(np.pad(params[0], longer, mode="edge"), ValueType(shape, have.dtype))
        common = tuple(min(a, b) for a, b in zip(have.shape, shape))
        box = Region((0,) * len(shape), (1,) * len(shape), common, common)
        if common != have.shape:
            number = self.emit(INDEX, (number,), (box,), ValueType(common, have.dtype), site)
        if common != shape:
            number = self.emit(ASSEMBLE, (number,), (Regions((box,)), shape, True), ValueType(shape, have.dtype), site)
        return number
