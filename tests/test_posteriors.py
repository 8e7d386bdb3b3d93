"""Log densities in plain NumPy, recorded and compiled, against the values and gradients that Stan computed."""

import functools

import numpy as np
import pytest
from posteriors import models

import tapediff as td
from tapediff.base.settings import settings
from tapediff.passes import pipeline as passes

# Stan and NumPy sum in different orders: 1e-10 leaves five digits for that. The predator-prey model is an ODE, which
# Stan integrates with another method than the model here.
VALUE_RTOL = {"hudson_lynx_hare": 1e-5}
GRADIENT_RTOL = {"hudson_lynx_hare": 1e-5}
TARGETS = {"uncompiled": td.record, "compiled": td.compile}


# All but save_carries, without which loops cannot be differentiated.
OPTIONAL = sorted({stage.run.__name__ for stage in (*passes.PREPARE, *passes.PIPELINE)} - {"save_carries"} | {"reroll"})


@functools.cache
def target_and_points(name, how):
    """One recording for all points of a posterior: made at the first of them, replayed at the others."""
    log_density, points = models.load(name)
    return TARGETS[how](log_density, points[0][0]), points


CASES = [pytest.param(name, how, id=f"{name}-{how}") for name in models.MODELS for how in TARGETS]


@pytest.mark.parametrize(("name", "how"), CASES)
def test_value_and_gradient_are_stans(name, how):
    """The value agrees to 1e-10 of itself and the gradient to 1e-8 of its largest component, at every point."""
    target, points = target_and_points(name, how)
    for unconstrained, log_density, gradient in points:
        value, computed = td.value_and_gradient(target, unconstrained)
        assert value == pytest.approx(log_density, rel=VALUE_RTOL.get(name, 1e-10), abs=0)
        worst = np.max(np.abs(computed - gradient)) / np.max(np.abs(gradient))
        assert worst < GRADIENT_RTOL.get(name, 1e-8)


@pytest.mark.parametrize("name", models.MODELS)
@pytest.mark.parametrize("without", OPTIONAL)
def test_without_any_one_of_the_passes_the_answer_is_the_same(name, without, monkeypatch):
    """A pass changes how fast an answer comes, not what it is, but for the rounding of sums in another order."""
    target, points = target_and_points(name, "compiled")
    if name == "hudson_lynx_hare" and without == "reroll":
        pytest.skip("48 000 operations laid out flat take seconds to compile; the shorter loops are tested")
    monkeypatch.setattr(settings, "left_out", {without})
    log_density, _ = models.load(name)
    other = td.compile(log_density, points[0][0])
    for unconstrained, _, _ in points[:2]:
        value, gradient = td.value_and_gradient(other, unconstrained)
        expected, expected_gradient = td.value_and_gradient(target, unconstrained)
        assert value == pytest.approx(expected, rel=1e-12, abs=0)
        np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-9, atol=1e-12 * np.max(np.abs(gradient)))


@pytest.mark.parametrize("name", models.MODELS)
def test_plain_numpy_value_is_stans(name):
    """The model itself is the one Stan ran: where this fails, the models are wrong and not the engine."""
    log_density, points = models.load(name)
    for unconstrained, expected, _ in points:
        assert log_density(unconstrained) == pytest.approx(expected, rel=VALUE_RTOL.get(name, 1e-10), abs=0)
