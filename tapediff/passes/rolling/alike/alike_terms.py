"""Sorts the terms of a long sum by kind, so that each kind rolls into a loop.

```
for X, y in groups:                      the groups with 3 rows, those with 4 rows, ...
    r = y - X @ b                        then the sum in the order of the program
    total += np.sum(r**2)
```
If groups have different numbers of rows, their operations differ, and groups of equal size are not consecutive. Only the order of
instructions changes: values are the same to the bit.
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

# Consecutive terms that share operations count as one: at most so many.
MOST_TOGETHER = 16

# Alternating kinds are one loop already. Checked on the first groups, except for a few that may begin in another way.
FIRST_GROUPS, LONGEST_PERIOD, FEW = 64, 12, 4

# The fewest iterations of a loop.
FEWEST_ALIKE = 4

_SHARED = -2


def alike_terms(tape: Tape) -> Tape:
    """Reorder the tape; itself if its terms are sorted already, or few are isomorphic.

    Not for tapes with guards: kernels that share a guard compute its value identically, but this order depends on later instructions.
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
    is_partial = np.append((is_sum | is_difference) & (uses == 1), False)  # for absent operands, number -1
    summed, differences = np.flatnonzero(is_sum), np.flatnonzero(is_difference)
    one, other = np.full(first.size, -1), np.full(first.size, -1)
    one[summed], other[summed], one[differences] = of[first[summed]], of[first[summed] + 1], of[first[differences]]
    # The operands that are partial sums.
    one, other = np.where(is_partial[one], one, -1), np.where(is_partial[other], other, -1)
    goes_on = np.flatnonzero((one >= 0) | (other >= 0))
    length = np.where(is_array, counts, 1)
    lengths, before = length.tolist(), dict[int, int]()
    # Prefer the last: sums within terms come before the sum of the terms.
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
    """Mark the instructions with an op."""
    return np.fromiter((i.op is op for i in columns.templates), bool, len(columns.templates))[columns.which]


def _groups(columns: Columns, operands: Operands, sums: dict[int, tuple[int, ...]]) -> list[list[int]] | None:
    """Group instructions by the term, or the few consecutive terms, that alone uses them. None if less than half of all belong to one,
    or too few groups may be isomorphic."""
    size, number = columns.which.size, np.arange(columns.which.size)
    added = np.fromiter(chain.from_iterable(sums.values()), np.int64)
    terms = np.arange(added.size)
    # The first and last term that needs each value; all terms if something else needs it.
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
    # An instruction that only one other needs, and no term, joins that one.
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
    """Extend the terms that need each value by those of its users, in place; users come after the values they use."""
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
    """Split the instructions by runs of terms that share some; drop runs that are too long."""
    reach = np.arange(terms)
    np.maximum.at(reach, first, last)
    run_of = np.cumsum(np.append(False, np.arange(1, terms) > np.maximum.accumulate(reach)[:-1]))
    is_short = (np.bincount(run_of) <= MOST_TOGETHER)[run_of[first]]
    own, runs = own[is_short], run_of[first[is_short]]
    order = np.argsort(runs, kind="stable")
    begins = np.flatnonzero(np.diff(runs[order], prepend=-1))
    ends = np.append(begins[1:], own.size)
    # Groups of different lengths are never isomorphic.
    times = np.bincount(ends - begins)
    if 2 * int((np.arange(times.size) * times)[times >= FEWEST_ALIKE].sum()) < size:
        return None
    numbers = own[order].tolist()
    return [numbers[begin:end] for begin, end in zip(begins.tolist(), ends.tolist())]


def _form(instructions: Sequence[Instruction], group: Sequence[int]) -> Hashable:
    """Equal for groups with the same operations on other values and constants."""
    place = {number: k for k, number in enumerate(group)}
    found = list[Hashable]()
    for number in group:
        op, inputs, params, type_, _ = instructions[number]
        operands = tuple([place.get(i, _SHARED) for i in inputs])
        # The starts of slices may differ.
        what = () if op is CONSTANT else tuple([p[1:] if type(p) is Region else p for p in params])
        found.append((op, type_, what, operands))
    return tuple(found)


def _reordered(tape: Tape, instructions: Sequence[Instruction], sums: dict[int, tuple[int, ...]], groups: list[list[int]]) -> Tape:
    within = {number for group in groups for number in group}
    behind = bytearray(len(instructions))
    before, after = list[int](), list[int]()
    for number, (_, inputs, *_) in enumerate(instructions):
        if number in within or number in sums:
            # No group depends on the sum.
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
