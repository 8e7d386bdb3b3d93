"""Random numbers drawn while recording: one draw would serve for ever, and whoever records is told."""

import functools
import inspect
import random
import subprocess
import sys
import warnings

import numpy as np
import pytest
from numpy.random import normal

import tapediff as td
from tapediff.recording.python_state.draws.randomness import Draws

RNG, STATE = np.random.default_rng(1), np.random.RandomState(2)
X = np.array([1.0, 2.0])


class Model:
    def __init__(self):
        self.rng = np.random.default_rng(3)
        self.parts = {"noise": [np.random.RandomState(5)]}

    def by_attribute(self, x):
        return np.sum(x * self.rng.normal(size=2))  # draws

    def by_parts(self, x):
        return np.sum(x * self.parts["noise"][0].randn(2))


def by_global(x):
    return np.sum(x * RNG.normal(size=2))  # draws


def by_default(x, state=STATE):
    return np.sum(x * state.randn(2))  # draws


def by_numpy(x):
    return np.sum(x * np.random.rand(2))  # noqa: NPY002 -- draws


def by_second_normal(x):
    return np.sum(x) * np.random.randn()  # noqa: NPY002 -- draws


def by_import(x):
    return np.sum(x) * normal()  # noqa: NPY002 -- draws


def by_python(x):
    return np.sum(x) * random.random()  # draws


def by_python_gauss(x):
    return np.sum(x) * random.gauss(0.0, 1.0)  # draws


def by_helper(x):
    return by_numpy(x) + 1.0


def closed_over():
    own = random.Random(4)

    def by_closure(x):
        return np.sum(x) * own.uniform(0.0, 1.0)  # draws

    return by_closure


def noisy(noise, x):
    return np.sum(x) * noise.normal()


DRAWING = [
    by_global, by_default, by_numpy, by_second_normal, by_import, by_python, by_python_gauss, by_helper, closed_over(), Model().by_attribute,
    Model().by_parts, functools.partial(noisy, np.random.Generator(np.random.Philox(6))),
]  # fmt: skip
WAYS = {
    "record": lambda f: td.record(f, X),
    "compile": lambda f: td.compile(f, X),
    "guarded": lambda f: td.gradient(td.GuardedTape(f), X),
    "grad": lambda f: td.grad(f)(X),
    "subtape": lambda f: td.gradient(td.subtape(f, name="sub"), X),
    "scan": lambda f: td.gradient(lambda x: td.scan(lambda c, row: (c + f(row), c), 0.0, np.stack([X, X]) * x)[0], X),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("f", DRAWING, ids=lambda f: getattr(f, "__name__", "partial"))
def test_a_draw_while_recording_is_told_of(f, way):
    """Whatever generator it comes from and however the function reaches it."""
    # Twice, as a normal draw is left over from the one before; but the body of a loop is recorded once.
    for _ in range(1 if way is WAYS["scan"] else 2):
        with pytest.warns(td.FrozenRandomWarning, match="drew random numbers while it was recorded"):
            way(f)


@pytest.mark.parametrize("f", [f for f in DRAWING[:-1] if "draws\n" in inspect.getsource(f)])
def test_the_line_that_draws_is_named(f):
    """The first line that names the generator."""
    lines, first = inspect.getsourcelines(f)
    number = next(first + k for k, line in enumerate(lines) if "draws\n" in line)
    with pytest.warns(td.FrozenRandomWarning, match=f"test_randomness.py:{number} in {f.__name__}"):
        td.record(f, X)


def test_the_text_says_what_to_do():
    """All parts of it."""
    with pytest.warns(td.FrozenRandomWarning) as met:
        td.record(by_numpy, X)
    line = inspect.getsourcelines(by_numpy)[1] + 1
    assert str(met[0].message) == (
        "by_numpy drew random numbers while it was recorded, and its tape uses these numbers at every call\n"
        f"  at:  test_randomness.py:{line} in by_numpy\n"
        "  got: NumPy's global generator, np.random, has advanced\n"
        "  fix: draw outside and pass the numbers as an argument, td.Constant(draws), or draw by td.random from a key that is one; where one draw is meant for all calls, "
        "warnings.simplefilter('ignore', td.FrozenRandomWarning)"
    )
    assert met[0].filename == __file__
    assert issubclass(td.FrozenRandomWarning, td.GuardWarning)


def seeded(x):
    np.random.seed(0)  # noqa: NPY002 -- what is tested
    return np.sum(x * np.random.rand(2))  # noqa: NPY002 -- what is tested


def own_generator(x):
    return np.sum(x * np.random.default_rng(0).normal(size=2))


def none(x):
    return np.sum(x**2) if x[0] > 0 else -np.sum(x)


@pytest.mark.parametrize("f", [seeded, own_generator, none, lambda x: np.sum(x) + STATE.get_state()[2] * 0.0])
def test_what_gives_the_same_at_every_call_is_let_pass(f):
    """Seeded draws are the plain function's; looking at a generator is no draw; this package's own work draws nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for way in WAYS.values():
            way(f)
        compiled = td.compile(f, X)
        td.gradient(compiled, X)


def test_a_plain_gradient_draws_anew_at_every_call():
    """It records at every call, so nothing is frozen and nothing said."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, second = td.gradient(by_global, X), td.gradient(by_global, X)
    assert not np.array_equal(first, second)


def test_a_guarded_tape_says_it_once_and_an_error_keeps_nothing():
    """As an error it comes at every call; as a warning with the first tape alone."""

    def branching(x):
        return by_numpy(x) if x[0] > 0 else 2.0 * by_numpy(x)

    safe = td.GuardedTape(branching)
    with warnings.catch_warnings():
        warnings.simplefilter("error", td.FrozenRandomWarning)
        for _ in range(2):
            with pytest.raises(td.FrozenRandomWarning):
                td.gradient(safe, X)
    assert safe.stats.recordings == 0
    with pytest.warns(td.FrozenRandomWarning) as met:
        [td.gradient(safe, x) for x in (X, -X, X)]
    assert len(met) == 1


def test_one_draw_is_told_of_once():
    """A sub-tape tells of its own, and its caller does not again."""
    with pytest.warns(td.FrozenRandomWarning) as met:
        td.record(td.subtape(by_numpy), X)
    assert [str(m.message).split()[0] for m in met] == ["by_numpy"]


def test_it_can_be_switched_off():
    """By the usual filter."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", td.FrozenRandomWarning)
        tape = td.record(by_numpy, X)
    assert tape(X) == tape(X)


def test_unusual_things_to_reach_are_passed_over():
    """Cells that are empty, cycles, many values: nothing is looked at for ever."""
    loop = {}
    loop["self"] = [loop] * 100

    def f(x):
        return np.sum(x) if x is not None else later + loop["self"]

    assert Draws((f, loop, object(), 3, None)).text("f") is None
    later = 1
    assert later


LOADING = """
import sys, warnings
warnings.simplefilter("error")
import numpy as np, tapediff as td
assert "numpy.random" not in sys.modules
def f(x): return np.sum(x{times})
x = np.array([1.0, 2.0])
{body}
"""


@pytest.mark.parametrize(
    ("body", "times", "error"),
    [
        ("import tapediff.recording.python_state.draws.randomness; td.record(lambda x: [__import__('numpy.random'), np.sum(x)][1], x)", "", False),
        ("td.gradient(td.compile(lambda x: np.sum(np.linalg.solve(np.stack([x, x**2 + 1.0]), x)), x), x)", "", False),
        ("td.record(f, x)", " * np.random.rand(2)", True),
    ],
    ids=["loaded", "by SciPy", "drawn from"],
)
def test_a_generator_that_is_loaded_while_recording_is_no_draw(body, times, error):
    """NumPy loads its generators when they are first asked for; SciPy asks for them when it is imported."""
    run = subprocess.run(
        [sys.executable, "-c", LOADING.format(body=body, times=times)], capture_output=True, text=True, timeout=120
    )
    assert ("FrozenRandomWarning" in run.stderr) == error, run.stderr
    assert (run.returncode != 0) == error, run.stderr
