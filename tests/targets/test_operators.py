"""Every operator on every scenario and target: at other points than the recorded one, twice, with the inputs left as they were."""

import numpy as np
import pytest

import tapediff as td
from tests.support.scenarios import SCALAR, SCENARIOS, targets_of

TARGETS = ("function", "tape", "compiled", "guarded")
EVERY_SCENARIO = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name)
EVERY_SCALAR = pytest.mark.parametrize("scenario", SCALAR, ids=lambda s: s.name)
EVERY_TARGET = pytest.mark.parametrize("kind", TARGETS)

# Closed forms and kernels round a few dozen operations in different orders.
CLOSE = {"rtol": 1e-11, "atol": 1e-11}


def close(found, expected):
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(found, expected, **CLOSE)


def points(scenario, kind):
    """Where a target is asked; another path only where the target can follow it."""
    if scenario.other_path is not None and kind in ("function", "guarded"):
        return (*scenario.points, scenario.other_path)
    return scenario.points


def twice(ask, x, *args):
    """The answer, asked for twice, which must leave the arguments as they are."""
    before = [np.array(a) for a in (x, *args)]
    first, second = ask(), ask()
    for a, b in zip((x, *args), before):
        assert np.array_equal(a, b)
    np.testing.assert_equal(first, second)
    return first


def flat(x, jacobian):
    """A Jacobian as a matrix."""
    return np.reshape(jacobian, (-1, np.size(x)))


@EVERY_TARGET
@EVERY_SCENARIO
def test_jacobians(scenario, kind):
    """td.jacobian in both modes and in the cheaper one, fresh and into an array, with the value."""
    target = targets_of(scenario.f, scenario.first)[kind]
    for x in points(scenario, kind):
        expected = scenario.jacobian(x)
        close(twice(lambda: td.jacobian(target, x), x), expected)
        for mode in ("forward", "reverse"):
            close(td.jacobian(target, x, mode=mode), expected)
        value, found = td.value_and_jacobian(target, x)
        close(value, scenario.f(x))
        close(found, expected)
        if np.ndim(expected):
            out = np.full(np.shape(expected), np.nan)
            assert td.jacobian(target, x, out=out) is out
            close(out, expected)


@EVERY_TARGET
@EVERY_SCENARIO
def test_jacobian_vector_products(scenario, kind):
    """td.jvp and td.linearize, of one tangent and of many."""
    target = targets_of(scenario.f, scenario.first)[kind]
    rng = np.random.default_rng(0)
    for x in points(scenario, kind):
        matrix = flat(x, scenario.jacobian(x))
        shape = np.shape(scenario.f(x))
        many = rng.normal(size=(5, *np.shape(x)))
        y, push = td.linearize(target, x)
        close(y, scenario.f(x))
        for v in many[:2]:
            expected = np.reshape(matrix @ np.ravel(v), shape)
            value, found = twice(lambda v=v: td.jvp(target, (x,), (v,)), x, v)
            close(value, scenario.f(x))
            close(found, expected)
            close(push(v), expected)
        expected = np.reshape(many.reshape(5, -1) @ matrix.T, (5, *shape))
        close(td.jvp(target, (x,), (many,))[1], expected)
        close(push(many), expected)


@EVERY_TARGET
@EVERY_SCENARIO
def test_vector_jacobian_products(scenario, kind):
    """td.vjp: its second half serves any number of cotangents, one or many."""
    target = targets_of(scenario.f, scenario.first)[kind]
    rng = np.random.default_rng(0)
    for x in points(scenario, kind):
        matrix = flat(x, scenario.jacobian(x))
        shape = np.shape(scenario.f(x))
        y, pull = td.vjp(target, x)
        close(y, scenario.f(x))
        many = rng.normal(size=(5, *shape))
        for w in many[:2]:
            (found,) = twice(lambda w=w: pull(w), x, w)
            close(found, np.reshape(np.ravel(w) @ matrix, np.shape(x)))
        close(pull(many)[0], np.reshape(many.reshape(5, -1) @ matrix, (5, *np.shape(x))))


@EVERY_TARGET
@pytest.mark.parametrize("f", [
    lambda x: x * x, lambda x: x[::-1] * x, np.exp, lambda x: np.outer(x, x), lambda x: (np.sin(x), x), lambda x: np.sum(x**3),
], ids=["a factor", "a view", "its own derivative", "rows and columns", "two results", "a power"])  # fmt: skip
def test_second_halves_keep_what_they_need(f, kind):
    """Also when argument, value, vectors and earlier results have been written to since."""
    target = targets_of(f, np.ones(3))[kind]
    x, v = np.array([0.4, -1.2, 2.0]), np.array([0.3, 1.0, -2.0])
    value, pull = td.vjp(target, x)
    pushed_value, push = td.linearize(target, x)
    results = value if isinstance(value, tuple) else (value,)
    cotangents = [np.full(np.shape(r), 0.7) for r in results]
    first = [np.array(pull(*cotangents)[0]), *(np.array(r) for r in np.atleast_2d(np.asarray(push(v))))]
    for array in (x, *results, *(pushed_value if isinstance(pushed_value, tuple) else (pushed_value,))):
        if np.ndim(array):
            array[...] = 9.0
    for _ in range(2):
        (x_bar,) = pull(*cotangents)
        y_dot = push(v)
        np.testing.assert_array_equal(x_bar, first[0])
        np.testing.assert_array_equal(np.atleast_2d(np.asarray(y_dot)), first[1:])
        for array in (x_bar, *(y_dot if isinstance(y_dot, tuple) else (y_dot,))):
            if np.ndim(array):
                array[...] = 9.0


@EVERY_TARGET
def test_second_halves_keep_data(kind):
    """The argument that is not differentiated may be overwritten as well."""
    target = targets_of(lambda x, y: np.sin(x) * y, np.ones(3), td.Constant(np.ones(3)))[kind]
    x, y = np.array([0.4, -1.2, 2.0]), np.array([1.0, 2.0, 3.0])
    _, pull = td.vjp(target, x, td.Constant(y))
    y[:] = 9.0
    close(pull(np.ones(3))[0], np.cos(x) * [1.0, 2.0, 3.0])


@EVERY_TARGET
@EVERY_SCALAR
def test_hessians(scenario, kind):
    """td.hessian, alone and with value and gradient, fresh and into an array."""
    target = targets_of(scenario.f, scenario.first)[kind]
    for x in points(scenario, kind):
        expected = scenario.hessian(x)
        close(twice(lambda: td.hessian(target, x), x), expected)
        value, gradient, found = td.value_gradient_and_hessian(target, x)
        close(value, scenario.f(x))
        close(gradient, scenario.jacobian(x))
        close(found, expected)
        if np.ndim(expected):
            out = np.full(np.shape(expected), np.nan)
            assert td.hessian(target, x, out=out) is out
            close(out, expected)


@EVERY_TARGET
@EVERY_SCALAR
def test_hessian_vector_products(scenario, kind):
    """td.hvp, of one vector and of many, with value and gradient, into an array."""
    target = targets_of(scenario.f, scenario.first)[kind]
    rng = np.random.default_rng(0)
    for x in points(scenario, kind):
        matrix = np.reshape(scenario.hessian(x), (np.size(x), np.size(x)))
        many = rng.normal(size=(4, *np.shape(x)))
        for v in many[:2]:
            expected = np.reshape(matrix @ np.ravel(v), np.shape(x))
            close(twice(lambda v=v: td.hvp(target, x, v), x, v), expected)
            value, gradient, found = td.value_gradient_and_hvp(target, x, v)
            close(value, scenario.f(x))
            close(gradient, scenario.jacobian(x))
            close(found, expected)
            if np.ndim(x):
                out = np.full(np.shape(x), np.nan)
                assert td.hvp(target, x, v, out=out) is out
                close(out, expected)
        close(td.hvp(target, x, many), np.reshape(many.reshape(4, -1) @ matrix, many.shape))


@EVERY_TARGET
def test_functions_of_a_number(kind):
    """td.derivative and td.second_derivative of a number, an array and a tuple."""
    f = lambda t: (t**3, np.stack([np.sin(t), t * t]), 7)
    target = targets_of(f, 0.3)[kind]
    t = 1.7
    value, first, second = td.value_derivative_and_second_derivative(target, t)
    close(value[0], t**3)
    assert value[2] == 7
    for found in (first, td.derivative(target, t), td.value_and_derivative(target, t)[1]):
        close(found[0], 3 * t**2)
        close(found[1], [np.cos(t), 2 * t])
        assert found[2] == 0
    for made, order in ((td.derivatives, {}), (td.derivatives, {"order": 2}), (td.derivatives, {"order": 1})):
        found = made(target, t, **order)
        for part, expected in zip(found, (value, first, second)):
            for a, b in zip(part, expected):
                close(a, b)
        assert len(found) == 1 + order.get("order", 2)
    with pytest.raises(td.ArgumentMismatch, match="order 1 or 2"):
        td.derivatives(target, t, order=3)
    for found in (second, td.second_derivative(target, t)):
        close(found[0], 6 * t)
        close(found[1], [-np.sin(t), 2.0])


@EVERY_TARGET
def test_several_arguments_and_results(kind):
    """Blocks are nested as JAX nests them: by result, then by argument; data has no derivative."""
    f = lambda a, b, k: (a * np.sum(b), np.dot(a, a) * k)
    a, b, k = np.array([1.0, 2.0]), np.array([0.5, 0.3, 0.1]), td.Constant(3)
    target = targets_of(f, a, b, k)[kind]
    a = a + 1.0
    rows = td.jacobian(target, a, b, k, argnums=(0, 1))
    close(rows[0][0], np.eye(2) * b.sum())
    close(rows[0][1], np.outer(a, np.ones(3)))
    close(rows[1][0], 6.0 * a)
    close(rows[1][1], np.zeros(3))
    close(td.jacobian(target, a, b, k, argnums=-2)[0], np.outer(a, np.ones(3)))
    y, pull = td.vjp(target, a, b, k)
    close(y[1], 3 * a @ a)
    a_bar, b_bar, k_bar = pull(np.ones(2), 2.0)
    close(a_bar, np.full(2, b.sum()) + 12.0 * a)
    close(b_bar, np.full(3, a.sum()))
    assert k_bar is None
    close(pull((np.ones(2), 2.0))[0], a_bar)
    _, moved = td.jvp(target, (a, b, k), (None, np.ones(3), None))
    close(moved[0], 3.0 * a)
    close(moved[1], 0.0)


@EVERY_TARGET
def test_blocks_of_a_hessian(kind):
    """Of two arguments: a tuple of tuples."""
    f = lambda a, b: np.sum(np.outer(a**2, b))
    a, b = np.array([1.0, 2.0]), np.array([0.5, 0.3, 0.1])
    target = targets_of(f, a, b)[kind]
    (aa, ab), (ba, bb) = td.hessian(target, a, b, argnums=(0, 1))
    close(aa, 2.0 * b.sum() * np.eye(2))
    close(ab, np.outer(2.0 * a, np.ones(3)))
    close(ba, ab.T)
    close(bb, np.zeros((3, 3)))
    close(td.hessian(target, a, b, argnums=1), bb)
    products = td.hvp(target, a, (np.ones(2), np.zeros(3)), b, argnums=(0, 1))
    close(products[0], aa @ np.ones(2))
    close(products[1], ba @ np.ones(2))


@pytest.mark.parametrize("scenario", [s for s in SCALAR if np.ndim(s.first) == 1], ids=lambda s: s.name)
def test_operators_inside_recordings_are_differentiated_again(scenario):
    """The gradient of a sum over an operator's result is the next derivative."""
    x = np.asarray(scenario.points[0], float)
    w = np.random.default_rng(1).normal(size=x.shape)
    expected = scenario.hessian(x) @ w
    for f in (
        lambda x: np.sum(td.jacobian(scenario.f, x) * w),
        lambda x: td.jvp(scenario.f, (x,), (w,))[1],
        lambda x: np.sum(td.vjp(scenario.f, x)[1](1.0)[0] * w),
        lambda x: td.linearize(scenario.f, x)[1](w),
    ):
        close(td.gradient(f, x), expected)
        close(td.gradient(td.compile(f, x), x), expected)
    # The derivative of a Hessian, by differences: half of the digits, times the fifth derivative.
    third = td.gradient(lambda x: w @ td.hessian(scenario.f, x) @ w, x)
    h = 1e-4
    by_differences = [(w @ scenario.hessian(x + h * e) @ w - w @ scenario.hessian(x - h * e) @ w) / (2 * h) for e in np.eye(len(x))]
    np.testing.assert_allclose(third, by_differences, rtol=1e-5, atol=1e-4)
    close(td.gradient(lambda x: np.sum(td.hvp(scenario.f, x, w) * w), x), third)


def test_functions_of_derivatives_follow_branches():
    """td.jacobian(f) and td.hessian(f) keep a GuardedTape."""
    f = lambda x: np.sum(x**3) if x[0] > 0 else np.sum(x**2)
    hessian, jacobian = td.hessian(f), td.jacobian(f)
    for x in (np.array([1.0, 2.0]), np.array([-1.0, 2.0]), np.array([3.0, 1.0])):
        close(hessian(x), np.diag(6.0 * x if x[0] > 0 else np.full(2, 2.0)))
        close(jacobian(x), 3.0 * x**2 if x[0] > 0 else 2.0 * x)


def test_a_pullback_outlives_changes_of_its_arguments():
    """Residuals are copies."""
    for target in (np.sin, td.compile(np.sin, np.ones(3))):
        x = np.array([0.1, 0.2, 0.3])
        _, pull = td.vjp(target, x)
        expected = np.cos(x)
        x[:] = 7.0
        close(pull(np.ones(3))[0], expected)


def test_hessians_of_sparse_functions_take_few_products():
    """A chain takes three and an arrow two, whatever their length."""
    from tapediff.targets.tapes.matrix_tapes import hessian_sweeps

    chain, arrow = (next(s for s in SCENARIOS if s.name == name) for name in ("a chain", "an arrow"))
    for scenario, count in ((chain, 3), (arrow, 2)):
        tape = td.record(scenario.f, np.full(200, 0.3))
        assert hessian_sweeps(tape, (0,)).count == count


@pytest.mark.parametrize(("call", "said"), [
    (lambda f, x: td.jvp(f, x, x), "primals must be a tuple"),
    (lambda f, x: td.jvp(f, (x,), (x[:2],)), "another shape"),
    (lambda f, x: td.jvp(f, (x,), (x, x)), "one tangent for each argument"),
    (lambda f, x: td.vjp(f, x)[1](np.ones((2, 7))), "another shape"),
    (lambda f, x: td.hvp(f, x, np.ones(2)), "another shape"),
    (lambda f, x: td.jacobian(f, x, mode="sideways"), "mode of a Jacobian"),
    (lambda f, x: td.jacobian(f, x, out=np.empty(2)), "out has another shape"),
    (lambda f, x: td.derivative(f, x), "is no number"),
    (lambda f, x: td.vjp(f, td.Constant(x)), "no argument to differentiate"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(call, said):
    """With a message that names it; nothing is left behind."""
    f = lambda x: np.sum(x**2)
    x = np.ones(3)
    for target in (f, td.record(f, x), td.compile(f, x), td.GuardedTape(f)):
        if said.startswith("no argument") and target is not f:
            continue
        with pytest.raises(td.TapediffError, match=said):
            call(target, x)
        assert not td.is_recording()
        close(td.gradient(target, x), 2 * x)
