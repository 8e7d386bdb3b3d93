"""The recorder: turns operations on tracked arrays into the instructions of one tape.

A recorder belongs to one thread and task (contextvars). Recorders nest; every operation goes to the innermost recorder among those of its
operands, so that derivatives of derivatives are never confused. The instructions themselves are kept by `tape_builder.py`, the dtypes of
operands decided in `promotion.py`.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable, Generator, Sequence
from types import FrameType
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy import asarray  # NumPy's own; see numpy_namespace.py

from ..base.current_recording import CURRENT, NO_FILTERS, current_recorder as current_recorder, error_state
from ..base.operating_system import IMPORT_FAILURES, raise_if_out_of_memory
from ..base.source_location import Site, is_same_line, user_site
from ..base.uninterrupted import require_stack
from ..errors import (
    RefusedByRecording,
    TapediffError,
    TrackedValueEscaped,
    TrackedValueLeaked,
    rejection,
)
from ..ir.instruction import (
    BOOL,
    BOOL_SCALAR,
    CONSTANT,
    FLOAT64,
    FLOAT_SCALAR,
    GUARD,
    INPUT,
    INT64,
    ORDINAL,
    Guard,
    Operand,
    Outcome,
    Params,
)
from ..ir.interpreter import is_outcome_of, outcome_of
from ..ir.pytree import taken_apart
from ..numpy_api.complex_numbers.dispatch import call_op as of_complex
from ..numpy_api.complex_numbers.pair import is_complex
from ..numpy_api.joining import stack_objects
from ..numpy_api.kinds import kind_of, plain_data
from ..numpy_api.whole_numbers import WholeNumber, with_floats
from ..ops import Op
from ..ops.control.calls import DynamicArray
from ..ops.elementwise.arithmetic import CONVERT
from ..ops.elementwise.comparison import MASK_OPS, NOT_EQUAL
from .arrays.buffers import Buffers
from .arrays.complex_array import ComplexArray
from .arrays.compressed import CompressedArray
from .arrays.equal_values import EqualValues
from .arrays.escapes import of_a_write
from .arrays.numbers import LARGEST_INT
from .arrays.promotion import are_integers, common_dtype, constant_operand
from .arrays.tracked import TrackedArray
from .call_arrays import CallArrays
from .python_state import gc_pause, numpy_namespace as namespace, scipy_functions
from .python_state.caught_errors import VALUE_FAILURES, Failure, Refusal, raised_by_numpy, would_be_caught
from .python_state.exception_handlers import handler_of
from .python_state.filled_arrays import Fills, may_be_filled
from .python_state.list_arguments import Asked, refusal_of_list
from .python_state.process_state import process
from .tape_builder import TapeBuilder

_current = CURRENT

_WIDE = (FLOAT64, INT64, BOOL)

P = ParamSpec("P")
T = TypeVar("T")


_ARRAY = np.ndarray

# Numbers that take part in operations of float64 as they are.
_USUAL = (float, int, np.float64)


class RecordingStopped(BaseException):
    """Stops a recording that has too many instructions."""


class RecordedAgain(BaseException):
    """Discards what was recorded: the body of the recording is called once more."""


class Recorder(TapeBuilder):
    """Collects the instructions of one tape, within `run`; the outer recorder is restored in any case.

    Args:
        name: the recorded function's name.
        concrete: compute NumPy values, too, as user code needs them; False computes types only.
        prescribed: outcomes forced on the first guards, whatever NumPy computes; see GuardedTape. NumPy decides from the first guard
            on whose kind or line differs from where its outcome was found.
        along: the guards at which these outcomes were found, where known.
        fills: which arrays the first attempt makes tracked; see `run`.

    Attributes:
        longest: the first operation after so many instructions stops the recording, by an exception that nobody should catch.
        is_stopped: the recording was stopped; its tape is invalid, even if the function went on.
        sizes: the largest values of inputs that are sizes of arguments.
        equal_values: values equal to earlier ones.
        origins: by input, the value of an outer recording that it is; in the order of these inputs.
        asked: called before each guard; may refuse it.
        failure, refusal: the first of each that was raised; if they are still there at the end, user code caught them.
        entry_frame: id of the frame in which the recording began; code further out is not part of the recorded function.
        is_called: the outer recording calls this one's tape; otherwise it takes over the operations.
        branches_to_inline: how many td.cond in a loop body may still become paths of the body.
        raised: the error that NumPy raises now where a number has no value; None where it warns at most.
        python_ints: inputs that stand for Python integers, as isinstance() must say.
        numpy_numbers: NumPy scalars made of Python's numbers.
        is_apart: in a recording of several paths, returns True where the program possibly skips the current code, or catches its errors.
        raise_where: raises an error where a condition holds, for recordings of several paths; None where guards decide it.
        inside: the same for a position outside of an extent; returns the position counted from the start.
        compressed: the class of arrays that masks of data select.
        returns_first_entries: results may have shapes that are data; see pytree.first_entries.
        written_at: by the number of an array after a write, the tracked positions at which it was written.
        entry_runs: vectors whose entries were recorded consecutively, with the number of the first entry; in recording order.
        left_out: the instructions, from start to end (exclusive), of each side of a branch that was left out.
        large_ints: constants that were Python ints beyond 2**31.
        has_narrow_constants: True if an operand had a dtype other than float64, int64 and bool.
        merges: True if the bodies of sub-tapes and loops hold all their paths.
        inlines: sub-tapes are recorded as part of what calls them.
        call_arrays: operands and results of sub-tape calls, which may share memory.
        buffers: arrays that the function is given to write to; None where it has none.
        index_asked: the tracked number in a list that NumPy converted, as in y[[k, 0]] = 1.0, and its line.
        lists_asked: where NumPy made object arrays of lists that hold tracked numbers.
        fills: the dtypes of which np.zeros and its relatives make tracked arrays; see `run`.
        is_again: an attempt was given up by RecordedAgain, which is possible once.
        is_of_sizes: sizes of arguments are data; where that takes much longer, it is given up.
        unrolls: all iterations of a loop over known items are recorded, however many.
    """

    def __init__(
        self, name: str = "f", *, concrete: bool = True, prescribed: Sequence[Outcome] = (), along: Sequence[Guard] = (),
        fills: Fills = Fills.NOTHING,
    ) -> None:  # fmt: skip
        super().__init__(name, concrete)
        self.is_stopped = False
        self.longest, self.unrolls = sys.maxsize, False
        self.concrete = concrete
        self.prescribed, self.along = prescribed, along
        self.origins: dict[int, TrackedArray] = {}
        self.sizes: dict[int, int] = {}
        self.equal_values = EqualValues()
        self.failure: Failure | None = None
        self.refusal: Refusal | None = None
        self.asked: Callable[[], None] | None = None
        self.is_open = self._is_restored = False
        self.entry_frame = 0
        self.is_called = self.is_again = self.is_of_sizes = self.returns_first_entries = False
        self.outer: Recorder | None = None
        self.level = 0
        self.guard_count = 0
        self.branches_to_inline = 0
        self.python_ints: set[int] = set()
        self.numpy_numbers: set[int] = set()
        self.is_apart: Callable[[], bool] | None = None
        self.raise_where: Callable[[Operand, Callable[[], BaseException]], None] | None = None
        self.inside: Callable[..., Operand] | None = None
        self.compressed: type[CompressedArray] = CompressedArray
        self.written_at: dict[int, Operand] = {}
        self.entry_runs: list[tuple[int, TrackedArray]] = []
        self.large_ints: set[int] = set()
        self.left_out: list[tuple[int, int]] = []
        self.has_narrow_constants = False
        self.merges = True
        self.inlines = False
        self.call_arrays = CallArrays()
        self.buffers: Buffers | None = None
        self.fills = fills
        self.index_asked: tuple[TrackedArray, Site] | None = None
        self.lists_asked: Asked = {}
        self._outside = (warnings.filters or NO_FILTERS)[0]
        self.warns()
        self._left = len(prescribed)
        self._observed: dict[tuple[int, str], Outcome] = {}
        self._is_constant = bytearray()
        self._captures: dict[tuple[int, int], TrackedArray] = {}

    def _begin(self, outer: Recorder | None) -> None:
        self._is_restored = False
        self.outer = outer
        self.level = outer.level + 1 if outer is not None else 1
        self.is_open = True
        self.entry_frame = id(sys._getframe(1))
        process.recordings.add(self)
        _current.set(self)
        gc_pause.recording_begins()
        if outer is None:
            namespace.recording_begins(self.fills)
        else:
            namespace.inner_recording_begins(self.fills)
            self._outside = outer._outside
            self.warns()
            self.fills = max(self.fills, outer.fills)
            self.merges &= outer.merges

    def run(self, body: Callable[Concatenate[Recorder, P], T], /, *args: P.args, **named: P.kwargs) -> T:
        """Call `body(recorder, *args)`, recording, and return its result. The recording always ends, also on an interrupt.

        If `body` writes a tracked value into an array that np.zeros made, call it again, with np.zeros and its relatives making tracked
        arrays of floats; if that fails, of ints and bools, too. Plain arrays are tried first: tracked ones cost an instruction for
        each operation, and tracked integers support less than plain ones.

        Also call it again if a SciPy function that was imported by name refuses a tracked value, or one of a module that was first
        imported while recording, or if a recording of all paths is given up (RecordedAgain).
        """
        fills, known, imported = self.fills, len(process.forwarded), namespace.imported()
        while True:
            try:
                return self._run_with_fills(body, *args, **named)
            except RefusedByRecording as error:
                is_forwarded = scipy_functions.forward(error.called) and len(process.forwarded) > known
                if self.outer is not None or not (is_forwarded or namespace.imported() > imported):
                    raise
            except IMPORT_FAILURES as error:
                raise_if_out_of_memory(error)
                raise
            except RecordedAgain:
                self.is_again = True
            known, imported = len(process.forwarded), namespace.imported()
            self._restart(fills)

    def _run_with_fills(self, body: Callable[Concatenate[Recorder, P], T], /, *args: P.args, **named: P.kwargs) -> T:
        first, refusal = self.fills, None
        if first:
            try:
                return self._run(body, *args, **named)
            except Exception as error:
                if not isinstance(error, RefusedByRecording) and not may_be_filled(error):
                    raise
            self._restart(Fills.NOTHING)
        for fills in Fills:
            if fills:
                self._restart(fills)
            try:
                return self._run(body, *args, **named)
            except Exception as raised:
                error = self._refusal_of(raised)
                is_last = self.outer is not None or not self.concrete or fills is Fills.ALL or not may_be_filled(error)
                if not is_last:
                    refusal = refusal or error
                elif refusal is not None and isinstance(error, RefusedByRecording):
                    # At the same line the later error knows more; at a later line the first one no longer occurs.
                    is_later = isinstance(refusal, RefusedByRecording) and _is_at_or_behind(_site(error), _site(refusal))
                    raise (error if is_later else refusal) from None
                elif error is raised:
                    raise
                else:
                    raise error from raised
        raise AssertionError

    def _refusal_of(self, error: Exception) -> Exception:
        """The refusal that caused an error, or the error itself."""
        asked = self.index_asked
        if asked is not None and isinstance(error, IndexError):
            return of_a_write(error, *asked) or error
        if self.lists_asked and (of_list := refusal_of_list(error, self.lists_asked)) is not None:
            return of_list
        # C code may replace the refusal by an error of its own.
        refusal = self.refusal
        return error if refusal is None or isinstance(error, TapediffError) or self.outer is not None else refusal.error

    def _restart(self, fills: Fills) -> None:
        """Forget what was recorded."""
        kept = self.merges, self.longest, self.is_again, self.is_of_sizes, self.unrolls
        self.__init__(self.name, concrete=self.concrete, prescribed=self.prescribed, along=self.along, fills=fills)
        self.merges, self.longest, self.is_again, self.is_of_sizes, self.unrolls = kept

    def _run(self, body: Callable[Concatenate[Recorder, P], T], /, *args: P.args, **named: P.kwargs) -> T:
        """Call `body`, recording.

        An interrupt or a RecursionError may come before any line, also of those that restore the state. So stack space is checked
        before anything changes, and the state is restored in two `finally` clauses. Both begin with calls of C functions, before which
        Python handles no signals: even if the rest is skipped, later calls are not recorded, and the next recording restores the state.
        """
        outer = _current.get()
        if outer is None:
            require_stack()
        try:
            try:
                self._begin(outer)
                return body(self, *args, **named)
            except (ValueError, SystemError) as error:
                if isinstance(error.__cause__, TrackedValueEscaped):
                    # NumPy replaces the error where a value is stored into a plain array; so does C code that ignores it.
                    raise error.__cause__  # noqa: B904 -- what the error came from
                raise
            finally:
                _current.set(outer)
                process.recordings.discard(self)
                self._end()
        finally:
            _current.set(outer)
            process.recordings.discard(self)
            self._end()

    def _end(self) -> None:
        """Restore the state of the process. May be called again, and does nothing then unless it was interrupted."""
        if self._is_restored:
            return
        self.is_open = False
        if self.outer is None:
            namespace.recording_ends()
        gc_pause.recording_ends()
        self._is_restored = True

    # Operations

    def apply(self, op: Op, args: Sequence[Operand], params: Params = ()) -> TrackedArray:
        """Record one operation with at least one tracked operand, and compute its value."""
        if _current.get() is not self:
            if self.fills and not self.is_open:
                return op(*map(_plain_if_ended, args), **op.named(params))
            self._check_usable()
        # One loop, without calls for the usual operands: it runs for every recorded operation.
        ids: list[int] = []
        values: list[Operand] = []
        plain: list[int] = []
        all_float64 = True
        for position, argument in enumerate(args):
            kind = type(argument)
            if kind is int and op.promote is None:
                number: Operand = float(argument)
                argument, kind = number, float
            if kind is TrackedArray:
                if argument._view is not None:
                    argument._refresh()
                if argument._recorder is not self:
                    argument = self.capture(argument)
                if argument.type[1] is not FLOAT64:
                    all_float64 = False
                ids.append(argument._id)
                values.append(argument._value)
            elif (kind is float or kind is np.float64) and argument == argument and argument != 0.0:
                known = self._float_constants.get(argument)
                if known is None:
                    plain.append(position)
                    known = -1
                ids.append(known)
                values.append(argument)
            elif kind is _ARRAY and argument.dtype is FLOAT64 and argument.shape and op not in MASK_OPS:
                number_of_array, held = self.array_constant(argument)
                ids.append(number_of_array)
                values.append(held)
            elif kind is WholeNumber:
                return self.apply(op, with_floats(op, args), params)
            else:
                plain.append(position)
                ids.append(-1)
                values.append(argument)
        if plain and any(is_complex(args[p]) for p in plain):
            return of_complex(op, args, params)
        if not all_float64:
            if op.integers is not None and are_integers(op, args):
                return op.integers(*args, **op.named(params))
            plain = [position for position, argument in enumerate(args) if type(argument) is not TrackedArray]
            self._promote(op, args, ids, values, plain, all_float64)
        elif plain:
            self._promote(op, args, ids, values, plain, all_float64)
        is_noted = error_state(None) is self.error_state and (warnings.filters or NO_FILTERS)[0] is self.filter
        if not (is_noted or self.warns()):
            self._refuse_if_caught(op)
        if not self.concrete:
            types = [self.instructions[i][3] for i in ids]
            type_ = op.infer(*types, **op.named(params)) if params else op.infer(*types)
            return TrackedArray(self, self._append(op, tuple(ids), params, type_), None, type_)
        if len(self.instructions) > self.longest:
            self.stop()
        try:
            value = op.evaluate(*values, *params)
        except VALUE_FAILURES as failure:
            self.note_failure(Failure(rejection(failure), f"{op.name}(...)", user_site()))
            raise
        if type(value) is np.float64:
            type_ = FLOAT_SCALAR
        elif type(value) is tuple or type(value) is DynamicArray:
            type_ = op.infer(*[self.instructions[i].type for i in ids], **op.named(params))
        else:
            type_ = self.type_of(value)
        return TrackedArray(self, self._append(op, tuple(ids), params, type_), value, type_)

    def _promote(
        self, op: Op, args: Sequence[Operand], ids: list[int], values: list[Operand], plain: list[int], all_float64: bool
    ) -> None:
        """Fill in constants and insert conversions so that the operands have the types the op works on."""
        together = range(len(args)) if op.promote is None else op.promote
        common: np.dtype | None = None
        if together and (not all_float64 or any(p in together and type(args[p]) not in _USUAL for p in plain)):
            common = common_dtype(op, [args[p] for p in together])
        elif together:
            common = FLOAT64
        for position in plain:
            wanted = common if position in together else None
            ids[position], values[position] = self._constant_operand(args[position], wanted, op)
        if all_float64 and common is FLOAT64 and op not in MASK_OPS:
            return
        for position, argument in enumerate(args):
            if position in plain or type(argument) is not TrackedArray:
                continue
            dtype = self.instructions[ids[position]].type.dtype
            converted = None
            tracked = argument if argument._recorder is self else self.capture(argument)
            if op in MASK_OPS and dtype != BOOL:
                converted = NOT_EQUAL(tracked, 0.0)
            elif common is not None and position in together and dtype != common and op not in MASK_OPS:
                converted = CONVERT(tracked, dtype=common)
            if converted is not None:
                ids[position], values[position] = converted._id, converted._value

    def _constant_operand(self, argument: Operand, dtype: np.dtype | None, op: Op) -> tuple[int, Operand]:
        if dtype is FLOAT64 and (type(argument) is float or type(argument) is np.float64):
            return self.float_constant(argument), argument
        if dtype is FLOAT64 and type(argument) is int and abs(argument) > LARGEST_INT:
            return self.large_int(argument), np.float64(argument)
        array = asarray(plain_data(argument))
        if array.dtype == object:
            tracked = stack_objects(array)
            tracked = tracked if tracked._recorder is self else self.capture(tracked)
            if dtype is not None and tracked.dtype != dtype:
                tracked = NOT_EQUAL(tracked, 0.0) if dtype == BOOL else CONVERT(tracked, dtype=dtype)
            return tracked._id, tracked._value
        if array.dtype not in _WIDE:  # object arrays are handled above
            self.has_narrow_constants = True
        array = constant_operand(op, argument, array, dtype)
        number = self.constant(array)
        if type(argument) is int and abs(argument) > LARGEST_INT:
            self.large_ints.add(number)
        return number, array[()] if array.shape == () else array

    def large_int(self, argument: int) -> int:
        """The value number of a large int, converted to a float."""
        number = self.float_constant(float(argument))
        self.large_ints.add(number)
        return number

    # Inputs, captures, guards

    def tracked_constant(self, array: np.ndarray) -> Operand:
        """A tracked array that starts as a constant, so that tracked values can be written into it."""
        if array.dtype.kind == "c":
            return ComplexArray(*map(self.tracked_constant, map(np.asarray, taken_apart(array))))
        array = np.array(array, order="C")
        number = self.constant(array.copy())
        if array.shape == ():
            self.numpy_numbers.add(number)
        return TrackedArray(self, number, array[()] if array.shape == () else array, self.instructions[number].type)

    def complex_pair(self, re: TrackedArray, im: TrackedArray) -> ComplexArray:
        """The complex value of two parts, of one shape."""
        return ComplexArray(re, im)

    def input(self, value: Operand, *, active: bool) -> TrackedArray:
        """A new argument of the tape."""
        array = np.array(value, order="C")
        number = self.new_input(array, active)
        return TrackedArray(self, number, array[()] if array.shape == () else array, self.instructions[number].type)

    @property
    def captured(self) -> list[TrackedArray]:
        """The values of outer recordings that became inputs of this one."""
        return list(self.origins.values())

    def capture(self, value: TrackedArray) -> TrackedArray:
        """An outer recording's value as an input of this one, so that derivatives flow to it."""
        plain = _plain_if_ended(value)
        if plain is not value:
            return self.tracked_constant(np.asarray(plain))
        value._recorder._check_usable()
        if value._recorder.level > self.level:
            raise TrackedValueLeaked(
                "a value of an inner recording was used in an outer one", at=user_site(), got=kind_of(value),
                fix="return it from the inner function instead of keeping it outside",
            )  # fmt: skip
        value._refresh()
        key = (id(value._recorder), value._id)
        inner = self._captures.get(key)
        if inner is None:
            inner = self._captures[key] = self.input(value._value, active=value.dtype.kind == "f")
            self.origins[inner._id] = TrackedArray(value._recorder, value._id, value._value, value.type)
        return inner

    def observe(self, value: TrackedArray, kind: str) -> Outcome:
        """Record a guard on a value that Python needs. Returns the outcome: the plain value for Python to use."""
        if self.asked is not None:
            self.asked()
        if _current.get() is not self:
            self._check_usable()
        value._refresh()
        if self.buffers is not None:
            self.buffers.check(value._id)
        known = self._observed.get((value._id, kind))
        if known is not None:
            return known
        if self.fills and self.is_constant(value._id):
            return int(value._value) if kind == "int" else outcome_of(kind, value._value)
        ordinal = self.guard_count
        if ordinal < self._left and self._is_prescribed(ordinal, kind, sys._getframe(1)):
            outcome = self.prescribed[ordinal]
        else:
            outcome = outcome_of(kind, value._value)
        self.guard_count += 1
        self._observed[value._id, kind] = outcome
        if type(outcome) is bool and self.concrete:
            self.append_number(GUARD, (kind, outcome), BOOL_SCALAR, ORDINAL, value._id, ordinal, sys._getframe(1))
        else:
            self._append(GUARD, (value._id,), (kind, outcome, ordinal), BOOL_SCALAR)
        if kind == "int" and isinstance(outcome, float):
            return int(outcome)  # NaN or infinity: raises as plain Python does
        return outcome

    def _is_prescribed(self, ordinal: int, kind: str, frame: FrameType) -> bool:
        """True if the prescribed outcome was found at this guard. If not, drop the remaining ones: they belong to another execution."""
        is_own = is_outcome_of(kind, self.prescribed[ordinal])
        if is_own and self.along:
            there = self.along[ordinal]
            is_own = there.kind == kind and is_same_line(there.site, self.site_of(frame) if self.site is None else self.site)
        if not is_own:
            self._left = 0
        return is_own

    def stop(self) -> None:
        """End the recording, which has become too long."""
        self.is_stopped, self.longest = True, sys.maxsize
        raise RecordingStopped

    def is_constant(self, number: int) -> bool:
        """True if a value is computed from constants alone."""
        known = self._is_constant
        for k in range(len(known), number + 1):
            op, inputs, *_ = self.instructions[k]
            known.append(op is CONSTANT or (op is not INPUT and bool(inputs) and all(map(known.__getitem__, inputs))))
        return bool(known[number])

    # Errors that user code may catch

    def note_failure(self, failure: Failure) -> None:
        """Remember an error that depends on values. If user code catches it, the values have escaped without a guard."""
        recorder: Recorder | None = self
        while recorder is not None:
            recorder.failure = recorder.failure or failure
            recorder = recorder.outer

    def warns(self) -> bool:
        """Notes what NumPy does now where a number has no value; True unless it raises an error."""
        self.raised = raised_by_numpy(self._outside)
        # Operations compare these two before they ask. False where errors are raised: never equal.
        self.error_state = error_state(None) if self.raised is None else False
        self.filter = (warnings.filters or NO_FILTERS)[0]
        return self.raised is None

    def _refuse_if_caught(self, op: Op) -> None:
        """Refuse an operation whose error user code may catch: no tape tells at which points NumPy raises it."""
        recorder = self
        while recorder.outer is not None and not recorder.is_called:
            recorder = recorder.outer
        handler = None if self.raised is None else handler_of(self.raised, recorder.entry_frame)
        if self.raised is not None and handler is not None:
            raise would_be_caught(self.name, f"{op.name}(...)", self.raised, handler)

    def note_refusal(self, refusal: RefusedByRecording) -> None:
        """Remember an error that plain values do not raise. If user code catches it, the plain function goes another way."""
        recorder: Recorder | None = self
        while recorder is not None:
            if recorder.refusal is None:
                recorder.refusal = Refusal(refusal, handler_of(type(refusal), recorder.entry_frame))
            recorder = recorder.outer

    def handler_of(self, kind: type[BaseException], *, managers: bool = True) -> Site | None:
        """The handler in the recorded function that may catch an exception raised now."""
        recorder = self
        while True:
            if recorder.is_apart is not None and recorder.is_apart():
                return user_site()
            if recorder.outer is None or recorder.is_called:
                return handler_of(kind, recorder.entry_frame, managers=managers)
            recorder = recorder.outer

    def origin(self, value: TrackedArray) -> str:
        """The operation that made a value, for error messages."""
        op = self.instructions[value._id].op
        return "an argument" if op is INPUT else f"{op.name}(...)"

    def made_at(self, value: TrackedArray) -> str:
        """The user's line of the operation that made a value, for printing."""
        site = self.instructions[value._id].site
        return "" if site is None else f" at {site}"

    def _check_usable(self) -> None:
        recorder = _current.get()
        while recorder is not None and recorder is not self:
            recorder = recorder.outer
        if recorder is None:
            ended = not self.is_open
            raise TrackedValueLeaked(
                f"a tracked value of {self.name} was used "
                + ("after its recording ended" if ended else "in another thread or task than the one recording it"),
                at=user_site(3),
                fix="return values from the recorded function instead of keeping them in a variable outside it"
                if ended else "do the work of one recording in one thread",
            )  # fmt: skip


def _plain_if_ended(value: Operand) -> Operand:
    """The operand; a plain array if np.zeros made it in a recording that has ended and nothing tracked was written to it.

    User code may cache tables and matrices, for example by functools.cache.
    """
    if type(value) is not TrackedArray or value._recorder.is_open:
        return value
    if (plain := value._plain()) is None:
        value._recorder._check_usable()  # raises
    return plain


def _site(refusal: RefusedByRecording) -> Site | None:
    return refusal.at if isinstance(refusal.at, Site) else None


def _is_at_or_behind(site: Site | None, first: Site | None) -> bool:
    """True if a site is on the same line as another one, or further down in the same function."""
    if is_same_line(site, first):
        return True
    return site is not None and first is not None and site.code is first.code and site.line > first.line


@contextlib.contextmanager
def unnoticed_errors() -> Generator[None]:
    """Forget the errors noted within: tapediff itself catches them outside, not user code."""
    noted: list[tuple[Recorder, Failure | None, Refusal | None]] = []
    recorder = _current.get()
    while recorder is not None:
        noted.append((recorder, recorder.failure, recorder.refusal))
        recorder = recorder.outer
    try:
        yield
    finally:
        for each, failure, refusal in noted:
            each.failure, each.refusal = failure, refusal


def is_recording() -> bool:
    """True if the calling code runs as part of a recording.

    Use it to skip side effects such as a print. A function whose result depends on it is refused: its tape would compute another value.
    """
    if _current.get() is None:
        return False
    process.asked_if_recording = process.asked_if_recording[0] + 1, user_site(2)
    return True
