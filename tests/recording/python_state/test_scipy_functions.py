"""SciPy's plain Python functions answer tracked arguments during recordings, also by names that were imported before."""

import inspect

import numpy as np
import pytest
import scipy.linalg
import scipy.special
from scipy.linalg import block_diag, cho_factor, cho_solve, cholesky, expm, inv, solve, solve_triangular
from scipy.special import comb, logsumexp, polygamma, softmax
from support.in_threads import in_threads

import tapediff as td
from tapediff.recording.python_state import scipy_functions
from tapediff.recording.python_state.process_state import process

X = np.array([0.4, 0.9])
A = np.array([[2.0, 0.3], [0.3, 1.0]])


def matrix(x):
    return A + np.outer(x, x)


BY_NAME = {
    "solve": lambda x: np.sum(solve(matrix(x), x)),
    "two factors": lambda x: np.sum(cho_solve(cho_factor(matrix(x)), x)),
    "triangular": lambda x: np.sum(solve_triangular(cholesky(matrix(x), lower=True), x, lower=True)),
    "expm": lambda x: np.sum(expm(matrix(x))),
    "inv": lambda x: np.sum(inv(matrix(x))),
    "block_diag": lambda x: np.sum(block_diag(matrix(x), A) ** 2),
    "logsumexp": logsumexp,
    "a list, with weights": lambda x: logsumexp([x[0], x[1], 1.0], b=[1.0, 2.0, 3.0]),
    "arguments by name": lambda x: np.sum(logsumexp(a=matrix(x), axis=1, keepdims=True)),
    "softmax": lambda x: softmax(x)[0],
    "polygamma": lambda x: np.sum(polygamma(1, x)),
    "in a sub-tape": td.subtape(lambda x: logsumexp(x) * x[0]),
    "in a loop": lambda x: td.fori_loop(0, 3, lambda k, s: logsumexp(np.stack([s, x[1]])), x[0]),
}


@pytest.fixture(autouse=True)
def none_met_before(monkeypatch):
    monkeypatch.setattr(process, "forwarded", {})


@pytest.mark.parametrize("f", BY_NAME.values(), ids=BY_NAME)
@pytest.mark.parametrize("how", [td.record, td.compile, lambda f, _: td.GuardedTape(f)], ids=["record", "compile", "guarded"])
def test_names_imported_before_the_recording_are_differentiated(f, how):
    value, gradient = td.value_and_gradient(how(f, X), X)
    assert value == pytest.approx(f(X), rel=1e-12)
    differences = [(f(X + step) - f(X - step)) / 2e-6 for step in 1e-6 * np.eye(2)]
    np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-8)


def test_functions_are_scipys_own_after_every_recording():
    """Also after an error, and with their signatures, results and errors."""
    code, signature = logsumexp.__code__, inspect.signature(logsumexp)

    def fails(x):
        logsumexp(x)
        raise KeyError("user")

    with pytest.raises(KeyError):
        td.record(fails, X)
    td.record(logsumexp, X)
    assert logsumexp.__code__ is code
    assert inspect.signature(logsumexp) == signature
    assert scipy.special.logsumexp is logsumexp
    assert type(logsumexp(X)) is np.float64


def test_plain_arguments_get_scipys_own_results_and_errors_within_recordings():
    expected = logsumexp(np.array([1.0, 2.0]))

    def f(x):
        assert logsumexp(np.array([1.0, 2.0])) == expected
        with pytest.raises(TypeError, match="no_such"):
            logsumexp(np.ones(2), no_such=1)
        assert comb(5, 2, exact=True) == 10
        return logsumexp(x)

    np.testing.assert_allclose(td.gradient(f, X), softmax(X), rtol=1e-14)


def test_functions_that_have_no_other_form_are_refused_once():
    calls = []

    def f(x):
        calls.append(1)
        return scipy.linalg.signm(matrix(x))[0, 0]

    with pytest.raises(td.TrackedValueEscaped, match=r"scipy\.linalg\.signm"):
        td.record(f, X)
    assert len(calls) == 1
    assert not scipy_functions.forward("scipy.linalg.signm")
    assert not scipy_functions.forward("")


def test_several_threads_meet_them_at_once():
    found = []

    def work(_):
        for k in range(20):
            found.append(td.gradient(lambda x: logsumexp(x) + np.sum(solve(A, x)), X + k) - (softmax(X + k) + np.sum(np.linalg.inv(A), axis=0)))

    in_threads(work, interval=1e-6)
    assert len(found) == 80
    np.testing.assert_allclose(found, 0.0, atol=1e-12)
