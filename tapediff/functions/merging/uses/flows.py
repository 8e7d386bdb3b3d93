"""Where values go by assignments, from variable to variable: what is known of each variable, together with that of all it goes into."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from ..variables import Flows, Names

T = TypeVar("T")


class FlowGraph:
    """The variables as a graph, in time linear in its edges.

    Args:
        flows: for each assignment the variables whose values may go into it, and those that it binds.
    """

    def __init__(self, flows: Flows) -> None:
        self._next: dict[str, set[str]] = {}
        for sources, targets in flows:
            for name in targets:
                self._next.setdefault(name, set())
            for name in sources:
                self._next.setdefault(name, set()).update(targets)
        self._components: list[list[str]] = list(_components(self._next))
        self._component_of = {name: k for k, names in enumerate(self._components) for name in names}
        self._bits = {name: 1 << k for k, name in enumerate(self._component_of)}
        self._reached = self._united(self._bits, int.__or__, 0)

    def reaches(self, names: Iterable[str]) -> Callable[[str], bool]:
        """Whether values of some variables may go into one, or it is one of them."""
        found = frozenset(names)
        mask = 0
        for name in found:
            mask |= self._reached[self._component_of[name]] if name in self._component_of else 0
        return lambda name: name in found or bool(self._bits.get(name, 0) & mask)

    def totals(self, own: Mapping[str, T], join: Callable[[T, T], T], nothing: T) -> Callable[[Names], T]:
        """Of some variables what is known of them and of all that their values may go into."""
        united = self._united(own, join, nothing)

        def total(names: Names) -> T:
            found = nothing
            for name in names:
                known = united[self._component_of[name]] if name in self._component_of else own.get(name, nothing)
                found = join(found, known)
            return found

        return total

    def _united(self, own: Mapping[str, T], join: Callable[[T, T], T], nothing: T) -> list[T]:
        """By component; those that values go into come first."""
        united: list[T] = []
        for k, names in enumerate(self._components):
            found = nothing
            for name in names:
                if name in own:
                    found = join(found, own[name])
            for component in {self._component_of[after] for name in names for after in self._next[name]} - {k}:
                found = join(found, united[component])
            united.append(found)
        return united


def _components(after: Mapping[str, Iterable[str]]) -> Iterator[list[str]]:
    """The strongly connected components of a graph, each after all that it leads to.

    Source: Tarjan (1972), SIAM Journal on Computing 1(2); without recursion.
    """
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    for root in after:
        pending: list[tuple[str, Iterator[str]]] = []
        if root not in index:
            pending.append((root, iter(after[root])))
        while pending:
            name, rest = pending[-1]
            if name not in index:
                index[name] = lowest[name] = len(index)
                stack.append(name)
                on_stack.add(name)
            for other in rest:
                if other not in index:
                    pending.append((other, iter(after[other])))
                    break
                if other in on_stack:
                    lowest[name] = min(lowest[name], index[other])
            else:
                pending.pop()
                if pending:
                    before = pending[-1][0]
                    lowest[before] = min(lowest[before], lowest[name])
                if lowest[name] == index[name]:
                    members = [stack.pop()]
                    while members[-1] != name:
                        members.append(stack.pop())
                    on_stack.difference_update(members)
                    yield members
