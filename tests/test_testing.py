"""td.testing.check_derivatives: passes what is right, and names what is wrong."""

import numpy as np
import pytest

import tapediff as td
from tests.support.scenarios import SCENARIOS, targets_of


@pytest.mark.parametrize("scenario", [s for s in SCENARIOS if s.name not in ("a while loop", "a chain")], ids=lambda s: s.name)
def test_right_derivatives_pass(scenario):
    """Of every scenario, by function and compiled."""
    targets = targets_of(scenario.f, scenario.first)
    td.testing.check_derivatives(targets["function"], scenario.points[0])
    td.testing.check_derivatives(targets["compiled"], scenario.points[0], order=1)


def test_several_arguments_and_results_pass():
    """Data is passed on."""
    f = lambda a, b, k: (a * np.sum(b) * k, np.dot(a, a), 3)
    td.testing.check_derivatives(f, np.array([1.0, 2.0]), np.array([0.5, 0.3, 0.1]), td.Constant(2))


@pytest.mark.parametrize(("modes", "said"), [(("jvp",), "jvp"), (("jvp", "vjp", "hvp"), "jvp"), (("hvp",), "hvp")])
def test_a_wrong_derivative_is_named(modes, said):
    """Of a function that hides a part of its dependence."""
    f = lambda x: np.sum(td.stop_gradient(x) * x**2)
    with pytest.raises(AssertionError, match=said):
        td.testing.check_derivatives(f, np.array([1.0, 2.0]), modes=modes)


def test_an_unknown_mode_is_refused():
    """With those that there are."""
    with pytest.raises(td.ArgumentMismatch, match="jac"):
        td.testing.check_derivatives(np.sin, 1.0, modes=("jac",))


@pytest.mark.parametrize("made", [lambda f, *args: f, td.record, td.compile, lambda f, *args: td.GuardedTape(f)])
def test_check_gradient_takes_data(made):
    """td.Constant, arrays, and other values of both functions; a wrong derivative is still found."""
    def f(x, y, k):
        return np.sum(x * y) ** k

    x, y = np.array([1.0, 2.0]), np.array([0.5, 0.3])
    data = td.Constant(y), td.Constant(2)
    td.testing.check_gradient(made(f, x, *data), f, x, *data)
    td.testing.check_gradient(made(f, x, y, td.Constant(2)), f, x, y, td.Constant(2))
    wrong = lambda x, y, k: np.sum(td.stop_gradient(x) * y) ** k + 0.0 * np.sum(x)
    with pytest.raises(AssertionError, match="differs from finite differences"):
        td.testing.check_gradient(made(wrong, x, *data), f, x, *data)
    with pytest.raises(AssertionError, match="differs from the plain function's"):
        td.testing.check_gradient(made(f, x, *data), lambda x, y, k: f(x, 2.0 * y, k), x, *data)
