"""np.array, np.asarray, np.full and their relatives of tracked values: NumPy's value, shape, dtype, aliasing; and the slope."""

import numpy as np
import pytest

import tapediff as td
from tapediff.testing import central_difference

X, Y = np.array([0.5, -1.25, 2.0]), np.array([1.75, 0.25, -0.5])
K = np.array([3, 1, 2])
MATRIX = np.arange(6.0).reshape(2, 3)


def rotation(x, k):
    return np.array([[np.cos(x[0]), -np.sin(x[0])], [np.sin(x[0]), np.cos(x[0])]]) @ x[:2]


def right_hand_side(x, k):
    a, b, c = x
    return np.array([a - a * b, -b + a * b, 0.5 * c])


def copies(x, k):
    y = np.array(x)
    y[0] = 7.0
    z = np.asarray(y)
    z[1] *= 3.0
    w = np.array(z, copy=None)
    w[2] += x[0]
    return y * x + z


def converted_copies(x, k):
    y = x * 1.0
    z = np.asarray(y, dtype=np.float32)
    z[0] = 0.1
    y[1] = 5.0
    return y[0] * z.astype(float) + y


def reshaped_array(x, k):
    y = np.array(x, ndmin=2)
    y[0, 1] = x[2]
    return y


def without_axes(x, k):
    a = np.array(x[0] * x[1])
    b = a
    b += x[2]
    c = np.asarray(a)
    c *= 2.0
    d = np.array(a)
    d -= 1.0
    return a * x + d


def view_without_axes(x, k):
    y = x * 1.0
    part = y[1, ...]
    part += x[0]
    return y


def truncating(x, k):
    a = np.full(2, k[0])
    a[0] = 2.7
    b = np.array([k[0], k[1]])
    b[1] = x[0] * 10.0
    c = np.zeros_like(k)
    c[...] = -1.9
    d = np.array(k)
    d[:2] = x[:2] * 4.1
    e = np.full_like(k, 2.9)
    f = np.array([k[0] > 1, k[1] > 1])
    f[1] = x[0]
    f[0] = 0.0
    return (a[0] + b[1]) * x + c * x + d * x + e + f.sum() * x


def fortran(x, k):
    m = np.array([x, 2.0 * x])
    part = np.asfortranarray(m).reshape(-1)
    part[0] = 9.0
    same = np.ascontiguousarray(m)
    same[0, 1] = 5.0
    turned = np.ascontiguousarray(m.T)
    turned[0, 0] = 7.0
    return m.ravel() + part * turned.reshape(-1)


# name: a function of floats x and integers k
CASES = {
    "numbers": lambda x, k: np.array([x[0] * x[1], x[2] ** 2]),
    "numbers and plain ones": lambda x, k: np.array([x[0], 2.0, 3, True, np.float32(0.5)]),
    "a right-hand side": right_hand_side,
    "a matrix of numbers": lambda x, k: np.array([[x[0], 0.0], [0.0, x[1]]]) @ np.asarray([[x[2], 1], (0, x[0])]),
    "a rotation": rotation,
    "arrays": lambda x, k: np.array([x, x**2, [1.0, 2.0, 3.0], X]),
    "arrays of arrays": lambda x, k: np.array([[x, x * 2], [X, np.zeros(3)]]),
    "lists and tuples": lambda x, k: np.array(([x[0], x[1]], (x[2], 1.0))),
    "an array": lambda x, k: np.array(x) * np.asarray(x) + np.asanyarray(x) * np.asarray_chkfinite(x),
    "a number": lambda x, k: np.array(x[0]) * np.asarray(x[1]) + np.asarray(x[2], dtype=float),
    "dtype float": lambda x, k: np.array(x, dtype=float) * np.asarray([x[0], 1, x[1]], dtype=np.float64) + np.array(x, float),
    "dtype float32": lambda x, k: np.array([x[0], 0.1], dtype=np.float32) * np.asarray(x[:2], dtype="float32"),
    "dtype int": lambda x, k: np.array([x[0] * 3, 1.9], dtype=int) * x[1] + np.asarray(x[:2], int),
    "dtype bool": lambda x, k: np.array([x[0], 0.0], dtype=bool) * x[:2],
    "integers to floats": lambda x, k: np.array([k[0], k[1], 2], dtype=float) / np.array(k, dtype=np.float64) * x,
    "integers": lambda x, k: np.array([k[0], k[2], 5]) * x,
    "integers and floats": lambda x, k: np.array([k[0], x[0], 5]),
    "masks": lambda x, k: np.array([x[0] > 0, x[1] > 0, True]) * x,
    "masks and integers": lambda x, k: np.array([x[0] > 0, k[0], 2]),
    "float32 and a Python float": lambda x, k: np.array([x.astype(np.float32)[0], 2.0]),
    "float32 alone": lambda x, k: np.array([x.astype(np.float32)[0], np.float32(0.1)]),
    "keywords": lambda x, k: np.array(object=[x[0], 1.0]) + np.asarray(a=[x[1], 2.0]),
    "ndmin": reshaped_array,
    "copies": copies,
    "converted copies": converted_copies,
    "no axes": without_axes,
    "a view without axes": view_without_axes,
    "writes of floats into integers": truncating,
    "orders": fortran,
    "full": lambda x, k: np.full(3, x[0]) * x + np.full((2, 3), x) + np.full((3,), fill_value=x[1], dtype=np.float32),
    "full of integers": lambda x, k: np.full(3, k[0]) * x + np.full(3, x[0], dtype=int),
    "td.full": lambda x, k: td.full(3, x[0]) * x + td.full((2, 3), k, dtype=int) + td.full(2, 2.7, dtype=np.int32)[0],
    "full_like": lambda x, k: np.full_like(x, x[0]) * x + np.full_like(k, x) + np.full_like(x, 2, dtype=int),
    "fromiter": lambda x, k: np.fromiter((v**2 for v in x), float) + np.fromiter([1.0, 2.0, 3.0], float, 3),
    "arange": lambda x, k: np.arange(k[0]) * x + np.arange(0, k[2], 1.0)[0],
    "an object array": lambda x, k: np.asarray(np.asarray([x[0], x[1]], dtype=object), dtype=float) * 2.0,
    "lists given to means": lambda x, k: np.mean([x[0], x[1] ** 2]) * x + np.std([x[0], x[1]]) + np.var([x, x**2], axis=0),
    "lists given to reductions": lambda x, k: np.median([x[0], x[1] ** 2]) * x + np.max([x[0], x[1]]) * np.average(list(x)) + np.sort([x[2], x[0], x[1]]),
    "nested lists given to functions": lambda x, k: np.dot(np.eye(2), [x[0], x[1]]) + np.eye(2) @ [x[1], x[2]],
    "nothing tracked": lambda x, k: np.array([1.0, 2.0, 3.0]) * np.asarray(X) * np.full(3, 2.0) * x,
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_it_gives_what_numpy_gives(name):
    """Plain call == replay == kernel == guarded tape in value, shape and dtype, recorded at one point and evaluated at another."""
    f = CASES[name]
    expected = np.asarray(f(Y.copy(), K.copy()))
    tape = td.record(f, X, td.Constant(K))
    tape.check()
    for value in (tape(Y, K), td.CompiledTape(tape)(Y, K), td.GuardedTape(f)(Y, td.Constant(K))):
        assert np.shape(value) == expected.shape
        assert np.asarray(value).dtype == expected.dtype
        # cos and sin differ from NumPy's by a few ulp, the float32 products by one of theirs.
        np.testing.assert_allclose(value, expected, rtol=1e-7 if expected.dtype == np.float32 else 1e-14, atol=1e-14)


@pytest.mark.parametrize("name", CASES)
def test_its_gradient_is_its_slope(name):
    f = CASES[name]
    weights = np.cos(np.arange(np.size(f(Y.copy(), K))) + 0.5).reshape(np.shape(f(Y.copy(), K)))

    def projected(x, k):
        return np.sum(f(x, k) * weights)

    tape = td.record(projected, X, td.Constant(K))
    gradient = td.gradient(tape, Y, K)
    np.testing.assert_allclose(td.gradient(td.CompiledTape(tape), Y, K), gradient, rtol=1e-13, atol=1e-13)
    # float32 values have half the digits, and need a longer step.
    step, tolerance = (1e-2, 2e-3) if any(word in name for word in ("float32", "full", "converted")) else (1e-5, 1e-8)
    difference = central_difference(lambda x: float(projected(x.copy(), K)), Y, step)
    np.testing.assert_allclose(gradient, difference, rtol=tolerance, atol=tolerance)


def test_values_of_an_outer_recording_stay_theirs():
    """A list of numbers of two recordings; the second derivative comes out right."""
    def outer(x):
        return np.sum(np.array([td.gradient(lambda y: np.sum(np.array([y[0] * x[0], y[1] ** 3 * x[1]])), x)[1], x[0]]))

    # d/dx of 3 x1**2 x1 + x0
    np.testing.assert_allclose(td.gradient(outer, np.array([2.0, 3.0])), [1.0, 81.0], rtol=1e-14)


@pytest.mark.parametrize(
    ("f", "error", "text"),
    [
        (lambda x: np.array([x, x[:2]]), ValueError, "different shapes"),
        (lambda x: np.array([x[0], None]), td.UnsupportedFunction, "no number"),
        (lambda x: np.array([x[0], "text"]), td.UnsupportedFunction, "no number"),
        (lambda x: np.array(x, dtype=np.int8), td.UnsupportedFunction, "dtype int8"),
        (lambda x: np.array(x, copy=False, dtype=np.float32), ValueError, "avoid copy"),
        (lambda x: np.asarray([x[0]], copy=False), ValueError, "avoid copy"),
        (lambda x: np.asarray_chkfinite(x / 0.0), ValueError, "infs or NaNs"),
        (lambda x: np.full((2, 2), x), ValueError, "broadcast"),
        (lambda x: np.fromiter(iter(x), float, 5), ValueError, "too short"),
        (lambda x: np.arange(x[0]), td.UnsupportedFunction, r"np.arange\(n\)"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_a_mistake_is_an_error_on_its_own_line(f, error, text):
    with pytest.raises(error, match=text) as raised:
        td.record(f, X)
    if isinstance(raised.value, td.TapediffError):
        assert "test_creating.py" in str(raised.value.at)


def test_adding_floats_to_integers_in_place_raises_as_numpy_does():
    def f(x, k):
        a = np.array([k[0], k[1]])
        a += x[0]
        return np.sum(a)

    with pytest.raises(TypeError, match="Cannot cast ufunc 'add' output"):
        f(X, K)
    with pytest.raises(TypeError, match="Cannot cast ufunc 'add' output"):
        td.record(f, X, td.Constant(K))


def test_a_list_given_to_a_reduction_needs_no_guard():
    """It is the tracked array of its numbers, where NumPy would compare objects one by one."""
    functions = (np.max, np.min, np.ptp, np.argmax, np.sort, np.nansum, np.any)
    names = [f.__name__ for f in functions]
    tape = td.record(lambda x: tuple(getattr(np, name)([x[0], x[1], 0.5]) for name in names), X)
    assert not tape.guards
    for value, f in zip(tape(Y), functions):
        np.testing.assert_array_equal(value, f([Y[0], Y[1], 0.5]))


# By NumPy some are arrays without axes, and others numbers, of which `+=` makes a new one.
WITHOUT_AXES = [
    lambda p: np.zeros(()), lambda p: np.array(0.5), lambda p: np.full((), 2.0), lambda p: np.zeros_like(p[0]), lambda p: np.ones_like(p[0]),
    lambda p: np.full_like(p[0], 2.0), lambda p: np.copy(p[0]), lambda p: p[0].copy(), lambda p: np.reshape(p[0], ()),
    lambda p: np.reshape(p[:1].copy(), ()), lambda p: p[:1].copy().squeeze(), lambda p: np.squeeze(p[0]), lambda p: p[0].reshape(()),
    lambda p: np.reshape(p[0], (1,)), lambda p: np.select([p[0] > 0], [p[1]], p[2]), lambda p: np.tensordot(p, p, 1), lambda p: np.dot(p, p),
    lambda p: np.piecewise(p[0], [p[0] > 0], [lambda v: 2 * v, lambda v: v]), lambda p: np.vectorize(lambda v: 2 * v)(p[0]), np.sum,
    lambda p: np.asarray(p[0]), lambda p: p.copy()[0, ...], lambda p: np.einsum("i,i->", p, p), lambda p: p[0], lambda p: p[0].astype(float),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(WITHOUT_AXES)))
def test_what_has_no_axes_is_changed_in_place_where_it_is_an_array(number):
    def by_another_name(p):
        made = WITHOUT_AXES[number](p)
        same = made
        same += p[1]
        return np.sum(made * p[0] + same)

    def by_a_function(p):
        def scale(value):
            value *= p[1]

        made = WITHOUT_AXES[number](p)
        scale(made)
        return np.sum(made * p[0])

    x, v = np.array([3.0, 5.0, -1.0]), np.array([0.3, -0.7, 0.4])
    for f in (by_another_name, by_a_function):
        value, gradient = td.value_and_gradient(td.GuardedTape(f), x)
        assert value == f(x.copy())
        np.testing.assert_allclose(gradient @ v, (f(x + 1e-6 * v) - f(x - 1e-6 * v)) / 2e-6, rtol=1e-6, atol=1e-9)
