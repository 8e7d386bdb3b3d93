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

# Guard values whose equality, with their type, is equality of bits.
PLAIN = frozenset((bool, int, str, type(None), np.bool_))

# So many values of a user's guard are known before those whose tapes were dropped are forgotten.
MANY_VALUES = 64


class PathCalls:
    """The kernels of one operator, of the tapes that calls of one kind may take.

    Attributes:
        run: called as a kernel is, with the arguments' arrays and those for the results; returns the status. Kernels check guards and
            arguments themselves, so whichever of them succeeds is right. A function, as an object's __call__ would take 0.1 µs more.
    """

    __slots__ = ("__weakref__", "_cache", "_last", "run")

    def __init__(self, cache: TapeCache) -> None:
        self._cache = cache
        self._last: Variant | None = None
        self.run = self._runner()

    @property
    def is_live(self) -> bool:
        """Whether the tape that answered last has not been dropped."""
        return self._last is not None and self in self._last.calls

    @property
    def last(self) -> tuple[Variant | None, Callable[..., Tree] | None]:
        """The tape that answered last, and its kernel."""
        variant = self._last
        return variant, None if variant is None else variant.calls.get(self)

    def add(self, variant: Variant, kernel_call: Callable[..., Tree]) -> None:
        """Let calls begin with this tape."""
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
            found.hits += 1
            self._note(found)
        return status

    def _note(self, variant: Variant) -> None:
        self._cache.touch(variant)
        self._cache.last = variant


class CallsUnderGuard:
    """The same, for each value of the user's guard.

    Attributes:
        last: a value of the guard, the tape that answered under it, and its kernel. Replaced as a whole: calls read it without a lock.
    """

    __slots__ = ("__weakref__", "_by_value", "last")

    def __init__(self) -> None:
        self._by_value: dict[tuple[type, Tree], PathCalls] = {}
        self.last: tuple[Tree, Variant | None, Callable[..., Tree] | None] = (self, None, None)

    def add(self, value: Tree, calls: PathCalls) -> None:
        """Let calls with this value of the guard go there."""
        if type(value) not in PLAIN:
            return
        if len(self._by_value) >= MANY_VALUES:
            # Copied first: calls that hold no lock add to it.
            for key, known in list(self._by_value.items()):
                if not known.is_live:
                    self._by_value.pop(key, None)
        self._by_value[type(value), value] = calls

    def under(self, value: Tree) -> Callable[..., Tree] | None:
        """What runs the kernels for a value."""
        known = self._by_value.get((type(value), value)) if type(value) in PLAIN else None
        if known is None:
            return None
        self.last = (value, *known.last)
        return known.run


def fast_under(guard: UserFunction, calls: CallsUnderGuard, cache: TapeCache, inputs: int, outputs: int) -> Callable[..., Tree]:
    """A fast path (see FastPath) that asks the user's guard first; of so many arguments, followed by arrays for so many outputs."""
    names = [f"a{k}" for k in range(inputs)]
    views = [_VIEW.format(name=name) for name in names]
    arguments = ", ".join([*names, *(f"o{k}" for k in range(outputs))])
    seen = ", ".join(f"v{name}" for name in names)
    text = _UNDER_GUARD.format(count=inputs + outputs, arguments=arguments, views="".join(views), seen=seen)
    made: dict[str, Callable[..., Callable[..., Tree]]] = {}
    exec(compile(text, "<call under a guard of tapediff>", "exec"), dict(_NAMES), made)
    return made["make"](guard, calls, cache)


# An array is what it mostly is; see for_guard.
_VIEW = """\
        if type({name}) is ndarray:
            v{name} = {name}[...]
            v{name}.setflags(False)
        else:
            v{name} = for_guard({name})
"""

# True, False and None are the same objects always, so that identity is equality, for which nothing has to be looked up.
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
