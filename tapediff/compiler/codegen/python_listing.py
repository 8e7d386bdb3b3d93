"""Prints a loop program as plain Python: the computation of a kernel, readable and runnable.

`run_listing` executes that text on arrays; tests compare it with the native kernel. numba compiles the same text (compiler/numba_backend).
Arrays are flat; a number in a register is a plain variable. Routines and callees are functions that the text calls.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from ...ir.guard_rows import EACH
from ...ir.instruction import DynamicArrayType, Operand
from ...ops.control.calls import LOOP
from ..bytecode.sweeps.listing import sweep_lines
from ..bytecode.sweeps.program import Sweeps
from ..bytecode.translate import Translation
from ..linalg.routine_table import ROUTINES, for_each_matrix
from ..loop_ir.leading_blocks import on_blocks
from ..loop_ir.program import (
    Access,
    Bands,
    EmptyReduction,
    Exit,
    Extent,
    Group,
    InPlace,
    Interpreted,
    Invoke,
    Literal,
    LoopNest,
    Outlined,
    Program,
    RoutineCall,
    RowBlocks,
    Scan,
    Step,
    Storage,
    Straight,
    neutral,
)  # fmt: skip
from ..math.expressions import python_expression
from ..math.function_table import PYTHON_FUNCTIONS
from ..runtime.status import FAILURE

COMBINED = {
    "add": "{0} + {1}", "maximum": "maximum({0}, {1})", "minimum": "minimum({0}, {1})", "and": "{0} & {1}", "or": "{0} | {1}",
}  # fmt: skip
DTYPES = {"f64": "np.float64", "i64": "np.int64", "i1": "np.bool_"}
LIBRARY_NAMES = {"input": "x", "output": "out", "constant": "c", "workspace": "w"}


def listing(program: Program) -> str:
    return "\n".join(_Printer(program).lines())


class _Printer:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.storages = program.storages
        self.assembled = program.assembled()
        self.invokes = {id(part): name for name, part in parts_of(program).items()}
        # Storages that hold only the rows from `first` on; storages with this many entries for each band.
        self.block_buffers: set[int] = set()
        self.band_sums: dict[int, int] = {}

    def name(self, storage: int) -> str:
        item = self.storages[storage]
        return f"{LIBRARY_NAMES[item.home]}{item.position if item.home in ('input', 'output') else storage}"

    def register(self, storage: int) -> str:
        return f"v{storage}"

    def lines(self) -> list[str]:
        used = self._in_memory()
        lines = [f"def kernel({', '.join(self._parameters())}):"]
        lines.append(f"    # workspace: {self.program.workspace_bytes} bytes")
        for storage in used:
            if storage.home == "workspace":
                lines.append(f"    {self.name(storage.number)} = np.empty({storage.size}, {DTYPES[storage.kind]})")
        for group in self.program.groups:
            lines += ["    " + line for line in self._group(group)]
        lines.append("    return 0")
        return lines

    def _parameters(self) -> list[str]:
        inputs = [f"x{k}" for k in range(self.program.input_count)]
        outputs = [f"out{k}" for k in range(self.program.output_count)]
        constants = [self.name(s.number) for s in self.storages if s.home == "constant"]
        return [*inputs, *outputs, *constants, *["stacks"] * any(map(has_stacks, self.program.groups)), "report"]

    def _in_memory(self) -> list[Storage]:
        touched = set()
        for group in self.program.groups:
            for item in group.body:
                if isinstance(item, RoutineCall):
                    touched |= {item.result, *(storage for storage, _ in item.operands)}
                elif isinstance(item, Invoke):
                    touched |= {storage for storage, _ in (*item.items, *item.operands)}
                elif isinstance(item, Step):
                    touched |= {item.write.storage, *(r.storage for r in item.reads if isinstance(r, Access))}
                else:
                    touched.add(item.report[0])
        return [self.storages[k] for k in sorted(touched) if k >= 0 and self.storages[k].in_memory]

    def _group(self, group: Group) -> list[str]:
        match group:
            case Straight():
                return self._items(group)
            case LoopNest() | Scan() | EmptyReduction():
                before, loops, after = self._nest(group, [f"range({self._end_of(extent)})" for extent in group.domain])
                return [*before, *loops, *after]
            case InPlace(step):
                return self._group(LoopNest(step.domain, (step,)) if step.domain else Straight((step,)))
            case RowBlocks():
                return self._row_blocks(group)
            case Bands():
                return self._bands(group)
            case Outlined(inner):
                return self._group(inner)
            case Sweeps():
                return sweep_lines(group, self.name)
            case Interpreted():
                runs = f", in {len(group.headers)} runs" if isinstance(group, Translation) else ""
                return [f"# the next {len(group.body)} steps are interpreted{runs}", *self._items(group)]
            case RoutineCall():
                return [self._call(group, [self._from(*pair) for pair in group.operands], self.name(group.result))]
            case Invoke():
                return self._invoke(group)

    def _end(self, stop: frozenset[tuple[int, int]], extent: int) -> str:
        """The end of a loop."""
        sums = [self._read(Access(storage, 0, ()), []) + f" + {number}" * (number != 0) for storage, number in sorted(stop)]
        return f"min(max({', '.join([*sums, '0'])}), {extent})"

    def _end_of(self, extent: int) -> str:
        if not isinstance(extent, Extent):
            return str(extent)
        return self._end(extent.ends, extent // extent.scale) + f" * {extent.scale}" * (extent.scale > 1)

    def _items(self, group: Straight | Interpreted) -> list[str]:
        """The lines of code outside loops."""
        lines = [self._exit(item) if isinstance(item, Exit) else self._straight(item) for item in group.body]
        return [line for of_item in lines for line in of_item]

    def _bands(self, group: Bands) -> list[str]:
        whole = group.group
        if isinstance(whole, RoutineCall):
            return [f"# in {group.number} bands, on up to {group.threads} threads", *self._group(whole)]
        self.band_sums = dict(group.sums)
        if isinstance(whole, RowBlocks):
            begin, loops, end = self._blocks(whole, ("start", "end"))
        else:
            stop = f"min(end, {self._end_of(whole.domain[0])})" if isinstance(whole.domain[0], Extent) else "end"
            begin, loops, end = self._nest(whole, [f"range(start, {stop})", *(f"range({self._end_of(k)})" for k in whole.domain[1:])])
        self.band_sums = {}
        head = [
            f"for band in range({group.number}):  # on {group.threads} thread{'s' * (group.threads > 1)}",
            f"    start, end = band * {group.rows}, {group.count} if band == {group.number - 1} else (band + 1) * {group.rows}",
        ]
        return [*begin, *head, *("    " + line for line in loops), *end]

    def _row_blocks(self, group: RowBlocks) -> list[str]:
        begin, lines, end = self._blocks(group, ("0", str(group.count)))
        return [*begin, *lines, *end]

    def _blocks(self, group: RowBlocks, ends: tuple[str, str]) -> tuple[list[str], list[str], list[str]]:
        """The lines before the loop over blocks of rows, the loop, and the lines after it."""
        rows, (first, stop) = group.rows, ends
        if first == "0":
            lines = [f"for first in range(0, {group.count // rows * rows}, {rows}):"]
            last = str(group.count // rows * rows - rows)
        else:
            lines = [f"last = start + (max((end - start) // {rows}, 1) - 1) * {rows}", f"for first in range(start, last + {rows}, {rows}):"]
            last = "last"
        lines.append(f"    stop = {stop} if first == {last} else first + {rows}")
        begin, end = [], []
        self.block_buffers = {storage for storage, _ in group.block_buffers}
        for nest in group.nests:
            if isinstance(nest, RoutineCall):
                lines += ["    " + line for line in self._call_on_block(nest)]
                continue
            before, loops, after = self._nest(nest, ["range(first, stop)", *(f"range({self._end_of(k)})" for k in nest.domain[1:])])
            begin, end = [*begin, *before], [*end, *after]
            lines += ["    " + line for line in loops]
        self.block_buffers = set()
        return begin, lines, end

    def _call_on_block(self, call: RoutineCall) -> list[str]:
        """Call a routine on the matrices from `first` up to `stop`."""
        places = [*call.operands, (call.result, 0)]
        turns = ["(matrix - first)" if storage in self.block_buffers else "matrix" for storage, _ in places]
        starts = [f"{offset} + {turn} * {advance}" for (_, offset), turn, advance in zip(places, turns, call.advances)]
        *operands, _ = [f"{self.name(storage)}[{start}:]" for (storage, _), start in zip(places, starts)]
        result = f"{self.name(call.result)}[{starts[-1]}:{starts[-1]} + {call.advances[-1]}]"
        return ["for matrix in range(first, stop):", "    " + self._call(of_one_matrix(call), operands, result)]

    def _call(self, call: RoutineCall, operands: list[str], result: str) -> str:
        ends = "".join([f", {self._end_of(size)}" for size in call.sizes if isinstance(size, Extent)])
        text = f"{_routine_name(call)}({_tuple(operands)}, {result}{ends})"
        return _commented(f"if {text}: return failure({call.failure})" if call.failure >= 0 else text, call.site)

    def _from(self, storage: int, offset: int) -> str:
        return f"{self.name(storage)}[{offset}:]" if offset else self.name(storage)

    def _invoke(self, item: Invoke) -> list[str]:
        operands, items = (_tuple([self._from(*pair) for pair in pairs]) for pairs in (item.operands, item.items))
        stop = [f"stop={self._end(item.stop, item.params[1].length)}"] if item.stop else []
        arguments = ", ".join([operands, items, *["stacks"] * has_stacks(item), *stop])
        return [_commented(f"status = {self.invokes[id(item)]}({arguments})", item.site), "if status: return status"]

    def _exit(self, item: Exit) -> list[str]:
        value, (storage, size) = self._read(item.read, []), item.report
        met = f"{self.name(storage)}[:{size}]"
        if item.guard_kind == EACH:
            test, leave = f"not {value}", f"guard_of_each({item.ordinal}, {met}, {self.name(item.pattern)}[:{size}], report)"
        elif item.guard_kind == "array":
            test, leave = f"not {value}", f"guard_of_array({item.ordinal}, {met}, report)"
        else:
            met, test = self._outcome(item, value)
            leave = f"guard({item.ordinal}, {met}, report)"
        return [_commented(f"if {test}: return {leave}", item.site)]

    def _outcome(self, item: Exit, value: str) -> tuple[str, str]:
        """The number that a guard looks at, and the condition by which it fails."""
        if item.guard_kind == "bool":
            return f"bool({value})", f"bool({value}) != {bool(item.expected)}"
        if self.storages[item.read.storage].kind != "f64":
            return value, f"{value} != {int(item.expected)}"
        differs = f"not np.isnan({value})" if math.isnan(item.expected) else f"trunc({value}) != {item.expected!r}".replace("inf", "np.inf")
        return f"trunc({value})", differs

    def _straight(self, step: Step) -> list[str]:
        value = self._value(step, [])
        storage = self.storages[step.write.storage]
        if storage.size == 1 and step.write.storage not in self.assembled and step.write.index_read < 0:
            lines = [_commented(f"{self.register(storage.number)} = {value}", step.site)]
            if storage.home == "output" or storage.in_memory:
                lines.append(f"{self.name(storage.number)}[0] = {self.register(storage.number)}")
            return lines
        target = f"{self.name(storage.number)}[{self._address(step.write, [], step)}]"
        if step.combine is not None:
            value = COMBINED[step.combine].format(target, value)
        return [_commented(f"{target} = {value}", step.site)]

    def _nest(self, group: LoopNest | Scan | EmptyReduction, ranges: list[str]) -> tuple[list[str], list[str], list[str]]:
        """A nest's lines: before its loops, the loops, and after them."""
        indices = [f"i{k}" for k in range(len(group.domain))]
        before, lines, after = [], [], []
        for step in group.body:
            if step.combine is not None and step.write.storage not in self.assembled and not step.is_scan:
                name = self._accumulator(step)
                start = repr(neutral(step.combine, self.storages[step.write.storage].kind)).replace("inf", "np.inf")
                # numba types 2**63 as unsigned.
                start = start.replace("-9223372036854775808", "-9223372036854775807 - 1")
                # Python inverts its own bools as integers.
                start = f"np.bool_({start})" if start in ("True", "False") else start
                whole = f"{name} = {start}" if self._in_register(step) else f"{self.name(step.write.storage)}.fill({start})"
                (lines if step.write.storage in self.block_buffers else before).append(whole)
                if self._in_register(step) and self.storages[step.write.storage].in_memory:
                    after.append(f"{self.name(step.write.storage)}[0] = {name}")
        for depth, (index, turns) in enumerate(zip(indices, ranges)):
            lines.append("    " * depth + f"for {index} in {turns}:")
        pad = "    " * len(indices)
        last = indices[-1]
        for step in group.body:
            shorter = f"if {last} < {step.domain[-1]}: " if step.domain[-1] != group.domain[-1] else ""
            lines += [pad + shorter + line for line in self._at_point(step, indices, last)]
        return before, lines, after

    def _in_register(self, step: Step) -> bool:
        return self.storages[step.write.storage].size == 1

    def _accumulator(self, step: Step) -> str:
        return self.register(step.write.storage)

    def _at_point(self, step: Step, indices: list[str], last: str) -> list[str]:
        value = self._value(step, indices)
        storage = self.storages[step.write.storage]
        if step.combine is None and step.write.index_read < 0:
            register = self.register(storage.number)
            lines = [_commented(f"{register} = {value}", step.site)]
            if storage.in_memory:
                lines.append(f"{self.name(storage.number)}[{self._address(step.write, indices, step)}] = {register}")
            return lines
        target = f"{self.name(storage.number)}[{self._address(step.write, indices, step)}]"
        if step.is_scan:
            previous = (
                f"{self.name(storage.number)}[{self._address(step.write, indices, step)} - {step.write.strides[-1]}]"
            )
            return [_commented(f"{target} = {value} if {last} == 0 else {previous} + {value}", step.site)]
        if step.combine is not None and self._in_register(step) and step.write.storage not in self.assembled:
            target = self._accumulator(step)
        if step.combine is not None:
            value = COMBINED[step.combine].format(target, value)
        return [_commented(f"{target} = {value}", step.site)]

    def _value(self, step: Step, indices: list[str]) -> str:
        names = {name: self._read(read, indices, step) for name, read in zip(step.names, step.reads)}
        names |= {name: repr(value) for name, value in step.parameters}
        return python_expression(step.expression, names)

    def _read(self, read: Access | Literal, indices: list[str], step: Step | None = None) -> str:
        if isinstance(read, Literal):
            return f"np.{read.value}" if read.value != read.value else repr(read.value).replace("inf", "np.inf")
        storage = self.storages[read.storage]
        written_here = not storage.in_memory or (storage.size == 1 and storage.home == "output")
        if storage.home in ("workspace", "output") and written_here and read.index_read < 0:
            return self.register(read.storage)
        if (
            storage.size == 1
            and storage.home == "workspace"
            and read.storage not in self.assembled
            and read.index_read < 0
            and not storage.in_memory
        ):
            return self.register(read.storage)
        return f"{self.name(read.storage)}[{self._address(read, indices, step)}]"

    def _address(self, access: Access, indices: list[str], step: Step | None = None) -> str:
        terms = [str(access.offset)] if access.offset else []
        if access.storage in self.band_sums:
            terms.append(f"{self.band_sums[access.storage]} * band")
        if access.storage in self.block_buffers:
            indices = [f"({indices[0]} - first)", *indices[1:]]
        for index, stride in zip(indices, access.strides):
            if stride:
                terms.append(index if stride == 1 else f"{stride} * {index}")
        if access.index_read >= 0 and step is not None:
            terms.append(self._read(step.reads[access.index_read], indices, step))
        return " + ".join(terms) or "0"


def _commented(line: str, site: object) -> str:
    return f"{line:<70}  # {site}" if site is not None else line


def _tuple(texts: list[str]) -> str:
    return f"({', '.join(texts)}{',' * (len(texts) == 1)})"


# Functions that the text calls: routines, calls and loops of callees, and exits


def of_one_matrix(call: RoutineCall) -> RoutineCall:
    """The routine on one matrix of a stack."""
    return replace(call, operands=tuple((storage, 0) for storage, _ in call.operands), count=1, advances=())


def _routine_name(call: RoutineCall) -> str:
    """The routine with its sizes; for stacks, the number of matrices and their distance."""
    numbers = [f"{size:d}" + "_or_less" * isinstance(size, Extent) for size in call.sizes]
    numbers += [] if call.count == 1 else map(str, [call.count, *call.advances])
    each = "_of_each" * (call.count != 1)
    return call.routine + each + "".join(f"_{number}" for number in numbers).replace("-", "m")


Part: TypeAlias = RoutineCall | Invoke


def parts_of(program: Program) -> dict[str, Part]:
    """The parts of a program that its listing calls by name: routines, calls and loops of callees."""
    found: dict[str, Part] = {}
    for group in program.groups:
        inner = group.group if isinstance(group, Bands) else group
        if isinstance(inner, Invoke):
            found[re.sub(r"\W+", "_", f"{inner.op.name}_{inner.params[0].name}_{len(found)}")] = inner
        calls = (inner,) if isinstance(inner, RoutineCall) else inner.nests if isinstance(inner, RowBlocks) else ()
        for call in calls:
            if isinstance(call, RoutineCall):
                one = call if call is inner else of_one_matrix(call)
                found[_routine_name(one)] = one
    return found


def has_stacks(item: Group) -> bool:
    """True for loops with arrays whose length is known only at run time."""
    return isinstance(item, Invoke) and any(isinstance(t, DynamicArrayType) for types in item.types for t in types)


def _python_part(item: Part) -> Callable[..., bool | int | None]:
    return _python_routine(item) if isinstance(item, RoutineCall) else _python_invoke(item)


def _python_routine(call: RoutineCall) -> Callable[..., bool | None]:
    python = ROUTINES[call.routine].python
    if any(isinstance(size, Extent) for size in call.sizes):
        return lambda operands, result, *ends: on_blocks(python, call, list(operands), result, ends)
    if call.count == 1:
        return lambda operands, result: python(list(operands), result, call.sizes)
    return lambda operands, result: for_each_matrix(python, list(operands), result, call.sizes, call.count, call.advances)


def _python_invoke(item: Invoke) -> Callable[..., int]:
    """The call or loop as a Python function: it evaluates its op."""
    carries = item.params[1].carries if item.op is LOOP and item.params[1].saves_carries else 0
    unread = {len(item.items) - carries + k for k in range(carries) if k not in item.kept}

    def run(
        operands: tuple[np.ndarray, ...], results: tuple[np.ndarray, ...], stacks: list[Operand] | None = None, stop: int | None = None
    ) -> int:
        values, params = [], item.params
        if stop is not None:
            params = (params[0], replace(params[1], length=stop))
        for number, (operand, type_) in enumerate(zip(operands, item.types[0])):
            if isinstance(type_, DynamicArrayType):
                assert stacks is not None
                values.append(stacks[int(operand[0])])
            else:
                value = operand[: type_.size].reshape(type_.shape).astype(type_.dtype)[()]
                is_stream = stop is not None and 0 <= number - params[1].leading - params[1].carries < params[1].streams
                values.append(value[:stop] if is_stream else value)
        for k, (result, value, type_) in enumerate(zip(results, item.op.evaluate(*values, *params), item.types[1])):
            if k in unread:
                continue
            if isinstance(type_, DynamicArrayType):
                assert stacks is not None
                result[0] = len(stacks)
                stacks.append(value)
            else:
                result[: np.size(value)] = np.asarray(value).ravel()
        return 0

    return run


def guard(ordinal, met, report):
    """Leave at a guard whose number differs."""
    report.view(np.float64)[1] = met
    return ordinal + 1


def guard_of_array(ordinal, met, report):
    """Leave at a guard on an array; report the array if it fits."""
    size = met.itemsize
    if report[0] >= met.size * size:
        room = report.view(met.dtype)
        for k in range(met.size):
            room[8 // size + k] = met[k]
    return ordinal + 1


def guard_of_each(ordinal, met, recorded, report):
    """Leave at the guard of the first iteration whose outcome differs from the recorded one; NaN equals NaN."""
    for k in range(met.size):
        if met[k] != recorded[k] and (met[k] == met[k] or recorded[k] == recorded[k]):
            report.view(np.float64)[1] = met[k]
            return ordinal + k + 1
    return ordinal + 1


def failure(number):
    """Leave where a routine failed."""
    return FAILURE + number


LEAVING = (guard, guard_of_array, guard_of_each, failure)


def run_listing(program: Program, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> tuple[str, int] | None:
    """Run the listing as Python on arrays of the recorded types: None, ("guard", ordinal) or ("failure", number)."""
    namespace: dict[str, Operand] = {
        "np": np,
        **PYTHON_FUNCTIONS,
        **{function.__name__: function for function in LEAVING},
        **{name: _python_part(part) for name, part in parts_of(program).items()},
    }
    exec(compile(listing(program), "<kernel listing>", "exec"), namespace)
    dtypes = {"f64": np.float64, "i64": np.int64, "i1": np.bool_}
    constants = [
        np.frombuffer(program.constants, dtypes[s.kind], s.size, s.position)
        for s in program.storages
        if s.home == "constant"
    ]
    flat_outputs = [np.empty(o.size, o.dtype) for o in outputs]
    stacks: list[list[Operand]] = [[]] * any(map(has_stacks, program.groups))
    kernel = np.errstate(all="ignore")(namespace["kernel"])
    status = kernel(*[np.ascontiguousarray(x).reshape(-1) for x in inputs], *flat_outputs, *constants, *stacks, np.zeros(2, np.int64))
    if status:
        return ("guard", status - 1) if status < FAILURE else ("failure", status - FAILURE)
    for target, flat in zip(outputs, flat_outputs):
        target[...] = flat.reshape(target.shape)
    return None
