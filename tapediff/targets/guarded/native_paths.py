"""GuardedCalls: the calls of a GuardedTape from compiled code, which changes between tapes by itself."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING

from ...ir.instruction import FLOAT64, Operand, Tree, UserFunction, ValueType
from ...ir.tape import Tape
from ...recording.recorder import Recorder
from ..backends import NATIVE
from ..evaluate.nested_recording import record_bound
from ..native.native_calls import NativeCalls, check_vector
from ..tapes.operator_tapes import Operator
from .dispatch import Attempt, Dispatch
from .keyed_call import GuardedFunction, KeyedCall
from .paths.direct_paths import DirectPaths
from .paths.recordings import AllRecordings
from .policy import Policy
from .record_path import PathRecorder
from .tape_cache import TapeCache
from .variant import Variant

if TYPE_CHECKING:
    from ..native.c_function import CFunction
    from ..native.signature import Kind


class GuardedCalls(NativeCalls):
    """The calls from compiled code of a function with cached tapes."""

    _function: GuardedFunction
    _policy: Policy
    _recordings: AllRecordings

    # The tapes for the present environment

    @property
    def _cache(self) -> TapeCache:
        return self._recordings.current.cache

    @property
    def _recorder(self) -> PathRecorder:
        return self._recordings.current.recorder

    @property
    def _dispatch(self) -> Dispatch:
        return self._recordings.current.dispatch

    @property
    def _direct(self) -> DirectPaths:
        return self._recordings.current.direct

    @property
    def name(self) -> str:
        """The function's name, in messages."""
        return self._function.name

    @property
    def backend(self) -> str:  # type: ignore[override]  # an attribute of a CompiledTape
        """How paths are compiled, "native" or "numba"; see td.compile."""
        return self._policy.backend

    def asking_call(self, variant: Variant) -> UserFunction | None:
        """The function for the fast path of calls of one array like this one. On other paths it takes half the time of the full path."""
        types = variant.tape.input_types
        is_one_array = len(types) == 1 and types[0].dtype == FLOAT64
        if not (is_one_array and variant.is_direct and self.may_run_natively(variant)):
            return None
        from ..native.paths import vector_call

        call = vector_call(self, types[0].shape)[0]
        call.learn(variant)
        return call.builtin()

    @property
    def chooses_natively(self) -> bool:
        """True if Python is not needed to select among compiled tapes."""
        return self.backend == NATIVE and self._function.guard is None and not self._policy.check_every

    def may_run_natively(self, variant: Variant) -> bool:
        """True if native code may select a tape by its guards alone, in calls that agree in all else: it is compiled."""
        return self.chooses_natively and self._direct.answers(variant)

    @property
    def kept_paths(self) -> TapeCache:
        """The tapes in use."""
        return self._cache

    @property
    def reads(self) -> Hashable:
        """A key, equal while the function reads the same besides its arguments."""
        self.refresh()
        return id(self._recordings.current)

    def keyed(self, args: Sequence[Tree], argnums: tuple[int, ...], *, with_data: bool = False) -> KeyedCall:
        """The key of a call from native code. Unless `with_data`, Python ints are specialised on, as they never change."""
        return self._function.call(args, argnums, with_data=with_data)

    def recorded_at(self, args: Sequence[Tree]) -> Tape:
        """The tape of the path at a point, replayed with NumPy, so that nothing is compiled."""
        self.refresh()
        return self._replayed(self.keyed(args, ()))[1].tape.without_aux()

    def _replayed(self, call: KeyedCall) -> tuple[KeyedCall, Variant, Tree]:
        """The answer of a call by NumPy."""
        return self._settled(call, lambda call: lambda variant, decided: variant.replay(None, call.bound.inputs, decided))

    def _settled(self, call: KeyedCall, attempts: Callable[[KeyedCall], Attempt]) -> tuple[KeyedCall, Variant, Tree]:
        """The answer of a call, by a tape whose results have the shapes of this call."""
        call, variant, found = self._dispatch.answer(call, attempts)
        is_again = self._function.settles(variant.tape)
        return self._dispatch.answer(self._function.again(call), attempts) if is_again else (call, variant, found)

    def likely_at(self, args: Sequence[Tree]) -> Tape:
        """A tape for arguments of these types: the one used last, or a new one of the path at these arguments, which is not kept."""
        call = self.keyed(args, ())
        known = self._cache.last_with(call.key)
        if known is not None and self._function.settles(known.tape):
            known = None
        tape = known.tape if known is not None else Recorder(self.name).run(record_bound, call.bound)
        return tape.without_aux()

    def answer_kind(self, args: Sequence[Tree], kind: Kind, vectors: Sequence[Operand]) -> tuple[Variant, list[Operand]]:
        """The tape that holds, and all outputs of its kernel for a kind of call."""
        self.refresh()
        call, key = self.keyed(args, kind.argnums, with_data=kind.with_data), kind.key
        attempts = lambda call: self._dispatch.attempt(call, call.bound.argnums if type(key) is tuple else key, vectors)  # noqa: E731
        _, variant, found = (self._dispatch.answer if isinstance(key, Operator) else self._settled)(call, attempts)
        return variant, found.outputs

    def _new_vector_function(self) -> CFunction:
        from ..native.c_function import vector_function

        tapes = self._cache.all()
        types = [v.tape.input_types for v in tapes if v.is_direct]
        shapes = [t[0].shape for t in types if len(t) == 1 and t[0] == ValueType((t[0].size,), FLOAT64)]
        if tapes and not shapes:
            check_vector(*(types[-1] if types else ()))
        return vector_function(self, shapes[-1] if shapes else None)
