"""The test posteriors by numba: values and gradients are Stan's."""

import os

import numpy as np
import pytest
from posteriors import models

import tapediff as td

# numba takes 5 to 20 s for each of the others.
QUICK = ("eight_schools", "arK", "radon", "Mtbh")
NAMES = tuple(models.MODELS) if os.environ.get("TAPEDIFF_NUMBA_ALL") else QUICK
# An ODE, which Stan integrates with another method.
RTOL = {"hudson_lynx_hare": 1e-5}


@pytest.mark.parametrize("name", NAMES)
def test_value_and_gradient_are_stans(name):
    """The value agrees to 1e-10 of itself and the gradient to 1e-8 of its largest component, as by the native kernel."""
    log_density, points = models.load(name)
    compiled = td.compile(log_density, points[0][0], backend="numba")
    for unconstrained, value, gradient in points:
        found, computed = td.value_and_gradient(compiled, unconstrained)
        assert found == pytest.approx(value, rel=RTOL.get(name, 1e-10), abs=0)
        assert np.max(np.abs(computed - gradient)) < RTOL.get(name, 1e-8) * np.max(np.abs(gradient))
