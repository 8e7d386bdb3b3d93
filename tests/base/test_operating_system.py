"""Programs compile and run in processes that lack what macOS and Windows lack, and their kernels become object code for these and for
arm64: the tests themselves run on Linux, on any processor."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tapediff.base import operating_system

ROOT = Path(__file__).parents[2]

# Everything else that is imported is not under test, and knows which system it is on.
IMPORTS = """
import concurrent.futures, ctypes, gc, multiprocessing, os, platform, secrets, subprocess, sys, tempfile, types
import llvmlite.binding as llvm, numba, numpy as np, scipy.linalg, scipy.special
import scipy.linalg.cython_blas, scipy.linalg.cython_lapack, scipy.special.cython_special
"""

# Aligned memory begins 64 bytes behind what the heap of Linux gave, so that no other function can free or enlarge it.
WINDOWS = '''
text = """declare ptr @malloc(i64)
declare ptr @realloc(ptr, i64)
declare void @free(ptr)
@used = global i64 0
define ptr @taken(ptr %block) {
%before = load i64, ptr @used
%after = add i64 %before, 1
store i64 %after, ptr @used
%memory = getelementptr i8, ptr %block, i64 64
ret ptr %memory
}
define ptr @_aligned_malloc(i64 %bytes, i64 %alignment) {
%more = add i64 %bytes, 64
%block = call ptr @malloc(i64 %more)
%memory = call ptr @taken(ptr %block)
ret ptr %memory
}
define ptr @_aligned_realloc(ptr %memory, i64 %bytes, i64 %alignment) {
%more = add i64 %bytes, 64
%block = getelementptr i8, ptr %memory, i64 -64
%new = icmp eq ptr %memory, null
%held = select i1 %new, ptr null, ptr %block
%grown = call ptr @realloc(ptr %held, i64 %more)
%given = call ptr @taken(ptr %grown)
ret ptr %given
}
define void @_aligned_free(ptr %memory) {
%block = getelementptr i8, ptr %memory, i64 -64
%none = icmp eq ptr %memory, null
%held = select i1 %none, ptr null, ptr %block
call void @free(ptr %held)
ret void
}
define i64 @heap_uses() {
%count = load i64, ptr @used
ret i64 %count
}"""
llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
linker = llvm.create_lljit_compiler()
builder, names = llvm.JITLibraryBuilder().add_ir(text).add_current_process(), ("_aligned_malloc", "_aligned_realloc", "_aligned_free")
for name in (*names, "heap_uses"):
    builder.export_symbol(name)
heap = builder.link(linker, "heap")
heap_uses = ctypes.CFUNCTYPE(ctypes.c_int64)(heap["heap_uses"])
C_LIBRARY = types.SimpleNamespace(**{name: ctypes.CFUNCTYPE(None)(heap[name]) for name in names})
load = ctypes.CDLL

def only_named(name, *arguments, **named):
    if name is None:
        raise TypeError("LoadLibrary() argument 1 must be str, not None")
    return C_LIBRARY if name == "ucrtbase" else load(name, *arguments, **named)

ctypes.CDLL = only_named
sys.platform = "win32"
sys.modules["resource"] = None
for name in ("geteuid", "getuid", "fork", "register_at_fork", "sysconf", "sysconf_names", "sched_getaffinity", "O_NOFOLLOW", "O_DIRECTORY",
             "O_CLOEXEC", "O_NONBLOCK", "mkfifo"):
    delattr(os, name)
os.supports_dir_fd = os.supports_fd = set()
'''

# Of the clocks, the monotonic one has another number; LLVM cannot tell the features of some processors.
MACOS = """
def unknown():
    raise RuntimeError("failed to get host cpu features")

heap_uses = lambda: 1
sys.platform = "darwin"
platform.machine = lambda: "arm64"
llvm.get_host_cpu_features = unknown
del os.sched_getaffinity
"""

LINUX_ON_ARM = """
def few():
    return types.SimpleNamespace(flatten=lambda: "+neon")

heap_uses = lambda: 1
platform.machine = lambda: "aarch64"
llvm.get_host_cpu_features = few
"""

PROGRAM = """
import tapediff as td
from benchmarks.kernel_texts import collected

@td.subtape
def huber(r):
    return 0.5 * r * r if abs(r) < 1 else abs(r) - 0.5

def loops(x):
    carry, _ = td.scan(lambda c, v: (np.sin(c) + huber(v), None), 0.0, x)
    grown = td.while_loop(lambda s: s < 20.0, lambda s: s * 1.5 + 0.1 * np.cos(s), x[0] + 3.0)
    return carry + grown + td.special.gammaln(x**2 + 1.5).sum()

def matrices(x):
    matrix = np.outer(x, x) + 9 * np.eye(len(x))
    return np.sum(np.linalg.solve(matrix, x)) + np.sum(np.log(np.linalg.eigvalsh(matrix))) + np.linalg.slogdet(matrix)[1]

def large(x):
    # A workspace of more than 32 kB, which lies on the heap.
    grid = np.sin(np.add.outer(np.linspace(0, 1, 90), x[0] * np.linspace(0, 1, 90)))
    return np.sum(grid @ grid.T * 1e-3) + x[1] if x[1] > 0 else x[2]

def long(x):
    # Long enough to look at the clock, first after 128 iterations.
    return td.fori_loop(0, 5_000, lambda i, c: np.sin(c) + x[0], x[1]) + np.sum(x)

def run():
    for f in (loops, matrices, large, long):
        guarded = td.GuardedTape(f)
        for x in (np.array([0.3, 1.7, -0.4, 2.0]), np.array([0.5, -1.0, 0.2, 0.1])):
            value, gradient = td.value_and_gradient(guarded, x)
            h = 1e-6
            differences = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(4)] if f is not long else gradient
            # Values of size 100 at most, rounded to 1e-16 and divided by 1e-6; `large` sums 8100 squares.
            assert np.allclose(gradient, differences, rtol=1e-6, atol=1e-6), (f, gradient, differences)
            assert np.isclose(value, f(x), rtol=1e-12), f

    rows = np.random.default_rng(0).normal(size=(64, 4))
    values, gradients = td.compile(lambda x: np.sum(np.exp(x) * x), rows[0]).batch(rows)
    # A few roundings of numbers up to 100.
    assert np.allclose(gradients, np.exp(rows) * (1 + rows), rtol=1e-12)

with collected() as texts:
    run()
gc.collect()
assert heap_uses(), "nothing took aligned memory"
"""

# Every text once more for a processor of that system; and the functions that its object code calls.
CROSS_COMPILED = """
import struct
from tapediff.compiler.jit import native_function

def undefined(code):
    if code[:4] == b"\\x7fELF":
        sections = {s.name(): s.data() for s in llvm.ObjectFileRef.from_data(code).sections()}
        names, symbols = sections[b".strtab"], struct.iter_unpack("<IBBHQQ", sections[b".symtab"])
        found = [name for name, _, _, section, _, _ in symbols if name and section == 0]
    else:
        # Mach-O: load commands behind a header of 32 bytes; of symbols, those that are in no section.
        at = 32
        while code[at:at + 4] != b"\\2\\0\\0\\0":
            at += struct.unpack_from("<I", code, at + 4)[0]
        first, count, start, size = struct.unpack_from("<4I", code, at + 8)
        names = code[start:start + size]
        found = [name + 1 for name, type_, _, _, _ in struct.iter_unpack("<IBBHQ", code[first:first + 16 * count]) if not type_ & 14]
    return {names[name:names.index(b"\\0", name)].decode() for name in found}

llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
machine = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=CPU, features=FEATURES, jit=True)
needed = set()
for text in texts:
    code = machine.emit_object(native_function.optimised(text))
    needed |= undefined(code)
# Python has what begins with Py, if it is there here; those that begin with tapediff are handed over by their addresses.
needed = {name for name in needed if not (name.startswith("tapediff_") or name[:2] == "Py" and hasattr(ctypes.pythonapi, name))}
print(len(texts) > 20, *sorted(needed))
"""

# What every C library has and LLVM may call; macOS has a function of its own for zeros.
C = {"memcmp", "memcpy", "memset", "bzero", "pow", "sin", "cos"}
POSIX = {"aligned_alloc", "free", "realloc", "clock_gettime"}
SYSTEMS = {
    "Windows": (WINDOWS, "x86_64-pc-windows-msvc-elf", {"_aligned_malloc", "_aligned_realloc", "_aligned_free", "__chkstk"}),
    "macOS": (MACOS, "arm64-apple-darwin", POSIX),
    "Linux on arm64": (LINUX_ON_ARM, "aarch64-unknown-linux-gnu", POSIX),
}


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.slow
def test_programs_compile_and_run_without_what_other_systems_lack(system, tmp_path):
    """Values and gradients by central differences; kernels call no function that the system does not have; a directory for the cache is
    named, which Windows has to leave alone."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TAPEDIFF_CACHE_DIR": str(tmp_path / "cache")}
    stripped, triple, expected = SYSTEMS[system]
    # The processor of this machine, for texts that were written for it.
    target = f"TRIPLE = {triple!r}\nCPU, FEATURES = {'native_function.processor()' if triple.startswith('x86') else ('', '')}"
    program = PROGRAM + CROSS_COMPILED.replace("llvm.initialize_all_targets()", target + "\nllvm.initialize_all_targets()")
    found = subprocess.run(
        [sys.executable, "-W", "error", "-c", IMPORTS + stripped + program], capture_output=True, text=True, env=environment, timeout=600
    )
    assert found.returncode == 0, found.stderr
    many, *needed = found.stdout.split()
    assert many == "True"
    assert expected <= set(needed) <= expected | C
    assert (tmp_path / "cache").exists() == (system != "Windows")


LITTLE = """
import resource, sys
import numpy as np
import tapediff as td

x = np.linspace(0.1, 1.0, 5)
f = lambda x: np.sum(np.tanh(x) ** 2)
first = {"replayed": lambda: td.gradient(f, x), "compiled": lambda: td.gradient(td.compile(f, x), x)}[sys.argv[1]]
held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limit, hard = resource.getrlimit(resource.RLIMIT_AS)
for megabytes in map(float, sys.argv[2:]):
    resource.setrlimit(resource.RLIMIT_AS, (int(held + megabytes * 2**20), hard))
    try:
        first()
    except MemoryError:
        pass
    assert not sys.modules["tapediff.recording.recorder"].is_recording() if "tapediff.recording.recorder" in sys.modules else True
resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
t = np.tanh(x)
np.testing.assert_allclose(first(), 2 * t * (1 - t * t), rtol=1e-13)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="how much memory a process has is read from /proc")
@pytest.mark.parametrize("first", ["replayed", "compiled"])
def test_too_little_memory_at_the_first_gradient_is_a_memory_error(first):
    """What is imported then fails in many ways: SystemError, ImportError, SyntaxError. With enough, later calls are right.

    CPython itself ends a process that has no memory left for an exception: those limits are no test of this package.
    """
    megabytes = ["0.3", "1", "3", "8", "20", "40"]
    while True:
        done = subprocess.run([sys.executable, "-c", LITTLE, first, *megabytes], capture_output=True, text=True)
        if "Cannot recover from MemoryErrors" not in done.stderr:
            break
        megabytes = megabytes[1:]
    assert megabytes
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("error", operating_system.IMPORT_FAILURES)
def test_a_failed_import_is_a_memory_error_only_where_memory_is_short(error, monkeypatch):
    """In a recording, in what is compiled, and in the loading of the package's own names."""

    def failing(*_):
        raise error("initialization failed")

    import tapediff as td
    from tapediff.recording.python_state.gc_pause import without_collections

    monkeypatch.setattr(td, "import_module", failing)
    calls = [lambda: td.record(failing, 1.0), lambda: without_collections(failing), lambda: td._load("gradient")]
    for call in calls:
        with pytest.raises(error, match="initialization failed"):
            call()
    monkeypatch.setattr(operating_system, "_ROOM", 1 << 62)
    for call in calls:
        with pytest.raises(MemoryError, match=f"{error.__name__}: initialization failed"):
            call()
