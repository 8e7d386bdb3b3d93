"""np.piecewise: NumPy's rules of which conditions there are, and of which entries a function gets."""

import numpy as np
import pytest

import tapediff as td

POINTS = [np.array(p) for p in ([0.3, -0.5, 0.9], [-0.31, 0.5, 0.2], [1.2, -0.1, -0.4], [0.4, 0.6, 0.8], [-0.4, -0.6, -0.8])]

PROGRAMS = {
    "numbers as conditions of a number": lambda x: np.piecewise(np.sum(x), [np.sum(x) < 0, np.sum(x) >= 0], [np.square, np.sin]) * 1.0,
    "one number": lambda x: np.piecewise(np.asarray(np.sum(x)), [np.sum(x) < 0], [np.square, np.sin]) * 1.0,
    "a stack of conditions": lambda x: np.sum(np.piecewise(x, np.stack([x < 0, x > 0.35]), [np.square, np.sin])),
    "numbers as one condition": lambda x: np.sum(np.piecewise(x, [x[0] < 0, x[1] < 0, x[2] < 0], [np.square, np.sin])),
    "bools as one condition": lambda x: np.sum(np.piecewise(x, [True, False, True], [np.square, np.sin])),
    "lists of bools": lambda x: np.sum(np.piecewise(x, [[True, False, True], [False, True, False]], [np.square, np.sin])),
    "rows": lambda x: np.sum(np.piecewise(np.outer(x, x), [x < 0], [np.square, np.sin]) * np.arange(9).reshape(3, 3)),
    "of all entries": lambda x: np.sum(np.piecewise(x, [x < 0, x >= 0], [lambda t: t - np.mean(t), lambda t: t**2 / np.sum(t)])),
    "a branch on all entries": lambda x: np.sum(np.piecewise(x, [x < 0], [lambda t: t if np.max(t) > -0.3 else t**2, np.sin])),
    "their number alone": lambda x: np.sum(np.piecewise(x, [x < 0], [lambda t: 1.0 * len(t), np.sin]) * np.arange(3)),
    "multiples of their number": lambda x: np.sum(np.piecewise(x, [x < 0], [lambda t, s: s * t.size * t, lambda t, s: t], 2.0)),
    "positions": lambda x: np.sum(np.piecewise(x, [x < 0], [lambda t: np.arange(len(t)) * 2.0, lambda t: np.cumsum(t)])),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_conditions_and_entries_are_those_of_numpy(name):
    """All targets at all points, recorded at the first one, agree with the plain function and its differences."""
    f = PROGRAMS[name]
    safe, compiled = td.GuardedTape(f), td.compile(f, POINTS[0])
    for x in POINTS * 2:
        for target in (f, safe, compiled):
            try:
                value, gradient = td.value_and_gradient(target, x)
            except td.GuardFailed:
                assert target is compiled
                continue
            np.testing.assert_allclose(value, f(x), rtol=1e-12, atol=1e-14)  # a few operations
            differences = [slope(f, x, e) for e in np.eye(3)]
            np.testing.assert_allclose(gradient, differences, rtol=1e-7, atol=1e-8)  # of central differences


def slope(f, x, direction, step=1e-5):
    return (f(x + step * direction) - f(x - step * direction)) / (2 * step)


@pytest.mark.parametrize(
    ("f", "error"),
    [
        (lambda x: np.piecewise(x, [x < 0, x >= 0], [np.sin]), ValueError),
        (lambda x: np.piecewise(x, [x < 0], [np.sin, np.cos, np.tan]), ValueError),
        (lambda x: np.piecewise(x, [x[:2] < 0], [np.sin]), IndexError),
        (lambda x: np.piecewise(np.outer(x, x), [x[None] < 0], [np.sin]), IndexError),
    ],
)
def test_numbers_and_shapes_that_do_not_fit_are_numpys_errors(f, error):
    with pytest.raises(error):
        f(POINTS[0])
    with pytest.raises(error):
        td.record(f, POINTS[0])
