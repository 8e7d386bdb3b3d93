"""Operands and results of a recording's calls: which may share memory, and when one is written to.

`note_results` looks at a new path of a callee, `watch_results` at a call; both report to the callee's `Aliases`.
"""

from __future__ import annotations

import itertools
import weakref
from collections import deque
from collections.abc import Container, Hashable, Iterable, Sequence
from typing import Protocol, TypeAlias

import numpy as np

from ..base.byte_code import is_held_elsewhere
from ..base.source_location import user_site
from ..ir.instruction import Operand, is_tracked
from .aliases import ALWAYS, PLAIN, Aliases, Condition, Conditions, Link, Partner, either
from .arrays.tracked import TrackedArray
from .arrays.views import Versioned, view_of
from .python_state.object_snapshot import array_key

# An array that a result may share memory with: its node or id, ("memory", id) of a plain array, or PLAIN.
Source: TypeAlias = "_Node | int | tuple[str, int]"


class ClosedOver(Protocol):
    """The variables that a callee closes over, as they were at a call."""

    @property
    def arrays(self) -> Iterable[tuple[np.ndarray, Hashable]]: ...

    def state_changed(self) -> bool: ...


def note_results(
    aliases: Aliases, results: Sequence[Operand], arguments: Sequence[Operand], held: Container[int], is_held: bool
) -> None:
    """Find the aliases among the results of a new path.

    Args:
        held: the ids of the plain arrays that the callee closes over.
        is_held: True if anything else refers to the containers of the results.
    """
    given: dict[Source, Partner] = {_key(_root(argument)): ("argument", j) for j, argument in enumerate(arguments)}
    found: list[dict[Source, Conditions]] = []
    for k in range(len(results)):
        if type(results[k]) is TrackedArray:
            sources = _sources(_root(results[k]), given, held)
        else:
            sources = _plain_sources(results, k, held, is_held)
        for source, conditions in sources.items():
            if source in given or source is PLAIN:
                for condition in conditions:
                    aliases.share(k, given.get(source, PLAIN), condition)
                continue
            for m, others in enumerate(found):
                for condition, other in itertools.product(conditions, others.get(source, ())):
                    aliases.share(k, ("result", m), condition | other)
                    aliases.share(m, ("result", k), condition | other)
        found.append(sources)


def watch_results(
    aliases: Aliases, results: Sequence[TrackedArray], operands: Sequence[Sequence[Operand]], frozen: ClosedOver
) -> None:
    """Notice when a caller writes to a result, or to an operand of the call while it still uses a result.

    Args:
        operands: for each argument the arrays of the program that it stands for.
        frozen: the functions as they were when called.
    """
    arrays = [result for result in results if result.shape]
    if not arrays:
        return
    nodes = [_Node(aliases, k) for k in range(len(results))]
    calls: CallArrays = arrays[0]._recorder.call_arrays
    sources: list[tuple[_Node, Partner]] = []
    for j, given in enumerate(operands):
        for array in given:
            if is_tracked(array):
                sources.append((_node_of(_root(array)), ("argument", j)))
            elif isinstance(array, np.ndarray):
                calls.hold(array, array_key(array), nodes, ("argument", j))
                nodes[0].plain.append(("argument", j))
    for array, key in frozen.arrays:
        calls.hold(array, key, nodes, PLAIN)
    calls.closures.append((frozen, nodes))
    for node, result in zip(nodes, results):
        node.plain = [*nodes[0].plain, PLAIN] if node is nodes[0] else nodes[0].plain
        if result.shape:
            node.sources = [*sources, *((other, ("result", m)) for m, other in enumerate(nodes) if other is not node)]
            for source, partner in node.sources:
                source.users.append((weakref.ref(node), partner))
            calls.nodes[id(result)] = (weakref.ref(result), node)
            guard = _Watch(node, result)
            result._view = view_of(guard, _unchanged_base, _unchanged_part)


class _Node:
    """An array of a recording that went into a call or came out of one.

    Attributes:
        sources: for a result, the nodes that it may share memory with, each with the partner of its link.
        plain: the partners of links to plain arrays.
        users: the nodes that have this one as a source.
        separated: the conditions on which writes to sources have made this one stale.
    """

    __slots__ = ("__weakref__", "aliases", "plain", "result", "separated", "sources", "users")

    def __init__(self, aliases: Aliases | None, result: int) -> None:
        self.aliases, self.result = aliases, result
        self.sources: list[tuple[_Node, Partner]] = []
        self.plain: list[Partner] = []
        self.users: list[tuple[weakref.ref[_Node], Partner]] = []
        self.separated: Conditions = frozenset()

    def link(self, partner: Partner | None) -> Link:
        assert self.aliases is not None, "it came out of a call"
        return Link(self.aliases, self.result, partner)


class CallArrays:
    """The arrays of a recording's calls: tracked arrays, and plain arrays that must not change until the recording ends."""

    def __init__(self) -> None:
        self.nodes: dict[int, tuple[weakref.ref[Versioned], _Node]] = {}
        self._same: dict[int, tuple[Versioned, list[tuple[np.ndarray, Operand]]]] = {}
        self.closures: list[tuple[ClosedOver, list[_Node]]] = []
        self._plain: dict[int, tuple[np.ndarray, Hashable, list[tuple[list[_Node], Partner]]]] = {}

    def written(self, array: Versioned) -> None:
        """Mark everything that may share memory with a written array as stale."""
        known = self.nodes.get(id(array))
        if known is None or known[0]() is not array:
            return
        # A user is stale on the condition of its own link alone, so one notice is enough.
        users, known[1].users = known[1].users, []
        waiting: list[tuple[weakref.ref[_Node], Partner, Condition]] = [(user, partner, ALWAYS) for user, partner in users]
        while waiting:
            reference, partner, condition = waiting.pop()
            node = reference()
            if node is not None:
                before, condition = node.separated, condition | {node.link(partner)}
                node.separated = either(before, condition)
                if node.separated is not before:
                    waiting += [(user, other, condition) for user, other in node.users if other[0] != "result"]

    def note_same(self, array: Versioned, other: np.ndarray, runs: Operand) -> None:
        """Note that a loop's result may be the very array that it started from, as the loop may leave the variable unchanged.

        Args:
            runs: the condition that the loop has an iteration, which makes a new array; False if an iteration may leave it, too.
        """
        self._same.setdefault(id(array), (array, []))[1].append((other, runs))

    def same_as(self, array: Versioned) -> list[tuple[Versioned | np.ndarray, list[Operand]]]:
        """The array and those that it may be identical to, each with the loops that must not run for that."""
        found: dict[int, tuple[Versioned | np.ndarray, list[Operand]]] = {}
        pending: deque[tuple[Versioned | np.ndarray, list[Operand]]] = deque([(array, [])])
        while pending:
            one, loops = pending.popleft()
            one = _root(one) if type(one) is TrackedArray else one
            if id(one) in found:
                found[id(one)] = one, []  # reached in two ways: treated as always identical
            else:
                found[id(one)] = one, loops
                pending += [(other, [*loops, runs]) for other, runs in self._same.get(id(one), (one, []))[1]]
        return [*found.values()]

    def hold(self, array: np.ndarray, key: Hashable, nodes: list[_Node], partner: Partner) -> None:
        """Note results that may share memory with a plain array; `key` identifies its present contents."""
        known = self._plain.get(id(array))
        if known is not None and known[1] != key:
            _separate(known[2])
        users = known[2] if known is not None else []
        users.append((nodes, partner))
        self._plain[id(array)] = (array, key, users)

    def finish(self) -> None:
        """Check the plain arrays: a write to one since its call separates it from the results."""
        for array, key, users in self._plain.values():
            if array_key(array) != key:
                _separate(users)
        for frozen, nodes in self.closures:
            if frozen.state_changed():
                _separate([(nodes, PLAIN)])
        self.closures.clear()
        self._plain.clear()


def _separate(users: list[tuple[list[_Node], Partner]]) -> None:
    for nodes, partner in users:
        for node in nodes:
            link = node.link(partner)
            link.aliases.conflict(frozenset([link]), None)


def _root(array: Versioned) -> Versioned:
    while array._view is not None and type(array._view.base) is TrackedArray:
        array = array._view.base
    return array


def _key(array: Versioned) -> _Node | int:
    """Identify an array of a recording by its node, or by its id if it has none."""
    known = array._recorder.call_arrays.nodes.get(id(array))
    return known[1] if known is not None and known[0]() is array else id(array)


def _node_of(array: Versioned) -> _Node:
    node = _key(array)
    if type(node) is _Node:
        return node
    node = _Node(None, 0)
    array._recorder.call_arrays.nodes[id(array)] = (weakref.ref(array), node)
    return node


def _sources(array: Versioned, given: Container[Source], held: Container[int]) -> dict[Source, Conditions]:
    """The arrays that an array may share memory with, through any number of calls, with the condition of each.

    A guard checks whether a loop that would have made a new array has run.
    """
    found: dict[Source, Conditions] = {_key(array): frozenset([ALWAYS])}
    for one, loops in array._recorder.call_arrays.same_as(array)[1:]:
        source: Source = _key(one) if type(one) is TrackedArray else PLAIN
        if (source in given or type(source) is _Node or id(one) in held) and not any(map(bool, loops)):
            found[source] = frozenset([ALWAYS])
    waiting = [(first, ALWAYS) for first in found if type(first) is _Node]
    while waiting:
        node, condition = waiting.pop()
        for source, partner in (*node.sources, *((PLAIN, partner) for partner in node.plain)):
            before, further = found.get(source, frozenset()), condition | {node.link(partner)}
            found[source] = either(before, further)
            # If two results share memory with each other and one with an argument, then so does the other.
            if found[source] is not before and type(source) is _Node and partner[0] != "result":
                waiting.append((source, further))
    return found


def _plain_sources(results: Sequence[Operand], k: int, held: Container[int], is_held: bool) -> dict[Source, Conditions]:
    """The arrays that a plain result shares memory with. It lives on if anything but the results refers to it."""
    if not isinstance(results[k], np.ndarray) or not results[k].shape:
        return {}
    owner = results[k]
    views = len({id(r) for r in results if r is not owner and _base(r) is owner})
    times = sum(1 for r in results if r is owner)
    if owner.base is not None:
        views, times = 0, 0
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        views = len({id(r) for r in results if _base(r) is owner})
        times = sum(1 for r in results if r is owner)
    # The known references: in `results`, as many in the returned value, and in `owner`.
    is_held = is_held or id(owner) in held or is_held_elsewhere((owner,), 2 * times + views + 1)
    is_held = is_held or owner.base is not None
    always = frozenset([ALWAYS])
    found: dict[Source, Conditions] = {("memory", id(owner)): always}
    if is_held:
        found[PLAIN] = always
    return found


def _base(result: Operand) -> np.ndarray | None:
    """The array whose memory a plain array shows. Tracked arrays have no `base`; asking for it would be noted as a refusal."""
    return None if is_tracked(result) else getattr(result, "base", None)


class _Watch(TrackedArray):
    """Stands in for the base of a result's view, and so learns of every use of the result and every write to it."""

    __slots__ = ("_node",)

    def __init__(self, node: _Node, value: TrackedArray) -> None:
        super().__init__(value._recorder, value._id, value._value, value.type)
        self._node = node

    def _refresh(self) -> None:
        if self._node.separated:
            separated, self._node.separated = self._node.separated, frozenset()
            for condition in separated:
                self._conflict(condition)

    def _set(self, new: Operand) -> None:
        # Counted for the views of the result.
        self._writes += 1
        self._conflict(frozenset([self._node.link(None)]))

    def _conflict(self, condition: Condition) -> None:
        site = user_site()
        for aliases in {link.aliases for link in condition}:
            aliases.conflict(condition, site)


def _unchanged_base(base: Operand) -> Operand:
    return base


def _unchanged_part(_: Operand, part: Operand) -> Operand:
    return part
