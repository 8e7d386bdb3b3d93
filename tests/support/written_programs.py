"""Functions that write into arrays, by name, with the point to call each on; and central differences of such functions."""

import numpy as np

import tapediff as td

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
def rows(x):
    y = td.zeros((6, 2))
    y[0] = x[:2]
    for i in range(1, 6):
        y[i, :] = y[i - 1] * x[i] + y[0]
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
def what_was_written_last_counts(x):
    y = td.zeros(6)
    y[1:4] = x[:3]
    y[2:6] = x[2:6]
    y[3] = x[0] * x[1]
    y[::2] = x[:3]
    y[0] = 5.0
    return y


@case(V)
def every_third_entry(x):
    """What is left of the first write is neither a slice nor the whole of it."""
    y = td.zeros(49)
    y[1:] = np.concatenate([x * k for k in range(8)])
    y[1::3] = x[0]
    return y


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


# Functions that change their argument


@case(V, bits=4)  # summed first, then added
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


@case(M, bits=4)  # summed first, then added
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
