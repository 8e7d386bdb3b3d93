"""Which form of a guarded function is recorded: in threads, from compiled code, and where nothing is merged in the end."""

import ctypes
import inspect
import threading

import numpy as np
import pytest

import tapediff as td
from tapediff.functions.merging import rewrite
from tapediff.targets.guarded.merging import TRIALS, Merging

RUNS = []


def bent(x):
    RUNS.append(1)
    s = 0.0
    for v in x:
        if v > 0:
            s = s + v**2
        else:
            s = s - v
    return s


def slope(x):
    return np.where(x > 0, 2 * x, -1.0)


def collected(x):
    kept = []
    for v in x:
        if v > 0:
            kept.append(v)
    return sorted(kept)[len(kept) // 2] * x[0] if kept else x[1]


def test_threads_may_call_while_the_form_changes():
    for trial in range(4):
        guarded = td.GuardedTape(bent, on_new_tape="interpret", compile_after=1000, merge=None)
        faults = []

        def calls(seed, guarded=guarded, faults=faults):
            rng = np.random.default_rng(seed)
            for _ in range(15):
                x = rng.normal(size=4)
                try:
                    value, gradient = td.value_and_gradient(guarded, x)
                except Exception as error:  # noqa: BLE001 -- to be told in the main thread
                    faults.append(repr(error))
                else:
                    # The same terms, masked ones added as zeros.
                    if not (np.isclose(value, bent(x), rtol=1e-12) and np.allclose(gradient, slope(x), rtol=1e-12)):
                        faults.append((x, value, gradient))

        threads = [threading.Thread(target=calls, args=(4 * trial + k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert faults == []
        assert guarded._recorder.merging.trials_left == 0


def test_tapes_of_paths_stay_where_nothing_is_merged_in_the_end():
    rng = np.random.default_rng(0)
    points = [rng.normal(size=4) for _ in range(8)]
    guarded = td.GuardedTape(collected, on_new_tape="interpret", compile_after=1000, merge=None)
    plain = td.GuardedTape(collected, on_new_tape="interpret", compile_after=1000, merge=False)
    for x in (*points, *points):
        assert np.array_equal(td.gradient(guarded, x), td.gradient(plain, x))
    assert len(guarded._cache.all()) == len(plain._cache.all())
    assert guarded.stats.recordings <= plain.stats.recordings + 4, guarded.explain()


def by_bound_calls(merged, points):
    x, out = np.empty(4), np.empty(4)
    call = merged.bind(x, out=out)
    for point in points:
        x[:] = point
        call()
        yield out.copy()


@pytest.mark.parametrize("ask", [lambda merged, points: merged.batch(np.array(points))[1], by_bound_calls], ids=["batch", "bound"])
def test_calls_from_compiled_code_are_compared_at_first(ask):
    rng = np.random.default_rng(1)
    merged = td.GuardedTape(bent, merge=True)
    td.gradient(merged, np.ones(4))
    RUNS.clear()
    points = [rng.normal(size=4) for _ in range(40)]
    for x, gradient in zip(points, ask(merged, points), strict=True):
        assert np.allclose(gradient, slope(x), rtol=1e-12)  # the same terms
    assert TRIALS - 2 <= len(RUNS) <= TRIALS + 8, "the function runs beside the first answers, and for recordings"


def test_the_warning_of_many_paths_names_the_first_branch_that_is_not_merged():
    rng = np.random.default_rng(2)
    guarded = td.GuardedTape(collected, on_new_tape="interpret", compile_after=1000, merge=True, max_tapes=3)

    def on_many_paths():
        for _ in range(12):
            td.gradient(guarded, rng.normal(size=4))

    with pytest.warns(td.GuardWarning) as warned:
        on_many_paths()
    assert "\n  not merged: collected, line " in str(warned[0].message)
    assert "kept" in str(warned[0].message).partition("not merged")[2]


def kept_by_number(x):
    n = 0
    history = {}
    for v in x:
        if v > 0:
            n = 1
        else:
            n = 2
        melt = 2 * v
        history[n] = melt
    return sum(history.values())


def counted_by_index(x):
    n = 0
    for v in x:
        if v > 0:
            n = n + 1
    return LEVELS[:n].sum() * x[0]


def doubled_until(x):
    n = 0
    while n < x[0]:
        n = n + 1
    return x[1] * sum(range(n))


def flagged(x):
    found = False
    if x[0] > 1:
        found = True
    return x[1] * (found + 1)


LEVELS = np.arange(10.0)


@pytest.mark.parametrize(
    ("f", "use"),
    [
        (kept_by_number, "`history[n] = melt` at line {} needs it to stay an int"),
        (counted_by_index, "`return LEVELS[:n].sum() * x[0]` at line {} needs it to stay an int"),
        (doubled_until, "`return x[1] * sum(range(n))` at line {} needs it to stay an int"),
        (flagged, "`return x[1] * (found + 1)` at line {} needs it to stay a bool"),
    ],
    ids=lambda case: getattr(case, "__name__", ""),
)
def test_the_line_that_needs_a_plain_number_is_named(f, use):
    """In the report, and as the first reason, which the warning of many paths gives."""
    rng = np.random.default_rng(3)
    guarded = td.GuardedTape(f, on_new_tape="interpret", compile_after=1000, merge=True)
    for _ in range(8):
        td.gradient(guarded, 2 * rng.normal(size=4))
    needing = use[1:].partition("`")[0]
    lines = [text.strip() for text in inspect.getsource(f).splitlines()]
    line = f.__code__.co_firstlineno + lines.index(needing)
    assert use.format(line) in guarded.explain(), guarded.explain()
    assert use.format(line) in guarded._recorder.merging.first_reason()


def every_form(x):
    s, k = x[0] * 0.0, 0.0
    for v in x:
        if v > 0:
            s = s + v
        if v > 1:
            s = s + np.sum(np.linalg.solve(np.eye(2) * v, np.ones(2)))
    while k < x[1]:
        k = k + 1.0
    for v in x:
        if v > 2:
            break
        s = s + v
    return s * k + sum(v for v in x if v < 0)


def test_the_report_tells_what_each_branch_has_become():
    rng = np.random.default_rng(4)
    guarded = td.GuardedTape(every_form, on_new_tape="interpret", compile_after=1000, merge=True)
    for _ in range(8):
        x = rng.normal(size=4)
        assert np.isclose(guarded(x), every_form(x), rtol=1e-12)  # sums in another order
    first, text = every_form.__code__.co_firstlineno, guarded.explain()
    for line, form in (
        (3, "a select"), (5, "a sub-tape, with 2 paths"), (7, "a loop with a number of turns that each call decides, with 2 paths"),
        (9, "a loop whose turns after its end are masked, with a select"), (13, "a sum, or the like, of masked values"),
    ):  # fmt: skip
        assert f"every_form, line {first + line}: merged, as {form}\n" in text + "\n", text


def test_an_error_of_the_rewriting_is_nobodys_error(monkeypatch):
    def fails(*_):
        raise AttributeError("a node of a kind that nobody expected")

    monkeypatch.setattr(rewrite.Rewriter, "rewritten", fails)
    guarded = td.GuardedTape(bent, on_new_tape="interpret", compile_after=1000, merge=None)
    rng = np.random.default_rng(5)
    for x in rng.normal(size=(8, 4)):
        assert np.allclose(td.gradient(guarded, x), slope(x), rtol=1e-12)  # the same terms
    assert "no branches are merged: AttributeError: a node" in guarded.explain()


def unlike_at_last(x):
    if x[0] > 0:
        y = np.sum(np.sin(x))
    elif x[1] > 5:
        y = np.cos(x)  # an array, where the other paths give numbers
    else:
        y = np.sum(x**2)
    return np.sum(y)


def by_c_function(merged):
    function = merged.c_function("gradient", np.ones(4))
    call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, *[ctypes.c_void_p] * 4)(function.address)

    def ask(x):
        value, out = np.empty(1), np.empty(4)
        assert call(4, x.ctypes.data, out.ctypes.data, value.ctypes.data, function.user_data) == 0
        return out

    return ask


def by_bound(merged):
    x, out = np.empty(4), np.empty(4)
    call = merged.bind(x, out=out)

    def ask(point):
        x[:] = point
        call()
        return out.copy()

    return ask


@pytest.mark.parametrize(
    "way", [by_c_function, by_bound, lambda merged: lambda x: merged.batch(x[None])[1][0], lambda merged: lambda x: td.gradient(merged, x)],
    ids=["C function", "bound", "batch", "Python"],
)  # fmt: skip
def test_a_branch_that_cannot_stay_merged_is_nobodys_error_however_calls_are_made(way):
    rng = np.random.default_rng(6)
    merged = td.GuardedTape(unlike_at_last, merge=True)
    ask, points = way(merged), rng.normal(size=(24, 4))
    late = np.array([-1.0, 6.0, 0.5, 1.0])
    for x in (*points, late, *points, late):
        assert np.allclose(ask(x), td.gradient(td.record(unlike_at_last, x), x), rtol=1e-12)
    assert len(merged._cache.all()) == 3, "one for each path"


def test_what_goes_either_way_many_times_is_merged_at_once():
    points = np.linspace(-1.0, 1.0, 64)
    for signs, is_merged in ((points, True), (np.abs(points), False), (np.append(points[:8], np.ones(56)), False)):
        guarded = td.GuardedTape(bent)
        assert np.allclose(td.gradient(guarded, signs), slope(signs), rtol=1e-12)  # the same terms, masked ones added as zeros
        assert guarded._recorder.merging.is_on == is_merged
        assert len(guarded._cache.all()) == 1


def test_tapes_of_a_merged_form_are_not_taken_for_those_of_paths_later():
    """A helper is merged on some points, and nothing at others, while new lines with branches are still being met."""

    def positive(v):
        if v > 0:
            return v
        return 0.0

    def larger(v):
        return v if v > 0.1 else 0.0

    def f(x):
        a, b, n = x[0], 1, 0
        y = x * 1.0
        z = y[::-1]

        def inner(v):
            return v * b

        if positive(a) > 0.2:
            b = 1 / 3
        b += z[0] - a
        if n == z[0]:
            a *= larger(b) // 1 + y[1]
        else:
            y[1] = np.tanh(z[0])
        return 4 * a + inner(x[3])

    points = [[2.4, 2.1, 4.4], [-2.7, 0.7, -2.7], [0.0, -1.0, -0.5], [0.4, 1.3, 2.4], [1.9, 3.5, 3.0], [0.0, 0.0, 1.0], [0.35, -0.8, -1.3],
              [2.2, 2.3, 0.6], [0.5, -0.0, 0.0], [0.0, 2.0, 0.0]]  # fmt: skip
    merged = td.GuardedTape(f, merge=True, on_new_tape="interpret", compile_after=1000)
    for first, second, last in points:
        x = np.array([first, second, 1.0, 0.5, last])
        value, gradient = td.value_and_gradient(merged, x)
        np.testing.assert_allclose(value, f(x), rtol=1e-12)
        np.testing.assert_allclose(gradient, td.gradient(td.record(f, x), x), rtol=1e-12)


def steps_until_the_end(x):
    """A loop of some thousand turns, of which a value says how many."""
    t, y, total = 0.0, x[1], 0.0
    while t < 40.0:
        y = y - 0.01 * y * x[0]
        t = t + 0.01 + 0.001 * x[0]
        total = total + y
    return total


@pytest.mark.parametrize("merge", [None, True])
def test_a_long_first_recording_ends_where_it_is_clear_that_branches_are_merged(merge, monkeypatch):
    """The rest of the path would be of no use: the only tape is that of the merged form, and the first question ends the plain one."""
    stops, said = Merging.stops, []
    monkeypatch.setattr(Merging, "stops", lambda *args: said.append(stops(*args)) or said[-1])
    guarded = td.GuardedTape(steps_until_the_end, merge=merge)
    for x in (np.array([0.7, 1.1]), np.array([0.4, 0.9])):
        td.testing.check_gradient(guarded, steps_until_the_end, x)
    assert guarded.stats.recordings == 1
    assert "as a loop" in guarded.explain()
    assert said == [True]


SEEN = []


def notes_its_steps(x):
    SEEN.append(float(len(SEEN)))
    return steps_until_the_end(x)


def test_a_function_that_changes_something_else_is_recorded_to_its_end():
    """What stands behind the loop might be left undone."""
    guarded = td.GuardedTape(notes_its_steps)
    td.testing.check_gradient(guarded, notes_its_steps, np.array([0.7, 1.1]))
    assert guarded.stats.recordings > 1 or "as a loop" not in guarded.explain()


def fixed_point(p):
    """A `while` of a merged body, which has several paths as a sub-tape."""
    r, k = np.array([1.0, 0.0]), 0
    while k < 300:
        new = np.tanh(0.5 * r + p)
        k += 1
        if np.max(np.abs(new - r)) < 1e-10:
            break
        r = new
    return np.sum(new)


def test_second_derivatives_of_a_while_with_a_break():
    """The reverse pass of the turns is found as a loop on its own, and reads what each call of the forward pass returned."""
    guarded = td.GuardedTape(fixed_point)
    points = np.array([[0.3, -0.2], [-0.5, 0.9], [1.5, 1.2], [0.8, 0.4], [0.1, 0.1]])
    for x in points:
        td.gradient(guarded, x)
    for x in points[:3]:
        tape = td.record(fixed_point, x)
        np.testing.assert_allclose(td.hessian(guarded, x), td.hessian(tape, x), rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(td.hvp(guarded, x, np.ones(2)), td.hvp(tape, x, np.ones(2)), rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(td.jvp(guarded, (x,), (np.ones(2),))[1], np.sum(td.gradient(tape, x)), rtol=1e-9)
