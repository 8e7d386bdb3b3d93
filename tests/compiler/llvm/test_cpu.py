"""Kernels for processors with fewer vector instructions than this one has."""

import json
import os
import subprocess
import sys

import pytest

from tapediff.compiler.jit.native_function import assembly
from tapediff.compiler.jit.toolchain import toolchain
from tapediff.compiler.llvm import cpu

# Prints the answers of kernels as hexadecimal numbers, by what they compute; "8" gives routines on matrices vectors of eight lanes.
PROGRAM = '''
import json, sys
import numpy as np
import tapediff as td
from tapediff.compiler.jit import own_routines
from tapediff.compiler.math.function_table import CALLED_BY_ELEMENT, FUNCTIONS
from tapediff.ops import REGISTRY
from tapediff.ops.declaration.op import Elementwise
from tapediff.ops.declaration.scalar_expressions import called_functions

lanes = sys.argv[1]
if lanes:
    own_routines.has = lambda feature: lanes == "8"

rng = np.random.default_rng(0)
ops = [
    op for op in REGISTRY.values() if isinstance(op, Elementwise) and all(domain.kind == "f" for domain in op.samples)
    and not CALLED_BY_ELEMENT.intersection(called_functions(op.scalar))
]
points = [[domain.draw(rng, (37,)) for domain in op.samples] for op in ops]
elementwise = lambda points: [op(*x, **op.sample_params[-1]) for op, x in zip(ops, points)]

def softly(u, p):
    return td.scan(lambda c, x: (np.logaddexp(c * p, x),) * 2, p, u)[1]

n = 21
a, b = rng.normal(size=(n, n)) + n * np.eye(n), rng.normal(size=(n, 5))
stack, right = rng.normal(size=(11, 3, 3)) + 4 * np.eye(3), rng.normal(size=(11, 3, 2))
square = lambda a: a + np.swapaxes(a, -1, -2)
answers = {op.name: value for op, value in zip(ops, td.compile(elementwise, points)(points))}
for name, (f, x) in {
    "Cholesky factor": (lambda x: np.linalg.cholesky(square(x)), (a,)),
    "triangular solve": (lambda x, y: td.linalg.solve_triangular(x, y, lower=True), (a, b)),
    "product": (lambda x, y: x @ y, (a, b)),
    "factors of a stack": (lambda x: np.linalg.cholesky(square(x)), (stack,)),
    "solutions of a stack": (np.linalg.solve, (stack, right)),
    "inverses": (np.linalg.inv, (stack,)),
    "sparse product": (lambda x, y: td.sparse.coo_array((x, ([0, 1, 1, 3, 3, 4], [1, 0, 3, 2, 4, 0])), shape=(5, n)) @ y, (b[:6, 0], b)),
    "sums": (lambda x: np.sum(x, 0) + np.cumsum(x, 1) + np.sum(x), (a,)),
    "rows in lanes": (lambda x: td.scan(lambda u, p: (softly(u, p), None), x[0], x[1:, 3])[0], (a / n,)),
}.items():
    answers[name] = td.value_and_gradient(td.compile(lambda *x, f=f: np.sum(np.sin(f(*x))), *x), *x)
flat = lambda value: [y for x in value for y in flat(x)] if isinstance(value, (tuple, list)) else [float(x).hex() for x in np.ravel(value)]
print(json.dumps({name: flat(value) for name, value in answers.items()}))
'''


def answers(features, lanes=""):
    """The answers in a process whose kernels are compiled with these changes to the processor's features."""
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, lanes], env={**os.environ, "TAPEDIFF_CPU_FEATURES": features}, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.fixture(scope="module")
def by_all_features():
    return answers("", "4")


@pytest.mark.skipif(not cpu.is_x86(), reason="names of x86's features")
@pytest.mark.parametrize(
    ("features", "lanes"), [("", "8"), ("-avx512f", ""), ("-avx512f,-avx2,-fma", ""), ("-avx512f,-avx2,-fma,-avx", "")],
    ids=["vectors of eight", "no AVX-512", "no AVX2, no FMA", "SSE only"],
)  # fmt: skip
def test_the_bits_do_not_depend_on_the_processors_features(by_all_features, features, lanes):
    """Of every function of tapediff's own, on lanes and on matrices: a fused multiply-add is one also where the C library computes it, and
    sums keep their order in vectors of any length.
    """
    found = answers(features, lanes)
    assert len(found) > 60
    assert [name for name, value in found.items() if value != by_all_features[name]] == []


@pytest.mark.skipif(not cpu.is_x86(), reason="names of x86's features")
def test_a_feature_that_is_taken_away_is_not_used(monkeypatch):
    """Neither by LLVM, for which those go as well that build on it, nor by what asks for it here."""
    monkeypatch.setenv("TAPEDIFF_CPU_FEATURES", "+sse4.2,-avx,-avx2")
    monkeypatch.setattr(toolchain, "machines", None)
    for asked in (cpu.processor, cpu._here):
        asked.cache_clear()
    try:
        assert cpu.has("sse4.2")
        assert not cpu.has("avx2")
        text = "define <4 x double> @f(<4 x double> %x) {\n%y = fadd <4 x double> %x, %x\nret <4 x double> %y\n}"
        assert "ymm" not in assembly(text)
    finally:
        for asked in (cpu.processor, cpu._here):
            asked.cache_clear()
