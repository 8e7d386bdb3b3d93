"""TapeCache: the recorded tapes of a GuardedTape, found by the key of a call; beyond a budget the least recently used are dropped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import numpy as np

from ...functions.callees.path_trie import Paths
from ...ir.instruction import Operand, Outcome
from ...ir.interpreter import GuardFailure
from ...ir.tape import Tape
from .keyed_call import CallKey, GuardedFunction
from .variant import Variant

if TYPE_CHECKING:
    from ..native.paths import PathsCall

# The most dropped tapes to remember.
MOST_DROPPED = 10_000


class TapeCache:
    """Tapes by key (argument types, static values, guard value), and in each key by path.

    Changed only under the owner's lock. Calls read it without the lock, so it is replaced, never mutated.

    Attributes:
        users: native code that runs tapes of the cache by itself, by identity.
        clock: an address_call.CLOCK, by which native code and `touch` tell when a tape was used.
        dropped: hashes of the keys and paths of the latest dropped tapes.
    """

    def __init__(self, function: GuardedFunction) -> None:
        self._function = function
        self.by_key: dict[CallKey, Paths[Variant]] = {}
        self.users: WeakValueDictionary[int, PathsCall] = WeakValueDictionary()
        self.clock = np.zeros(2, np.int64)
        self.dropped: dict[int, None] = {}

    def all(self) -> list[Variant]:
        return [variant for paths in list(self.by_key.values()) for variant in paths.tapes]

    def clear(self) -> None:
        """Drop all tapes: the function is recorded in another form from now on."""
        counts, dropped = self._function.counts, dict(self.dropped)
        evictions = counts.evictions
        self.drop_beyond(0)
        counts.evictions, self.dropped = evictions, dropped

    def last_with(self, key: CallKey) -> Variant | None:
        """The most recently used tape with this key."""
        paths = self.by_key.get(key)
        return paths.last if paths is not None else None

    def find(self, key: CallKey, decided: tuple[Outcome, ...]) -> Variant | None:
        """A tape with this key whose path starts with the decided outcomes."""
        paths = self.by_key.get(key)
        return paths.find(decided) if paths is not None else None

    def tape_at(self, key: CallKey, inputs: Sequence[Operand]) -> Tape | None:
        """The recorded tape whose path holds at this point by NumPy; records and counts nothing."""
        variant, decided = self.last_with(key), 0
        while variant is not None:
            answer = variant.replay(None, inputs, decided)
            if type(answer) is not GuardFailure:
                return variant.tape
            decided = answer.ordinal + 1
            variant = variant.sibling(answer)
        return None

    def was_dropped(self, variant: Variant) -> bool:
        """True if an earlier tape of the same key and path was dropped."""
        return hash((variant.key, variant.path)) in self.dropped

    def holds(self, variant: Variant) -> bool:
        """True unless a tape was dropped."""
        paths = self.by_key.get(variant.key)
        return paths is not None and variant in paths.tapes

    def note_native_uses(self) -> None:
        """Count the hits of native code so far."""
        for user in self._live_users():
            user.note_uses()

    def _live_users(self) -> Iterator[PathsCall]:
        # A list of references is made in one step: other threads may add users.
        return filter(None, [user() for user in self.users.valuerefs()])

    def touch(self, variant: Variant) -> None:
        """Note that a tape was used just now."""
        variant.used = int(self.clock[0]) + 1
        self.clock[:] = variant.used, 0

    def note_use(self, variant: Variant) -> None:
        """Make a tape the first to try, unless it was dropped while it ran."""
        if self.holds(variant):
            self.touch(variant)
            self.by_key[variant.key].last = variant

    def insert(self, variant: Variant) -> None:
        """Keep a new tape."""
        self.touch(variant)
        paths = self.by_key.get(variant.key) or Paths[Variant]()
        paths.insert(variant)
        self.by_key[variant.key] = paths

    def drop_beyond(self, budget: int) -> None:
        """Drop the least recently used tapes."""
        self.note_native_uses()
        tapes = self.all()
        for old in sorted(tapes, key=lambda v: v.used)[: max(0, len(tapes) - budget)]:
            self._drop(old)
        for user in self._live_users():
            user.forget_dropped()

    def _drop(self, variant: Variant) -> None:
        paths = self.by_key[variant.key]
        paths.remove(variant)
        if not paths.tapes:
            del self.by_key[variant.key]
        self.dropped[hash((variant.key, variant.path))] = None
        if len(self.dropped) > MOST_DROPPED:
            del self.dropped[next(iter(self.dropped))]
        counts = self._function.counts
        counts.evictions += 1
        counts.dropped_hits += variant.hits
        if all(other.program is not variant.program for other in self.all()):
            counts.dropped_seconds += variant.compiled.seconds
