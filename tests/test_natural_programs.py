"""Programs that no pass was written for: their gradients, and that the work of compiling them is in proportion to their length."""

import numpy as np
import pytest
from test_compile_time import lines_run, text_of

import tapediff as td
from benchmarks.natural_programs import PROGRAMS

# Sizes at which operations grow threefold and nothing is too short to roll, and the exponent allowed: LOOPs have a fixed cost, which
# leaves less than 1 for most.
SIZES = {"gauss_seidel": (20, 60), "history": (36, 108), "implicit_heat": (10, 30), "lu": (10, 30), "waves": (8, 24), "wave_cells": (20, 60)}
LARGEST_EXPONENT = 1.2


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("size", [8, 25])
def test_gradients_are_right(program, size):
    """The kernel against the tape that NumPy replays, and both against finite differences along a direction."""
    f, x = program(size)
    tape = td.record(f, x)
    value, slope = td.value_and_gradient(td.compile(tape), x)
    expected = td.value_and_gradient(tape, x)
    # Sums in another order.
    np.testing.assert_allclose(value, expected[0], rtol=1e-10)
    np.testing.assert_allclose(slope, expected[1], rtol=0, atol=1e-10 * np.max(np.abs(expected[1])))
    direction = np.random.default_rng(0).normal(size=x.shape)
    errors = [
        abs((f(x + step * direction) - f(x - step * direction)) / (2.0 * step) - slope @ direction) for step in (1e-4, 1e-5, 1e-6)
    ]  # fmt: skip
    # Of central differences: a function of curvature 1 has 1e-9 at the best step, the steepest of these a hundred times that.
    assert min(errors) < 1e-6 * np.linalg.norm(slope) * np.linalg.norm(direction)


@pytest.mark.parametrize("name", SIZES)
def test_the_work_of_compiling_is_in_proportion(name):
    """Lines of Python that run from recording to LLVM, by recorded operations."""
    program = next(program for program in PROGRAMS if program.__name__ == name)
    text_of(*program(8))
    counts = [(len(td.record(*program(size))), lines_run(lambda size=size: text_of(*program(size)))[1]) for size in SIZES[name]]
    (short, few), (long, many) = counts
    assert many / few < (long / short) ** LARGEST_EXPONENT
