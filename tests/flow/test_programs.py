"""Programs of tests/flow/corpus, those of tests/flow/programs in every spelling, and random ones.

Values, gradients, what they leave behind, and how often they are recorded; and of the spellings that plain Python takes several paths.
"""

import inspect

import numpy as np
import pytest

from tests.flow import judge
from tests.flow.programs import PROGRAMS, load
from tests.flow.programs.paths import path_of
from tests.flow.programs.spellings import BASES, BY_TEMPLATE

KNOWN, TITLES = judge.known(), judge.titles()

# One path at all points would judge nothing. bisect is C, so that a trace sees none of its branches.
FEWEST_PATHS = 3
BRANCHES_IN_C = {"bucket_histogram/bisect"}


@pytest.mark.parametrize("title", TITLES)
def test_programs_are_right_and_take_few_recordings(title):
    """In `make test` those few that tests/conftest.py chooses, each of a module that is loaded anew."""
    most, known = KNOWN.get(title, judge.EXPECTED)
    if known == "timeout":
        pytest.xfail("it takes too long")
    *_, result = judge.judged(title)
    if result.outcome not in ("right", known):
        pytest.fail(f"{result.outcome}, was {known}: {result.reasons}")
    if result.outcome in ("wrong", "error"):
        pytest.xfail(result.reasons[0])
    assert known != "right" or result.recordings <= most, result.reasons


def test_titles_are_unique():
    """A title tells a program from all others, and recordings.txt names programs."""
    assert len({*TITLES}) == len(TITLES)
    assert {*KNOWN} <= {*TITLES}


@pytest.mark.parametrize("base", BASES, ids=lambda base: base.name)
def test_base_programs_have_many_spellings(base):
    """Each base program is written in at least ten ways."""
    assert len({program.spelling for program in PROGRAMS if program.name == base.name}) >= 10


@pytest.mark.slow  # of the tracing: 30 s for all
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.title)
def test_programs_run_everywhere(program):
    """Values are finite floats, the same when computed again, and the points take several paths."""
    f = load(program)
    assert inspect.getsource(f).startswith("def f(x):")
    paths = set()
    for x in program.points:
        given = x.copy()
        value, path = path_of(f, given)
        assert np.array_equal(given, x)
        assert isinstance(value, float)
        assert np.isfinite(value)
        assert f(x.copy()) == value
        paths.add(path)
    assert len(paths) >= FEWEST_PATHS or program.title in BRANCHES_IN_C


@pytest.mark.parametrize("base", BASES, ids=lambda base: base.name)
def test_spellings_agree(base):
    """Spellings by template give the same values."""
    spelled = [p for p in BY_TEMPLATE if p.name == base.name]
    expected = [load(spelled[0])(x.copy()) for x in spelled[0].points]
    for program in spelled:
        # Sums and powers in the same order; only arrays of float64 may round ints.
        np.testing.assert_allclose(
            [load(program)(x.copy()) for x in program.points], expected, rtol=1e-12, err_msg=program.title
        )
