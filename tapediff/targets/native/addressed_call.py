"""Calls by the addresses of inputs and outputs: of a CompiledTape's kernel, or of the kernels of a GuardedTape's paths.

C functions of several arguments, bound calls and batches use these; see compiler.runtime.entries.address_call.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ...compiler.jit.toolchain import toolchain
from ...compiler.runtime.call_frame import Frame, input_word, widened
from ...compiler.runtime.callbacks import callback_address, take_pending
from ...compiler.runtime.callees.dispatch_loop import DONE
from ...compiler.runtime.entries import address_call, c_entry, python_entry
from ...compiler.runtime.python_api import MOST_ARGUMENTS
from ...compiler.runtime.status import OUT_OF_MEMORY, RECURSION
from ...errors import ShapeMismatch
from ...ir.instruction import FLOAT64, FLOAT_SCALAR, Operand, Tree, ValueType
from ...ir.pytree import TreeDef
from ...ir.tape import Tape
from .errors import Errors, keep_error, lost_error
from .paths import Path, PathsDispatch, PathsTable
from .signature import Kind, Signature

if TYPE_CHECKING:
    from ...compiler.kernel import Kernel
    from .owner import CompiledPath, Owner, PathsOwner

class OtherResults(ShapeMismatch):
    """Paths have results of different types."""


class AddressedCall:
    """A function of the addresses of its inputs and outputs.

    Attributes:
        inputs, outputs: the types of the arrays at these addresses. The inputs are those of a tape, then the vectors.
        errors: the exceptions of its calls.
        words: its state.
        asked: how often Python had to answer instead of a kernel.
    """

    def __init__(self, inputs: Sequence[ValueType], outputs: Sequence[ValueType], errors: Errors) -> None:
        self.inputs, self.outputs, self.errors, self.asked = [*inputs], [*outputs], errors, 0
        number = toolchain.number(AddressedCall, self)
        self.words = np.zeros(len(address_call.CALL.words()), np.int64)
        self.words[address_call.ID] = number
        self.words[address_call.CALLBACK] = callback_address(_call_failed, ("i64", "i32"), "i32")

    @property
    def address(self) -> int:
        """The address of its state, for callers in native code."""
        return int(self.words.ctypes.data)

    def use_blocks(self, kernel: Kernel, count: int) -> None:
        """Compute that many rows of a batch at once by this kernel."""
        # Held, as the words have its address.
        self._block = kernel
        self.words[address_call.BLOCK_KERNEL :] = kernel.state[0], kernel.state.ctypes.data
        # Last: other threads may read it already.
        self.words[address_call.BLOCK] = count

    def builtin(self) -> Callable[..., Operand]:
        """A builtin of the inputs and of arrays for all outputs but the first, a number: returns that, or KEPT if it is in `errors`."""
        return address_call.python_builtin(self.address, self.inputs, self.outputs[1:], self)

    def taken(self, code: int) -> BaseException | None:
        """The exception of a call in this thread that returned a code, once. None if the call has to be repeated to find it."""
        return self.errors.take()

    def failed(self, status: int) -> int:
        """Return the status of a call that raised, and keep the exception. Called by native code."""
        raised = MemoryError("no memory for a workspace") if status == OUT_OF_MEMORY else take_pending() or lost_error()
        code = keep_error(self.errors, raised)
        return c_entry.WRONG_SIZE if isinstance(raised, OtherResults) else code


class CompiledCall(AddressedCall):
    """The call of one kernel."""

    def __init__(self, kernel: Kernel, errors: Errors) -> None:
        super().__init__(kernel.tape.input_types, kernel.tape.output_types, errors)
        self._kernel = kernel
        self.words[address_call.CALL_KERNEL : address_call.CALL_INPUTS + 1] = (
            int(kernel.state[0]), kernel.state.ctypes.data, len(kernel.input_types),
        )  # fmt: skip
        self.words[address_call.RELEASES_GIL] = kernel.state[python_entry.RELEASES_GIL]

    def taken(self, code: int) -> BaseException | None:
        found = self.errors.take()
        return None if code in (c_entry.GUARD_FAILED, c_entry.NOT_POSITIVE_DEFINITE) else found or lost_error()


class PathsCall(AddressedCall, PathsDispatch):
    """The call of a GuardedTape: runs the kernel of the path that holds."""

    def __init__(
        self, owner: PathsOwner, signature: Signature, kind: Kind, vectors: Sequence[ValueType], outputs: Sequence[ValueType],
        errors: Errors, result: Result | None = None,
    ) -> None:  # fmt: skip
        AddressedCall.__init__(self, [*signature.types, *vectors], outputs, errors)
        PathsDispatch.__init__(self, owner)
        self._owner, self._signature, self._kind, self._vectors, self._result = owner, signature, kind, [*vectors], result
        self.words[address_call.TABLE] = self._table.address

    def answer(self, table: PathsTable, frame: Frame, asker: Path | None, status: int, outcome: int) -> int:
        self._free_retired(table, 1)
        self.asked += 1
        if status == RECURSION:
            raise RecursionError(f"calls of {self._owner.name} stand too deep in each other")
        self._raise_pending(status)
        count = len(self.inputs)
        addresses = (ctypes.c_int64 * (count + len(self.outputs))).from_address(frame[input_word(0)])[:]
        inputs = [copy_at(address, type_) for address, type_ in zip(addresses, self.inputs)]
        first = count - len(self._vectors)
        args = self._signature.arguments(inputs[:first])
        variant, results = self._owner.answer_kind(args, self._kind, inputs[first:])
        found = self._fitting(variant, results)
        self._learn(variant, table, asker, status, outcome)
        # Last, and in one call: after an interrupt nothing may have been written.
        written = map(ctypes.memmove, addresses[count:], [a.ctypes.data for a in found], [a.nbytes for a in found])
        return (all(written), DONE)[1]

    def _fitting(self, variant: CompiledPath, results: Sequence[Operand]) -> list[np.ndarray]:
        """Convert the results to the memory's types.

        Raises:
            OtherResults: they would not fit, or be rounded.
        """
        arrays = list(map(np.asarray, results))
        fits = len(arrays) == len(self.outputs) and self._has_result(variant) and all(
            a.shape == t.shape and np.can_cast(a.dtype, t.dtype) for a, t in zip(arrays, self.outputs)
        )
        if not fits:
            raise OtherResults(
                "paths of the function return results of different types",
                got=f"{', '.join(str(ValueType(a.shape, a.dtype)) for a in arrays)}; room for {', '.join(map(str, self.outputs))}",
                fix="return results of the same shapes from every path",
            )  # fmt: skip
        return [np.ascontiguousarray(a, widened(t).dtype) for a, t in zip(arrays, self.outputs)]

    def _has_result(self, variant: CompiledPath) -> bool:
        return self._result is None or result_of(variant.program.tape) == self._result

    def path_of(self, variant: CompiledPath) -> Path | None:
        if not self._owner.may_run_natively(variant, specialised=True):
            return None
        kernel, fixed = variant.compiled.kernel(self._kind.key), list(variant.constants)
        count = len(self.inputs) - len(self._vectors)
        types = kernel.tape.input_types
        given = [*types[:count], *types[count + len(fixed) :]]
        fits = given == self.inputs and list(kernel.tape.output_types) == self.outputs and self._has_result(variant)
        if not fits or len(types) + len(self.outputs) > MOST_ARGUMENTS:
            return None
        arrays = [np.array(c, widened(t).dtype, order="C") for c, t in zip(fixed, types[count:])]
        words = [int(kernel.state[0]), kernel.state.ctypes.data, 0, count, len(fixed), len(types)]
        state = np.array([*words, *(a.ctypes.data for a in arrays)], np.int64)
        return Path(variant, kernel, address_call.ADAPTER.address, state, arrays)


# The structure of a function's results.
Result: TypeAlias = tuple[bool, TreeDef | None]


def result_of(tape: Tape) -> Result:
    return tape.returns_tuple, tape.result


def copy_at(address: int, type_: ValueType) -> Tree:
    """Copy the array at an address; a number if it is 0-d."""
    array = np.empty(type_.shape, widened(type_).dtype)
    ctypes.memmove(array.ctypes.data, address, array.nbytes)
    return array.astype(type_.dtype, copy=False)[()]


def compiled_call(tape: Owner, kind: Kind) -> AddressedCall:
    """The call of a CompiledTape."""
    native, key = tape._native_side(), kind.key
    return native.calls.get(key) or native.calls.setdefault(key, CompiledCall(tape.kernel(key), native.errors))


def paths_call(
    tape: Owner, signature: Signature, kind: Kind, outputs: Sequence[ValueType], vectors: Sequence[ValueType] = (),
    result: Result | None = None,
) -> AddressedCall:  # fmt: skip
    """The call of a GuardedTape; with `result`, of its paths with that `result_of` their tapes."""
    native, key = tape._native_side(), (kind, signature.key, tuple(vectors), tuple(outputs), result)
    if key not in native.calls:
        made = native.calls.setdefault(key, PathsCall(tape, signature, kind, vectors, outputs, native.errors, result))
        tape.note_native_user(made)
    return native.calls[key]


def vector_call(tape: Owner, shape: tuple[int, ...]) -> tuple[AddressedCall, Signature]:
    """The call of value and gradient by a GuardedTape's only argument, a float64 array of this shape."""
    x = np.broadcast_to(0.0, shape)
    signature = Signature((x,), (False,), (x,), (0,), None)
    return paths_call(tape, signature, Kind("gradient", (0,), (0,)), [FLOAT_SCALAR, ValueType(shape, FLOAT64)]), signature


def floated(types: Sequence[ValueType]) -> list[ValueType]:
    """Replace the types of numbers by float64."""
    return [ValueType(t.shape, FLOAT64) for t in types]


def _call_failed(number: int, status: int) -> int:
    """Called by native code; see AddressedCall.failed."""
    return toolchain.numbered(AddressedCall, number).failed(status)
