"""A loop program as a numba function: the listing, with routines, guards and calls as numba's functions."""

from __future__ import annotations

import ast
import math
from typing import Protocol

import numpy as np

from ...ir.guard_rows import EACH
from ...ir.instruction import DynamicArrayType, ValueType
from ...ops.control.calls import CALL_VARIANT, LOOP
from ..codegen.python_listing import _commented, _Printer
from ..loop_ir.program import (
    EmptyReduction,
    Exit,
    Group,
    Interpreted,
    Invoke,
    LoopNest,
    Program,
    RoutineCall,
    Scan,
    Step,
)
from .learned_paths import TapedCallee
from .program_text import ProgramText

DTYPES = {"f64": "np.float64", "i64": "np.int64", "i1": "np.bool_"}
NUMPY_DTYPES = {"f64": np.float64, "i64": np.int64, "i1": np.bool_}


class CalleeNames(Protocol):
    """The functions by which a program runs callees."""

    def call_name(self, callee: TapedCallee, is_chosen: bool) -> str: ...

    def loop_name(self, item: Invoke) -> str: ...


class FunctionPrinter(_Printer):
    """Writes one function.

    Args:
        decorator: "@jit" for one that is called from Python, else "@inner".
        name, docstring: the function's.
        text: the program that it is a part of, which has its constants.
        callees: the functions of callees.
        first_failure: the number of its first routine that can fail.
    """

    def __init__(
        self, program: Program, decorator: str, name: str, docstring: str, text: ProgramText, callees: CalleeNames,
        first_failure: int,
    ) -> None:  # fmt: skip
        super().__init__(program)
        self.decorator, self.function_name, self.docstring = decorator, name, docstring
        self.text, self.callees, self.first_failure = text, callees, first_failure
        self.stacks = {storage for item in _invokes(program) for storage in _stacks(item)}

    def name(self, storage: int) -> str:
        item = self.storages[storage]
        if item.home == "constant":
            dtype = NUMPY_DTYPES[item.kind]
            return self.text.constant(np.frombuffer(self.program.constants, dtype, item.size, item.position))
        return f"stack{storage}" if storage in self.stacks else super().name(storage)

    def function(self) -> str:
        """The text of the function."""
        parameters = [f"x{k}" for k in range(self.program.input_count)]
        parameters += [f"out{k}" for k in range(self.program.output_count)]
        lines = [f'"""{self.docstring}"""']
        for storage in self._in_memory():
            if storage.home == "workspace" and storage.number not in self.stacks:
                lines.append(f"{self.name(storage.number)} = np.empty({storage.size}, {DTYPES[storage.kind]})")
        for group in self.program.groups:
            lines += self._group(group)
        lines.append("return 0")
        head = f"def {self.function_name}({', '.join([*parameters, 'note', 'report'])}):"
        return "\n".join([self.decorator, head, *("    " + line for line in lines)])

    def _group(self, group: Group) -> list[str]:
        if isinstance(group, Invoke):
            return self._invoke_lines(group)
        return self._items(group) if isinstance(group, Interpreted) else super()._group(group)

    # Routines

    def _call(self, call: RoutineCall) -> str:
        operands, result = [self._from(*pair) for pair in call.operands], self.name(call.result)
        if call.count != 1:
            starts = [f"{offset} + matrix * {advance}" for (_, offset), advance in zip(call.operands, call.advances)]
            operands = [f"{self.name(storage)}[{start}:]" for (storage, _), start in zip(call.operands, starts)]
            result = f"{result}[matrix * {call.advances[-1]}:]"
        arguments = ", ".join([*operands, result, *map(str, map(int, call.sizes))])
        line = f"{call.routine}({arguments})"
        if call.failure >= 0:
            line = f"if {line}: return FAILURE + {self.first_failure + call.failure}"
        if call.count != 1:
            return f"for matrix in range({call.count}):\n        {_commented(line, call.site)}"
        return _commented(line, call.site)

    def _from(self, storage: int, offset: int) -> str:
        return f"{self.name(storage)}[{offset}:]" if offset else self.name(storage)

    # Guards

    def _exit(self, item: Exit) -> list[str]:
        value, status = self._read(item.read, []), item.ordinal + 1
        storage, size = item.report
        if item.guard_kind == EACH:
            arguments = f"{self.name(storage)}, {self.name(item.pattern)}, {size}"
            line = f"if not {value}: return left_each(report, {status}, {arguments})"
        elif item.guard_kind == "array":
            leave = "left_integers" if self.storages[storage].kind == "i64" else "left_array"
            line = f"if not {value}: return {leave}(report, {status}, {self.name(storage)}, {size})"
        else:
            met = f"bool({value})" if item.guard_kind == "bool" else f"trunc({value})"
            line = f"if {self._differs(item, value)}: return left(report, {status}, {met})"
        return [_commented(line, item.site)]

    def _differs(self, item: Exit, value: str) -> str:
        expected = item.expected
        if item.guard_kind == "bool":
            return f"bool({value}) != {bool(expected)}"
        if math.isnan(expected):
            return f"not np.isnan({value})"
        if self.storages[item.read.storage].kind != "f64":
            return f"{value} != {int(expected)}"
        return f"not trunc({value}) == {repr(expected).replace('inf', 'np.inf')}"

    # Callees

    def _invoke_lines(self, item: Invoke) -> list[str]:
        operands = [self._part(pair, type_) for pair, type_ in zip(item.operands, item.types[0])]
        results = [self._part(pair, type_) for pair, type_ in zip(item.items, item.types[1])]
        stacks = [name for name, type_ in zip(results, item.types[1]) if isinstance(type_, DynamicArrayType)]
        arrays = [name for name, type_ in zip(results, item.types[1]) if not isinstance(type_, DynamicArrayType)]
        lines = []
        if item.op is LOOP:
            name, arguments = self.callees.loop_name(item), [*operands, *arrays]
        elif item.op is CALL_VARIANT:
            name, arguments = self.callees.call_name(item.params[0], True), [f"{operands[0]}[0]", *operands[1:], *arrays]
        else:
            lines.append(f"{arrays[-1]}[0] = 0")
            name, arguments = self.callees.call_name(item.params[0], False), [arrays[-1], *operands, *arrays[:-1]]
        line = f"{', '.join(['status', *stacks])} = {name}({', '.join([*arguments, 'note', 'report'])})"
        return [*lines, _commented(line, item.site), "if status != 0: return status"]

    def _part(self, pair: tuple[int, int], type_: ValueType | DynamicArrayType) -> str:
        storage, offset = pair
        if isinstance(type_, DynamicArrayType):
            return self.name(storage)
        whole = offset == 0 and self.storages[storage].size == type_.size
        return self.name(storage) if whole else f"{self.name(storage)}[{offset}:{offset + type_.size}]"

    # Expressions

    def _value(self, step: Step, indices: list[str]) -> str:
        return _with_powers(super()._value(step, indices))

    def _nest(self, group: LoopNest | Scan | EmptyReduction, ranges: list[str]) -> tuple[list[str], list[str], list[str]]:
        before, lines, after = super()._nest(group, ranges)
        # numba takes 2**63 for an unsigned number.
        return [line.replace("-9223372036854775808", "-9223372036854775807 - 1") for line in before], lines, after


def _invokes(program: Program) -> list[Invoke]:
    return [group for group in program.groups if isinstance(group, Invoke)]


def _stacks(item: Invoke) -> list[int]:
    pairs = zip((*item.operands, *item.items), (*item.types[0], *item.types[1]))
    return [storage for (storage, _), type_ in pairs if isinstance(type_, DynamicArrayType)]


def _with_powers(text: str) -> str:
    """integer_power(x, 3) as x ** 3, for which numba multiplies."""
    if "integer_power" not in text:
        return text
    return ast.unparse(_Powers().visit(ast.parse(text, mode="eval")))


class _Powers(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "integer_power":
            return ast.BinOp(node.args[0], ast.Pow(), node.args[1])
        return node
