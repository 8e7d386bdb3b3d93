"""Programs of tests/flow/former and random ones: values, gradients, what they leave behind, and how often they are recorded."""

from __future__ import annotations

import pytest

from tests.flow import former_programs

KNOWN = former_programs.known()


@pytest.mark.parametrize("title", KNOWN)
def test_programs_are_right_and_take_few_recordings(title):
    """In `make test` those few that tests/conftest.py chooses, each of a module that is loaded anew."""
    most, known = KNOWN[title]
    if known == "timeout":
        pytest.xfail("it takes too long")
    *_, result = former_programs.judged(title)
    if result.outcome not in ("right", known):
        pytest.fail(f"{result.outcome}, was {known}: {result.reasons}")
    if result.outcome in ("wrong", "error"):
        pytest.xfail(result.reasons[0])
    assert known != "right" or result.recordings <= most, result.reasons


def test_each_program_has_a_number():
    assert [*KNOWN] == former_programs.titles()
