"""From LLVM text to native code, where LLVM itself goes wrong; a random program of test_control_fuzz met it."""

import ctypes

import numpy as np
import pytest

from tapediff.compiler.jit.native_function import NativeFunction

# Two halves of an array on the stack, the second stored before the first is computed, and read as one.
HALVES = """define void @halves(ptr %from, ptr %to) {
entry:
%array = alloca [32 x i8], align 64
%second = getelementptr double, ptr %array, i64 2
%a = load <2 x double>, ptr %from, align 8
store <2 x double> %a, ptr %second, align 8
%rest = getelementptr double, ptr %from, i64 2
%b = load <2 x double>, ptr %rest, align 8
store <2 x double> %b, ptr %array, align 8
%whole = load <4 x double>, ptr %array, align 8
store <4 x double> %whole, ptr %to, align 8
ret void
}"""


@pytest.mark.parametrize("quickly", [False, True])
def test_parts_stored_in_any_order_are_joined(quickly):
    """LLVM 22 makes code of this that uses a value before it is there, and then aborts the process."""
    function = NativeFunction(HALVES, "halves", set(), quickly=quickly)
    given, received = np.arange(4.0), np.zeros(4)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(function.address)(given.ctypes.data, received.ctypes.data)
    assert received.tolist() == [2.0, 3.0, 0.0, 1.0]
