"""Axes: in range or an error, as in NumPy; NumPy's integers count, and no axis is taken twice."""

import numpy as np
import pytest
import scipy.integrate
import scipy.signal
import scipy.special

import tapediff as td

X = np.cos(np.arange(1.0, 7.0)).reshape(2, 3)

NAMES = """sum max mean prod std cumsum sort argsort argmax median any nansum flip expand_dims squeeze count_nonzero diff gradient unwrap
average fft.fft trapezoid linalg.norm""".split()


def named(name):
    f = np
    for part in name.split("."):
        f = getattr(f, part)
    return lambda a, k: f(a, axis=k)


CALLS = {name: named(name) for name in NAMES} | {
    "take": lambda a, k: np.take(a, [0], axis=k),
    "roll": lambda a, k: np.roll(a, 1, axis=k),
    "repeat": lambda a, k: np.repeat(a, 2, axis=k),
    "swapaxes": lambda a, k: np.swapaxes(a, 0, k),
    "moveaxis from": lambda a, k: np.moveaxis(a, k, 0),
    "moveaxis to": lambda a, k: np.moveaxis(a, 0, k),
    "moveaxis of two": lambda a, k: np.moveaxis(a, (0, k), (1, 0)),
    "transpose": lambda a, k: np.transpose(a, (0, k)),
    "concatenate": lambda a, k: np.concatenate([a, a], axis=k),
    "stack": lambda a, k: np.stack([a, a], axis=k),
    "append": lambda a, k: np.append(a, a, axis=k),
    "delete": lambda a, k: np.delete(a, 0, axis=k),
    "compress": lambda a, k: np.compress([True], a, axis=k),
    "flip of two": lambda a, k: np.flip(a, axis=(0, k)),
    "squeeze of one": lambda a, k: np.squeeze(a[:1], axis=k),
    "unique": lambda a, k: np.unique(a, axis=k),
    "vecdot": lambda a, k: np.vecdot(a, a, axis=k),
    "tensordot": lambda a, k: np.tensordot(a, a, axes=((0, k), (0, 1))),
    "logsumexp": lambda a, k: scipy.special.logsumexp(a, axis=k),
    "lfilter": lambda a, k: scipy.signal.lfilter([1.0], [1.0, 0.5], a, axis=k),
    "detrend": lambda a, k: scipy.signal.detrend(a, axis=k),
    "fftconvolve": lambda a, k: scipy.signal.fftconvolve(a, a, axes=k),
    "simpson": lambda a, k: scipy.integrate.simpson(a, axis=k),
    "cumulative_trapezoid": lambda a, k: scipy.integrate.cumulative_trapezoid(a, axis=k),
}


@pytest.mark.parametrize("name", CALLS)
def test_axes_out_of_range_are_refused_and_others_are_those_of_numpy(name):
    call = CALLS[name]
    for axis in (0, 1, -1, -2, np.int64(1), 2, 3, -3, -4, (0, 0), 1.5):
        try:
            expected = call(X.copy(), axis)
        except (TypeError, ValueError, IndexError):
            with pytest.raises((TypeError, ValueError, IndexError)):
                td.record(lambda x, axis=axis: call(x * 1.0, axis), X)
            continue
        if name == "linalg.norm" and axis == 1.5:
            continue  # NumPy's int(axis)
        found = td.record(lambda x, axis=axis: tuple(p.real for p in np.atleast_1d(call(x * 1.0, axis))), X)(X)
        np.testing.assert_allclose(np.array(found), np.atleast_1d(expected).real, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "call",
    [
        lambda a: np.take(a, [0, -1, 0], axis=0), lambda a: np.take(a, [0], axis=-1), lambda a: np.squeeze(a, axis=0),
        lambda a: np.sum(a, axis=-1), lambda a: scipy.special.logsumexp(a, axis=0), lambda a: np.cumsum(a, axis=0),
    ],
)  # fmt: skip
def test_numbers_have_an_axis_where_they_have_one_in_numpy(call):
    x = np.array(0.7)
    np.testing.assert_allclose(td.record(lambda x: call(np.asarray(x) * 1.0), x)(x), call(x), rtol=1e-14)
    np.testing.assert_allclose(np.sum(td.jacobian(lambda x: call(np.asarray(x)), x)), np.size(call(x)), rtol=1e-14)
