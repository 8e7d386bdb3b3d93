"""Arguments that are seldom given: NumPy's value, dtype and shape, at another point than the recorded one, or NumPy's error."""

import numpy as np
import pytest
from numpy import histogram2d, histogramdd

import tapediff as td

X = np.array([0.1, 0.7, 0.9, 0.4])
Y = np.array([0.2, 0.8, 0.7, 0.3])  # as many entries above 0.5
F = X.astype(np.float32)
PLAIN = np.array([1.0, 2.0, 2.5, 3.0])


def written(write):
    def call(x):
        copy = np.array(x)
        write(copy)
        return copy

    return call


CALLS = {
    # Masks as positions: zeros and ones.
    "take of a list of bools": lambda x: np.take(x, [True, False]),
    "take of an array of bools": lambda x: np.take(x[None], np.array([True, False]) & False, axis=0),
    "take of a tracked mask": lambda x: np.take(x, x > 0.5),
    "take of one tracked bool": lambda x: np.take(x, (x > 0.5)[1]),
    "take of bools, wrapped": lambda x: np.take(x, [True, False], mode="wrap"),
    "x.take of bools": lambda x: x.take([True, False]),
    "put at bools": written(lambda x: np.put(x, [True, False], [5.0, 6.0])),
    # dtype= of a result that is of another type than the operands.
    "greater": lambda x: np.greater(x, 0.5, dtype=bool),
    "equal of ints": lambda x: np.equal(x.astype(int), 0, dtype=bool),
    "isnan": lambda x: np.isnan(x, dtype=bool),
    "logical_and": lambda x: np.logical_and(x > 0.5, x, dtype=bool),
    "signbit": lambda x: np.signbit(x, dtype=bool),
    "ldexp": lambda x: np.ldexp(x, [1, 2, 3, 4], dtype=float),
    "add in float32": lambda x: np.add(x, 1, dtype=np.float32),
    "add in int": lambda x: np.add(x, 1, dtype=int, casting="unsafe"),
    "add in int, refused": lambda x: np.add(x, 1, dtype=int),
    "divmod": lambda x: np.divmod(x, 0.3, dtype=float),
    "no loop": lambda x: np.exp(x, dtype=int, casting="unsafe"),
    "cast of a Python int": lambda x: np.fmax(2, x, casting="equiv"),
    "cast of ints": lambda x: np.add(x, [1, 2, 3, 4], casting="no"),
    "cast of ints of a matrix": lambda x: np.matmul(x, [[1, 2, 3, 4]] * 4, casting="no"),
    # Lists of coordinates.
    "histogram2d": lambda x: np.histogram2d(x, PLAIN, bins=2)[0],
    "histogram2d of an imported name": lambda x: histogram2d(x, x * 2, bins=2)[0],
    "histogramdd of a list": lambda x: np.histogramdd([x, PLAIN], bins=2)[0],
    "histogramdd of a tuple, by an imported name": lambda x: histogramdd((x, PLAIN, x), bins=2)[0],
    "histogramdd of points": lambda x: np.histogramdd(np.stack([x, PLAIN]).T, bins=2)[0],
    # Axes and shapes as NumPy's integers and arrays.
    "fftshift": lambda x: np.fft.fftshift(x, axes=np.int64(0)),
    "ifftshift": lambda x: np.fft.ifftshift(x[None], axes=np.int64(-1)),
    "tensordot of an int": lambda x: np.tensordot(x, x, axes=np.int64(1)),
    "tensordot of an array": lambda x: np.tensordot(x, x, axes=np.array(0)),
    "transpose of an int": lambda x: np.transpose(x, -1),
    "broadcast_to of an array": lambda x: np.broadcast_to(x, np.array([2, 4])),
    "broadcast_to of floats": lambda x: np.broadcast_to(x, (2.0, 4)),
    "accumulate along a tuple": lambda x: np.add.accumulate(x[None], axis=(1,)),
    "cumulative_sum along a tuple": lambda x: np.cumulative_sum(x[None], axis=(0,)),
    "size of two axes": lambda x: np.size(x[None], axis=(0, 1)) * x,
    "unique along an axis that is none": lambda x: np.unique(x, axis=1),
    # device=, on which arrays from all libraries agree.
    "zeros_like": lambda x: np.zeros_like(x, device="cpu"),
    "ones_like": lambda x: np.ones_like(x, device=None),
    "full_like": lambda x: np.full_like(x, 2.0, device="cpu"),
    "linspace": lambda x: np.linspace(x[0], x[1], 3, device="cpu"),
    # Results beside the main one, and their dtypes.
    "linspace of one point": lambda x: np.linspace(x[:2], x[1:3], 1, retstep=True),
    "linspace of no point": lambda x: np.linspace(x[:2], x[1:3], 0, retstep=True),
    "average, returned": lambda x: np.average(x, returned=True),
    "average by ints, returned": lambda x: np.average(x, weights=np.array([1, 2, 3, 4]), returned=True),
    "eigvals": lambda x: np.linalg.eigvals(np.diag(x)),
    "roots": lambda x: np.roots(x[:2]),
    "astype of None": lambda x: np.astype(x, None),
    "tensorsolve of as many axes": lambda x: np.linalg.tensorsolve(np.array([2.0]), x[:1]),
    "reduceat of no indices": lambda x: np.add.reduceat(x, np.array([], int)),
    "shift of a narrow integer": lambda x: np.right_shift(np.uint8(200), x.astype(int) + 1),
    # Bounds and choices that are missing, or given twice.
    "clip with one bound": lambda x: np.clip(x, 0.3),
    "clip by name": lambda x: np.clip(x, max=0.5),
    "clip with a bound twice": lambda x: np.clip(x, 0.2, 0.8, max=0.5),
    "the method clip": lambda x: x.clip(0.3),
    "where with one choice": lambda x: np.where(x > 0.5, x),
    "nonzero of a number": lambda x: np.nonzero(x[0]),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_call_is_numpys(name, dtype):
    """Narrow integers are int64 on a tape."""
    call, at, point = CALLS[name], X.astype(dtype), Y.astype(dtype)
    error = None
    try:
        expected = call(point)
    except (TypeError, ValueError) as raised_by_numpy:
        error = raised_by_numpy
    if error is not None:
        with pytest.raises(TypeError if isinstance(error, TypeError) else ValueError) as raised:
            td.record(call, at)
        assert not isinstance(raised.value, td.TapediffError)
        return
    found = td.record(call, at)(point)
    for f, e in zip(found if isinstance(expected, tuple) else [found], expected if isinstance(expected, tuple) else [expected]):
        assert np.shape(f) == np.shape(e)
        kinds = [np.int64 if np.asarray(v).dtype.kind in "iu" else np.asarray(v).dtype for v in (f, e)]
        assert kinds[0] == kinds[1]
        np.testing.assert_allclose(f, e, rtol=1e-12 if dtype is np.float64 else 1e-6)


def test_the_gradient_of_entries_at_a_mask_is_that_of_the_first_two():
    np.testing.assert_array_equal(td.gradient(lambda x: np.sum(np.take(x, x > 0.5) * [1.0, 2.0, 3.0, 4.0]), X), [5.0, 5.0, 0.0, 0.0])
    np.testing.assert_array_equal(td.gradient(lambda x: np.take(x, [True, False, True]) @ [1.0, 2.0, 4.0], X), [2.0, 5.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: np.add(x, 1, signature="dd->d"), "the argument signature=\n.*\n.*dtype="),
        (lambda x: np.add(x, 1, where=x > 0.5), "where= without out="),
    ],
)
def test_a_refusal_names_the_argument(call, text):
    with pytest.raises(td.UnsupportedFunction, match=text):
        td.record(call, X)
