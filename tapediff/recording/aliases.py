"""Results of calls that are, or may be, arrays that the caller holds too, or views of them: a write to either would be seen by both.

Inside the tape a call hands out new arrays, so such a write is refused where it would make a difference. Which results share memory
with what depends on the path, and a path may be recorded when its callers' recordings are long over. So callers note which results
they separated from what (the conflicts), paths note what shares memory (the partners), and whoever comes second refuses.
"""

from __future__ import annotations

import itertools
import sys
import weakref
from collections.abc import Container, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.source_location import Site, user_site
from ..errors import UnsupportedFunction
from ..ir.instruction import is_tracked
from .object_snapshot import array_key
from .tracked import TrackedArray, view_of


class Link(NamedTuple):
    """That a result of a callee shares memory with something; it does on some paths, or on none.

    Attributes:
        partner: ("argument", j) counts what is closed over after the arguments; ("result", j); PLAIN; None: with anything.
    """

    aliases: Aliases
    result: int
    partner: Any


# A plain array that the callee finds in its closure, among its globals or in an object, and that is there still after the call.
PLAIN = ("plain", 0)

# All of these links have to hold for something to be the case. The empty one is.
Condition = frozenset[Link]
ALWAYS: Condition = frozenset()

# Alternatives, of which one is enough.
Conditions = frozenset[Condition]

# More alternatives become what all of them ask for, which errs on the side of an error.
MOST_ALTERNATIVES = 16


def either(known: Conditions, condition: Condition) -> Conditions:
    """One more alternative; the same object if it adds nothing."""
    if any(other <= condition for other in known):
        return known
    alternatives = frozenset([condition, *(other for other in known if not condition <= other)])
    return alternatives if len(alternatives) <= MOST_ALTERNATIVES else frozenset([frozenset.intersection(*alternatives)])


def holds(condition: Condition) -> bool:
    """Whether all links hold. Those of a recursive function do not hold by themselves."""
    asked: dict[Link, list[Condition]] = {}
    waiting = list(condition)
    while waiting:
        link = waiting.pop()
        if link not in asked:
            partners = link.aliases.partners.get(link.result, {})
            asked[link] = [c for p, found in partners.items() if link.partner in (None, p) for c in found]
            waiting += [other for c in asked[link] for other in c]
    true: set[Link] = set()
    while True:
        more = {link for link, conditions in asked.items() if link not in true and any(c <= true for c in conditions)}
        if not more:
            return condition <= true
        true |= more


class Aliases:
    """What is known of a callee's results, over all its paths, and what its callers have done with them.

    Attributes:
        partners: by result, what it shares memory with on some path, and on what condition: that results of other calls do, which it is.
        conflicts: what must not hold, as a caller separated these results from these partners; with the caller's line.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.partners: dict[int, dict[Any, Conditions]] = {}
        self.conflicts: dict[Condition, Site | None] = {}
        # Those whose conditions and conflicts ask whether results of this one share memory.
        self._listeners: weakref.WeakSet[Aliases] = weakref.WeakSet()

    def __getstate__(self) -> dict[str, Any]:
        # A callee is pickled without the others, and none of these tells it any more of the paths that it takes.
        alone = dict.fromkeys(frozenset(link for link in c if link.aliases is self) for c in self.conflicts)
        partners = {k: dict.fromkeys(found, frozenset([ALWAYS])) for k, found in self.partners.items()}
        return {"name": self.name, "partners": partners, "conflicts": alone}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["name"])
        self.partners, self.conflicts = state["partners"], state["conflicts"]

    def note(self, results: Sequence[Any], arguments: Sequence[Any], held: Container[int], is_held: bool) -> None:
        """Look at the results of a new path.

        Args:
            held: the ids of the plain arrays that the callee closes over.
            is_held: whether the containers of the results live on somewhere.
        """
        given = {_key(_root(argument)): ("argument", j) for j, argument in enumerate(arguments)}
        found: list[dict[Any, Conditions]] = []
        for k in range(len(results)):
            if type(results[k]) is TrackedArray:
                sources = _sources(_root(results[k]))
            else:
                sources = _plain_sources(results, k, held, is_held)
            for source, conditions in sources.items():
                if source in given or source is PLAIN:
                    for condition in conditions:
                        self._share(k, given.get(source, PLAIN), condition)
                    continue
                for m, others in enumerate(found):
                    for condition, other in itertools.product(conditions, others.get(source, ())):
                        self._share(k, ("result", m), condition | other)
                        self._share(m, ("result", k), condition | other)
            found.append(sources)

    def _share(self, k: int, partner: Any, condition: Condition) -> None:
        known = self.partners.setdefault(k, {})
        before = known.get(partner, frozenset())
        known[partner] = either(before, condition)
        if known[partner] is not before:
            for link in condition:
                link.aliases._listeners.add(self)
            self._tell()

    def _tell(self) -> None:
        """Check the conflicts of everybody who asks for what has changed."""
        waiting: list[Aliases] = [self]
        asked = {id(self)}
        while waiting:
            aliases = waiting.pop()
            for condition, site in list(aliases.conflicts.items()):
                aliases._check(condition, site)
            for listener in list(aliases._listeners):
                if id(listener) not in asked:
                    asked.add(id(listener))
                    waiting.append(listener)

    def conflict(self, condition: Condition, site: Site | None) -> None:
        """A caller has separated results from what they must not share memory with."""
        if condition not in self.conflicts:
            self.conflicts[condition] = site
            for link in condition:
                link.aliases._listeners.add(self)
        self._check(condition, site)

    def _check(self, condition: Condition, site: Site | None) -> None:
        if holds(condition):
            raise UnsupportedFunction(
                f"{self.name} returned an array that it was given or closes over, or one array twice, and one of the two was "
                "written to afterwards",
                at=site or user_site(), fix="return a copy, x.copy(), or write to a copy",
            )  # fmt: skip

    def watch(self, results: Sequence[Any], operands: Sequence[Sequence[Any]], frozen: Any) -> None:
        """Notice when a caller writes to one of the results, or to what went into the call while it uses one.

        Args:
            operands: for each argument the arrays of the program that it stands for.
            frozen: the functions as they were when called.
        """
        arrays = [result for result in results if result.shape]
        if not arrays:
            return
        nodes = [_Node(self, k) for k in range(len(results))]
        calls = arrays[0]._recorder.call_arrays
        sources: list[tuple[_Node, Any]] = []
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
                result._view = view_of(guard, _same, _written)


def _root(array: TrackedArray) -> TrackedArray:
    while array._view is not None and type(array._view.base) is TrackedArray:
        array = array._view.base
    return array


class _Node:
    """An array of a recording that went into a call or came out of one.

    Attributes:
        sources: what it may share memory with if it came out of a call, with the partner of the link that says so.
        plain: the partners of links to plain arrays.
        users: the nodes that have this one as a source.
        separated: on which conditions writes to sources have made this one stale.
    """

    __slots__ = ("__weakref__", "aliases", "plain", "result", "separated", "sources", "users")

    def __init__(self, aliases: Aliases | None, result: int) -> None:
        self.aliases, self.result = aliases, result
        self.sources: list[tuple[_Node, Any]] = []
        self.plain: list[Any] = []
        self.users: list[tuple[weakref.ref[_Node], Any]] = []
        self.separated: Conditions = frozenset()

    def link(self, partner: Any) -> Link:
        assert self.aliases is not None, "it came out of a call"
        return Link(self.aliases, self.result, partner)


class CallArrays:
    """What a recording remembers of its calls: the arrays that went in and came out, and plain ones that must stay as they are."""

    def __init__(self) -> None:
        self.nodes: dict[int, tuple[weakref.ref[TrackedArray], _Node]] = {}
        self.closures: list[tuple[Any, list[_Node]]] = []
        self._plain: dict[int, tuple[np.ndarray, Any, list[tuple[list[_Node], Any]]]] = {}

    def written(self, array: TrackedArray) -> None:
        """An array was written to: what may share memory with it is stale."""
        known = self.nodes.get(id(array))
        if known is None or known[0]() is not array:
            return
        # What uses it is stale on no other condition than its own link, so that it need not be told again.
        users, known[1].users = known[1].users, []
        waiting = [(user, partner, ALWAYS) for user, partner in users]
        while waiting:
            reference, partner, condition = waiting.pop()
            node = reference()
            if node is not None:
                before, condition = node.separated, condition | {node.link(partner)}
                node.separated = either(before, condition)
                if node.separated is not before:
                    waiting += [(user, other, condition) for user, other in node.users if other[0] != "result"]

    def hold(self, array: np.ndarray, key: Any, nodes: list[_Node], partner: Any) -> None:
        """Results that may share memory with a plain array, which holds what the key says."""
        known = self._plain.get(id(array))
        if known is not None and known[1] != key:
            _separate(known[2])
        users = known[2] if known is not None else []
        users.append((nodes, partner))
        self._plain[id(array)] = (array, key, users)

    def finish(self) -> None:
        """Plain arrays that were written to since the calls."""
        for array, key, users in self._plain.values():
            if array_key(array) != key:
                _separate(users)
        for frozen, nodes in self.closures:
            if frozen.state_changed():
                _separate([(nodes, PLAIN)])
        self.closures.clear()
        self._plain.clear()


def _separate(users: list[tuple[list[_Node], Any]]) -> None:
    for nodes, partner in users:
        for node in nodes:
            link = node.link(partner)
            link.aliases.conflict(frozenset([link]), None)


def _key(array: TrackedArray) -> Any:
    """What stands for an array of a recording: its node, if there is one."""
    known = array._recorder.call_arrays.nodes.get(id(array))
    return known[1] if known is not None and known[0]() is array else id(array)


def _node_of(array: TrackedArray) -> _Node:
    node = _key(array)
    if type(node) is _Node:
        return node
    node = _Node(None, 0)
    array._recorder.call_arrays.nodes[id(array)] = (weakref.ref(array), node)
    return node


def _sources(array: TrackedArray) -> dict[Any, Conditions]:
    """What an array may share memory with, through any number of calls, and on what condition."""
    first = _key(array)
    found: dict[Any, Conditions] = {first: frozenset([ALWAYS])}
    waiting = [(first, ALWAYS)] if type(first) is _Node else []
    while waiting:
        node, condition = waiting.pop()
        for source, partner in (*node.sources, *((PLAIN, partner) for partner in node.plain)):
            before, further = found.get(source, frozenset()), condition | {node.link(partner)}
            found[source] = either(before, further)
            # Where two results share memory with each other and one with an argument, both do.
            if found[source] is not before and type(source) is _Node and partner[0] != "result":
                waiting.append((source, further))
    return found


def _plain_sources(results: Sequence[Any], k: int, held: Container[int], is_held: bool) -> dict[Any, Conditions]:
    """What a plain result shares memory with: it is an array that lives on if something but the results refers to it."""
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
    # Once each in `results`, in what the function returned, and once in `owner` and as the argument of getrefcount.
    is_held = is_held or id(owner) in held or sys.getrefcount(owner) > 2 * times + views + 2
    is_held = is_held or owner.base is not None
    always = frozenset([ALWAYS])
    return {("memory", id(owner)): always} | ({PLAIN: always} if is_held else {})


def _base(result: Any) -> Any:
    """Whose memory a plain array shows. Tracked arrays have no `base`, and to ask would count as an error that was caught."""
    return None if is_tracked(result) else getattr(result, "base", None)


class _Watch(TrackedArray):
    """Stands where the base of a view does, and is told of every use and write."""

    __slots__ = ("_node",)

    def __init__(self, node: _Node, value: TrackedArray) -> None:
        super().__init__(value._recorder, value._id, value._value, value.type)
        self._node = node

    def _refresh(self) -> None:
        if self._node.separated:
            separated, self._node.separated = self._node.separated, frozenset()
            for condition in separated:
                self._conflict(condition)

    def _set(self, new: Any) -> None:
        # For those that are views of what stands before it.
        self._writes += 1
        self._conflict(frozenset([self._node.link(None)]))

    def _conflict(self, condition: Condition) -> None:
        site = user_site()
        for aliases in {link.aliases for link in condition}:
            aliases.conflict(condition, site)


def _same(base: Any) -> Any:
    return base


def _written(_: Any, part: Any) -> Any:
    return part
