"""What a sampler is told about a point: codes of the C function, `is_recoverable` of exceptions, and draws that are right."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler.runtime.entries import c_entry as pointer


def bent(x):
    """Two halves of normal distributions: sd 2 above 0, sd 1 below; mean sqrt(2 / pi), mean square 3."""
    if x[0] > 0.0:
        return -0.125 * x[0] ** 2
    return -0.5 * x[0] ** 2


BENT_MEAN, BENT_VARIANCE = np.sqrt(2 / np.pi), 3 - 2 / np.pi


def correlation(x):
    """Of density 1 - x^2 between -1 and 1, and none elsewhere: variance 1/5."""
    matrix = np.eye(2) + x[0] * np.array([[0.0, 1.0], [1.0, 0.0]])
    return 2 * np.sum(np.log(np.diagonal(np.linalg.cholesky(matrix))))


class Stopped(Exception):
    """The C function has returned a negative code."""


def hmc(tape, start, draws, step, steps=8):
    """The draws of Hamiltonian Monte Carlo on the C function of a tape, which rejects a point where the code is positive."""
    rng, size = np.random.default_rng(1), len(start)
    function, words = pointer.POINT_TYPE(tape.address), tape.user_data
    gradient, value = np.empty(size), np.empty(1)

    def at(x):
        code = function(size, x.ctypes.data, gradient.ctypes.data, value.ctypes.data, words)
        if code < 0:
            raise Stopped(code)
        return code == 0

    x, kept, rejected = np.array(start), np.empty((draws, size)), 0
    assert at(x)
    for k in range(draws):
        at(x)
        momentum, end, ok = rng.normal(size=size), x.copy(), True
        before = value[0] - 0.5 * momentum @ momentum
        for _ in range(rng.integers(1, steps)):
            momentum += 0.5 * step * gradient
            end += step * momentum
            ok = at(end)
            if not ok:
                rejected += 1
                break
            momentum += 0.5 * step * gradient
        if ok and rng.random() < np.exp(value[0] - 0.5 * momentum @ momentum - before):
            x = end
        kept[k] = x
    return kept, rejected


def code_at(tape, x):
    x, gradient, value = np.array(x), np.full(len(x), 7.0), np.full(1, 5.0)
    code = pointer.POINT_TYPE(tape.address)(
        len(x), x.ctypes.data, gradient.ctypes.data, value.ctypes.data, tape.user_data
    )
    return code, value[0], gradient


def test_a_sampler_stops_where_a_guard_of_a_fixed_tape_fails():
    """The other half of the distribution is not a set of points that the model rejects: going on would sample another one."""
    fixed = td.compile(bent, np.array([1.0]))
    assert code_at(fixed, [-1.0])[0] == pointer.GUARD_FAILED < 0
    with pytest.raises(Stopped):
        hmc(fixed, [1.0], 1000, 0.8)


def test_a_sampler_draws_from_both_sides_of_a_branch():
    """Mean and variance of 5,000 draws of a GuardedTape, within five standard errors of about 1,000 independent ones."""
    draws, rejected = hmc(td.GuardedTape(bent), [1.0], 5000, 0.8)
    assert rejected == 0
    assert np.mean(draws) == pytest.approx(BENT_MEAN, abs=5 * np.sqrt(BENT_VARIANCE / 1000))
    assert np.var(draws) == pytest.approx(BENT_VARIANCE, rel=5 * np.sqrt(2 / 1000))


@pytest.mark.parametrize("make", [lambda f: td.compile(f, np.zeros(1)), td.GuardedTape], ids=["compiled", "guarded"])
def test_a_sampler_rejects_points_where_a_matrix_is_not_positive_definite(make):
    """The density is 0 there, so the draws stay between -1 and 1, and have the variance 1/5 within five standard errors."""
    draws, rejected = hmc(make(correlation), [0.0], 5000, 0.5)
    assert rejected > 100
    assert np.max(np.abs(draws)) < 1.0
    assert np.var(draws) == pytest.approx(0.2, rel=5 * np.sqrt(2 / 1000))


class Reject(Exception):
    is_recoverable = True


class Fatal(np.linalg.LinAlgError):
    is_recoverable = False


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (np.linalg.LinAlgError("no"), pointer.NOT_POSITIVE_DEFINITE), (FloatingPointError("no"), pointer.RECOVERABLE),
        (Reject("no"), pointer.RECOVERABLE), (Fatal("no"), pointer.RAISED), (ValueError("no"), pointer.RAISED),
        (ZeroDivisionError("no"), pointer.RAISED), (MemoryError("no"), pointer.NO_MEMORY), (KeyboardInterrupt(), pointer.RAISED),
    ],
    ids=lambda each: type(each).__name__,
)  # fmt: skip
@pytest.mark.parametrize("inside", ["function", "sub-tape"])
def test_the_code_of_an_exception_says_whether_the_point_is_rejected(raised, code, inside):
    """By its attribute is_recoverable, or its type; also where a sub-tape raises, of a fixed tape or of one that branches."""

    def body(x):
        if x[0] < 0.0:
            raise raised
        return np.sum(x**2)

    inner = td.subtape(body)
    tapes = [td.GuardedTape(body, merge=False)]
    if inside == "sub-tape":
        tapes = [td.compile(lambda x: inner(x) * 2, np.ones(2)), td.GuardedTape(lambda x: inner(x) * 2, merge=False)]
    for tape in tapes:
        assert code_at(tape, np.ones(2))[0] == 0
        met, value, gradient = code_at(tape, -np.ones(2))
        assert met == code
        assert value == 5.0
        assert np.all(gradient == 7.0)
        assert tape.take_error() is raised
        assert code_at(tape, np.ones(2))[0] == 0


@pytest.mark.parametrize("make", [lambda f: td.compile(f, np.ones(2)), td.GuardedTape], ids=["compiled", "guarded"])
def test_a_value_that_is_not_finite_is_a_point_to_reject(make):
    """The code says so, value and gradient are written all the same; other ways to call take it for a value like any other."""
    tape = make(lambda x: np.sum(np.log(x)))
    assert code_at(tape, np.ones(2))[0] == 0
    from_numba = tape.as_numba()
    for x, known in ([0.0, 1.0], -np.inf), ([np.inf, 1.0], np.inf), ([-1.0, 1.0], np.nan):
        code, value, gradient = code_at(tape, x)
        assert code == pointer.NOT_FINITE > 0
        np.testing.assert_equal(value, known)
        with np.errstate(all="ignore"):
            np.testing.assert_equal(gradient, 1 / np.array(x))
        place = np.array(x)
        np.testing.assert_equal(tape.bind(place, np.empty(2))(), known)
        np.testing.assert_equal(tape.batch(place[None])[0], [known])
        np.testing.assert_equal(from_numba(place, np.empty(2)), known)


def not_positive(x):
    return np.sum(np.linalg.cholesky(np.eye(2) * x[0]))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: td.value_and_gradient(not_positive, x),
        lambda x: td.value_and_gradient(td.record(not_positive, -x), x),
        lambda x: td.value_and_gradient(td.compile(not_positive, -x), x),
        lambda x: td.compile(not_positive, -x)(x),
        lambda x: td.value_and_gradient(td.GuardedTape(not_positive), x),
        lambda x: td.compile(not_positive, -x).bind(x, np.empty(1))(),
        lambda x: td.compile(not_positive, -x).batch(x[None]),
        lambda x: td.compile(td.subtape(not_positive), -x)(x),
    ],
    ids=["function", "tape", "compiled", "value", "guarded", "bound", "batch", "sub-tape"],
)
def test_exceptions_say_whether_another_point_may_do(call):
    """`is_recoverable`, as nutpie reads it, is true of failed factorisations, by every way to call."""
    with pytest.raises(np.linalg.LinAlgError) as caught:
        call(np.array([-1.0]))
    assert caught.value.is_recoverable is True


def test_a_failed_guard_is_not_recoverable():
    """Nor is any other error of this package."""
    with pytest.raises(td.GuardFailed) as caught:
        td.value_and_gradient(td.compile(bent, np.array([1.0])), np.array([-1.0]))
    assert caught.value.is_recoverable is False
    assert td.TapediffError.is_recoverable is False


# With a real sampler


def nutpie_draws(tape, start):
    nutpie = pytest.importorskip("nutpie")
    path = Path(__file__).parents[3] / "examples" / "compiled_sampler.py"
    spec = importlib.util.spec_from_file_location("compiled_sampler", path)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    model = example.by_address(tape, 1, lambda seed: np.full(1, start))
    trace = nutpie.sample(model, draws=2000, tune=500, chains=2, cores=1, seed=3, progress_bar=False)
    return trace.posterior["u"].values.ravel(), int(trace.sample_stats.diverging.sum())


@pytest.mark.filterwarnings("ignore")  # those of other packages
def test_nutpie_samples_a_density_that_branches():
    """The variance is that of both halves, within five standard errors of 1,000 independent draws; no divergences."""
    draws, diverging = nutpie_draws(td.GuardedTape(bent), 1.0)
    assert np.mean(draws) == pytest.approx(BENT_MEAN, abs=5 * np.sqrt(BENT_VARIANCE / 1000))
    assert np.var(draws) == pytest.approx(BENT_VARIANCE, rel=5 * np.sqrt(2 / 1000))
    assert diverging < 100


@pytest.mark.filterwarnings("ignore")  # those of other packages
def test_nutpie_stops_where_a_fixed_tape_has_no_answer():
    """It raises, instead of sampling the half of the distribution that the tape was recorded in.

    In a process of its own, as nutpie's threads do not survive that.
    """
    pytest.importorskip("nutpie")
    program = (
        "import runpy, numpy as np, tapediff as td; here = runpy.run_path('tests/targets/native/test_errors.py')\n"
        "here['nutpie_draws'](td.compile(here['bent'], np.array([1.0])), 1.0); print('sampled')"
    )
    command, here = [sys.executable, "-W", "ignore", "-c", program], Path(__file__).parents[3]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=here, check=False)
    assert ran.returncode != 0
    assert "ErrorCode(-4)" in ran.stderr
    assert "sampled" not in ran.stdout


@pytest.mark.filterwarnings("ignore")  # those of other packages
def test_nutpie_goes_on_after_a_matrix_that_is_not_positive_definite():
    """Those points are divergences, and the draws have the right variance, within five standard errors of 1,000 draws.

    NUTS drops the trajectories that leave the interval, which moves draws inwards a little: 10 % are allowed for that.
    """
    draws, _ = nutpie_draws(td.compile(correlation, np.zeros(1)), 0.3)
    assert np.var(draws) == pytest.approx(0.2, rel=5 * np.sqrt(2 / 1000) + 0.1)
