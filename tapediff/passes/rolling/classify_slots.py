"""Classifies the slots of a repeated body: loop-invariant, array of all iterations, sum, or slot of a loop.

Slots that depend on themselves across iterations stay a loop, with everything in between; slots before and after it become array
operations. A running sum that nothing in the body reads is a sum over an array.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...ir.instruction import BOOL, GUARD, Instruction
from ...ops.arrays.indexing import SCATTER_ADD
from ...ops.control.calls import GET, TupleOp
from ...ops.elementwise.arithmetic import ADD, SUBTRACT
from .repetition import Repetition
from .tape_arrays import TapeArrays
from .vectorize import is_batchable


@dataclass(frozen=True)
class RunningSum:
    """s = s + v in a body, perhaps several times.

    Attributes:
        slots: the additions; the last one makes the initial sum of the next iteration.
        start: the column of the running sum at the beginning of an iteration.
        terms: the added columns, and their signs.
    """

    slots: tuple[int, ...]
    start: int
    terms: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class BodyPlan:
    """The classes of the slots of a body.

    Attributes:
        fixed: by slot, True if it is loop-invariant.
        before: slots that become arrays before the loop, in topological order; `after` likewise.
        loop: the slots of the loop, in their order.
        guards: the slots that are guards, in their order.
    """

    fixed: tuple[bool, ...]
    before: tuple[int | RunningSum, ...]
    loop: tuple[int, ...]
    after: tuple[int | RunningSum, ...]
    guards: tuple[int, ...] = ()


def plan_body(sequence: TapeArrays, found: Repetition, is_whole: bool = False) -> BodyPlan:
    """Plan how a body is rolled; with `is_whole` all of it stays in the loop, to stack as few arrays as possible."""
    planner = _Planner(sequence, found)
    return planner.whole() if is_whole else planner.plan()


class _Planner:
    def __init__(self, sequence: TapeArrays, found: Repetition) -> None:
        self.sequence, self.found = sequence, found
        numbers = sequence.members[found.start : found.start + found.period].tolist()
        self.instructions: list[Instruction] = [sequence.tape.instructions[n] for n in numbers]
        self.columns = [range(found.first[k], found.first[k + 1]) for k in range(found.period)]
        self.producers, self.distances = found.producers.tolist(), found.distances.tolist()
        self.same = (found.values == found.values[0]).all(axis=0).tolist()
        self.guards = tuple(k for k, i in enumerate(self.instructions) if i.op is GUARD)
        self.fixed = self._fixed()
        self.consumers: list[list[int]] = [[] for _ in range(found.period)]
        for k, columns in enumerate(self.columns):
            for c in columns:
                if self.producers[c] >= 0:
                    self.consumers[self.producers[c]].append(k)

    def plan(self) -> BodyPlan:
        skipped = list(self.fixed)
        for k in self.guards:
            skipped[k] = True
        components = strong_components(
            [[] if skipped[k] else self._makers(k) for k in range(self.found.period)], skipped
        )
        home = {k: n for n, component in enumerate(components) for k in component}
        sums = [self._running_sum(component) for component in components]
        core = [sums[n] is None and self._is_core(component) for n, component in enumerate(components)]
        after, before = [False] * len(components), [False] * len(components)
        for n, component in enumerate(components):
            for maker in {home[m] for k in component for m in self._makers(k)} - {n}:
                after[n] |= core[maker] or after[maker]
        for n in range(len(components) - 1, -1, -1):
            for maker in {home[m] for k in components[n] for m in self._makers(k)} - {n}:
                before[maker] |= core[n] or before[n]
        steps: tuple[list[int | RunningSum], list[int | RunningSum]] = [], []
        loop: list[int] = []
        for n, component in enumerate(components):
            if core[n] or (after[n] and before[n]):
                loop += component
            else:
                steps[after[n]].append(sums[n] or component[0])
        return BodyPlan(tuple(self.fixed), tuple(steps[0]), tuple(sorted(loop)), tuple(steps[1]), self.guards)

    def whole(self) -> BodyPlan:
        loop = [k for k, is_fixed in enumerate(self.fixed) if not is_fixed and k not in self.guards]
        return BodyPlan(tuple(self.fixed), (), tuple(loop), (), self.guards)

    def _makers(self, slot: int) -> list[int]:
        """The slots whose values a slot uses, from any iteration."""
        makers = (self.producers[c] for c in self.columns[slot])
        return [m for m in makers if m >= 0 and not self.fixed[m]]

    def _fixed(self) -> list[bool]:
        varied = {p for p, d in zip(self.producers, self.distances) if d > 0}
        fixed = [False] * self.found.period
        while True:
            for k, columns in enumerate(self.columns):
                fixed[k] = (
                    k not in varied
                    and self.instructions[k].op is not GUARD
                    and all(fixed[self.producers[c]] if self.producers[c] >= 0 else self.same[c] for c in columns)
                )
            # A loop or call stays with the items read of it: a loop takes no tuples as operands.
            apart = {
                self.producers[columns[0]] for k, columns in enumerate(self.columns)
                if self.instructions[k].op is GET and not fixed[k] and self.producers[columns[0]] >= 0 and fixed[self.producers[columns[0]]]
            }  # fmt: skip
            if not apart:
                return fixed
            varied |= apart

    def _is_core(self, component: list[int]) -> bool:
        (slot, *others) = component
        if others or slot in self._makers(slot):
            return True
        instruction = self.instructions[slot]
        if isinstance(instruction.op, TupleOp) or instruction.op is GET:
            return True
        columns = self.columns[slot]
        values = self.found.values[0]
        tape = self.sequence.tape.instructions
        types = [tape[int(values[c])].type for c in columns]
        same = [self.fixed[self.producers[c]] if self.producers[c] >= 0 else self.same[c] for c in columns]
        return not is_batchable(instruction, types, self.found.count, same)

    def _running_sum(self, component: list[int]) -> RunningSum | None:
        """Return the sum that a component forms, or None."""
        inside = set(component)
        order, terms, start = self._cycle(component, inside)
        if start is None or len(order) != len(component):
            return None
        type_ = self.instructions[component[0]].type
        if type_.dtype == BOOL or any(self.instructions[k].type != type_ for k in component):
            return None
        if any(set(self.consumers[k]) - inside or len(self.consumers[k]) != 1 for k in component):
            return None
        if any(self._is_used_later(k) for k in order[:-1]):
            return None
        if any(self.producers[c] >= 0 and self.instructions[self.producers[c]].op is SCATTER_ADD for c, _ in terms):
            # A loop adds a few entries in place; their sum would need a whole array for every iteration.
            return None
        return RunningSum(tuple(order), start, tuple(terms))

    def _cycle(self, component: list[int], inside: set[int]) -> tuple[list[int], list[tuple[int, int]], int | None]:
        """Return the slots in order from the one that reads the last iteration's sum, each slot's term, and the column of that sum."""
        carried: dict[int, int] = {}
        terms: dict[int, tuple[int, int]] = {}
        for k in component:
            op, columns = self.instructions[k].op, self.columns[k]
            chained = [c for c in columns if self.producers[c] in inside]
            if op not in (ADD, SUBTRACT) or len(chained) != 1 or (op is SUBTRACT and chained[0] != columns[0]):
                return [], [], None
            carried[k] = chained[0]
            other = columns[1] if chained[0] == columns[0] else columns[0]
            terms[k] = (other, -1 if op is SUBTRACT else 1)
        starts = [k for k in component if self.distances[carried[k]] == 1]
        if len(starts) != 1 or any(self.distances[c] > 1 for c in carried.values()):
            return [], [], None
        following = {self.producers[c]: k for k, c in carried.items() if self.distances[c] == 0}
        order = starts
        while order[-1] in following:
            order.append(following[order[-1]])
        closed = self.producers[carried[order[0]]] == order[-1]
        return order, [terms[k] for k in order], carried[order[0]] if closed else None

    def _is_used_later(self, slot: int) -> bool:
        found = self.found
        numbers = self.sequence.members[found.start + slot : found.end : found.period]
        return bool((self.sequence.last_use[numbers] >= found.end).any())


def strong_components(edges: list[list[int]], skipped: list[bool]) -> list[list[int]]:
    """Return the strongly connected components of a graph, successors first.

    Source: Tarjan (1972), SIAM J. Comput. 1(2), with a stack of its own instead of recursion.
    """
    count = len(edges)
    index, lowest = [-1] * count, [0] * count
    on_stack = [False] * count
    stack: list[int] = []
    result: list[list[int]] = []
    reached = 0
    for root in range(count):
        if index[root] >= 0 or skipped[root]:
            continue
        work = [(root, 0)]
        while work:
            node, k = work.pop()
            if k == 0:
                index[node] = lowest[node] = reached
                reached += 1
                stack.append(node)
                on_stack[node] = True
            elif lowest[edges[node][k - 1]] < lowest[node] and on_stack[edges[node][k - 1]]:
                lowest[node] = lowest[edges[node][k - 1]]
            while k < len(edges[node]):
                target = edges[node][k]
                k += 1
                if index[target] < 0:
                    work += [(node, k), (target, 0)]
                    break
                if on_stack[target]:
                    lowest[node] = min(lowest[node], index[target])
            else:
                if lowest[node] == index[node]:
                    component = stack[_last(stack, node) :]
                    del stack[-len(component) :]
                    for member in component:
                        on_stack[member] = False
                    result.append(sorted(component))
    return result


def _last(stack: list[int], node: int) -> int:
    place = len(stack) - 1
    while stack[place] != node:
        place -= 1
    return place
