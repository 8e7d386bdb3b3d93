"""Calls by the addresses of inputs and outputs; here those of a CompiledTape's kernel, in paths.py those of a GuardedTape.

C functions, bound calls, batches and a GuardedTape's calls from Python use these; see compiler.runtime.entries.address_call.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...compiler.jit.toolchain import toolchain
from ...compiler.runtime.call_frame import widened
from ...compiler.runtime.callbacks import callback_address, take_pending
from ...compiler.runtime.entries import address_call, c_entry, python_entry
from ...compiler.runtime.python_api import MOST_ARGUMENTS
from ...compiler.runtime.status import OUT_OF_MEMORY
from ...errors import ArgumentMismatch
from ...ir.instruction import FLOAT64, Operand, Tree, ValueType
from .errors import Errors, keep_error, lost_error
from .signature import Kind

if TYPE_CHECKING:
    from ...compiler.kernel import Kernel
    from .owner import Owner


class AddressedCall:
    """A function of the addresses of its inputs and outputs.

    Attributes:
        inputs, outputs: the types of the arrays at these addresses. The inputs are those of a tape, then the vectors.
        errors: the exceptions of its calls.
        words: its state.
        asked: how often Python had to answer instead of a kernel.

    Args:
        errors: None if the caller is Python, which takes what no kernel answers.

    Raises:
        ArgumentMismatch: more arrays than native code has room for.
    """

    def __init__(self, inputs: Sequence[ValueType], outputs: Sequence[ValueType], errors: Errors | None = None) -> None:
        if len(inputs) + len(outputs) > MOST_ARGUMENTS:
            raise ArgumentMismatch(
                f"calls from native code take at most {MOST_ARGUMENTS} arrays", got=f"{len(inputs)}, and {len(outputs)} results",
                fix="join some of them, or call the tape itself",
            )  # fmt: skip
        self.inputs, self.outputs, self.errors, self.asked = [*inputs], [*outputs], errors or Errors(), 0
        self.words = np.zeros(len(address_call.CALL.words()), np.int64)
        if errors is not None:
            self.words[address_call.ID] = toolchain.number(AddressedCall, self)
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
        """A builtin that is called as a kernel; it returns an int where the call fails."""
        return address_call.python_builtin(self.address, self.inputs, self.outputs, self)

    def again(self, code: int, tape: Owner, inputs: Sequence[Operand]) -> Sequence[Operand]:
        """Raise the exception of a call in this thread that returned a code; if it was not kept, repeat the call by Python.

        Args:
            tape: its target.
            inputs: the numbers at the addresses of its inputs.

        Returns:
            The results, if the repeated call does not fail.
        """
        raised = self.errors.take()
        if raised is not None:
            raise raised
        return self.results(tape, inputs)

    def results(self, tape: Owner, inputs: Sequence[Operand]) -> Sequence[Operand]:
        """All outputs, by Python."""
        raise NotImplementedError

    def failed(self, status: int) -> int:
        """Return the status of a call that raised, and keep the exception. Called by native code."""
        raised = MemoryError("no memory for a workspace") if status == OUT_OF_MEMORY else take_pending() or lost_error()
        return keep_error(self.errors, raised)


class CompiledCall(AddressedCall):
    """The call of one kernel of a CompiledTape."""

    def __init__(self, kernel: Kernel, key: Tree, errors: Errors) -> None:
        super().__init__(kernel.tape_inputs, kernel.tape_outputs, errors)
        self._kernel, self._key = kernel, key
        self.words[address_call.CALL_KERNEL : address_call.CALL_INPUTS + 1] = (
            int(kernel.state[0]), kernel.state.ctypes.data, len(kernel.input_types),
        )  # fmt: skip
        self.words[address_call.RELEASES_GIL] = kernel.state[python_entry.RELEASES_GIL]

    def again(self, code: int, tape: Owner, inputs: Sequence[Operand]) -> Sequence[Operand]:
        raised = self.errors.take()
        if code not in (c_entry.GUARD_FAILED, c_entry.NOT_POSITIVE_DEFINITE):
            raise raised or lost_error()
        return self.results(tape, inputs)

    def results(self, tape: Owner, inputs: Sequence[Operand]) -> Sequence[Operand]:
        return tape.run_unguarded(self._key, inputs)


def copy_at(address: int, type_: ValueType) -> Tree:
    """Copy the array at an address; a number if it is 0-d."""
    array = np.empty(type_.shape, widened(type_).dtype)
    ctypes.memmove(array.ctypes.data, address, array.nbytes)
    return array.astype(type_.dtype, copy=False)[()]


def compiled_call(tape: Owner, kind: Kind) -> AddressedCall:
    """The call of a CompiledTape."""
    native, key = tape._native_side(), kind.key
    return native.calls.get(key) or native.calls.setdefault(key, CompiledCall(tape.kernel(key), key, native.errors))


def floated(types: Sequence[ValueType]) -> list[ValueType]:
    """Replace the types of numbers by float64."""
    return [ValueType(t.shape, FLOAT64) for t in types]


def _call_failed(number: int, status: int) -> int:
    """Called by native code; see AddressedCall.failed."""
    return toolchain.numbered(AddressedCall, number).failed(status)
