"""Calls of the C loops of numpy.fft's ufuncs, which take arrays by address, with Python equivalents."""

from __future__ import annotations

import struct

import numpy as np

from ...ops.matrices.fourier import LOOPS
from ..math.simd import Code

# The data argument of a loop: whether a complex transform is the forward one.
_FORWARD = {0: 1, 1: 0}


def bits_of(number: float) -> int:
    """The bits of a float factor, to pass it among a routine's integer sizes."""
    return struct.unpack("<q", struct.pack("<d", number))[0]


def _factor(bits: int) -> float:
    return struct.unpack("<d", struct.pack("<q", bits))[0]


def _integers(code: Code, values: tuple[int, ...]) -> str:
    """The address of constant integers."""
    name = "tapediff_longs_" + "_".join(map(str, values))
    code.declare(f"@{name} = private unnamed_addr constant [{len(values)} x i64] [{', '.join(f'i64 {v}' for v in values)}]")
    return f"@{name}"


def fourier(code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int) -> None:
    """Transform `count` lines of `n_in` entries to `n_out`. Sizes: the strides of lines and entries in doubles, the factor's bits."""
    kind, count, n_in, n_out, *strides, bits = sizes
    line_in, line_out, entry_in, entry_out = (8 * s for s in strides)
    symbol = f"tapediff_fourier_{LOOPS[kind].__name__}"
    code.symbols.add(symbol)
    code.declare(f"declare void @{symbol}(ptr, ptr, ptr, ptr)")
    factor = f"@tapediff_factor_{bits & (2**64 - 1):x}"
    code.declare(f"{factor} = private unnamed_addr constant i64 {bits}")
    arrays = f"%arrays{number}"
    slots.append(f"{arrays} = alloca [3 x ptr]")
    for k, address in enumerate((operands[0], factor, result)):
        place = code.emit(f"getelementptr ptr, ptr {arrays}, i64 {k}")
        code.line(f"store ptr {address}, ptr {place}")
    data = "null"
    if kind in _FORWARD:
        data = f"@tapediff_forward_{_FORWARD[kind]}"
        code.declare(f"{data} = private unnamed_addr constant i8 {_FORWARD[kind]}")
    extents = _integers(code, (count, n_in, n_out))
    steps = _integers(code, (line_in, 0, line_out, entry_in, entry_out))
    code.line(f"call void @{symbol}(ptr {arrays}, ptr {extents}, ptr {steps}, ptr {data})")


def fourier_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> None:
    kind, count, n_in, n_out, *strides, bits = sizes
    lines, entries = strides[:2], strides[2:]
    given, made = (
        np.lib.stride_tricks.as_strided(
            array.view(np.complex128) if is_complex else array, (count, n), [8 * s for s in steps], writeable=True
        )
        for array, n, steps, is_complex in (
            (operands[0][: _even(operands[0])], n_in, (lines[0], entries[0]), kind in (0, 1, 4)),
            (result[: _even(result)], n_out, (lines[1], entries[1]), kind != 4),
        )
    )
    LOOPS[kind](given, _factor(bits), made)


def _even(array: np.ndarray) -> int:
    return len(array) - len(array) % 2
