"""Compressed arrays: parts whose lengths are data, in programs that one tape holds at all points."""

from __future__ import annotations

import importlib
import warnings

import numpy as np
import pytest

import tapediff as td

from .parts_programs import PROGRAMS, SIZES
from .random_parts import program


def _size(f):
    return SIZES.get(f.__name__, 12)


def _points(f, count):
    return [np.random.default_rng(k).normal(size=_size(f)) for k in range(count)]


def _plain(f, x):
    """The value, and the gradient by differences; or the type of the error."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of empty means, and logarithms outside
            return _value_and_differences(f, x)
    except (ValueError, IndexError) as error:
        return type(error), None


def _value_and_differences(f, x):
    steps = np.eye(len(x)) * 1e-6
    return f(x.copy()), np.array([(f(x + e) - f(x - e)) / 2e-6 for e in steps])


def _check(target, f, x):
    """The same value, gradient or error as plain Python."""
    value, gradient = _plain(f, x)
    if gradient is None:
        with pytest.raises(value):
            td.value_and_gradient(target, x)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        found = td.value_and_gradient(target, x)
    # Sums in another order; differences of 1e-6 are good for six digits.
    np.testing.assert_allclose(found[0], value, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(found[1], gradient, rtol=1e-4, atol=1e-5 * max(1.0, abs(value)))


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_one_tape_holds_every_length(f):
    """Value, gradient and errors at 16 points, by replay; one recording."""
    tape = td.GuardedTape(f, on_new_tape="interpret", compile_after=1000)
    for x in _points(f, 16):
        _check(tape, f, x)
    assert tape.stats.recordings == 1


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_kernels_agree_at_other_lengths(f):
    """The kernel of the first point, at four others."""
    tape = td.GuardedTape(f)
    for x in _points(f, 5):
        _check(tape, f, x)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_a_single_path_has_the_lengths_of_its_point(f):
    """Recorded as Python runs it, with guards where Python needs a length."""
    for x in _points(f, 3):
        if _plain(f, x)[1] is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                tape = td.record(f, x, merge=False)
            _check(tape, f, x)


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_on_parts(seed, tmp_path, monkeypatch):
    """Values, gradients and errors of plain Python, at points of all lengths, on tapes of all paths."""
    monkeypatch.syspath_prepend(tmp_path)
    name = f"random_parts_{seed}"
    (tmp_path / f"{name}.py").write_text(program(seed))
    f = importlib.import_module(name).f
    tape = td.GuardedTape(f, on_new_tape="interpret", compile_after=1000, max_tapes=1000)
    for k in range(10):
        x = np.random.default_rng(1000 * seed + k).normal(size=8)
        gradient = _plain(f, x)[1]
        # Elsewhere a value jumps within the step.
        if gradient is None or (np.isfinite(gradient).all() and abs(gradient).max() < 1e4):
            _check(tape, f, x)


def test_no_mask_at_all_and_every_entry_selected():
    """Nothing selected gives the sums and errors of NumPy's empty arrays; everything is the array itself."""
    tape = td.GuardedTape(lambda x: x[x > 0].sum() + x[x > 0].prod())
    assert td.value_and_gradient(tape, -np.ones(3))[0] == 1.0
    assert np.array_equal(td.gradient(tape, np.array([1.0, 2.0, 3.0])), [7.0, 4.0, 3.0])
    largest = td.GuardedTape(lambda x: x[x > 0].max())
    with pytest.raises(ValueError, match="zero-size array"):
        td.gradient(largest, -np.ones(3))
    assert np.array_equal(td.gradient(largest, np.array([1.0, 3.0, -2.0])), [0.0, 1.0, 0.0])


def test_entries_that_are_not_selected_contribute_nothing():
    """Logarithms and roots of negative entries are NaN, and quotients infinite: neither reaches the gradient or the Hessian."""

    def f(x):
        z = x[x > 0]
        return np.sum(np.log(z) * np.sqrt(z) / (z - 0.25))

    x = np.array([-1.0, 0.0, 2.0, 0.5, -3.0])
    kept = x > 0
    gradient, hessian = td.gradient(td.GuardedTape(f), x), td.hessian(td.record(f, x), x)
    assert np.isfinite(gradient).all()
    assert not gradient[~kept].any()
    np.testing.assert_allclose(gradient[kept], td.gradient(td.record(f, x[kept]), x[kept]), rtol=1e-13)
    np.testing.assert_allclose(hessian[np.ix_(kept, kept)], td.hessian(td.record(f, x[kept]), x[kept]), rtol=1e-12, atol=1e-15)
    assert not hessian[~kept].any()


def _cast(x):
    counts = np.arange(3)[x > 0]
    counts += 0.5
    return counts.sum() * x[0]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x[x > 0] + x[x < 0]).sum() + (x[x > 0] * np.ones(5)).sum(),
        lambda x: x[(x > 0)[:2]].sum(),
        lambda x: {x[x > 0]},
        lambda x: np.concatenate([x[x > 0], x], axis=3).sum(),
        lambda x: np.expand_dims(x[x > 0], 5).sum(),
        lambda x: x[x > 0][2],
        lambda x: x[x > 5].max(),
        lambda x: np.quantile(x[x > 5], 0.5) + x[0],
        _cast,
    ],
)
def test_what_numpy_refuses_is_refused(f):
    """Lengths that differ, a mask of another length, a hash, axes that are not there, missing entries, casts that lose digits."""
    x = np.array([1.0, -1.0, 2.0])
    with pytest.raises((ValueError, IndexError, TypeError)) as plain:
        f(x)
    for record in (td.record, lambda f, x: td.record(f, x, merge=False), lambda f, x: td.gradient(td.GuardedTape(f), x)):
        with pytest.raises(Exception) as recorded:
            record(f, x)
        assert issubclass(plain.type, recorded.type)


def test_a_program_with_masks_grows_with_its_masks_alone():
    """Four times as many iterations are four times as many instructions; a hundred times as many entries no more."""

    def count(iterations, extent):
        def f(x):
            for _ in range(iterations):
                x = x - 0.1 * np.where(x > 0, x[x > 0].mean() if (x > 0).any() else 0.0, 0.0)
            return x.sum()

        return len(td.record(f, np.linspace(-1, 2, extent)).instructions)

    few = count(10, 30)
    assert count(40, 30) <= 4 * few
    assert count(10, 3000) == few


def test_functions_with_arguments_that_are_arrays():
    """Quantiles at several levels, limits for each entry, stacks of rows and columns."""

    def f(x):
        z = x[x > -0.5]
        rows, columns = np.stack((z, z * z)), np.stack((z, np.abs(z)), axis=-1)
        s = np.quantile(z, [0.2, 0.9]).sum() + np.clip(z, a_min=-0.1, a_max=np.full(z.shape, 0.7)).sum()
        return s + (rows @ columns).sum() + np.vstack((z, z)).sum() + np.hstack((z, [x[0]])).mean()

    tape = td.GuardedTape(f)
    for x in _points(f, 6):
        _check(tape, f, x)


def test_a_write_through_two_slices_leaves_other_entries_alone():
    """A mask of the rows of a block whose columns are cut by data."""

    def f(x):
        y = x.reshape(4, 3) * 1.0
        n = int(np.sum(x > 0)) // 3
        block = y[:n, :2]
        block[block[:, 0] > 0] = 5.0
        block[:1] *= 2.0
        return (y * np.arange(12.0).reshape(4, 3)).sum()

    tape = td.GuardedTape(f)
    for x in _points(f, 8):
        _check(tape, f, x)
    assert tape.stats.recordings == 1


def test_a_view_in_a_loop_that_data_end_shares_memory():
    """Its array is written to after it was cut shorter."""

    def f(x):
        y = x * 1.0
        part = y[:]
        while part.size > 2 and part[0] < 1.5:
            part = part[1:]
            y *= 1.1
        part *= 2.0
        return y.sum() + part.sum()

    tape = td.GuardedTape(f)
    for x in _points(f, 8):
        _check(tape, f, x)
