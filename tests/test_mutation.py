"""Writing into tracked arrays: the same values as NumPy on plain arrays, right gradients, and a cost that grows with what is written."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.side_by_side import times_as_long

import tapediff as td
from tapediff.compiler.codegen.python_listing import run_listing
from tapediff.compiler.kernel import build_program
from tapediff.numpy_api.dispatch import WRITERS
from tapediff.passes.pipeline import run_passes
from tapediff.passes.simplify.forward_writes import forward_writes
from tapediff.targets.tapes.gradient_tape import gradient_tape

V = np.array([0.7, -1.3, 2.1, 0.4, -0.6, 1.9])
M = np.arange(1.0, 13.0).reshape(3, 4) / 5.0
S = np.array([[1.0, 0.3, -0.4], [0.2, 2.0, 0.6], [-0.9, 0.5, 1.5]])
K = np.array([4, 0, 2])
MASK = np.array([True, False, True, True, False, False])

CASES = {}


def case(point, bits=0, step=1e-6):
    """Add a function to the table under its own name.

    Args:
        point: the array to call it on.
        bits: how many of the last bits of a value may differ from NumPy's.
        step: of the finite differences.
    """

    def add(f):
        CASES[f.__name__.replace("_", " ")] = (f, point, bits, step)
        return f

    return add


# Loops that fill


@case(V)
def a_recurrence(x):
    y = td.zeros(x.shape[0])
    for i in range(x.shape[0]):
        y[i] = np.sin(x[i]) + 0.5 * y[i - 1]
    return y


@case(V)
def sums_into_a_copy(x):
    y = x.copy()
    for i in range(1, x.shape[0]):
        y[i] += 0.5 * y[i - 1] * x[0]
    return y


@case(V)
def backwards_with_negative_indices(x):
    y = td.zeros(6)
    for i in range(1, 7):
        y[-i] = x[i - 1] * (y[-i + 1] if i > 1 else 1.0)
    return y


@case(V)
def rows(x):
    y = td.zeros((6, 2))
    y[0] = x[:2]
    for i in range(1, 6):
        y[i, :] = y[i - 1] * x[i] + y[0]
    return y


@case(V)
def columns_and_rows_and_single_entries(x):
    y = td.zeros((4, 4))
    for k in range(4):
        y[:, k] = x[k : k + 1] * np.arange(4.0)
        y[k, k:] = x[k]
        y[k, 0] += y[k, -1] * x[5]
    return y


@case(M)
def elimination_in_place(x):
    a = x[:, :3] + 3.0 * np.eye(3)
    for k in range(3):
        for i in range(k + 1, 3):
            a[i, k] /= a[k, k]
            a[i, k + 1 :] -= a[i, k] * a[k, k + 1 :]
    return a


@case(V)
def windows(x):
    y = td.zeros(9)
    y[:3] = x[:3]
    for i in range(3, 9):
        y[i] = np.sum(y[i - 3 : i] * x[3:6])
    return y


@case(V)
def growing_prefixes(x):
    y = td.ones(6)
    for i in range(1, 6):
        y[i] = np.sum(y[:i] * x[:i])
    return y


@case(V)
def the_whole_array_in_every_turn(x):
    y, total = x * 1.0, 0.0
    for i in range(6):
        y[i] = y[i] ** 2
        total = total + np.sum(y * np.arange(6.0))
    return y * total


@case(V)
def what_was_written_last_counts(x):
    y = td.zeros(6)
    y[1:4] = x[:3]
    y[2:6] = x[2:6]
    y[3] = x[0] * x[1]
    y[::2] = x[:3]
    y[0] = 5.0
    return y


@case(V)
def overlapping_windows(x):
    y = td.zeros(7)
    for i in range(5):
        y[i : i + 3] = x[i] * np.array([1.0, 2.0, 3.0])
    return y


@case(V)
def every_third_entry(x):
    """What is left of the first write is neither a slice nor the whole of it."""
    y = td.zeros(49)
    y[1:] = np.concatenate([x * k for k in range(8)])
    y[1::3] = x[0]
    return y


@case(V)
def old_versions(x):
    y = x * 1.0
    versions = [y.copy()]
    for i in range(6):
        y[i] = x[i - 1] * y[i - 2]
        versions.append(y.copy())
    return np.stack(versions) * versions[3][2] + versions[2] + y


@case(V)
def two_arrays_from_one(x):
    y = x * 2.0
    y[0] = x[1]
    z = y.copy()
    y[1], z[1] = x[2], x[3]
    y[2] = z[1] * y[1]
    return np.stack([y, z])


@case(V)
def signed_zeros_and_infinities(x):
    y = td.zeros(6)
    y[0], y[1], y[2] = -0.0, np.inf, x[0] * -0.0
    y[3] = y[2]
    z = td.full(6, -0.0)
    z[1] = x[1]
    return np.copysign(1.0, y) + np.copysign(1.0, z) * x + np.where(np.isinf(y), 3.0, y)


@case(V)
def infinite_entries_that_are_overwritten(x):
    with np.errstate(divide="ignore"):
        y = np.log(np.abs(x - x[1]))
        z = 1.0 / (x - x[0])
    z[0], y[1] = 2.0 * x[0], 0.0
    return z + y * x


# Views


@case(M)
def a_view_sees_its_base_and_the_reverse(x):
    a = x * 1.0
    row, column, flat, turned, backwards = a[1], a[:, 2], a.reshape(-1), a.T, a[::-1, ::2]
    row[0] = x[2, 2]
    column *= 2.0
    flat[5] = row[0] * 3.0
    turned[3] = column
    backwards[0, 1] = flat[1]
    a[2, 1:] += turned[1:, 0]
    return np.concatenate([row, column, flat, turned.ravel(), backwards.ravel()])


@case(M)
def every_kind_of_view(x):
    a = x * 1.0
    views = [
        a[::-1], a.T, a.swapaxes(0, 1), np.moveaxis(a, 0, 1), a[np.newaxis], a[:, None, 1:3], np.flip(a, 1), np.flipud(a), np.fliplr(a),
        np.expand_dims(a, 1), np.squeeze(a[:1]), np.atleast_1d(a), np.atleast_2d(a[0]), a.real, a.ravel(), np.reshape(a, (2, 6)), a[...],
        np.split(a, 3)[1], np.array_split(a, [1], axis=1)[1], np.transpose(a), a.reshape(4, 3).T[1:], a[0, 1, ...], np.real(a),
    ]  # fmt: skip
    for k, view in enumerate(views):
        view[...] = view * 1.1 + x[0, 0] * k
    a[1, 1] = 7.0 * x[1, 1]
    return np.concatenate([a.ravel(), *(np.ravel(view) for view in views)])


@case(M)
def read_only_views_see_what_is_written(x):
    a = x * 1.0
    diagonal, broadcast, same = np.diagonal(a), np.broadcast_to(a, (2, 3, 4)), np.broadcast_to(a[0], (4,))
    a[0, 0], a[1, 1] = x[2, 3], x[2, 2] ** 2
    return np.concatenate([diagonal, a.diagonal(1), np.diag(a), broadcast.ravel(), same])


@case(M)
def copies_stay_copies(x):
    a = x * 1.0
    copies = [
        a[[0, 1]], a[:, K[1:]], a.flatten(), a.astype(float), a.copy(), +a, np.copy(a), a[a > -100.0], np.array([a[0, 0], a[0, 1]]),
        a.T.reshape(-1), a[:, ::2].reshape(-1), a.T.ravel(), np.sum(a, axis=()), a.take(0, axis=0), np.take(a, [0, 1]), a.clip(None, 99.0),
        np.max(a, axis=()), np.prod(a[:1], axis=0), np.cumprod(a[:1], axis=0), np.concatenate([a]), np.roll(a, 0), np.sort(a),
    ]  # fmt: skip
    a[:] = 5.0
    for copied in copies:
        copied[0] = copied[-1] * 2.0
    return np.concatenate([a.ravel(), *(c.ravel() for c in copies)])


@case(M)
def reshaping_a_copy_gives_views_of_it(x):
    turned = x.T.copy()
    turned.reshape(-1)[1] = x[0, 0] * 10.0
    kept = np.copy(x.T)
    kept.reshape(-1)[1] = 7.0
    kept.T.reshape(-1)[2] = 8.0
    return turned * kept


@case(M)
def rows_of_a_loop(x):
    a = x * 1.0
    for row in a:
        row += row[0] * x[0]
    first, second, _ = a
    first[1:] *= second[:-1]
    for k, row in enumerate(a):
        for j in range(4):
            row[j] -= k * row[j - 1]
    return a


@case(V)
def views_of_views(x):
    a = x * 1.0
    b = a[1:]
    c = b[::2]
    d = c.reshape(1, 3)[:, 1:]
    d *= x[:2]
    a[3] += 1.0
    b[0] = d[0, 0]
    return np.concatenate([a, b, c, d[0]])


@case(V)
def aliases(x):
    a = x * 1.0
    b = a
    b[0] = x[1]
    b *= 2.0
    a += b
    b -= a[0]
    return a * b


# Overlaps, operators, swaps


@case(V)
def a_shift_to_the_right(x):
    y = x * 1.0
    y[1:] = y[:-1]
    return y


@case(V)
def a_shift_to_the_left(x):
    y = x * 1.0
    y[:-1] = y[1:]
    y[::-1] = y
    return y


@case(V)
def sums_of_neighbours(x):
    y = x * 1.0
    y[1:] += y[:-1]
    y[:-2] *= y[2:]
    np.add(y[1:], y[:-1], out=y[1:])
    return y


@case(S)
def the_transpose_of_itself(x):
    a = x * 1.0
    a[...] = a.T
    a += a.T
    a[:, 0] = a[0]
    return a


@case(V)
def operators_on_views(x):
    y = x * 1.0
    y[::2] *= 2.0
    y[1:3] -= x[0]
    y[3:] /= x[:3]
    y[:2] **= 2
    y[4:] //= 0.3
    y[2:4] %= 1.5
    y += np.arange(6)
    return y


@case(S)
def a_matrix_times_itself_in_place(x):
    a = x * 1.0
    a @= x
    a[:2] @= x
    return a


@case(V)
def swaps(x):
    y = x * 1.0
    y[0], y[1] = y[1], y[0]
    y[2], y[3], y[4] = y[4], y[2], y[3]
    y[[0, 5]] = y[[5, 0]]
    return y * np.arange(6.0)


@case(M)
def swapping_rows_without_copies(x):
    a = x * 1.0
    a[0], a[1] = a[1], a[0]
    a[[1, 2]] = a[[2, 1]]
    return a


@case(V)
def repeats_of_an_index_count_once(x):
    y = x * 1.0
    y[[1, 1, 1]] += x[3]
    y[[2, 0, 2]] = x[:3]
    y[[3, 3]] -= np.array([1.0, 2.0]) * x[5]
    return y


@case(V)
def masks(x):
    y = x * 1.0
    y[MASK] = x[:3]
    y[~MASK] *= 3.0
    y[x > 0] += x[0]
    y[y < -1.0] = -1.0
    return y


@case(M)
def masks_of_rows_and_entries(x):
    a = x * 1.0
    a[np.array([True, False, True])] *= 2.0
    a[a > 2.1] = x[0, 0]
    a[:, np.array([True, False, False, True])] = x[0, 1]
    a[x[:, 0] > 0.7] = 9.0
    return a


@case(V)
def arrays_without_dimensions(x):
    y = td.zeros(())
    y[()] = x[0]
    y[...] += x[1]
    z = x * 1.0
    z[1, ...][...] = y * 2.0
    z[2:3].reshape(())[...] = x[5]
    return z * y


@case(V)
def writing_into_the_argument(x):
    x[0] = x[1] * x[2]
    x += x[::-1]
    x[2:] *= 2.0
    return x


@case(V, step=2.0**-10)  # linear, in 32 bits
def other_dtypes(x):
    counts, mask, single = td.zeros(6, dtype=np.int64), td.zeros(6, dtype=bool), td.zeros(6, dtype=np.float32)
    for i in range(6):
        counts[i] = x[i] * 3.0
        mask[i] = x[i] > 0.5
        single[i] = x[i] + single[i - 1]
    counts[0] = 2**53 + 1
    counts[1:3] = [7, 8]
    counts[3:] += counts[1:4]
    mask[1:3] |= mask[2:4]
    mask[0] = 3.5
    mask &= counts != 7
    mask ^= x > 2.0
    return x * counts[1:].sum() + np.where(mask, x, 0.0) + single + (counts[0] - 2**53)


@case(V)
def lists_of_tracked_numbers(x):
    y = td.zeros((2, 3))
    y[0] = [x[0], 2.0, x[1] * x[2]]
    y[:, 1:] = [[x[3], 1.0], [0.5, x[4]]]
    y[1, 0] = x[5:6][0]
    y[1:] = [[x[0], x[1], x[2]]]
    return y


# out=


@case(V)
def results_of_ufuncs_into_arrays(x):
    y, z = td.zeros(6), td.zeros((2, 6))
    returned = np.add(x, 1.0, out=y, where=True)
    np.multiply(returned, x, y)
    np.exp(y, out=z[1])
    np.add(x, y, out=z)
    np.sin(x[::2], out=y[::2])
    np.maximum(2.0, np.zeros(6), out=z[0, :])
    q, r = td.zeros(6), td.zeros(6)
    np.divmod(x, 0.33, out=(q, r))
    return np.concatenate([y, z.ravel(), q, r])


@case(M)
def results_of_reductions_into_arrays(x):
    y, z, w, total = td.zeros(4), td.zeros((3, 4)), td.zeros(3), td.zeros(())
    np.sum(x, axis=0, out=y)
    np.cumsum(x, axis=1, out=z)
    z[0] *= y
    x.cumsum(axis=0, out=z[:, :])
    np.add.reduce(x, axis=1, out=w)
    np.sum(x, out=total)
    z += total
    np.mean(x, 1, None, w[:])
    np.add.accumulate(w, out=w)
    x.max(axis=0, out=y[:])
    return np.concatenate([y, z.ravel(), w])


@case(S)
def results_of_functions_into_arrays(x):
    a, b, c, d = td.zeros((3, 3)), td.zeros((2, 3, 3)), td.zeros((6, 3)), td.zeros((3, 3))
    np.dot(x, x, out=a)
    np.matmul(a, x, out=b)
    np.clip(b, -1.0, 1.5, out=b)
    np.clip(a, 0.0, None, a)
    np.concatenate([x, a], out=c)
    x.dot(x.T, d)
    np.around(x, 1, c[:3])
    np.stack([x[0], x[1], x[2]], out=c[3:])
    return np.concatenate([a, *b, c, d])


@case(V, step=2.0**-6)  # linear, in 32 bits
def results_in_another_float_type(x):
    y = td.zeros(6, dtype=np.float32)
    np.multiply(x, 3.0, out=y)
    y += x
    np.sum([1.0, 2.0], out=y[0, ...])
    return y * 1.0


# Functions that change their argument


@case(V)
def adding_at_positions_that_repeat(x):
    y = x * 1.0
    np.add.at(y, [0, 1, 0, 0], x[:4])
    np.subtract.at(y, np.array([[2, 2], [3, 2]]), x[0])
    np.multiply.at(y, [5, 5], x[1:3])
    np.add.at(y, 4, x[0])
    np.add.at(y, slice(1, 3), x[:2])
    np.add.at(y, MASK, 1.0)
    np.maximum.at(y, [0, 1], 0.0)
    np.negative.at(y, [3, 3, 4])
    return y


@case(V, bits=4)  # summed first, then added
def counting_many_repeats(x):
    y, n = x[:3] * 1.0, td.zeros(3, dtype=np.int64)
    np.add.at(y, np.arange(90) % 3, np.repeat(x, 15))
    np.subtract.at(y[1:], np.zeros(40, int), x[0])
    np.add.at(n, np.arange(100) % 2, 3)
    np.add.at(n, [0, 0], [0.5, 1.5])
    n[2] = 1
    return y * n


@case(V)
def adding_at_computed_positions(x):
    k = np.argsort(x)[:4] // 2
    y, z = td.zeros(6), td.zeros((6, 2))
    y[1] = 3.0
    np.add.at(y, k, x[:4])
    np.subtract.at(y[1:], k, 2.0 * x[0])
    np.add.at(z, (k, 1), x[1:5])
    return np.concatenate([y, z.ravel()])


@case(M)
def adding_at_rows(x):
    a = x * 1.0
    np.add.at(a, [0, 0, 2], x[1])
    np.add.at(a, ([0, 0, 1], [1, 1, 3]), np.array([1.0, 2.0, 3.0]) * x[0, 0])
    np.add.at(a.T, [3], 1.0)
    return a


@case(M)
def sorting_in_place(x):
    a = np.sin(x * 7.0)
    a.sort()
    b = np.cos(x * 5.0)
    b.sort(axis=0)
    b[:, 1:].sort(1)
    c = np.sin(x[0] * 3.0)
    c[::-1].sort()
    return np.concatenate([a.ravel(), b.ravel(), c])


@case(M)
def copying_into(x):
    a = td.zeros((3, 4))
    np.copyto(a, x[0])
    np.copyto(a[1:], x[1:] ** 2, where=x[1:] > 1.5)
    np.copyto(a[:, 0], 3.0, where=np.array([True, False, True]))
    a[2].fill(x[0, 1])
    return a


@case(M)
def putting_values_flat(x):
    a = x * 1.0
    np.put(a, [0, 5, -1], x[0])
    a.put([1, 2, 3], [x[1, 1], 2.0])
    np.put(a.T, [[4, 40]], 1.5, mode="wrap")
    np.put(a, [-7, 70], x[2, :2], mode="clip")
    np.put(a, [], 1.0)
    np.put(a, np.argmax(x, axis=1), x[1, :2])
    np.place(a, x > 1.9, [x[0, 0], x[0, 1]])
    np.place(a, a < 0.35, 0.25)
    np.putmask(a, x > 1.9, x * 2.0)
    np.putmask(a, np.arange(12).reshape(3, 4) % 5 == 0, [x[0, 3], -1.0])
    np.put_along_axis(a, np.array([[1], [0], [3]]), x[:, :1], axis=1)
    np.put_along_axis(a, np.argmin(x, axis=0, keepdims=True), 2.0, 0)
    return a


@case(S)
def filling_the_diagonal(x):
    a, b, c = x * 1.0, td.zeros((5, 2)), td.zeros((2, 2, 2))
    np.fill_diagonal(a, x[0, 1])
    np.fill_diagonal(a[:, ::-1], x[1])
    np.fill_diagonal(b, x[2], wrap=True)
    np.fill_diagonal(c, 2.0)
    return np.concatenate([a.ravel(), b.ravel(), c.ravel() * x[0, 0]])


def numerical(total, point, step):
    """Central differences; the functions are piecewise smooth with derivatives near 1, so 1e-6 leaves an error below 1e-8."""
    result = np.empty(point.shape)
    for k in np.ndindex(point.shape):
        ahead, behind = point.copy(), point.copy()
        ahead[k] += step
        behind[k] -= step
        result[k] = (total(ahead) - total(behind)) / (2 * step)
    return result


def check(f, point, bits=0, step=1e-6):
    """Value as NumPy's on plain arrays, by replay and kernel, where recorded and beside; gradient by both and the guarded tape."""
    elsewhere = point * 1.001
    tape, before = td.record(f, point), point.copy()
    tape.check()
    compiled = td.compile(td.record(f, point))
    weights = np.cos(np.arange(np.size(f(point.copy())))).reshape(np.shape(f(point.copy())))

    def total(x):
        return np.sum(f(x) * weights)

    scalar = td.record(total, point)
    guarded = td.GuardedTape(total)
    native = td.compile(scalar)
    for at in (point, elsewhere):
        expected = np.asarray(f(at.copy()))
        assert np.array_equal(np.signbit(tape(at)), np.signbit(expected))
        np.testing.assert_allclose(tape(at), expected, rtol=2.0**bits * 2.3e-16 if bits else 0.0, atol=0.0)
        # A kernel's exp and sin, and its sums, may differ in the last bits.
        np.testing.assert_allclose(compiled(at), expected, rtol=1e-13, atol=1e-13)
        wanted = numerical(total, at, step)
        for target in (scalar, native, guarded):
            tolerance = 2e-7 if step == 1e-6 else 1e-4
            np.testing.assert_allclose(td.gradient(target, at), wanted, rtol=tolerance, atol=tolerance)
    assert np.array_equal(point, before)


@pytest.mark.parametrize("name", CASES)
def test_writing_gives_what_numpy_gives(name):
    """Values equal to those of the same function on plain arrays; gradients equal to finite differences; the argument unchanged."""
    check(*CASES[name])


def test_every_function_that_changes_its_argument_has_a_case(monkeypatch):
    reached = set()
    for function, implementation in list(WRITERS.items()):
        monkeypatch.setitem(WRITERS, function, lambda *a, f=function, i=implementation, **k: reached.add(f) or i(*a, **k))
    for f, point, *_ in CASES.values():
        with np.errstate(all="ignore"):
            td.record(f, point)
    assert reached == set(WRITERS)


def sorted_by_swaps(x):
    y = x.copy()
    for i in range(len(y)):
        for j in range(len(y) - 1 - i):
            if y[j] > y[j + 1]:
                y[j], y[j + 1] = y[j + 1], y[j]
    return np.sum(y * np.arange(len(y)))


def written_on_some_paths(x):
    y = td.zeros(4)
    for i in range(4):
        if x[i] > 0:
            y[i] = x[i] ** 2
        elif i > 0:
            y[i - 1 : i + 1] += y[i - 1] * x[i]
    while np.sum(y) < 3.0:
        y += 0.5
        y[1:] += 0.25 * x[0] ** 2
    return np.sum(y * np.arange(1.0, 5.0))


@pytest.mark.parametrize("f", [sorted_by_swaps, written_on_some_paths])
def test_writes_on_other_paths_follow_the_branches(f):
    """A GuardedTape, replayed and compiled, at points that each take another path."""
    rng = np.random.default_rng(3)
    for guarded in (td.GuardedTape(f), td.GuardedTape(f, compile_after=1)):
        for _ in range(12):
            x = rng.normal(size=4)
            for _ in range(2):
                value, gradient = td.value_and_gradient(guarded, x)
                assert value == pytest.approx(f(x.copy()), rel=1e-14)
                np.testing.assert_allclose(gradient, numerical(f, x, 1e-6), rtol=1e-7, atol=1e-7)


def test_second_derivatives_go_through_writes():
    """The Hessian of a recurrence is the difference quotient of its gradient; the Jacobian of a fill is triangular."""

    def f(x):
        y = x.copy()
        for i in range(1, 4):
            y[i] *= y[i - 1] + x[0]
        y[1:3] += y[2:] * y[0]
        return np.sum(y**2)

    def filled(x):
        y = td.zeros(4)
        for i in range(4):
            y[i] = np.sum(x[: i + 1] ** 2)
        return y

    x = np.array([0.3, -0.8, 1.1, 0.6])
    rows = [(td.gradient(f, x + step) - td.gradient(f, x - step)) / 2e-5 for step in 1e-5 * np.eye(4)]
    np.testing.assert_allclose(td.hessian(f, x), rows, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(td.jacobian(filled, x), np.tril(np.ones((4, 4))) * 2.0 * x, rtol=1e-14)


def test_a_function_inside_another_writes_into_its_own_argument_only():
    def inner(y):
        y *= 2.0
        y[0] = y[1] * y[2]
        return np.sum(y**2)

    def outer(x):
        x[1] = 3.0 * x[0]
        slope = td.gradient(inner, x)
        return np.sum(slope * x) + x[1]

    x = np.array([0.5, 2.0, -1.0])
    before = x.copy()
    np.testing.assert_allclose(td.gradient(outer, x), numerical(outer, x.copy(), 1e-6), rtol=1e-7)
    np.testing.assert_allclose(td.gradient(td.compile(td.record(outer, x)), x), numerical(outer, x.copy(), 1e-6), rtol=1e-7)
    assert np.array_equal(x, before)


# What NumPy refuses


REFUSED = {
    "a diagonal": (lambda x: np.diagonal(x * 1.0).__setitem__(0, x[0, 1]), ValueError),
    "part of a diagonal": (lambda x: (x * 1.0).diagonal()[1:].fill(2.0), ValueError),
    "a broadcast array": (lambda x: np.broadcast_to(x[0] * 1.0, (2, 3)).__setitem__((0, 0), 1.0), ValueError),
    "an array broadcast to its own shape": (lambda x: np.broadcast_to(x, (3, 3)).__iadd__(1.0), ValueError),
    "a number out of range": (lambda x: x.__setitem__((3, 0), 1.0), IndexError),
    "a shape that does not fit": (lambda x: x.__setitem__(0, x[:2]), ValueError),
    "a larger result in place": (lambda x: x[0].__iadd__(x), ValueError),
    "a result with one more axis in place": (lambda x: x[0].__iadd__(x[:1]), ValueError),
    "floats in place into integers": (lambda x: (x.astype(int)).__iadd__(x), TypeError),
    "integers divided in place": (lambda x: (x.astype(int)).__itruediv__(2), TypeError),
    "out= of another shape": (lambda x: np.sum(x, axis=0, out=x[:2, 0]), ValueError),
    "out= that a result would have to shrink for": (lambda x: np.add(x, x, out=x[0]), ValueError),
    "out= of another kind": (lambda x: np.exp(x, out=td.zeros((3, 3), dtype=np.int64)), TypeError),
    "out= of a reduction that would have to be repeated": (lambda x: np.sum(x, axis=0, out=x * 1.0), ValueError),
    "out= of a product that would have to be repeated": (lambda x: np.matmul(x, x, out=td.zeros((3, 2, 3))), ValueError),
    "copyto of another kind": (lambda x: np.copyto(x.astype(int), 1.5), TypeError),
    "copyto by a strict rule": (lambda x: np.copyto(td.zeros(3, dtype=np.float32), x[0], casting="safe"), TypeError),
    "put out of range": (lambda x: np.put(x, [9], 1.0), IndexError),
    "put in no known mode": (lambda x: np.put(x, [0], 1.0, mode="bounce"), ValueError),
    "place of nothing": (lambda x: np.place(x, x > 0, []), ValueError),
    "putmask of another size": (lambda x: np.putmask(x, np.ones(4, bool), x), ValueError),
    "the diagonal of a vector": (lambda x: np.fill_diagonal(x[0], 1.0), ValueError),
    "the diagonal of a block that is no cube": (lambda x: np.fill_diagonal(x[None], 1.0), ValueError),
    "a mask of another shape": (lambda x: x.__setitem__(x[:2] > 0, 1.0), IndexError),
    "a reshape that must not copy": (lambda x: np.reshape(x.T * 1.0, (9,), copy=False), ValueError),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses_is_refused_with_the_same_error(name):
    """And nothing is written before the error."""
    f, error = REFUSED[name]
    with pytest.raises(error):
        f(S.copy())

    def guarded(x):
        y = x * 1.0
        with pytest.raises(error):
            f(y)
        return y

    with np.errstate(all="ignore"):
        assert np.array_equal(td.record(guarded, S)(S), S)


UNSUPPORTED = {
    "add.at into a plain array": (lambda x: np.add.at(np.arange(6.0), [0], x[0]), "td.zeros"),
    "out= a plain array": (lambda x: np.add(x, x, out=np.arange(6.0)), "td.zeros"),
    "a sum into a plain array": (lambda x: np.sum(x, axis=0, out=np.arange(1.0).reshape(())), "td.zeros"),
    "a method into a plain array": (lambda x: x.cumsum(out=np.arange(6.0)), "td.zeros"),
    "copyto a plain array": (lambda x: np.copyto(np.arange(6.0), x), "td.zeros"),
    "put into a plain array": (lambda x: np.put(np.arange(6.0), [0], x[0]), "td.zeros"),
    "where= of a ufunc without out=": (lambda x: np.add(x, x, where=x > 0), "np.where"),
    "multiply.at computed positions": (lambda x: np.multiply.at(x, np.argsort(x), x), "np.add.at"),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_is_not_supported_says_what_to_write_instead(name):
    f, fix = UNSUPPORTED[name]
    with pytest.raises(td.UnsupportedFunction, match=f"fix: .*{fix}"):
        td.record(lambda x: f(x) or x, V)


# Random programs


def _index(draw, extent):
    kind = draw(st.sampled_from(["number", "slice", "fancy"]))
    if kind == "number":
        return draw(st.integers(-extent, extent - 1))
    if kind == "slice":
        start, stop = draw(st.integers(0, extent - 1)), draw(st.integers(0, extent))
        return slice(start, stop) if draw(st.booleans()) else slice(None, None, draw(st.sampled_from([1, 2, -1, -2])))
    return draw(st.lists(st.integers(-extent, extent - 1), min_size=1, max_size=3))


@st.composite
def programs(draw):
    """Lists of steps on a list of arrays: the first is 1-d with 6 entries, later ones are views, copies and aliases of earlier ones."""
    steps = []
    for _ in range(draw(st.integers(3, 14))):
        kind = draw(st.sampled_from(["view", "copy", "alias", "write", "write", "operate", "loop", "read", "swap", "turn"]))
        which, other = draw(st.integers(0, 9)), draw(st.integers(0, 9))
        scale = draw(st.sampled_from([1.0, -0.5, 0.0, 1.5]))
        steps.append((kind, which, other, _index(draw, 3), _index(draw, 3), scale))
    return steps


def _fits(index, array):
    """The index where the array has these entries."""
    return array.ndim >= 1 and array.shape[0] >= 3 and not (array.ndim == 0 and index is None)


def run_program(steps, x):
    """The same Python code on plain and on tracked arrays; the steps that do not fit the shapes met are left out."""
    arrays, total = [x * 1.0, td.zeros(6), (x * 2.0).reshape(2, 3)], x[0] * 0.0
    for kind, which, other, i, j, scale in steps:
        a, b = arrays[which % len(arrays)], arrays[other % len(arrays)]
        if not _fits(i, a) and kind not in ("alias", "copy", "turn"):
            continue
        if kind == "view" and isinstance(i, slice):
            arrays.append(a[i])
        elif kind == "copy":
            arrays.append(a.copy())
        elif kind == "alias":
            arrays.append(a)
        elif kind == "turn" and a.ndim:
            arrays.append(a.T if a.ndim > 1 else a[::-1] if a.size % 2 else a.reshape(2, -1))
        elif kind == "write" and _fits(j, b):
            value = b[j] * scale
            if np.shape(value) == np.shape(a[i]) or np.ndim(value) == 0:
                a[i] = value
        elif kind == "operate" and _fits(j, b):
            value = b[j]
            if np.shape(value) == np.shape(a[i]) or np.ndim(value) == 0:
                a[i] += scale * value
        elif kind == "loop":
            for k in range(1, a.shape[0]):
                a[k] += scale * a[k - 1]
        elif kind == "read":
            total = total + np.sum(a[i]) * np.sum(a)
        elif kind == "swap" and a.ndim == 1:
            a[0], a[-1] = a[-1], a[0]
    return np.concatenate([np.ravel(a) for a in arrays] + [np.reshape(total, (1,))])


@settings(max_examples=int(os.environ.get("TAPEDIFF_FUZZ_EXAMPLES", "100")))
@given(steps=programs())
def test_random_programs_of_reads_writes_views_and_aliases_agree_with_numpy(steps):
    """Values by replay and kernel equal NumPy's; gradients equal central differences, which are exact up to rounding on polynomials.

    The entries can grow as a product of many reads, so tolerances are relative to the largest.
    """
    x = np.array([0.5, -0.75, 1.25, 0.25, -1.0, 0.625])

    def f(x):
        return run_program(steps, x)

    expected = f(x.copy())
    weights = np.cos(np.arange(expected.size))

    def total(x):
        return np.sum(f(x) * weights)

    tape = td.record(f, x)
    tape.check()
    np.testing.assert_array_equal(tape(x), expected)
    passed = run_passes(tape, check=True)
    np.testing.assert_array_equal(passed(x), expected)
    scalar = td.record(total, x)
    wanted = numerical(total, x, 1e-5)
    size = max(1.0, np.max(np.abs(wanted)), np.max(np.abs(expected)))
    gradient = td.gradient(scalar, x)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-6, atol=1e-6 * size)
    listed = [np.empty(t.shape) for t in gradient_tape(scalar, (0,)).output_types]
    assert run_listing(build_program(gradient_tape(scalar, (0,))), [x], listed) is None
    np.testing.assert_allclose(listed[1], gradient, rtol=1e-12, atol=1e-12 * size)


@settings(max_examples=int(os.environ.get("TAPEDIFF_FUZZ_EXAMPLES", "12")))
@given(steps=programs())
def test_random_programs_compiled(steps):
    x = np.array([0.5, -0.75, 1.25, 0.25, -1.0, 0.625])

    def total(x):
        y = run_program(steps, x)
        return np.sum(y * np.cos(np.arange(y.size)))

    scalar = td.record(total, x)
    value, gradient = td.value_and_gradient(scalar, x)
    size = max(1.0, np.max(np.abs(gradient)), abs(value))
    native = td.compile(scalar)
    np.testing.assert_allclose(native(x), value, rtol=1e-12, atol=1e-12 * size)
    np.testing.assert_allclose(native.gradient(x), gradient, rtol=1e-12, atol=1e-12 * size)


# Cost


def moved(tape):
    """Entries that a replay of the tape makes."""
    return sum(i.type.size for i in tape.instructions)


def entry_by_entry(x):
    y = td.zeros(x.shape[0])
    for i in range(x.shape[0]):
        y[i] = x[i] * 0.5 + y[i - 1]
    return np.sum(y**2)


def sum_by_sum(x):
    y = x.copy()
    for i in range(1, x.shape[0]):
        y[i] += 0.5 * y[i - 1]
    return np.sum(y**2)


def row_by_row(x):
    y = td.zeros((x.shape[0], 2))
    for i in range(1, x.shape[0]):
        y[i, :] = y[i - 1] * 0.5 + x[i]
    return np.sum(y**2)


def row_in_place(x):
    y = np.reshape(x, (-1, 2)) * 1.0
    for i in range(1, y.shape[0]):
        y[i] += 0.5 * y[i - 1]
    return np.sum(y**2)


def through_a_view(x):
    y = td.zeros((2, x.shape[0]))
    row = y[1]
    for i in range(1, x.shape[0]):
        row[i] = x[i] * 0.5 + row[i - 1]
        y[0, i] = row[i] + y.reshape(-1)[i - 1]
    return np.sum(y**2)


def window_by_window(x):
    y = td.zeros(x.shape[0])
    y[:4] = x[:4]
    for i in range(4, x.shape[0]):
        y[i] = np.sum(y[i - 4 : i]) * 0.25 + x[i]
    return np.sum(y**2)


@pytest.mark.parametrize("f", [entry_by_entry, sum_by_sum, row_by_row, row_in_place, through_a_view, window_by_window])
def test_a_loop_that_fills_costs_what_it_writes(f, flat_loops):
    """Twice the entries make twice the instructions and twice the entries moved, in the gradient and in the value; not four times."""
    lengths, sizes = [], []
    for n in (100, 200, 400):
        tape = td.record(f, np.linspace(0.1, 1.0, n))
        for made in (gradient_tape(tape, (0,)), run_passes(tape)):
            lengths.append(len(made))
            sizes.append(moved(made))
    for counts in (lengths[::2], lengths[1::2], sizes[::2], sizes[1::2]):
        assert 1.9 < (counts[2] - counts[1]) / (counts[1] - counts[0]) < 2.1
    assert sizes[4] < 60 * 400


def test_the_gradient_of_two_thousand_writes_is_that_of_one_thousand_twice():
    small, large = (gradient_tape(td.record(entry_by_entry, np.linspace(0.1, 1.0, n)), (0,)) for n in (1000, 2000))
    assert len(large) < 2.05 * len(small)
    assert moved(large) < 2.05 * moved(small)
    x = np.linspace(0.1, 1.0, 2000)
    y, y_bar = np.zeros(2000), np.zeros(2000)
    for i in range(2000):
        y[i] = x[i] * 0.5 + y[i - 1]
    for i in reversed(range(2000)):
        y_bar[i] = 2.0 * y[i] + (y_bar[i + 1] if i < 1999 else 0.0)
    np.testing.assert_allclose(large(x)[1], 0.5 * y_bar, rtol=1e-12)


def test_the_pass_itself_is_linear():
    """16 times the writes take about 16 times as long, where a copy of the array for each would take 256 times."""
    few, many = (td.record(entry_by_entry, np.linspace(0.1, 1.0, n)) for n in (500, 8_000))
    assert moved(forward_writes(few)) < 5_000
    assert moved(forward_writes(many)) < 80_000
    assert times_as_long(lambda: forward_writes(many), lambda: forward_writes(few), limit=64, repeat=3) < 64


# Writes that need no copy of the array


def what_is_kept(x):
    """Everything that may hold an array's value while entries of the array are written; branches show which values these are."""
    y = td.zeros(4)
    y[0] = x[0]
    copied, versions, part, turned, whole = y.copy(), [y * 1.0], y[1:3], y.reshape(2, 2), y[:]
    same, plain = y, np.array(y)
    y[1] = x[1] * 2.0
    versions.append(+y)
    row = turned[1]
    row[0] = x[2] * 3.0
    y[3] = 7.0
    y[1:3] = y[1:3] * x[:2]
    total = np.sum(y) + np.sum(part) + np.sum(whole * x[3])
    for k, v in enumerate([*copied, *plain, *versions[0], *versions[1], *part, *turned[0], *turned[1], *whole, *same, *y]):
        total = total + v * (k + 1.0) if v > 0.9 else total - v * v
    return total


def test_what_held_an_array_before_a_write_keeps_its_value():
    """Copies, results and earlier versions stay, views follow: Python's decisions while recording are those of the plain function."""

    def plain(x):
        kept, td.zeros = td.zeros, np.zeros
        try:
            return what_is_kept(x)
        finally:
            td.zeros = kept

    for x in (np.array([1.0, 0.5, 0.25, 2.0]), np.array([0.1, 1.5, 1.25, -2.0]), np.array([-1.0, 3.0, 0.4, 0.3])):
        td.testing.check_gradient(td.record(what_is_kept, x), plain, x)
        td.testing.check_gradient(td.compile(what_is_kept, x), plain, x)


def test_a_sub_tape_keeps_the_array_that_it_was_called_with():
    def f(x):
        y = np.zeros_like(x)
        y[0] = x[0]
        first = td.subtape(lambda v: v * 2.0 if v[0] > 0.5 else v * 3.0)(y)
        y[0] = 5.0 * x[1]
        second = td.subtape(lambda v: v[0] ** 2)(y)
        return np.sum(first) + second + y[0] if first[0] > 1.5 else np.sum(first) - second

    for x in (np.array([1.0, 0.2]), np.array([0.1, 0.2])):
        td.testing.check_gradient(td.record(f, x), f, x)


def test_recording_an_array_that_is_filled_takes_no_copy_for_each_entry():
    """Behind the first write, the numbers stay where they are, so that recording takes time in proportion to the entries."""

    def f(x):
        y = np.zeros_like(x)
        y[0] = x[0]
        address = y._value.ctypes.data
        for i in range(1, 50):
            y[i] = y[i - 1] + x[i]
            assert y._value.ctypes.data == address
        return np.sum(y)

    td.record(f, np.ones(50))
