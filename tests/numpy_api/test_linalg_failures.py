"""Factorisations that fail, and user code that catches it: whether one succeeded is a guard like any other."""

import contextlib

import numpy as np
import pytest
from support.differences import differences

import tapediff as td
from tapediff.compiler.codegen.python_listing import run_listing
from tapediff.linalg import solve_triangular

I2 = np.eye(2)
J2 = np.ones((2, 2))


def log_density(x):
    k = x[0] * I2 + x[1] * J2
    try:
        lower = np.linalg.cholesky(k)
    except np.linalg.LinAlgError:
        return -7.0 * x[0] ** 2 + x[1]
    return np.sum(np.log(np.diagonal(lower))) + np.sum(lower[1] ** 3)


def solved(x):
    a = np.stack([x, np.array([1.0, 2.0])])
    try:
        return np.sum(np.linalg.solve(a, np.array([1.0, 3.0])) ** 2)
    except np.linalg.LinAlgError:
        return np.sum(x**3)


def inverted(x):
    with contextlib.suppress(np.linalg.LinAlgError):
        return np.sum(np.linalg.inv(np.stack([x, np.array([1.0, 2.0])])) ** 2)
    return np.sum(x**3)


def triangle(x):
    a = x * I2
    try:
        return np.sum(solve_triangular(a, np.array([1.0, 3.0])) ** 2)
    except np.linalg.LinAlgError:
        return np.sum(x**3)


def spectrum(x):
    # NaN throughout: LAPACK goes on with some of them.
    a = np.sqrt(x[0]) * np.ones((3, 3)) + np.diag([1.0, 2.0, 4.0]) * x[1]
    try:
        values, _ = np.linalg.eigh(a)
    except np.linalg.LinAlgError:
        return np.sum(x**2)
    return np.sum(np.exp(values / 4))


def jitters(x):
    k = J2 * x[0] + np.array([[0.0, 0.0], [0.0, 1.0]]) * x[1]
    for jitter in (0.0, 1e-2, 1.0, 100.0):
        try:
            lower = np.linalg.cholesky(k + jitter * I2)
            break
        except np.linalg.LinAlgError:
            continue
    else:
        return x[0] * 0.0
    return np.sum(np.log(np.diagonal(lower))) * (1.0 + jitter)


def helper(k):
    return np.linalg.cholesky(k)


def caught_further_out(x):
    def inner():
        return np.sum(helper(x[0] * I2 + x[1] * J2) ** 3)

    try:
        return inner()
    except Exception:  # noqa: BLE001 -- as users write it
        return np.sum(x) ** 2


def upper(x):
    try:
        return np.sum(np.linalg.cholesky(x[0] * I2 + x[1] * J2, upper=True) ** 3)
    except ValueError:
        return np.sum(x) ** 2


CASES = {
    log_density: ([2.0, 0.5], [-2.0, 0.5]),
    solved: ([3.0, 1.0], [2.0, 4.0]),
    inverted: ([3.0, 1.0], [2.0, 4.0]),
    triangle: ([3.0, 1.0], [0.0, 4.0]),
    spectrum: ([3.0, 1.0], [-1.0, 4.0]),
    jitters: ([1.0, 1.0], [1.0, -0.5]),
    caught_further_out: ([2.0, 0.5], [-2.0, 0.5]),
    upper: ([2.0, 0.5], [-2.0, 0.5]),
}
if tuple(map(int, np.__version__.split(".")[:2])) < (2, 0):
    del CASES[upper]  # NumPy has no upper=
EACH = pytest.mark.parametrize(
    ("f", "good", "bad"),
    [(f, np.array(a), np.array(b)) for f, (a, b) in CASES.items()],
    ids=lambda v: getattr(v, "__name__", ""),
)


def expected(f, x, good):
    """The gradient by differences, on the side of x: the sets where matrices are singular are thin."""
    if f in (solved, inverted, triangle) and x is not good:
        return 3 * x**2
    if f is spectrum and x is not good:
        return 2 * x
    return differences(f, x)


@EACH
@pytest.mark.parametrize("compile_after", [0, 10**9], ids=["compiled", "replayed"])
@pytest.mark.parametrize("first", ["good", "bad"])
def test_both_sides_of_a_failure_are_paths(f, good, bad, first, compile_after):
    """Whichever was recorded first, each is recorded once, and answers as the plain function from then on."""
    safe = td.GuardedTape(f, compile_after=compile_after, merge=False)
    points = [good, bad] if first == "good" else [bad, good]
    with np.errstate(invalid="ignore"):
        for x in points * 4:
            value, gradient = td.value_and_gradient(safe, x)
            # Kernels round matrix operations in another order.
            assert value == pytest.approx(float(f(x)), rel=1e-12)
            assert gradient == pytest.approx(expected(f, x, good), rel=1e-6, abs=1e-7)
    assert safe.stats.recordings == 2


@EACH
def test_a_fixed_tape_does_not_answer_for_the_other_side(f, good, bad):
    """GuardFailed, and not LinAlgError, for which samplers would reject the point: the plain function has a value there."""
    with np.errstate(invalid="ignore"):
        for here, there in ((good, bad), (bad, good)):
            tape = td.record(f, here)
            compiled = td.compile(tape)
            assert td.gradient(compiled, here) == pytest.approx(td.gradient(tape, here), rel=1e-12)
            for target in (tape, compiled):
                with pytest.raises(td.GuardFailed) as failure:
                    td.gradient(target, there)
                assert not getattr(failure.value, "is_recoverable", False)


@EACH
def test_the_listing_says_what_the_kernel_does(f, good, bad):
    """The readable form of an attempted factorisation gives the same answers."""
    with np.errstate(invalid="ignore"):
        for here in (good, bad):
            kernel = td.compile(f, here).kernel((0,))
            outputs = [np.empty(t.shape, t.dtype) for t in kernel.output_types]
            assert run_listing(kernel.program, [here], outputs) is None
            assert outputs[0] == pytest.approx(float(f(here)), rel=1e-12)
            assert outputs[1] == pytest.approx(expected(f, here, good), rel=1e-6, abs=1e-7)


@EACH
def test_hessians_go_through_an_attempted_factorisation(f, good, bad):
    """The derivative of the gradient by differences of it."""
    hessian = td.hessian(f, good)
    rows = [(td.gradient(f, good + 1e-6 * e) - td.gradient(f, good - 1e-6 * e)) / 2e-6 for e in np.eye(2)]
    # Differences of exact gradients, whose error is about 1e-9 relative to third derivatives of order 10.
    assert hessian == pytest.approx(np.array(rows), rel=1e-5, abs=1e-6)


def test_a_loop_over_jitters_is_not_recorded_again():
    """Every number of failures is one path; many alternations record nothing new."""
    safe = td.GuardedTape(jitters, merge=False)
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(300):
        x = np.array([rng.uniform(0.1, 2.0), rng.choice([1.0, -0.005, -0.5, -3.0, -500.0]) * rng.uniform(0.9, 1.1)])
        value, gradient = td.value_and_gradient(safe, x)
        assert value == pytest.approx(float(jitters(x)), rel=1e-9)
        assert gradient == pytest.approx(differences(jitters, x, 1e-7), rel=1e-4, abs=1e-5)  # steep near the edges
        seen.add(safe.stats.recordings)
    assert safe.stats.recordings == 5
    assert safe.stats.hits == 300 - 5


def uncaught(x):
    with np.errstate(all="ignore"):
        return np.sum(np.log(np.diagonal(np.linalg.cholesky(x[0] * I2 + x[1] * J2))))


def test_where_nothing_catches_it_the_error_is_numpys():
    """A tape of it has no guard; every target raises LinAlgError, as the plain function does."""
    good, bad = np.array([2.0, 0.5]), np.array([-2.0, 0.5])
    tape = td.record(uncaught, good)
    assert not tape.guards
    for target in (uncaught, tape, td.compile(tape), td.GuardedTape(uncaught)):
        td.gradient(target, good)
        with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
            td.gradient(target, bad)


def raised_again(x):
    try:
        return np.sum(np.linalg.cholesky(x[0] * I2 + x[1] * J2))
    except np.linalg.LinAlgError as error:
        raise RuntimeError("a bad matrix") from error


def test_the_plain_function_decides_what_a_failure_means():
    """A handler that raises something else: that is what a GuardedTape raises, every time."""
    safe = td.GuardedTape(raised_again)
    for _ in range(3):
        assert td.gradient(safe, np.array([2.0, 0.5])) == pytest.approx(
            differences(raised_again, np.array([2.0, 0.5])), rel=1e-6
        )
        with pytest.raises(RuntimeError, match="a bad matrix"):
            td.gradient(safe, np.array([-2.0, 0.5]))
    assert safe.stats.recordings == 1


# Sub-tapes, loops, nested recordings.

GOOD, BAD = np.array([2.0, 0.5]), np.array([-2.0, 0.5])


def both(f, plain):
    for points in ([GOOD, BAD], [BAD, GOOD]):
        safe = td.GuardedTape(f)
        for x in points * 3:
            value, gradient = td.value_and_gradient(safe, x)
            assert value == pytest.approx(float(plain(x)), rel=1e-12)
            assert gradient == pytest.approx(differences(plain, x), rel=1e-6, abs=1e-7)


def test_a_subtape_may_catch():
    """Then both sides are variants of it, and its callers have one tape."""
    sub = td.subtape(log_density)
    both(lambda x: sub(x) * x[1] + sub(x + 0.25), lambda x: log_density(x) * x[1] + log_density(x + 0.25))
    safe = td.GuardedTape(lambda x: sub(x) * x[1])
    for x in (GOOD, BAD, GOOD):
        td.gradient(safe, x)
    assert safe.stats.recordings == 1


def factor_sum(x):
    return np.sum(np.linalg.cholesky(x[0] * I2 + x[1] * J2) ** 3)


def test_the_caller_of_a_subtape_may_catch():
    """The call is part of the caller then, whose paths tell of the failure."""
    sub = td.subtape(factor_sum)

    def with_(call):
        def f(x):
            try:
                return call(x)
            except np.linalg.LinAlgError:
                return 3.0 * x[0] ** 2

        return f

    both(with_(sub), with_(factor_sum))
    both(with_(lambda x: td.cond(x[1] > 0, factor_sum, np.sum, x)), with_(factor_sum))


def test_the_body_of_a_loop_may_catch():
    """Each iteration goes its own way."""
    shifts = np.array([0.0, 1.0, 4.0])
    looped = lambda x: td.scan(lambda c, s: (c + log_density(x + s), c), 0.0, shifts)[0]
    both(looped, lambda x: sum(log_density(x + s) for s in shifts))


def test_a_loop_that_fails_within_an_except_around_it_is_refused():
    """Whichever side is recorded first: no guard of the caller could tell of it."""

    def f(x):
        try:
            return td.scan(lambda c, s: (c + factor_sum(x + s), c), 0.0, np.array([0.0, 1.0]))[0]
        except np.linalg.LinAlgError:
            return 3.0 * x[0] ** 2

    for x in (GOOD, BAD):
        with pytest.raises(td.UnsupportedFunction):
            td.gradient(f, x)
        assert not td.is_recording()


def test_an_error_of_a_nested_derivative_may_be_caught():
    """What the inner function looked at before it failed decides the outer path."""

    def inner(y):
        if y[0] < 0:
            raise KeyError
        return factor_sum(y)

    def f(x):
        try:
            return np.sum(td.gradient(inner, x))
        except (KeyError, np.linalg.LinAlgError):
            return 3.0 * x[0] ** 2

    both(f, f)
    singular = np.array([2.0, -1.5])
    safe = td.GuardedTape(f, merge=False)
    for x in (GOOD, singular, BAD) * 2:
        assert td.gradient(safe, x) == pytest.approx(differences(f, x), rel=1e-5, abs=1e-6)
    assert safe.stats.recordings == 3


@pytest.mark.parametrize("make", [td.record, td.compile], ids=["tape", "compiled"])
def test_an_error_of_a_tape_that_is_called_may_be_caught(make):
    """Its instructions become part of the recording, and whether they fail a guard of it."""
    tape = make(factor_sum, GOOD)
    solve = make(lambda x: np.sum(np.linalg.inv(x[0] * J2 + x[1] * I2) ** 2), GOOD)

    def f(x):
        try:
            return tape(x) * x[1]
        except np.linalg.LinAlgError:
            return 3.0 * x[0] ** 2

    def g(x):
        try:
            return td.gradient(solve, x)[0]
        except np.linalg.LinAlgError:
            return 3.0 * x[0] ** 2

    both(f, f)
    safe = td.GuardedTape(g, merge=False)
    for x in (GOOD, np.zeros(2), BAD, np.zeros(2)):
        assert safe(x) == pytest.approx(g(x), rel=1e-9)
    assert safe.stats.recordings == 2
