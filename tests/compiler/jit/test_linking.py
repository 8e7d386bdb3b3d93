"""Code is found again while it is there, and linked code that goes leaves little behind."""

import gc
import subprocess
import sys

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler.jit.toolchain import toolchain
from tapediff.recording.python_state.process_state import process


def kernel_of(factor):
    compiled = td.compile(lambda x: np.sum(np.exp(x) * factor), np.ones(3))
    return compiled, compiled.kernel((0,))


def test_equal_programs_share_their_code_and_different_ones_do_not():
    """Also one that is compiled after all others of its kind are gone; states are never shared."""
    one, two, other = kernel_of(2.0), kernel_of(2.0), kernel_of(3.0)
    address = one[1]._native.address
    assert two[1]._native.address == address != other[1]._native.address
    assert one[1].state is not two[1].state
    del one, two
    again, kernel = kernel_of(2.0)
    assert kernel._native.address == address
    x = np.array([0.1, 0.2, 0.3])
    # The same operations in the same order as NumPy's, but for exp, which is within 1 ulp.
    np.testing.assert_allclose(td.gradient(again, x), 2 * np.exp(x), rtol=1e-15)
    np.testing.assert_allclose(td.gradient(other[0], x), 3 * np.exp(x), rtol=1e-15)


@pytest.mark.slow
def test_compiling_leaves_little_behind():
    """Nothing where the program was compiled before, and less than 6 kB where it was not: what LLVM keeps of its pass builders."""
    program = """
import ctypes, gc
import numpy as np
import tapediff as td
from tapediff.compiler.jit import linking

linking.MOST_CODE_BYTES = 1 << 14  # so that it is full from the start

def bytes_held():
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

def compile_many(factors):
    for factor in factors:
        compiled = td.compile(lambda x: np.sum(np.exp(x) * factor), np.ones(3))
        td.gradient(compiled, np.ones(3))

for factors in (lambda start, n: [0.5] * n, lambda start, n: start + np.arange(float(n))):
    compile_many(factors(1e3, 100))
    before = bytes_held()
    compile_many(factors(1e6, 250))
    print((bytes_held() - before) // 250)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True)
    same, different = map(int, result.stdout.split())
    assert same < 1000
    # 4 kB, and a page here and there.
    assert different < 6000


def sizes_of_tables():
    """How many entries each dict, list, set and unbounded cache of the package's modules has."""
    sizes = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("tapediff") and module is not None:
            for key, value in list(vars(module).items()):
                if hasattr(value, "cache_info"):
                    # Others have a bound.
                    if value.cache_info().maxsize is None:
                        sizes[name, key] = value.cache_info().currsize
                elif not key.startswith("__") and hasattr(type(value), "__len__") and not isinstance(value, (str, bytes)):
                    sizes[name, key] = len(value)
    for each in (toolchain, toolchain.linker, process):
        for key in getattr(each, "__slots__", None) or vars(each):
            value = getattr(each, key)
            if hasattr(type(value), "__len__"):
                sizes[type(each).__name__, key] = len(value)
    return sizes


@pytest.mark.slow
def test_new_programs_leave_no_entries_in_tables():
    """But where their number is bounded: 60 programs with sub-tapes and guards, each function of a text of its own."""
    x = np.array([0.7, 1.3])

    def run(numbers):
        for k in numbers:
            steps = "\n".join(f"    s = s * v[1] + {k + 1.5} * v[{n % 2}]" for n in range(k % 50))
            names = {"td": td, "x": x}
            exec(f"def part{k}(v):\n    s = v[0]\n{steps}\n    return s if s > 0 else -s", names)
            part = td.subtape(names[f"part{k}"])
            td.gradient(td.compile(lambda v: part(v) * v[0], x), x)
            td.gradient(td.GuardedTape(names[f"part{k}"]), x)
        gc.collect()

    run(range(100, 120))
    before = sizes_of_tables()
    run(range(60))
    after = sizes_of_tables()
    grown = {key: after[key] - before.get(key, 0) for key in after if after[key] - before.get(key, 0) >= 50}
    # In bytes, to 1000 entries, and to code that something else keeps.
    bounded = {("Linker", "_codes"), ("ProcessState", "names_in_code"), ("tapediff.functions.state_changes", "_seen"),
               ("tapediff.flow.calls.callables", "_functions")}  # fmt: skip
    # Translations of code are kept as long as the process, without a bound.
    kept = {("tapediff.flow.translate", name) for name in ("_known", "_made", "_variables", "_stored")}
    assert not set(grown) - bounded - kept, grown
