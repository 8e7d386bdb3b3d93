"""Batches of few rows with any arguments, on the calling thread: one builtin checks the arrays and makes the calls of all rows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ...compiler.runtime.call_frame import widened
from ...compiler.runtime.entries import address_call, python_entry
from ...ir.arguments import Constant
from ...ir.instruction import Operand, Tree, ValueType
from ...ir.outputs import check_out, share_memory
from ..evaluate.chosen import inputs_of
from .addressed_call import AddressedCall, Kind, PathsCall, compiled_call, paths_call
from .batch import WAKING
from .owner import Owner
from .row_arguments import RowArguments, Rows
from .signature import of_call

if TYPE_CHECKING:
    from .owner import KeepsCalls

# So many rows are done at once although nobody knows how long one takes.
UNTIMED = 8


class BatchResults(Protocol):
    """The results of all rows, and how long one took."""

    is_tuple: bool
    row_seconds: float

    def __iter__(self) -> Iterator[np.ndarray]: ...


class FewRows:
    """Batches of arguments of certain types.

    Attributes:
        row_seconds: how long a row takes; infinite until some have been timed.
        is_tuple: whether a call returns a tuple.
        types: of the arguments of a call.
    """

    __slots__ = ("_builtin", "_call", "_outputs", "is_tuple", "row_seconds", "types")

    def __init__(self, call: AddressedCall, arguments: RowArguments, is_tuple: bool, row_seconds: float) -> None:
        self._call, self.is_tuple, self.row_seconds = call, is_tuple, row_seconds
        self.types = [a.type for a in arguments]
        self._outputs = [(t.shape, t.dtype) for t in call.outputs]
        given = [_specified(type_, a.per_row, False) for type_, a in zip(call.inputs, arguments)]
        written = [_specified(type_, True, True) for type_ in call.outputs]
        self._builtin: Callable[..., int] = address_call.few_rows_builtin(call.address, len(given), [*given, *written], (call,))

    def run(self, arrays: Sequence[Tree], rows: int) -> list[np.ndarray] | None:
        """The results of all rows; None where the arrays are unusual, or a row has failed."""
        targets = [np.empty((rows, *shape), dtype) for shape, dtype in self._outputs]
        call = self._call
        asked, started = call.asked, time.perf_counter()
        if self._builtin(*arrays, *targets, rows):
            raised = call.errors.take()
            if raised is not None and not isinstance(raised, Exception):
                raise raised
            return None
        if call.asked == asked:
            self.row_seconds = (time.perf_counter() - started) / rows
        return targets


def find_few(tape: Owner, X: Tree, args: Sequence[Tree], argnums: object, threads: int | None) -> tuple[FewRows, list[np.ndarray]] | None:
    """The results of a batch of few rows, if one like it was run before and it takes less time than waking a thread."""
    native = tape._native
    if native is None or threads is not None or type(X) is not np.ndarray or not X.ndim:
        return None
    arrays, marks = _unmarked(X, args)
    few = native.few.get((argnums, marks, X.shape[1:]))
    rows = len(X)
    if few is None or not rows or (rows * few.row_seconds >= WAKING and not (rows <= UNTIMED and few.row_seconds == math.inf)):
        return None
    found = few.run(arrays, rows)
    return None if found is None else (few, found)


def put(found: Sequence[np.ndarray], outs: Sequence[Operand] | None) -> Sequence[np.ndarray]:
    """The results in the caller's arrays, if there are any."""
    if outs is None:
        return found
    # What is usual is seen at once; the full check takes 5 µs.
    is_usual = all(type(o) is np.ndarray and o.shape == a.shape and o.dtype == a.dtype and o.flags.carray for o, a in zip(outs, found))
    if not is_usual or len(outs) != len(found) or share_memory(outs):
        check_out(outs, [ValueType(a.shape, a.dtype) for a in found], True)
    for out, array in zip(outs, found):
        out[...] = array
    return outs


def remember_few(tape: Owner, X: Tree, args: Sequence[Tree], argnums: Tree, arguments: RowArguments, results: BatchResults) -> None:
    """Let the next batch like this one be run at once, if native code can do that."""
    is_plain = type(argnums) in (int, tuple, type(None)) and type(X) is np.ndarray and arguments.trees is None
    if not is_plain or not arguments.rows or any(a.array.dtype == np.float32 for a in arguments):
        return
    key = (argnums, _unmarked(X, args)[1], X.shape[1:])
    native = tape._native_side()
    # Of few rows, the time was that of Python.
    row_seconds = results.row_seconds if arguments.rows > UNTIMED else math.inf
    known = native.few.get(key)
    if known is not None and known.types == [a.type for a in arguments]:
        known.row_seconds = row_seconds
        return
    types = [ValueType(r.shape[1:], r.dtype) for r in results]
    call = _call_of(tape, arguments, argnums, types, native)
    if call is not None and call.outputs == types and not any(t.dtype == np.float32 for t in [*types, *call.inputs]):
        native.few[key] = FewRows(call, arguments, results.is_tuple, row_seconds)


def _call_of(
    tape: Owner, arguments: RowArguments, argnums: int | tuple[int, ...] | None, types: Sequence[ValueType], native: KeepsCalls
) -> AddressedCall | None:
    given = () if argnums is None else (argnums,) if isinstance(argnums, int) else argnums
    numbers = tuple([k % len(arguments) for k in given])
    name = "value" if argnums is None else "gradient"
    if not hasattr(tape, "answer_kind"):
        kind = Kind(name, numbers, inputs_of(tape.tape, numbers))
        return compiled_call(tape, kind, native.errors, native.calls)
    call = tape.keyed(arguments.at(0), numbers)
    signature = of_call(call.bound, call.key)
    if len(signature.positions) != len(arguments) or not tape.chooses_natively:
        return None
    made = paths_call(tape, signature, Kind(name, numbers, call.bound.argnums), [], types, native.errors, native.calls)
    assert isinstance(made, PathsCall)
    return made


def _unmarked(X: Tree, args: Sequence[Tree]) -> tuple[list[Tree], int]:
    """The arguments without td.Rows and td.Constant, NumPy's numbers as Python's; and which of them had which mark."""
    arrays, marks = [X], 1
    for argument in args:
        marks <<= 2
        kind = type(argument)
        while kind in _MARKS:
            marks |= _MARKS[kind]
            argument = argument.value
            kind = type(argument)
        arrays.append(float(argument) if kind is np.float64 else argument)
    return arrays, marks


_MARKS: dict[type, int] = {Rows: 1, Constant: 2}


def _specified(type_: ValueType, per_row: bool, written: bool) -> tuple[int, list[int]]:
    """The bytes between rows, and the specification of an argument."""
    held = widened(type_)
    rows = ValueType((0, *held.shape), held.dtype) if per_row else held
    return (held.size * held.dtype.itemsize if per_row else 0), python_entry.specification(rows, written=written)
