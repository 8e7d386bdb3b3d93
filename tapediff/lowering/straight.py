"""Emits straight-line steps, on numbers in registers. Long programs call one copy of each function instead of inlining it."""

from __future__ import annotations

import re
from typing import Any

from .expressions import emit_expression
from .lanes import Code, Value, constant
from .accumulators import MEMORY_TYPES
from .program import Literal, Program, Step
from .values import TYPES

# Inlining saves a call's 2 ns, and costs 1 ms of compiling for each copy of sin or log.
MOST_INLINED = 12

_FUNCTION = re.compile(r"\b([a-z]\w*)\(")
_CHEAP = frozenset(
    ("select", "sqrt", "absolute", "maximum", "minimum", "equal", "not_equal", "to_f64", "to_i64", "floor", "ceil", "rint", "trunc",
     "sign", "isnan", "isfinite", "isinf", "fma")
)  # fmt: skip


def _is_costly(step: Any) -> bool:
    return isinstance(step, Step) and any(name not in _CHEAP for name in _FUNCTION.findall(step.expression))


def outlines_functions(program: Program) -> bool:
    """Whether the program has more calls of costly functions outside loops than are worth inlining."""
    straight = (item for group in program.groups if group.form in ("straight", "chunk") for item in group.body)
    return sum(map(_is_costly, straight)) > MOST_INLINED


def straight_step(owner: Any, step: Step) -> None:
    """Emit one step outside loops."""
    operands: list[Any] = []
    for read in step.reads:
        if isinstance(read, Literal):
            operands.append(constant(owner.code, read.value, read.kind))
        elif read.via >= 0:
            element = MEMORY_TYPES[owner.storages[read.storage].kind]
            address = owner.address(read.storage, read.offset)
            address = owner.code.emit(f"getelementptr {element}, ptr {address}, i64 {operands[read.via].ref}")
            operands.append(owner.load(address, owner.storages[read.storage].kind))
        else:
            operands.append(owner.scalar(read))
    value = operands[0]
    if step.expression != "r0" or step.parameters:
        value = _outlined(owner, step, operands) if owner.outlines else _inlined(step, operands)
    _write(owner, step, operands, value)


def _write(owner: Any, step: Step, operands: list[Any], value: Value) -> None:
    write = step.write
    storage = owner.storages[write.storage]
    if storage.size == 1 and not owner.is_assembled(write.storage) and write.via < 0:
        owner.set_scalar(write.storage, value)
        return
    address = owner.address(write.storage, write.offset)
    if write.via >= 0:
        address = owner.code.emit(f"getelementptr {MEMORY_TYPES[storage.kind]}, ptr {address}, i64 {operands[write.via].ref}")
    if step.combine is not None:
        value = owner.load(address, storage.kind) + value
    owner.store(address, value)


def _inlined(step: Step, operands: list[Any]) -> Value:
    return emit_expression(step.expression, {**dict(zip(step.names, operands)), **dict(step.parameters)})


def _outlined(owner: Any, step: Step, operands: list[Any]) -> Value:
    """A call of the step's expression as a function that the module has once."""
    if not _is_costly(step):
        return _inlined(step, operands)
    key = (step.expression, step.parameters, tuple(operand.kind for operand in operands))
    known = owner.functions.get(key)
    if known is None:
        known = owner.functions[key] = _defined(owner, step, operands)
    name, kind = known
    arguments = ", ".join(f"{TYPES[o.kind, 1]} {o.ref}" for o in operands)
    return Value(owner.code, owner.code.emit(f"call {TYPES[kind, 1]} @{name}({arguments})"), kind, 1)


def _defined(owner: Any, step: Step, operands: list[Any]) -> tuple[str, str]:
    """Define the step's expression as a function of its operands; its name and the kind of its result."""
    code = Code("entry")
    formal = [Value(code, f"%a{k}", operand.kind, 1) for k, operand in enumerate(operands)]
    result = _inlined(step, formal)
    name = f"tapediff_function_{len(owner.functions)}"
    signature = ", ".join(f"{TYPES[v.kind, 1]} {v.ref}" for v in formal)
    returned = TYPES[result.kind, 1]
    for declaration in code.declarations:
        owner.module.declare(declaration)
    owner.module.symbols |= code.symbols
    head = f"define internal {returned} @{name}({signature}) noinline nounwind {{\nentry:"
    owner.module.declare("\n".join([head, *code.lines, f"ret {returned} {result.ref}", "}"]))
    return name, result.kind
