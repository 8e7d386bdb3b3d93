"""Object code loaded without LLVM: what is in memory then, and what is left to LLVM's linker."""

import ctypes
import gc
from pathlib import Path

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler.jit import image, linking
from tapediff.compiler.jit.native_function import object_code
from tapediff.compiler.jit.toolchain import toolchain

pytestmark = pytest.mark.skipif(not image.IS_LOADED_HERE, reason="LLVM links all code on this system")

# A constant in memory, a function of the C library, a symbol with a given address, and a call of its own.
TEXT = """
declare i64 @labs(i64) nounwind
@given = external global i64
@table = private constant [2 x i64] [i64 40, i64 2], align 64
define internal i64 @sum(i64 %k) noinline nounwind {
  %place = getelementptr i64, ptr @table, i64 %k
  %entry = load i64, ptr %place
  ret i64 %entry
}
define i64 @answer(i64 %k) nounwind {
  %entry = call i64 @sum(i64 %k)
  %size = call i64 @labs(i64 -1000)
  %added = load i64, ptr @given
  %first = add i64 %entry, %size
  %whole = add i64 %first, %added
  ret i64 %whole
}
"""


def code():
    return object_code(TEXT, False)


def test_code_runs_with_constants_and_symbols_of_the_process():
    number = ctypes.c_int64(30_000)
    loaded = image.Image(code(), {"given": ctypes.addressof(number)})
    answer = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(loaded["answer"])
    assert [answer(k) for k in (0, 1)] == [31_040, 31_002]


def access(address):
    """The permissions of the memory at an address; None where there is none. The system joins neighbouring pages."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        (start, end), permissions = (int(part, 16) for part in line.split()[0].split("-")), line.split()[1]
        if start <= address < end:
            return permissions
    return None


def test_pages_of_code_cannot_be_written_and_go_with_the_image():
    loaded = image.Image(code(), {"given": 0})
    address = loaded["answer"]
    assert access(address) == "r-xp"
    del loaded
    gc.collect()
    assert access(address) is None


@pytest.mark.parametrize("length", [0, 10, 63, 200, -100])
def test_half_an_object_file_is_refused(length):
    with pytest.raises(image.NotLoaded):
        image.Image(code()[:length], {"given": 0})


@pytest.mark.parametrize(("text", "why"), [
    ("declare void @no_such_function_anywhere() nounwind\ndefine void @f() nounwind {\ncall void @no_such_function_anywhere()\nret void\n}", "no_such"),
    ("declare void @abort()\ndefine void @f() {\ncall void @abort()\nret void\n}", "written"),  # has unwind tables
    ("@counter = global i64 0\ndefine i64 @f() {\n%v = load i64, ptr @counter\nret i64 %v\n}", "written"),
])  # fmt: skip
def test_what_only_llvm_links_is_refused(text, why):
    with pytest.raises(image.NotLoaded, match=why):
        image.Image(object_code(text, False), {})


def test_another_machine_is_refused():
    content = bytearray(code())
    content[18] = 183  # arm64
    with pytest.raises(image.NotLoaded):
        image.Image(bytes(content), {"given": 0})


def test_llvms_linker_gives_the_same_bits(monkeypatch):
    """A kernel of loops, routines and functions of the C library, linked by the one and by the other."""
    x = np.linspace(0.5, 1.5, 5)

    def f(x):
        return np.sum(np.exp(x) ** x) + np.sum(np.linalg.solve(np.outer(x, x) + 9 * np.eye(5), x)) + np.sum(np.sort(-x) * np.arange(5))

    found = []
    for is_loaded in (True, False):
        monkeypatch.setattr(linking, "IS_LOADED_HERE", is_loaded)
        monkeypatch.setattr(toolchain, "linker", linking.Linker())
        compiled = td.compile(f, x)
        found.append(td.value_and_gradient(compiled, x))
        unit = compiled.kernel((0,))._native._library._unit
        assert isinstance(unit, image.Image) == is_loaded
    assert found[0][0] == found[1][0]
    np.testing.assert_array_equal(found[0][1], found[1][1])
