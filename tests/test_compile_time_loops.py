"""The programs whose compile time is measured compute what plain Python does."""

import pytest
from support.agreement import plainly

import tapediff as td
from benchmarks.compile_time_loops import PROGRAMS

# Small enough that finite differences are quick.
SQUARES = ("n_body", "stencil_by_cells", "soft_alignment", "renewal_equation", "intensities", "binomial_tree")
SIZES = {"n_body": 4, "stencil_by_cells": 4, "soft_alignment": 4, "decision_tree": 15}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_program_is_recorded_and_compiled_right(program):
    """Tape and kernel against the function, which is called on plain arrays for the differences."""
    f, x = program(SIZES.get(program.__name__, 30))
    tape = td.record(f, x)
    td.testing.check_gradient(tape, lambda x: plainly(f, x), x)
    td.testing.check_gradient(td.compile(tape), lambda x: plainly(f, x), x)


def test_sizes_grow_far_enough_to_see_an_exponent():
    """Each program's largest size makes at least thirty times the work of its smallest; a square of n counts as such."""
    for program, sizes in PROGRAMS.items():
        power = 2 if program.__name__ in SQUARES else 1
        assert (sizes[-1] / sizes[0]) ** power >= 30, program.__name__
