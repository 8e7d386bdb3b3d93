"""The functions that the listing calls, for numba: scalar functions, routines and callees, from the tables of the native back end.

Scalar functions become LLVM text that is linked into numba's code, and inlined in its loops. A routine or a callee is compiled natively on
its own, and called by address.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ..codegen.loop_function import KernelEmitter
from ..codegen.python_listing import has_stacks
from ..jit import scipy_symbols
from ..jit.native_function import NativeFunction, address_of
from ..llvm.values import SCALAR
from ..loop_ir.program import Invoke, Program, RoutineCall, Storage
from ..math.function_table import FUNCTIONS
from ..math.simd import Code, Value
from ..runtime.workspaces import BLOCK_WORDS, SLOT_COUNT, free_workspaces
from ..schedule.memory_plan import ALIGNMENT

NUMBA_TYPES = {"f64": types.float64, "i64": types.int64, "i1": types.boolean}
_IR_TYPES = {"f64": ir.DoubleType(), "i64": ir.IntType(64), "i1": ir.IntType(1)}
_ADDRESS, _STATUS = ir.IntType(8).as_pointer(), ir.IntType(32)


def _kind_of(type_: types.Type) -> str:
    return "f64" if isinstance(type_, types.Float) else "i1" if isinstance(type_, types.Boolean) else "i64"


# Scalar functions


@cache
def scalar_function(name: str, count: int) -> Callable[..., object]:
    """A function of the table with `count` arguments."""
    function = FUNCTIONS[name]
    # Parameters such as exponents are literals.
    parameters = () if inspect.isbuiltin(function) else inspect.signature(function).parameters.values()
    plain = {k for k, parameter in enumerate(parameters) if parameter.annotation == "int"}

    def typed(_: object, *given: Any) -> tuple[object, Callable[..., ir.Value]]:
        code, kinds = Code("entry"), [_kind_of(type_) for type_ in given]
        operands = [t.literal_value if k in plain else Value(code, f"%x{k}", kinds[k], 1) for k, t in enumerate(given)]
        named = [str(t.literal_value).replace("-", "m") if k in plain else kinds[k] for k, t in enumerate(given)]
        symbol = "_".join(["tapediff_scalar", name, *named])
        parameters = [f"{SCALAR[kind]} %x{k}" for k, kind in enumerate(kinds)]
        result = function(*operands)
        assert isinstance(result, Value)
        # Not linkonce_odr: the linker would drop it, since nothing uses it yet.
        head = f"define weak_odr {SCALAR[result.kind]} @{symbol}({', '.join(parameters)}) nounwind {{"
        text = "\n".join([*code.declarations, head, "entry:", *code.lines, f"ret {SCALAR[result.kind]} {result.ref}", "}"])
        type_ = ir.FunctionType(_IR_TYPES[result.kind], [_IR_TYPES[kind] for kind in kinds])

        def emit(context, builder, signature, arguments):
            for external in code.symbols:
                if external.startswith(scipy_symbols.PREFIX):
                    llvm.add_symbol(external, address_of(external))
            if symbol not in builder.module.globals:
                context.active_code_library.add_llvm_module(llvm.parse_assembly(text))
            return builder.call(cgutils.get_or_insert_function(builder.module, type_, symbol), arguments)

        # numba distinguishes functions by these types.
        return NUMBA_TYPES[result.kind](*[given[k] if k in plain else NUMBA_TYPES[kind] for k, kind in enumerate(kinds)]), emit

    return _intrinsic(name, typed, [f"x{k}" for k in range(count)])


def _intrinsic(name: str, typed: Callable[..., object], parameters: list[str]) -> Callable[..., object]:
    """A numba function; `typed` returns its type and the code to emit."""

    def definition(*arguments: types.Type) -> object:
        return typed(*arguments)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    definition.__name__ = name
    definition.__signature__ = inspect.Signature([inspect.Parameter(each, kind) for each in ("context", *parameters)])  # type: ignore[attr-defined]
    return intrinsic(prefer_literal=True)(definition)


# Routines and callees


class _PartEmitter(KernelEmitter):
    """The kernel of a part. Its stacks are the caller's, passed as the last input."""

    def _stacks(self) -> list[str]:
        slot = f"%stacks_slot = getelementptr ptr, ptr %inputs, i64 {self.program.input_count}"
        return [slot, "%stacks = load ptr, ptr %stacks_slot"] if self.stack_count else []

    def _clean_up(self) -> None:
        stacks, self.stack_count = self.stack_count, 0
        super()._clean_up()
        self.stack_count = stacks


class NativePart:
    """A routine, or a call or loop of a callee, as native code.

    Args:
        first_stack: the number of stacks of the parts before it.

    Attributes:
        function: for numba, called with the arrays of the listing.
        stacks: the number of its stacks.
    """

    def __init__(self, name: str, part: RoutineCall | Invoke, program: Program, first_stack: int) -> None:
        alone, self._inputs = _routine_alone(part) if isinstance(part, RoutineCall) else _invoke_alone(part, program)
        emitter = _PartEmitter(alone, "tapediff_part")
        text = emitter.text()
        self.native = NativeFunction(text, emitter.name, emitter.code.symbols, addresses=emitter.addresses, is_portable=True)
        self.dispatch_tables, self.runs, self.stacks = emitter.dispatch_tables, emitter.runs, emitter.stack_count
        self.state = np.array([self.native.address, 0, *[0] * SLOT_COUNT], np.int64)
        weakref.finalize(self, free_workspaces, self.state)
        stacks = ["stacks"] * any(map(has_stacks, alone.groups))
        # numba keeps functions forever, but not their code.
        typed = partial(NativePart._typed, weakref.proxy(self), BLOCK_WORDS * first_stack)
        self.function = _intrinsic(name, typed, ["operands", "results", *stacks])

    def _typed(self, first_word: int, _: object, *given: types.Type) -> tuple[object, Callable[..., ir.Value]]:
        """The type of the function, and the emitter of a call of the native code: with the addresses of the arrays, and of the stacks."""

        def emit(context, builder, signature, arguments):
            arrays = []
            for type_, value in zip(signature.args, arguments):
                is_tuple = hasattr(type_, "types")
                values = cgutils.unpack_tuple(builder, value) if is_tuple else [value]
                arrays += [context.make_array(t)(context, builder, v) for t, v in zip(type_.types if is_tuple else [type_], values)]
            places = [*self._inputs, *((len(arrays) - 1, -first_word) for _ in given[2:])]
            inputs = cgutils.alloca_once(builder, _ADDRESS, size=max(len(places), 1))
            for slot, (k, offset) in enumerate(places):
                start = builder.bitcast(cgutils.gep_inbounds(builder, arrays[k].data, -offset), _ADDRESS)
                builder.store(start, cgutils.gep_inbounds(builder, inputs, slot))
            # No room for an outcome: routines have no guards, and callees handle their own.
            report = cgutils.alloca_once_value(builder, ir.Constant(ir.ArrayType(ir.IntType(64), 2), None))
            state, called = (context.add_dynamic_addr(builder, a, info="part") for a in (self.state.ctypes.data, self.native.address))
            function = builder.bitcast(called, ir.FunctionType(_STATUS, [_ADDRESS] * 4).as_pointer())
            return builder.call(function, [builder.bitcast(p, _ADDRESS) for p in (inputs, inputs, state, report)])

        return types.int32(*given), emit


# An input of native code: the index of the listing's array, and the array's offset in it, in entries.
_Inputs = list[tuple[int, int]]


def _routine_alone(call: RoutineCall) -> tuple[Program, _Inputs]:
    """A program of this routine alone. Its arrays begin at their first entries."""
    count = len(call.operands)
    fails = call.count == 1 or call.failure >= 0
    group = replace(call, operands=tuple((k, 0) for k in range(count)), result=count, failure=0 if fails else -1)
    storages = [Storage(k, 0, "f64", "input", k, in_memory=True) for k in range(count + 1)]
    return Program("", storages, [group], b"", count + 1, 0, ()), [(k, 0) for k in range(count + 1)]


def _invoke_alone(item: Invoke, program: Program) -> tuple[Program, _Inputs]:
    """A program of this call or loop alone. Storages that only the loop itself uses are its workspace."""
    storages, inputs, numbers, workspace_bytes = list[Storage](), _Inputs(), dict[int, int](), 0
    for k, (storage, offset) in enumerate((*item.operands, *item.items)):
        if storage not in numbers:
            numbers[storage] = len(inputs)
            storages.append(replace(program.storages[storage], number=len(inputs), home="input", position=len(inputs), in_memory=True))
            inputs.append((k, offset))
    for storage in (*item.slots, item.scratch):
        if storage >= 0 and storage not in numbers:
            numbers[storage] = len(storages)
            own = replace(program.storages[storage], number=len(storages), home="workspace", position=workspace_bytes, in_memory=True)
            storages.append(own)
            workspace_bytes += own.bytes + -own.bytes % ALIGNMENT
    group = replace(
        item, operands=tuple((numbers[s], offset) for s, offset in item.operands),
        items=tuple((numbers[s], offset) for s, offset in item.items),
        slots=tuple(numbers.get(s, -1) for s in item.slots), scratch=numbers.get(item.scratch, -1),
    )  # fmt: skip
    return Program("", storages, [group], b"", len(inputs), 0, (), workspace_bytes, threads=program.threads), inputs
