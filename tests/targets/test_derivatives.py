"""The verbs: every target, closed forms, shapes, has_aux, second order, errors."""

import numpy as np
import pytest

import tapediff as td

X = np.array([0.5, -1.0, 2.0])
B = np.arange(9.0).reshape(3, 3)


def quartic(x):
    return np.sum(x**4) + x[0] * x[1] + x @ B @ x


def quartic_gradient(x):
    return 4 * x**3 + np.array([x[1], x[0], 0.0]) + (B + B.T) @ x


def quartic_hessian(x):
    return np.diag(12 * x**2) + np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]]) + B + B.T


TARGETS = {
    "function": quartic,
    "tape": td.record(quartic, np.ones(3)),
    "kernel": td.compile(quartic, np.ones(3)),
    "guarded tape": td.GuardedTape(quartic),
}
EVERY_TARGET = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)


@EVERY_TARGET
def test_gradient_and_value_of_every_target(target):
    """Twice at the same point and then at another: prepared at one point, evaluated at another."""
    for x in (X, X, -X, np.zeros(3)):
        before = x.copy()
        value, gradient = td.value_and_gradient(target, x)
        assert value == pytest.approx(quartic(x), rel=1e-14)
        np.testing.assert_allclose(gradient, quartic_gradient(x), rtol=1e-13, atol=1e-13)
        assert np.array_equal(td.gradient(target, x), gradient)
        assert np.array_equal(x, before)


@pytest.mark.parametrize("make", [lambda f, x: f, td.record, td.compile, lambda f, x: td.GuardedTape(f)], ids=TARGETS)
@pytest.mark.parametrize("x", [2.0, np.float64(2.0), np.array(2.0)])
def test_matrices_of_a_number_are_numpys_numbers(make, x):
    """They have a shape, at the first call and at later ones."""
    target = make(lambda x: x**3, x)
    for _ in range(3):
        hessian, jacobian = td.hessian(target, x), td.jacobian(target, x)
        both = *td.value_gradient_and_hessian(target, x)[2:], td.value_and_jacobian(target, x)[1]
        for found, expected in zip((hessian, jacobian, *both), (12.0, 12.0, 12.0, 12.0)):
            assert (type(found), found.shape, found) == (np.float64, (), expected)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: np.outer(x, x), X),
        (lambda x: x[:2] * x[1:], X),
        (lambda x: np.sum(x), X),
        (lambda x: np.sin(x) * np.arange(3.0), 0.7),
        (lambda x: x.T @ x, np.arange(6.0).reshape(3, 2)),
        (lambda x: np.zeros(3) + x[0], X),
        (lambda x: np.ones(2), X),
        (lambda x: x[:0], X),
        (lambda x: np.ones(2) + np.sum(x), np.zeros(0)),
    ],
)
def test_the_jacobian_has_output_axes_first(f, x):
    """Shape (*T, *S), by forward or reverse sweeps, equal to differences."""
    jacobian = td.jacobian(f, x)
    x = np.asarray(x, float)
    assert jacobian.shape == (*np.shape(f(x)), *x.shape)
    step = 1e-6
    for index in np.ndindex(*x.shape):
        moved = np.zeros(x.shape)
        moved[index] = step
        # Products of numbers of order one: third derivatives times step**2, and rounding over step.
        np.testing.assert_allclose(jacobian[(..., *index)], (f(x + moved) - f(x - moved)) / (2 * step), atol=1e-8)


def test_the_hessian_of_a_matrix_argument_has_both_shapes():
    hessian = td.hessian(lambda m: np.sum(m**2) / 2.0, np.ones((2, 3)))
    assert hessian.shape == (2, 3, 2, 3)
    assert np.array_equal(hessian.reshape(6, 6), np.eye(6))
    assert td.hessian(lambda x: x**3, 2.0) == 12.0


def test_a_hessian_is_symmetric_to_rounding():
    hessian = td.hessian(lambda x: np.exp(np.sin(x) @ x) + np.prod(x), X)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-14, atol=1e-14)


def test_further_arguments_are_held_fixed():
    def f(x, y, scale):
        return np.sum(x * y) * scale

    assert np.array_equal(td.jacobian(lambda x, y: x * y, X, np.ones(3)), np.eye(3))
    assert np.array_equal(td.hessian(lambda x, y: np.sum(x**2 * y), X, np.ones(3)), 2 * np.eye(3))
    assert np.array_equal(td.gradient(f, X, X, 2, argnums=1), 2 * X)
    assert np.array_equal(td.gradient(f, X, td.Constant(X), 2.0), 2 * X)
    x_bar, scale_bar = td.gradient(f, X, X, 2.0, argnums=(0, 2))
    assert np.array_equal(x_bar, 2 * X)
    assert scale_bar == X @ X


def test_grad_is_a_function_that_follows_branches():
    """Loops, ifs and keyword arguments, called many times: compiled on the way."""
    def f(x, power=2):
        return np.sum(x**power) if x[0] > 0 else -3.0 * np.sum(x)

    gradient = td.grad(f)
    for _ in range(6):
        assert np.array_equal(gradient(X), 2 * X)
        assert np.array_equal(gradient(-X), np.full(3, -3.0))
    assert np.allclose(gradient(X, power=3), 3 * X**2)
    assert np.allclose(gradient(X, 3), 3 * X**2)
    assert gradient.__name__ == "gradient_of_f"


def test_value_and_grad_with_auxiliary_output():
    def f(x):
        return np.sum(x**2), {"double": x * 2, "pair": (x[0], "text"), "count": 3}

    (value, aux), gradient = td.value_and_grad(f, has_aux=True)(X)
    assert value == X @ X
    assert np.array_equal(gradient, 2 * X)
    assert np.array_equal(aux["double"], 2 * X)
    assert type(aux["double"]) is np.ndarray
    assert aux["pair"] == (0.5, "text")
    assert aux["count"] == 3
    gradient, aux = td.grad(f, has_aux=True)(X)
    assert np.array_equal(gradient, 2 * X)


def test_grad_of_several_arguments():
    first, second = td.grad(lambda x, y: np.sum(x) * y, argnums=(0, 1))(X, 3.0)
    assert np.array_equal(first, np.full(3, 3.0))
    assert second == X.sum()


def test_derivatives_nest_in_every_spelling():
    """Hessian by jacobian of grad, hessian of a compiled target inside a recording, grad of grad."""
    np.testing.assert_allclose(td.jacobian(td.grad(quartic), X), quartic_hessian(X), rtol=1e-13)
    np.testing.assert_allclose(td.jacobian(lambda x: td.gradient(TARGETS["kernel"], x), X), quartic_hessian(X), rtol=1e-13)
    trace = td.record(lambda x: np.trace(td.hessian(quartic, x)), X)
    np.testing.assert_allclose(td.gradient(td.compile(trace), X), 24 * X, rtol=1e-13)
    assert td.grad(td.grad(td.grad(np.sin)))(0.3) == pytest.approx(-np.cos(0.3), rel=1e-14)


def test_stop_gradient_keeps_the_value_and_drops_the_derivative():
    def f(x):
        return np.sum(td.stop_gradient(x**2) * x)

    tape = td.record(f, np.ones(3))
    assert tape(X) == pytest.approx(np.sum(X**3))
    assert np.array_equal(td.gradient(tape, X), X**2)
    assert np.array_equal(td.gradient(td.compile(tape), X), X**2)
    assert td.stop_gradient(2.0) == 2.0


def test_gradients_are_fresh_contiguous_and_writable():
    """Also of functions whose gradient is a constant, a broadcast or the argument itself."""
    for f in (np.sum, lambda x: 0.5 * np.sum(x**2), lambda x: np.sum(np.ones(3) * x), lambda x: 1.0, lambda x: x[0]):
        for target in (f, td.record(f, X), td.compile(f, X)):
            x = X.copy()
            gradient, again = td.gradient(target, x), td.gradient(target, x)
            assert gradient.flags.c_contiguous
            assert gradient.flags.writeable
            gradient[:] = 7.0
            assert np.array_equal(td.gradient(target, x), again)
            assert np.array_equal(x, X)


@pytest.mark.parametrize(
    ("call", "error", "what"),
    [
        (lambda: td.gradient(lambda x: x, X), td.NonScalarOutput, "returned an array; a gradient needs a scalar"),
        (lambda: td.gradient(lambda x: (x.sum(), 1.0), X), td.NonScalarOutput, "returned a tuple; a gradient needs one real scalar"),
        (lambda: td.gradient(lambda x: {"a": x[0]}, X), td.NonScalarOutput, "returned a dict; a gradient needs one real scalar"),
        (lambda: td.gradient(lambda x: [x[0], x[1]], X), td.NonScalarOutput, "returned a list; a gradient needs one real scalar"),
        (lambda: td.gradient(lambda x: x[0] > 0, X), td.NonScalarOutput, "returned bool, which has no gradient"),
        (lambda: td.gradient(lambda x: np.argmax(x), X), td.NonScalarOutput, "returned int64, which has no gradient"),
        (lambda: td.gradient(lambda x: x[:1], X), td.NonScalarOutput, "returned an array"),
        (lambda: td.gradient(3.0, X), td.ArgumentMismatch, "must be callable or a tape"),
        (lambda: td.gradient(quartic, X, argnums=1), td.ArgumentMismatch, "argnums=1 but quartic was called with 1 arguments"),
        (lambda: td.gradient(quartic, td.Constant(X)), td.ArgumentMismatch, "is td.Constant, so it has no gradient"),
        (lambda: td.gradient(quartic, np.arange(3)), td.DtypeMismatch, "must be real floating-point numbers"),
        (lambda: td.gradient(quartic, X, out=np.empty(2)), td.ShapeMismatch, "out has another shape"),
        (lambda: td.jacobian(lambda x: (np.argmax(x), x > 0), X), td.NonScalarOutput, "must return real numbers"),
    ],
)  # fmt: skip
def test_a_misuse_is_an_error_that_says_so(call, error, what):
    with pytest.raises(error, match=what):
        call()


def test_check_gradient_accepts_right_and_rejects_wrong_gradients():
    for target in TARGETS.values():
        td.testing.check_gradient(target, quartic, X)
    with pytest.raises(AssertionError, match="differs from finite differences"):
        td.testing.check_gradient(lambda x: np.sum(td.stop_gradient(x) * x), lambda x: np.sum(x * x), X)
    with pytest.raises(AssertionError, match="differs from the plain function"):
        td.testing.check_gradient(np.sum, lambda x: np.sum(x) + 1.0, X)


# Results that do not depend on the arguments

PLAIN_RESULTS = [0, 1, -3, True, False, 2.5, 10**30, np.int32(4), np.uint8(7), np.bool_(True), np.float32(1.5), np.float16(2.0), np.array(3)]


@pytest.mark.parametrize("result", PLAIN_RESULTS, ids=repr)
def test_a_plain_result_has_its_value_and_a_zero_gradient(result):
    """`return 0` is 0.0 to whoever differentiates, whatever kind of number it is; the value alone is what the function returned."""

    def f(x):
        return result

    tape = td.record(f, X)
    for target in (f, tape, td.compile(tape), td.GuardedTape(f), td.GuardedTape(f, compile_after=5)):
        value, gradient = td.value_and_gradient(target, X)
        assert value == float(result)
        assert np.array_equal(gradient, np.zeros(3))
        assert gradient.dtype == np.float64
        assert np.array_equal(td.jacobian(target, X), np.zeros(3))
        assert np.array_equal(td.hessian(target, X), np.zeros((3, 3)))
        if target is not f:
            assert target(X) in (result, float(result))
    assert np.array_equal(td.grad(f)(X), np.zeros(3))
    assert td.gradient(lambda x: np.sum(td.gradient(f, x) * x) + x[0], X)[0] == 1.0


@pytest.mark.parametrize("result", [np.arange(3), np.array([[True], [False]]), np.ones(2)], ids=["int", "bool", "float"])
def test_a_plain_array_has_a_jacobian_of_zeros(result):
    for target in (lambda x: result, td.record(lambda x: result, X), td.compile(lambda x: result, X)):
        assert np.array_equal(td.jacobian(target, X), np.zeros((*result.shape, 3)))


def test_an_argument_is_named_once():
    f = lambda x, y: np.sum(x * y)
    for argnums in ((0, 0), (1, -1), [0, 1, -2]):
        for verb in (td.gradient, td.value_and_gradient, td.jacobian, td.hessian):
            with pytest.raises(td.ArgumentMismatch, match="twice"):
                verb(f, X, X, argnums=argnums)
    with pytest.raises(td.ArgumentMismatch, match="twice"):
        td.compile(f, X, X).batch(np.stack([X, X]), X, argnums=(0, 0))
    with pytest.raises(td.ArgumentMismatch, match="twice"):
        td.gradient(f, X, X, argnames=("x", "x"))


def test_complex_directions_are_refused():
    """Their imaginary part would be lost; compiled, too."""
    f = lambda x: np.sum(x**3)
    for target in (f, td.compile(f, X)):
        for ask in (lambda v: td.hvp(target, X, v), lambda v: td.jvp(target, (X,), (v,)), lambda v: td.linearize(target, X)[1](v)):
            ask(X)
            with pytest.raises(td.DtypeMismatch, match="complex"):
                ask(1j * X)
        with pytest.raises(td.DtypeMismatch, match="complex"):
            td.vjp(target, X)[1](1j)


@pytest.mark.parametrize("wrong", [np.eye(3).view(np.matrix), np.array([2**63 + 5, 1, 2], np.uint64)], ids=["matrix", "integers beyond int64"])
def test_what_would_be_read_in_another_way_is_refused(wrong):
    for argument in (wrong, td.Constant(wrong), {"a": wrong}):
        with pytest.raises(td.DtypeMismatch, match=r"np\.matrix|beyond those of int64"):
            td.compile(lambda x, a: np.sum(x * (a["a"] if isinstance(a, dict) else a)), X, argument)
