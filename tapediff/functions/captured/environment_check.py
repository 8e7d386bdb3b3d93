"""Check at each call of a compiled function that its environment has not changed since it was recorded."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from typing import NamedTuple

from ...base.fork_locks import new_lock
from ...base.held_locks import holding
from ...compiler.runtime.entries import watch
from ...compiler.runtime.status import REFUSED
from ...errors import StaleTape
from ...ir.instruction import Tree
from ...recording.python_state.object_snapshot import PLAIN, plain_key
from .environment import MOST_OBJECTS, Environment
from .places import ArrayPlace, Binding


class Change(NamedTuple):
    """A difference from the recorded environment.

    Attributes:
        name: of the variable, attribute or entry.
        environment: what the function reads now.
        stale_calls: how many earlier calls may have used old contents of a large array that was changed in place; else 0.
    """

    name: str
    environment: Environment
    stale_calls: int = 0


def stale_error(name: str, check: EnvironmentCheck, change: Change) -> StaleTape:
    """The error of a tape that cannot be recorded again."""
    variable = re.split(r"[.\[]", change.name.partition("[")[0])[-1]
    return StaleTape(
        f"{name} reads {change.name}, which has changed since its tape was recorded", at=check.environment.site_of(variable),
        got=f"{change.name} is another one, or was changed in place", name=change.name,
        fix=f"compile it again; or pass it as an argument, td.Constant({variable}); or use a td.GuardedTape, which records again; "
        "or frozen=True, to go on with what was recorded",
    )  # fmt: skip


def part_text(name: str) -> str:
    """Say that a function may read more than is compared."""
    return (
        f"{name} may read more than {MOST_OBJECTS} objects besides its arguments, or some that cannot be looked into; changes of these "
        "will not be noticed\n"
        "  fix: pass what changes as an argument, td.Constant(...); or frozen=True, where nothing changes"
    )


class EnvironmentCheck:
    """Compares a function's environment with the recorded one.

    Args:
        function, contents: see Environment.
        environment: what the function reads, if that is known.
        before: what it read before the recording: what the recording itself changed is not compared.

    Attributes:
        environment: as it was when the latest tape was recorded.
        is_same: a function without arguments: True if one call sees no change.
        calls: the functions made by `checked`, under the callers' names.
    """

    def __init__(
        self, function: object, contents: str, environment: Environment | None = None, *, before: Environment | None = None
    ) -> None:
        self._function, self._contents = function, contents
        self.calls: dict[Hashable, Callable[..., Tree]] = {}
        self._lock = new_lock()
        self._table = watch.Table()
        self.environment = environment or Environment(function, contents, before)
        self._own: frozenset[Hashable] = frozenset() if before is None else before.changed_places(self.environment)
        if self._own:
            self.environment = Environment(function, contents, before, self._own)
        # NumPy runs the first calls, before any native code is loaded.
        self._is_native = False
        self.is_same: Callable[[], bool] = self._is_same

    @property
    def reads_anything(self) -> bool:
        """True if there is anything to compare."""
        return bool(self.environment.places)

    def checked(self, call: Callable[..., Tree]) -> Callable[..., Tree]:
        """A function that compares first, and returns REFUSED where something has changed."""
        if not self.reads_anything:
            return call
        if watch.is_native():
            self._become_native()
            return watch.checked(self._table, call)

        def checked(*arguments: Tree) -> Tree:
            return call(*arguments) if self._is_same() else REFUSED

        return checked

    @holding("_lock")
    def _become_native(self) -> None:
        if not self._is_native:
            self._is_native = True
            self._install()
            self.is_same = watch.unchanged(self._table)

    def is_unchanged(self) -> bool:
        """True unless a comparison has found a difference."""
        return not self._table.by_block and self.is_same()

    @holding("_lock")
    def change(self) -> Change | None:
        """Return the first difference, or None. Replacing an object by an equal one is no difference."""
        if self.is_unchanged() or self._renewed():
            return None
        # Earlier digests are void once a block has differed.
        found = Environment(self._function, self._contents, None if self._table.by_block else self.environment, self._own)
        if found.key == self.environment.key:
            self._adopt(found)
            return None
        changed = [p for p in self.environment.places if isinstance(p, ArrayPlace) and p.blocks and not p.is_surely_same()]
        if changed:
            return Change(changed[0].label, found, self._stale_calls(changed[0]))
        return Change(self._name_of(found), found)

    @holding("_lock")
    def adopt(self, environment: Environment | None = None) -> bool:
        """Take an environment, by default the present one, as the recorded one: what a recording itself changed is not a change.

        Returns True if it differs from the previous one.
        """
        is_new = environment is not None or not self.is_same() or not self.environment.is_of_these_callbacks()
        if is_new:
            self._adopt(environment or Environment(self._function, self._contents, self.environment, self._own))
        return is_new

    def _name_of(self, found: Environment) -> str:
        """The name of the first difference."""
        for place in self.environment.places:
            if not place.is_same():
                return place.label
        return self.environment.difference(found)

    def _stale_calls(self, place: ArrayPlace) -> int:
        """Count the calls that may have used the old contents."""
        if not self._table.by_block or not place.is_same():
            return 1
        return min(self._table.calls, place.blocks * watch.CALLS_PER_BLOCK)

    def _adopt(self, environment: Environment) -> None:
        self.environment = environment
        self._install()

    def _renewed(self) -> bool:
        """Compare equal numbers and strings from now on. False if anything else differs."""
        places = [place for place in self.environment.places if not place.is_same()]
        if not places or self._table.by_block:
            return False
        news: list[tuple[Binding, object]] = []
        for place in places:
            if not isinstance(place, Binding):
                return False
            now = place.now()
            if type(now) not in PLAIN or type(place.expected) not in PLAIN or plain_key(now) != plain_key(place.expected):
                return False
            news.append((place, now))
        for place, now in news:
            place.expected = now
        self._install()
        return True

    def _install(self) -> None:
        keep: list[object] = []
        places = self.environment.places if self._is_native else []
        rows = [row for place in places for row in place.rows(keep)]
        # Sorted by kind: branch prediction halves the time.
        self._table.replace(sorted(rows, key=lambda row: row.kind), keep)

    def _is_same(self) -> bool:
        """Compare in Python; every 16th call compares whole arrays."""
        head = self._table.head
        calls = self._table.calls + 1
        head[watch.HEAD.word("calls")] = calls
        for place in self.environment.places:
            if not place.is_same():
                return False
        if calls % watch.CALLS_PER_BLOCK == 0:
            for place in self.environment.places:
                if isinstance(place, ArrayPlace) and not place.is_surely_same():
                    head[watch.HEAD.word("by_block")] = 1
                    return False
        return True
