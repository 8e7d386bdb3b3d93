"""Random bits over lanes: Threefry-2x32, in registers of 32-bit words; see ops/elementwise/counter_based.py."""

from __future__ import annotations

from ...ops.elementwise.counter_based import ALMOST_ONE, EXPONENT, PARITY, ROTATIONS
from ..llvm.values import TYPES, Value, operand_text, type_of, widest
from .simd import from_bits


def random_bits(first, second, counter) -> Value:
    """64 random bits, from a counter and a key of two words; all are i64."""
    code, width = widest((first, second, counter))
    lanes = TYPES["i64", width]
    code.declare(_rotation(width))
    code.declare(_definition(width))
    arguments = ", ".join(f"{lanes} {operand_text(operand, 'i64', width)}" for operand in (first, second, counter))
    return Value(code, code.emit(f"call {lanes} @tapediff_threefry_v{width}({arguments})"), "i64", width)


def random_unit(first, second, counter) -> Value:
    """An odd multiple of 2**-53 in (0, 1)."""
    return from_bits(random_bits(first, second, counter).lshr(12) | EXPONENT) - ALMOST_ONE


def _rotation(width: int) -> str:
    words = type_of("i32", width)
    return f"declare {words} {_rotate(width)}({words}, {words}, {words})"


def _rotate(width: int) -> str:
    return "@llvm.fshl.i32" if width == 1 else f"@llvm.fshl.v{width}i32"


def _constant(number: int, width: int) -> str:
    number = number - (1 << 32) if number >> 31 else number
    return str(number) if width == 1 else f"splat (i32 {number})"


def _definition(width: int) -> str:
    """Twenty rounds, as one function of the module: inlined at every draw they would dominate compile time."""
    lanes, words = TYPES["i64", width], type_of("i32", width)
    arguments = f"{lanes} %first, {lanes} %second, {lanes} %counter"
    lines = [f"define internal {lanes} @tapediff_threefry_v{width}({arguments}) nounwind willreturn memory(none) {{"]
    number = 0

    def emit(text: str) -> str:
        nonlocal number
        number += 1
        lines.append(f"%t{number} = {text}")
        return f"%t{number}"

    keys = [emit(f"trunc {lanes} %{name} to {words}") for name in ("first", "second")]
    keys.append(emit(f"xor {words} {emit(f'xor {words} {keys[0]}, {keys[1]}')}, {_constant(PARITY, width)}"))
    wide_32 = "32" if width == 1 else "splat (i64 32)"
    high = emit(f"lshr {lanes} %counter, {wide_32}")
    x = emit(f"add {words} {emit(f'trunc {lanes} %counter to {words}')}, {keys[0]}")
    y = emit(f"add {words} {emit(f'trunc {lanes} {high} to {words}')}, {keys[1]}")
    for block in range(5):
        for rotation in ROTATIONS[:4] if block % 2 == 0 else ROTATIONS[4:]:
            x = emit(f"add {words} {x}, {y}")
            y = emit(f"call {words} {_rotate(width)}({words} {y}, {words} {y}, {words} {_constant(rotation, width)})")
            y = emit(f"xor {words} {y}, {x}")
        x = emit(f"add {words} {x}, {keys[(block + 1) % 3]}")
        y = emit(f"add {words} {emit(f'add {words} {y}, {keys[(block + 2) % 3]}')}, {_constant(block + 1, width)}")
    top = emit(f"shl {lanes} {emit(f'zext {words} {x} to {lanes}')}, {wide_32}")
    lines.append(f"%bits = or {lanes} {top}, {emit(f'zext {words} {y} to {lanes}')}")
    return "\n".join([*lines, f"ret {lanes} %bits", "}"])
