"""Compiling takes time in proportion to the program: counted in lines of Python that run, which no busy machine changes."""

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from support.agreement import ULP, moved

import tapediff as td
from benchmarks import compile_time
from benchmarks.compile_time import KINDS, Kind
from tapediff.compiler.codegen.emitter import Emitter
from tapediff.compiler.pipeline import build_program
from tapediff.targets.tapes.gradient_tape import gradient_tape

PACKAGE = str(Path(td.__file__).parent)
# Small enough for a second each under a tracer, and long enough for what is quadratic to be seen.
# Loops over numbers (compile_time_loops) are held against their bands alone.
SIZES = {
    "array_operations": (30, 120),
    "matrix_operations": (40, 120),
    "shrinking_slices": (12, 36),
    "kalman": (8, 24),
    "kalman_skipping": (4, 12),
    "fixed_integrator": (4, 12),
    "adaptive_integrator": (5, 15),
    "advection": (2, 6),
    "many_terms": (15, 60),
    "scalar_operations": (60, 240),
    "subtape_calls": (15, 45),
}
# Of the lines that run: 1, and a little more as the trees of expressions at the ends of a program are smaller; quadratic time is 2.
LARGEST_EXPONENT = 1.3
# Of one function that LLVM is given, which takes quadratic time over long ones; in bytes.
LONGEST_FUNCTION = 300_000


def lines_run(call):
    """What a call gives, and how many lines of Python the package runs for it, turns of loops counted each."""
    count, before = 0, sys.gettrace()

    def on_line(frame, event, _):
        nonlocal count
        count += event == "line"
        return on_line

    sys.settrace(lambda frame, event, _: on_line if PACKAGE in frame.f_code.co_filename else None)
    try:
        result = call()
    finally:
        sys.settrace(before)
    return result, count


def text_of(f, point):
    """The LLVM text of value and gradient: all that is done before LLVM."""
    program = build_program(gradient_tape(td.record(f, point), (0,)))
    return Emitter(program, "kernel").text()


@pytest.mark.parametrize("name", SIZES)
def test_the_work_of_compiling_is_in_proportion_to_the_program(name):
    """Recording, differentiating, all passes and lowering, of a program and of one three or four times as long."""
    program, (short, long) = KINDS[name].program, SIZES[name]
    text_of(*program(4))
    _, few = lines_run(lambda: text_of(*program(short)))
    _, many = lines_run(lambda: text_of(*program(long)))
    assert many / few < (long / short) ** LARGEST_EXPONENT


@pytest.mark.parametrize(("name", "size"), [("matrix_operations", 200), ("shrinking_slices", 80), ("kalman_skipping", 40)])
def test_llvm_is_given_no_longer_functions_for_longer_programs(name, size):
    """Loops, and what stands between guards and routines, are cut into functions, of which those that are alike are one."""
    text = text_of(*KINDS[name].program(size))
    longest = max(map(len, text.split("\ndefine ")))
    assert longest < min(LONGEST_FUNCTION, len(text) / 1.4)


@pytest.mark.parametrize("name", SIZES)
def test_programs_of_every_kind_are_right(name):
    """At the size that is counted: the kernel, the tape replayed with NumPy, and finite differences."""
    f, point = KINDS[name].program(SIZES[name][0])
    compiled = td.compile(f, point)
    value, gradient = td.value_and_gradient(compiled, point)
    expected, slope = td.value_and_gradient(compiled.tape, point)
    # The same operations, but for sums in another order.
    np.testing.assert_allclose(value, expected, rtol=1e-11)
    np.testing.assert_allclose(gradient, slope, rtol=1e-9, atol=1e-11 * max(np.abs(slope)))
    differences = [(f(point + h) - f(point - h)) / 2e-6 for h in 1e-6 * np.eye(2)]
    # Differences lose half the digits.
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-6 * max(1.0, np.abs(slope).max()))


@pytest.mark.parametrize("name", ["array_operations", "matrix_operations", "scalar_operations"])
def test_answers_of_drawn_programs_tell_mistakes_from_rounding(name):
    """Rounding in every operation moves the answer by nothing to speak of, and a mistake in any part of the program moves it; both
    parameters count."""
    f, point = KINDS[name].program(400)
    tape = td.record(f, point)
    answer, count = tape(point), len(tape)
    # Of what is allowed, a hundredth.
    assert abs(moved(tape, point, ULP) - answer) < 0.01 * compile_time.TOLERANCE * abs(answer)
    for part in range(10):
        change = abs(moved(tape, point, 1e-3, count * part // 10, count * (part + 1) // 10) - answer)
        # A mistake of a thousandth in either direction, which partly cancels, is a hundred times what is allowed.
        assert change > 100 * compile_time.TOLERANCE * abs(answer), part
    gradient = np.abs(td.gradient(tape, point))
    assert gradient.min() > 1e-4 * abs(answer)


def test_parameters_count_in_calls_of_subtapes():
    """However many calls there are."""
    f, point = KINDS["subtape_calls"].program(200)
    value, gradient = td.value_and_gradient(td.record(f, point), point)
    assert np.abs(gradient).min() > 0.1 * value


def test_an_exponent_is_that_of_the_longest_programs():
    """Short programs take what every first gradient takes; where the longest is one of those, there is nothing to tell."""
    assert compile_time.exponent({10: 0.5, 100: 1.0, 200: 4.0}) == pytest.approx(2.0)
    assert compile_time.exponent({100: 0.01, 1000: 0.4}) == 0.0


def test_a_fault_is_an_exponent_or_a_ratio_that_rose():
    """Each told with its figure; without a band, the ratio is not held against anything."""
    fine = {"exponent": 1.1, "ratio": 3.0}
    assert compile_time.faults(fine, 2.5) == []
    assert len(compile_time.faults(fine | {"exponent": 1.9}, 2.5)) == 1
    assert len(compile_time.faults(fine | {"exponent": 1.9, "ratio": 9.0}, 2.5)) == 2
    assert compile_time.faults(fine | {"ratio": 9.0}, None) == []


def test_what_is_slow_is_measured_again(monkeypatch):
    """The least of a few measurements counts, and the first that is fine ends them."""
    rows = iter([{"seconds": {}, "exponent": 1.0, "ratio": 9.0}, {"seconds": {}, "exponent": 1.7, "ratio": 2.0}])
    monkeypatch.setattr(compile_time, "measured", lambda name: next(rows))
    found, told = compile_time.verdict("kalman", 2.0)
    assert (found["exponent"], found["ratio"], told) == (1.0, 2.0, [])


def test_a_wrong_kernel_is_no_measurement(monkeypatch):
    """The answer of what was timed is held against the tape."""
    kind = Kind("squares", lambda n: (lambda x: np.sum(x**2), np.ones(n)), (2, 3))
    assert compile_time.first_gradient(kind, 2)[0] > 0
    original = td.value_and_gradient
    # One or the other is wrong; a small gradient is not excused by a large value.
    for wrong in ((1e-9, 0.0), (0.0, 1e-9)):
        errors = iter([wrong, (0.0, 0.0)])
        monkeypatch.setattr(td, "value_and_gradient", lambda *a, e=errors: tuple(v + d for v, d in zip(original(*a), next(e))))
        with pytest.raises(compile_time.WrongAnswer, match="2 squares"):
            compile_time.first_gradient(kind, 2)


def test_every_band_belongs_to_a_kind():
    """compile_time_bands.json has a positive ratio for each kind that is counted here, and for none that there is not."""
    bands = json.loads(compile_time.BANDS.read_text())
    assert set(SIZES) <= set(bands) <= set(KINDS)
    assert all(band > 0 and math.isfinite(band) for band in bands.values())
