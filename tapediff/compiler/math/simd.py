"""Functions on LLVM values of one or several SIMD lanes: rounding, selection, conversion, branches, external calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from ..llvm.cpu import has
from ..llvm.values import TYPES, Code, Value, constant, convert, operand_text, require, select, splat, type_of, widest

__all__ = [
    "Code", "Value", "any_lane", "as_values", "bits", "call_rarely", "call_scalar", "ceil", "constant", "copysign", "fabs",
    "floor", "fma", "from_bits", "halves", "integer_quotient", "is_nan", "joined", "rint", "scaled", "select",
    "select_by_jump", "splat", "sqrt", "to_f64", "to_i64", "trunc", "type_of", "unlikely",
]  # fmt: skip

_PURE = "nounwind willreturn memory(none)"


@cache
def _intrinsic(name: str, count: int, width: int) -> tuple[str, str, str]:
    """The type of an LLVM intrinsic on f64, its declaration, and the beginning of a call."""
    lanes = TYPES["f64", width]
    symbol = f"@llvm.{name}.f64" if width == 1 else f"@llvm.{name}.v{width}f64"
    return lanes, f"declare {lanes} {symbol}({', '.join([lanes] * count)})", f"call {lanes} {symbol}({lanes} "


def _unary(name: str, x: Value) -> Value:
    code, width = x.code, x.width
    _, declaration, call = _intrinsic(name, 1, width)
    code.declarations[declaration] = None
    return Value(code, code.emit(f"{call}{require(x, 'f64').ref})"), "f64", width)


def fma(a, b, c) -> Value:
    """a * b + c, rounded once."""
    code, width = widest((a, b, c))
    lanes, declaration, call = _intrinsic("fma", 3, width)
    code.declarations[declaration] = None
    a, b, c = operand_text(a, "f64", width), operand_text(b, "f64", width), operand_text(c, "f64", width)
    return Value(code, code.emit(f"{call}{a}, {lanes} {b}, {lanes} {c})"), "f64", width)


def rint(x: Value) -> Value:
    """The nearest integer, ties to even, in any rounding mode of the processor."""
    return _unary("roundeven", x)


def floor(x: Value) -> Value:
    """The largest integer that is not above x."""
    return _unary("floor", x)


def ceil(x: Value) -> Value:
    """The smallest integer that is not below x."""
    return _unary("ceil", x)


def trunc(x: Value) -> Value:
    """x without its fractional part."""
    return _unary("trunc", x)


def sqrt(x: Value) -> Value:
    """The square root, correctly rounded; NaN below zero."""
    return _unary("sqrt", x)


def fabs(x: Value) -> Value:
    """x with its sign bit cleared."""
    return _unary("fabs", x)


def copysign(magnitude, sign) -> Value:
    """The magnitude of one value with the sign bit of another."""
    code, width = widest((magnitude, sign))
    lanes, declaration, call = _intrinsic("copysign", 2, width)
    code.declarations[declaration] = None
    left, right = operand_text(magnitude, "f64", width), operand_text(sign, "f64", width)
    return Value(code, code.emit(f"{call}{left}, {lanes} {right})"), "f64", width)


def integer_quotient(x, y) -> Value:
    """x / y of two i64, rounded towards zero; not for y = 0, nor for -2**63 / -1."""
    x, y = as_values(x, y)
    x, y = splat(x, max(x.width, y.width)), splat(y, max(x.width, y.width))
    return Value(x.code, x.code.emit(f"sdiv {TYPES['i64', x.width]} {require(x, 'i64').ref}, {y.ref}"), "i64", x.width)


def as_values(x, y) -> tuple[Value, Value]:
    """Both operands as Values; one may be a Python number."""
    if x.__class__ is not Value:
        x = constant(y.code, x, y.kind, y.width)
    if y.__class__ is not Value:
        y = constant(x.code, y, x.kind, x.width)
    return x, y


def to_f64(x: Value) -> Value:
    """The number as f64: an i64 rounded to nearest, an i1 as 0.0 or 1.0; an f64 is returned as it is."""
    return x if x.kind == "f64" else convert("sitofp" if x.kind == "i64" else "uitofp", x, "f64")


def to_i64(x: Value) -> Value:
    """The number as i64: an f64 truncated towards zero (saturating; NaN gives 0), an i1 as 0 or 1."""
    if x.kind == "i64":
        return x
    if x.kind == "i1":
        return convert("zext", x, "i64")
    # The saturating intrinsic: plain fptosi leaves NaN and large numbers undefined, which may differ by width.
    integers, doubles = TYPES["i64", x.width], TYPES["f64", x.width]
    suffix = "i64.f64" if x.width == 1 else f"v{x.width}i64.v{x.width}f64"
    x.code.declare(f"declare {integers} @llvm.fptosi.sat.{suffix}({doubles})")
    return Value(x.code, x.code.emit(f"call {integers} @llvm.fptosi.sat.{suffix}({doubles} {x.ref})"), "i64", x.width)


def bits(x: Value) -> Value:
    """The bit pattern of an f64 as i64."""
    return convert("bitcast", require(x, "f64"), "i64")


def from_bits(x: Value) -> Value:
    """The f64 that has this bit pattern."""
    return convert("bitcast", require(x, "i64"), "f64")


# AVX-512 scales this many lanes by powers of two in one instruction.
_SCALED_AT_ONCE = 8


def scaled(y: Value, n: Value, otherwise: Callable[[], Value]) -> Value:
    """y 2**n for integer-valued f64 n, with one rounding; `otherwise()` if the processor has no instruction for it."""
    if y.width < _SCALED_AT_ONCE or not has("avx512f"):
        return otherwise()
    if y.width == _SCALED_AT_ONCE:
        lanes, symbol = TYPES["f64", y.width], "@llvm.x86.avx512.mask.scalef.pd.512"
        y.code.declare(f"declare {lanes} {symbol}({lanes}, {lanes}, {lanes}, i8, i32)")
        # The last three: the result of masked-off lanes, the mask, and the default rounding.
        operands = f"{lanes} {y.ref}, {lanes} {n.ref}, {lanes} zeroinitializer, i8 -1, i32 4"
        return Value(y.code, y.code.emit(f"call {lanes} {symbol}({operands})"), "f64", y.width)
    first, last = (scaled(part, power, otherwise) for part, power in zip(halves(y), halves(n)))
    return joined(first, last)


def halves(x: Value) -> tuple[Value, Value]:
    """The first and the last half of the lanes."""
    width, lanes = x.width // 2, TYPES[x.kind, x.width]
    picked = []
    for first in (0, width):
        places = ", ".join(f"i32 {first + k}" for k in range(width))
        text = f"shufflevector {lanes} {x.ref}, {lanes} poison, <{width} x i32> <{places}>"
        picked.append(Value(x.code, x.code.emit(text), x.kind, width))
    return picked[0], picked[1]


def joined(first: Value, last: Value) -> Value:
    """Concatenate the lanes of two values of the same width."""
    width, lanes = 2 * first.width, TYPES[first.kind, first.width]
    places = ", ".join(f"i32 {k}" for k in range(width))
    text = f"shufflevector {lanes} {first.ref}, {lanes} {last.ref}, <{width} x i32> <{places}>"
    return Value(first.code, first.code.emit(text), first.kind, width)


def is_nan(x: Value) -> Value:
    """True where x is NaN."""
    return Value(x.code, x.code.emit(f"fcmp uno {TYPES[x.kind, x.width]} {x.ref}, {x.ref}"), "i1", x.width)


def any_lane(condition: Value) -> Value:
    """A one-lane i1: true when the condition holds on at least one lane."""
    if condition.width == 1:
        return condition
    code, width = condition.code, condition.width
    mask = code.emit(f"bitcast <{width} x i1> {condition.ref} to i{width}")
    return Value(code, code.emit(f"icmp ne i{width} {mask}, 0"), "i1", 1)


def unlikely(condition: Value, usual: Value, rare: Callable[[], Value], *, stays: bool = False) -> Value:
    """`usual`, or the f64 value that `rare()` emits when the condition holds on at least one lane.

    `rare` is emitted in a block that the usual path jumps over; its value is used on every lane. LLVM turns a short block into a select,
    which waits for all its operands, unless the jump `stays`.
    """
    code, work, join = usual.code, usual.code.label(), usual.code.label()
    if stays:
        code.declare('!99 = !{!"branch_weights", i32 1, i32 1000}')
    code.line(f"br i1 {any_lane(condition).ref}, label %{work}, label %{join}{', !prof !99' * stays}")
    before = code.block
    code.start(work)
    other = rare()
    code.line(f"br label %{join}")
    after = code.block
    code.start(join)
    lanes = TYPES["f64", usual.width]
    name = code.emit(f"phi {lanes} [ {usual.ref}, %{before} ], [ {other.ref}, %{after} ]")
    return Value(code, name, "f64", usual.width)


def select_by_jump(condition: Value, x, y) -> Value:
    """`select` as a branch, for one lane: later code does not wait for the condition."""
    code, width = widest((condition, x, y))
    if width > 1 or not isinstance(condition, Value):
        return select(condition, x, y)
    kind = next((v.kind for v in (x, y) if isinstance(v, Value)), "f64")
    left, right = operand_text(x, kind, 1), operand_text(y, kind, 1)
    other, join = code.label(), code.label()
    # LLVM turns a branch over an empty block into a select, unless it is marked likely.
    code.declare('!98 = !{!"branch_weights", i32 1000, i32 1}')
    code.line(f"br i1 {condition.ref}, label %{join}, label %{other}, !prof !98")
    before = code.block
    code.start(other)
    code.line(f"br label %{join}")
    code.start(join)
    return Value(code, code.emit(f"phi {TYPES[kind, 1]} [ {left}, %{before} ], [ {right}, %{other} ]"), kind, 1)


def call_scalar(symbol: str, *operands, trailing: str = "", attributes: str = "", definition: str = "") -> Value:
    """Call a pure `double symbol(double, ...)` once per lane: external, or defined in the module.

    Args:
        symbol: name of the routine as the linker sees it.
        operands: f64 values or numbers.
        trailing: a further constant argument of the routine as LLVM text, such as "i32 0".
        attributes: LLVM attributes of the call, such as "cold".
        definition: the text of the function, where it is not external.

    Cost: one call per lane; the lanes are walked by a loop in a helper function that the module has once.
    """
    code, width = widest(operands)
    lanes = TYPES["f64", width]
    extra = f", {trailing}" if trailing else ""
    if definition:
        code.declare(definition)
    else:
        code.symbols.add(symbol)
        code.declare(f"declare double @{symbol}({', '.join(['double'] * len(operands))}{extra.rpartition(' ')[0]}) {_PURE}")
    arguments = ", ".join([f"{lanes} {operand_text(operand, 'f64', width)}" for operand in operands])
    if width == 1:
        called = f"@{symbol}({arguments}{extra})"
    else:
        code.declare(_lane_loop(symbol, len(operands), extra, width))
        called = f"@tapediff_lanes_{symbol}_v{width}({arguments})"
    return Value(code, code.emit(f"call {lanes} {called} {attributes}"), "f64", width)


def call_rarely(symbol: str, needed: Value, usual: Value, *operands) -> Value:
    """`usual`, but the external `double symbol(double, ...)` on the lanes where `needed` holds.

    Cost: one test and one predicted branch as long as no lane needs the call.
    """
    return unlikely(needed, usual, lambda: select(needed, call_scalar(symbol, *operands, attributes="cold"), usual))


def _lane_loop(symbol: str, count: int, extra: str, width: int) -> str:
    """Definition of a function that calls a scalar routine on each lane of its vector arguments."""
    lanes = TYPES["f64", width]
    parameters = ", ".join([f"{lanes} %x{k}" for k in range(count)])
    picks = "\n".join([f"%a{k} = extractelement {lanes} %x{k}, i64 %i" for k in range(count)])
    arguments = ", ".join([f"double %a{k}" for k in range(count)])
    return f"""define internal {lanes} @tapediff_lanes_{symbol}_v{width}({parameters}) noinline {_PURE} {{
entry:
br label %loop
loop:
%i = phi i64 [ 0, %entry ], [ %next, %loop ]
%before = phi {lanes} [ poison, %entry ], [ %after, %loop ]
{picks}
%y = call double @{symbol}({arguments}{extra})
%after = insertelement {lanes} %before, double %y, i64 %i
%next = add i64 %i, 1
%more = icmp ult i64 %next, {width}
br i1 %more, label %loop, label %end
end:
ret {lanes} %after
}}"""
