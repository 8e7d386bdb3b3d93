"""Explanations: which paths there are, why each was recorded, and how close the others were."""

import logging

import numpy as np
import pytest
from support.guarded import A, checked, cube_or_square, line, three_ways

import tapediff as td


def test_explain_gives_the_path_of_each_tape_and_why_it_was_recorded():
    """Argument types, specialised and guard values, file:line → outcome, hits, seconds."""

    def g(x, mode):
        if mode == "cubed" and x[0] > 1:
            return x[0] ** 3
        return x[0] ** 2

    safe = td.GuardedTape(g, lambda x, mode: len(mode))
    for x in (0.5, 0.7, 2.0):
        if x == 2.0:
            with pytest.warns(td.GuardWarning):
                td.gradient(safe, A([x]), "cubed")
        else:
            td.gradient(safe, A([x]), "cubed")
    td.gradient(safe, A([2.0]), "sq")
    lines = safe.explain().splitlines()
    assert lines[0].startswith("g: 3 of at most 64 tapes; 1 hits, 3 misses, 3 recordings, 0 evictions; 0.0")
    assert [text.split("; recorded in")[0] for text in lines[1:7]] == [
        "  tape 1: float64[1], argument 1 = 'cubed', guard = 5; 1 hits", f"    {line(g, 1)} → False",
        "  tape 2: float64[1], argument 1 = 'cubed', guard = 5; 0 hits", f"    {line(g, 1)} → True",
        "  tape 3: float64[1], argument 1 = 'sq', guard = 2; 0 hits", "    no guards",
    ]  # fmt: skip
    assert lines[7:] == [
        "recorded because", "  1: first call with float64[1], argument 1 = 'cubed', guard = 5",
        f"  2: {line(g, 1)} → True, was False", "  3: first call with float64[1], argument 1 = 'sq', guard = 2",
        "last miss", "  first call with float64[1], argument 1 = 'sq', guard = 2",
        "  closest: tape 2, for float64[1], argument 1 = 'cubed', guard = 5",
    ]  # fmt: skip
    assert repr(safe) == f"<GuardedTape of g: 3 tapes; {safe.stats}>"
    assert safe.stats.seconds_compiling > 0


def test_explain_tells_of_the_last_miss_how_close_the_closest_tape_was():
    """The tape with the longest path in common, the guard where they parted, its two sides; of missed recordings too."""
    safe = td.GuardedTape(three_ways, merge=False)
    td.gradient(safe, A([2.0]))
    assert "last miss" not in safe.explain()
    td.gradient(safe, A([0.25]))
    td.gradient(safe, A([-0.5]))
    td.gradient(safe, A([3.0]))
    assert safe.explain().splitlines()[-5:] == [
        "last miss", "  called with float64[1]", "  closest: tape 2", f"  parted at {line(three_ways, 3)} → False, was True",
        "  greater(-0.5, 0.0), margin -0.5",
    ]  # fmt: skip
    failing = td.GuardedTape(checked)
    td.gradient(failing, A([3.0, 4.0]))
    with pytest.raises(AssertionError):
        td.gradient(failing, A([-1.0, 4.0]))
    assert failing.explain().splitlines()[-1] == "  greater(-1.0, 0.0), margin -1"


def test_explain_shows_only_where_long_paths_part():
    """A hundred guards, of which one tells two tapes apart."""
    safe = td.GuardedTape(lambda x: sum(v if v > 0 else -v for v in x), compile_after=9)
    x = np.ones(100)
    td.gradient(safe, x)
    x[50] = -1.0
    td.gradient(safe, x)
    explained = safe.explain()
    assert explained.count("→ True") == 1
    assert explained.count("and 99 more guards") == 2


def test_every_recording_is_logged_with_its_reason(caplog):
    """Under the name tapediff, formatted only when somebody listens."""
    safe = td.GuardedTape(cube_or_square, name="density")
    with caplog.at_level(logging.INFO, "tapediff"):
        for x in (0.5, 2.0, 0.6):
            td.gradient(safe, A([x]))
    first, second = [r.getMessage() for r in caplog.records if r.name == "tapediff"]
    assert first.startswith("recorded tape 1 of density, ")
    assert first.endswith(" s: first call with float64[1]")
    assert second.endswith(f" s: {line(cube_or_square, 1)} → True, was False")
