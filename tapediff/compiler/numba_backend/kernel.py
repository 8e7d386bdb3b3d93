"""NumbaKernel: the numba program of one tape, and how to call it. It has the interface of compiler.kernel.Kernel."""

from __future__ import annotations

import linecache
import time
import weakref
from collections.abc import Callable, Sequence

import numpy as np

from ...errors import RecursionTooDeep, TapediffError, rejection
from ...ir.instruction import FLOAT_SCALAR, Operand, Param, ValueType
from ...ir.interpreter import GuardFailure
from ...ir.outputs import share_memory
from ...ir.tape import Tape
from ..jit.toolchain import toolchain
from ..loop_ir.program import KINDS, Program
from ..runtime.call_frame import widened
from ..runtime.callbacks import keep_pending, raise_pending
from ..runtime.guard_reports import Exits, number_failure
from ..runtime.status import FAILURE, OVERLAP, PENDING, RECURSION, REFUSED, RULE_RAISED, WRONG_RESULT
from .callee_text import CalleeText
from .entry_text import Entry, append_entry, entry_function
from .learned_paths import LearnedPaths
from .program_support import TOO_LONG
from .program_text import ProgramText
from .python_answers import DEPTH, NUMBER, Answers, asking_function

_ARRAYS = {"f64": "float64[::1]", "i64": "int64[::1]", "i1": "boolean[::1]"}
_PLAIN = {"f64": np.float64, "i64": np.int64, "i1": np.bool_}


class NumbaProgram:
    """The program of a tape with the paths of its callees that were known when it was written.

    Attributes:
        text: its text.
        callees: its callees, with what their statuses mean.
        answers: what it asks of Python while it runs.
        function: its compiled function `kernel`.
    """

    def __init__(self, tape: Tape, learned: LearnedPaths) -> None:
        self.text = ProgramText()
        self.callees = CalleeText(self.text, learned)
        self.loop_program = self.callees.program(tape, "kernel", f"value and derivatives of {tape.name}", "@jit")
        self.callees.finish()
        self.exits = Exits(self.loop_program)
        self.answers = Answers(self.callees.callees, learned)
        types = [_ARRAYS[KINDS[t.dtype.kind]] for t in (*tape.input_types, *tape.output_types)]
        self.function = _compiled(self.text, f"int64({', '.join([*types, 'int64[::1]', 'float64[::1]'])})")

    def run(self, inputs: Sequence[Operand], outputs: Sequence[np.ndarray], report: np.ndarray) -> int:
        """Call on flat arrays. Returns the status."""
        note = self.answers.note()
        status = int(self.function(*inputs, *outputs, note, report))
        if status in (WRONG_RESULT, RULE_RAISED):
            keep_pending(self.callees.callees[note[NUMBER]].failed(status))
        elif status == RECURSION:
            name = self.callees.callees[note[NUMBER]].name
            keep_pending(RecursionTooDeep(name, None, f"{note[DEPTH]} calls", "the native backend"))
        elif status == TOO_LONG:
            form, is_by_memory = self.callees.limits[note[NUMBER]]
            keep_pending((form.too_large if is_by_memory else form.too_long)(int(note[DEPTH])))
        else:
            return status
        return PENDING


class NumbaKernel:
    """Code for all outputs of a tape, compiled by numba from the text of a Python module.

    Attributes:
        tape: what it computes.
        source: the text of the module.
        call: (*inputs, *output arrays) -> float; a complex number, guard + 1 and the outcome it met, when a guard fails; an int
            status otherwise.
        returns_value: whether the first output is a scalar that `call` returns instead of writing it to an array.
        seconds: how long compiling took.
    """

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.seconds = 0.0
        self.input_types = [widened(t) for t in tape.input_types]
        self.output_types = [widened(t) for t in tape.output_types]
        self.returns_value = bool(tape.outputs) and self.output_types[0] == FLOAT_SCALAR
        self._learned = LearnedPaths()
        self.compile()

    def compile(self) -> None:
        """Write and compile the program, with the paths that are known by now."""
        start = time.perf_counter()
        self._program = NumbaProgram(self.tape, self._learned)
        self.seconds += time.perf_counter() - start

    @property
    def program(self) -> Program:
        """The loop program."""
        return self._program.loop_program

    @property
    def source(self) -> str:
        """The text of an importable module; see entry_text."""
        text, entry = self._program.text, self._entry()
        return text.standalone(_DOCSTRING.format(name=self.tape.name, entry=entry.name), append_entry(text, entry))

    def _entry(self) -> Entry:
        return entry_function(self.input_types, self.output_types, self.returns_value, self._program.callees.report_size)

    @property
    def workspace_bytes(self) -> int:
        return self.program.workspace_bytes

    @property
    def written_types(self) -> list[ValueType]:
        """Types of the outputs that `call` writes to arrays."""
        return self.output_types[1 if self.returns_value else 0 :]

    def fresh_outputs(self) -> list[np.ndarray]:
        """New arrays for the outputs that `call` writes."""
        return [np.empty(t.shape, t.dtype) for t in self.written_types]

    # Calls

    def call(self, *arrays: Operand) -> float | int | complex:
        """See the class."""
        count, types = len(self.input_types), [*self.input_types, *self.written_types]
        if len(arrays) != len(types):
            return REFUSED
        given = [np.array(a) if isinstance(a, float) else a for a in arrays[:count]]
        for k, (array, type_) in enumerate(zip((*given, *arrays[count:]), types)):
            fits = type(array) is np.ndarray and array.dtype == type_.dtype and array.shape == type_.shape
            if not (fits and array.flags.c_contiguous and array.flags.aligned and (k < count or array.flags.writeable)):
                return REFUSED
        if share_memory(given, arrays[count:]) or share_memory(arrays[count:]):
            return OVERLAP
        program = self._newest()
        value, report = np.empty(1), np.empty(program.callees.report_size)
        written = [a.reshape(-1) for a in arrays[count:]]
        status = program.run([*map(_flat, given)], [value, *written] if self.returns_value else written, report)
        if status == 0:
            return float(value[0]) if self.returns_value else 0.0
        if 0 < status < FAILURE:
            is_array = program.exits[status - 1].guard_kind == "array"
            return complex(status, np.nan if is_array else report[0])
        return status

    def _newest(self) -> NumbaProgram:
        """The program, written anew where answering its questions has taken longer than that."""
        program = self._program
        if program.answers.seconds > self.seconds:
            program.answers.seconds = 0.0
            self.compile()
        return self._program

    def failure(self, status: int | complex, inputs: Sequence[np.ndarray]) -> GuardFailure:
        """The guard that failed and its outcome, where `call` did not succeed; see Kernel.failure for what it raises."""
        program = self._program
        if status == PENDING:
            raise_pending()
        if status.real >= FAILURE:
            raise rejection(np.linalg.LinAlgError(program.callees.failures[int(status.real) - FAILURE]))
        ordinal = int(status.real) - 1
        item = program.exits[ordinal]
        if item.guard_kind != "array" and type(status) is complex:
            return number_failure(item, ordinal, status.imag)
        report = np.empty(program.callees.report_size)
        scratch = [np.empty(t.size, _PLAIN[KINDS[t.dtype.kind]]) for t in self.output_types]
        if program.run([*map(_flat, inputs)], scratch, report) != int(status.real):
            raise TapediffError("a kernel gave two different answers to the same arguments",
                                fix="do not change the arguments from another thread during a call")  # fmt: skip
        if item.guard_kind != "array":
            return number_failure(item, ordinal, report[0])
        recorded = np.asarray(next(g for g in self.tape.guards if g.ordinal == ordinal).outcome)
        met = report.view(np.int64) if recorded.dtype.kind == "i" else report
        return GuardFailure(ordinal, met[: recorded.size].reshape(recorded.shape).astype(recorded.dtype))


def _flat(array: Operand) -> np.ndarray:
    flat = np.asarray(array).reshape(-1)
    return flat if flat.flags.writeable else flat.copy()


_DOCSTRING = """{name}, as tapediff has recorded and differentiated it: call {entry}.

Needs NumPy, numba and SciPy. With NUMBA_DISABLE_JIT=1 in the environment it runs as Python, step by step."""


def _compiled(text: ProgramText, signature: str) -> Callable[..., int]:
    """The compiled function `kernel` of a program."""
    own = text.own()
    name = f"<tapediff numba program {toolchain.next_number('numba program')}>"
    namespace: dict[str, Param] = {**text.namespace(), "ask": asking_function()}
    exec(compile(own, name, "exec"), namespace)
    kernel = namespace["kernel"]
    # Debuggers and tracebacks look there.
    linecache.cache[name] = (len(own), None, own.splitlines(keepends=True), name)
    weakref.finalize(kernel, linecache.cache.pop, name, None)
    kernel.compile(signature)
    kernel.disable_compile()
    return kernel
