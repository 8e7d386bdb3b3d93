"""From LLVM text to native code, where LLVM itself goes wrong; a random program of test_control_fuzz met it."""

import ctypes
import subprocess
import sys

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


INTERRUPTED = """
import ctypes, signal, sys
from pathlib import Path
import llvmlite
from tapediff.base.fork_locks import LLVM_LOCK, _llvm_locks
from tapediff.compiler.jit.native_function import NativeFunction, assembly
from tapediff.compiler.jit.toolchain import toolchain

PLACE = str(Path(llvmlite.__file__).parent)
TEXT = "define i64 @f() {{\\nret i64 {}\\n}}"


class Told(Exception):
    pass


def tell(*_):
    raise Told


signal.signal(signal.SIGTERM, tell)


def run(k, at):
    # Of one text, new to this process: made, linked, read as assembly and freed, with its linker now and then.
    count = 0

    def line(frame, event, _):
        nonlocal count
        if event == "line":
            count += 1
            if count == at:
                signal.raise_signal(signal.SIGTERM)
        return line

    trace = lambda frame, event, _: line if frame.f_code.co_filename.startswith(PLACE) else None
    sys.settrace(trace)
    try:
        made = NativeFunction(TEXT.format(k), "f", set(), quickly=k % 2 == 0)
        found = ctypes.CFUNCTYPE(ctypes.c_int64)(made.address)()
        assembly(TEXT.format(k))
        del made
        toolchain.linker._recent.clear()
    finally:
        sys.settrace(None)
    assert found == k
    return count


run(1, 0)
lines, told = run(2, 0), 0
places = range(1, lines + 1, max(1, lines // int(sys.argv[1])))
for k, at in enumerate(places, 3):
    try:
        run(k, at)
    except Told:
        told += 1
    for lock in _llvm_locks():
        assert not lock._is_owned(), lock
    assert signal.getsignal(signal.SIGTERM) is tell
run(0, 0)
print(lines, len(places), told)
"""


@pytest.mark.parametrize("places", [60])
def test_a_signal_waits_until_llvmlite_has_returned(places):
    """A handler raises at lines within llvmlite, which would free its strings twice: SIGABRT. Each is told of later, and no lock is held."""
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, str(places)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines, tried, told = map(int, done.stdout.split())
    assert lines > 300
    # But for those in a finalizer, where Python reports and drops what is raised.
    assert told > 0.7 * tried


MEMORY = """
import ctypes, gc, sys
from tapediff.compiler.jit import native_function
from tapediff.compiler.jit.native_function import object_code

native_function.MOST_CONTEXT_BYTES = 0  # so that what is left does not depend on how full one is


class Information(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]


library = ctypes.CDLL(None)
library.mallinfo2.restype = Information


def used():
    gc.collect()
    found = library.mallinfo2()
    return found.uordblks + found.hblkhd


def text(number):
    # 200 constants that no other text has.
    lines = [f"%v{k + 1} = fadd double %v{k}, 0x{(1023 << 52) + number * 1000 + k:016X}" for k in range(200)]
    return "\\n".join(["define double @f(double %v0) {", *lines, "ret double %v200", "}"])


def compile_some(first):
    for number in range(first, first + 30):
        object_code(text(number), True)


compile_some(0)
before = used()
compile_some(100)
print((used() - before) / 30)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="only glibc tells how much memory is in use")
def test_what_a_text_is_made_of_is_freed():
    """LLVM's context keeps constants and types for ever, 50 kB of a text of 10 kB. 3 kB a text remain: llvmlite's pass builders free not all."""
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 10_000
