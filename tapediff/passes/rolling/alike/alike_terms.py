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

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import pairwise

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

_NOBODY, _SHARED = -1, -2


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
    # Alike are none of different lengths.
    lengths = Counter(map(len, groups))
    if 2 * sum(length * times for length, times in lengths.items() if times >= FEWEST_ALIKE) < len(tape.instructions):
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
    is_partial = (is_sum | is_difference) & (uses == 1)
    length, before = np.where(is_array, counts, 1), dict[int, int]()
    summed, differences = np.flatnonzero(is_sum), np.flatnonzero(is_difference)
    one, other = np.full(first.size, -1), np.full(first.size, -1)
    one[summed], other[summed], one[differences] = of[first[summed]], of[first[summed] + 1], of[first[differences]]
    goes_on = (one >= 0) & (is_partial[one] | ((other >= 0) & is_partial[other]))
    lengths = length.tolist()
    for number in np.flatnonzero(goes_on).tolist():
        for i in (int(one[number]), int(other[number])):
            if i >= 0 and is_partial[i] and lengths[i] >= lengths[number]:
                lengths[number], before[number] = lengths[i] + 1, i
    # The last of several: sums within terms come before the sum of these.
    found = np.array(lengths)[numbers]
    longest = int(numbers[found.size - 1 - int(found[::-1].argmax())])
    if lengths[longest] < FEWEST_TERMS:
        return None
    terms = lambda number: of[first[number] : first[number] + counts[number]].tolist()  # noqa: E731 -- its name is its use
    if is_array[longest]:
        return {longest: tuple(terms(longest))}
    partial, number = dict[int, tuple[int, ...]](), longest
    while number >= 0:
        earlier = before.get(number, -1)
        partial[number] = tuple([i for i in terms(number) if i != earlier])
        number = earlier
    return dict(reversed(partial.items()))


def _has_op(columns: Columns, op: Primitive) -> np.ndarray:
    """By instruction."""
    return np.fromiter((i.op is op for i in columns.templates), bool, len(columns.templates))[columns.which]


def _groups(columns: Columns, operands: Operands, sums: dict[int, tuple[int, ...]]) -> list[list[int]] | None:
    """The instructions that only one term needs, or a few that follow one another, in the order of these; None if these are less than
    half of all."""
    count = columns.which.size
    # Of each value the first and the last term that needs it; _SHARED where something else does.
    first, last = [count] * count, [_NOBODY] * count
    terms = 0
    for added in sums.values():
        for i in added:
            if last[i] == _NOBODY:
                first[i] = last[i] = terms
            else:
                first[i], last[i] = min(first[i], terms), max(last[i], terms)
            terms += 1
    fixed = [i.op is INPUT or (isinstance(i.op, TupleOp) and not i.params[0].is_pure) for i in columns.templates]
    is_fixed = np.array(fixed, bool)[columns.which].tolist()
    of, begins, counts = (each.tolist() for each in operands)
    shared = 0
    for number in range(count - 1, -1, -1):
        if number in sums:
            continue
        a, b, begin = first[number], last[number], begins[number]
        if b < 0 or is_fixed[number] or b - a >= MOST_TOGETHER:
            shared += 1
            if 2 * shared > count:
                return None
            last[number] = _SHARED
            for i in of[begin : begin + counts[number]]:
                last[i] = _SHARED
            continue
        for i in of[begin : begin + counts[number]]:
            if last[i] != _SHARED:
                if a < first[i]:
                    first[i] = a
                if b > last[i]:
                    last[i] = b
    return _apart(count, terms, first, last, sums)


def _apart(count: int, terms: int, first: list[int], last: list[int], sums: dict[int, tuple[int, ...]]) -> list[list[int]]:
    """The instructions of each run of terms that share some; none of runs that are too long."""
    reach = list(range(terms))
    own = [number for number in range(count) if last[number] >= 0 and number not in sums]
    for number in own:
        reach[first[number]] = max(reach[first[number]], last[number])
    group_of, end, number_of_group = [0] * terms, -1, -1
    for term in range(terms):
        if term > end:
            number_of_group += 1
        end = max(end, reach[term])
        group_of[term] = number_of_group
    groups = [list[int]() for _ in range(number_of_group + 1)]
    sizes = [0] * len(groups)
    for group in group_of:
        sizes[group] += 1
    for number in own:
        groups[group_of[first[number]]].append(number)
    return [group for group, size in zip(groups, sizes) if group and size <= MOST_TOGETHER]


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
