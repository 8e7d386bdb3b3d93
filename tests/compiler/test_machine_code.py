"""The loop of every elementwise op runs on packed registers, without calls on the usual path."""

import re

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler.jit.native_function import assembly
from tapediff.compiler.llvm import cpu
from tapediff.compiler.math.function_table import CALLED_BY_ELEMENT
from tapediff.ops import REGISTRY, Elementwise
from tapediff.ops.declaration.scalar_expressions import called_functions

# Those over masks and integers alone are of a few instructions, and cannot be recorded on floats.
OPS = [op for op in REGISTRY.values() if isinstance(op, Elementwise) and all(s.kind == "f" for s in op.samples)]
SCALAR_ARITHMETIC = re.compile(r"^\tv(?:add|sub|mul|div|sqrt|min|max|f\w*madd\w*|f\w*msub\w*)sd\t", re.MULTILINE)
PACKED = re.compile(r"^\tv\w+\t.*%[yz]mm", re.MULTILINE)
# A call of a scalar routine for each lane, and what stands behind it: "cold" where the usual path jumps over it.
BY_LANE = re.compile(r"^.*call [^@\n]*@tapediff_lanes_\w+\([^\n]*\)\s*(cold)?\s*$", re.MULTILINE)


@pytest.fixture(scope="module", autouse=True)
def wide_registers():
    """Processors without AVX have narrower ones, those without fused multiply-adds call the C library: nothing to look at here."""
    if not cpu.has("avx") or not cpu.has("fma"):
        pytest.skip("no registers of four numbers, or no fused multiply-add")


def machine_code(op, params):
    """LLVM text and assembly of the kernel that applies an op to 1000 numbers."""
    arguments = [sample.draw(np.random.default_rng(0), (1000,)) for sample in op.samples]
    kernel = td.compile(td.record(lambda *a: op(*a, **params), *arguments)).kernel(None)
    return kernel.llvm, assembly(kernel.llvm)


def function_of(text, name):
    """The function's part of the assembly."""
    return text[text.index(f"\n{name}:") :].split("\n.Lfunc_end")[0]


def loop_of(text):
    """The longest stretch from a label to the last jump back to it."""
    found = []
    for label in re.finditer(r"^(\.L\w+):", text, re.MULTILINE):
        back = [j.end() for j in re.finditer(rf"^\tj\w+\t{re.escape(label[1])}$", text, re.MULTILINE) if j.start() > label.end()]
        if back:
            found.append(text[label.start() : back[-1]])
    return max(found, key=len)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_elementwise_ops_run_on_packed_registers(op):
    """But for those that call a routine for every element, which stand in the function table."""
    for params in op.sample_params:
        llvm, text = machine_code(op, params)
        loop = loop_of(function_of(text, "tapediff_kernel"))
        calls = [match[1] for match in BY_LANE.finditer(llvm)]
        if not CALLED_BY_ELEMENT.isdisjoint(called_functions(op.scalar)):
            assert re.search(r"^\tcall", loop, re.MULTILINE)
            continue
        assert PACKED.search(loop)
        assert not SCALAR_ARITHMETIC.search(loop)
        assert all(call == "cold" for call in calls)
        # Cold calls may stand behind the loop.
        where = function_of(text, "tapediff_kernel") if calls else loop
        assert bool(re.search(r"^\tcall", where, re.MULTILINE)) == bool(calls)


def test_a_scalar_loop_would_be_noticed():
    """The patterns above find what they are meant to find: a call on every lane, and arithmetic on one number at a time."""
    llvm, _ = machine_code(REGISTRY["erf"], {})
    assert [match[1] for match in BY_LANE.finditer(llvm)] != ["cold"]
    running = td.compile(np.cumsum, np.ones(1000)).kernel(None)
    assert SCALAR_ARITHMETIC.search(loop_of(function_of(assembly(running.llvm), "tapediff_kernel")))
