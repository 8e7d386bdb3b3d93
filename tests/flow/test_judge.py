"""The judge finds what is wrong: values, gradients, errors, programs that never end, and spellings that are slower than others."""

import time

import numpy as np

import flow.judge
import tapediff as td
from flow.judge import TooSlow, Verdict, cliffs, judge, summary
from flow.programs import matching

(PROGRAM,) = matching(["huber_loss/for_loop"])


def paths(f):
    """Return a target that keeps one tape for each path."""
    return td.GuardedTape(f, merge=False, on_new_tape="interpret", compile_after=1000, max_tapes=1000)


def test_a_tape_for_each_path_is_right_but_a_cliff():
    """Recordings are counted, and many of them are a cliff."""
    verdict = judge(PROGRAM, paths)
    assert verdict.right
    assert verdict.recordings > flow.judge.SOME
    assert not verdict.at_most(flow.judge.SOME)
    assert cliffs([verdict]) == {"huber_loss/for_loop"}


def test_other_values_and_gradients_are_wrong():
    """A value that is off by 1e-6, and a gradient that lacks one entry, are found."""
    value = judge(PROGRAM, lambda f: paths(lambda x: f(x) + 1e-6))
    gradient = judge(PROGRAM, lambda f: paths(lambda x: f(np.concatenate([td.stop_gradient(x[:1]), x[1:]]))))
    assert value.wrong == len(PROGRAM.points)
    assert value.example.startswith("value")
    assert gradient.wrong > 0
    assert gradient.example.startswith("gradient")
    assert "wrong: 2;" in summary([value, gradient])[1]


def test_errors_are_counted_by_point():
    """A point at which a target raises does not keep the others from being judged."""

    def half(x):
        if x[0] > 0.0:
            raise ArithmeticError("too large")
        return np.sum(x)

    verdict = judge(PROGRAM, lambda f: paths(half))
    assert set(verdict.errors) == {"ArithmeticError"}
    assert verdict.points == len(PROGRAM.points)
    assert not verdict.right


def test_time_is_limited():
    """A target that hangs is stopped, though it catches every Exception."""

    def hang(f):
        while True:
            try:
                time.sleep(10.0)
            except Exception:  # noqa: BLE001 -- what is tested
                pass

    verdict = judge(PROGRAM, hang, seconds=0.2)
    assert verdict.errors == [TooSlow.__name__]


def test_a_slow_spelling_is_a_cliff():
    """Later points that take more than ten times the median of the spellings are one, whatever the recordings."""
    spellings = matching(["huber_loss/*"])[:4]
    verdicts = [Verdict(p, recordings=1, later=1e-5) for p in spellings]
    verdicts[2].later = 2e-4
    assert cliffs(verdicts) == {spellings[2].title}
