"""Native loops around one function over lanes, for the tests of the lowering's scalar functions."""

import ctypes
from itertools import count

import numpy as np

from tapediff.compiler.jit.native_function import NativeFunction
from tapediff.compiler.math.simd import Code, Value, to_f64

_numbers = count()


def loop_text(function, arguments=1, width=8, name="run"):
    """LLVM text of `void name(ptr x0, ..., ptr out, i64 n)`, out[i] = function(x0[i], ...), and its Code."""
    lanes = "double" if width == 1 else f"<{width} x double>"
    code = Code("body")
    values = []
    for k in range(arguments):
        place = code.emit(f"getelementptr double, ptr %x{k}, i64 %i")
        values.append(Value(code, code.emit(f"load {lanes}, ptr {place}, align 8"), "f64", width))
    result = to_f64(function(*values))
    place = code.emit("getelementptr double, ptr %out, i64 %i")
    code.line(f"store {lanes} {result.ref}, ptr {place}, align 8")
    parameters = "".join(f"ptr noalias %x{k}, " for k in range(arguments))
    declarations, body = "\n".join(code.declarations), "\n".join(code.lines)
    text = f"""{declarations}
define void @{name}({parameters}ptr noalias %out, i64 %n) nounwind {{
entry:
br label %body
body:
%i = phi i64 [ 0, %entry ], [ %next, %{code.block} ]
{body}
%next = add i64 %i, {width}
%more = icmp ult i64 %next, %n
br i1 %more, label %body, label %end
end:
ret void
}}"""
    return text, code


def native(function, arguments=1, width=8):
    """The loop as a Python function of float64 vectors; the vectors are filled up with ones to a multiple of width."""
    name = f"loop_{next(_numbers)}"
    text, code = loop_text(function, arguments, width, name)
    compiled = NativeFunction(text, name, code.symbols)
    entry = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (arguments + 1), ctypes.c_int64)(compiled.address)

    def run(*vectors):
        size = vectors[0].size
        padding = np.ones(-size % width)
        padded = [np.concatenate([vector, padding]) for vector in vectors]
        out = np.empty_like(padded[0])
        entry(*[vector.ctypes.data for vector in padded], out.ctypes.data, out.size)
        return out[:size]

    run.entry, run.compiled = entry, compiled
    return run
