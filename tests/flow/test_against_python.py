"""The translator against Python itself, without data: results, logs, exceptions and global objects are the same."""

import sys

import pytest

from flow.programs_by_kind import PROGRAMS
from flow.random_python import STATE, Program
from flow.running import difference, outcome
from tapediff.flow.translate import translated

# What differs from Python, and has no effect on numbers: order of hints for lengths, texts of errors, one more `__bool__`.
DIFFERENT = {
    "Starred: in lists, tuples, sets, calls, indices, return and targets": "the text of the error for a star before no iterable",
    "Stars: errors of what cannot be unpacked name the function, also one behind a callable object": "the text of the error",
    "Iteration: what makes a list of an object asks for its length, as a hint": "`__len__` as a hint is not asked for",
}
if sys.version_info[:2] not in ((3, 12), (3, 13)):  # which ask twice
    DIFFERENT["Truth: an operand of a nested and/or is asked once, also where the whole is a value or an argument"] = "(a or b) or c asks twice"
DIFFERENT_SEEDS = (19, 41, 46, 114, 117)


def marked(values, different, reason):
    """The values, those that differ marked as such."""
    return [pytest.param(v, marks=pytest.mark.xfail(strict=type(v) is str, reason=reason(v))) if v in different else v for v in values]


@pytest.mark.parametrize("seed", marked(range(150), DIFFERENT_SEEDS, lambda seed: "hints for lengths, and texts of errors"))
def test_random_programs_do_what_python_does(seed):
    """A random program logs, returns, raises and leaves the same as in Python."""
    text, file = Program(seed).text, f"<random {seed}>"
    found = difference(outcome(text, state=STATE, file=file), outcome(text, translated, STATE, file))
    assert not found, f"{found}\n{text}"


@pytest.mark.parametrize("name", marked(PROGRAMS, DIFFERENT, DIFFERENT.get))
def test_each_kind_of_syntax_does_what_python_does(name):
    """The program of a kind of syntax logs, returns and raises the same as in Python."""
    found = difference(outcome(PROGRAMS[name], file="<program>"), outcome(PROGRAMS[name], translated, file="<program>"))
    assert not found, f"{found}\n{PROGRAMS[name]}"


def test_a_program_is_translated_twice():
    """A second translation of the same code, with other globals, does not use those of the first."""
    text = "k = []\ndef f(): k.append(note('k', len(k))); return k\ndef main(): f(); return f()"
    for _ in range(3):
        assert not difference(outcome(text, state=("k",), file="<twice>"), outcome(text, translated, ("k",), "<twice>"))
