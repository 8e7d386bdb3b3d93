"""PathCalls: calls the kernels of a GuardedTape's paths directly, and follows failed guards from tape to tape."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....compiler.runtime.status import PENDING, REFUSED
from ....ir.instruction import Tree, UserFunction
from ...evaluate.call_code import GuardValue
from ..keyed_call import for_guard
from ..tape_cache import TapeCache
from ..variant import Variant

# Guard values that are equal, with their types, only if their bits are.
PLAIN = frozenset((bool, int, str, type(None), np.bool_))

# The most values of a user's guard before those with dropped tapes are forgotten.
MANY_VALUES = 64


class PathCalls:
    """The kernels of one operator, for the tapes of one kind of call.

    Attributes:
        run: called as a kernel, with the arguments' arrays and those for the results; returns the status. Kernels check guards and
            arguments themselves, so any that succeeds is right. A function, as an object's __call__ would take 0.1 µs more.
    """

    __slots__ = ("__weakref__", "_cache", "_last", "run")

    def __init__(self, cache: TapeCache) -> None:
        self._cache = cache
        self._last: Variant | None = None
        self.run = self._runner()

    @property
    def is_live(self) -> bool:
        """True unless the tape that answered last was dropped."""
        return self._last is not None and self in self._last.calls

    @property
    def last(self) -> tuple[Variant | None, Callable[..., Tree] | None]:
        """The tape that answered last, and its kernel."""
        variant = self._last
        return variant, None if variant is None else variant.calls.get(self)

    def add(self, variant: Variant, kernel_call: Callable[..., Tree]) -> None:
        """Make calls try this tape first."""
        variant.calls[self] = kernel_call
        self._last = variant

    def _runner(self) -> Callable[..., Tree]:
        cache = self._cache

        def run(*arrays: Tree) -> Tree:
            variant = self._last
            call = None if variant is None else variant.calls.get(self)
            if variant is None or call is None:
                return REFUSED
            status = call(*arrays)
            if type(status) is float:
                variant.hits += 1
                if cache.last is not variant:
                    self._note(variant)
            elif type(status) is complex:
                return self._jump(variant, status, arrays)
            return status

        return run

    def _jump(self, variant: Variant, failed: complex, arrays: tuple[Tree, ...]) -> Tree:
        """Follow a failed guard, whose position and outcome are the status, to tapes with that outcome, until one succeeds."""
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
            found.hits += 1
            self._note(found)
        return status

    def _note(self, variant: Variant) -> None:
        self._cache.touch(variant)
        self._cache.last = variant


class CallsUnderGuard:
    """PathCalls for each value of the user's guard.

    Attributes:
        last: a value of the guard, the tape that answered under it, and its kernel. Replaced as a whole: calls read it without a lock.
    """

    __slots__ = ("__weakref__", "_by_value", "last")

    def __init__(self) -> None:
        self._by_value: dict[tuple[type, Tree], PathCalls] = {}
        self.last: tuple[Tree, Variant | None, Callable[..., Tree] | None] = (self, None, None)

    def add(self, value: Tree, calls: PathCalls) -> None:
        """Use `calls` for this value of the guard."""
        if type(value) not in PLAIN:
            return
        if len(self._by_value) >= MANY_VALUES:
            # Copied first: calls without the lock add to it.
            for key, known in list(self._by_value.items()):
                if not known.is_live:
                    self._by_value.pop(key, None)
        self._by_value[type(value), value] = calls

    def under(self, value: Tree) -> Callable[..., Tree] | None:
        """The function that runs the kernels for a value."""
        known = self._by_value.get((type(value), value)) if type(value) in PLAIN else None
        if known is None:
            return None
        self.last = (value, *known.last)
        return known.run


def fast_under(guard: UserFunction, calls: CallsUnderGuard, cache: TapeCache, inputs: int, outputs: int) -> Callable[..., Tree]:
    """A fast path (see FastPath) that evaluates the user's guard first. Takes this many arguments, then arrays for this many outputs."""
    names = [f"a{k}" for k in range(inputs)]
    views = [_VIEW.format(name=name) for name in names]
    arguments = ", ".join([*names, *(f"o{k}" for k in range(outputs))])
    seen = ", ".join(f"v{name}" for name in names)
    text = _UNDER_GUARD.format(count=inputs + outputs, arguments=arguments, views="".join(views), seen=seen)
    made: dict[str, Callable[..., Callable[..., Tree]]] = {}
    exec(compile(text, "<call under a guard of tapediff>", "exec"), dict(_NAMES), made)
    return made["make"](guard, calls, cache)


# Most often an array; see for_guard.
_VIEW = """\
        if type({name}) is ndarray:
            v{name} = {name}[...]
            v{name}.setflags(False)
        else:
            v{name} = for_guard({name})
"""

# True, False and None are singletons: comparing identity needs no lookup.
_UNDER_GUARD = """\
def make(guard, calls, cache):
    def run(*arrays):
        if len(arrays) != {count}: return REFUSED
        ({arguments},) = arrays
{views}        value = guard({seen})
        known, variant, kernel = calls.last
        if value is known and kernel is not None and variant is cache.last and variant.calls:
            status = kernel({arguments})
            if type(status) is float:
                variant.hits += 1
                return status
            if status == PENDING: return status
        kernels = calls.under(value)
        if kernels is not None:
            status = kernels({arguments})
            if type(status) is float or status == PENDING: return status
        return GuardValue(value)
    return run
"""

_NAMES = {"ndarray": np.ndarray, "for_guard": for_guard, "GuardValue": GuardValue, "PENDING": PENDING, "REFUSED": REFUSED}
