"""Fast paths of a GuardedTape where native code cannot choose the tape: under the user's guard, with checks, or in direct calls."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
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


class PathCalls:
    """The kernels of one operator, of the tapes that calls of one kind may take.

    It is called as a kernel is, with the arguments' arrays and those for the results, and returns its status. Kernels check guards and
    arguments themselves, so whichever of them succeeds is right.
    """

    __slots__ = ("__weakref__", "_cache", "_last")

    def __init__(self, cache: TapeCache) -> None:
        self._cache = cache
        self._last: Variant | None = None

    def add(self, variant: Variant, kernel_call: Callable[..., Tree]) -> None:
        """Let calls begin with this tape."""
        variant.calls[self] = kernel_call
        self._last = variant

    def __call__(self, *arrays: Tree) -> Tree:
        variant = self._last
        call = None if variant is None else variant.calls.get(self)
        if variant is None or call is None:
            return REFUSED
        status = call(*arrays)
        if type(status) is complex:
            return self._jump(variant, status, arrays)
        if type(status) is float:
            self._note(variant)
        return status

    def _jump(self, variant: Variant, failed: complex, arrays: tuple[Tree, ...]) -> Tree:
        """Go on from a failed guard, whose position and outcome are the status, to a tape with that outcome, until one answers."""
        decided, status, found = 0.0, failed, variant
        while type(status) is complex and status.real > decided:
            decided = status.real
            taken = found.jumps.get(status) or found.beyond(status)
            call = None if taken is None else taken.calls.get(self)
            if taken is None or call is None:
                return REFUSED
            found, status = taken, call(*arrays)
        if type(status) is float:
            self._last = found
            self._note(found)
        return status

    def _note(self, variant: Variant) -> None:
        variant.hits += 1
        if self._cache.last is not variant:
            self._cache.touch(variant)
            self._cache.last = variant
