"""Guards that depend on numbers drawn at random, or read from a clock, while recording: refused by name, as the tape would follow one draw."""

import re
import time

import numpy as np
import pytest

import tapediff as td

RNG, STATE = np.random.default_rng(1), np.random.RandomState(2)
TABLE = np.arange(10.0)


def by_numpy(p):
    return 1.0 if np.random.uniform() < p else p**2  # noqa: NPY002


def after_arithmetic(p, state=STATE):
    draw = 2.0 * state.rand() - 0.5
    return 1.0 if np.exp(p) * 3.0 > draw else p**2


def as_a_mask(p):
    return np.sum(TABLE[:3][p * np.ones(3) > RNG.uniform(size=3)]) * p


def by_a_clock(p):
    return p * 1e-9 if time.time() < p else p**2


def by_another_clock(p):
    return p if time.perf_counter_ns() > p else p**2


def in_a_sub_tape(p):
    return td.subtape(lambda q: 1.0 if RNG.uniform() < q else q * q)(p)


TESTS = [
    by_numpy, after_arithmetic, as_a_mask, by_a_clock, by_another_clock, in_a_sub_tape,
]  # fmt: skip


def at_a_position(p):
    return p * TABLE[RNG.integers(0, 3)] if p > 0.2 else p


def of_a_stopwatch(p):
    began = time.perf_counter()
    return p * 2.0 if p > 0.2 else p * (time.perf_counter() - began)


OTHERS = [at_a_position, of_a_stopwatch]

WAYS = {"record": lambda f: td.record(f, 0.5, merge=False), "grad": lambda f: td.grad(f, merge=False)(0.5), "guarded": lambda f: td.GuardedTape(f, merge=False)(0.5),
        "constant": lambda f: td.gradient(td.GuardedTape(lambda x, p: x * f(p), merge=False), 2.0, td.Constant(0.5))}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("f", TESTS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::tapediff.FrozenRandomWarning")
def test_a_draw_that_decides_a_test_of_a_tracked_value_is_refused_at_its_line(f, way):
    with pytest.raises(td.UnsupportedFunction) as refused:
        WAYS[way](f)
    line = re.search(r"at:  .*test_drawn_guards\.py:(\d+)", str(refused.value))
    assert line is not None
    assert int(line[1]) in (f.__code__.co_firstlineno + 1, f.__code__.co_firstlineno + 2)
    assert not td.is_recording()


def test_the_text_has_four_parts():
    with pytest.raises(td.UnsupportedFunction) as refused:
        td.grad(by_numpy, merge=False)(0.5)
    what, at, got, fix = str(refused.value).splitlines()
    assert what.startswith("a number that by_numpy draws at random, or reads from a clock, decides a test of a tracked value")
    assert at.endswith(" in by_numpy")
    assert got == "  got: another number each time that by_numpy is recorded here"
    assert fix == "  fix: draw outside and pass the number as an argument, td.Constant(draw), or draw by td.random from a key that is one"


@pytest.mark.parametrize("f", OTHERS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::tapediff.FrozenRandomWarning")
def test_draws_that_decide_no_guard_are_data(f):
    for way in WAYS.values():
        way(f)


def test_later_paths_are_looked_at_too():
    """The first path has no test of a draw; that a generator advances was told of already."""

    def f(p):
        if p > 0.0:
            return p * RNG.uniform()
        return 1.0 if -RNG.uniform() > p else p**2

    guarded = td.GuardedTape(f, merge=False)
    with pytest.warns(td.FrozenRandomWarning):
        guarded(0.5)
    with pytest.raises(td.UnsupportedFunction, match="draws at random"):
        guarded(-0.5)


def test_what_is_seeded_in_the_function_is_the_same_at_every_call():
    def f(p):
        np.random.seed(3)  # noqa: NPY002
        return 1.0 if np.random.uniform() < p else p**2  # noqa: NPY002

    assert td.grad(f)(0.9) == 0.0
    assert td.grad(f)(0.1) == 0.2
