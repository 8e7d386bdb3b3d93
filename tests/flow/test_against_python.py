"""The translator against Python itself, without data: results, logs, exceptions and global objects are the same."""

import pytest

from flow.programs_by_kind import PROGRAMS
from flow.random_python import STATE, Program
from flow.running import difference, outcome

translated = pytest.importorskip("tapediff.flow.translate").translated

PROGRAMS_OF_SEEDS = range(150)


@pytest.mark.parametrize("seed", PROGRAMS_OF_SEEDS)
def test_random_programs_do_what_python_does(seed):
    """A random program logs, returns, raises and leaves the same as in Python."""
    text, file = Program(seed).text, f"<random {seed}>"
    found = difference(outcome(text, state=STATE, file=file), outcome(text, translated, STATE, file))
    assert not found, f"{found}\n{text}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_kind_of_syntax_does_what_python_does(name):
    """The program of a kind of syntax logs, returns and raises the same as in Python."""
    found = difference(outcome(PROGRAMS[name], file="<program>"), outcome(PROGRAMS[name], translated, file="<program>"))
    assert not found, f"{found}\n{PROGRAMS[name]}"


def test_a_program_is_translated_twice():
    """A second translation of the same code, with other globals, does not use those of the first."""
    text = "k = []\ndef f(): k.append(note('k', len(k))); return k\ndef main(): f(); return f()"
    for _ in range(3):
        assert not difference(outcome(text, state=("k",), file="<twice>"), outcome(text, translated, ("k",), "<twice>"))
