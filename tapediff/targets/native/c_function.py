"""C functions of values, and of products with Jacobians and Hessians: results of any shape in one array."""

from __future__ import annotations

import ctypes
import itertools
import math
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.fork_locks import new_lock
from ...base.held_locks import holding
from ...compiler.runtime.callbacks import callback_address, take_pending
from ...compiler.runtime.entries import flat_entry
from ...compiler.runtime.entries.c_entry import WRONG_SIZE
from ...compiler.runtime.python_api import MOST_ARGUMENTS
from ...compiler.runtime.status import OUT_OF_MEMORY
from ...errors import ArgumentMismatch, ShapeMismatch
from ...ir.arguments import chosen_arguments
from ...ir.instruction import FLOAT64, ValueType
from ..tapes.operator_tapes import Operator, hvp_tape, jvp_tape, vjp_tape
from .native_entry import Errors, keep_error, lost_error

if TYPE_CHECKING:
    from ...compiler.kernel import Kernel
    from .owner import CallsOwner, KernelOwner

_ids = itertools.count(1)
_functions: weakref.WeakValueDictionary[int, CFunction] = weakref.WeakValueDictionary()


class CFunction:
    """A function that C code calls: `int32 f(uint64 n, const double *x, uint64 m, double *out, void *user_data)`.

    Keep it as long as the address is used. Any number of threads may call it at once, with the interpreter lock or without.

    Attributes:
        address: of the function.
    """

    def __init__(self, errors: Errors, follows: bool) -> None:
        self._errors = errors
        number = next(_ids)
        callback = callback_address(_flat_failed, ("i64", "i64", "ptr", "i64", "ptr", "i32"), "i32")
        self._words = np.array([0, 0, number, callback, int(follows)], np.int64)
        self.address = flat_entry.FLAT.address
        _functions[number] = self

    @property
    def user_data(self) -> int:
        """The last argument of the C function."""
        return int(self._words.ctypes.data)

    def take_error(self) -> BaseException | None:
        """The exception behind a negative code, or 2 or 3; None where a guard or a factorisation of a CompiledTape failed."""
        return self._errors.take(any_thread=True)

    def failed(self, n: int, x: int, m: int, out: int, status: int) -> int:
        """The code of a call that no kernel has answered. Called by native code."""
        raise NotImplementedError


class CompiledFunction(CFunction):
    """The C function of one kernel.

    Attributes:
        sizes: how many numbers x and out have.
    """

    def __init__(self, kernel: Kernel, constants: Sequence[np.ndarray], first: int, errors: Errors) -> None:
        super().__init__(errors, False)
        self._block = _Block(kernel, constants, first)
        self.sizes = self._block.sizes
        self._words[flat_entry.BLOCK_WORD] = self._block.address

    def set_constants(self, *constants: Any) -> None:
        """Replace the numbers of the constants, in place, for all later calls. No call may be under way."""
        held = self._block.constants
        if len(constants) != len(held):
            raise ArgumentMismatch("another number of constants", got=f"{len(held)} wanted, {len(constants)} given")
        fitted = [_fitted(constant, old) for constant, old in zip(constants, held)]
        for old, constant in zip(held, fitted):
            old[...] = constant

    def failed(self, n: int, x: int, m: int, out: int, status: int) -> int:
        if status == OUT_OF_MEMORY:
            return keep_error(self._errors, MemoryError("no memory for a workspace"))
        return keep_error(self._errors, take_pending() or lost_error())


class GuardedFunction(CFunction):
    """The C function of the values of a GuardedTape. Python answers where the path is another than the last one."""

    def __init__(self, owner: CallsOwner, errors: Errors) -> None:
        super().__init__(errors, True)
        self._owner, self._lock = owner, new_lock()
        self._blocks: dict[Any, _Block] = {}
        # Of tapes that were dropped, in which calls may still be under way.
        self._retired: list[_Block] = []

    def failed(self, n: int, x: int, m: int, out: int, status: int) -> int:
        pending = take_pending()
        if pending is not None:
            return keep_error(self._errors, pending)
        point = np.empty(n)
        ctypes.memmove(point.ctypes.data, x, point.nbytes)
        try:
            variant, values, _ = self._owner.answer_row([point], None)
            found = np.concatenate([np.ravel(np.asarray(v, np.float64)) for v in values])
            if found.size != m:
                self._errors.keep(
                    ShapeMismatch("out has another size than the results", got=f"{found.size} results, room for {m}")
                )
                return WRONG_SIZE
            self._use(variant)
        except BaseException as raised:  # noqa: BLE001 -- kept for take_error
            return keep_error(self._errors, raised)
        # Last of all, and on one line: where an interrupt comes, nothing is to be written.
        return (ctypes.memmove(out, found.ctypes.data, found.nbytes), flat_entry.ANSWERED)[1]

    def _use(self, variant: Any) -> None:
        """Let native code run this path next, where it may."""
        if not self._owner.may_run_natively(variant):
            return
        kernel = variant.compiled.kernel(None)
        if _is_flat(kernel):
            self._add(variant, self._blocks.get(variant) or _Block(kernel, variant.constants, 1))

    @holding("_lock")
    def _add(self, variant: Any, block: _Block) -> None:
        self._blocks[variant] = block
        self._words[flat_entry.BLOCK_WORD] = block.address
        for old in [v for v in self._blocks if not self._owner.keeps(v)]:
            self._retired.append(self._blocks.pop(old))
        # No call that begins now can find them; one is under way, this thread's.
        if self._retired and self._words[flat_entry.ACTIVE] == 1:
            self._retired = [r for r in self._retired if r.address == self._words[flat_entry.BLOCK_WORD]]


class _Block:
    """How a kernel is called on flat arrays; see compiler.runtime.flat_entry.

    Args:
        constants: inputs that are not in x, copied; they stand at the positions from `first` on.
    """

    def __init__(self, kernel: Kernel, constants: Sequence[Any], first: int) -> None:
        self._kernel = kernel
        self.constants: list[np.ndarray] = []
        places, n, m = [], 0, 0
        for k, type_ in enumerate(kernel.input_types):
            if first <= k < first + len(constants):
                held = np.array(constants[k - first], type_.dtype, order="C")
                self.constants.append(held)
                places += [0, held.ctypes.data]
            else:
                places += [1, 8 * n]
                n += math.prod(type_.shape)
        for type_ in kernel.output_types:
            places.append(8 * m)
            m += math.prod(type_.shape)
        self.sizes = n, m
        head = [int(kernel.state[0]), kernel.state.ctypes.data, n, m, len(kernel.input_types), len(kernel.output_types)]
        self._words = np.array([*head, *places], np.int64)

    @property
    def address(self) -> int:
        return int(self._words.ctypes.data)


def _is_flat(kernel: Kernel, constants: range = range(0)) -> bool:
    """Whether x and out can hold its arguments and results."""
    inputs = [t for k, t in enumerate(kernel.input_types) if k not in constants]
    types = [*inputs, *kernel.output_types]
    return len(types) < MOST_ARGUMENTS and all(t.dtype == FLOAT64 for t in types)


def _fitted(given: Any, recorded: np.ndarray) -> np.ndarray:
    array = np.asarray(given)
    if array.shape != recorded.shape or not np.can_cast(array.dtype, recorded.dtype, "safe"):
        raise ArgumentMismatch("a constant is of another type than recorded",
                               got=f"recorded {recorded.dtype} {recorded.shape}, given {array.dtype} {array.shape}")  # fmt: skip
    return array


KINDS = {"value": None, "jvp": jvp_tape, "vjp": vjp_tape, "hvp": hvp_tape}


def c_function(tape: Any, kind: str, argnums: Any, constants: Sequence[Any], errors: Errors) -> CFunction:
    """See NativeCalls.c_function."""
    if kind not in KINDS:
        raise ArgumentMismatch("there is no such kind of C function", got=repr(kind), fix=f"one of {', '.join(KINDS)}")
    if hasattr(tape, "answer_row"):
        if kind != "value" or constants:
            raise ArgumentMismatch("the C function of a GuardedTape has values of one argument only", got=f"kind={kind!r}",
                                   fix="call c_function of a compiled tape, or call the operator from Python")  # fmt: skip
        return GuardedFunction(tape, errors)
    return _compiled(tape, kind, argnums, constants, errors)


def _compiled(
    owner: KernelOwner, kind: str, argnums: Any, constants: Sequence[Any], errors: Errors
) -> CompiledFunction:
    inputs: tuple[ValueType, ...] = owner.tape.input_types
    first, make = len(inputs) - len(constants), KINDS[kind]
    key = None if make is None else Operator(make, chosen_arguments(argnums, len(inputs), owner.tape.name)[0])
    kernel = owner.kernel(key)
    if first < 0 or not _is_flat(kernel, range(first, len(inputs))):
        results = kernel.output_types
        raise ArgumentMismatch(
            "a C function takes and returns float64 numbers", got=f"{', '.join(map(str, inputs))} -> {', '.join(map(str, results))}",
            fix="pass the last arguments as constants=(...), and return floats",
        )  # fmt: skip
    if isinstance(key, Operator) and any(k >= first for k in key.wrt):
        raise ArgumentMismatch(
            "a constant has no derivative", got=f"argnums={argnums!r}", fix="leave it out of constants"
        )
    fitted = [_fitted(c, np.empty(t.shape, t.dtype)) for c, t in zip(constants, inputs[first:])]
    return CompiledFunction(kernel, fitted, first, errors)


def _flat_failed(number: int, n: int, x: int, m: int, out: int, status: int) -> int:
    """Called by C functions; see CFunction.failed."""
    return _functions[number].failed(n, x, m, out, status)
