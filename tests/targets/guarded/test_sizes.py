"""Sizes of arrays that are data from their second value on: one tape for all of them."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import tapediff as td
from tapediff.functions.callees.rolled_loop import rolled
from tapediff.ops.control.calls import LOOP
from tapediff.recording.arguments import size_arguments

from .size_programs import PROGRAMS

T = np.array([0.3, -0.2, 0.1])


def guarded(f: Any, **options: Any) -> td.GuardedTape:
    return td.GuardedTape(f, on_new_tape="interpret", compile_after=10**6, **options)


def agree(tape: td.GuardedTape, f: Any, *args: Any) -> None:
    """Compare value and gradient with those of the function, recorded for these arguments."""
    value, gradient = td.value_and_gradient(tape, *args)
    expected_value, expected = td.value_and_gradient(f, *args)
    np.testing.assert_allclose(value, f(*args), rtol=1e-9)
    np.testing.assert_allclose(value, expected_value, rtol=1e-9)
    np.testing.assert_allclose(gradient, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_tape_serves_all_lengths(name: str) -> None:
    f, data = PROGRAMS[name]
    tape, rng = guarded(f), np.random.default_rng(0)
    for n in (12, 9, 11, 4, 13, 7):
        agree(tape, f, T, *data(rng, n))
    assert tape.stats.recordings == 2, tape.explain()


@pytest.mark.parametrize("name", ["filled_after_a_start", "filled_from_one", "filled_from_behind", "table", "every_pair"])
def test_positions_that_differ_from_a_size_by_constants_are_inside(name: str) -> None:
    """For k < n, k + 1 is a position of an array of n + 1 entries, also in loops within loops: none ends at an error."""
    f, data = PROGRAMS[name]
    tape, rng = guarded(f), np.random.default_rng(0)
    for n in (12, 9):
        agree(tape, f, T, *data(rng, n))
    report = tape.explain()
    assert "one loop instruction" in report
    assert "ended by data" not in report


@pytest.mark.parametrize("name", ["filled", "filled_by_columns", "filled_columns"])
def test_rows_of_any_number_of_iterations_are_stacked(name: str) -> None:
    """Also where they are written entry by entry, or on one side of a branch: no loop carries an array."""
    f, data = PROGRAMS[name]
    tape, rng = guarded(f), np.random.default_rng(0)
    for n in (12, 9):
        agree(tape, f, T, *data(rng, n))
    loops = [i.params for i in rolled(tape.kept_paths.all()[-1].tape).instructions if i.op is LOOP]
    assert loops
    assert all(type_.size <= 2 for callee, form in loops for type_ in callee.in_types[: form.carries])


@pytest.mark.parametrize("name", ["logistic", "garch", "gaussian_process", "scanned", "filled", "appended", "by_group"])
def test_kernels_serve_all_lengths(name: str) -> None:
    f, data = PROGRAMS[name]
    tape, rng = td.GuardedTape(f), np.random.default_rng(0)
    for n in (40, 23, 64, 17, 33, 48, 63):
        agree(tape, f, T, *data(rng, n))
    assert tape.stats.recordings == 2, tape.explain()


@pytest.mark.parametrize("name", ["least_squares", "logistic", "kalman", "garch_by_position", "filled_from_before", "windows", "of_a_list"])
def test_operators_serve_all_lengths(name: str) -> None:
    f, data = PROGRAMS[name]
    tape, rng, v = guarded(f), np.random.default_rng(0), np.array([1.0, -0.5, 2.0])
    for n in (12, 9, 11, 4, 13):
        given = data(rng, n)
        for operator in (td.hessian, td.jacobian, lambda target, t, *args: td.hvp(target, t, v, *args), td.value_gradient_and_hessian):
            for found, expected in zip(operator(tape, T, *given), operator(f, T, *given)):
                np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    assert tape.stats.recordings == 2, tape.explain()


def test_derivatives_by_arrays_of_a_varying_size_have_a_tape_for_each() -> None:
    f = lambda t, x: np.sum(np.exp(x) * t[0]) * x[0]
    tape = guarded(f)
    for n in (5, 7, 6):
        x = np.linspace(0, 1, n)
        np.testing.assert_allclose(td.hessian(tape, T, x, argnums=1), td.hessian(f, T, x, argnums=1))
    assert tape.stats.recordings == 3


@pytest.mark.parametrize("name", ["garch", "autoregression", "side_by_side", "filled_from_before", "standardised"])
def test_lengths_in_any_order_take_few_recordings(name: str) -> None:
    f, data = PROGRAMS[name]
    tape, rng = guarded(f), np.random.default_rng(0)
    for n in rng.permutation(np.arange(2, 300))[:40]:
        args = data(rng, int(n))
        np.testing.assert_allclose(tape(T, *args), f(T, *args), rtol=1e-9)
    assert tape.stats.recordings <= 3, tape.explain()


@pytest.mark.parametrize(
    "call",
    [
        lambda tape, x, t: tape(x, t),
        lambda tape, x, t: td.gradient(tape, x, t),
        lambda tape, x, t: td.gradient(tape, x, t, out=np.empty_like(x)),
        lambda tape, x, t: np.concatenate(td.gradient(tape, x, t, argnums=(0, 1))),
        lambda tape, x, t: td.value_and_gradient(tape, x, t, argnums=1)[1],
        lambda tape, x, t: td.hessian(tape, x, t, argnums=1),
    ],
)
def test_known_forms_of_calls_are_direct(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    f = lambda x, t: np.sum(np.exp(-x * t[0]) * x) + t[1] ** 2
    tape, rng = td.GuardedTape(f), np.random.default_rng(0)
    # A strided array is another form of call.
    for n, step in ((40, 1), (50, 1), (45, 1), (90, 2)):
        call(tape, rng.normal(size=n)[::step], T)
    points = [rng.normal(size=n)[::step] for n, step in ((33, 1), (49, 1), (64, 1), (64, 2), (63, -1))]
    expected = [call(f, x, T) for x in points]
    full = tape._function.call

    def refuse(*args: Any, **named: Any) -> None:
        raise AssertionError("a full path")

    monkeypatch.setattr(type(tape._function), "call", refuse)
    for x, known in zip(points, expected):
        np.testing.assert_allclose(call(tape, x, T), known, rtol=1e-10)
    monkeypatch.setattr(type(tape._function), "call", lambda self, *args, **named: full(*args, **named))
    for n in (1, 3, 70, 200, 40, 50, 45):
        x = rng.normal(size=n)
        np.testing.assert_allclose(call(tape, x, T), call(f, x, T), rtol=1e-10)


def test_direct_calls_write_nothing_where_they_fail() -> None:
    f = lambda x, y: np.sum(np.log(x) * y) if np.all(x > 0) else np.sum(np.kron(x, y))
    tape = td.GuardedTape(f)
    for n in (5, 7, 6, 4):
        td.gradient(tape, np.linspace(1, 2, n), np.ones(n))
    for out, error in ((np.zeros(3), td.ShapeMismatch), (np.zeros(6, np.float32), td.DtypeMismatch), ([0.0] * 6, td.ArgumentMismatch)):
        with pytest.raises(error):
            td.gradient(tape, np.linspace(1, 2, 6), np.ones(6), out=out)
        assert not np.any(out)
    frozen = np.zeros(6)
    frozen.flags.writeable = False
    with pytest.raises(td.ArgumentMismatch):
        td.gradient(tape, np.linspace(1, 2, 6), np.ones(6), out=frozen)
    assert not frozen.any()
    with pytest.raises(td.TapediffError):
        td.gradient(tape, np.linspace(1, 2, 6), np.arange(6) + 1j)
    x = np.linspace(-1, 2, 6)
    np.testing.assert_allclose(td.gradient(tape, x, np.ones(6)), td.gradient(f, x, np.ones(6)))


@pytest.mark.parametrize(
    "numbers", [lambda n: np.arange(0, n, 2), lambda n: np.arange(n, 0, -1), lambda n: np.arange(1, n, 3.0), lambda n: np.arange(0.5, n)]
)
def test_ranges_with_a_step_have_the_entries_of_each_length(numbers: Any) -> None:
    f = lambda x: np.sum(numbers(len(x))) * x[0] + x[-1]
    tape = guarded(f)
    for n in (7, 9, 8, 4, 13):
        agree(tape, f, np.linspace(1, 2, n))


def test_the_users_guard_is_called_once() -> None:
    asked = 0

    def guard(t: Any, x: Any) -> bool:
        nonlocal asked
        asked += 1
        return bool(t[0] > 0)

    f = lambda t, x: np.exp(x) * t[0]
    tape = guarded(f, guard=guard)
    for n in (5, 7, 6, 8):
        x = np.linspace(-1, 1, n)
        for call in (lambda: tape(T, x), lambda: td.jacobian(tape, T, x), lambda: td.jacobian(tape, T, x, argnums=1)):
            asked = 0
            call()
            assert asked == 1


# Results


def in_a_dict(t: Any, x: Any) -> Any:
    out = np.zeros(len(x))
    for k in range(1, len(x)):
        out[k] = t[0] * out[k - 1] + x[k]
    return {"path": out, "last": out[-1], "steps": np.diff(x), "positive": x[x > 0]}


def in_a_tuple(t: Any, rows: Any) -> Any:
    return rows @ t, rows[rows[:, 0] > t[0]], np.sum(rows)


def outer(t: Any, x: Any) -> Any:
    return np.subtract.outer(x, x) * t[0]


def selected(t: Any, x: Any) -> Any:
    return x[x > 0] ** 2 * t[0]


def alike(found: Any, expected: Any) -> None:
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        found, expected = tuple(found.values()), tuple(expected.values())
    if isinstance(expected, tuple):
        assert type(found) is tuple
        for one, other in zip(found, expected, strict=True):
            alike(one, other)
        return
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("f", [in_a_dict, in_a_tuple, outer, selected])
@pytest.mark.parametrize("compile_after", [0, 10**6])
def test_arrays_of_a_varying_size_are_results(f: Any, compile_after: int) -> None:
    tape, rng = td.GuardedTape(f, compile_after=compile_after, check_every=2), np.random.default_rng(0)
    for n in (5, 8, 6, 12, 3, 15, 7):
        x = rng.normal(size=(n, 3) if f is in_a_tuple else n)
        alike(tape(T, x), f(T, x))
    assert tape.stats.recordings == 2, tape.explain()
    for n in (1, 2, 0):
        x = rng.normal(size=(n, 3) if f is in_a_tuple else n)
        try:
            expected = f(T, x)
        except IndexError:
            with pytest.raises(IndexError):
                tape(T, x)
            continue
        alike(tape(T, x), expected)
    x = rng.normal(size=(4, 3) if f is in_a_tuple else 4)
    loaded = pickle.loads(pickle.dumps(tape))
    alike(loaded(T, x), f(T, x))


def test_masks_select_results() -> None:
    tape, rng = guarded(selected), np.random.default_rng(0)
    results = [(x, tape(T, x)) for x in rng.normal(size=(9, 6))]
    assert tape.stats.recordings == 1
    for x, found in results:
        alike(found, selected(T, x))
        assert found.flags.owndata
    x = results[0][0]
    np.testing.assert_allclose(td.jacobian(tape, T, x, argnums=1), td.jacobian(selected, T, x, argnums=1))
    alike(tape(T, x), selected(T, x))
    with pytest.raises(td.NonScalarOutput, match="an array"):
        td.gradient(tape, T, x)
    with pytest.raises(td.TapediffError):
        tape.batch(np.tile(T, (4, 1)), x)


def test_native_calls_have_results_of_one_shape() -> None:
    f = lambda x: x[x > 0] ** 2
    tape = td.GuardedTape(f)
    for x in (np.array([1.0, -2.0, 3.0]), np.array([1.0, 2.0, 3.0])):
        alike(tape(x), f(x))
    x = np.array([1.0, -2.0, 3.0])
    assert tape.c_function("value", x).sizes == (3, 2)
    alike(tape(x), f(x))
    alike(tape(-x), f(-x))


def test_results_of_varying_sizes_inside_recordings() -> None:
    tape, rng = guarded(selected), np.random.default_rng(0)
    for n in (5, 8, 6):
        x = rng.normal(size=n)
        tape(T, x)
        f = lambda t, x=x: np.sum(tape(t, x)) ** 2
        np.testing.assert_allclose(td.gradient(f, T), td.gradient(lambda t, x=x: np.sum(selected(t, x)) ** 2, T))


# Which sizes are data


def test_arrays_of_one_entry_and_of_none_have_tapes_of_their_own() -> None:
    f = lambda x: np.sum(x**2) + x.size
    tape = guarded(f)
    for n in (5, 1, 0, 7, 1, 0, 9):
        agree(tape, f, np.arange(n) + 1.0)
    assert tape.stats.recordings == 4


def test_sizes_that_were_equal_may_differ_later() -> None:
    f = lambda t, x, y: t[0] * np.sum(x) + t[1] * np.prod(y[:3]) + len(x) * len(y)
    tape = guarded(f)
    for n, m in ((5, 5), (7, 7), (6, 6), (6, 9), (9, 6), (4, 4), (5, 5)):
        agree(tape, f, T, np.linspace(1, 2, n), np.linspace(2, 3, m))
    assert tape.stats.recordings == 3


def test_operands_of_other_lengths_are_errors_as_in_numpy() -> None:
    f = lambda x, y: np.sum(x * y)
    tape = guarded(f)
    for n, m in ((5, 5), (7, 7), (6, 6)):
        agree(tape, f, np.linspace(1, 2, n), np.linspace(2, 3, m))
    for _ in range(3):
        with pytest.raises(ValueError, match="broadcast"):
            tape(np.ones(6), np.ones(7))
        agree(tape, f, np.linspace(1, 2, 8), np.linspace(2, 3, 8))
        agree(tape, f, np.ones(1), np.linspace(2, 3, 8))


def test_a_size_that_meets_an_array_from_outside() -> None:
    data = np.linspace(0.0, 1.0, 6)
    f = lambda x: np.sum((x - data) ** 2) if len(x) == 6 else np.sum(x) * data[0] + data[5] * x[0]
    tape = guarded(f)
    for n in (4, 7, 6, 5, 6, 9):
        agree(tape, f, np.linspace(1, 2, n))


def test_branches_on_sizes_are_followed() -> None:
    def f(x):
        if len(x) > 9:
            return np.sum(x**2) / x.size
        if x.shape[0] % 2 == 0:
            return np.sum(x) * 3.0
        return x[0] * x[-1]

    tape = guarded(f)
    for n in (4, 10, 7, 3, 16, 9, 12, 2):
        agree(tape, f, np.linspace(1, 2, n))
    assert tape.stats.recordings == 2


def test_errors_that_a_size_decides() -> None:
    def f(x):
        if len(x) > 9:
            raise ValueError(f"too long: {len(x)}")
        return np.sum(np.exp(x))

    tape = guarded(f)
    for n in (4, 6, 11, 5, 13, 8):
        if n > 9:
            with pytest.raises(ValueError, match=f"too long: {n}"):
                tape(np.ones(n))
        else:
            agree(tape, f, np.linspace(0, 1, n))
    with pytest.raises(IndexError):
        td.gradient(guarded_at_two_sizes(lambda x: x[5] * x[0]), np.ones(4))


def guarded_at_two_sizes(f: Any) -> td.GuardedTape:
    tape = guarded(f)
    for n in (6, 9):
        agree(tape, f, np.linspace(1, 2, n))
    return tape


def test_a_size_that_python_needs_has_a_tape_for_each_value() -> None:
    f = lambda x: np.sum(np.abs(np.fft.rfft(x)) ** 2) * len(x)
    tape = guarded(f)
    for n in (3, 5, 4, 3, 5, 4, 6):
        agree(tape, f, np.linspace(1, 2, n))
    assert tape.stats.recordings == 4
    assert "a tape for each size of its arrays, because of" in tape.explain()


def test_a_long_list_in_a_loop_is_given_up_soon() -> None:
    def f(t, x):
        out = [t[1]]
        for k in range(1, len(x)):
            out.append(0.5 * out[-1] + x[k] * t[0])
            out[k - 1] = out[k - 1] * t[2]
        return sum(v * v for v in out)

    tape = guarded(f)
    for n in (200, 150, 170):
        agree(tape, f, T, np.linspace(0, 1, n))
    assert tape.stats.recordings == 3
    assert tape.stats.seconds_recording < 30


def test_a_size_that_comes_often_gets_a_tape_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size_arguments, "OFTEN", 3)
    monkeypatch.setattr(size_arguments, "MOST_OWN", 2)
    f = lambda x: np.sum(x**3)
    tape = guarded(f)
    for n in (8, *[5] * 6, *[6] * 6, 7):
        agree(tape, f, np.linspace(1, 2, n))
    types = [str(v.reason.called_with) for v in tape._cache.all()]
    assert types[0] == "float64[8]"
    assert types.count("float64[5]") == 1
    assert "float64[6]" not in types


def test_small_sizes_have_tapes_of_their_own_where_much_would_be_computed_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size_arguments, "FEW_ENTRIES", 100)
    f = lambda x: np.sum(np.exp(np.subtract.outer(x, x)))
    tape = guarded(f)
    for n in (100, 90, 20, 110, 30, 25):
        agree(tape, f, np.linspace(1, 2, n))
    assert [v.tape.input_types[0].shape for v in tape._cache.all()] == [(100,), (136,), (72,)]
    (calls,) = tape._function.sizes._calls.values()
    found = calls.extents(((50,),))
    assert found is not None
    assert found.largest == (72,), "the smallest that serves it"


def test_a_size_has_a_tape_of_its_own_from_its_second_call_on_where_much_would_be_computed_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first call tells whether the kernel of all sizes ends there."""
    monkeypatch.setattr(size_arguments, "MANY_ENTRIES", 1)
    f = lambda x: np.sum(np.exp(np.roll(x, 1)) * x)
    tape = guarded(f)
    for n in (50, 40, 45, 47):
        agree(tape, f, np.linspace(1, 2, n))
    assert tape.stats.recordings == 2
    agree(tape, f, np.linspace(1, 2, 45))
    assert tape.stats.recordings == 3


def test_a_tape_for_large_sizes_is_little_larger_than_these() -> None:
    f = lambda x: np.sum(np.exp(x))
    tape = guarded(f)
    for n in (40, 30, 80, 2000, 5000, 5100):
        agree(tape, f, np.linspace(0, 1, n))
    assert [v.tape.input_types[0].shape for v in tape._cache.all()] == [(40,), (72,), (264,), (2568,), (7176,)]


def test_without_merging_each_size_has_a_tape() -> None:
    f = lambda x: np.sum(x**2)
    tape = guarded(f, merge=False)
    for n in (3, 5, 4, 3):
        agree(tape, f, np.linspace(1, 2, n))
    assert tape.stats.recordings == 3


# Forms of calls


def test_gradients_have_the_shapes_of_the_arguments() -> None:
    def f(x, d, y):
        return np.sum(x * y) ** 2 + sum(np.sum(v) for v in d["a"]) * np.sum(y)

    tape = guarded(f)
    for n in (4, 6, 5, 3):
        x, d, y = np.linspace(1, 2, n), {"a": [np.ones(n), np.ones((2, n + 1))], "b": None}, np.linspace(2, 3, n)
        found, expected = (td.gradient(g, x, d, y, argnums=(0, 1, 2)) for g in (tape, f))
        assert found[1]["b"] is None
        for a, b in zip((found[0], *found[1]["a"], found[2]), (expected[0], *expected[1]["a"], expected[2])):
            np.testing.assert_allclose(a, b, rtol=1e-12)
            assert a.shape == b.shape
            assert a.flags.c_contiguous
            assert a.flags.owndata
        outs = np.full(n, np.nan), np.full(n, np.nan)
        assert td.gradient(tape, x, d, y, argnums=(0, 2), out=outs) is outs
        np.testing.assert_allclose(outs[1], expected[2], rtol=1e-12)
    assert tape.stats.recordings == 2


def test_out_is_untouched_where_a_call_fails() -> None:
    def f(x):
        if np.sum(x) > 100:
            raise ArithmeticError("large")
        return np.sum(x**2)

    tape = guarded(f)
    for n in (4, 6):
        agree(tape, f, np.linspace(1, 2, n))
    out = np.full(5, 7.0)
    with pytest.raises(ArithmeticError):
        td.gradient(tape, np.full(5, 50.0), out=out)
    with pytest.raises(td.ShapeMismatch):
        td.gradient(tape, np.ones(5), out=np.zeros(6))
    assert np.all(out == 7.0)


@pytest.mark.parametrize("backend", ["native", "numba"])
def test_arrays_of_any_layout_dtype_and_kind(backend: str) -> None:
    f = lambda x, k, m, c: np.sum(x * k + np.where(m, c, 0.0)) * x[0]
    tape = td.GuardedTape(f, backend=backend)
    for n in (4, 7, 5, 6):
        x = np.linspace(1, 2, 2 * n)[::-2].astype(np.float32 if backend == "native" else float)
        args = x, np.arange(n), np.arange(n) % 2 == 0, td.Constant(np.linspace(3, 4, 3 * n).reshape(n, 3)[:, 1])
        value, gradient = td.value_and_gradient(tape, *args)
        expected = td.value_and_gradient(f, *args)
        np.testing.assert_allclose(value, expected[0], rtol=1e-5)
        np.testing.assert_allclose(gradient, expected[1], rtol=1e-5)
        assert gradient.dtype == x.dtype
    assert tape.stats.recordings == 2


def test_lists_of_numbers_are_arrays() -> None:
    f = lambda x, p: np.sum(np.asarray(x) ** 2) * p
    tape = guarded(f)
    for n in (2, 4, 3):
        assert tape(np.ones(n), 2.0) == 2.0 * n


def test_ints_and_sizes_are_data_together() -> None:
    f = lambda x, step: np.sum(x) * step + step % 2
    tape = guarded(f)
    for n, step in ((4, 1), (6, 2), (5, 3), (7, 4), (3, 5)):
        agree(tape, f, np.linspace(1, 2, n), step)
    assert tape.stats.recordings <= 3


def test_values_to_specialise_on_have_sizes_of_their_own() -> None:
    tape = guarded(lambda x, s: np.sum(x) * len(s), static=td.static(argnums=1))
    for n, s in ((3, "a"), (5, "a"), (4, "bc"), (6, "bc"), (7, "a"), (8, "bc"), (4, (1, 2.0, None))):
        assert tape(np.ones(n), s) == n * len(s)
    assert tape.stats.recordings == 5


def test_other_operators_take_a_tape_of_the_size() -> None:
    f = lambda x: np.sum(x**3) * len(x)
    tape = guarded(f)
    for n in (3, 5, 4):
        x = np.linspace(1, 2, n)
        agree(tape, f, x)
        np.testing.assert_allclose(td.hessian(tape, x), np.diag(6 * x) * n, rtol=1e-12)
        np.testing.assert_allclose(td.jvp(tape, (x,), (np.ones(n),))[1], np.sum(3 * x**2) * n, rtol=1e-12)


def test_results_that_are_arrays_have_their_sizes() -> None:
    f = lambda x: x**2
    tape = guarded(f)
    for n in (3, 5, 4, 5):
        np.testing.assert_allclose(tape(np.arange(n) + 1.0), (np.arange(n) + 1.0) ** 2)


def test_grad_takes_minibatches_of_any_length() -> None:
    f, data = PROGRAMS["logistic"]
    gradient, rng = td.grad(f), np.random.default_rng(0)
    for n in (32, 20, 31, 17, 32, 9):
        args = data(rng, n)
        np.testing.assert_allclose(gradient(T, *args), td.gradient(f, T, *args), rtol=1e-9)


# The state of a tape


@pytest.mark.parametrize("again", [copy.deepcopy, lambda tape: pickle.loads(pickle.dumps(tape))], ids=["copied", "pickled"])
def test_copies_keep_the_tapes_of_all_sizes(again: Any) -> None:
    f, data = PROGRAMS["garch"]
    tape, rng = guarded(f), np.random.default_rng(0)
    for n in (12, 9, 14):
        agree(tape, f, T, *data(rng, n))
    other = again(tape)
    for n in (12, 9, 15, 11):
        agree(other, f, T, *data(rng, n))
    assert other.stats.recordings == 2


def test_what_a_function_reads_is_still_compared() -> None:
    scale = [2.0]
    f = lambda x: np.sum(x) * scale[0]
    tape = guarded(f)
    for n in (3, 5, 4):
        assert tape(np.ones(n)) == 2.0 * n
    scale[0] = 3.0
    for n in (3, 5, 4, 6):
        assert tape(np.ones(n)) == 3.0 * n


def test_checks_compare_the_function_at_its_own_size() -> None:
    f = lambda x: np.sum(x) * len(x)
    tape = guarded(f, check_every=1)
    for n in (3, 5, 4, 6, 7):
        assert tape(np.ones(n)) == n * n


def test_entries_beyond_the_size_reach_nothing() -> None:
    """They repeat the last entry, so that differences of neighbours are zero there."""

    def f(t, r):
        d = np.diff(r)
        x = r[:, None] - r[None, :]
        m = np.exp(-t[0] * x**2) + np.eye(len(r))
        return np.sum(t[0] / d) + np.sum(np.log(t[1] ** 2 * d**2)) + np.dot(t[2] / d, 1 / d) + np.linalg.slogdet(m)[1]

    tape, rng = td.GuardedTape(f), np.random.default_rng(0)
    for n in (20, 9, 14):
        r = rng.normal(size=n)
        agree(tape, f, T, r)
        np.testing.assert_allclose(td.gradient(tape, T, r, argnums=1), td.gradient(f, T, r, argnums=1), rtol=1e-7)
