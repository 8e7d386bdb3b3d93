"""Native calls with everything but one vector fixed: they give what the target gives, read data where they are, and keep to one thread's faults."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tapediff as td
from tapediff.adapters.samplers import LogDensity
from tapediff.adapters.scipy import Objective
from tapediff.targets.evaluate.fixed_calls import FixedCalls

X = np.linspace(-1.0, 1.0, 5)


def pull(x, y):
    """Two paths; not positive definite from x[1] = 2 on, and a fault of the program beyond x[1] = 3."""
    if x[1] > 3.0:
        raise KeyError("a fault of the program")
    if x[1] > 1.0:
        return -np.sum((x - y) ** 2) + 0.0 * np.linalg.cholesky(np.eye(2) * (2.0 - x[1]))[0, 0]
    return -2.0 * np.sum((x - y) ** 2)


def known(target, *args):
    """Calls that are native from the first on."""
    calls = FixedCalls(target, args)
    for kind in ("value", "gradient"):
        calls.learn(kind, X)
    return calls


@pytest.mark.parametrize("make", [td.GuardedTape, lambda f: td.compile(f, X, td.Constant(X))], ids=["guarded", "compiled"])
def test_values_and_gradients_are_those_of_the_target(make):
    """With either sign, and on the other path where there is one."""
    target = make(pull)
    calls, y = known(target, td.Constant(X * 2)), td.Constant(X * 2)
    for x in (X, X + 0.1, X + np.array([0, 2.2, 0, 0, 0])):
        gradient, negative = np.empty(5), np.empty(5)
        status = calls.gradient(x, gradient)
        if isinstance(target, td.CompiledTape) and x[1] > 1.0:
            assert type(status) is int
            assert calls.raise_kept(status) is None  # Python makes the error: GuardFailed
            with pytest.raises(td.GuardFailed):
                target(x, y)
            continue
        value, expected = target.value_and_gradient(x, y)
        assert calls.value(x) == status == value
        np.testing.assert_array_equal(gradient, expected)
        assert calls.negative_value(x) == calls.negative_gradient(x, negative) == -value
        np.testing.assert_array_equal(negative, -expected)


def test_whatever_is_not_such_a_vector_is_left_to_python():
    """Another size, dtype or layout, an array that is both argument and gradient, and a list."""
    calls, gradient = known(td.GuardedTape(pull), td.Constant(X)), np.full(5, 7.0)
    for x in (X[:3], X.astype(np.float32), np.repeat(X, 2)[::2], X[None], X.tolist(), None, gradient):
        assert type(calls.gradient(x, gradient)) is int
        assert x is gradient or type(calls.value(x)) is int
    np.testing.assert_array_equal(gradient, 7.0)


def test_faults_are_kept_for_their_thread_and_handed_out_once():
    """A rejection as well; a point after it is answered as before."""
    calls, gradient = known(td.GuardedTape(pull), td.Constant(X)), np.empty(5)
    far, refused = X + np.array([0, 9.0, 0, 0, 0]), X + np.array([0, 2.8, 0, 0, 0])
    assert calls.gradient(X, gradient) == 0.0
    for x, error in ((far, KeyError), (refused, np.linalg.LinAlgError)):
        status = calls.gradient(x, gradient)
        with ThreadPoolExecutor(1) as other:
            other.submit(calls.raise_kept, status).result()
        with pytest.raises(error):
            calls.raise_kept(status)
        calls.raise_kept(status)
        assert calls.gradient(X, gradient) == 0.0


def test_data_are_read_where_they_are():
    """An array that its owner writes to is seen, as by the target; data that would have to be copied are left to Python."""
    y = X.copy()
    for form in (LogDensity(pull, td.Constant(y)), Objective(pull, td.Constant(y))):
        for shift in (0.0, 1.0, 2.0):
            y[:] = X + shift
            assert form(X + 0.125) == pytest.approx(-10.0 * (0.125 - shift) ** 2)
            assert form(X) == pytest.approx(-10.0 * shift**2)
    strided, narrow, inside = np.repeat(y, 2)[::2], y.astype(np.float32), {"y": y}
    for data in (strided, narrow):
        assert type(known(td.GuardedTape(pull), td.Constant(data)).value(X)) is int
    assert type(known(td.GuardedTape(lambda x, d: pull(x, d["y"])), td.Constant(inside)).value(X)) is int
    inside_of_form = LogDensity(lambda x, d: pull(x, d["y"]), td.Constant(inside))
    for shift in (1.0, 3.0):
        inside["y"] = X + shift
        assert [inside_of_form(X) for _ in range(3)] == [pytest.approx(-10.0 * shift**2)] * 3


def test_a_posteriors_data_are_copied_and_replaced():
    """By set_data: of other values, shapes and ints, on both methods, after any number of calls."""
    y = np.zeros(3)
    post = td.Posterior(lambda m, y, n: -n * np.sum((y - m) ** 2), m=td.real(), data={"y": y, "n": 2})
    of_post, u = LogDensity(post), np.array([0.5])

    def agree(expected, slope):
        for _ in range(3):
            out = np.empty(1)
            assert post.log_density(u) == of_post(u) == pytest.approx(expected)
            assert post.log_density_gradient(u, out=out) == (pytest.approx(expected), out)
            assert of_post.negative_gradient(u) == (-out, -post.log_density(u))
            assert out[0] == pytest.approx(slope)

    agree(-2 * 3 * 0.25, -2 * 3)
    y[:] = 1.5
    agree(-2 * 3 * 0.25, -2 * 3)
    post.set_data(y=y)
    agree(-2 * 3 * 1.0, 12)
    post.set_data(y=np.array([0.5, 1.5]))
    agree(-2 * 1.0, 4)
    for n in range(5, 12):
        post.set_data(n=n)
        agree(-n * 1.0, 2 * n)
    assert post.tape.stats.recordings <= 5  # an int is data from its second value on
    assert pickle.loads(pickle.dumps(Objective(td.GuardedTape(pull), td.Constant(X))))(X) == 0.0


def test_a_recording_records_through_them():
    """A log density of plain numbers inside another function is part of its tape."""
    post = td.Posterior(lambda m: -np.sum(m**2), m=td.real(2))
    u = np.ones(2)
    post.log_density(u), post.log_density(u)
    assert td.gradient(lambda x: post.log_density(x) * post.log_density(u), u) == pytest.approx([4.0, 4.0])
