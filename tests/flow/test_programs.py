"""The programs themselves: plain Python runs them, at points that take several paths."""

import inspect

import numpy as np
import pytest

from flow.programs import PROGRAMS, load
from flow.programs.paths import path_of
from flow.programs.spellings import BASES

# One path at all points would judge nothing. bisect is C, so that a trace sees none of its branches.
FEWEST_PATHS = 3
BRANCHES_IN_C = {"bucket_histogram/bisect"}


def test_titles_are_unique():
    """Name and spelling tell a program from all others."""
    assert len({program.title for program in PROGRAMS}) == len(PROGRAMS)


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
    spelled = [p for p in PROGRAMS if p.name == base.name]
    expected = [load(spelled[0])(x.copy()) for x in spelled[0].points]
    by_template = [p for p in spelled if p.source.startswith("import math\n")]
    for program in by_template:
        # Sums and powers in the same order; only arrays of float64 may round ints.
        np.testing.assert_allclose(
            [load(program)(x.copy()) for x in program.points], expected, rtol=1e-12, err_msg=program.title
        )
