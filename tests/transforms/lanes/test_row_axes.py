"""What is said to keep rows apart does: rows in another order give results in that order."""

import itertools

import numpy as np

from tapediff.ir.instruction import Instruction, ValueType
from tapediff.ops import REGISTRY
from tapediff.ops.arrays.indexing import ASSEMBLE, INDEX, REPLACE
from tapediff.ops.arrays.regions import Region, Regions
from tapediff.ops.arrays.shape import RESHAPE
from tapediff.transforms.lanes.row_axes import RULES, SAME, RowsMeet, axis_of_rows
from tests.ops.test_ops import cases, recorded

ROWS = 6


def part(rng, shape):
    """A random box, often with all entries of an axis, read with axes that may be joined or left out."""
    starts, steps, counts = [], [], []
    for extent in shape:
        count = extent if rng.random() < 0.6 else int(rng.integers(1, extent + 1))
        step = -1 if rng.random() < 0.15 else 1
        first = int(rng.integers(0, extent - count + 1))
        starts.append(first if step == 1 else first + count - 1)
        steps.append(step)
        counts.append(count)
    joined = tuple(n for n in counts if n > 1 or rng.random() < 0.5)
    if len(joined) > 1 and rng.random() < 0.3:
        joined = (joined[0] * joined[1], *joined[2:])
    return Region(tuple(starts), tuple(steps), tuple(counts), joined)


def random_instructions(rng):
    """Reads, writes and reshapes of arrays with an axis of rows."""
    shape = tuple(rng.permutation([ROWS, *rng.integers(1, 4, rng.integers(0, 3))]).tolist())
    region = part(rng, shape)
    whole, of_part = ValueType(shape, np.dtype(float)), ValueType(region.shape, np.dtype(float))
    yield Instruction(INDEX, (0,), (region,), of_part, None), (whole,)
    yield Instruction(REPLACE, (0, 1), (Regions((region,)),), whole, None), (whole, of_part)
    yield Instruction(ASSEMBLE, (0,), (Regions((region,)), shape, True), whole, None), (of_part,)
    size = int(np.prod(shape)) // ROWS
    new = tuple(rng.permutation([ROWS, size] if rng.random() < 0.5 else [ROWS, *[n for n in shape if n != ROWS]]).tolist())
    if np.prod(new) == np.prod(shape):
        yield Instruction(RESHAPE, (0,), (new,), ValueType(new, np.dtype(float)), None), (whole,)


def instructions():
    rng = np.random.default_rng(9)
    for _ in range(300):
        yield from random_instructions(rng)
    for name, op in sorted(REGISTRY.items()):
        if op in RULES and op.examples is not None:
            for call, arrays in cases(name):
                tape = recorded(call, [np.asarray(a) for a in arrays])
                for instruction in tape.instructions:
                    if instruction.op is op:
                        yield instruction, tuple(tape.instructions[i].type for i in instruction.inputs)


def turned(array, axis, order):
    return np.take(array, order, axis) if axis >= 0 else array


def test_rows_in_another_order_give_results_in_that_order():
    """Whatever axes are said to count rows, of every op with a rule: unless it says that rows meet."""
    rng, accepted = np.random.default_rng(4), set()
    for instruction, types in instructions():
        op = instruction.op
        operands = [rng.normal(size=t.shape) if t.dtype.kind == "f" else rng.integers(0, 2, t.shape).astype(t.dtype) for t in types]
        value = np.asarray(op.evaluate(*operands, *instruction.params))
        for rows in {*itertools.chain(*(t.shape for t in types))} - {0, 1}:
            axes = [[SAME, *(k for k, extent in enumerate(t.shape) if extent == rows)] for t in types]
            for given in itertools.product(*axes):
                if max(given) == SAME:
                    continue
                try:
                    result = axis_of_rows(instruction.type, rows)
                    found = RULES[op](instruction, types, given, result)
                except RowsMeet:
                    continue
                order = rng.permutation(rows)
                other = np.asarray(op.evaluate(*(turned(x, axis, order) for x, axis in zip(operands, given)), *instruction.params))
                expected = turned(value, found, order)
                # Sums over rows, and BLAS, add up in another order; entries of another place are a normal number off.
                np.testing.assert_allclose(other, expected, rtol=1e-12, atol=1e-12)
                accepted.add(op)
    assert {INDEX, REPLACE, ASSEMBLE, RESHAPE} < accepted
