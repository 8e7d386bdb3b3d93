"""Kernel: the native code of one tape, its constants and workspaces, and how to call it."""

from __future__ import annotations

import ctypes
import math
import time
import weakref
from collections.abc import Iterator, Sequence

import numpy as np

from ..errors import TapediffError, rejection
from ..ir.instruction import FLOAT_SCALAR, Operand, ValueType
from ..ir.interpreter import GuardFailure
from ..ir.outputs import share_memory
from ..ir.tape import Tape
from ..ops.control.calls import LOOP
from ..passes.loops.save_or_recompute import cost_of_loop
from .bytecode.sweeps.program import Sweeps
from .codegen.loop_function import KernelEmitter
from .codegen.outlining import is_compiled_quickly
from .codegen.python_listing import listing
from .jit.native_function import NativeFunction
from .loop_ir.program import Invoke, Program, RoutineCall, Step
from .loop_kernel import functions_of
from .pipeline import build_program
from .runtime.call_frame import widened
from .runtime.callbacks import raise_pending
from .runtime.entries import python_entry as entry
from .runtime.guard_reports import Exits, number_failure, report_for, reported_failure
from .runtime.status import FAILURE, OUT_OF_MEMORY, OVERLAP, PENDING, REFUSED
from .runtime.thread_pool import pool
from .runtime.workspaces import aligned_bytes, free_workspaces

# Kernels that do less work than this keep the GIL: releasing and taking it costs 0.05 µs, and more if other threads want it.
SHORT_WORK = 20_000
# Likewise of loops that end where the data end, mostly earlier.
SHORT_WORK_UP_TO_AN_END = 200_000

# The assumed work of one iteration of a callee.
CALL_WORK = 200


class Kernel:
    """Native code for all outputs of a tape.

    Attributes:
        tape: the tape that it runs.
        call: builtin function (*inputs, *output arrays) -> float; a complex number, guard + 1 and its outcome, when a
            guard fails; an int status otherwise. See compiler.runtime.entries.python_entry.
        returns_value: True if the first output is a scalar that `call` returns instead of writing it to an array.
        address: the address of the native function.
        seconds: the compile time.
    """

    def __init__(self, tape: Tape, program: Program | None = None, threads: int = 0) -> None:
        start = time.perf_counter()
        self.tape = tape
        self.program = build_program(tape, threads) if program is None else program
        pool.ensure(threads)
        self.address = self._compile()
        self._exits = Exits(self.program)
        self._constants = aligned_bytes(self.program.constants)
        # Floats cross the boundary in 64 bits; the kernel's caller rounds those that the tape has in 32.
        self.input_types = [widened(t) for t in tape.input_types]
        self.output_types = [widened(t) for t in tape.output_types]
        self.returns_value = bool(tape.outputs) and self.output_types[0] == FLOAT_SCALAR
        words = entry.state_words(
            self.address, self._constants.ctypes.data, self.input_types, self.written_types, returns_value=self.returns_value,
            releases_gil=self._work() > (SHORT_WORK_UP_TO_AN_END if self.program.short else SHORT_WORK),
        )  # fmt: skip
        self.state = np.array(words, np.int64)
        self.call = entry.callable_for(self.state) if self._fits_entry() else self._call_by_address
        self._address_call = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 4)(self.address)
        weakref.finalize(self, free_workspaces, self.state)
        self.seconds = time.perf_counter() - start

    def _compile(self) -> int:
        """Compile the program; return the address of the native function."""
        emitter = self._emitter()
        self.llvm = emitter.text()
        self._native = NativeFunction(
            self.llvm, emitter.name, emitter.code.symbols, quickly=is_compiled_quickly(self.program, len(self.llvm)),
            addresses=emitter.addresses, is_portable=True,
        )  # fmt: skip
        # Dispatch tables keep the native code that this code calls alive.
        self.dispatch_tables = emitter.dispatch_tables
        self._runs = emitter.runs
        return self._native.address

    def _emitter(self) -> KernelEmitter:
        """The emitter of its function."""
        return KernelEmitter(self.program, "tapediff_kernel")

    def native_functions(self) -> Iterator[NativeFunction]:
        """Its own native functions, and those of the callees' variants that it has needed so far."""
        yield self._native
        yield from functions_of(self.dispatch_tables)

    def _fits_entry(self) -> bool:
        return len(self.input_types) + len(self.written_types) <= entry.MOST_ARGUMENTS

    @property
    def written_types(self) -> list[ValueType]:
        """Types of the outputs that `call` writes to arrays."""
        return self.output_types[1 if self.returns_value else 0 :]

    def allow_constants(self) -> None:
        """Let `call` take a td.Constant for every input but the first, if nothing can change it meanwhile."""
        if self._fits_entry() and not self.state[entry.RELEASES_GIL] and not self.dispatch_tables:
            entry.allow_constants(self.state, 1)

    def _work(self) -> float:
        """A rough count of element operations."""
        total = 0.0
        for group in self.program.groups:
            if isinstance(group, Sweeps):
                total += group.operations
            for item in group.body:
                if isinstance(item, Step):
                    total += math.prod(item.domain)
                elif isinstance(item, RoutineCall):
                    total += int(np.prod(item.sizes[:2])) * item.count
                elif isinstance(item, Invoke):
                    total += _work_of(item)
        return total

    @property
    def source(self) -> str:
        """The loop program as plain Python, one comment per step with the user's line."""
        return listing(self.program)

    @property
    def is_swept(self) -> bool:
        """True if it is byte code made from the tape itself, see bytecode/sweeps/program.py."""
        return any(isinstance(group, Sweeps) for group in self.program.groups)

    @property
    def workspace_bytes(self) -> int:
        return self.program.workspace_bytes

    def _pointers(self, arrays: Sequence[np.ndarray]) -> ctypes.Array[ctypes.c_void_p]:
        return (ctypes.c_void_p * max(len(arrays), 1))(*[a.ctypes.data for a in arrays])

    def run(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], report: np.ndarray | None = None) -> int:
        """Call through ctypes on arrays of exactly the recorded types, one per output. Returns the status."""
        report = np.zeros(2, np.int64) if report is None else report
        return self._address_call(
            self._pointers(inputs), self._pointers(outputs), self.state.ctypes.data, report.ctypes.data
        )

    def _call_by_address(self, *arrays: Operand) -> float | int | complex:
        """`call` for kernels with more arguments than the entry takes."""
        inputs_count = len(self.input_types)
        expected = [*self.input_types, *self.written_types]
        if len(arrays) != len(expected):
            return REFUSED
        for k, (array, type_) in enumerate(zip(arrays, expected)):
            fits = type(array) is np.ndarray and array.dtype == type_.dtype and array.shape == type_.shape
            if not (fits and array.flags.c_contiguous and (k < inputs_count or array.flags.writeable)):
                return REFUSED
        given, wanted = arrays[:inputs_count], arrays[inputs_count:]
        if share_memory(given, wanted) or share_memory(wanted):
            return OVERLAP
        value = np.zeros(())
        status = self.run(given, [value, *wanted] if self.returns_value else wanted)
        return float(value) if status == 0 else status

    def fresh_outputs(self) -> list[np.ndarray]:
        """New arrays for the outputs that `call` writes."""
        return [np.empty(t.shape, t.dtype) for t in self.written_types]

    def failure(self, status: int | complex, inputs: Sequence[np.ndarray]) -> GuardFailure:
        """The reason why `call` failed: the guard and its outcome.

        Raises:
            numpy.linalg.LinAlgError: a factorisation failed, as the plain function would say.
            MemoryError: no memory for the workspace.
            Any exception raised in Python while the kernel ran: by user code that a callee had to record, for example.
        """
        if status == PENDING:
            raise_pending()
        if status == OUT_OF_MEMORY:
            raise MemoryError(f"no memory for a workspace of {self.workspace_bytes} bytes")
        if status.real >= FAILURE:
            raise rejection(np.linalg.LinAlgError(self.program.failures[int(status.real) - FAILURE]))
        ordinal = int(status.real) - 1
        item = self._exits[ordinal]
        if item.guard_kind != "array" and type(status) is complex:
            return number_failure(item, ordinal, status.imag)
        status = int(status.real)
        report = report_for(item, self.program)
        scratch = [np.empty(t.shape, t.dtype) for t in self.output_types]
        again = self.run(inputs, scratch, report)
        if again != status:
            raise TapediffError("a kernel gave two different answers to the same arguments",
                                fix="do not change the arguments from another thread during a call")  # fmt: skip
        return reported_failure(item, ordinal, report, self.tape)


def _work_of(item: Invoke) -> float:
    """The work of a call, or a loop."""
    if item.op is not LOOP:
        return CALL_WORK
    callee, form = item.params
    return SHORT_WORK * CALL_WORK if form.length is None else max(form.length * CALL_WORK, cost_of_loop(callee, form))
