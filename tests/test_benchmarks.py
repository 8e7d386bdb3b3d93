"""The benchmarks run: every engine that is always installed gives the hand-written gradient of every problem."""

import pytest

from benchmarks import run
from benchmarks.problems import PROBLEMS


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.function.__name__)
def test_every_engine_gives_the_hand_written_gradient(problem):
    """benchmarks.run.check passes: values and gradients agree to 1e-10 with every engine but the optional ones."""
    run.check(problem, {engine: run.ENGINES[engine](problem) for engine in run.ENGINES if engine not in run.OPTIONAL})
