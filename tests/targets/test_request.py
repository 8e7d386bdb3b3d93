"""Arguments by name and options, of every operator on every target."""

import numpy as np
import pytest

import tapediff as td
from tests.support.scenarios import targets_of

TARGETS = ("function", "tape", "compiled", "guarded")
EVERY_TARGET = pytest.mark.parametrize("kind", TARGETS)

A, B = np.array([0.4, -1.2, 2.0]), np.array([1.0, 0.5, -0.3])
V = np.array([1.0, 0.0, -1.0])


def loss(first, second):
    return np.sum(np.sin(first) * second**3)


# Each operator by arguments that its options name: all of one value, whichever way the arguments are given.
OPERATORS = {
    "gradient": td.gradient,
    "value_and_gradient": td.value_and_gradient,
    "jacobian": td.jacobian,
    "value_and_jacobian": td.value_and_jacobian,
    "hessian": td.hessian,
    "value_gradient_and_hessian": td.value_gradient_and_hessian,
    "hvp": lambda target, a, *args, **named: td.hvp(target, a, V, *args, **named),
    "value_gradient_and_hvp": lambda target, a, *args, **named: td.value_gradient_and_hvp(target, a, V, *args, **named),
    "sparse_jacobian": lambda *args, **named: td.sparse_jacobian(*args, **named).toarray(),
    "sparse_hessian": lambda *args, **named: td.sparse_hessian(*args, **named).toarray(),
}
OF_NUMBERS = {
    "derivative": td.derivative,
    "value_and_derivative": td.value_and_derivative,
    "second_derivative": td.second_derivative,
    "value_derivative_and_second_derivative": td.value_derivative_and_second_derivative,
}


@EVERY_TARGET
def test_argnames_are_argnums_by_name(kind):
    """A name gives what its position gives; names in a list what positions in a tuple give, in their order."""
    target = targets_of(loss, A, B)[kind]
    for ask in OPERATORS.values():
        np.testing.assert_equal(ask(target, A, B, argnames="second"), ask(target, A, B, argnums=1))
        np.testing.assert_equal(ask(target, A, second=B, argnames="second"), ask(target, A, B, argnums=1))
        np.testing.assert_equal(ask(target, A, second=B), ask(target, A, B))
    for name in ("gradient", "jacobian", "hessian"):
        np.testing.assert_equal(OPERATORS[name](target, A, B, argnames=["second", "first"]), OPERATORS[name](target, A, B, argnums=(1, 0)))
    for method in ("gradient", "value_and_gradient", "jacobian", "hessian"):
        if kind in ("compiled", "guarded"):
            np.testing.assert_equal(getattr(target, method)(A, B, argnames="second"), OPERATORS[method](target, A, B, argnums=1))


@EVERY_TARGET
def test_argnames_of_numbers(kind):
    """The same for functions of numbers."""
    target = targets_of(lambda s, t: np.sin(s) * t**3, 0.3, 1.1)[kind]
    for ask in OF_NUMBERS.values():
        np.testing.assert_equal(ask(target, 0.5, 2.0, argnames="t"), ask(target, 0.5, 2.0, argnums=1))
    np.testing.assert_allclose(td.second_derivative(target, 0.5, 2.0, argnames="t"), np.sin(0.5) * 12.0, rtol=1e-14)  # rounding


@EVERY_TARGET
@pytest.mark.parametrize(("options", "said"), [
    ({"argname": "second"}, "argnames= in place of argname="),
    ({"argnum": 1}, "argnums= in place of argnum="),
    ({"strange": 1}, "the options are argnames, "),
    ({"argnames": "third"}, "argnames='third' but .* was called with no such argument\n.*\n.*first, second"),
    ({"argnames": 1}, "argnames is a name"),
    ({"argnames": "first", "argnums": 1}, "argnums and argnames both"),
])  # fmt: skip
def test_options_that_do_not_exist_are_named(kind, options, said):
    """With the option that was meant, or those that there are; nothing is left behind."""
    target = targets_of(loss, A, B)[kind]
    for ask in OPERATORS.values():
        with pytest.raises(td.ArgumentMismatch, match=said):
            ask(target, A, B, **options)
        assert not td.is_recording()
    np.testing.assert_allclose(td.gradient(target, A, B), np.cos(A) * B**3, rtol=1e-14)  # rounding
