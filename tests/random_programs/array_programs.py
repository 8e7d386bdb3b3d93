"""Random programs over small arrays: straight-line NumPy code, drawn by hypothesis as a list of operations and their operands."""

import numpy as np
from hypothesis import strategies as st

LARGEST = 40


def small(x):
    """Keeps values between -2 and 2, so that no chain of products overflows."""
    return 2.0 * np.tanh(0.5 * x)


def slices(shape, k):
    """One of several basic indices of an array of this shape, chosen by the digits of k; never an empty one."""
    entries = []
    for extent in shape:
        k, digit = divmod(k, 6)
        entries.append(
            [slice(None), slice(None, None, -1), slice(extent // 2, None), slice(None, None, 2), slice(0, max(1, extent - 1)),
             slice(extent - 1, None, -2)][digit]
        )  # fmt: skip
    return tuple(entries)


def fitting(x, shape):
    """x cut and repeated to a shape."""
    flat = np.reshape(x, (-1,))
    size = int(np.prod(shape))
    return np.reshape(flat[np.arange(size) % flat.shape[0]], shape)


def factored(size, k):
    """A shape of this size, with up to three axes."""
    shapes = [(a, b, size // a // b) for a in range(1, size + 1) for b in range(1, size + 1) if size % (a * b) == 0]
    shape = shapes[k % len(shapes)]
    return tuple(s for s in shape if s != 1) if k % 3 else shape


def reduced(reduce):
    def apply(x, y, k):
        axes = [None, *range(np.ndim(x)), *([(0, np.ndim(x) - 1)] if np.ndim(x) > 1 else [])]
        return reduce(x, axis=axes[k % len(axes)], keepdims=bool(k % 2))

    return apply


def with_axis(function):
    def apply(x, y, k):
        x = np.reshape(x, (1,)) if np.ndim(x) == 0 else x
        return function(x, k % np.ndim(x), k)

    return apply


def assigned(x, y, k):
    out = np.array(x) if isinstance(x, (np.ndarray, np.generic)) and type(x).__module__ == "numpy" else x.copy()
    if np.ndim(out) == 0:
        return out * 2.0
    where = slices(out.shape, k)
    out[where] = fitting(y, np.shape(out[where]))
    return out


def added_in_place(x, y, k):
    out = x * 1.5
    if np.ndim(out) == 0:
        return out + y.sum() if np.ndim(y) else out + y
    where = slices(out.shape, k)
    out[where] += fitting(y, np.shape(out[where]))
    view = out[::-1]
    view[0] = view[0] * 0.5
    return out


def scattered(x, y, k):
    positions = np.arange(5) * (1 + k % 3) % 4
    out = np.zeros_like(fitting(x, (4,)))
    out[positions] = fitting(y, (5,))
    return out + fitting(x, (4,))


def product(x, y, k):
    m, n, p = [(2, 3, 2), (3, 1, 4), (1, 5, 1), (4, 3, 9), (3, 4, 1)][k % 5]
    left, right = fitting(x, (m, n)), fitting(y, (n, p))
    if k % 2:
        left = np.transpose(fitting(x, (n, m)))
    if k % 7 == 0:
        return left @ right[:, 0]
    if k % 7 == 1:
        return np.transpose(right) @ left[0]
    return left @ right


def joined(x, y, k):
    if k % 2:
        return np.stack([fitting(x, (2, 3)), fitting(y, (2, 3)), fitting(x, (2, 3)) * 0.5], axis=k % 3)
    return np.concatenate([fitting(x, (2, 3)), fitting(y, (2 + k % 3, 3))], axis=0)


def broadcast(x, y, k):
    if np.ndim(x) > 2:
        return x + fitting(y, (np.shape(x)[0], 1, 1))
    shape = (2, *np.shape(x)) if k % 2 else (*np.shape(x), 3)
    return np.broadcast_to(x, shape) if k % 2 else np.broadcast_to(np.expand_dims(x, -1), shape)


def sorted_along(x, axis, k):
    return np.sort(x, axis=axis)


def at_extremum(x, y, k):
    flat = np.reshape(x, (-1,))
    return flat[np.argmax(flat)] * y


def masked(x, y, k):
    y = fitting(y, np.shape(x))
    mask = (x > 0.1234) & (y < 1.2345) if k % 2 else ~(x > 0.1234)
    return x * mask if k % 3 else np.where(mask, x, np.square(y))


def branching(x, y, k):
    if np.sum(x) > 0.3:
        return x * 2.0
    return y - 1.0 if np.size(y) and np.max(y) < 1.1 else -x


def whole_number(x, y, k):
    return y * int(2.0 * np.reshape(x, (-1,))[k % np.size(x)])


def selected(x, y, k):
    flat = np.reshape(x, (-1,))
    return flat[flat > -0.7651] * (1 + np.argmin(flat))


def counted(x, y, k):
    ranks = np.argsort(np.reshape(x, (-1,)), kind="stable")
    return fitting(y, np.shape(ranks)) * (ranks // 2 - ranks % 3) + np.count_nonzero(x > 0.1234)


def stepwise(x, y, k):
    """A Python loop over elements: straight-line scalar code."""
    a, b = np.reshape(x, (-1,)), np.reshape(y, (-1,))
    total = a[0] * 0.5
    for step in range(k % 9):
        total = np.sin(total + a[step % np.size(a)] * b[step % np.size(b)])
    return np.stack([total, total * a[-1]]) if k % 2 else total


OPERATIONS = (
    lambda x, y, k: [np.sin, np.arctan, np.tanh, np.negative, np.square, np.expm1, np.cos][k % 7](x),
    lambda x, y, k: [np.exp, np.absolute, np.sinh, np.arcsinh, lambda v: v**3, lambda v: 1.0 / (2.5 + v)][k % 6](x),
    lambda x, y, k: [np.log1p, np.sqrt, np.log, lambda v: v**1.5, lambda v: v**-2][k % 5](np.square(x) + 0.5),
    lambda x, y, k: x + fitting(y, np.shape(x)),
    lambda x, y, k: fitting(x, (3,)) * fitting(y, (2, 3)) if k % 2 else fitting(x, (3, 1)) - fitting(y, (1, 4)),
    lambda x, y, k: [np.maximum, np.minimum, np.logaddexp, np.hypot, np.arctan2][k % 5](x, fitting(y, np.shape(x)) + 3.1),
    lambda x, y, k: np.reshape(x, (-1,))[k % np.size(x)] * y,
    masked,
    reduced(np.sum),
    reduced(np.mean),
    reduced(np.max),
    reduced(np.min),
    reduced(lambda x, axis, keepdims: np.prod(0.5 + 0.4 * x, axis=axis, keepdims=keepdims)),
    reduced(np.std),
    with_axis(lambda x, axis, k: np.cumsum(x, axis=axis)),
    with_axis(lambda x, axis, k: np.cumsum(x[::-1], axis=axis)[::-1]),
    with_axis(lambda x, axis, k: np.take(x, np.arange(4) * (k + 1) % np.shape(x)[axis], axis=axis)),
    with_axis(lambda x, axis, k: np.roll(x, k % 4, axis)),
    with_axis(sorted_along),
    with_axis(lambda x, axis, k: np.moveaxis(x, axis, 0)),
    lambda x, y, k: np.reshape(x, factored(np.size(x), k)),
    lambda x, y, k: np.transpose(x),
    lambda x, y, k: x[slices(np.shape(x), k)],
    lambda x, y, k: x[np.newaxis, ..., 0] if np.ndim(x) else x[np.newaxis],
    assigned,
    added_in_place,
    scattered,
    product,
    joined,
    broadcast,
    at_extremum,
    branching,
    whole_number,
    selected,
    counted,
    stepwise,
)

# Each instruction: the operation, which earlier values it takes, and a number that settles its details.
INSTRUCTIONS = st.tuples(st.integers(0, len(OPERATIONS) - 1), st.integers(0, 20), st.integers(0, 20), st.integers(0, 215))
PROGRAMS = st.lists(INSTRUCTIONS, min_size=1, max_size=12)
SHAPES = st.sampled_from([(), (1,), (3,), (7,), (8,), (9,), (17,), (2, 3), (4, 1), (1, 4), (3, 3), (3, 8), (2, 9), (2, 1, 3), (0,)])


def run_program(program, *arguments):
    """The values that a program computes, one per instruction; those that grow too large are left out."""
    values = list(arguments)
    for operation, first, second, details in program:
        x, y = values[first % len(values)], values[second % len(values)]
        if np.size(x) == 0 or np.size(y) == 0:
            values.append(np.sum(x) + 0.5 * np.sum(y))
            continue
        value = OPERATIONS[operation](x, y, details)
        if np.size(value) <= LARGEST:
            values.append(small(value))
    return values[len(arguments) :]


def scalar(program):
    def total(*arguments):
        result = 0.0
        for k, value in enumerate(run_program(program, *arguments)):
            weights = np.cos(np.arange(np.size(value)) + k).reshape(np.shape(value))
            result = result + np.sum(value * weights)
        return result + 0.1 * np.sum(arguments[0])

    return total


def all_values(program):
    def values(*arguments):
        return tuple(run_program(program, *arguments)[-8:]) or (arguments[0] * 2.0,)

    return values
