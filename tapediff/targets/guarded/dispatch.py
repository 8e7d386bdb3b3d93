"""Dispatch: find the tape whose path holds at a call, by following failed guards from tape to tape, and evaluate it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...errors import NonScalarOutput
from ...ir.instruction import Operand, Outcome, Tree
from ...ir.interpreter import GuardFailure
from ...ir.outputs import Outs
from ...recording.arguments.int_arguments import IntNeeded
from ...recording.arguments.size_arguments import SizeNeeded
from ..compiled_tape import Key
from ..evaluate.evaluation import Evaluation, check_last, fitting, replayed
from ..tapes.operator_tapes import Operator
from .keyed_call import GuardedFunction, KeyedCall
from .policy import Policy
from .record_path import FormChanged, Missed, PathRecorder
from .report import unstable
from .staleness import StalenessCheck
from .tape_cache import TapeCache
from .variant import NEW, ONCE, Variant

# After this many recordings, check whether paths recur: if hardly any does, further ones are compiled only when they recur.
RECORDINGS_BEFORE_RARE = 4

# attempt(variant, decided) returns an Evaluation, or the GuardFailure at a guard; the first `decided` guards hold. Other callers of
# Dispatch.answer have functions with results of their own.
Attempt = Callable[[Variant, int], Tree]


class ShapeNeeded(Exception):
    """A derivative of results whose shapes are data has to be recorded for their shapes."""


class Dispatch:
    """The full path of a call: the tape used last, tapes that its failed guards lead to, or a new one."""

    __slots__ = ("_cache", "_function", "_policy", "_recorder", "_staleness")

    def __init__(
        self, function: GuardedFunction, policy: Policy, cache: TapeCache, recorder: PathRecorder, staleness: StalenessCheck
    ) -> None:  # fmt: skip
        self._function, self._policy, self._cache = function, policy, cache
        self._recorder, self._staleness = recorder, staleness

    def answer(self, call: KeyedCall, attempts: Callable[[KeyedCall], Attempt]) -> tuple[KeyedCall, Variant, Tree]:
        """Follow a call to its result, with its ints as data unless a recording needs their values.

        Args:
            call: the call.
            attempts: makes the function that tries a tape for a call; former data ints may be specialised on by then.

        Returns:
            The call that was answered, the tape, and the result.
        """
        if self._policy.check_every:
            self._recorder.noted(lambda: self._staleness.check_when_due(call))
        return self._answer(call, attempts)

    def _answer(self, call: KeyedCall, attempts: Callable[[KeyedCall], Attempt]) -> tuple[KeyedCall, Variant, Tree]:
        needed: IntNeeded | SizeNeeded | None = None
        while needed is None:
            try:
                return call, *self._follow(call, attempts(call))
            except FormChanged:
                continue
            except (IntNeeded, SizeNeeded) as raised:
                needed = raised
        # An exception that plain Python raises here may not depend on ints and sizes, so they are specialised on only after it.
        following = self._function.again(call, with_ints=isinstance(needed, SizeNeeded))
        found = self._answer(following, attempts)
        if isinstance(needed, SizeNeeded):
            self._function.sizes.need(following.bound, needed)
        else:
            self._function.ints.specialised |= {*self._function.ints.data(call.bound.leaves)}
        return found

    def attempt(self, call: KeyedCall, key: Key, vectors: Sequence[Operand] = (), outs: Outs = None) -> Attempt:
        """A function that tries a tape: replayed with NumPy while it is new, then by a kernel."""

        def attempt(variant: Variant, decided: int) -> Evaluation | GuardFailure:
            inputs, tape, given = call.bound.inputs, variant.program.tape, list[Operand]()
            if isinstance(key, Operator) and self._function.settles(variant.tape):
                raise ShapeNeeded
            tape = key.function(tape) if isinstance(key, Operator) else tape.without_aux()
            is_replayed = self._is_replayed(variant, call, decided)
            if isinstance(is_replayed, GuardFailure):
                return is_replayed
            try:
                if isinstance(key, Operator):
                    derived, first = key.tape(tape), len(variant.program.tape.inputs)
                    check_last(outs, derived)
                    given = fitting(derived, first, vectors, tape.name)
                if is_replayed:
                    outputs = variant.replay(key, inputs, decided, given)
                else:
                    outputs = variant.compiled.run_operator(key, [*inputs, *variant.constants, *given], outs)
            except NonScalarOutput:
                # A path without this derivative rejects only the points on it.
                answer = variant.replay(None, inputs, decided)
                if isinstance(answer, GuardFailure):
                    return answer
                raise
            if isinstance(outputs, GuardFailure):
                return outputs
            wrt = key.wrt if isinstance(key, Operator) else key or ()
            if not is_replayed:
                return Evaluation(outputs, tape, wrt, variant.compiled.run_unguarded, variant.compiled.kernel)
            variant.program.replays += 1
            variant.rare = min(variant.rare, ONCE)
            return Evaluation(outputs, tape, wrt, replayed(tape))

        return attempt

    def _is_replayed(self, variant: Variant, call: KeyedCall, decided: int) -> bool | GuardFailure:
        """True if a tape is still replayed with NumPy; or the failed guard of a rare path, which is not compiled to find it."""
        if variant.program.replays < self._policy.compile_after:
            return True
        if variant.compiled.kernels or not (variant.rare or self._policy.compile_after):
            return False
        if variant.rare == NEW:
            return True
        found = variant.replay(None, call.bound.inputs, decided)
        if type(found) is GuardFailure:
            return found
        variant.rare = 0  # the path recurs
        return False

    @property
    def _hardly_recur(self) -> bool:
        """True if new paths are unlikely to recur: few calls so far were answered by an existing tape."""
        counts = self._function.counts
        if counts.recordings < RECORDINGS_BEFORE_RARE or self._policy.compile_after_given is not None:
            return False
        self._cache.note_native_uses()
        return counts.dropped_hits + sum(variant.hits for variant in self._cache.all()) <= counts.recordings

    def _follow(self, call: KeyedCall, attempt: Attempt) -> tuple[Variant, Tree]:
        """Try tapes, the most recent first, until one holds at this point; record a new one if none does.

        Every failed guard fixes one more outcome, as that tape computed it. If another tape contradicts a fixed outcome, the two
        round a near tie differently, and the plain function decides: the search never goes back and forth.
        """
        decided: tuple[Outcome, ...] = ()
        missed: Missed | None = None
        variant = self._cache.last_with(call.key)
        is_new = False
        while True:
            if variant is None:
                variant, is_new = self._recorder.variant(call, decided, missed)
                if is_new and variant.outcomes and self._hardly_recur:
                    variant.rare = NEW
            answer = attempt(variant, len(decided))
            if type(answer) is not GuardFailure:
                variant.hits += not is_new
                self._cache.note_use(variant)
                return variant, answer
            if answer.ordinal < len(decided):
                guard = variant.tape.guards[answer.ordinal]
                if self._policy.on_new_tape == "raise":
                    raise unstable(guard, answer.outcome)
                variant = self._recorder.plain_path(call, guard, answer.outcome)
                return variant, attempt(variant, len(variant.outcomes))
            decided = variant.decided(answer)
            missed = (variant, answer)
            variant = variant.sibling(answer)
