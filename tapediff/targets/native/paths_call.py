"""The calls of a GuardedTape from native code, which follows known paths by itself."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ...compiler.runtime.call_frame import Frame, input_word, widened
from ...compiler.runtime.callbacks import take_pending
from ...compiler.runtime.callees.dispatch_loop import DONE
from ...compiler.runtime.status import AGAIN, RECURSION
from ...errors import StaleTape
from ...ir.instruction import FLOAT64, FLOAT_SCALAR, Operand, ValueType
from ...ir.pytree import TreeDef
from ...ir.tape import Tape
from .addressed_call import copy_at
from .errors import OtherResults, lost_error
from .paths import Path, PathsCall, PathsTable
from .signature import Kind, Signature

if TYPE_CHECKING:
    from .owner import CompiledPath, Owner, PathsOwner

# The structure of a function's results.
Result: TypeAlias = tuple[bool, TreeDef | None]


def result_of(tape: Tape) -> Result:
    return tape.returns_tuple, tape.result


class AskingCall(PathsCall):
    """The call of a GuardedTape from native code, which asks Python where no known path holds.

    Args:
        result: the `result_of` the tapes of all its paths, if these have to agree.
    """

    def __init__(
        self, owner: PathsOwner, signature: Signature, kind: Kind, vectors: Sequence[ValueType], outputs: Sequence[ValueType],
        result: Result | None,
    ) -> None:  # fmt: skip
        super().__init__(owner.kept_paths, kind.key, signature.types, vectors, outputs, owner._native_side().errors)
        self._owner, self._signature, self._kind, self._result, self._reads = owner, signature, kind, result, owner.reads

    def answer(self, table: PathsTable, frame: Frame, asker: Path | None, status: int, outcome: int) -> int:
        self._free_retired(table, 1)
        self.asked += 1
        if status == RECURSION:
            raise RecursionError(f"calls of {self._owner.name} stand too deep in each other")
        self._raise_pending(status)
        count = len(self.inputs)
        addresses = (ctypes.c_int64 * (count + len(self.outputs))).from_address(frame[input_word(0)])[:]
        inputs = [copy_at(address, type_) for address, type_ in zip(addresses, self.inputs)]
        variant, results = self._answered(inputs)
        found = self._fitting(variant, results)
        if self._owner.may_run_natively(variant):
            self.learn(variant, table, asker, status, outcome)
        # Last, and in one call: after an interrupt nothing may have been written.
        written = map(ctypes.memmove, addresses[count:], [a.ctypes.data for a in found], [a.nbytes for a in found])
        return (all(written), DONE)[1]

    def results(self, tape: Owner, inputs: Sequence[Operand]) -> Sequence[Operand]:
        return self._answered(inputs)[1]

    def _answered(self, inputs: Sequence[Operand]) -> tuple[CompiledPath, list[Operand]]:
        """The path that holds, and its results."""
        args = self._signature.arguments(inputs[: self._arguments])
        return self._owner.answer_kind(args, self._kind, inputs[self._arguments :])

    def _fitting(self, variant: CompiledPath, results: Sequence[Operand]) -> list[np.ndarray]:
        """Convert the results to the memory's types.

        Raises:
            OtherResults: they would not fit, or be rounded.
        """
        arrays = list(map(np.asarray, results))
        has_result = self._result is None or result_of(variant.program.tape) == self._result
        fits = len(arrays) == len(self.outputs) and has_result and all(
            a.shape == t.shape and np.can_cast(a.dtype, t.dtype) for a, t in zip(arrays, self.outputs)
        )
        if not fits:
            raise OtherResults(
                "paths of the function return results of different types",
                got=f"{', '.join(str(ValueType(a.shape, a.dtype)) for a in arrays)}; room for {', '.join(map(str, self.outputs))}",
                fix="return results of the same shapes from every path",
            )  # fmt: skip
        return [np.ascontiguousarray(a, widened(t).dtype) for a, t in zip(arrays, self.outputs)]

    def _raise_pending(self, status: int) -> None:
        """Raise the pending exception of a path.

        Raises:
            StaleTape: a path would be recorded, but the environment has changed since the address was taken.
        """
        if self._owner.reads != self._reads:
            raise StaleTape(
                f"{self._owner.name} takes a path that has no tape yet, and what it reads has changed since the call was bound, or its "
                "address taken", at="", got="a path that was not recorded before", fix="bind it again, or take the address again",
            )  # fmt: skip
        if status == AGAIN:
            raise take_pending() or lost_error()


def paths_call(
    tape: Owner, signature: Signature, kind: Kind, outputs: Sequence[ValueType], vectors: Sequence[ValueType] = (),
    result: Result | None = None,
) -> AskingCall:  # fmt: skip
    """The call of a GuardedTape; with `result`, of its paths with that `result_of` their tapes."""
    native, key = tape._native_side(), (kind, signature.key, tuple(vectors), tuple(outputs), result)
    found = native.calls.get(key) or native.calls.setdefault(key, AskingCall(tape, signature, kind, vectors, outputs, result))
    assert isinstance(found, AskingCall), "made here"
    return found


def vector_call(tape: Owner, shape: tuple[int, ...]) -> tuple[AskingCall, Signature]:
    """The call of value and gradient by a GuardedTape's only argument, a float64 array of this shape."""
    x = np.broadcast_to(0.0, shape)
    signature = Signature((x,), (False,), (x,), (0,), None)
    return paths_call(tape, signature, Kind("gradient", (0,), (0,)), [FLOAT_SCALAR, ValueType(shape, FLOAT64)]), signature
