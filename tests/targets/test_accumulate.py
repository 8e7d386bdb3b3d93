"""accumulate=True: gradients added to the caller's arrays, from every target; nothing is written when anything fails."""

import numpy as np
import pytest

import tapediff as td

X, Y = np.array([0.3, -0.8, 1.2]), np.array([-0.5, 0.9, 0.4])
TARGETS = ("function", "tape", "compiled", "guarded")


def loss(x, y):
    return np.sum(np.exp(x) * y) if y[0] < 0.0 else np.sum(x**3) * y[1]


def of_container(p):
    return np.sum(np.sin(p["w"]) * p["b"] ** 2) * p["n"]


def target_of(kind, f, *args, **options):
    return {"function": lambda: f, "tape": lambda: td.record(f, *args, **options), "compiled": lambda: td.compile(f, *args, **options),
            "guarded": lambda: td.GuardedTape(f, **options)}[kind]()  # fmt: skip


@pytest.mark.parametrize("kind", TARGETS)
def test_gradients_are_added(kind):
    """Called again and again, at other points, and for several arguments in a tuple or a list."""
    f, x = target_of(kind, loss, X, Y), X.copy()
    total, out = np.full(3, 7.0), np.full(3, 7.0)
    for k in range(4):
        x = x + 0.1
        expected = td.gradient(f, x, Y)
        if k % 2:
            value, same = td.value_and_gradient(f, x, Y, out=out, accumulate=True)
            np.testing.assert_allclose(value, loss(x, Y), rtol=1e-14)
        else:
            same = td.gradient(f, x, Y, out=out, accumulate=True)
        total += expected
        assert same is out
        np.testing.assert_array_equal(out, total)
    for into in ((np.ones(3), np.ones(3)), [np.ones(3), np.ones(3)]):
        assert td.gradient(f, X, Y, argnums=(0, 1), out=into, accumulate=True) is into
        for array, gradient in zip(into, td.gradient(f, X, Y, argnums=(0, 1))):
            np.testing.assert_array_equal(array, 1.0 + gradient)
    td.gradient(f, X, Y, argnames="y", out=into[1], accumulate=True)
    np.testing.assert_array_equal(into[1], 1.0 + td.gradient(f, X, Y, argnums=1) + td.gradient(f, X, Y, argnums=1))
    strided = np.ones((3, 2))
    td.gradient(f, X, Y, out=strided[:, 1], accumulate=True)
    np.testing.assert_array_equal(strided, np.stack([np.ones(3), 1.0 + td.gradient(f, X, Y)], axis=1))
    assert td.gradient(f, X, Y, out=out, accumulate=False) is out
    np.testing.assert_array_equal(out, td.gradient(f, X, Y))


@pytest.mark.parametrize("kind", TARGETS)
def test_the_argument_itself_may_receive_the_gradient(kind):
    """A step of gradient ascent in place."""
    f, x = target_of(kind, loss, X, Y), X.copy()
    td.gradient(f, x, Y, out=x, accumulate=True)
    np.testing.assert_array_equal(x, X + td.gradient(f, X, Y))


@pytest.mark.parametrize("kind", TARGETS)
def test_containers_numbers_parts_and_aux(kind):
    """What has_aux, wrt and integers in containers do to the result."""
    p = {"w": X, "b": Y, "n": 2}
    f = target_of(kind, of_container, p)
    out = {"w": np.ones(3), "b": np.ones(3), "n": None}
    gradient = td.gradient(f, p)
    for count in (1.0, 2.0):
        assert td.gradient(f, p, out=out, accumulate=True) is out
        for name in "wb":
            np.testing.assert_array_equal(out[name], (1.0 + gradient[name]) if count == 1.0 else (1.0 + gradient[name]) + gradient[name])
    part = np.ones(3)
    td.gradient(f, p, wrt="b", out=part, accumulate=True)
    np.testing.assert_allclose(part, 1.0 + gradient["b"], rtol=1e-14)
    number = np.ones(())
    td.gradient(target_of(kind, np.sin, 0.5), 0.5, out=number, accumulate=True)
    np.testing.assert_allclose(number, 1.0 + np.cos(0.5), rtol=1e-14)
    with_aux = target_of(kind, lambda x: (np.sum(x**2), 3.0 * x), X, **({} if kind == "function" else {"has_aux": True}))
    part[...] = 1.0
    same, aux = td.gradient(with_aux, X, has_aux=True, out=part, accumulate=True)
    assert same is part
    np.testing.assert_array_equal(aux, 3.0 * X)
    (value, aux), same = td.value_and_gradient(with_aux, X, has_aux=True, out=part, accumulate=True)
    np.testing.assert_allclose(part, 1.0 + 4.0 * X, rtol=1e-14)
    np.testing.assert_allclose(value, np.sum(X**2), rtol=1e-14)


@pytest.mark.parametrize("kind", TARGETS)
def test_nothing_is_written_on_an_error(kind):
    """Of arrays that do not fit, none changes; nor on another path, nor where adding overflows and NumPy is told to raise."""
    f, p = target_of(kind, of_container, {"w": X, "b": Y, "n": 2}), {"w": X, "b": Y, "n": 2}
    good = np.ones(3)
    for bad, error in (
        (np.ones(2), td.ShapeMismatch), (np.ones(3, np.float32), td.DtypeMismatch), ([1.0] * 3, td.ArgumentMismatch), (good, td.ArgumentMismatch),
        (np.broadcast_to(1.0, 3), td.ArgumentMismatch),
    ):  # fmt: skip
        with pytest.raises(error):
            td.gradient(f, p, out={"w": good, "b": bad, "n": None}, accumulate=True)
        with pytest.raises(td.TapediffError):
            td.value_and_gradient(f, p, out={"b": bad, "n": None}, accumulate=True)
        np.testing.assert_array_equal(good, 1.0)
    with pytest.raises(td.ArgumentMismatch, match="adds to the arrays given as out="):
        td.gradient(f, p, accumulate=True)
    g = target_of(kind, loss, X, Y)
    if kind in ("tape", "compiled"):
        with pytest.raises(td.GuardFailed):
            td.gradient(g, X, -Y, out=good, accumulate=True)
        np.testing.assert_array_equal(good, 1.0)
    else:
        td.gradient(g, X, -Y, out=good, accumulate=True)
        np.testing.assert_allclose(good, 1.0 + 3.0 * X**2 * -Y[1], rtol=1e-14)
    largest = np.full(3, np.finfo(float).max)
    with np.errstate(all="raise"):
        td.gradient(target_of(kind, lambda x: 1e308 * np.sum(x), X), X, out=largest, accumulate=True)
    assert np.all(np.isinf(largest))


def test_in_a_recording_and_for_other_verbs():
    """Both are refused, as out= is in a recording."""
    square, out = lambda v: np.sum(v**2), np.ones(3)
    for x_and_out in (lambda x: (x, out), lambda x: (X, np.zeros(3) * x)):
        with pytest.raises(td.TrackedValueEscaped, match="adds to plain arrays"):
            td.record(lambda x: np.sum(td.gradient(square, x_and_out(x)[0], out=x_and_out(x)[1], accumulate=True) * x), X)
    np.testing.assert_array_equal(out, 1.0)
    with pytest.raises(td.ArgumentMismatch, match="no such option") as caught:
        td.hessian(lambda x: np.sum(x**2), X, accumulate=True)
    assert "accumulate= in place of accumulate" not in str(caught.value)


@pytest.mark.parametrize("kind", TARGETS)
def test_a_list_of_numbers_receives_gradients_of_numbers(kind):
    """0-d arrays keep a list a container, but the gradients themselves are numbers, of which a list would be an array."""
    p = {"a": [np.array(0.3), np.array(-0.8)]}
    f = target_of(kind, lambda p: np.sin(p["a"][0]) * p["a"][1] ** 2, p)
    out = {"a": [np.array(1.0), np.array(1.0)]}
    td.gradient(f, p, out=out, accumulate=True)
    np.testing.assert_allclose(out["a"], 1.0 + np.array(td.gradient(f, p)["a"]), rtol=1e-15)
