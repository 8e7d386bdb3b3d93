"""Batches of few rows with any arguments, on the calling thread: one builtin checks the arrays and calls the kernel for all rows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from ...compiler.runtime.call_frame import widened
from ...compiler.runtime.entries import address_call, python_entry
from ...ir.arguments import Constant
from ...ir.containers import is_container
from ...ir.instruction import Operand, Tree, ValueType
from ...ir.outputs import check_out, share_memory
from ...ir.pytree import ARRAY, TreeDef, parts_of, static_leaf
from ..evaluate.call_code import MARK, leaves_of
from ..evaluate.chosen import inputs_of
from ..evaluate.direct_calls import NoForm
from .addressed_call import AddressedCall, Kind, PathsCall, compiled_call, paths_call
from .batch import WAKING
from .owner import Owner
from .row_arguments import RowArguments, Rows
from .signature import of_call

if TYPE_CHECKING:
    from .owner import KeepsCalls

# Up to this many rows run at once before the time of a row is known.
UNTIMED = 8


class BatchResults(Protocol):
    """The results of all rows, and the time of one."""

    is_tuple: bool
    row_seconds: float

    def __iter__(self) -> Iterator[np.ndarray]: ...


class FewRows:
    """Batches of arguments of certain types.

    Attributes:
        row_seconds: the time of a row; infinite until some have been timed.
        is_tuple: True if a call returns a tuple.
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

    def run_few(self, arrays: Sequence[Tree], rows: int) -> list[np.ndarray] | None:
        """Run unless waking a thread is known to be faster."""
        is_untimed = rows <= UNTIMED and self.row_seconds == math.inf
        return self.run(arrays, rows) if rows and (is_untimed or rows * self.row_seconds < WAKING) else None

    def run(self, arrays: Sequence[Tree], rows: int) -> list[np.ndarray] | None:
        """The results of all rows; None if the arrays are unusual or a row has failed."""
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


class FewContainers(NamedTuple):
    """Batches of containers of one form.

    Attributes:
        leaves_of: returns the arrays in the arguments; None if they have another form.
        with_rows: the index of an array that has rows.
        few: runs the rows.
        nested: nests the results.
    """

    leaves_of: Callable[[tuple[Tree, ...]], tuple[Tree, ...] | None]
    with_rows: int
    few: FewRows
    nested: Callable[[Sequence[np.ndarray]], Tree]


def find_few_containers(tape: Owner, X: Tree, args: Sequence[Tree], argnums: object, threads: int | None) -> tuple[Tree] | None:
    """The results of a batch of few rows in containers, in a tuple, if a similar batch was run before; see find_few."""
    native = tape._native
    known = None if native is None or threads is not None else native.few_containers.get((argnums, type(argnums)))
    arrays = None if known is None else known.leaves_of((X, *args))
    if known is None or arrays is None or type(arrays[known.with_rows]) is not np.ndarray:
        return None
    found = known.few.run_few(arrays, len(arrays[known.with_rows]))
    return None if found is None else (known.nested(found),)


def _form(given: Tree) -> TreeDef:
    """The form of an argument of a batch.

    Raises:
        NoForm: it needs conversion, or is part of a tape.
    """
    kind = type(given)
    if kind is Rows or kind is Constant:
        return TreeDef(kind, MARK, (_form(given.value),))
    if kind is np.ndarray or kind is float:
        return ARRAY
    found = parts_of(given) if is_container(given) else None
    if found is not None:
        return TreeDef(found[0], found[1], tuple([_part_form(part) for part in found[2]]))
    raise NoForm


def _part_form(given: Tree) -> TreeDef:
    return static_leaf(given) if type(given) in (bool, str, bytes, type(None)) else _form(given)


def find_few(tape: Owner, X: Tree, args: Sequence[Tree], argnums: object, threads: int | None) -> tuple[FewRows, list[np.ndarray]] | None:
    """The results of a batch of few rows, if a similar batch was run before and waking a thread would take longer."""
    native = tape._native
    if native is None or threads is not None or type(X) is not np.ndarray or not X.ndim:
        return None
    arrays, marks = _unmarked(X, args)
    few = native.few.get((argnums, marks, X.shape[1:]))
    found = None if few is None else few.run_few(arrays, len(X))
    return None if few is None or found is None else (few, found)


def put(found: Sequence[np.ndarray], outs: Sequence[Operand] | None) -> Sequence[np.ndarray]:
    """Copy the results to the caller's arrays, if there are any."""
    if outs is None:
        return found
    # A shortcut for the usual case; the full check takes 5 µs.
    is_usual = all(type(o) is np.ndarray and o.shape == a.shape and o.dtype == a.dtype and o.flags.carray for o, a in zip(outs, found))
    if not is_usual or len(outs) != len(found) or share_memory(outs):
        check_out(outs, [ValueType(a.shape, a.dtype) for a in found], True)
    for out, array in zip(outs, found):
        out[...] = array
    return outs


def remember_few(
    tape: Owner, X: Tree, args: Sequence[Tree], argnums: Tree, arguments: RowArguments, results: BatchResults,
    nested: Callable[[Sequence[np.ndarray]], Tree],
) -> None:  # fmt: skip
    """Prepare the next similar batch to run at once, if native code can do it; `nested` nests its results."""
    is_known = type(argnums) in (int, tuple, type(None)) and not any(a.array.dtype == np.float32 for a in arguments)
    if not is_known or not arguments.rows:
        return
    if arguments.trees is not None:
        _remember_containers(tape, (X, *args), argnums, arguments, results, nested)
        return
    if type(X) is not np.ndarray:
        return
    key = (argnums, _unmarked(X, args)[1], X.shape[1:])
    native = tape._native_side()
    known = native.few.get(key)
    if known is not None and known.types == [a.type for a in arguments]:
        known.row_seconds = _row_seconds(arguments, results)
        return
    made = _few_rows(tape, arguments, argnums, results, native, len(arguments))
    if made is not None:
        native.few[key] = made


def _remember_containers(
    tape: Owner, args: tuple[Tree, ...], argnums: Tree, arguments: RowArguments, results: BatchResults,
    nested: Callable[[Sequence[np.ndarray]], Tree],
) -> None:  # fmt: skip
    try:
        forms = tuple(map(_form, args))
    except (NoForm, TypeError):
        return
    native = tape._native_side()
    made = _few_rows(tape, arguments, argnums, results, native, len(args))
    if made is not None:
        with_rows = next(k for k, a in enumerate(arguments) if a.per_row)
        native.few_containers[argnums, type(argnums)] = FewContainers(leaves_of(forms), with_rows, made, nested)


def _few_rows(
    tape: Owner, arguments: RowArguments, argnums: Tree, results: BatchResults, native: KeepsCalls, count: int
) -> FewRows | None:
    types = [ValueType(r.shape[1:], r.dtype) for r in results]
    call = _call_of(tape, arguments, argnums, types, native, count)
    if call is None or call.outputs != types or any(t.dtype == np.float32 for t in [*types, *call.inputs]):
        return None
    return FewRows(call, arguments, results.is_tuple, _row_seconds(arguments, results))


def _row_seconds(arguments: RowArguments, results: BatchResults) -> float:
    # For few rows, Python's time was measured.
    return results.row_seconds if arguments.rows > UNTIMED else math.inf


def _call_of(
    tape: Owner, arguments: RowArguments, argnums: int | tuple[int, ...] | None, types: Sequence[ValueType], native: KeepsCalls,
    count: int,
) -> AddressedCall | None:  # fmt: skip
    given = () if argnums is None else (argnums,) if isinstance(argnums, int) else argnums
    numbers = tuple([k % count for k in given])
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
    """Remove td.Rows and td.Constant from the arguments and convert NumPy scalars to Python's; also returns which had which mark."""
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
    """The stride between rows in bytes, and the specification of an argument."""
    held = widened(type_)
    rows = ValueType((0, *held.shape), held.dtype) if per_row else held
    return (held.size * held.dtype.itemsize if per_row else 0), python_entry.specification(rows, written=written)
