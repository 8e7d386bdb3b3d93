"""Kernel: the native code of one tape, its constants and workspaces, and how to call it.

A kernel whose facts are on disk (jit/recipes.py) needs neither its tape nor the compiler, which is imported when something is compiled.
"""

from __future__ import annotations

import ctypes
import importlib
import math
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import TapediffError, rejection
from ..ir.instruction import FLOAT_SCALAR, Operand, ValueType
from ..ir.interpreter import GuardFailure
from ..ir.outputs import share_memory
from ..ir.tape import Tape
from .jit.native_function import NativeFunction
from .runtime.call_frame import widened
from .runtime.callbacks import raise_pending
from .runtime.entries import python_entry as entry
from .runtime.guard_reports import Exits, GuardExit, exits_of, number_failure, report_for, reported_failure
from .runtime.status import FAILURE, OUT_OF_MEMORY, OVERLAP, PENDING, REFUSED
from .runtime.workspaces import aligned_bytes, free_workspaces

if TYPE_CHECKING:
    from .bytecode.sweeps.program import Sweeps
    from .codegen.loop_function import KernelEmitter
    from .jit.recipes import Fact
    from .jit.shared_function import SharedFunction
    from .loop_ir.program import Invoke, Program
    from .runtime.callees.dispatch_table import CalleeTable

# Kernels that do less work than this keep the GIL: releasing and taking it costs 0.05 µs, and more if other threads want it.
SHORT_WORK = 20_000
# Likewise of loops that end where the data end, mostly earlier.
SHORT_WORK_UP_TO_AN_END = 200_000

# The assumed work of one iteration of a callee.
CALL_WORK = 200

# Larger constants are not copied to disk.
MOST_CONSTANT_BYTES = 1 << 24

# Functions of the runtime that kernels call by address: the modules and their names there.
_SHARED = {
    "tapediff_pause": ("signal_checks", "PAUSE"),
    "tapediff_run_bands": ("thread_pool", "RUN_BANDS"),
}


class Facts(NamedTuple):
    """All that a kernel is besides its tape and its address.

    Attributes:
        inputs, outputs: the types of the tape's.
        returns_tuple: as the tape does.
        constants, failures, workspace_bytes: those of the program.
        exits: its guards.
        is_short: it keeps the GIL.
        is_swept: it is byte code made from the tape itself, see bytecode/sweeps/program.py.
    """

    inputs: tuple[ValueType, ...]
    outputs: tuple[ValueType, ...]
    returns_tuple: bool
    constants: bytes
    failures: Sequence[str]
    workspace_bytes: int
    exits: Exits
    is_short: bool
    is_swept: bool


class Kernel:
    """Native code for all outputs of a tape.

    Attributes:
        tape: the tape that it runs.
        tape_inputs, tape_outputs: the types of its inputs and outputs.
        call: builtin function (*inputs, *output arrays) -> float; a complex number, guard + 1 and its outcome, when a
            guard fails; an int status otherwise. See compiler.runtime.entries.python_entry.
        returns_value: True if the first output is a scalar that `call` returns instead of writing it to an array.
        address: the address of the native function.
        seconds: the compile time.
    """

    _make_tape: Callable[[], Tape]

    def __init__(self, tape: Tape, program: Program | None = None, threads: int = 0) -> None:
        start = time.perf_counter()
        self.tape, self.threads = tape, threads
        if program is not None:
            self.program = program
        program = self.program
        if threads:
            _start_pool(threads)
        self._complete(start, self._compile(), Facts(
            tape.input_types, tape.output_types, tape.returns_tuple, program.constants, program.failures, program.workspace_bytes,
            exits_of(program), _work(program) <= (SHORT_WORK_UP_TO_AN_END if program.short else SHORT_WORK), bool(_sweeps(program)),
        ))  # fmt: skip

    def _complete(self, start: float, address: int, facts: Facts) -> None:
        """Make all that calls need of the native function."""
        self.address, self.facts = address, facts
        self.tape_inputs, self.tape_outputs, self.returns_tuple = facts.inputs, facts.outputs, facts.returns_tuple
        self._constants = aligned_bytes(facts.constants)
        # Floats cross the boundary in 64 bits; the kernel's caller rounds those that the tape has in 32.
        self.input_types = [widened(t) for t in facts.inputs]
        self.output_types = [widened(t) for t in facts.outputs]
        self.returns_value = bool(facts.outputs) and self.output_types[0] == FLOAT_SCALAR
        words = entry.state_words(
            self.address, self._constants.ctypes.data, self.input_types, self.written_types, returns_value=self.returns_value,
            releases_gil=not facts.is_short,
        )  # fmt: skip
        self.state = np.array(words, np.int64)
        self.call = entry.callable_for(self.state) if self._fits_entry() else self._call_by_address
        self._address_call = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 4)(self.address)
        weakref.finalize(self, free_workspaces, self.state)
        self.seconds = time.perf_counter() - start

    # The facts on disk

    def kept(self) -> Fact:
        """The arguments of `recalled`; None for a kernel that other processes cannot make again."""
        facts, native = self.facts, getattr(self, "_native", None)
        if native is None or native.kept_as is None or self._runs or not self._shared <= _SHARED.keys() or self.dispatch_tables:
            return None
        if len(facts.constants) > MOST_CONSTANT_BYTES:
            return None
        types = tuple(tuple((tuple(map(int, t.shape)), t.dtype.str) for t in given) for given in (facts.inputs, facts.outputs))
        exits = tuple((int(e.ordinal), e.guard_kind, tuple(e.kinds), int(e.bytes)) for e in facts.exits.all)
        simple = facts._replace(inputs=types[0], outputs=types[1], failures=tuple(facts.failures), exits=exits)  # type: ignore[arg-type]
        return native.kept_as, self._name, tuple(self._symbols), tuple(self._shared), tuple(simple)

    @classmethod
    def recalled(cls, kept: Fact, tape: Callable[[], Tape], threads: int) -> Kernel | None:
        """A kernel as another process has made it; None if its code is gone.

        Args:
            kept: as it was returned by `kept`.
            tape: makes the tape, in case that it is asked for.
        """
        start = time.perf_counter()
        code, name, symbols, shared, simple = kept
        facts = Facts(*simple)
        native = NativeFunction.kept(code, name, symbols, {symbol: _shared(symbol) for symbol in shared})
        if native is None:
            return None
        kernel = cls.__new__(cls)
        kernel._native, kernel.threads, kernel._make_tape = native, threads, tape
        kernel._name, kernel._symbols, kernel._shared, kernel.dispatch_tables, kernel._runs = name, symbols, frozenset(shared), [], []
        if threads:
            _start_pool(threads)
        inputs, outputs = (tuple([ValueType(shape, np.dtype(dtype)) for shape, dtype in given]) for given in (facts.inputs, facts.outputs))
        exits = Exits(GuardExit(*e) for e in simple[Facts._fields.index("exits")])
        kernel._complete(start, native.address, facts._replace(inputs=inputs, outputs=outputs, exits=exits))
        return kernel

    @cached_property
    def tape(self) -> Tape:
        return self._make_tape()

    @cached_property
    def program(self) -> Program:
        """The scheduled loop program."""
        from .pipeline import build_program

        return build_program(self.tape, self.threads)

    @cached_property
    def llvm(self) -> str:
        """The LLVM text."""
        return self._emitter().text()

    def _compile(self) -> int:
        """Compile the program; return the address of the native function."""
        from .codegen.outlining import is_compiled_quickly

        emitter = self._emitter()
        self.llvm = emitter.text()
        self._name, self._symbols, self._shared = emitter.name, emitter.code.symbols, frozenset(emitter.addresses)
        self._native = NativeFunction(
            self.llvm, emitter.name, emitter.code.symbols, quickly=is_compiled_quickly(self.program, len(self.llvm)),
            addresses=emitter.addresses, is_portable=True,
        )  # fmt: skip
        # Dispatch tables keep the native code that this code calls alive.
        self.dispatch_tables: list[CalleeTable] = emitter.dispatch_tables
        self._runs = emitter.runs
        return self._native.address

    def _emitter(self) -> KernelEmitter:
        """The emitter of its function."""
        from .codegen.loop_function import KernelEmitter

        return KernelEmitter(self.program, "tapediff_kernel")

    def native_functions(self) -> Iterator[NativeFunction]:
        """Its own native functions, and those of the callees' variants that it has needed so far."""
        yield self._native
        if self.dispatch_tables:
            from .loop_kernel import functions_of

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

    @property
    def source(self) -> str:
        """The loop program as plain Python, one comment per step with the user's line."""
        from .codegen.python_listing import listing

        return listing(self.program)

    @property
    def is_swept(self) -> bool:
        """True if it is byte code made from the tape itself, see bytecode/sweeps/program.py."""
        return self.facts.is_swept

    @property
    def workspace_bytes(self) -> int:
        return self.facts.workspace_bytes

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
            raise rejection(np.linalg.LinAlgError(self.facts.failures[int(status.real) - FAILURE]))
        ordinal = int(status.real) - 1
        item = self.facts.exits[ordinal]
        if item.guard_kind != "array" and type(status) is complex:
            return number_failure(item, ordinal, status.imag)
        status = int(status.real)
        report = report_for(item)
        scratch = [np.empty(t.shape, t.dtype) for t in self.output_types]
        again = self.run(inputs, scratch, report)
        if again != status:
            raise TapediffError("a kernel gave two different answers to the same arguments",
                                fix="do not change the arguments from another thread during a call")  # fmt: skip
        return reported_failure(item, ordinal, report, self.tape)


def _start_pool(threads: int) -> None:
    from .runtime.thread_pool import pool

    pool.ensure(threads)


def _shared(symbol: str) -> int:
    """The address of a function of the runtime."""
    module, name = _SHARED[symbol]
    function: SharedFunction = getattr(importlib.import_module(f"{__package__}.runtime.{module}"), name)
    return function.address


def _sweeps(program: Program) -> list[Sweeps]:
    from .loop_ir.program import Interpreted

    interpreted = [group for group in program.groups if isinstance(group, Interpreted)]
    if not interpreted:
        return []
    from .bytecode.sweeps.program import Sweeps

    return [group for group in interpreted if isinstance(group, Sweeps)]


def _work(program: Program) -> float:
    """A rough count of element operations."""
    from .loop_ir.program import Invoke, RoutineCall, Step

    total = float(sum(group.operations for group in _sweeps(program)))
    for group in program.groups:
        for item in group.body:
            if isinstance(item, Step):
                total += math.prod(item.domain)
            elif isinstance(item, RoutineCall):
                total += int(np.prod(item.sizes[:2])) * item.count
            elif isinstance(item, Invoke):
                total += _work_of(item)
    return total


def _work_of(item: Invoke) -> float:
    """The work of a call, or a loop."""
    from ..ops.control.calls import LOOP
    from ..passes.loops.save_or_recompute import cost_of_loop

    if item.op is not LOOP:
        return CALL_WORK
    callee, form = item.params
    return SHORT_WORK * CALL_WORK if form.length is None else max(form.length * CALL_WORK, cost_of_loop(callee, form))
