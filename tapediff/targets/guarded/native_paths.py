"""GuardedCalls: the calls of a GuardedTape from compiled code, which goes from tape to tape by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir.instruction import FLOAT64, ValueType
from ..backends import NATIVE
from ..native.native_calls import NativeCalls, NativeSide, check_vector
from .keyed_call import GuardedFunction
from .policy import Policy
from .tape_cache import TapeCache
from .variant import Variant

if TYPE_CHECKING:
    from ..native.native_entry import NativeEntry, PathsEntry


class GuardedCalls(NativeCalls):
    """The calls from compiled code, for a function whose tapes are in a cache."""

    _function: GuardedFunction
    _policy: Policy
    _cache: TapeCache

    @property
    def name(self) -> str:
        """Of the function, in messages."""
        return self._function.name

    @property
    def backend(self) -> str:  # type: ignore[override]  # an attribute of a CompiledTape
        """How paths are compiled, "native" or "numba"; see td.compile."""
        return self._policy.backend

    def answer_at(self, x: np.ndarray) -> tuple[Variant, float, Any]:
        """The tape that answers at x, the value, and the gradient."""
        raise NotImplementedError

    def native_call(self, variant: Variant) -> Callable[..., Any] | None:
        """The function behind the fast path of calls like those of this tape, if native code can choose among the tapes."""
        types = variant.tape.input_types
        is_one_array = len(types) == 1 and types[0].dtype == FLOAT64
        if not (is_one_array and self.may_run_natively(variant)):
            return None
        return self._entry(types[0].shape).builtin  # type: ignore[attr-defined]  # a PathsEntry

    def may_run_natively(self, variant: Variant) -> bool:
        """Whether native code may choose a tape by its guards alone: it is compiled, and Python has no say in the choice."""
        if self.backend != NATIVE:
            return False
        decides = self._function.guard is not None or self._policy.check_every
        compiled = variant.compiled.seconds and variant.replays >= self._policy.compile_after
        return bool(compiled) and not decides and variant.is_direct and self.keeps(variant)

    def keeps(self, variant: Variant) -> bool:
        """Whether a tape has not been dropped."""
        return self._cache.holds(variant)

    def note_native_use(self, variant: Variant) -> None:
        """Note that native code has used a tape lately."""
        self._cache.touch(variant)

    def _make_entry(self, shape: tuple[int, ...] | None, native: NativeSide) -> PathsEntry:
        from ..native.native_entry import PathsEntry

        entry = PathsEntry(self, shape, native.errors)
        self._cache.users.append(entry)
        return entry

    def _default_entry(self, native: NativeSide) -> NativeEntry:
        inputs = [v.tape.input_types for v in self._cache.all()]
        shapes = [
            types[0].shape for types in inputs if len(types) == 1 and types[0] == ValueType((types[0].size,), FLOAT64)
        ]
        if inputs and not shapes:
            check_vector(*inputs[-1])
        return self._entry(shapes[-1]) if shapes else self._make_entry(None, native)
