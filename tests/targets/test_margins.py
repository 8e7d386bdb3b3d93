"""GuardedTape.margins: how far a point is from the next branch and from the next kink."""

import math

import numpy as np
import pytest

import tapediff as td
from tapediff.targets.evaluate.nested_recording import record_bound

A = np.array


def line(f, offset):
    return f"test_margins.py:{f.__code__.co_firstlineno + offset} in {f.__name__}"


def entries(f, x):
    """Kind, comparison, left, right, outcome of every entry."""
    return [(m.kind, m.comparison, m.left, m.right, m.outcome) for m in td.GuardedTape(f).margins(x)]


def branching(x):
    if x[0] > 1:
        return x[0] ** 3
    if x[0] <= x[1] and not x[1] == 0:
        return x[0] * x[1]
    return x[0]


def test_every_comparison_on_the_path_is_listed_in_order_with_its_sides_and_its_margin():
    """At points on both sides, at a tie, at ±0 and NaN; the outcome is the plain comparison's."""
    safe = td.GuardedTape(branching)
    for x in ([2.0, 0.0], [0.5, 3.0], [1.0, 1.0], [-0.0, 0.0], [0.25, -1.0], [math.nan, 1.0], [math.inf, 1.0]):
        expected = [(line(branching, 1), "greater", x[0], 1.0, x[0] > 1)]
        if not x[0] > 1:
            expected.append((line(branching, 3), "less_equal", x[0], x[1], x[0] <= x[1]))
            if x[0] <= x[1]:
                expected.append((line(branching, 3), "equal", x[1], 0.0, x[1] == 0))
        for _ in range(2):
            found = safe.margins(A(x))
            assert repr([(m.at, m.comparison, m.left, m.right, m.outcome) for m in found]) == repr(expected)
            for m in found:
                assert m.kind == "guard"
                assert m.tie == (m.left == m.right)
                assert m.margin == pytest.approx(m.left - m.right, nan_ok=True)
                assert m.index == ()
            td.gradient(safe, A(x))


def test_an_entry_reads_as_one_line():
    """Kind, comparison, sides, margin, outcome, place."""
    tie, *_ = td.GuardedTape(branching).margins(A([1.0, 1.0]))
    assert repr(tie) == f"<guard greater(1.0, 1.0), margin 0 → False, a tie; {line(branching, 1)}>"
    (of_array,) = td.GuardedTape(lambda x: x.sum() if (x < 2).all() else 0.0).margins(A([1.0, 3.0, 1.5]))
    assert repr(of_array).startswith("<guard less(1.5, 2.0) at (2,), margin -0.5 → True; ")
    with pytest.raises(AttributeError):
        tie.left = 2.0


def test_asking_changes_nothing():
    """No recording is kept or counted, whether the path is known or not; under "raise" it does not raise."""
    safe = td.GuardedTape(branching, on_new_tape="raise")
    assert len(safe.margins(A([2.0, 1.0]))) == 1
    td.gradient(safe, A([2.0, 1.0]))
    stats, explained = safe.stats, safe.explain()
    for x in ([3.0, 1.0], [0.5, 1.0], [0.5, 0.25]):
        safe.margins(A(x))
    assert (safe.stats, safe.explain()) == (stats, explained)
    with pytest.raises(td.TrackedValueEscaped, match="margins look at values"):
        td.record(lambda x: safe.margins(x) and x[0], A([2.0, 1.0]))


def test_logic_on_comparisons_reports_the_comparisons_underneath():
    """&, |, ~, np.logical_*, any, all, counts; of arrays the element that is closest."""

    def f(x):
        if np.logical_or(~(x[0] > 3), x[1] < 0) & (x[2] >= 1):
            return x[0]
        return x[1]

    assert entries(f, A([1.0, 2.0, 4.0])) == [
        ("guard", "greater", 1.0, 3.0, False), ("guard", "less", 2.0, 0.0, False), ("guard", "greater_equal", 4.0, 1.0, True),
    ]  # fmt: skip
    x = A([1.0, -0.25, 4.0])
    for g in (lambda x: x[0] if np.any(x > 0) else x[1], lambda x: np.kron(x[x > 0], 1.0).sum(), lambda x: x[0] * int((x > 0).sum())):
        assert entries(g, x) == [("guard", "greater", -0.25, 0.0, False)]
    assert entries(lambda x: x[0] if (x > 0).sum() > 1 else x[1], x) == [
        ("guard", "greater", 2.0, 1.0, True), ("guard", "greater", -0.25, 0.0, False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("look", "value", "step", "outcome"),
    [
        (int, 2.25, 2.0, 2), (int, 2.75, 3.0, 2), (int, 0.25, 1.0, 0), (int, -0.25, -1.0, 0), (int, -1.25, -1.0, -1), (int, 3.0, 3.0, 3),
        (round, 2.25, 2.5, 2), (round, 2.75, 2.5, 3), (lambda v: int(np.floor(v)), -0.25, 0.0, -1), (lambda v: int(np.ceil(v)), 1.75, 2.0, 2),
    ],
)  # fmt: skip
def test_an_integer_is_compared_with_the_nearest_number_at_which_it_changes(look, value, step, outcome):
    """Just beyond that number, and just before it, the integers differ."""
    assert entries(lambda x: x * look(x), value) == [("guard", "int", value, step, outcome)]
    assert look(step - 1e-9) != look(step + 1e-9)


def test_truth_of_a_number_and_predicates_have_their_own_names():
    """A number is compared with zero; isnan has no distance; the position of a maximum is a gap to the next."""
    assert entries(lambda x: x if x else 2 * x, 0.5) == [("guard", "not_equal", 0.5, 0.0, True)]
    (m,) = td.GuardedTape(lambda x: x if not np.isnan(x) else 0.0).margins(0.5)
    assert (m.comparison, m.outcome, m.tie) == ("isnan", False, False)
    assert math.isnan(m.margin)
    assert entries(lambda x: x[int(np.argmax(x))], A([1.0, 4.0, 3.5])) == [("guard", "argmax", 4.0, 3.5, 1)]
    assert entries(lambda x: x[int(np.argsort(x)[0])], A([1.0, 4.0, 3.5])) == [("guard", "argsort", 4.0, 3.5, True)]
    assert entries(lambda x: x[0] * int(np.searchsorted(A([0.0, 2.0]), x[1])), A([1.0, 1.5])) == [
        ("guard", "searchsorted", 1.5, 2.0, False)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (lambda x: abs(x).sum(), [3.0, -0.5], ("kink", "absolute", -0.5, 0.0, False)),
        (lambda x: np.maximum(x, 1.0).sum(), [3.0, 1.0], ("kink", "maximum", 1.0, 1.0, False)),
        (lambda x: np.minimum(x[0], x[1]), [3.0, 1.0], ("kink", "minimum", 3.0, 1.0, True)),
        (lambda x: np.fmax(x, 0.0).sum(), [3.0, 1.0], ("kink", "fmax", 1.0, 0.0, True)),
        (lambda x: np.max(x), [3.0, 1.0, 2.5], ("kink", "max", 3.0, 2.5, True)),
        (lambda x: np.min(x), [3.0, 1.0, 2.5], ("kink", "min", 1.0, 2.5, False)),
        (lambda x: np.where(x > 0, x, 0.0).sum(), [3.0, -1.0], ("where", "greater", -1.0, 0.0, False)),
    ],
)  # fmt: skip
def test_kinks_and_jumps_are_listed_with_their_smallest_distance(f, x, expected):
    """Recorded elsewhere than asked."""
    safe = td.GuardedTape(f)
    td.gradient(safe, A(x)[::-1] * 2)
    (m,) = safe.margins(A(x))
    assert (m.kind, m.comparison, m.left, m.right, m.outcome) == expected
    assert m.tie == (m.left == m.right)


def test_a_clip_at_its_corner_is_a_tie():
    """Its two corners are a maximum and a minimum."""
    safe = td.GuardedTape(lambda x: np.clip(x, -1.0, 2.0).sum())
    for x, ties in (([0.0, 0.5], []), ([-1.0, 0.5], ["maximum"]), ([-1.0, 2.0], ["maximum", "minimum"])):
        found = safe.margins(A(x))
        assert [m.comparison for m in found] == ["maximum", "minimum"]
        assert [m.comparison for m in found if m.tie] == ties


def test_kinks_that_the_result_does_not_depend_on_are_left_out():
    """The absolute value of a test for convergence; arrays of one entry or none have no runner-up."""

    def f(x):
        return x if abs(x) > 1 else 2 * x

    assert [m.kind for m in td.GuardedTape(f).margins(3.0)] == ["guard"]
    assert td.GuardedTape(lambda x: np.max(x)).margins(A([1.0])) == []
    assert td.GuardedTape(lambda x: np.maximum(x, 0.0).sum()).margins(np.empty(0)) == []


def test_rows_of_a_matrix_each_have_a_runner_up():
    """np.max along an axis: the row whose two largest entries are closest."""
    x = A([[1.0, 5.0, 2.0], [4.0, 3.5, 0.0]])
    (m,) = td.GuardedTape(lambda x: np.max(x, axis=1).sum()).margins(x)
    assert (m.left, m.right, m.index) == (4.0, 3.5, (1,))


def test_the_margins_tell_whether_a_step_stays_on_the_path():
    """Random points: with every comparison's sides moved by less than its margin, the same tape answers."""

    def f(x):
        total = 0.0 * x[0]
        for v in x:
            total = total + (v**2 if v > 0.5 else -v)
        return total

    rng = np.random.default_rng(0)
    safe = td.GuardedTape(f)
    for _ in range(20):
        x = rng.uniform(-1, 2, 4)
        room = min(abs(m.margin) for m in safe.margins(x))
        td.gradient(safe, x)
        recordings = safe.stats.recordings
        td.gradient(safe, x + rng.choice([-1, 1], 4) * 0.999 * room)
        assert safe.stats.recordings == recordings


def test_comparisons_inside_sub_tapes_and_loops_count():
    """Of the iterations of a loop, the one that came closest."""
    step = td.subtape(lambda v: v * 2 if v > 1 else v, merge=False)
    choice = td.GuardedTape(lambda x: td.cond(x**2 > 5, lambda v: v, lambda v: -v, x), merge=False).margins(2.0)
    assert [(m.comparison, m.left, m.right) for m in choice] == [("greater", 4.0, 5.0)]

    def f(x):
        c, _ = td.scan(lambda c, t: (c + t if c < 3 else c - t, None), x, np.array([1.0, 0.5, 2.0]))
        return step(x) + c

    found = td.GuardedTape(f, merge=False).margins(1.25)
    guards = [(m.comparison, m.left, m.right) for m in found if m.kind == "guard"]
    assert guards == [("less", 2.75, 3.0), ("greater", 1.25, 1.0)]


def test_margins_of_many_points_record_each_path_once(monkeypatch):
    """The same as margins() at every point, on both paths, in any order; an exception on a path is raised."""

    def f(x):
        if x[0] < 0.0:
            return np.sum(np.maximum(x, -1.0))
        return np.sqrt(x[1]) if x[1] > 0.0 else np.linalg.cholesky(np.eye(2) * x[1])[0, 0]

    safe, recorded = td.GuardedTape(f), []
    monkeypatch.setattr("tapediff.targets.guarded_reports.record_bound", lambda *args: recorded.append(1) or record_bound(*args))
    look = safe.margins_of_many()
    points = [np.array(x) for x in ([-1.0, 2.0], [1.0, 2.0], [-2.0, 0.5], [0.3, 0.1], [-0.1, -3.0])]
    found = [look(x) for x in points]
    assert len(recorded) == 2
    assert found == [safe.margins(x) for x in points]
    with pytest.raises(np.linalg.LinAlgError):
        look(np.array([1.0, -1.0]))
