"""The tapes that a GuardedTape keeps: found by what a call is like, the longest unused dropped beyond a budget."""

from __future__ import annotations

import itertools
from typing import Any

from ..functions.path_trie import Paths
from .variant import Variant


class KeptTapes:
    """Tapes by key (argument types, static values, guard value), and in each key by path.

    Changed only under the owner's lock; read by calls that hold none, so what they read is replaced and never changed in place.

    Attributes:
        last: the tape used last of all.
        last_under: the tape used last under a user's guard value, by its type and value.
        evictions, dropped_hits, dropped_seconds: how many tapes were dropped, and what they had answered and cost.
    """

    def __init__(self) -> None:
        self.by_key: dict[tuple[Any, ...], Paths[Variant]] = {}
        self.last: Variant | None = None
        self.last_under: dict[tuple[type, Any], Variant] = {}
        self.evictions = self.dropped_hits = 0
        self.dropped_seconds = 0.0
        self._clock = itertools.count(1)

    def all(self) -> list[Variant]:
        return [variant for paths in list(self.by_key.values()) for variant in paths.tapes]

    def last_with(self, key: tuple[Any, ...]) -> Variant | None:
        """The tape used last with this key."""
        paths = self.by_key.get(key)
        return paths.last if paths is not None else None

    def find(self, key: tuple[Any, ...], settled: tuple[Any, ...]) -> Variant | None:
        """A tape with this key whose path starts with the settled outcomes."""
        paths = self.by_key.get(key)
        return paths.find(settled) if paths is not None else None

    def touch(self, variant: Variant) -> None:
        """Note that a tape was used just now."""
        variant.used = next(self._clock)

    def note_use(self, variant: Variant) -> None:
        """Make a tape the one to try first, unless it was dropped for newer ones while it ran."""
        paths = self.by_key.get(variant.key)
        if variant is not self.last and paths is not None and variant in paths.tapes:
            self.touch(variant)
            paths.last = self.last = variant

    def insert(self, variant: Variant) -> None:
        """Keep a new tape."""
        self.touch(variant)
        paths = self.by_key.get(variant.key) or Paths[Variant]()
        paths.insert(variant)
        self.by_key[variant.key] = paths

    def drop_beyond(self, budget: int) -> None:
        """Drop the tapes not used for the longest time."""
        kept = self.all()
        for old in sorted(kept, key=lambda v: v.used)[: max(0, len(kept) - budget)]:
            self._drop(old)

    def _drop(self, variant: Variant) -> None:
        paths = self.by_key[variant.key]
        paths.remove(variant)
        if not paths.tapes:
            del self.by_key[variant.key]
        if self.last is variant:
            self.last = None
        # Copied first: calls that hold no lock add to these.
        self.last_under = {value: v for value, v in list(self.last_under.items()) if v is not variant}
        for other in self.all():
            other.jumps = {met: v for met, v in list(other.jumps.items()) if v is not variant}
        self.evictions += 1
        self.dropped_hits += variant.hits
        if all(other.program is not variant.program for other in self.all()):
            self.dropped_seconds += variant.compiled.seconds
