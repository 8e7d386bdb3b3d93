"""Every op of the registry, none of them named: what numba compiles gives what NumPy's replay and the native kernel give.

Several ops share a tape, as numba takes a quarter of a second for each function. By default one case of each op is run; with
TAPEDIFF_NUMBA_ALL=1 in the environment all cases, which takes two minutes.
"""

import os

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler.kernel import Kernel
from tapediff.compiler.numba_backend.kernel import NumbaKernel
from tapediff.ir.interpreter import run
from tapediff.ops import REGISTRY
from tapediff.passes.pipeline import run_passes
from tests.ops.test_ops import assert_close, cases

ALL = bool(os.environ.get("TAPEDIFF_NUMBA_ALL"))
OPS = sorted(REGISTRY)
# The C library's functions are within an ulp or two, the native kernel's within 4; sums of a few dozen terms are taken in another order.
TOLERANCE = 2e-13
TOGETHER = 25


def chosen(name):
    """All cases of an op, or the last one that has an axis."""
    found = cases(name)
    return found if ALL else found[-1:] if REGISTRY[name].examples is not None else found[-2:-1]


CASES = [(name, *case) for name in OPS for case in chosen(name)]
CHUNKS = [CASES[k : k + TOGETHER] for k in range(0, len(CASES), TOGETHER)]


def together(chunk):
    """One function of the arguments of several cases, one after the other, that returns all their results."""

    def call(*arguments):
        results, first = [], 0
        for _, function, arrays in chunk:
            results.append(function(*arguments[first : first + len(arrays)]))
            first += len(arrays)
        return tuple(results)

    arrays = [np.asarray(array) for _, _, given in chunk for array in given]
    return td.record(call, *[a if a.dtype.kind == "f" else td.Constant(a) for a in arrays]), arrays


@pytest.mark.slow
@pytest.mark.parametrize("chunk", CHUNKS, ids=[f"{chunk[0][0]}-{chunk[-1][0]}" for chunk in CHUNKS])
def test_numba_and_native_kernels_give_what_numpy_gives(chunk):
    recorded, arrays = together(chunk)
    tape = run_passes(recorded)
    expected = run(recorded, arrays)
    native, numba = Kernel(tape), NumbaKernel(tape)
    for kernel in (native, numba):
        inputs = [a.astype(t.dtype) for a, t in zip(arrays, kernel.input_types)]
        outputs = kernel.fresh_outputs()
        value = kernel.call(*inputs, *outputs)
        assert type(value) is float, value
        found = [np.array(value), *outputs] if kernel.returns_value else outputs
        for (name, *_), result, wanted in zip(chunk, found, expected):
            # Floats of 32 bits come in 64, and are rounded by the caller of a kernel.
            wanted = np.asarray(wanted)
            assert_close(result.astype(wanted.dtype), wanted, TOLERANCE, f"{name} by {type(kernel).__name__}")
