"""FastDispatch: the fast path of a GuardedTape where native code cannot choose the tape, because the user's guard or a check has a say."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from ...compiler.runtime.status import PENDING, REFUSED
from ...ir.instruction import Operand, Target, Tree
from .keyed_call import GuardedFunction, for_guard
from .tape_cache import TapeCache
from .variant import Variant

# Guard values whose equality, with their type, is equality of bits.
PLAIN = (bool, int, str, type(None), np.bool_)


class GuardValue(NamedTuple):
    """The status of a call for which no tape was chosen, though the user's guard was called: its value."""

    value: Operand


class FastDispatch:
    """Runs the kernel of the tape used last, and follows guards that failed in the same way before."""

    __slots__ = ("_cache", "_guard")

    def __init__(self, function: GuardedFunction, cache: TapeCache) -> None:
        self._guard, self._cache = function.guard, cache

    def note(self, variant: Variant, guard_value: tuple[Hashable, ...]) -> None:
        """Let calls with this value of the user's guard begin with this tape."""
        for value in guard_value:
            if type(value) in PLAIN:
                self._cache.last_under[type(value), value] = variant

    def by_last(self, *args_and_target: Tree) -> Tree:
        """See FastPath: the tape used last, or last under the user's guard value."""
        *args, target = args_and_target
        variant, unknown = self._cache.last, REFUSED
        if self._guard is not None:
            value = self._guard(*[for_guard(a) for a in args])
            unknown = GuardValue(value)
            variant = self._cache.last_under.get((type(value), value)) if type(value) in PLAIN else None
            if variant is not None:
                self._cache.touch(variant)
        if variant is None or variant.call is None:
            return unknown
        status = variant.call(*args, target)
        if type(status) is float:
            variant.hits += 1
        elif type(status) is complex:
            status = self._jump(variant, status, args, target)
        return status if type(status) is float or status == PENDING else unknown

    def _jump(self, variant: Variant, failed: complex, args: Sequence[Tree], target: Target) -> float | None:
        """Go from a failed guard straight to the tape that answered there before; None where the full path must look.

        `failed` is a kernel's status at a failed guard: its position and its outcome.
        """
        decided, status = 0.0, failed
        found: Variant | None = variant
        while type(status) is complex and status.real > decided:
            decided = status.real
            found = found.jumps.get(status)
            if found is None or found.call is None:
                return None
            status = found.call(*args, target)
        if type(status) is not float:
            return None
        found.hits += 1
        self._cache.touch(found)
        if self._guard is None:
            self._cache.last = found
        return status
