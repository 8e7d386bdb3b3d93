"""Every value of a long kernel is what NumPy makes of the kernel's own operands.

That holds where the answers themselves do not agree: in programs that compare numbers which are equal but for rounding, and jump.
"""

from dataclasses import replace

import numpy as np
import pytest
from support.agreement import ULP, moved

import tapediff as td
from tapediff.compiler.codegen.python_listing import run_listing
from tapediff.compiler.kernel import Kernel
from tapediff.compiler.pipeline import build_program
from tapediff.ir.instruction import CONSTANT, GUARD, INPUT
from tapediff.ir.interpreter import run as run_by_numpy
from tapediff.passes.pipeline import run_passes
from tapediff.targets.tapes.gradient_tape import gradient_tape

POINT = np.array([1.3, 0.45])

# Of the largest operand or partial sum of an operation: functions within 4 ulp, and sums of up to 144 terms in another order.
FEW_ULP = 1e-14


def tied(n):
    """n operations on matrices. What has had its mean subtracted is compared with itself less its mean: equal, but for rounding."""
    rng = np.random.default_rng(11)
    code = rng.integers(0, [15, 8, 8, 5], (n, 4)).tolist()
    matrices = rng.normal(size=(5, 12, 12)) * 0.2

    def f(p):
        results = [p[0] * np.linspace(0, 1, 144).reshape(12, 12) + p[1]] * 2
        for op, i, j, k in code:
            a, b = results[-min(i + 1, len(results))], results[-min(j + 1, len(results))]
            results.append(operations(p, a, b, k, matrices[k])[op]())
        return np.sum(results[-1]) + np.sum(results[-2])

    return f


def operations(p, a, b, k, matrix):
    return (
        lambda: p[1] * (a + b),
        lambda: np.tanh(a) * b,
        lambda: np.sin(a.T),
        lambda: a - 0.5 * b[::-1],
        lambda: np.tanh(matrix @ a),
        lambda: np.exp(-a * a),
        lambda: a - a.mean(axis=0),
        lambda: b * np.sum(a * a) ** 0.5 * 0.05,
        lambda: a + np.sum(b, axis=1)[:, None] * 0.1,
        lambda: np.concatenate([a[k:], b[:k]]),
        lambda: np.where(a > a - a.mean(axis=0), a, 0.5 * b),
        lambda: np.maximum(a, b * 0.9),
        lambda: np.cumsum(a, axis=1) * 0.2,
        lambda: np.roll(a, k, 0) + a[:, ::-1],
        lambda: np.sort(np.tanh(a), axis=0) - a[b[0].argsort()],
    )


def all_values(tape):
    """The tape that returns each value that it computes, and the numbers of those."""
    numbers = [k for k, i in enumerate(tape.instructions) if i.op not in (CONSTANT, INPUT, GUARD)]
    return replace(tape, outputs=tuple(numbers), returns_tuple=True), numbers


def by_kernel(tape, point):
    kernel = Kernel(tape)
    outputs = [np.empty(t.shape, t.dtype) for t in kernel.output_types]
    assert kernel.run([point], outputs) == 0
    return outputs


def by_listing(tape, point):
    outputs = [np.empty(t.shape, t.dtype) for t in tape.output_types]
    assert run_listing(build_program(tape), [point], outputs) is None
    return outputs


def assert_each_is_numpys(tape, values, point):
    """No value is further from what NumPy makes of its operands in `values` than rounding explains."""
    for number, (op, inputs, params, type_, site) in enumerate(tape.instructions):
        if number not in values:
            values[number] = params[0] if op is CONSTANT else point
            continue
        operands = [values[k] for k in inputs]
        with np.errstate(all="ignore"):
            expected = np.asarray(op.evaluate(*operands, *params))
        if type_.dtype != np.float64:
            assert np.array_equal(values[number], expected), (number, op, site)
            continue
        # What cancels is as large as what it is the sum of.
        sizes = [np.abs(x).sum(initial=0.0) for x in operands if x.dtype == np.float64] + [np.abs(expected).max(initial=0.0)]
        scale = np.prod(sizes[:-1]) if op.name == "matmul" else max(sizes)
        np.testing.assert_allclose(values[number], expected, rtol=FEW_ULP, atol=FEW_ULP * scale, err_msg=f"{number} {op} {site}")


@pytest.mark.parametrize("run", [by_kernel, by_listing])
@pytest.mark.parametrize("make", [run_passes, lambda tape: gradient_tape(tape, (0,))], ids=["value", "gradient"])
def test_each_value_of_a_long_kernel_is_numpys_of_its_own_operands(make, run):
    """Of a program whose answer jumps: no operation rounds by more than a few ulp, and storing every value changes no bit."""
    tape = make(td.record(tied(60), POINT))
    full, numbers = all_values(tape)
    values = dict(zip(numbers, run(full, POINT)))
    assert_each_is_numpys(tape, values, POINT)
    for answer, number in zip(run(tape, POINT), tape.outputs):
        np.testing.assert_array_equal(answer, values[number])


def test_one_value_that_is_off_is_found():
    """The comparison above, of values of which one is off by more than rounding, or one mask has a flaw."""
    tape = run_passes(td.record(tied(60), POINT))
    full, numbers = all_values(tape)
    right = dict(zip(numbers, run_by_numpy(full, [POINT])))
    assert_each_is_numpys(tape, dict(right), POINT)
    masks = [k for k in numbers if tape.instructions[k].type.dtype == bool]
    off = {k: right[k] * (1.0 + 1e-11) for k in numbers if np.ndim(right[k]) == 2 and k not in masks}
    for number, value in [*off.items()][::20] + [(masks[0], ~right[masks[0]])]:
        with pytest.raises(AssertionError):
            assert_each_is_numpys(tape, right | {number: value}, POINT)


def test_answers_of_programs_with_ties_are_as_uncertain_in_numpy():
    """Every result moved by at most an ulp, as other orders of summation do: NumPy's own answers spread, and the kernel is among them."""
    tape = run_passes(td.record(tied(60), POINT))
    (answer,) = by_kernel(tape, POINT)
    rng = np.random.default_rng(0)
    spread = [moved(tape, POINT, ULP, rng=rng) for _ in range(20)]
    width = max(spread) - min(spread)
    # Of an answer of about 66, and of sums in which an ulp is 1e-13.
    assert width > 1e-3
    assert min(spread) - width < answer < max(spread) + width
