"""Prints a loop program as plain Python: the computation of a kernel, readable and runnable.

`run_listing` executes that text on arrays; tests compare it with the native kernel. Arrays are flat; a number that lives in a
register is a plain variable.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

import numpy as np

from ...ir.guard_rows import EACH
from ...ir.instruction import DynamicArrayType, Operand
from ..bytecode.sweeps.listing import sweep_lines
from ..bytecode.sweeps.program import Sweeps
from ..bytecode.translate import Translation
from ..linalg.routine_table import ROUTINES, for_each_matrix
from ..loop_ir.program import (
    Access,
    Bands,
    EmptyReduction,
    Exit,
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

COMBINED = {
    "add": "{0} + {1}", "maximum": "maximum({0}, {1})", "minimum": "minimum({0}, {1})", "and": "{0} & {1}", "or": "{0} | {1}",
}  # fmt: skip
LIBRARY_NAMES = {"input": "x", "output": "out", "constant": "c", "workspace": "w"}


def listing(program: Program) -> str:
    return "\n".join(_Printer(program).lines())


class _Printer:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.storages = program.storages
        self.assembled = program.assembled()
        self.invokes = invoke_names(program)
        # Storages that hold the rows from `first` on; and those that hold so many entries for each band.
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
                dtype = {"f64": "float", "i64": "int", "i1": "bool"}[storage.kind]
                lines.append(f"    {self.name(storage.number)} = np.empty({storage.size}, {dtype})")
        for group in self.program.groups:
            lines += ["    " + line for line in self._group(group)]
        lines.append("    return None")
        return lines

    def _parameters(self) -> list[str]:
        inputs = [f"x{k}" for k in range(self.program.input_count)]
        outputs = [f"out{k}" for k in range(self.program.output_count)]
        constants = [self.name(s.number) for s in self.storages if s.home == "constant"]
        return [*inputs, *outputs, *constants]

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
                before, loops, after = self._nest(group, [f"range({extent})" for extent in group.domain])
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
                return [self._call(group)]
            case Invoke():
                return [self._invoke(group)]

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
            begin, loops, end = self._nest(whole, ["range(start, end)", *(f"range({k})" for k in whole.domain[1:])])
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
        """The lines before the loop over blocks of rows, the loop, and those behind it."""
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
                lines.append("    " + self._call_on_block(nest))
                continue
            before, loops, after = self._nest(nest, ["range(first, stop)", *(f"range({k})" for k in nest.domain[1:])])
            begin, end = [*begin, *before], [*end, *after]
            lines += ["    " + line for line in loops]
        self.block_buffers = set()
        return begin, lines, end

    def _call_on_block(self, call: RoutineCall) -> str:
        """On the matrices from `first` up to `stop`."""
        places = [*call.operands, (call.result, 0)]
        starts = [f"{o}" if s in self.block_buffers else f"{o} + first * {a}" for (s, o), a in zip(places, call.advances)]
        *operands, result = [f"{self.name(storage)}[{start}:]" for (storage, _), start in zip(places, starts)]
        text = f"for_each_matrix({call.routine}, [{', '.join(operands)}], {result}, {call.sizes}, stop - first, {call.advances})"
        return _commented(text, call.site)

    def _call(self, call: RoutineCall) -> str:
        operands = ", ".join(f"{self.name(s)}[{offset}:]" for s, offset in call.operands)
        arguments = f"[{operands}], {self.name(call.result)}, {call.sizes}"
        text = f"{call.routine}({arguments})"
        if call.count != 1:
            text = f"for_each_matrix({call.routine}, {arguments}, {call.count}, {call.advances})"
        left = f"if {text}: return 'failure', {call.failure}"
        return _commented(left if call.failure >= 0 else left.split(":  ")[0].split(": return")[0][3:], call.site)

    def _invoke(self, item: Invoke) -> str:
        operands, items = (
            ", ".join(f"{self.name(s)}[{offset}:]" for s, offset in pairs) for pairs in (item.operands, item.items)
        )
        return _commented(f"{self.invokes[id(item)]}([{operands}], [{items}])", item.site)

    def _exit(self, item: Exit) -> list[str]:
        value = self._read(item.read, [])
        if item.guard_kind == EACH:
            met, recorded = (f"{self.name(s)}[:{item.report[1]}]" for s in (item.report[0], item.pattern))
            position = f"int(np.argmax(({met} != {recorded}) & (({met} == {met}) | ({recorded} == {recorded}))))"
            return [_commented(f"if not {value}: return 'guard', {item.ordinal} + {position}", item.site)]
        test = {"bool": f"bool({value}) != {bool(item.expected)}", "array": f"not {value}"}.get(
            item.guard_kind,
            f"not np.isnan({value})" if math.isnan(item.expected) else f"not trunc({value}) == {item.expected!r}",
        )
        return [_commented(f"if {test}: return 'guard', {item.ordinal}", item.site)]

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
        """A nest's lines: before its loops, the loops, and behind them."""
        indices = [f"i{k}" for k in range(len(group.domain))]
        before, lines, after = [], [], []
        for step in group.body:
            if step.combine is not None and step.write.storage not in self.assembled and not step.is_scan:
                name = self._accumulator(step)
                start = repr(neutral(step.combine, self.storages[step.write.storage].kind)).replace("inf", "np.inf")
                whole = name if self._in_register(step) else f"{self.name(step.write.storage)}[:]"
                (lines if step.write.storage in self.block_buffers else before).append(f"{whole} = {start}")
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


def invoke_names(program: Program) -> dict[int, str]:
    """A name for each call or loop of a callee, by the identity of its Invoke."""
    found = [group for group in program.groups if isinstance(group, Invoke)]
    return {id(i): re.sub(r"\W+", "_", f"{i.op.name}_{i.params[0].name}_{k}") for k, i in enumerate(found)}


def _python_invokes(program: Program) -> dict[str, Callable[..., None]]:
    """The calls and loops of callees as Python functions, by name: they evaluate their ops."""
    names, stacks = invoke_names(program), []
    items = [group for group in program.groups if isinstance(group, Invoke)]
    return {names[id(item)]: _python_invoke(item, stacks) for item in items}


def _python_invoke(item: Invoke, stacks: list[Operand]) -> Callable[[list[np.ndarray], list[np.ndarray]], None]:
    def run(operands: list[np.ndarray], results: list[np.ndarray]) -> None:
        values = []
        for operand, type_ in zip(operands, item.types[0]):
            if isinstance(type_, DynamicArrayType):
                values.append(stacks[int(operand[0])])
            else:
                values.append(operand[: type_.size].reshape(type_.shape).astype(type_.dtype)[()])
        for result, value, type_ in zip(results, item.op.evaluate(*values, *item.params), item.types[1]):
            if isinstance(type_, DynamicArrayType):
                result[0] = len(stacks)
                stacks.append(value)
            else:
                result[: type_.size] = np.asarray(value).ravel()

    return run


def run_listing(program: Program, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> tuple[str, int] | None:
    """Run the listing as Python on arrays of the recorded types: None, ("guard", ordinal) or ("failure", number)."""
    namespace: dict[str, Operand] = {
        "np": np,
        **PYTHON_FUNCTIONS,
        **{n: r.python for n, r in ROUTINES.items()},
        "for_each_matrix": for_each_matrix,
        "trunc": np.trunc,
        **_python_invokes(program),
    }
    exec(compile(listing(program), "<kernel listing>", "exec"), namespace)
    dtypes = {"f64": np.float64, "i64": np.int64, "i1": np.bool_}
    constants = [
        np.frombuffer(program.constants, dtypes[s.kind], s.size, s.position)
        for s in program.storages
        if s.home == "constant"
    ]
    flat_outputs = [np.empty(o.size, o.dtype) for o in outputs]
    kernel = np.errstate(all="ignore")(namespace["kernel"])
    result = kernel(*[np.ascontiguousarray(x).reshape(-1) for x in inputs], *flat_outputs, *constants)
    if result is None:
        for target, flat in zip(outputs, flat_outputs):
            target[...] = flat.reshape(target.shape)
    return result
