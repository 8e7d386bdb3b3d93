"""The search for the mode: from bad starts, where the precision is indefinite, and what it says where there is no mode."""

import numpy as np
import pytest

import tapediff as td
from tapediff.stats import norm, poisson

COUNTS = np.array([3.0, 0.0, 7.0, 2.0, 30.0])


def counts(theta, u):
    return poisson.logpmf(COUNTS, np.exp(u)).sum() + norm.logpdf(u, 0.0, np.exp(theta)).sum()


@pytest.mark.parametrize("start", [0.0, 20.0, -30.0, 100.0])
def test_the_start_does_not_matter_for_concave_densities(start):
    """Also where a Newton step would overflow, or leads far down."""
    found = td.laplace(counts, start={"u": np.full(5, start)})
    near = td.laplace(counts, start={"u": np.log(COUNTS + 0.5)})
    assert found(0.3) == pytest.approx(near(0.3), rel=1e-12)
    np.testing.assert_allclose(found.mode(0.3), near.mode(0.3), rtol=1e-9)


def student(theta, u):
    """Heavy tails, where the precision is negative between data and prior."""
    return -3.0 * np.sum(np.log1p((u - 6.0) ** 2)) - 0.5 * np.sum(np.diff(u) ** 2) * np.exp(theta) - 1e-3 * np.sum(u**2)


def test_steps_lead_uphill_where_the_precision_is_indefinite():
    """From the tail of a density that is not concave, to a point with zero gradient."""
    found = td.laplace(student, start={"u": np.full(6, -20.0)})
    mode = found.mode(0.1)
    assert np.max(np.abs(td.gradient(student, 0.1, mode, argnums=1))) < 1e-10
    value, gradient = found.value_and_gradient(0.1)
    assert np.isfinite(value)
    assert gradient == pytest.approx((found(0.1 + 1e-4) - found(0.1 - 1e-4)) / 2e-4, rel=1e-6)


def test_a_failed_point_leaves_later_calls_as_they_were():
    """And a last mode that leads nowhere is replaced by the given start."""
    def joint(theta, u):
        return np.sum(np.log(u) - theta * u) - 0.5 * np.sum((u - 1.0) ** 2)

    found = td.laplace(joint, start={"u": np.ones(4)})
    expected = found(2.0)
    with pytest.raises(td.NotConverged):
        found(np.nan)
    assert found(2.0) == pytest.approx(expected, rel=1e-13)
    found._last = np.full(4, -1.0)  # where log(u) has no value
    with np.errstate(invalid="ignore"):
        assert found(2.0) == pytest.approx(expected, rel=1e-13)


def test_errors_tell_the_effect_and_how_far():
    """By the user's names: flat directions, densities without a mode, and starts outside."""
    with pytest.raises(td.NotPositiveDefinite, match=r"not positive definite at the mode(.|\n)*u\[3\]") as caught:
        td.laplace(lambda theta, u: -theta * np.sum(u[:3] ** 2) + 0.0 * u[3], start={"u": np.zeros(4)})(1.0)
    assert caught.value.index == 3
    with pytest.raises(td.NotPositiveDefinite, match=r"v\[1, 0\]"):
        td.laplace(lambda theta, u, v: -theta * np.sum(u**2) - np.sum(v**2) + 2.0 * v[1, 0] ** 2, ("u", "v"),
                   start={"u": np.zeros(2), "v": np.zeros((2, 2))})(1.0)  # fmt: skip
    for theta in np.linspace(-3.0, 3.0, 13):  # a walk without a level: singular, whatever rounding makes of the last pivot
        with pytest.raises(td.NotPositiveDefinite):
            td.laplace(lambda theta, u: -np.exp(theta) * np.sum(np.diff(u) ** 2), start={"u": np.ones(60)})(theta)
    with pytest.raises(td.NotConverged, match=r"not found in 200 steps(.|\n)*promises(.|\n)*for u\[0\]"):
        td.laplace(lambda theta, u: theta * u[0] - np.sum(u[1:] ** 2), start={"u": np.zeros(3)})(1.0)
    with pytest.raises(td.NotConverged, match="search for the mode starts"), np.errstate(divide="ignore"):
        td.laplace(lambda theta, u: np.sum(np.log(u)) - theta * np.sum(u**2), start={"u": np.zeros(3)})(1.0)
    with pytest.raises(td.NotConverged, match="not found in 2 steps"):
        td.laplace(counts, start={"u": np.full(5, 20.0)}, max_steps=2)(0.3)
