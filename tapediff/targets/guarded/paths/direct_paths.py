"""The kernels for direct calls of a GuardedTape: those of the paths that answered calls of the same form.

Comes in: a call that was answered, its tape, and an operator. Goes out: the kernels for later calls of that form.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from ....ir.instruction import Tree
from ....ir.pytree import ARRAY
from ...compiled_tape import Key
from ...evaluate.call_code import call_under_guard
from ...evaluate.direct_calls import DirectKernel, NoForm
from ...tapes.operator_tapes import Operator
from ..keyed_call import GuardedFunction, KeyedCall, for_guard, forms_of
from ..policy import Policy
from ..tape_cache import TapeCache
from ..variant import Variant
from .sized_calls import sized

if TYPE_CHECKING:
    from ...native.paths import PathsCall

# Guard values that are equal, with their types, only if their bits are.
PLAIN = frozenset((bool, int, str, type(None), np.bool_))

# The most values of a user's guard before those with dropped tapes are forgotten.
MANY_VALUES = 64


class DirectRun(NamedTuple):
    """The kernels of one operator for one kind of call.

    Attributes:
        paths: their call; None if it has too many arguments, and is of one path.
        run: called as a kernel; returns the status, REFUSED on other paths.
    """

    paths: PathsCall | None
    run: Callable[..., Tree]

    @property
    def is_live(self) -> bool:
        """True while there is a kernel to run."""
        return self.paths is not None and self.paths.is_live


class CallsUnderGuard:
    """The calls for each value of the user's guard.

    Attributes:
        last: a value of the guard, and the function that runs the kernels for it. Replaced as a whole: calls read it without a lock.
    """

    __slots__ = ("__weakref__", "_by_value", "last")

    def __init__(self) -> None:
        self._by_value: dict[tuple[type, Tree], DirectRun] = {}
        self.last: tuple[Tree, Callable[..., Tree] | None] = (self, None)

    def add(self, value: Tree, calls: DirectRun) -> None:
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
        self.last = value, known.run
        return known.run


class DirectPaths:
    """The kernels of all paths, by operator and form of call, and by value of the user's guard if there is one.

    Args:
        refusing: makes a kernel refuse calls that need a check, or that a change of the environment makes stale.
    """

    def __init__(
        self, function: GuardedFunction, policy: Policy, cache: TapeCache, refusing: Callable[[Callable[..., Tree]], Callable[..., Tree]]
    ) -> None:  # fmt: skip
        self._function, self._policy, self._cache, self._refusing = function, policy, cache, refusing
        # Replaced, never mutated: calls read it without a lock.
        self._runs: dict[Hashable, DirectRun] = {}
        self._under_guards: WeakValueDictionary[Hashable, CallsUnderGuard] = WeakValueDictionary()

    def kernel(self, call: KeyedCall, variant: Variant, key: Key, *, alone: bool = False) -> DirectKernel:
        """The kernel for direct calls of this form; `alone`: on this path only.

        Raises:
            NoForm: they need the full path.
        """
        if not self.answers(variant):
            raise NoForm
        kernel, forms, count = variant.compiled.kernel(key), forms_of(call), len(variant.program.tape.inputs)
        if self._function.guard is not None:
            if call.bound.plain is not None:
                raise NoForm
            return DirectKernel(self._under_guard(call, variant, key), kernel, forms, count, self._function.value_of_guard)
        run = self._run(call, variant, key, alone=alone)
        found, numbers = DirectKernel(run.run, kernel, forms, count), key if type(key) is tuple else ()
        if call.bound.plain is None:
            return found
        return sized(found, call, self._function.sizes, numbers, run.paths, self._refusing)

    def answers(self, variant: Variant) -> bool:
        """True if the next calls may go straight to the kernels of this tape, and are not replayed."""
        is_compiled = variant.compiled.seconds and variant.program.replays >= self._policy.compile_after
        return bool(is_compiled) and self._cache.holds(variant)

    def fast_call(self, call: KeyedCall, variant: Variant, key: Key) -> Callable[..., Tree]:
        """The function for the fast path of calls like this one."""
        if self._function.guard is None:
            return self._run(call, variant, key).run
        under, guard = self._under_guard(call, variant, key), self._function.guard
        return call_under_guard(under, guard, for_guard, len(call.args), outputs=0 if key is None else 1)

    def fast_call_of_sizes(self, call: KeyedCall, variant: Variant) -> Callable[..., Tree] | None:
        """The same for calls with other sizes; None where the gradient is of a size."""
        if self._function.guard is not None or call.differentiates_sizes or len(call.bound.static) > 1 or variant.constants:
            return None
        try:
            found = self.kernel(call, variant, (0,))
        except NoForm:
            return None
        paths = self._run(call, variant, (0,)).paths
        if paths is None or any(form != ARRAY for form in found.forms):
            return None
        return found.run

    def _run(self, call: KeyedCall, variant: Variant, key: Key, *, alone: bool = False) -> DirectRun:
        """The kernels of one operator, for calls of this kind; `alone`: of this tape only."""
        from ....compiler.runtime.python_api import MOST_ARGUMENTS

        kernel = variant.compiled.kernel(key)
        fits = len(kernel.input_types) + len(kernel.output_types) <= MOST_ARGUMENTS
        name = call.key, _results(variant, key), variant.number if alone or not fits else 0
        known = self._runs.get(name)
        if known is None:
            known = self._new_run(call, variant, key) if fits else DirectRun(None, self._refusing(variant.kernel_call(key)))
            self._runs = {name: known, **{other: run for other, run in self._runs.items() if run.is_live}}
        if known.paths is not None:
            known.paths.learn(variant)
        return known

    def _new_run(self, call: KeyedCall, variant: Variant, key: Key) -> DirectRun:
        # Imported with the first kernel, so that `import tapediff` stays fast.
        from ...native.paths import PathsCall

        kernel, arguments = variant.compiled.kernel(key), call.key.types
        made = PathsCall(self._cache, key, arguments, kernel.tape_inputs[len(arguments) + len(variant.constants) :], kernel.tape_outputs)
        return DirectRun(made, self._refusing(made.builtin()))

    def _under_guard(self, call: KeyedCall, variant: Variant, key: Key) -> CallsUnderGuard:
        """The same for each value of the user's guard, including this call's."""
        name = (call.key._replace(guard=()), _results(variant, key))
        found = self._under_guards.setdefault(name, CallsUnderGuard())
        found.add(call.specialisation.guard_value[0], self._run(call, variant, key))
        return found


def _results(variant: Variant, key: Key) -> Hashable:
    """A key of results: one direct call runs only kernels with equal ones."""
    tape = variant.program.tape
    has_aux = isinstance(key, Operator) and key.has_aux
    return key, variant.compiled.kernel(key).tape_outputs, tape.result, tape.returns_tuple, tape.aux if has_aux else None
