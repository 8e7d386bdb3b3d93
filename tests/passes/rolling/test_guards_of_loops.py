"""Guards in Python loops are checked for all iterations together, and say of themselves what they said one by one."""

import numpy as np
import pytest
from support.agreement import by_numpy

import tapediff as td
from tapediff.compiler.codegen.python_listing import run_listing
from tapediff.functions.callees import rolled_loop as rolled
from tapediff.targets.tapes.gradient_tape import gradient_tape
from tests.passes.rolling.both_ways import with_rolling

N = 40
X = np.abs(np.sin(np.arange(1.0, N + 1.0))) + 0.25
KNOTS = np.linspace(0.0, 2.0, 9)
TABLE = np.cos(np.arange(12.0))

# Sums in another order, and functions that a kernel works out otherwise than NumPy.
TOLERANCE = 1e-11

CASES = {}


def rolls(instructions, *changes):
    """Add a function to the table: rolled, its tape has at most so many instructions. It is recorded at X; each change is a dict
    of entries of X that makes another point."""

    def add(f):
        CASES[f.__name__.replace("_", " ")] = f, instructions, changes
        return f

    return add


def point(change):
    x = X.copy()
    for k, v in change.items():
        x[k] = v
    return x


def said(call):
    """What a call gives, or all that its failed guard says."""
    try:
        return call()
    except td.GuardFailed as failed:
        return failed.ordinal, type(failed.outcome), failed.recorded, failed.outcome, failed.turn, str(failed)


def same(mine, expected):
    if isinstance(expected, tuple) and isinstance(expected[-1], str):
        assert mine[:-2] == expected[:-2] or (mine[3] != mine[3] and expected[3] != expected[3])
        assert mine[-1] == expected[-1]
        return
    for a, b in zip(mine, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE * max(1.0, np.max(np.abs(b))))


@rolls(75, {17: -1.0}, {0: -2.0, 39: -1.0}, {39: -1.0}, {3: np.nan}, {5: 0.0})
def positive_entries(x):
    total = 0.0
    for v in x:
        if v > 0:
            total += v * v
    return total


@rolls(75, {17: 3.0}, {0: -1.0, 1: 3.0})
def a_table_of_a_tracked_index(x):
    z = np.exp(x[:9])
    total = 0.0
    for t in x[:39]:
        total = total + z[np.searchsorted(KNOTS, t)] * t
    return total


@rolls(75, {17: 1e6}, {8: -1e6})
def an_index_from_a_number(x):
    total = 0.0
    for t in x:
        k = np.floor(3 * t).astype(int)
        total = total + TABLE[k] * t
    return total


@rolls(75, {12: 4.0}, {39: -2.0})
def a_search_that_ends(x):
    y, steps = 1.0, 0
    while abs(y * y - x[0] - 2.0) > 1e-13 and steps < 60:
        y = y - 0.1 * (y * y - x[0] - 2.0)
        steps += 1
    return y + np.sum(x)


@rolls(75, {5: -4.0}, {8: -2.0, 9: -1.0}, {0: -1.0})
def a_guard_in_a_double_loop(x):
    total = 0.0
    for k in range(30):
        for v in x[:10]:
            if v > 0:
                total = total + v * (k + 1.0)
        total = total * 0.5
    return total


@rolls(75, {12: -4.0}, {13: -4.0}, {0: 5.0})
def one_way_and_the_other_in_turn(x):
    total = 0.0
    for k, v in enumerate(x):
        w = v if k % 2 else -v
        total = total + v * v if w > 0 else total - np.sin(v)
    return total


@rolls(75, {11: 0.1}, {30: -3.0})
def numbers_as_conditions(x):
    total = 0.0
    for v in x:
        if v - 0.1:
            total = total + v
    return total


@pytest.mark.parametrize("name", CASES)
def test_a_loop_with_guards_is_rolled(name):
    """Its tape is short, checks, and has the guards of the recorded one."""
    f, instructions, _ = CASES[name]
    tape = td.record(f, X)
    after = with_rolling(True, lambda: rolled.rolled(tape))
    after.check()
    gradient_tape(tape, (0,)).check()
    assert len(after) <= instructions
    mine, recorded = ([(g.ordinal, g.kind, g.outcome, str(g.site)) for g in guards] for guards in (after.guards, tape.guards))
    assert mine == recorded
    assert after.guard_count == tape.guard_count == len(tape.guards)


@pytest.mark.parametrize("name", CASES)
def test_a_rolled_loop_answers_or_refuses_as_the_plain_one(name):
    """At the point of the recording and elsewhere: the same value and gradient, or the same guard, outcome, line and turn."""
    f, _, changes = CASES[name]
    tapes = {is_on: td.record(f, X) for is_on in (False, True)}
    fast = {is_on: with_rolling(is_on, lambda t=tape: td.compile(t)) for is_on, tape in tapes.items()}
    for x in (X, *map(point, changes), X):
        expected = with_rolling(False, lambda x=x: said(lambda: td.value_and_gradient(tapes[False], x)))
        same(with_rolling(False, lambda x=x: said(lambda: td.value_and_gradient(fast[False], x))), expected)
        for target in (tapes[True], fast[True]):
            same(with_rolling(True, lambda x=x, t=target: said(lambda: td.value_and_gradient(t, x))), expected)
            same(by_numpy(lambda x=x, t=target: said(lambda: td.value_and_gradient(t, x))), expected)
        straight, mine = (with_rolling(k, lambda x=x, k=k: said(lambda: (fast[k](x),))) for k in (False, True))
        same(mine, straight)
        if not isinstance(expected[-1], str):
            td.testing.check_gradient(fast[True], f, x)


@pytest.mark.parametrize("name", CASES)
def test_the_listing_of_a_rolled_loop_leaves_at_the_same_guard(name):
    f, _, changes = CASES[name]
    fast = td.compile(f, X)
    kernel = fast.kernel((0,))
    for x in (X, *map(point, changes)):
        status = kernel.call(x, np.empty(N))
        listed = run_listing(kernel.program, [x], [np.empty(()), np.empty(N)])
        if type(status) is complex:
            assert listed == ("guard", int(status.real) - 1)
        else:
            assert listed is None


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("after", [0, 10])
def test_a_guarded_tape_follows_every_path_through_a_rolled_loop(name, after):
    """Whatever the order in which points come: the plain function's value, its gradient, and each path recorded once."""
    f, _, changes = CASES[name]
    points = [X, *(p for p in map(point, changes) if np.isfinite(p).all())]
    reference = {k: with_rolling(False, lambda x=x: outcome(f, x)) for k, x in enumerate(points)}
    safe = td.GuardedTape(f, compile_after=after, merge=False)
    recordings = 0
    for turn in range(3):
        for k, x in enumerate(points):
            same(outcome(safe, x), reference[k])
        assert turn == 0 or safe.stats.recordings == recordings
        recordings = safe.stats.recordings
    unrolled = td.GuardedTape(f, compile_after=1000, merge=False)
    for x in points:
        with_rolling(False, lambda x=x: outcome(unrolled, x))
    assert recordings == unrolled.stats.recordings
    for x, (value, *_) in zip(points, reference.values()):
        if not isinstance(value, str):
            assert [str(m) for m in safe.margins(x)] == [str(m) for m in unrolled.margins(x)]
    assert safe.explain()


def outcome(f, x):
    try:
        return td.value_and_gradient(f, x)
    except IndexError as error:
        return (str(error),)


def test_a_failed_guard_says_which_time_round_it_was():
    x = point({17: -1.0})
    fast = td.compile(positive_entries, X)
    with pytest.raises(td.GuardFailed, match=r"in positive_entries\n  got: recorded True, now False, time 18 of 40 at this line\n") as one:
        td.gradient(fast, x)
    assert one.value.turn == (18, 40)
    with pytest.raises(td.GuardFailed) as other:
        td.record(positive_entries, X)(x)
    assert str(other.value) == str(one.value)


def test_a_loop_that_may_raise_behind_its_guard_is_not_rolled():
    """Behind a guard that fails, a factorisation would raise where the function has none."""

    def f(x):
        total = 0.0
        for row in x.reshape(10, 4):
            m = row.reshape(2, 2)
            if row[0] > 0.0:
                total = total + np.linalg.cholesky(m @ m.T + row[0] * np.eye(2))[0, 0]
            else:
                total = total + row[1]
        return total

    x = X.copy()
    x[8], x[9:12] = -1e3, 0.0
    for target in (td.compile(f, X), td.record(f, X)):
        with pytest.raises(td.GuardFailed) as failed:
            td.gradient(target, x)
        assert failed.value.ordinal == 2
    td.testing.check_gradient(td.GuardedTape(f), f, x)


def test_sub_tapes_with_loops_of_guards_find_their_other_paths():
    """Variants of a callee are rolled as well, and their dispatch loops look the other path up by what the loop met."""

    @td.subtape
    def clipped(v):
        total = 0.0
        for k in range(12):
            if v[k] > 0.3:
                total = total + v[k] * v[k]
            else:
                total = total - v[k]
        return total

    def f(x):
        return clipped(x[:12]) * clipped(x[12:24]) + clipped(x[24:36])

    def plain(x):
        def g(v):
            return sum(a * a if a > 0.3 else -a for a in v)

        return g(x[:12]) * g(x[12:24]) + g(x[24:36])

    fast = td.compile(f, X)
    rng = np.random.default_rng(0)
    for _ in range(30):
        x = X.copy()
        x[rng.integers(0, N, 3)] = rng.normal(size=3)
        td.testing.check_gradient(fast, plain, x)


def test_a_long_loop_of_guards_is_a_few_lines():
    """1000 iterations, all one way: what the kernel does does not grow with them."""
    x = np.linspace(0.1, 1.0, 1000)
    fast = td.compile(positive_entries, x)
    assert fast.source.count("\n") < 30
    x[777] = -1.0
    with pytest.raises(td.GuardFailed) as failed:
        td.gradient(fast, x)
    assert failed.value.turn == (778, 1000)


@pytest.mark.slow
def test_random_loops_with_branches_agree_with_python():
    """Programs of random statements in a loop, some under conditions, at points on many paths."""
    rng = np.random.default_rng(1)
    for seed in range(6):
        f = random_loop(seed)
        safe = td.GuardedTape(f)
        fast = td.compile(f, X)
        for _ in range(4):
            x = X + 0.05 * rng.normal(size=N)
            x[rng.integers(0, N, rng.integers(0, 3))] *= -1.0
            expected = float(f(x))
            value, gradient = td.value_and_gradient(safe, x)
            assert value == pytest.approx(expected, rel=1e-9, abs=1e-12)
            with_rolling(False, lambda x=x, g=gradient, f=f: same((g,), (td.gradient(td.record(f, x), x),)))
            mine = said(lambda x=x: td.value_and_gradient(fast, x))
            if isinstance(mine[-1], str):
                assert mine[0] == with_rolling(False, lambda x=x, f=f: said(lambda: td.record(f, X)(x)))[0]
            else:
                same(mine, (value, gradient))


def random_loop(seed):
    """A loop over x whose body is made of a few random statements on a carried and two local numbers."""
    rng = np.random.default_rng(seed)
    statements = [
        lambda c, a, b: (c, a * np.cos(b), b), lambda c, a, b: (c + a, a, b), lambda c, a, b: (c, np.sin(a), b),
        lambda c, a, b: (0.9 * c + b, a, b), lambda c, a, b: (c, a, a - b), lambda c, a, b: (c, a, b + c * 0.1),
    ]  # fmt: skip
    conditions = [
        lambda c, a, b: a > -0.2, lambda c, a, b: b + a < 1.7, lambda c, a, b: c < 3.0, lambda c, a, b: int(3 * a) % 2 == 0,
        lambda c, a, b: abs(b) < 2.0,
    ]  # fmt: skip
    body = [
        (conditions[rng.integers(5)] if rng.random() < 0.4 else None, statements[rng.integers(6)], statements[rng.integers(6)])
        for _ in range(rng.integers(3, 7))
    ]

    def f(x):
        c, b = 0.0, x[0]
        for v in x:
            a = v
            for condition, one, other in body:
                c, a, b = one(c, a, b) if condition is None or condition(c, a, b) else other(c, a, b)
            c = c + a * 0.5
        return c + b

    return f


def test_loops_of_guards_inside_a_scan_go_on_where_another_path_begins():
    """The body's variants are rolled; each guard that fails in some iteration of the scan leads to the variant that goes on from there."""

    def body(c, row):
        s = 0.0 * c
        for k in range(10):
            v = row[k] + 0.1 * c
            if v > 0.3:
                s = s + v * v
            s = s + TABLE[np.floor(3.0 * np.abs(v)).astype(int)] * v
        return 0.5 * c + 0.1 * s, s

    def f(x):
        c, s = td.scan(body, x[0], x[:40].reshape(4, 10))
        return c + np.sum(s**2)

    def plain(x):
        c, total = x[0], 0.0
        for row in x[:40].reshape(4, 10):
            c, s = body(c, row)
            total += s**2
        return c + total

    rng = np.random.default_rng(2)
    fast = td.compile(f, X)
    for _ in range(5):
        x = X + 0.2 * rng.normal(size=N)
        td.testing.check_gradient(fast, plain, x)
        td.testing.check_gradient(td.record(f, X), plain, x)
