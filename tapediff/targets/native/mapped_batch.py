"""Batches with several arguments, of values alone, and with results of any shape: kernels run over rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...compiler.runtime.callbacks import take_pending
from ...compiler.runtime.entries import batch_rows
from ...compiler.runtime.status import PENDING
from ...errors import ArgumentMismatch, DtypeMismatch, ShapeMismatch
from ...ir.containers import structured
from ...ir.instruction import FLOAT_SCALAR, Operand, Tree, UserFunction, ValueType
from ...ir.outputs import Out, check_out
from ...ir.pytree import TreeDef
from ..evaluate.chosen import choose, inputs_of
from .batch import Failure, Job, check_threads, raise_first, run_timed
from .few_rows import find_few, find_few_containers, put, remember_few
from .owner import CallsOwner, KernelOwner, Owner, Path
from .row_arguments import RowArgument, RowArguments, require_fit, row_arguments

if TYPE_CHECKING:
    from ...compiler.kernel import Kernel

Numbers = tuple[int, ...]


def run_mapped(tape: Owner, X: Tree, args: Sequence[Tree], argnums: object, out: Out, threads: int | None) -> tuple[Tree, Tree]:
    """See NativeCalls.batch."""
    kind = type(argnums)
    if out is not None and (not isinstance(out, (tuple, list)) or len(out) != 2):
        raise ArgumentMismatch("out must be a pair", got=type(out).__name__, fix="out=(values, gradients)")
    few = find_few(tape, X, args, argnums, threads) if kind is int or kind is tuple else None
    if few is not None:
        found = few[1] if out is None else put(few[1], [out[0], *(out[1] if kind is tuple else [out[1]])])
        return found[0], found[1] if kind is int else tuple(found[1:])
    if out is None and (kind is int or kind is tuple) and (known := find_few_containers(tape, X, args, argnums, threads)) is not None:
        return known[0]
    arguments = row_arguments(X, args)
    chosen = choose(tape, arguments.example(), argnums)
    outs = out if out is None else [out[0], *chosen.flat(out[1], "out")]
    results = _run(tape, arguments, chosen.numbers, outs, threads)
    structure = replace(chosen, arrays=())  # which may be kept
    nested = lambda found: (found[0], structure.nested(found[1:]))  # noqa: E731 -- its name is its use
    remember_few(tape, X, args, argnums, arguments, results, nested)
    return nested(results)


def run_values(tape: Owner, X: Tree, args: Sequence[Tree], out: Out, threads: int | None) -> Tree:
    """See NativeCalls.batch_values."""
    outs = None if out is None else list(out) if isinstance(out, (tuple, list)) else [out]
    few = find_few(tape, X, args, None, threads)
    if few is not None:
        found = put(few[1], outs)
        return tuple(found) if few[0].is_tuple else found[0]
    if out is None and (known := find_few_containers(tape, X, args, None, threads)) is not None:
        return known[0]
    arguments = row_arguments(X, args)
    results = _run(tape, arguments, None, outs, threads)
    tree, is_tuple = results.tree, results.is_tuple
    nested = lambda found: structured(tree, is_tuple, found)  # noqa: E731 -- its name is its use
    remember_few(tape, X, args, None, arguments, results, nested)
    return nested(results)


class Results(list[np.ndarray]):
    """The results of all rows, one array for each.

    Attributes:
        is_tuple: True if a call returns a tuple.
        tree: the treedef of its result; None for an array or a tuple of arrays.
        row_seconds: the time of a row, if known.
    """

    def __init__(
        self, rows: int, types: Sequence[ValueType], is_tuple: bool, out: list[Operand] | None, tree: TreeDef | None = None
    ) -> None:
        self.tree, self.row_seconds = tree, math.inf
        types = [ValueType((rows, *t.shape), t.dtype) for t in types]
        check_out(out, types, True)
        super().__init__(np.empty(t.shape, t.dtype) for t in types)
        self.is_tuple, self._out = is_tuple, out

    def take(self, row: int, values: Sequence[Operand], tree: TreeDef | None) -> None:
        """Store the results of one call."""
        if len(values) != len(self) or tree != self.tree:
            raise ShapeMismatch(
                "rows return tuples of different lengths, or other containers", got=f"{len(self)} and {len(values)} results at row {row}"
            )
        for k, value in enumerate(values):
            if np.shape(value) != self[k].shape[1:]:
                raise ShapeMismatch(
                    "rows return results of different shapes", got=f"{self[k].shape[1:]} and {np.shape(value)} at row {row}",
                    fix="return results of one shape from every path, or call row by row",
                )  # fmt: skip
            dtype = np.result_type(self[k].dtype, np.asarray(value).dtype)
            if dtype != self[k].dtype:
                if self._out is not None:
                    raise DtypeMismatch(
                        "a row returns another dtype than out has", got=f"{self[k].dtype}, {dtype} at row {row}"
                    )
                self[k] = self[k].astype(dtype)
            self[k][row] = value

    def delivered(self) -> Results:
        """Return these results, or the caller's arrays with the same numbers."""
        for k, target in enumerate(self._out or ()):
            target[...] = self[k]
            self[k] = target
        return self


class KernelJob(Job):
    """Rows of a kernel's calls.

    Args:
        arrays: the inputs, C-contiguous and in the kernel's dtypes; strides: the bytes between rows, 0 for shared ones.
        outputs: one array per output, C-contiguous, in the kernel's dtypes.
        rows: the rows to do.
        goes_on: continue after a failed guard, and note it in `statuses`.
        again: repeats the call at a row, and returns its exception.
    """

    def __init__(
        self, kernel: Kernel, arrays: Sequence[np.ndarray], strides: Sequence[int], outputs: Sequence[np.ndarray], rows: np.ndarray,
        goes_on: bool, again: Callable[[int], BaseException | None],
    ) -> None:  # fmt: skip
        super().__init__(len(rows), batch_rows.KERNEL_JOB_WORDS + 2 * (len(arrays) + len(outputs)))
        self.indices, self.statuses = rows, np.zeros(len(rows), np.int64)
        self._held, self._again = (kernel, arrays, outputs), again
        words = [int(kernel.state[0]), kernel.state.ctypes.data, len(arrays), len(outputs), rows.ctypes.data,
                 self.statuses.ctypes.data, int(goes_on)]  # fmt: skip
        for array, stride in zip(arrays, strides):
            words += [array.ctypes.data, stride]
        for output in outputs:
            words += [output.ctypes.data, output.strides[0]]
        self.words[batch_rows.JOB_KERNEL :] = words

    def work(self) -> Failure | None:
        row = np.zeros(1, np.int64)
        status = batch_rows.kernel_rows_function()(self.address, row.ctypes.data)
        if not status:
            return None
        position = int(row[0])
        raised = take_pending() if status == PENDING else None
        return Failure(position, raised or self._again(int(self.indices[position])))


def _strided(argument: RowArgument, dtype: np.dtype) -> tuple[np.ndarray, int]:
    array = np.require(argument.array, dtype, ["C", "A"])
    return array, array.strides[0] if argument.per_row else 0


def _widened(results: Sequence[np.ndarray], kernel: Kernel) -> list[np.ndarray]:
    """The results, or arrays in the kernel's dtypes to replace them: kernels compute float32 in float64."""
    return [r if r.dtype == t.dtype else np.empty(r.shape, t.dtype) for r, t in zip(results, kernel.output_types)]


def _run(
    tape: Owner, arguments: RowArguments, numbers: Numbers | None, out: list[Operand] | None, threads: int | None
) -> Results:
    check_threads(threads)
    run = _on_paths if hasattr(tape, "answer_row") else _on_tape
    return run(tape, arguments, numbers, out, threads).delivered()


def _on_tape(
    tape: KernelOwner, arguments: RowArguments, numbers: Numbers | None, out: list[Operand] | None, threads: int | None
) -> Results:
    require_fit(arguments, tape.tape)
    wrt = None if numbers is None else inputs_of(tape.tape, numbers)
    kernel, rows = tape.kernel(wrt), arguments.rows
    is_tuple, tree = (tape.tape.returns_tuple, tape.tape.result) if numbers is None else (False, None)
    results = Results(rows, kernel.tape.output_types, is_tuple, out, tree)
    if not rows:
        return results
    call = tape.__call__ if numbers is None else lambda *args: tape.value_and_gradient(*args, argnums=numbers)
    arrays, strides = zip(*(_strided(a, t.dtype) for a, t in zip(arguments, kernel.input_types)))
    outputs = _widened(results, kernel)

    def again(row: int) -> BaseException | None:
        arrays = [a.array.astype(t.dtype) for a, t in zip(arguments, tape.tape.input_types)]
        converted = [a._replace(array=array, given=array) for a, array in zip(arguments, arrays)]
        return _exception(call, RowArguments(converted, arguments.trees, rows).at(row))

    job = KernelJob(kernel, arrays, strides, outputs, np.arange(rows), False, again)
    failures = run_timed(job, threads)
    if failures:
        raise_first(failures)
    results.row_seconds = job.row_seconds
    for result, output in zip(results, outputs):
        if result is not output:
            result[...] = output
    return results


def _exception(call: UserFunction, args: Sequence[Tree]) -> BaseException | None:
    try:
        call(*args)
    except BaseException as raised:  # noqa: BLE001 -- it is handed to whoever raises it
        return raised
    return None


# Functions with several paths


def _on_paths(
    tape: CallsOwner, arguments: RowArguments, numbers: Numbers | None, out: list[Operand] | None, threads: int | None
) -> Results:
    """Run the rows of a function with several paths. Python runs the first pending row; then the kernel of its path tries all others.

    A kernel succeeds only where all its guards hold, so the order in which kernels are tried does not matter.
    """
    pending = np.arange(arguments.rows)
    results: Results | None = None
    failures: list[Failure] = []
    while len(pending):
        row = int(pending[0])
        try:
            variant, values, is_tuple = tape.answer_row(arguments.at(row), numbers)
        except Exception as raised:  # noqa: BLE001 -- raised below, with its row
            raise_first([Failure(row, raised)])
        if results is None:
            types = [ValueType(np.shape(v), np.asarray(v).dtype) for v in values]
            results = Results(len(pending), types, is_tuple, out, None if numbers is not None else variant.program.tape.result)
        results.take(row, values, None if numbers is not None else variant.program.tape.result)
        pending, failed = _by_kernel(tape, variant, arguments, numbers, results, pending[1:], threads)
        failures += failed
    if failures:
        raise_first(failures)
    return _nothing(tape, arguments, numbers, out) if results is None else results


def _by_kernel(
    tape: CallsOwner, variant: Path, arguments: RowArguments, numbers: Numbers | None, results: Results, pending: np.ndarray,
    threads: int | None,
) -> tuple[np.ndarray, list[Failure]]:  # fmt: skip
    """Compute the pending rows on one path; returns the rows still pending, up to the first failed row, and its failure."""
    # Container contents other than arrays are the same in all rows.
    specialised = arguments.trees is not None and not arguments.has_integers
    if not len(pending) or not tape.may_run_natively(variant, specialised=specialised):
        return pending, []
    wrt = None if numbers is None else tape.keyed(arguments.at(int(pending[0])), numbers).bound.argnums
    kernel, types = variant.compiled.kernel(wrt), [a.type for a in arguments]
    recorded = kernel.tape.input_types
    of_results = [ValueType(r.shape[1:], r.dtype) for r in results]
    if list(recorded[: len(types)]) != types or list(kernel.tape.output_types) != of_results:
        return pending, []
    given = [*arguments, *(RowArgument(np.asarray(c), False, True, c) for c in variant.constants)]
    arrays, strides = zip(*(_strided(a, t.dtype) for a, t in zip(given, kernel.input_types)))
    outputs = _widened(results, kernel)
    again = lambda row: _exception(tape.answer_row, (arguments.at(row), numbers))  # noqa: E731 -- used once
    job = KernelJob(kernel, arrays, strides, outputs, pending, True, again)
    failures = [failure._replace(row=int(pending[failure.row])) for failure in run_timed(job, threads)]
    results.row_seconds = job.row_seconds
    done = pending[job.statuses == 0]
    for result, output in zip(results, outputs):
        if result is not output:
            result[done] = output[done]
    if not failures:
        variant.hits += len(done)
    first = min((failure.row for failure in failures), default=None)
    left = pending[job.statuses != 0]
    return left if first is None else left[left < first], failures


def _nothing(tape: CallsOwner, arguments: RowArguments, numbers: Numbers | None, out: list[Operand] | None) -> Results:
    """The results of no rows, in the shapes that a row of ones would have."""
    args = arguments.example()
    if numbers is not None:
        bound = tape.keyed(args, numbers).bound
        types = [ValueType(bound.inputs[k].shape, bound.inputs[k].dtype) for k in bound.argnums]
        return Results(0, [FLOAT_SCALAR, *types], False, out)
    try:
        recorded = tape.likely_at(args)
    except Exception as raised:
        raise ArgumentMismatch(
            "a batch without rows has no result that would tell the shapes, and the function cannot be called with ones",
            got=f"{type(raised).__name__}: {raised}", fix="do not call it where len(X) == 0",
        ) from raised  # fmt: skip
    return Results(0, recorded.output_types, recorded.returns_tuple, out, recorded.result)
