"""Random programs of reads, writes, views and aliases agree with NumPy."""

import os

import numpy as np
from hypothesis import given, settings, strategies as st
from support.written_programs import numerical

import tapediff as td
from tapediff.compiler.codegen.python_listing import run_listing
from tapediff.compiler.pipeline import build_program
from tapediff.passes.pipeline import run_passes
from tapediff.targets.tapes.gradient_tape import gradient_tape


def _index(draw, extent):
    kind = draw(st.sampled_from(["number", "slice", "fancy"]))
    if kind == "number":
        return draw(st.integers(-extent, extent - 1))
    if kind == "slice":
        start, stop = draw(st.integers(0, extent - 1)), draw(st.integers(0, extent))
        return slice(start, stop) if draw(st.booleans()) else slice(None, None, draw(st.sampled_from([1, 2, -1, -2])))
    return draw(st.lists(st.integers(-extent, extent - 1), min_size=1, max_size=3))


@st.composite
def programs(draw):
    """Lists of steps on a list of arrays: the first is 1-d with 6 entries, later ones are views, copies and aliases of earlier ones."""
    steps = []
    for _ in range(draw(st.integers(3, 14))):
        kind = draw(st.sampled_from(["view", "copy", "alias", "write", "write", "operate", "loop", "read", "swap", "turn"]))
        which, other = draw(st.integers(0, 9)), draw(st.integers(0, 9))
        scale = draw(st.sampled_from([1.0, -0.5, 0.0, 1.5]))
        steps.append((kind, which, other, _index(draw, 3), _index(draw, 3), scale))
    return steps


def _fits(index, array):
    """The index where the array has these entries."""
    return array.ndim >= 1 and array.shape[0] >= 3 and not (array.ndim == 0 and index is None)


def run_program(steps, x):
    """The same Python code on plain and on tracked arrays; the steps that do not fit the shapes met are left out."""
    arrays, total = [x * 1.0, td.zeros(6), (x * 2.0).reshape(2, 3)], x[0] * 0.0
    for kind, which, other, i, j, scale in steps:
        a, b = arrays[which % len(arrays)], arrays[other % len(arrays)]
        if not _fits(i, a) and kind not in ("alias", "copy", "turn"):
            continue
        if kind == "view" and isinstance(i, slice):
            arrays.append(a[i])
        elif kind == "copy":
            arrays.append(a.copy())
        elif kind == "alias":
            arrays.append(a)
        elif kind == "turn" and a.ndim:
            arrays.append(a.T if a.ndim > 1 else a[::-1] if a.size % 2 else a.reshape(2, -1))
        elif kind == "write" and _fits(j, b):
            value = b[j] * scale
            if np.shape(value) == np.shape(a[i]) or np.ndim(value) == 0:
                a[i] = value
        elif kind == "operate" and _fits(j, b):
            value = b[j]
            if np.shape(value) == np.shape(a[i]) or np.ndim(value) == 0:
                a[i] += scale * value
        elif kind == "loop":
            for k in range(1, a.shape[0]):
                a[k] += scale * a[k - 1]
        elif kind == "read":
            total = total + np.sum(a[i]) * np.sum(a)
        elif kind == "swap" and a.ndim == 1:
            a[0], a[-1] = a[-1], a[0]
    return np.concatenate([np.ravel(a) for a in arrays] + [np.reshape(total, (1,))])


@settings(max_examples=int(os.environ.get("TAPEDIFF_FUZZ_EXAMPLES", "100")))
@given(steps=programs())
def test_random_programs_of_reads_writes_views_and_aliases_agree_with_numpy(steps):
    """Values by replay and kernel equal NumPy's; gradients equal central differences, which are exact up to rounding on polynomials.

    The entries can grow as a product of many reads, so tolerances are relative to the largest.
    """
    x = np.array([0.5, -0.75, 1.25, 0.25, -1.0, 0.625])

    def f(x):
        return run_program(steps, x)

    expected = f(x.copy())
    weights = np.cos(np.arange(expected.size))

    def total(x):
        return np.sum(f(x) * weights)

    tape = td.record(f, x)
    tape.check()
    np.testing.assert_array_equal(tape(x), expected)
    passed = run_passes(tape, check=True)
    np.testing.assert_array_equal(passed(x), expected)
    scalar = td.record(total, x)
    wanted = numerical(total, x, 1e-5)
    size = max(1.0, np.max(np.abs(wanted)), np.max(np.abs(expected)))
    gradient = td.gradient(scalar, x)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-6, atol=1e-6 * size)
    listed = [np.empty(t.shape) for t in gradient_tape(scalar, (0,)).output_types]
    assert run_listing(build_program(gradient_tape(scalar, (0,))), [x], listed) is None
    np.testing.assert_allclose(listed[1], gradient, rtol=1e-12, atol=1e-12 * size)


@settings(max_examples=int(os.environ.get("TAPEDIFF_FUZZ_EXAMPLES", "12")))
@given(steps=programs())
def test_random_programs_compiled(steps):
    x = np.array([0.5, -0.75, 1.25, 0.25, -1.0, 0.625])

    def total(x):
        y = run_program(steps, x)
        return np.sum(y * np.cos(np.arange(y.size)))

    scalar = td.record(total, x)
    value, gradient = td.value_and_gradient(scalar, x)
    size = max(1.0, np.max(np.abs(gradient)), abs(value))
    native = td.compile(scalar)
    np.testing.assert_allclose(native(x), value, rtol=1e-12, atol=1e-12 * size)
    np.testing.assert_allclose(native.gradient(x), gradient, rtol=1e-12, atol=1e-12 * size)
