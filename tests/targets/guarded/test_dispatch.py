"""Dispatch: each path is recorded once, and a call is answered by the tape of its own path, whichever was used before."""

import threading
import time
import warnings

import numpy as np
import pytest
from support.differences import differences
from support.guarded import A, cube_or_square, latest, line, text, wandering
from support.in_threads import in_threads

import tapediff as td
from tapediff.ir.interpreter import GuardFailure
from tapediff.targets.evaluate.direct_calls import DirectCalls
from tapediff.targets.evaluate.fast_path import unknown_yet


def slope(x):
    return 3 * x**2 if x > 1 else 2 * x


# Paths


@pytest.mark.parametrize("guard", [None, lambda x: x[0] > 1], ids=["automatic", "given"])
def test_each_path_is_recorded_once_and_every_answer_is_its_own(guard):
    """0.1, 1.1, 0.5: two recordings, three right gradients and values."""
    safe = td.GuardedTape(cube_or_square, guard, merge=False)
    for x in (0.1, 1.1, 0.5, 3.0, 1.0, -2.0):
        value, gradient = td.value_and_gradient(safe, A([x]))
        assert value == pytest.approx(cube_or_square(A([x])), rel=1e-14)
        assert gradient == pytest.approx([slope(x)], rel=1e-14)
        assert safe(A([x])) == pytest.approx(cube_or_square(A([x])), rel=1e-14)
        assert td.gradient(safe, A([x])) == pytest.approx([slope(x)], rel=1e-14)
    assert safe.stats.recordings == safe.stats.misses == 2
    assert safe.stats.hits == 16


@pytest.mark.parametrize("compile_after", [0, 2])
@pytest.mark.slow
def test_random_points_on_many_paths_agree_with_the_plain_function(compile_after):
    """Wherever no branch lies within the difference quotient's step, value and gradient are the plain function's."""
    safe = td.GuardedTape(wandering, compile_after=compile_after, max_tapes=1000, merge=False)
    rng = np.random.default_rng(0)
    points = [rng.uniform(-2, 2, 3) for _ in range(60)]
    for x in [*points, *points]:
        value, gradient = td.value_and_gradient(safe, x)
        assert value == pytest.approx(wandering(x), rel=1e-13, abs=1e-13)
        coarse, fine = differences(wandering, x, 1e-5), differences(wandering, x, 1e-6)
        if np.allclose(coarse, fine, atol=1e-4):  # else a branch lies in between
            assert gradient == pytest.approx(fine, abs=1e-6)
    assert safe.stats.hits == 120 - safe.stats.misses
    assert safe.stats.misses == safe.stats.recordings == len({path(wandering, x) for x in points})


def path(f, x):
    return tuple(str(g.outcome) for g in td.record(f, x, merge=False).guards)


def test_a_hit_on_another_path_is_found_whichever_tape_was_used_last():
    """All pairs of paths, of masks, integers and truth values, one after the other."""

    def f(x):
        kept = (np.kron(x[x > 0], 1.0) ** 2).sum()
        if x[0] > 1:
            return kept * int(x[1])
        return kept if x[1] > 0 else kept + x[0]

    def expected(x):
        gradient = np.where(x > 0, 2 * x, 0.0) * (int(x[1]) if x[0] > 1 else 1)
        return gradient + A([x[0] <= 1 and x[1] <= 0, 0.0])

    points = [A(p) for p in ((2.0, 1.5), (2.0, 3.5), (0.5, 0.5), (0.5, -0.5), (-0.5, 0.5), (-0.5, -0.5), (2.0, -1.5))]
    safe = td.GuardedTape(f, merge=False)
    for first in points:
        for second in points:
            for x in (first, second):
                out = np.empty(2)
                assert np.array_equal(td.gradient(safe, x, out=out), expected(x))
                assert td.value_and_gradient(safe, x)[0] == f(x)
    assert safe.stats.recordings == len(points)
    assert safe.stats.hits == 4 * len(points) ** 2 - len(points)


def test_nan_and_infinity_as_integers_are_paths_like_others():
    """int(nan) raises in Python; what the function makes of that is its own path, found again."""

    def f(x):
        try:
            return x ** int(x)
        except ValueError:
            return 5 * x

    safe = td.GuardedTape(f, merge=False)
    assert [td.gradient(safe, x) for x in (2.5, 3.5, np.nan, 2.7, np.nan)] == pytest.approx([5.0, 36.75, 5.0, 5.4, 5.0])
    assert safe.stats.recordings == 3
    with pytest.raises(OverflowError):
        td.gradient(safe, np.inf)


def test_a_guard_at_a_near_tie_is_decided_by_the_kernel_once():
    """NumPy sums pairwise and the kernel otherwise: where the last bit decides, one recording per path and no more."""
    sums = td.compile(np.sum, np.ones(4001))
    rng = np.random.default_rng(2)
    points = [p for p in rng.uniform(0, 1, (300, 4001)) if sums(p) != np.sum(p)][:5]
    assert points
    for x in points:
        for limit in (float(np.sum(x)), sums(x)):
            safe = td.GuardedTape(lambda x, limit=limit: 2 * np.sum(x) if np.sum(x) >= limit else 3 * np.sum(x), merge=False)
            slopes = [td.gradient(safe, scale * x)[0] for scale in (2.0, 1.0, 0.5, 1.0, 2.0)]
            assert slopes[0] == 2.0
            assert slopes[2] == 3.0
            assert slopes[1] == slopes[3]
            assert safe.stats.recordings == 2


def test_the_outcome_a_kernel_reported_is_not_put_to_numpy_again(monkeypatch):
    """A kernel that says False where NumPy says True gets a tape on which it is False."""
    safe = td.GuardedTape(cube_or_square, compile_after=1, merge=False)
    for _ in range(2):
        assert td.gradient(safe, A([2.0])) == pytest.approx([12.0])
    first = latest(safe)
    on_the_full_path(safe)
    monkeypatch.setattr(
        td.CompiledTape, "run_operator", disagreeing(first.compiled, td.CompiledTape.run_operator, GuardFailure(0, False))
    )
    assert td.gradient(safe, A([2.0])) == [4.0]
    assert [v.outcomes for v in safe._cache.all()] == [(True,), (False,)]


def on_the_full_path(safe):
    """Forget the kernels that answer directly."""
    safe._fast = safe._fast_gradient = safe._fast_value = unknown_yet
    safe.direct_calls = DirectCalls()


def disagreeing(compiled, attempt, answer):
    return lambda self, *args: answer if self is compiled else attempt(self, *args)


def two_that_disagree(monkeypatch):
    """A function with two tapes, each of which says that the other one is meant."""
    safe = td.GuardedTape(cube_or_square, merge=False)
    td.gradient(safe, A([0.5]))
    td.gradient(safe, A([2.0]))
    low, high = safe._cache.all()
    on_the_full_path(safe)
    monkeypatch.setattr(td.CompiledTape, "run_operator", disagreeing(low.compiled, td.CompiledTape.run_operator, GuardFailure(0, True)))
    monkeypatch.setattr(td.CompiledTape, "run_operator", disagreeing(high.compiled, td.CompiledTape.run_operator, GuardFailure(0, False)))
    return safe


def test_where_two_tapes_disagree_about_a_guard_the_plain_function_decides(monkeypatch):
    """The second tape sends the call back: there is no loop, and the answer is that of a fresh recording, which is not kept."""
    safe = two_that_disagree(monkeypatch)
    for x in (1.0, 3.0, 0.25):
        for _ in range(2):
            own, out = td.record(cube_or_square, A([x])), A([7.0])
            assert td.gradient(safe, A([x]), out=out) is out
            assert out == td.gradient(own, A([x]))
            assert safe(A([x])) == cube_or_square(A([x]))
            assert td.hessian(safe, A([x])) == td.hessian(own, A([x]))
            assert td.jvp(safe, (A([x]),), (A([1.0]),)) == td.jvp(own, (A([x]),), (A([1.0]),))
    assert len(safe._cache.all()) == 2


def test_a_path_that_is_not_kept_counts_as_one_recording(monkeypatch):
    """And the time that it took is added."""
    safe = two_that_disagree(monkeypatch)
    for expected in (3, 4):
        seconds, started = safe.stats.seconds_recording, time.perf_counter()
        td.gradient(safe, A([1.0]))
        assert safe.stats.recordings == expected
        assert 0 < safe.stats.seconds_recording - seconds < time.perf_counter() - started


def test_two_tapes_that_disagree_end_the_call_where_nothing_may_be_recorded(monkeypatch):
    safe, out = two_that_disagree(monkeypatch), A([7.0])
    safe._policy.on_new_tape = "raise"
    with pytest.raises(td.UnstableBranch) as failure:
        td.gradient(safe, A([1.0]), out=out)
    assert str(failure.value) == text(
        "two tapes disagree about this line at a near tie, so neither can answer", line(cube_or_square, 1),
        "False by the one, True by the other", "compare with a tolerance, or compute both sides and choose with np.where",
    )  # fmt: skip
    assert out == 7.0


def test_a_function_that_changes_beside_its_arguments_is_noticed_when_recorded_again():
    """By what Python does not see: its second recording does not come to the guard that failed."""
    state = iter([True, False, False, False])

    def f(x):
        if next(state) and x > 1:
            return x**2
        return x**3

    safe = td.GuardedTape(f, merge=False)
    td.gradient(safe, 2.0)
    with pytest.raises(td.UnstableBranch) as failure:
        td.gradient(safe, 0.5)
    assert str(failure.value) == text(
        "f did not come to this line again when it was recorded a second time at the same point", line(f, 1),
        "no further guard instead", "the function depends on something that changes and is no argument; pass that as an argument",
    )  # fmt: skip
    assert td.gradient(safe, 3.0) == 6.0


# Brent's methods: they end where differences are of rounding errors, which kernels and NumPy decide apart now and then


def brents_root(fun, a, b, tol=1e-10, most=100):
    """Brent (1973), chapter 4."""
    fa, fb = fun(a), fun(b)
    c, fc = a, fa
    d = e = b - a
    for _ in range(most):
        if (fb > 0 and fc > 0) or (fb < 0 and fc < 0):
            c, fc = a, fa
            d = e = b - a
        if abs(fc) < abs(fb):
            a, b, c = b, c, b
            fa, fb, fc = fb, fc, fb
        tol1 = 2 * np.finfo(float).eps * abs(b) + 0.5 * tol
        m = 0.5 * (c - b)
        if abs(m) <= tol1 or fb == 0:
            return b
        if abs(e) >= tol1 and abs(fa) > abs(fb):
            s = fb / fa
            if a == c:
                p, q = 2 * m * s, 1 - s
            else:
                q, r = fa / fc, fb / fc
                p = s * (2 * m * q * (q - r) - (b - a) * (r - 1))
                q = (q - 1) * (r - 1) * (s - 1)
            if p > 0:
                q = -q
            p = abs(p)
            if 2 * p < min(3 * m * q - abs(tol1 * q), abs(e * q)):
                e, d = d, p / q
            else:
                d = e = m
        else:
            d = e = m
        a, fa = b, fb
        b = b + (d if abs(d) > tol1 else tol1 if m > 0 else -tol1)
        fb = fun(b)
    return b


def brents_minimum(fun, a, b, tol=1e-8, most=60):
    """Brent (1973), chapter 5."""
    gold = 0.3819660112501051
    x = w = v = a + gold * (b - a)
    fx = fw = fv = fun(x)
    d = e = 0.0
    for _ in range(most):
        m = 0.5 * (a + b)
        tol1 = tol * abs(x) + 1e-10
        tol2 = 2.0 * tol1
        if abs(x - m) <= tol2 - 0.5 * (b - a):
            break
        golden = True
        if abs(e) > tol1:
            r = (x - w) * (fx - fv)
            q = (x - v) * (fx - fw)
            p = (x - v) * q - (x - w) * r
            q = 2.0 * (q - r)
            if q > 0:
                p = -p
            q = abs(q)
            etemp, e = e, d
            if not (abs(p) >= abs(0.5 * q * etemp) or p <= q * (a - x) or p >= q * (b - x)):
                d = p / q
                u = x + d
                if u - a < tol2 or b - u < tol2:
                    d = tol1 if m >= x else -tol1
                golden = False
        if golden:
            e = (a - x) if x >= m else (b - x)
            d = gold * e
        u = x + d if abs(d) >= tol1 else x + (tol1 if d > 0 else -tol1)
        fu = fun(u)
        if fu <= fx:
            a, b = (x, b) if u >= x else (a, x)
            v, fv, w, fw, x, fx = w, fw, x, fx, u, fu
        else:
            a, b = (u, b) if u < x else (a, u)
            if fu <= fw or w == x:
                v, fv, w, fw = w, fw, u, fu
            elif fu <= fv or v == x or v == w:
                v, fv = u, fu
    return x, fx


def least_of_a_decay(p):
    x, least = brents_minimum(lambda t: np.exp(-p[0] * t * 0.2) + 0.1 * t**2 + p[2] * 0.1, -4.0, 6.0)
    return x + least


def root_of_a_cubic(p):
    return brents_root(lambda t: p[0] * t + p[1] + 0.1 * t**3, -30.0, 30.0)


@pytest.mark.parametrize(("f", "merge", "count"), [(least_of_a_decay, False, 41), (root_of_a_cubic, True, 20)])
@pytest.mark.slow
def test_brents_methods_are_answered_at_every_point(f, merge, count):
    """On this processor two tapes disagree at the 40th point of the first. Minima are found to 1e-8, the square root of rounding."""
    guarded = td.GuardedTape(f, merge=merge)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", td.GuardWarning)
        for p in np.random.default_rng(1).normal(size=(count, 3)):
            value, gradient = td.value_and_gradient(guarded, p)
            assert value == pytest.approx(f(p), rel=1e-6, abs=1e-7)
            assert gradient == pytest.approx(td.gradient(td.record(f, p, merge=False), p), rel=1e-5, abs=1e-5)


# Threads


def test_two_threads_missing_at_once_record_once():
    """Both wait for the one recording, and both answers are right."""
    calls, barrier, answers = [], threading.Barrier(4), {}

    def slow(x):
        calls.append(threading.get_ident())
        time.sleep(0.05)
        return x[0] ** 3 if x[0] > 1 else x[0] ** 2

    safe = td.GuardedTape(slow, merge=False)

    def work(k, x):
        barrier.wait()
        answers[k] = td.gradient(safe, A([x]))[0]

    for x in (2.0, 0.5):
        in_threads(lambda k, x=x: work(k, x))
        assert answers == dict.fromkeys(range(4), slope(x))
    assert len(calls) == safe.stats.recordings == 2
    assert safe.stats.hits == 6


# Paths whose result does not depend on the arguments, or has no gradient


@pytest.mark.parametrize("merge", [False, True])
def test_sums_of_no_entries_are_numpys_numbers(merge):
    """Quotients by them, and of them, are NaN or infinite, as in NumPy; Python's own would raise an error."""

    def f(x):
        kept = x[x > 0.0]
        scale = 1.0 / np.prod(kept) if x[0] < 2.0 else 2.0 // np.sum(kept)
        return np.sum(kept) / len(kept) * x[0] + scale

    safe = td.GuardedTape(f, merge=merge)
    with np.errstate(all="ignore"):
        for x in (np.array([1.0, -2.0, 3.0]), np.array([-1.0, -2.0, -3.0]), np.array([3.0, -1.0, 1.0])):
            value, gradient = td.value_and_gradient(safe, x)
            np.testing.assert_array_equal(value, f(x))
            np.testing.assert_array_equal(gradient, td.gradient(f, x))


@pytest.mark.parametrize("result", [0, 1, True, 2.5, np.int32(3), np.array(4)], ids=repr)
@pytest.mark.parametrize("order", [(2.0, -1.0, 2.0, -1.0, 3.0), (-1.0, 2.0, -1.0, 2.0, -2.0)])
@pytest.mark.parametrize("compile_after", [0, 2])
def test_a_path_that_returns_a_plain_number_has_a_zero_gradient(result, order, compile_after):
    """And the other paths theirs, whichever was met first, replayed or compiled, also by way of a C function."""

    def f(x):
        if x[0] > 0:
            return x[0] ** 3 * x[1]
        return result

    safe = td.GuardedTape(f, compile_after=compile_after)
    for first in order:
        x = np.array([first, 0.5])
        expected = [3 * first**2 * 0.5, first**3] if first > 0 else [0.0, 0.0]
        value, gradient = td.value_and_gradient(safe, x)
        assert value == pytest.approx(float(f(x)), rel=1e-15)
        np.testing.assert_allclose(gradient, expected, rtol=1e-15)
        np.testing.assert_allclose(td.hessian(safe, x)[0, 1], 3 * first**2 if first > 0 else 0.0, rtol=1e-15)
        assert safe(x) == pytest.approx(float(f(x)), rel=1e-15)
    values, gradients = safe.batch(np.array([[k, 0.5] for k in order]))
    np.testing.assert_allclose(values, [float(f(np.array([k, 0.5]))) for k in order], rtol=1e-15)
    assert not gradients[[k < 0 for k in order]].any()


@pytest.mark.parametrize("wrong", [np.argmax, lambda x: x > 0, lambda x: x, lambda x: (x[0], x[1])], ids=["int", "mask", "array", "tuple"])
@pytest.mark.parametrize("order", [(2.0, -1.0, 2.0, 3.0), (-1.0, 2.0, -1.0, 2.0)])
@pytest.mark.parametrize("compile_after", [0, 2])
def test_a_path_without_a_gradient_refuses_its_own_points_alone(wrong, order, compile_after):
    """An error on one path says nothing of the others, whichever was met first."""
    safe = td.GuardedTape(lambda x: x[0] ** 2 * x[1] if x[0] > 0 else wrong(x), compile_after=compile_after, merge=False)
    for first in order:
        x = np.array([first, 0.5])
        if first > 0:
            assert td.gradient(safe, x)[1] == first**2
        else:
            with pytest.raises(td.NonScalarOutput):
                td.gradient(safe, x)


def test_a_kernel_gets_the_constants_between_the_arguments_and_the_results():
    """Where a call has more arrays than native calls of all paths take; a program shared by tapes has their constants as inputs."""
    weights = {"w": np.array([1.0, 2.0, 3.0])}

    def f(x):
        return np.sum(np.exp(x) * weights["w"])

    safe, x, out = td.GuardedTape(f), np.array([0.1, 0.2, 0.3]), np.empty(3)
    for k in range(3):
        weights["w"] = weights["w"] + k
        td.value_and_gradient(safe, x)
    (tape,) = safe._cache.all()
    assert len(tape.constants) == 1
    assert tape.kernel_call((0,))(x, out) == pytest.approx(f(x), rel=1e-14)
    np.testing.assert_allclose(out, np.exp(x) * weights["w"], rtol=1e-14)


@pytest.mark.parametrize("derivative", [td.gradient, td.hessian, lambda g, x: td.hvp(g, x, A([1.0, 2.0]))], ids=["gradient", "hessian", "hvp"])
def test_a_path_without_a_derivative_rejects_only_its_own_points(derivative):
    """Also where it is the tape used last."""

    def f(x):
        return np.sum(x**3) if x[0] > 0 else x * 2

    safe, here, there = td.GuardedTape(f, merge=False), A([1.0, 2.0]), A([-1.0, 2.0])
    for _ in range(2):
        assert safe(there).tolist() == [-2.0, 4.0]
        np.testing.assert_allclose(derivative(safe, here), derivative(f, here))
        with pytest.raises(td.NonScalarOutput):
            derivative(safe, there)
    assert safe.stats.recordings == 2
