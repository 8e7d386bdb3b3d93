"""Policies: recording, interpreting, raising or warning where there is no tape for a path."""

import numpy as np
import pytest
from support.guarded import A, ask, line, text, three_ways

import tapediff as td


def test_interpreting_answers_a_new_path_at_once_and_compiles_it_when_it_is_used():
    """Ten answers by NumPy, or compile_after; value and gradient are the plain function's all along."""
    for options, answers in (({}, 10), ({"compile_after": 3}, 3), ({"compile_after": 0}, 0)):
        safe = td.GuardedTape(three_ways, on_new_tape="interpret", **options, merge=False)
        for x, expected in ((2.0, 12.0), (0.5, 1.0), (-1.0, -1.0)):
            before = safe.stats.seconds_compiling
            for k in range(answers + 3):
                value, gradient = td.value_and_gradient(safe, A([x]))
                assert value == pytest.approx(three_ways(A([x])), rel=1e-15)
                assert gradient == pytest.approx([expected], rel=1e-15)
                assert (safe.stats.seconds_compiling > before) == (k >= answers)
        assert safe.stats.recordings == 3
        assert safe.stats.hits == 3 * (answers + 2)


def test_raising_names_the_guard_and_leaves_what_is_kept():
    """The first tape is recorded; other paths and other shapes raise NewTape; kept paths answer before and after."""
    safe = td.GuardedTape(three_ways, on_new_tape="raise", merge=False)
    out = A([7.0])
    for _ in range(2):
        assert td.gradient(safe, A([2.0])) == [12.0]
        for ask_for in (lambda: td.gradient(safe, A([0.25]), out=out), lambda: safe(A([0.25])), lambda: td.hessian(safe, A([0.25]))):
            with pytest.raises(td.NewTape) as failure:
                ask_for()
            assert str(failure.value) == text(
                "three_ways met a path for which no tape is kept", line(three_ways, 1),
                "False, recorded True; greater(0.25, 1.0), margin -0.75",
                'record it beforehand, with on_new_tape="compile"; or compute both sides with np.where',
            )  # fmt: skip
        with pytest.raises(td.NewTape) as failure:
            td.gradient(safe, A([2.0, 2.0]))
        assert str(failure.value) == text(
            "three_ways met arguments for which no tape is kept", line(three_ways), "first call with float64[2]",
            'record it beforehand, with on_new_tape="compile"; or compute both sides with np.where',
        )  # fmt: skip
    assert out == 7.0
    assert [v.number for v in safe._cache.all()] == [1]
    assert (safe.stats.recordings, safe.stats.hits, safe.stats.misses) == (1, 1, 9)
    safe.on_new_tape = "compile"
    assert td.gradient(safe, A([0.25])) == [0.5]
    safe.on_new_tape = "raise"
    assert td.gradient(safe, A([0.75])) == [1.5]
    with pytest.raises(td.NewTape, match=r"greater\(-1.0, 0.0\), margin -1"):
        td.gradient(safe, A([-1.0]))


def test_warning_tells_of_every_tape_after_the_first():
    """Once each, with the guard and its sides; the answers are right."""
    safe = td.GuardedTape(three_ways, on_new_tape="warn", merge=False)
    assert td.gradient(safe, A([2.0])) == [12.0]
    with pytest.warns(td.GuardWarning) as warned:
        slopes = ask(safe, A([[0.5], [-1.0], [0.5], [2.0]]))
    assert np.array_equal(slopes, [[1.0], [-1.0], [1.0], [12.0]])
    assert [str(w.message).splitlines()[1:3] for w in warned] == [
        [f"  at:  {line(three_ways, 1)}", "  got: False, recorded True; greater(0.5, 1.0), margin -0.5"],
        [f"  at:  {line(three_ways, 3)}", "  got: False, recorded True; greater(-1.0, 0.0), margin -1"],
    ]
    assert str(warned[0].message).startswith("three_ways met a new path, which is recorded and compiled")
    assert {w.filename for w in warned} == {ask.__code__.co_filename}
    with pytest.warns(td.GuardWarning, match="three_ways met arguments of a new kind"):
        td.gradient(safe, np.ones(2))


def test_what_to_do_for_a_new_tape_is_one_of_four():
    """Also when it is set later."""
    for choose in (
        lambda: td.GuardedTape(three_ways, on_new_tape="ignore"),
        lambda: setattr(td.GuardedTape(three_ways), "on_new_tape", None),
    ):
        with pytest.raises(td.ArgumentMismatch, match="on_new_tape is one of 'compile', 'interpret', 'raise', 'warn'"):
            choose()


def test_whether_paths_are_merged_is_true_or_false():
    """The error has what was given."""
    with pytest.raises(td.ArgumentMismatch, match="merge is True or False") as error:
        td.GuardedTape(three_ways, merge="all")
    assert "got: 'all'" in str(error.value)
