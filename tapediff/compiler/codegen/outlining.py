"""Costly functions: inlined if they are few or their loop is long, else called, with one copy for all kernels of the process.

Inlining saves a call's 2 ns, and costs 1 ms of compiling for each copy of sin or log. The shared copy is optimised even for kernels that
are compiled quickly: 1000 steps of a recurrence with sin then take 22 us a call, not 29.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from ...base.token import blake2b
from ...ops.declaration.scalar_expressions import called_functions, has_costly
from ..jit.native_function import NativeFunction
from ..jit.toolchain import toolchain
from ..llvm.cpu import has
from ..llvm.values import TYPES
from ..loop_ir.program import (
    Bands,
    EmptyReduction,
    Group,
    InPlace,
    Invoke,
    Item,
    LoopNest,
    Outlined,
    Program,
    RowBlocks,
    Scan,
    Step,
    Straight,
)  # fmt: skip
from ..math.expressions import emit_expression
from ..math.function_table import CALLED_BY_ELEMENT
from ..math.simd import Code, Value, splat

MOST_INLINED = 12
LONG_LOOP = 64
# A program with more than MOST_INLINED_IN_LOOPS in loops of up to LONGEST_CALLING points calls them there, too: 370 in loops of 66 points
# take 2.9 s inlined and 0.7 s as calls, and run 10 % longer.
MOST_INLINED_IN_LOOPS = 100
LONGEST_CALLING = 1024
# In loops between LONG_LOOP and SHORTER_LOOP each one is inlined for a pair of vectors and for the last one, so that 66 softplus and expit
# over 100 points take 2.9 s.
MOST_INLINED_IN_SHORTER_LOOPS = 40
SHORTER_LOOP = 256


def is_costly(step: Item) -> bool:
    return isinstance(step, Step) and has_costly(step.expression)


def runs_in_pairs(steps: Sequence[Step]) -> bool:
    """True if a loop of these steps is faster with two vectors at once.

    One vector of a costly function is a chain of dependent operations; with two, one computes while the other waits. This takes 5 to 25 %
    less time, except for functions that are called for each element, which take longer.
    """
    costly = [step.expression for step in steps if is_costly(step)]
    return bool(costly) and not any(map(_calls_out, costly))


@cache
def _calls_out(expression: str) -> bool:
    return any(name in CALLED_BY_ELEMENT for name in called_functions(expression))


# Groups that are code of the kernel's own.
_OWN_CODE = (Straight, LoopNest, Scan, EmptyReduction, RowBlocks, Bands, Outlined, InPlace)


def is_short(group: Group) -> bool:
    """True if a group runs so few times that a call in it does not matter."""
    return isinstance(group, _OWN_CODE) and math.prod(group.domain) <= LONG_LOOP


def longest_calling(program: Program) -> int:
    """The most points of a loop that calls its costly functions; 0 if the program has few enough to inline."""
    counts = {LONG_LOOP: 0, SHORTER_LOOP: 0, LONGEST_CALLING: 0}
    for group in program.groups:
        if isinstance(group, _OWN_CODE):
            costly, points = sum(map(is_costly, group.body)), math.prod(group.domain)
            for longest in counts:
                counts[longest] += costly if points <= longest else 0
    if counts[LONGEST_CALLING] > MOST_INLINED_IN_LOOPS:
        return LONGEST_CALLING
    if counts[SHORTER_LOOP] - counts[LONG_LOOP] > MOST_INLINED_IN_SHORTER_LOOPS:
        return SHORTER_LOOP
    return LONG_LOOP if counts[LONG_LOOP] > MOST_INLINED else 0


# From this many steps outside loops or in short ones on, optimising costs more time than it saves.
MOST_OPTIMISED = 1500
LONGEST_UNOPTIMISED_LOOP = 1024
VECTOR = 8
# The code that calls a callee is as long as this many steps.
CALL_STEPS = 5
# LLVM takes a second for each megabyte of text, or half of that if compiled quickly, for code that runs up to half as long again. Longer
# text than this is compiled quickly, unless its loops compute so much that a few thousand calls make up for the wait.
LONGEST_OPTIMISED_TEXT = 1_000_000
LEAST_TEXT_FOR_A_VECTOR = 25


def is_compiled_quickly(program: Program, length: int = 0) -> bool:
    """True if a program is mostly long code outside loops or in short ones: it runs nearly as fast when compiled quickly. Also if LLVM
    takes longer over its text than its calls ever will.

    16 000 steps of a recurrence with sin: optimised 1.0 s of compiling and 57 us a call, quickly 0.17 s and 67 us. 9000 steps on
    rows of three numbers: 3.2 s and 14 us, quickly 1.2 s and 19 us.
    """
    code = CALL_STEPS * sum(isinstance(group, Invoke) for group in program.groups)
    looped = longest = 0
    for group in program.groups:
        if is_short(group):
            code += len(group.body)
        elif isinstance(group, _OWN_CODE):
            points = math.prod(group.domain)
            looped += len(group.body) * points // VECTOR
            longest = max(longest, points)
    if length > LONGEST_OPTIMISED_TEXT and length > LEAST_TEXT_FOR_A_VECTOR * looped:
        return True
    return code > MOST_OPTIMISED and (looped <= code // 4 or longest <= LONGEST_UNOPTIMISED_LOOP)


def inlined(step: Step, operands: list[Value]) -> Value:
    return emit_expression(step.expression, {**dict(zip(step.names, operands)), **dict(step.parameters)})


def outlined(code: Code, addresses: dict[str, int], step: Step, operands: list[Value], width: int) -> Value:
    """Call the step's expression, on `width` lanes, as a shared function of the process. Its address goes to `addresses`."""
    operands = [splat(operand, width) for operand in operands]
    key = ("outlined", step.expression, step.parameters, tuple(operand.kind for operand in operands), width, has("avx512f"))
    shared = toolchain.once(key, lambda: _compiled(step, operands, width))
    addresses[shared.symbol] = shared.native.address
    result = TYPES[shared.kind, width]
    code.declare(
        f"declare {result} @{shared.symbol}({', '.join(TYPES[o.kind, width] for o in operands)}) nounwind"
    )
    arguments = ", ".join(f"{TYPES[o.kind, width]} {o.ref}" for o in operands)
    return Value(code, code.emit(f"call {result} @{shared.symbol}({arguments})"), shared.kind, width)


@dataclass(frozen=True, slots=True)
class _Shared:
    """A costly expression as native code, and the kind of its result. The symbol has a digest of its text, since the disk cache compares
    texts."""

    symbol: str
    native: NativeFunction
    kind: str
    text: str
    calls: frozenset[str]


def outlined_text(symbol: str) -> tuple[str, frozenset[str]]:
    """The LLVM text of a function that `outlined` has called, and the external routines that it calls."""
    shared = next(made for _, made in toolchain.made_once() if isinstance(made, _Shared) and made.symbol == symbol)
    return shared.text, shared.calls


def _compiled(step: Step, operands: list[Value], width: int) -> _Shared:
    """Compile the step's expression as a function of its operands."""
    code = Code("entry")
    formal = [Value(code, f"%a{k}", operand.kind, width) for k, operand in enumerate(operands)]
    result = splat(inlined(step, formal), width)
    signature = ", ".join(f"{TYPES[v.kind, width]} {v.ref}" for v in formal)
    returned = TYPES[result.kind, width]
    body = [f"({signature}) nounwind {{", "entry:", *code.lines, f"ret {returned} {result.ref}", "}"]
    told = "\n".join([*code.declarations, returned, *body])
    symbol = f"tapediff_function_{blake2b(told.encode(), digest_size=12).hexdigest()}"
    text = "\n".join([*code.declarations, f"define {returned} @{symbol}", *body])
    return _Shared(symbol, NativeFunction(text, symbol, code.symbols, is_portable=True), result.kind, text, frozenset(code.symbols))
