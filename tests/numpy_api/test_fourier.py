"""Fourier transforms over several axes. Their values and derivatives are in complex_calls.py."""

import numpy as np
import pytest

import tapediff as td
from tapediff.ops.matrices.fourier import DFT


@pytest.mark.parametrize("function", [np.fft.fftn, np.fft.ifftn])
@pytest.mark.parametrize("shape", [(8, 6), (5, 7), (4, 6, 5)])
def test_of_real_arrays_half_of_the_coefficients_are_transformed_along_further_axes(function, shape):
    """The others are their conjugates; all are NumPy's to rounding, which differs as NumPy transforms all of them."""
    x = np.random.default_rng(2).normal(size=shape)

    def f(x):
        z = function(x)
        return np.stack([z.real, z.imag])

    tape = td.record(f, x)
    np.testing.assert_allclose(td.compile(tape)(x), f(x), rtol=0.0, atol=1e-13)
    transformed = [i.type.shape[:-1] for i in tape.instructions if i.op is DFT]
    assert transformed == [(*shape[:-1], shape[-1] // 2 + 1)] * (len(shape) - 1)
