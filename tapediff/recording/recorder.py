"""The recorder: turns operations on tracked arrays into the instructions of one tape.

A recorder belongs to one thread and task (contextvars); recorders nest, and every operation goes to the innermost recorder
among its operands, so that derivatives of derivatives are never confused.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy import asarray  # NumPy's own; see namespace.py

from ..base.current_recording import CURRENT
from ..base.current_recording import current_recorder as current_recorder
from ..base.source_location import Site, is_library_file, user_site
from ..errors import (
    ArgumentMismatch,
    RefusedByRecording,
    TrackedValueEscaped,
    TrackedValueLeaked,
    UnsupportedFunction,
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
    Instruction,
    ValueType,
    is_tracked,
)  # fmt: skip
from ..ir.interpreter import outcome_of
from ..ir.tape import Tape
from ..numpy_api.shaping import stack_objects
from ..numpy_api.whole_numbers import WholeNumber, with_floats
from ..ops import Op
from ..ops.arithmetic import CONVERT
from ..ops.calls import DynamicArray
from ..ops.comparison import MASK_OPS, NOT_EQUAL
from . import numpy_namespace as namespace
from .aliases import CallArrays
from .exception_handlers import handler_of
from .gc_pause import recording_begins, recording_ends
from .tracked import TrackedArray

# Calling the class costs three times as much, and a recording makes one instruction per operation.
_new_tuple = tuple.__new__

_current = CURRENT

# The dtypes that constants keep where an operation does not promote its operands.
_KINDS = {np.dtype(np.float32): np.dtype(np.float32), BOOL: BOOL}

# What an operation raises because of the values it meets: not positive definite, or numpy.errstate(all="raise").
VALUE_FAILURES = (np.linalg.LinAlgError, ArithmeticError, RuntimeWarning)


class Recorder:
    """Collects the instructions of one tape. Use as a context manager; it restores the outer recorder whatever happens.

    Args:
        name: the recorded function's name.
        concrete: keep NumPy values beside the instructions (needed to run user code); False records types only.
        prescribed: outcomes that the first guards must take, whatever NumPy says; see GuardedTape.
    """

    def __init__(self, name: str = "f", *, concrete: bool = True, prescribed: Sequence[Any] = ()) -> None:
        self.name = name
        self.concrete = concrete
        self.prescribed = prescribed
        self.instructions: list[Instruction] = []
        self.inputs: list[int] = []
        self.active_inputs: list[int] = []
        self.captured: list[TrackedArray] = []
        self.site: Site | None = None
        # Frames from here on belong to who called the recorded function; operations without a line of their own are at this site.
        self.outermost: Any = None
        self.outermost_site: Site | None = None
        self.failure: tuple[Exception, str, Site | None] | None = None
        self.refusal: tuple[RefusedByRecording, Site | None] | None = None
        self.is_open = False
        # The frame in which the recording began; code further out does not belong to what is recorded.
        self.entered = 0
        # The outer recording calls this one's tape, where else it takes over the operations.
        self.is_called = False
        self.outer: Recorder | None = None
        self.level = 0
        self.guard_count = 0
        self.branches_to_inline = 0
        # Inputs that stand for Python integers, as isinstance() is to say.
        self.python_ints: set[int] = set()
        self.call_arrays = CallArrays()
        self._observed: dict[tuple[int, str], Any] = {}
        self._captures: dict[tuple[int, int], TrackedArray] = {}
        self._float_constants: dict[float, int] = {}
        self._constants: dict[tuple[Any, ...], int] = {}
        self._types: dict[tuple[Any, ...], ValueType] = {}
        self._sites: dict[int, Site] = {}

    def __enter__(self) -> Recorder:
        self.outer = _current.get()
        self.level = self.outer.level + 1 if self.outer is not None else 1
        self.is_open = True
        self.entered = id(sys._getframe(1))
        _current.set(self)
        recording_begins(self)
        if self.outer is None:
            namespace.recording_begins(self)
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self._end()
        if isinstance(error, (ValueError, SystemError)) and isinstance(error.__cause__, TrackedValueEscaped):
            # NumPy replaces it where a value is stored into a plain array, and C code that does not look for it in between.
            raise error.__cause__

    def run(self, body: Callable[..., Any], *args: Any) -> Any:
        """What `body(recorder, *args)` returns, recording. Nothing goes on being recorded, whatever interrupts it."""
        # An interrupt may come before any line, also within __exit__, and when a `with` of several lines is left.
        try:
            try:
                with self: return body(self, *args)  # fmt: skip  # noqa: E701 -- see above
            finally:
                self._end()
        finally:
            self._end()

    def _end(self) -> None:
        """Bring back what was before; once more does no harm."""
        self.is_open = False
        if self.outer is None:
            namespace.recording_ends(self)
        recording_ends(self)
        if _current.get() is self:
            _current.set(self.outer)

    # Operations

    def apply(self, op: Op, args: Sequence[Any], params: tuple[Any, ...] = ()) -> TrackedArray:
        """Record one operation on operands of which at least one is tracked, and compute its value."""
        if _current.get() is not self:
            self._check_usable()
        ids: list[int] = []
        values: list[Any] = []
        plain: list[int] = []
        all_float64 = True
        for position, argument in enumerate(args):
            kind = type(argument)
            if kind is int and op.promote is None:
                number: Any = float(argument)
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
            elif kind is float and argument == argument and argument != 0.0:
                known = self._float_constants.get(argument)
                if known is None:
                    plain.append(position)
                    known = -1
                ids.append(known)
                values.append(argument)
            elif kind is WholeNumber:
                return self.apply(op, with_floats(op, args), params)
            else:
                plain.append(position)
                ids.append(-1)
                values.append(argument)
        if not all_float64:
            if op.integers is not None and self._are_integers(op, args):
                return op.integers(*args, **op.named(params))
            plain = [position for position, argument in enumerate(args) if type(argument) is not TrackedArray]
            self._promote(op, args, ids, values, plain, all_float64)
        elif plain:
            self._promote(op, args, ids, values, plain, all_float64)
        if self.concrete:
            try:
                value = op.evaluate(*values, *params)
            except VALUE_FAILURES as failure:
                self.note_failure(rejection(failure), f"{op.name}(...)", user_site())
                raise
            if type(value) is np.float64:
                type_ = FLOAT_SCALAR
            elif type(value) is tuple or type(value) is DynamicArray:
                type_ = op.infer(*[self.instructions[i].type for i in ids], **op.named(params))
            else:
                type_ = self._type_of(value)
        else:
            value = None
            types = [self.instructions[i][3] for i in ids]
            type_ = op.infer(*types, **op.named(params)) if params else op.infer(*types)
        return TrackedArray(self, self._append(op, tuple(ids), params, type_), value, type_)

    def note_failure(self, failure: Exception, name: str, site: Site | None) -> None:
        """Something raised because of its values. If the user's code catches that, they have escaped unguarded."""
        recorder: Recorder | None = self
        while recorder is not None:
            recorder.failure = recorder.failure or (failure, name, site)
            recorder = recorder.outer

    def handler_of(self, kind: type[BaseException], *, managers: bool = True) -> Site | None:
        """The handler that may catch an exception raised now, in what this recording's operations become part of."""
        recorder = self
        while recorder.outer is not None and not recorder.is_called:
            recorder = recorder.outer
        return handler_of(kind, recorder.entered, managers=managers)

    def note_refusal(self, refusal: RefusedByRecording) -> None:
        """A tracked value could not do what a plain one does. If the user's code catches that, plain Python goes another way."""
        recorder: Recorder | None = self
        while recorder is not None:
            if recorder.refusal is None:
                recorder.refusal = refusal, handler_of(type(refusal), recorder.entered)
            recorder = recorder.outer

    def append(self, op: Any, ids: tuple[int, ...], params: tuple[Any, ...], type_: ValueType) -> int:
        """Record an operation whose value the caller has worked out."""
        return self._append(op, ids, params, type_)

    def _append(self, op: Any, ids: tuple[int, ...], params: tuple[Any, ...], type_: ValueType) -> int:
        site = self.site
        if site is None:
            frame: Any = sys._getframe(2)
            while is_library_file(frame.f_code.co_filename):
                if frame.f_back is None:
                    break
                if frame is self.outermost:
                    frame = None
                    break
                frame = frame.f_back
            if frame is None:
                site = self.outermost_site
            else:
                # Code objects are hashed by content, slowly; one address and offset stand for the place as long as it is kept.
                place = (id(frame.f_code) << 20) + frame.f_lasti
                site = self._sites.get(place)
                if site is None:
                    site = self._sites[place] = Site(frame.f_code, frame.f_lasti)
        instructions = self.instructions
        instructions.append(_new_tuple(Instruction, (op, ids, params, type_, site)))
        return len(instructions) - 1

    def _type_of(self, value: Any) -> ValueType:
        key = (value.shape, value.dtype)
        type_ = self._types.get(key)
        if type_ is None:
            # One dtype object per kind, so that `is` works as a fast comparison.
            dtype = FLOAT64 if value.dtype == FLOAT64 else value.dtype
            type_ = self._types[key] = ValueType(value.shape, dtype)
        return type_

    def _promote(
        self, op: Op, args: Sequence[Any], ids: list[int], values: list[Any], plain: list[int], all_float64: bool
    ) -> None:
        """Fill in constants and insert conversions so that the operands have the types the op works on."""
        together = range(len(args)) if op.promote is None else op.promote
        common: np.dtype | None = None
        if together and (not all_float64 or any(p in together and type(args[p]) not in (float, int) for p in plain)):
            common = self._common_dtype(op, [args[p] for p in together])
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

    @staticmethod
    def _are_integers(op: Op, args: Sequence[Any]) -> bool:
        operands = args if op.promote is None else [args[p] for p in op.promote]
        return np.result_type(*map(_kind_of, operands)).kind in "iub"

    @staticmethod
    def _common_dtype(op: Op, operands: Sequence[Any]) -> np.dtype:
        """NumPy's promotion (NEP 50): Python numbers adapt to arrays."""
        if op in MASK_OPS:
            return BOOL
        common = np.result_type(*map(_kind_of, operands))
        if common.kind == "b" and op.masks_as_integers:
            return np.dtype(np.int64)
        if common.kind in "iub" and op.floats_only:
            return FLOAT64
        if common.kind in "iu":
            return np.dtype(np.int64)
        if common.kind == "c":
            raise UnsupportedFunction(
                "complex numbers met a tracked array", at=user_site(4), fix="keep real and imaginary parts apart"
            )
        return FLOAT64 if common == FLOAT64 else common

    def _constant_operand(self, argument: Any, dtype: np.dtype | None, op: Op) -> tuple[int, Any]:
        array = asarray(argument)
        if array.dtype == object:
            tracked = stack_objects(array)
            tracked = tracked if tracked._recorder is self else self.capture(tracked)
            if dtype is not None and tracked.dtype != dtype:
                tracked = NOT_EQUAL(tracked, 0.0) if dtype == BOOL else CONVERT(tracked, dtype=dtype)
            return tracked._id, tracked._value
        if array.dtype.kind not in "fiub":
            raise UnsupportedFunction(
                f"{op.name} of a tracked array and {array.dtype} values", at=user_site(4), got=repr(argument)[:60],
                fix="tapediff differentiates real functions; convert the other operand to floats",
            )  # fmt: skip
        if dtype is None:
            dtype = _KINDS.get(array.dtype, FLOAT64 if array.dtype.kind == "f" else np.dtype(np.int64))
        # A copy, so that a tape means the values it was recorded with.
        array = array.astype(dtype, order="C", copy=True)
        return self.constant(array), array[()] if array.shape == () else array

    def constant(self, array: np.ndarray) -> int:
        """The value number of a constant; equal bits of equal dtype and shape share one."""
        if array.shape == () and array.dtype is FLOAT64:
            number = float(array)
            if number == number and number != 0.0:
                known = self._float_constants.get(number)
                if known is None:
                    known = self._float_constants[number] = self._new_constant(array)
                return known
        key = (array.shape, array.dtype.char, array.tobytes() if array.size <= 1024 else _digest(array))
        known = self._constants.get(key)
        if known is None:
            known = self._constants[key] = self._new_constant(array)
        return known

    def _new_constant(self, array: np.ndarray) -> int:
        array.flags.writeable = False
        self.instructions.append(Instruction(CONSTANT, (), (array,), self._type_of(array), None))
        return len(self.instructions) - 1

    def tracked_constant(self, array: np.ndarray) -> TrackedArray:
        """A tracked array that starts as a constant, so that tracked values can be written into it."""
        array = np.array(array, order="C")
        number = self.constant(array.copy())
        return TrackedArray(self, number, array[()] if array.shape == () else array, self.instructions[number].type)

    # Inputs, captures, guards, results

    def input(self, value: Any, *, active: bool) -> TrackedArray:
        """A new argument of the tape."""
        array = np.array(value, order="C")
        type_ = self._type_of(array)
        position = len(self.inputs)
        self.instructions.append(Instruction(INPUT, (), (position,), type_, None))
        self.inputs.append(len(self.instructions) - 1)
        if active:
            self.active_inputs.append(position)
        return TrackedArray(self, self.inputs[-1], array[()] if array.shape == () else array, type_)

    def capture(self, value: TrackedArray) -> TrackedArray:
        """An outer recording's value as an input of this one, so that derivatives flow to it."""
        value._recorder._check_usable()
        if value._recorder.level > self.level:
            raise TrackedValueLeaked(
                "a value of an inner recording was used in an outer one", at=user_site(), got=repr(value),
                fix="return it from the inner function instead of keeping it outside",
            )  # fmt: skip
        value._refresh()
        key = (id(value._recorder), value._id)
        inner = self._captures.get(key)
        if inner is None:
            inner = self._captures[key] = self.input(value._value, active=value.dtype.kind == "f")
            self.captured.append(TrackedArray(value._recorder, value._id, value._value, value.type))
        return inner

    def observe(self, value: TrackedArray, kind: str) -> Any:
        """Python looks at a value: a guard that it stays what it is. Returns what Python is to see."""
        if _current.get() is not self:
            self._check_usable()
        value._refresh()
        known = self._observed.get((value._id, kind))
        if known is not None:
            return known
        ordinal = self.guard_count
        if ordinal < len(self.prescribed):
            outcome = self.prescribed[ordinal]
        elif kind == "int":
            outcome = int(value._value)
        else:
            outcome = outcome_of(kind, value._value)
        self.guard_count += 1
        self._observed[value._id, kind] = outcome
        self._append(GUARD, (value._id,), (kind, outcome, ordinal), BOOL_SCALAR)
        if kind == "int" and isinstance(outcome, float):
            return int(outcome)  # NaN or infinity: raises as plain Python does
        return outcome

    @contextmanager
    def at(self, site: Site | None) -> Iterator[None]:
        """Record what follows as done at a certain line."""
        before, self.site = self.site, site
        try:
            yield
        finally:
            self.site = before

    def last_site(self) -> Site | None:
        """The user's line that recorded the latest operation."""
        return next((i.site for i in reversed(self.instructions) if i.site is not None), None)

    def origin(self, value: TrackedArray) -> str:
        """What made a value, for error messages."""
        op = self.instructions[value._id].op
        return "an argument" if op is INPUT else f"{op.name}(...)"

    def finish(self, result: Any) -> Tape:
        """The tape that returns `result`: a tracked value, a number or array, or a tuple of these."""
        if self.failure is not None:
            failure, name, site = self.failure
            raise UnsupportedFunction(
                f"{self.name} caught the error of {name}, which depends on values that a tape cannot guard",
                at=site, got=f"{type(failure).__name__}: {failure}",
                fix="test the values before the call, with an `if`; or catch the error outside the recorded function",
            ) from failure  # fmt: skip
        if self.refusal is not None:
            raise _caught(self.name, *self.refusal)
        self.call_arrays.finish()
        returns_tuple = isinstance(result, (tuple, list)) and not is_tracked(result)
        outputs = [self._output(r) for r in result] if returns_tuple else [self._output(result)]
        return Tape(
            tuple(self.instructions),
            tuple(self.inputs),
            tuple(outputs),
            self.name,
            tuple(self.active_inputs),
            returns_tuple,
        )

    def _output(self, result: Any) -> int:
        if type(result) is TrackedArray:
            if result._recorder is not self:
                result = self.capture(result)
            result._refresh()
            return result._id
        # Python's own integers may be larger than any of NumPy's.
        array = asarray(float(result) if type(result) is int and abs(result) >= 2**63 else result)
        if array.dtype == object and any(is_tracked(entry) for entry in array.flat):
            return self._output(stack_objects(array))
        if array.dtype.kind not in "fiub":
            raise ArgumentMismatch(
                f"{self.name} returned something that is not a real number or array", got=type(result).__name__,
                fix="return a float, an array or a tuple of these",
            )  # fmt: skip
        # Integers and floats of other sizes become the ones that kernels know; float32 stays.
        if array.dtype not in (np.float32, BOOL):
            array = array.astype(FLOAT64 if array.dtype.kind == "f" else np.int64)
        return self.constant(np.array(array, order="C", dtype=FLOAT64 if array.dtype == FLOAT64 else None))

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


@contextmanager
def refusals_forgotten() -> Iterator[None]:
    """For an attempt of this package's own, which goes another way where it is refused."""
    before: list[tuple[Recorder, Any]] = []
    recorder = _current.get()
    while recorder is not None:
        before.append((recorder, recorder.refusal))
        recorder = recorder.outer
    try:
        yield
    finally:
        for recorder, refusal in before:
            recorder.refusal = refusal


def _caught(name: str, refusal: RefusedByRecording, handler: Site | None) -> UnsupportedFunction:
    error = UnsupportedFunction(
        f"{name} went on after an error that only a recording raises, so its tape would not be what the plain function does",
        at=refusal.at if handler is None else f"{refusal.at}, caught at {handler}",
        got=f"{type(refusal).__name__}: {refusal.what}",
        fix=refusal.fix or "do without the `except`, or decide before it with an `if`",
    )  # fmt: skip
    error.__cause__ = refusal
    return error


def _kind_of(operand: Any) -> Any:
    """What np.result_type is to know of an operand: Python numbers adapt to arrays (NEP 50)."""
    if is_tracked(operand):
        return operand.dtype
    if type(operand) in (int, float, bool):
        return operand
    array = asarray(operand)
    return np.result_type(*map(_kind_of, array.flat)) if array.dtype == object else array.dtype


def _digest(array: np.ndarray) -> bytes:
    import hashlib  # 4 ms, and rarely needed

    return hashlib.blake2b(array.tobytes(), digest_size=16).digest()


def is_recording() -> bool:
    return _current.get() is not None
