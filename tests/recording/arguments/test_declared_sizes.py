"""Declared sizes: one tape from the first call on, names in reports, errors for other shapes."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import tapediff as td

T = np.array([0.4, -0.2, 0.3])
n, m = td.Size("n"), td.Size("m")


def loss(t, x, y):
    return np.sum((x @ t - y) ** 2) / len(y)


def data(size):
    rng = np.random.default_rng(size)
    return rng.normal(size=(size, 3)), rng.normal(size=size)


def regression(**named: Any) -> td.GuardedTape:
    return td.GuardedTape(loss, sizes=(T, td.spec((n, 3)), td.spec(n)), **named)


def test_one_recording_serves_all_sizes():
    """The first size has no tape of its own; values and gradients are those of the plain function."""
    tape = regression()
    for size in (12, 5, 16, 2, 9):
        x, y = data(size)
        value, gradient = td.value_and_gradient(tape, T, x, y)
        np.testing.assert_allclose(value, loss(T, x, y), rtol=1e-12)
        np.testing.assert_allclose(gradient, 2 * x.T @ (x @ T - y) / size, rtol=1e-12)
    assert tape.stats.recordings == 1


def test_the_largest_size_may_be_declared():
    """No size up to it is recorded again, whatever the first one is."""
    most = td.Size("n", most=700)
    tape = td.GuardedTape(loss, sizes=(T, td.spec((most, 3)), td.spec(most)))
    for size in (3, 700, 41):
        td.gradient(tape, T, *data(size))
    assert tape.stats.recordings == 1
    assert "with n up to 1032" in tape.explain()


def test_no_size_and_one_have_tapes_of_their_own():
    """NumPy's rules for axes of one entry hold, and its errors for none."""
    tape = td.GuardedTape(lambda x: np.sum(x * np.ones(1)) + x.size, sizes=(td.spec(n),))
    assert [tape(np.ones(size)) for size in (4, 1, 0, 3)] == [8, 2, 0, 6]


@pytest.mark.parametrize(
    "shapes", [((4, 3), (5,)), ((4, 2), (4,)), ((2, 3), (3,))], ids=["unequal sizes", "another column", "unequal small sizes"]
)
def test_other_shapes_are_errors(shapes):
    """Axes of one size are equal, all others are as declared; the message has what was declared."""
    tape = regression()
    td.gradient(tape, T, *data(4))
    with pytest.raises(td.ShapeMismatch) as error:
        td.gradient(tape, T, *map(np.ones, shapes))
    assert f"got: (3,), {', '.join(map(str, shapes))}" in str(error.value)
    assert "fix: float64[3], float64[n, 3], float64[n] is declared: pass such arrays, or declare what else varies" in str(error.value)


def test_containers_constants_and_dtypes():
    """Declarations have the structure of the arguments; several sizes vary apart from each other."""

    def f(t, d):
        return np.sum(d["x"] * t[0]) + np.sum(d["k"][0]) * t[1] + np.sum(d["b"]) * t[2]

    declared = td.Constant({"x": td.spec((n, 2)), "k": [td.spec(m, dtype=np.int64)], "b": td.spec(m, dtype=bool)})
    tape = td.GuardedTape(f, sizes=(T, declared))
    for first, second in ((4, 7), (9, 3), (5, 5)):
        d = {"x": np.ones((first, 2)), "k": [np.arange(second)], "b": np.arange(second) % 2 == 0}
        gradient = td.gradient(tape, T, td.Constant(d))
        np.testing.assert_allclose(gradient, [2 * first, np.arange(second).sum(), (second + 1) // 2])
    assert tape.stats.recordings == 1


def test_declarations_are_pickled():
    """Also before the first call."""
    tape = pickle.loads(pickle.dumps(td.GuardedTape(np.sum, sizes=(td.spec(n),))))
    assert [tape(np.ones(size)) for size in (3, 5, 2)] == [3, 5, 2]
    assert tape.stats.recordings == 1


def test_types_print_with_names():
    assert repr(td.spec((n, 3))) == "float64[n, 3]"
    assert repr(td.spec((n, m), dtype=np.float32)) == "float32[n, m]"
    assert repr(td.spec(5, int)) == "int64[5]"
    assert td.spec((2, n)).shape == (2, n)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: td.Size(3), 'a size has a name\n  at:  {}\n  got: 3\n  fix: td.Size("n")'),
        (lambda: td.Size("n", most=0), 'the largest size is a positive int\n  at:  {}\n  got: 0\n  fix: td.Size("n", most=1000)'),
        (lambda: td.spec(("n", 3)), "an extent is a td.Size or an int\n  at:  {}\n  got: 'n'\n  fix: td.spec((td.Size(\"n\"), 3))"),
        (lambda: td.spec(-1), "an extent is a td.Size or an int\n  at:  {}\n  got: -1\n  fix: td.spec((td.Size(\"n\"), 3))"),
        (lambda: td.GuardedTape(np.sum, sizes=td.spec(4)), "sizes= takes the arguments of a call\n  at:  {}\n  got: float64[4]\n"
         "  fix: sizes=(float64[4],)"),
        (lambda: td.compile(np.sum, td.spec(n)), "td.compile makes a tape of fixed sizes\n  at:  {}\n  got: float64[n]\n"
         "  fix: td.GuardedTape(f, sizes=(...)) takes td.spec, and serves all sizes"),
    ],
    ids=["no name", "no largest size", "a text as extent", "a negative extent", "no tuple", "td.compile"],
)  # fmt: skip
def test_wrong_declarations_are_errors(call, text):
    with pytest.raises(td.ArgumentMismatch) as error:
        call()
    where = str(error.value).split("at:  ")[1].split("\n")[0]
    assert str(error.value) == text.format(where)
