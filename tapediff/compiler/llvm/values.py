"""LLVM values on one or several SIMD lanes, whose Python operators append LLVM text to a function body."""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Iterable, Sequence

# Kinds of values. Kernels compute with the first three; the code around them also has bytes, C ints and addresses.
F64, I64, I1, I8, I32, PTR = "f64", "i64", "i1", "i8", "i32", "ptr"
SCALAR = {F64: "double", I64: "i64", I1: "i1", I8: "i8", I32: "i32", PTR: "ptr"}
# In memory, an i1 is a byte.
MEMORY_TYPES = {**SCALAR, I1: "i8"}
# Of dtypes' kinds, and what an entry of an array takes.
KINDS = {"f": F64, "i": I64, "b": I1}
ITEM_BYTES = {F64: 8, I64: 8, I1: 1}
_DOUBLE = struct.Struct(">d")


def type_of(kind: str, width: int) -> str:
    """The LLVM type of `width` lanes of a kind: `double` for one lane, `<8 x double>` for eight."""
    return SCALAR[kind] if width == 1 else f"<{width} x {SCALAR[kind]}>"


TYPES = {(kind, width): type_of(kind, width) for kind in SCALAR for width in (1, 2, 4, 8, 16)}


class _Null:
    """The null address."""


NULL = _Null()


class Code:
    """The growing body of one LLVM function, and the declarations that it needs in its module.

    Attributes:
        lines: the instructions and labels so far.
        declarations: module-level declarations and helper definitions, in order of first use; the values are unused.
        symbols: the external routines called; `libraries.address_of` finds those not in the C library.
        block: label of the block that is being filled, for the incoming edges of a phi. A function below may end a
            block and begin another, so take it after emitting, not before.
    """

    __slots__ = ("_labels", "_names", "block", "declarations", "lines", "symbols")

    def __init__(self, block: str = "entry") -> None:
        self.lines: list[str] = []
        self.declarations: dict[str, None] = {}
        self.symbols: set[str] = set()
        self.block = block
        self._names = 0
        self._labels = 0

    def emit(self, text: str) -> str:
        """Append an instruction that has a result, and return the new name of the result."""
        self._names = number = self._names + 1
        name = f"%v{number}"
        self.lines.append(f"{name} = {text}")
        return name

    def line(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(text)

    def call_external(self, symbol: str, arguments: Sequence[str], result: str = "void") -> str:
        """Call an external routine, with arguments that begin with their types; return the name of the result."""
        self.symbols.add(symbol)
        self.declare(f"declare {result} @{symbol}({', '.join(a.split()[0] for a in arguments)})")
        call = f"call {result} @{symbol}({', '.join(arguments)})"
        if result != "void":
            return self.emit(call)
        self.line(call)
        return ""

    def label(self) -> str:
        """A block label that is unique in this function."""
        self._labels += 1
        return f"b{self._labels}"

    def start(self, label: str) -> None:
        """Begin the block called `label`; the block before it must have been ended with a branch."""
        self.lines.append(f"{label}:")
        self.block = label

    def declare(self, text: str) -> None:
        """Record a module-level declaration or helper definition; the same text twice counts once."""
        self.declarations[text] = None

    def declare_all(self, texts: Iterable[str]) -> None:
        self.declarations |= dict.fromkeys(texts)


def _both(**instructions: str) -> tuple[Callable[..., Value], Callable[..., Value]]:
    """An operator, and the reflected one, from the instruction for each kind."""
    return lambda self, other: _binary(instructions, self, other), lambda self, other: _binary(instructions, other, self)


def _comparison(ordered: str, signed: str) -> Callable[..., Value]:
    return lambda self, other: _compare(ordered, signed, self, other)


class Value:
    """An immutable LLVM value: a name or constant text, of a kind such as f64, i64 or i1, on `width` lanes.

    Operators emit the instruction and return its result. Python numbers become constants of the value's own kind; a one-lane value is
    broadcast to the lanes of the other operand. `==` and `!=` compare lane by lane, so a Value cannot be tested by Python's `if`, `and`,
    `or`, `not` or a chained comparison: that raises TypeError.
    """

    __slots__ = ("code", "kind", "ref", "width")

    def __init__(self, code: Code, ref: str, kind: str, width: int) -> None:
        self.code = code
        self.ref = ref
        self.kind = kind
        self.width = width

    def __repr__(self) -> str:
        return f"Value({TYPES[self.kind, self.width]} {self.ref})"

    def __bool__(self) -> bool:
        raise TypeError("a value of generated code has no truth value in Python; use select(condition, a, b), & and |")

    def __hash__(self) -> int:
        return id(self)

    __add__, __radd__ = _both(f64="fadd", i64="add")
    __sub__, __rsub__ = _both(f64="fsub", i64="sub")
    __mul__, __rmul__ = _both(f64="fmul", i64="mul")
    __truediv__, __rtruediv__ = _both(f64="fdiv")
    __and__, __rand__ = _both(i64="and", i1="and", i32="and")
    __or__, __ror__ = _both(i64="or", i1="or")
    __xor__, __rxor__ = _both(i64="xor", i1="xor")

    def __neg__(self) -> Value:
        if self.kind == "i64":
            return 0 - self
        require(self, "f64")
        return Value(self.code, self.code.emit(f"fneg {TYPES['f64', self.width]} {self.ref}"), "f64", self.width)

    def __pos__(self) -> Value:
        return self

    def __invert__(self) -> Value:
        return self ^ (True if self.kind == "i1" else -1)

    def __lshift__(self, other) -> Value:
        return _binary({"i64": "shl"}, self, other)

    def __rshift__(self, other) -> Value:
        return _binary({"i64": "ashr"}, self, other)

    def lshr(self, other) -> Value:
        """Shift right, filling with zeros; `>>` repeats the sign bit."""
        return _binary({"i64": "lshr"}, self, other)

    def below(self, other) -> Value:
        """Less, as unsigned integers."""
        return _compare("", "ult", self, other)

    def quotient(self, other) -> Value:
        """Quotient of two i64, rounded towards zero; not for a divisor of 0, nor for -2**63 / -1."""
        return _binary({"i64": "sdiv"}, self, other)

    def remainder(self, other) -> Value:
        """Remainder of `quotient`."""
        return _binary({"i64": "srem"}, self, other)

    def is_null(self) -> Value:
        return _compare("", "eq", require(self, "ptr"), NULL)

    __lt__, __le__ = _comparison("olt", "slt"), _comparison("ole", "sle")
    __gt__, __ge__ = _comparison("ogt", "sgt"), _comparison("oge", "sge")

    def eq(self, other) -> Value:
        """Equal, lane by lane: false where either is NaN."""
        return _compare("oeq", "eq", self, other)

    def ne(self, other) -> Value:
        """Not equal, lane by lane: true where either is NaN."""
        return _compare("une", "ne", self, other)

    # Lane by lane, like NumPy's.
    def __eq__(self, other) -> Value:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.eq(other)

    def __ne__(self, other) -> Value:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.ne(other)


def _binary(instructions: dict[str, str], a, b) -> Value:
    first = a if a.__class__ is Value else b
    code, kind, width = first.code, first.kind, first.width
    if a.__class__ is b.__class__ and b.width > width:
        width = b.width
    if kind not in instructions:
        raise TypeError(f"{next(iter(instructions.values()))} is not defined on values of kind {kind}")
    left, right = operand_text(a, kind, width), operand_text(b, kind, width)
    return Value(code, code.emit(f"{instructions[kind]} {TYPES[kind, width]} {left}, {right}"), kind, width)


def _compare(ordered: str, signed: str, a: Value, b) -> Value:
    code, kind, width = a.code, a.kind, a.width
    if b.__class__ is Value and b.width > width:
        width = b.width
    if kind == "f64" and not ordered:
        raise TypeError("only integers compare without a sign")
    test = f"fcmp {ordered}" if kind == "f64" else f"icmp {signed}"
    left, right = operand_text(a, kind, width), operand_text(b, kind, width)
    return Value(code, code.emit(f"{test} {TYPES[kind, width]} {left}, {right}"), "i1", width)


def operand_text(operand, kind: str, width: int) -> str:
    """The text of an operand in an instruction on `width` lanes of `kind`."""
    if operand.__class__ is not Value:
        return constant_text(operand, kind, width)
    if operand.kind != kind:
        raise TypeError(f"a value of kind {operand.kind} stands where {kind} is needed; convert it first")
    return operand.ref if operand.width == width else splat(operand, width).ref


def constant_text(number, kind: str, width: int) -> str:
    # By bits: decimal text would lose -0.0 and NaN payloads, and numpy scalars print their type.
    if kind == "f64":
        text = f"0x{_DOUBLE.pack(number).hex()}"
    elif kind == "i1":
        text = "true" if number else "false"
    elif kind == "ptr":
        if number is not NULL:
            raise TypeError("the only constant address is NULL")
        text = "null"
    else:
        text = str(operator.index(number))
    return text if width == 1 else f"splat ({SCALAR[kind]} {text})"


def require(value: Value, kind: str) -> Value:
    if value.kind != kind:
        raise TypeError(f"a value of kind {value.kind} stands where {kind} is needed; convert it first")
    return value


def constant(code: Code, number, kind: str = "f64", width: int = 1) -> Value:
    """A constant as a Value, repeated on every lane; no instruction is emitted."""
    return Value(code, constant_text(number, kind, width), kind, width)


def splat(value: Value, width: int) -> Value:
    """Broadcast a one-lane value to `width` lanes; a value of that width is returned as it is."""
    if value.width == width:
        return value
    if value.width != 1:
        raise TypeError(f"a value of {value.width} lanes cannot be repeated on {width} lanes")
    code, kind = value.code, value.kind
    scalar, vector = SCALAR[kind], TYPES[kind, width]
    if value.ref[0] != "%":
        return Value(code, f"splat ({scalar} {value.ref})", kind, width)
    lane = code.emit(f"insertelement {vector} poison, {scalar} {value.ref}, i64 0")
    lanes = code.emit(f"shufflevector {vector} {lane}, {vector} poison, <{width} x i32> zeroinitializer")
    return Value(code, lanes, kind, width)


def widest(operands: Iterable[Value | float]) -> tuple[Code, int]:
    code, width = None, 1
    for operand in operands:
        if type(operand) is Value:
            code = operand.code
            if operand.width > width:
                width = operand.width
    if code is None:
        raise TypeError("at least one operand must be a Value")
    return code, width


def select(condition: Value, a, b) -> Value:
    """Lane by lane, a where the condition holds, else b; two Python numbers are taken as f64."""
    code, width = widest((condition, a, b))
    kind = a.kind if a.__class__ is Value else b.kind if b.__class__ is Value else "f64"
    test, lanes = operand_text(condition, "i1", width), TYPES[kind, width]
    left, right = operand_text(a, kind, width), operand_text(b, kind, width)
    emitted = code.emit(f"select {TYPES['i1', width]} {test}, {lanes} {left}, {lanes} {right}")
    return Value(code, emitted, kind, width)


def convert(instruction: str, x: Value, kind: str) -> Value:
    """Convert a value by an LLVM instruction: sext, zext, trunc, bitcast, sitofp, ptrtoint, ..."""
    text = f"{instruction} {TYPES[x.kind, x.width]} {x.ref} to {TYPES[kind, x.width]}"
    return Value(x.code, x.code.emit(text), kind, x.width)


def least(a: Value, b) -> Value:
    """The smaller of two integers."""
    return select(a < b, a, b)


def greatest(a: Value, b) -> Value:
    return select(a > b, a, b)


def lane(x: Value, k: Value | int) -> Value:
    """One lane of a value."""
    name = x.code.emit(f"extractelement {TYPES[x.kind, x.width]} {x.ref}, i64 {operand_text(k, 'i64', 1)}")
    return Value(x.code, name, x.kind, 1)


def mask(code: Code, lanes: Sequence[bool]) -> Value:
    """A constant i1 on each lane."""
    return Value(code, f"<{', '.join(f'i1 {str(holds).lower()}' for holds in lanes)}>", I1, len(lanes))
