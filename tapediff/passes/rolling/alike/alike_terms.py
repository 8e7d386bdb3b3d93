"""Puts the terms of a long sum that are computed alike next to each other, so that a loop is found for each kind of them.

```
for X, y in groups:                      the groups with 3 rows, those with 4 rows, ...
    r = y - X @ b                        then the sum in the order of the program
    total += np.sum(r**2)
```
Where groups have different numbers of rows, their operations differ, and those of equal size do not follow one another. Nothing else than
the order of instructions changes: values are the same to the bit.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import chain, pairwise

import numpy as np

from ....ir.instruction import CONSTANT, GUARD, INPUT, Columns, Instruction, Primitive
from ....ir.rewriter import Rewriter
from ....ir.tape import Tape
from ....ops.arrays.indexing import ASSEMBLE
from ....ops.arrays.regions import Region
from ....ops.control.calls import TupleOp
from ....ops.elementwise.arithmetic import ADD, SUBTRACT
from ...columns import Operands, as_columns, operands_of

# Shorter tapes compile quickly in any order, and sums of fewer terms are not looked at.
SHORTEST_TAPE, FEWEST_TERMS = 300, 16

# Terms that share operations are one: at most so many of them, which follow one another.
MOST_TOGETHER = 16

# Where kinds take turns, these are one loop as they stand. The first groups tell, but for a few that begin in another way.
FIRST_GROUPS, LONGEST_PERIOD, FEW = 64, 12, 4

# A loop has at least so many turns.
FEWEST_ALIKE = 4

_SHARED = -2


def alike_terms(tape: Tape) -> Tape:
    """The tape in another order; itself where its terms are alike as they stand, or few of them are at all.

    Also where it has guards: kernels that share one compute what it looks at alike, and the order depends on what comes behind it.
    """
    if len(tape.instructions) < SHORTEST_TAPE or GUARD in tape.ops:
        return tape
    columns = as_columns(tape.instructions)
    operands = operands_of(columns)
    sums = _longest_sum(columns, operands, tape.outputs)
    groups = None if sums is None else _groups(columns, operands, sums)
    if sums is None or groups is None:
        return tape
    instructions = tuple(tape.instructions)
    if _is_periodic([_form(instructions, group) for group in groups[:FIRST_GROUPS]]):
        return tape
    kinds: dict[Hashable, list[list[int]]] = {}
    order = list[int]()
    for group in groups:
        members = kinds.setdefault(_form(instructions, group), [])
        order.append(id(members))
        members.append(group)
    changes = 1 + sum(a != b for a, b in pairwise(order))
    alike = [members for members in kinds.values() if len(members) >= FEWEST_ALIKE]
    moved = sum(len(members) * len(members[0]) for members in alike)
    if changes < 2 * len(kinds) or 2 * moved < len(instructions):
        return tape
    return _reordered(tape, instructions, sums, [group for members in kinds.values() for group in members])


def _is_periodic(forms: Sequence[Hashable]) -> bool:
    return any(forms[FEW + period :] == forms[FEW:-period] for period in range(1, LONGEST_PERIOD + 1))


def _longest_sum(columns: Columns, operands: Operands, outputs: Sequence[int]) -> dict[int, tuple[int, ...]] | None:
    """The additions of a long sum, each with the terms that it adds; None if there is none."""
    is_sum, is_difference, is_array = _has_op(columns, ADD), _has_op(columns, SUBTRACT), _has_op(columns, ASSEMBLE)
    numbers = np.flatnonzero(is_sum | is_difference | is_array)
    if not numbers.size:
        return None
    of, first, counts = operands
    # A partial sum is used once, by the next one.
    uses = np.bincount(np.append(of, np.array(outputs, np.int64)), minlength=first.size)
    is_partial = np.append((is_sum | is_difference) & (uses == 1), False)  # the last one of no operand
    summed, differences = np.flatnonzero(is_sum), np.flatnonzero(is_difference)
    one, other = np.full(first.size, -1), np.full(first.size, -1)
    one[summed], other[summed], one[differences] = of[first[summed]], of[first[summed] + 1], of[first[differences]]
    # The operands that are partial sums, of those that have any.
    one, other = np.where(is_partial[one], one, -1), np.where(is_partial[other], other, -1)
    goes_on = np.flatnonzero((one >= 0) | (other >= 0))
    length = np.where(is_array, counts, 1)
    lengths, before = length.tolist(), dict[int, int]()
    # The last of several: sums within terms come before the sum of these.
    longest = int(numbers[numbers.size - 1 - int(length[numbers][::-1].argmax())])
    for number, i, j in zip(goes_on.tolist(), one[goes_on].tolist(), other[goes_on].tolist()):
        most = lengths[number]
        if i >= 0 and lengths[i] >= most:
            most, before[number] = lengths[i] + 1, i
        if j >= 0 and lengths[j] >= most:
            most, before[number] = lengths[j] + 1, j
        lengths[number] = most
        if most > lengths[longest] or (most == lengths[longest] and number > longest):
            longest = number
    if lengths[longest] < FEWEST_TERMS:
        return None
    if is_array[longest]:
        return {longest: tuple(of[first[longest] : first[longest] + counts[longest]].tolist())}
    partial = [longest]
    while (number := before.get(partial[-1], -1)) >= 0:
        partial.append(number)
    partial.reverse()
    begins = first[partial]
    operands_of_each = zip(partial, (-1, *partial[:-1]), of[begins].tolist(), of[begins + 1].tolist())
    return {number: tuple([i for i in (a, b) if i != earlier]) for number, earlier, a, b in operands_of_each}


def _has_op(columns: Columns, op: Primitive) -> np.ndarray:
    """By instruction."""
    return np.fromiter((i.op is op for i in columns.templates), bool, len(columns.templates))[columns.which]


def _groups(columns: Columns, operands: Operands, sums: dict[int, tuple[int, ...]]) -> list[list[int]] | None:
    """The instructions that only one term needs, or a few that follow one another, in the order of these; None if these are less than
    half of all, or too few of them may be alike."""
    size, number = columns.which.size, np.arange(columns.which.size)
    added = np.fromiter(chain.from_iterable(sums.values()), np.int64)
    terms = np.arange(added.size)
    # Of each value the first and the last term that needs it; all of them where something else does.
    first, last = np.full(size, added.size), np.full(size, -1)
    np.minimum.at(first, added, terms)
    np.maximum.at(last, added, terms)
    is_sum = np.zeros(size, bool)
    is_sum[list(sums)] = True
    consumers = np.repeat(number, operands.counts)
    used = operands.of[~is_sum[consumers]]
    by = consumers[~is_sum[consumers]]
    uses = np.bincount(used, minlength=size)
    fixed = [i.op is INPUT or (isinstance(i.op, TupleOp) and not i.params[0].is_pure) for i in columns.templates]
    is_shared = np.array(fixed, bool)[columns.which] | ((uses == 0) & (last < 0))
    first[is_shared], last[is_shared] = 0, added.size + MOST_TOGETHER
    # What one instruction needs and no term does goes with this one.
    goes_with = number.copy()
    follows = (uses[used] == 1) & (last[used] < 0)
    goes_with[used[follows]] = by[follows]
    while not np.array_equal(farther := goes_with[goes_with], goes_with):
        goes_with = farther
    _propagate(first, last, used[~follows], goes_with[by[~follows]], operands.counts > 0)
    first, last = first[goes_with], last[goes_with]
    own = np.flatnonzero((last - first < MOST_TOGETHER) & ~is_sum)
    if 2 * own.size + 2 * len(sums) < size:
        return None
    return _apart(own, first[own], last[own], added.size, size)


def _propagate(first: np.ndarray, last: np.ndarray, values: np.ndarray, by: np.ndarray, has_operands: np.ndarray) -> None:
    """The terms that need the users of values need the values, too, in place; users come behind what they use."""
    inner = np.flatnonzero(has_operands[values])
    order = inner[np.argsort(-by[inner], kind="stable")]
    firsts, lasts = first.tolist(), last.tolist()
    for value, user in zip(values[order].tolist(), by[order].tolist()):
        if firsts[user] < firsts[value]:
            firsts[value] = firsts[user]
        if lasts[user] > lasts[value]:
            lasts[value] = lasts[user]
    first[:], last[:] = firsts, lasts
    leaves = ~has_operands[values]
    np.minimum.at(first, values[leaves], first[by[leaves]])
    np.maximum.at(last, values[leaves], last[by[leaves]])


def _apart(own: np.ndarray, first: np.ndarray, last: np.ndarray, terms: int, size: int) -> list[list[int]] | None:
    """The instructions of each run of terms that share some; none of runs that are too long."""
    reach = np.arange(terms)
    np.maximum.at(reach, first, last)
    run_of = np.cumsum(np.append(False, np.arange(1, terms) > np.maximum.accumulate(reach)[:-1]))
    is_short = (np.bincount(run_of) <= MOST_TOGETHER)[run_of[first]]
    own, runs = own[is_short], run_of[first[is_short]]
    order = np.argsort(runs, kind="stable")
    begins = np.flatnonzero(np.diff(runs[order], prepend=-1))
    ends = np.append(begins[1:], own.size)
    # Alike are none of different lengths.
    times = np.bincount(ends - begins)
    if 2 * int((np.arange(times.size) * times)[times >= FEWEST_ALIKE].sum()) < size:
        return None
    numbers = own[order].tolist()
    return [numbers[begin:end] for begin, end in zip(begins.tolist(), ends.tolist())]


def _form(instructions: Sequence[Instruction], group: Sequence[int]) -> Hashable:
    """Equal for groups that are computed alike, from other values and constants."""
    place = {number: k for k, number in enumerate(group)}
    found = list[Hashable]()
    for number in group:
        op, inputs, params, type_, _ = instructions[number]
        operands = tuple([place.get(i, _SHARED) for i in inputs])
        # Where parts of arrays begin may differ.
        what = () if op is CONSTANT else tuple([p[1:] if type(p) is Region else p for p in params])
        found.append((op, type_, what, operands))
    return tuple(found)


def _reordered(tape: Tape, instructions: Sequence[Instruction], sums: dict[int, tuple[int, ...]], groups: list[list[int]]) -> Tape:
    within = {number for group in groups for number in group}
    behind = bytearray(len(instructions))
    before, after = list[int](), list[int]()
    for number, (_, inputs, *_) in enumerate(instructions):
        if number in within or number in sums:
            # A group reads nothing that depends on the sum.
            behind[number] = number in sums
        elif any(behind[i] for i in inputs):
            behind[number] = 1
            after.append(number)
        else:
            before.append(number)
    rewriter = Rewriter(tape)
    for number in (*before, *(number for group in groups for number in group), *sums, *after):
        rewriter.number[number] = rewriter.copy(number)
    return rewriter.finish()
