"""Branches are merged where a GuardedTape is given a method, a partial or an object around the function that branches."""

from functools import partial

import numpy as np
import pytest

import tapediff as td


def hinges(x, knots, scale=1.0):
    total = 0.0
    for knot, value in zip(knots, x):
        if value > knot:
            total = total + scale * (value - knot) ** 2
        else:
            total = total - value
    return total


KNOTS = np.array([-0.5, 0.0, 0.5, 1.0, 1.5])


class Hinges:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        return hinges(x, KNOTS, self.scale)

    def method(self, x):
        total = 0.0
        for knot, value in zip(KNOTS, x):
            total = total + (self.scale * (value - knot) ** 2 if value > knot else -value)
        return total


FORMS = {
    "partial": partial(hinges, knots=KNOTS, scale=2.0),
    "partial of a partial": partial(partial(hinges, knots=KNOTS), scale=2.0),
    "method": Hinges(2.0).method,
    "partial of a method": partial(Hinges(2.0).method),
    "object": Hinges(2.0),
    "partial of an object": partial(Hinges(2.0)),
    "lambda": lambda x: hinges(x, KNOTS, 2.0),
}


@pytest.mark.parametrize("form", FORMS)
def test_branches_in_all_kinds_of_callables_are_merged(form):
    guarded = td.GuardedTape(FORMS[form], merge=True)
    rng = np.random.default_rng(1)
    for x in rng.normal(size=(12, 5)):
        value, gradient = guarded.value_and_gradient(x)
        assert value == pytest.approx(hinges(x, KNOTS, 2.0), rel=1e-13)
        np.testing.assert_allclose(gradient, np.where(x > KNOTS, 4.0 * (x - KNOTS), -1.0), rtol=1e-13)
    assert guarded.stats.recordings <= 2


def test_an_object_that_changes_between_recordings_is_read_as_it_is_then():
    model = Hinges(2.0)
    guarded = td.GuardedTape(model, merge=True)
    guarded(np.zeros(5))
    model.scale = 3.0
    x = np.full(4, 2.0)  # another shape is recorded again
    assert guarded(x) == pytest.approx(hinges(x, KNOTS, 3.0), rel=1e-13)


def test_the_branches_of_a_posterior_and_of_what_it_generates_are_merged():
    post = td.Posterior(
        lambda a, y: -hinges(a, y), a=td.real(5), data={"y": KNOTS},
        generated=lambda a: {"above": sum(1.0 if value > 0 else 0.0 for value in a)},
    )  # fmt: skip
    points = np.random.default_rng(1).normal(size=(30, 5))
    for u in points:
        assert post.log_density(u) == pytest.approx(post.plain_log_density(u), rel=1e-13)
    assert post.tape.stats.recordings < 8
    np.testing.assert_array_equal(post.generate({"a": points})["above"], (points > 0).sum(1))
