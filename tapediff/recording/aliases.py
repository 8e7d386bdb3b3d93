"""Aliases: results of a callee that share memory with its arguments, with each other, or with arrays of its closure.

Inside a tape a call returns new arrays, so a write to one of two aliases would not be seen in the other. Such a write is refused. Which
results share memory depends on the path, and a path may be recorded after its callers. So callers note conflicts (writes to one of two
arrays that must not be aliases), paths note partners (which results share memory), and whichever comes second raises the error.
`call_arrays.py` finds both while a function is recorded.
"""

from __future__ import annotations

import weakref
from typing import NamedTuple

from ..base.source_location import Site, user_site
from ..errors import UnsupportedFunction
from ..ir.serialize import State

# ("argument", j), where variables of the closure count after the arguments; ("result", j); or PLAIN.
Partner = tuple[str, int]

# A plain array that the callee finds in its closure, among its globals or in an object, and that still exists after the call.
PLAIN: Partner = ("plain", 0)


class Link(NamedTuple):
    """Claims that a result of a callee shares memory with `partner`: true on some paths, or on none.

    Attributes:
        partner: the other array; None for any.
    """

    aliases: Aliases
    result: int
    partner: Partner | None


# A conjunction of links; the empty one always holds.
Condition = frozenset[Link]
ALWAYS: Condition = frozenset()

# A disjunction of conditions.
Conditions = frozenset[Condition]

# More alternatives collapse to the links that all have in common. This is conservative: it may raise an unneeded error.
MOST_ALTERNATIVES = 16


def either(known: Conditions, condition: Condition) -> Conditions:
    """Add an alternative; return the same object if it adds nothing."""
    if any(other <= condition for other in known):
        return known
    alternatives = frozenset([condition, *(other for other in known if not condition <= other)])
    return alternatives if len(alternatives) <= MOST_ALTERNATIVES else frozenset([frozenset.intersection(*alternatives)])


def holds(condition: Condition) -> bool:
    """True if all links are true: the least fixed point, so that links of a recursive function do not confirm themselves."""
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
    """The aliases among a callee's results over all its paths, and the conflicts noted by its callers.

    Attributes:
        partners: result -> array that it shares memory with on some path -> the conditions, which are links of other calls.
        conflicts: conditions that must not hold, as a caller wrote to one of the arrays -> the caller's line.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.partners: dict[int, dict[Partner, Conditions]] = {}
        self.conflicts: dict[Condition, Site | None] = {}
        # Aliases whose conditions or conflicts depend on this one.
        self._listeners: weakref.WeakSet[Aliases] = weakref.WeakSet()

    def __getstate__(self) -> dict[str, object]:
        # Pickled without other callees, which therefore do not learn of its further paths.
        own = dict.fromkeys(frozenset(link for link in c if link.aliases is self) for c in self.conflicts)
        partners = {k: dict.fromkeys(found, frozenset([ALWAYS])) for k, found in self.partners.items()}
        return {"name": self.name, "partners": partners, "conflicts": own}

    def __setstate__(self, state: State) -> None:
        self.__init__(state["name"])
        self.partners, self.conflicts = state["partners"], state["conflicts"]

    def share(self, k: int, partner: Partner, condition: Condition) -> None:
        """Note that result k shares memory with something, on a condition."""
        known = self.partners.setdefault(k, {})
        before = known.get(partner, frozenset())
        known[partner] = either(before, condition)
        if known[partner] is not before:
            for link in condition:
                link.aliases._listeners.add(self)
            try:
                self._tell()
            except UnsupportedFunction:
                known[partner] = before  # the path is dropped; the one recorded in its place reports again
                raise

    def _tell(self) -> None:
        """Check all conflicts that depend on this one."""
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
        """Note that a caller wrote to one of two arrays, which must therefore not be aliases."""
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
