"""C functions of values and products: the numbers of the Python calls, in one array, and codes where there are none."""

import gc
import threading

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler.runtime.entries import c_entry as codes
from tapediff.compiler.runtime.entries.flat_entry import FLAT_TYPE

A = np.random.default_rng(0).normal(size=(4, 3))
B = np.random.default_rng(1).normal(size=(2, 2))
X = np.array([0.5, -1.0, 2.0])


def call(function, x, m, n=None, out=None):
    """The code, and what was written to places that held 7."""
    x = np.ascontiguousarray(x, float).ravel()
    out = np.full(m, 7.0) if out is None else out
    code = FLAT_TYPE(function.address)(
        len(x) if n is None else n, x.ctypes.data, m, out.ctypes.data, function.user_data
    )
    return code, out


def flat(*arrays):
    return np.concatenate([np.ravel(a) for a in arrays])


def residuals(x):
    return np.tanh(A @ x) - 0.5


def several(x, b, scale):
    return x[0] * b @ b, np.sum(np.sin(x)) * scale


def energy(x, b):
    return np.sum(np.sin(x)) ** 2 * np.sum(b**3) + np.sum(b)


@pytest.mark.parametrize("make", [lambda f: td.compile(f, X), td.GuardedTape], ids=["compiled", "guarded"])
def test_results_are_those_of_the_python_call(make):
    """Of a vector, at every call, for any function of one vector."""
    for f in (residuals, lambda x: np.outer(x, x), lambda x: (x[0], x * 2.0), lambda x: np.sum(x**2)):
        tape = make(f)
        function = tape.c_function()
        for x in (X, -X, 2 * X, np.full(3, np.inf)):
            with np.errstate(all="ignore"):
                value = tape(x)
                expected = flat(*(value if type(value) is tuple else (value,)))
                code, out = call(function, x, expected.size)
            assert code == 0
            np.testing.assert_array_equal(out, expected)


def test_arguments_and_results_stand_one_behind_the_other():
    """In the order of the function, each in C order."""
    fixed = td.compile(several, X, B, 2.0)
    function = fixed.c_function()
    assert function.sizes == (8, 5)
    code, out = call(function, flat(X, B, 3.0), 5)
    assert code == 0
    assert np.array_equal(out, flat(*fixed(X, B, 3.0)))


def test_products_are_those_of_the_operators():
    """jvp, vjp and hvp, by one argument and by several."""
    fixed, rng = td.compile(residuals, X), np.random.default_rng(2)
    v, w, u = rng.normal(size=3), rng.normal(size=4), rng.normal(size=(2, 2))
    code, out = call(fixed.c_function("jvp"), flat(X, v), 4)
    assert code == 0
    np.testing.assert_allclose(out, td.jvp(fixed, (X,), (v,))[1], rtol=1e-13)  # another kernel may add in another order
    code, out = call(fixed.c_function("vjp"), flat(X, w), 3)
    assert code == 0
    np.testing.assert_allclose(out, td.vjp(fixed, X)[1](w)[0], rtol=1e-13)
    fixed = td.compile(energy, X, B)
    hessians = td.hessian(energy, X, B, argnums=1)
    code, out = call(fixed.c_function("hvp", argnums=1), flat(X, B, u), 4)
    assert code == 0
    np.testing.assert_allclose(out.reshape(2, 2), np.tensordot(hessians, u, 2), rtol=1e-12)
    code, out = call(fixed.c_function("hvp", argnums=(0, 1)), flat(X, B, v, u), 7)
    assert code == 0
    step = 1e-6
    forward, back = (flat(*fixed.gradient(X + s * v, B + s * u, argnums=(0, 1))) for s in (step, -step))
    np.testing.assert_allclose(out, (forward - back) / (2 * step), rtol=1e-6, atol=1e-6)  # a difference of step 1e-6


def test_constants_are_replaced_without_compiling():
    """The last arguments, of any dtype; copied."""

    def picked(x, b, label):
        return x * b[0, 0] + x[label]

    fixed = td.compile(picked, X, td.Constant(B), td.Constant(1))
    given = B.copy()
    function = fixed.c_function(constants=(given, 1))
    assert function.sizes == (3, 3)
    given[:] = 0.0
    assert np.array_equal(call(function, X, 3)[1], fixed(X, B, 1))
    function.set_constants(2 * B, 2)
    assert np.array_equal(call(function, X, 3)[1], fixed(X, 2 * B, 2))
    for wrong in ((B,), (B[0], 1), (B, 1.5)):
        with pytest.raises(td.ArgumentMismatch):
            function.set_constants(*wrong)
    assert np.array_equal(call(function, X, 3)[1], fixed(X, 2 * B, 2))
    product = fixed.c_function("jvp", constants=(B, 1))
    np.testing.assert_allclose(
        call(product, flat(X, X), 3)[1], td.jvp(lambda x: picked(x, B, 1), (X,), (X,))[1], rtol=1e-14
    )


def branching(x):
    if x[0] > 1.0:
        return np.array([1.0, 2.0, 3.0]) * x
    if x[1] > 0.0:
        return x**3
    return -np.cos(x)


def test_codes_say_why_there_are_no_results():
    """Sizes, overlaps, guards and factorisations; nothing is written."""
    fixed = td.compile(branching, np.full(3, 2.0))
    function, x = fixed.c_function(), np.full(6, 2.0)
    assert call(function, x[:3], 3)[0] == 0
    for code, (found, out) in (
        (codes.WRONG_SIZE, call(function, x[:2], 3)),
        (codes.WRONG_SIZE, call(function, x[:3], 4)),
        (codes.GUARD_FAILED, call(function, np.zeros(3), 3)),
        (codes.MISPLACED, call(function, x[:3], 3, out=np.full(25, 7, np.int8).view(np.int8)[1:25])),
    ):
        assert found == code
        assert np.all(out == 7)
    code = FLAT_TYPE(function.address)(3, x.ctypes.data, 3, x[1:].ctypes.data, function.user_data)
    assert code == codes.MISPLACED
    assert np.all(x == 2.0)
    factor = td.compile(lambda x: np.linalg.cholesky(np.eye(2) * x[0]), X).c_function()
    assert call(factor, X, 4)[0] == 0
    found, out = call(factor, -X, 4)
    assert found == codes.NOT_POSITIVE_DEFINITE
    assert np.all(out == 7.0)


def test_a_guarded_tape_follows_branches():
    """New paths are recorded, known ones followed, also after their tapes were dropped; points of other sizes have tapes of their own."""
    safe = td.GuardedTape(branching)
    function = safe.c_function()
    for x in np.random.default_rng(3).normal(size=(60, 3)):
        code, out = call(function, x, 3)
        assert code == 0
        np.testing.assert_allclose(out, branching(x), rtol=1e-14)
    assert safe.stats.recordings == 3
    code, out = call(function, [0.0, 1.0, 2.0, 3.0], 4)
    assert code == 0
    assert np.array_equal(out, [0.0, 1.0, 8.0, 27.0])
    found, out = call(function, X, 5)
    assert found == codes.WRONG_SIZE
    assert np.all(out == 7.0)
    assert isinstance(function.take_error(), td.ShapeMismatch)


@pytest.mark.filterwarnings("ignore::tapediff.GuardWarning")
def test_dropped_tapes_are_not_run():
    """With room for one tape only."""
    safe = td.GuardedTape(branching, max_tapes=1)
    function = safe.c_function()
    for x in np.random.default_rng(4).normal(size=(12, 3)):
        code, out = call(function, x, 3)
        assert code == 0
        np.testing.assert_allclose(out, branching(x), rtol=1e-14)


def test_exceptions_of_user_code_are_kept():
    """-5, or 3 and 2 where a sampler may go on; the exception itself."""

    def picky(x):
        if x[0] > 5.0:
            raise ValueError("too far")
        if x[0] < -5.0:
            raise FloatingPointError("no value here")
        return np.linalg.cholesky(np.eye(2) * x[1])

    safe = td.GuardedTape(picky)
    function = safe.c_function()
    for x, code, kind in (
        ([6.0, 1.0], codes.RAISED, ValueError),
        ([-6.0, 1.0], codes.RECOVERABLE, FloatingPointError),
        ([0.0, -1.0], codes.NOT_POSITIVE_DEFINITE, np.linalg.LinAlgError),
        ([0.0, 1.0], 0, None),
        ([0.0, -1.0], codes.NOT_POSITIVE_DEFINITE, np.linalg.LinAlgError),
    ):
        found, out = call(function, x, 4)
        assert found == code
        assert np.all(out == 7.0) == (code != 0)
        raised = function.take_error()
        assert raised is None if kind is None else isinstance(raised, kind)


def test_threads_may_call_one_function():
    """Fixed and guarded, on paths that change all the time."""
    points, errors = np.random.default_rng(5).normal(size=(200, 3)), []
    safe = td.GuardedTape(branching)
    of_paths, fixed = safe.c_function(), td.compile(residuals, X).c_function()

    def work(seed):
        try:
            for x in np.random.default_rng(seed).permutation(points):
                code, out = call(of_paths, x, 3)
                assert code == 0
                np.testing.assert_allclose(out, branching(x), rtol=1e-14)
                code, out = call(fixed, x, 4)
                assert code == 0
                np.testing.assert_allclose(out, residuals(x), rtol=1e-13)
        except BaseException as raised:  # noqa: BLE001 -- raised again below
            errors.append(raised)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not errors, errors
    assert safe.stats.recordings == 3


def test_a_function_keeps_its_kernel():
    """The tape may be forgotten, the function not."""
    function = td.compile(residuals, X).c_function()
    gc.collect()
    assert np.array_equal(call(function, X, 4)[1], td.compile(residuals, X)(X))


def test_what_is_no_array_of_floats_is_refused():
    """Integers and booleans as arguments or results, kinds that do not exist, and derivatives by constants."""
    with pytest.raises(td.ArgumentMismatch, match="float64"):
        td.compile(lambda x: x > 0.0, X).c_function()
    fixed = td.compile(lambda x, k: x[k], X, td.Constant(1))
    for wrong in ({}, {"constants": (1, 2, 3)}, {"kind": "gradient"}, {"kind": "jvp", "argnums": 1, "constants": (1,)}):
        with pytest.raises(td.ArgumentMismatch):
            fixed.c_function(**wrong)
    with pytest.raises(td.ArgumentMismatch, match="GuardedTape"):
        td.GuardedTape(residuals).c_function("jvp")
