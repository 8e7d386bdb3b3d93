"""Which loops steps share: parts of one array, beside each other and on top of each other."""


import numpy as np
import pytest
from support.side_by_side import times_as_long

import tapediff as td
from tapediff.compiler.codegen.python_listing import run_listing
from tapediff.compiler.loop_ir.program import LoopNest, Outlined, Scan, Straight
from tapediff.compiler.lower.lower import lower
from tapediff.compiler.schedule import fusion, split_long
from tapediff.compiler.schedule.fusion import LONGEST_NEST, schedule
from tapediff.passes.pipeline import run_passes


def rows(x):
    y = td.zeros(x.shape)
    for i in range(len(x)):
        y[i] = np.sin(x[i]) * (i + 1)
    return y


def columns(x):
    y = td.zeros(x.shape)
    for j in range(x.shape[1]):
        y[:, j] = x[:, j] ** 2 + j
    return y


def rows_and_numbers(x):
    y = td.zeros(x.shape)
    for i in range(len(x)):
        y[i, 1:] = x[i, 1:] * x[i, 0]
        y[i, 0] = np.exp(x[i, 1])
    return y


def overlapping(x):
    y = td.zeros(x.size)
    for i in range(x.size - 4):
        y[i : i + 3] = np.ravel(x)[i : i + 3] * (i + 1)
    return y


def some_rows(x):
    y = td.zeros((2 * len(x), x.shape[1]))
    for i in range(len(x)):
        y[2 * i] = x[i] + 1.0
    return y


def used_at_once(x):
    """A part is read before the next one is written, and the whole at the end."""
    y = td.zeros(x.shape)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = 0.5 * y[i - 1] + x[i]
    return y + y[::-1] * y


FILLS = {f.__name__: f for f in (rows, columns, rows_and_numbers, overlapping, some_rows, used_at_once)}


@pytest.mark.parametrize("name", FILLS)
@pytest.mark.parametrize("shape", [(2, 3), (9, 3), (20, 9)])
def test_arrays_filled_in_parts_are_as_numpy_fills_them(name, shape):
    """Kernel, listing and gradient."""
    f, x = FILLS[name], np.random.default_rng(3).normal(size=shape)
    compiled = td.compile(lambda x: f(x) * 1.0, x)
    # 1e-14: the kernel's own sine and exponential.
    np.testing.assert_allclose(compiled(x), f(x), rtol=1e-14, atol=1e-14)
    listed = [np.empty(np.shape(f(x)))]
    run_listing(compiled.kernel(None).program, [x], listed)
    np.testing.assert_allclose(listed[0], f(x), rtol=1e-14, atol=1e-14)

    def total(x):
        return np.sum(f(x) ** 2)

    td.testing.check_gradient(td.compile(total, x), total, x)


def groups_of(f, x):
    """The loops of the value, with Python loops as they are."""
    low = lower(run_passes(td.record(f, x)))
    return schedule(low.steps, low.storages)


@pytest.mark.parametrize("f", [rows, columns, some_rows])
def test_parts_that_do_not_overlap_share_a_loop(f):
    """One loop for all of one length, beside the fill and the copy."""
    groups = groups_of(lambda x: f(x) * 2.0, np.ones((20, 5)))
    assert len(groups) <= 4


def test_parts_that_overlap_keep_their_order():
    """Each is behind the one that it overwrites; the last one wins."""
    x = np.arange(1.0, 13.0).reshape(4, 3)
    compiled = td.compile(lambda x: overlapping(x) + 0.0, x)
    assert np.array_equal(compiled(x), overlapping(x))


def test_loops_do_not_grow_without_bound():
    """LLVM takes quadratic time over long blocks."""
    groups = groups_of(lambda x: rows(x) * 2.0, np.ones((700, 3)))
    assert max(len(group.body) for group in groups) <= LONGEST_NEST


def test_scheduling_takes_time_in_proportion():
    """Four times the parts, about four times the time."""

    def scheduling(count):
        low = lower(run_passes(td.record(lambda x: rows(x) * 2.0, np.ones((count, 3)))))
        return lambda: schedule(low.steps, low.storages)

    # Quadratic time would be 16 times as much.
    assert times_as_long(scheduling(4000), scheduling(1000), limit=9, repeat=2) < 9


def outlined(compiled):
    """The forms of the groups that are functions of their own."""
    return [type(group.group) for group in compiled.kernel((0,)).program.groups if isinstance(group, Outlined)]


def give_the_same_bits(f, x, kind, monkeypatch):
    """Loops of a kind in functions of their own give what they give in the kernel's."""
    whole = td.value_and_gradient(td.compile(f, x), x)
    monkeypatch.setattr(split_long, "MOST_IN_LOOPS", 0)
    cut = td.compile(f, x)
    assert kind in outlined(cut)
    value, gradient = td.value_and_gradient(cut, x)
    assert value == whole[0]
    assert np.array_equal(gradient, whole[1])


@pytest.mark.parametrize("name", FILLS)
def test_loops_as_functions_of_their_own_give_the_same_bits(name, monkeypatch):
    """Many loops are cut into functions, also within the body of a td.scan; numbers between them go through memory."""
    f, x = FILLS[name], np.random.default_rng(4).normal(size=(6, 3))

    def total(x):
        return np.sum(f(x) ** 2) * np.max(x) + np.sum(td.scan(lambda c, _: (c * 0.5 + f(np.tanh(c + x))[:6], None), x, length=3)[0])

    if name in ("overlapping", "some_rows"):

        def total(x):
            return np.sum(f(x) ** 2) * np.max(x) + td.scan(lambda c, _: (c + np.sum(f(x * c)), None), 0.5, length=3)[0]

    give_the_same_bits(total, x, LoopNest, monkeypatch)


def test_cumulative_sums_as_functions_of_their_own_give_the_same_bits(monkeypatch):
    """Loops that hand a running total on are functions where there are many loops, as others are."""

    def f(x):
        return np.sum(np.cumsum(np.sin(np.cumsum(x)) * x[::-1]) ** 2) * x[3]

    x = np.random.default_rng(4).normal(size=50)
    give_the_same_bits(f, x, Scan, monkeypatch)


def test_short_stretches_between_calls_as_functions_of_their_own_give_the_same_bits(monkeypatch, flat_loops):
    """Guards in them are met, and reported, as before; within the body of a loop, too."""

    @td.subtape
    def half(v):
        return v * 0.5 if v > 0.5 else v * v + 0.1

    def f(x):
        v = x[0]
        for k in range(5):
            v = half(np.sin(v) * x[1] + x[2] * k)
        if v > -5.0:
            v = v * 2.0 + np.exp(v) * x[2]
        w = td.fori_loop(0, 3, lambda i, c: half(np.cos(c) * x[0] + c * x[1]) + np.sin(c) * x[2], v)
        return v * w if w > -100.0 else v

    x = np.array([0.3, 1.2, 0.7])
    whole = td.compile(f, x)
    monkeypatch.setattr(split_long, "MOST_STRAIGHT", 0)
    cut = td.compile(f, x)
    assert Straight in outlined(cut)
    for point in (x, 2.0 * x, np.array([2.0, -0.5, 1.0])):
        value, gradient = td.value_and_gradient(cut, point)
        other = td.value_and_gradient(whole, point)
        assert value == other[0]
        assert np.array_equal(gradient, other[1])
    far = np.array([0.0, 0.0, -40.0])
    refusals = []
    for compiled in (whole, cut):
        with pytest.raises(td.GuardFailed) as refusal:
            td.gradient(compiled, far)
        refusals.append(str(refusal.value))
    assert refusals[0] == refusals[1]


@pytest.mark.parametrize("columns", [1, 3, 8, 20, 70])
def test_additions_to_rows_join_the_nest_of_what_they_add(columns, monkeypatch):
    """Rows that meet, of whole and of cut vectors: in one nest for both arrays, with the bits of nests of their own."""
    generator = np.random.default_rng(columns)
    left, right = generator.integers(0, 7, 50), generator.integers(0, 5, 50)
    u = generator.normal(size=12 * columns)

    def f(u):
        a, b = np.reshape(u[: 7 * columns], (7, columns)), np.reshape(u[7 * columns :], (5, columns))
        return np.sum(np.sum(a[left] * np.tanh(b[right]), axis=1) ** 2)

    joined = td.compile(f, u)
    value, gradient = td.value_and_gradient(joined, u)
    td.testing.check_gradient(joined, f, u)
    additions = [[s for s in group.body if s.write.index_read >= 0] for group in joined.kernel((0,)).program.groups]
    assert sorted(map(len, additions))[-1] == 2
    monkeypatch.setattr(fusion, "MOST_FILLED_EARLY", -1)
    apart = td.compile(f, u)
    assert (value, gradient.tobytes()) == (td.value_and_gradient(apart, u)[0], td.gradient(apart, u).tobytes())


SPREAD = np.random.default_rng(5).integers(0, 9, 40)


def test_additions_to_a_result_share_the_loop_of_what_they_add():
    """Where nothing can fail the result is set to zero first; rows are then read once."""

    def f(x):
        return np.sum(np.sin(x[SPREAD]))

    x = np.random.default_rng(6).normal(size=(9, 3))
    groups = td.compile(f, x).kernel((0,)).program.groups
    assert len([g for g in groups if isinstance(g, LoopNest) and g.domain == (40, 3)]) == 1
    td.testing.check_gradient(td.compile(f, x), f, x)


def test_results_are_not_touched_before_what_may_fail():
    """A guard, and a factorisation: the caller's array is as it was."""

    def guarded(x):
        return np.sum(x[SPREAD] ** 2) if x[0] > 0 else np.sum(x[SPREAD])

    def factorised(x):
        return np.sum(x[SPREAD] ** 2) + np.linalg.cholesky(np.diag(x))[0, 0]

    for f, error in ((guarded, td.GuardFailed), (factorised, np.linalg.LinAlgError)):
        compiled, out = td.compile(f, np.ones(9)), np.full(9, 7.0)
        with pytest.raises(error):
            td.gradient(compiled, -np.ones(9), out=out)
        np.testing.assert_array_equal(out, 7.0)
        np.testing.assert_allclose(td.gradient(compiled, np.ones(9), out=out), td.gradient(td.record(f, np.ones(9)), np.ones(9)))


def test_a_result_may_lie_where_its_argument_is():
    """The argument is read before the sum that overwrites it begins; also where it is the carry of a loop."""

    def f(x):
        return np.sum(x[SPREAD] ** 3)

    x = np.random.default_rng(7).normal(size=9)
    expected = td.gradient(td.record(f, x), x)
    np.testing.assert_allclose(td.gradient(td.compile(f, x), x, out=x), expected, rtol=1e-14)

    def spread(x):
        def step(carry, _):
            y = np.zeros(9)
            np.add.at(y, SPREAD, 0.3 * np.sin(carry[SPREAD[::-1]]))
            return y, None

        return np.sum(td.scan(step, x, None, length=5)[0] ** 2)

    td.testing.check_gradient(td.compile(spread, x), spread, x)
