"""Squares of norms and absolute values: smooth where what is squared is not, so all their derivatives are exact at 0."""

import dataclasses
import math

import numpy as np
import pytest

import tapediff as td
from tapediff.passes.simplify import smooth_squares

WEIGHTS = np.array([1.0, -2.0, 0.5, 3.0])
ROWS = np.array([[1.0, 2.0, 0.0, 1.0], [0.5, -1.0, 1.0, 0.0], [2.0, 0.0, 0.0, 1.0]])


def row_norms(x):
    return np.linalg.norm(ROWS * x, axis=1)


def in_a_python_loop(x):
    norms, total = row_norms(x), 0.0
    for k in range(3):
        total = total + (norms[k] / (k + 1.0)) ** 2
    return total


def through_a_subtape(x):
    return td.subtape(lambda v: np.linalg.norm(v) ** 2)(x) * 2.0


# Each as it is written, and as a polynomial that has no kink on the way.
CASES = {
    "the square of a norm": (lambda x: np.linalg.norm(x) ** 2, lambda x: np.sum(x * x)),
    "the product of a norm with itself": (lambda x: (n := np.linalg.norm(x)) * n, lambda x: np.sum(x * x)),
    "the fourth power": (lambda x: np.linalg.norm(x) ** 4 + np.sum(x**2), lambda x: np.sum(x * x) ** 2 + np.sum(x**2)),
    "a scaled norm": (lambda x: (-3.0 * np.linalg.norm(x) / 2.0) ** 2, lambda x: 2.25 * np.sum(x * x)),
    "a norm divided by what depends on x": (
        lambda x: np.square(np.linalg.norm(x) / np.exp(x[0])), lambda x: np.sum(x * x) * np.exp(-2.0 * x[0])),
    "a norm times what depends on x": (
        lambda x: np.square(np.cos(x[1]) * np.linalg.norm(x)), lambda x: np.sum(x * x) * np.cos(x[1]) ** 2),
    "norms of rows": (lambda x: np.sum(WEIGHTS[:3] * row_norms(x) ** 2), lambda x: np.sum(WEIGHTS[:3] @ (ROWS * x) ** 2)),
    "norms by integer positions": (
        lambda x: np.sum(row_norms(x)[np.array([2, 0, 2])] ** 2), lambda x: np.sum(np.sum((ROWS * x) ** 2, axis=1)[[2, 0, 2]])),
    "norms in another shape": (
        lambda x: np.sum((row_norms(x)[:, None] * WEIGHTS) ** 2), lambda x: np.sum((ROWS * x) ** 2) * np.sum(WEIGHTS**2)),
    "norms one by one": (in_a_python_loop, lambda x: np.sum(np.sum((ROWS * x) ** 2, axis=1) / np.arange(1.0, 4.0) ** 2)),
    "absolute values": (lambda x: np.sum(WEIGHTS * np.abs(x) ** 2), lambda x: np.sum(WEIGHTS * x * x)),
    "absolute values times themselves": (lambda x: np.abs(x) @ np.abs(x), lambda x: np.sum(x * x)),
    "a hypotenuse": (lambda x: np.hypot(x[0], 2.0 * x[1]) ** 2, lambda x: x[0] ** 2 + 4.0 * x[1] ** 2),
    "the variance as a square": (lambda x: np.std(x) ** 2, np.var),
    "a square root": (lambda x: np.sqrt(np.sum(x * x)) ** 2, lambda x: np.sum(x * x)),
    "a Gaussian": (lambda x: np.exp(-0.5 * (np.linalg.norm(x) / 2.0) ** 2), lambda x: np.exp(-np.sum(x * x) / 8.0)),
    "a kept branch": (lambda x: np.where(x[0] > -1.0, np.linalg.norm(x) ** 2, 0.0), lambda x: np.sum(x * x)),
    "a hypotenuse of hypotenuses": (
        lambda x: np.hypot(np.hypot(x[0], x[1]), x[2] + 3.0), lambda x: np.sqrt(x[0] ** 2 + x[1] ** 2 + (x[2] + 3.0) ** 2)),
    "a hypotenuse of many": (
        lambda x: math.hypot(*np.tile(x, 10), math.sqrt(40.0)) / math.sqrt(10.0) + math.hypot(x[0]) ** 2 + np.hypot.reduce(np.append(x, 2.0)), lambda x: 2.0 * np.sqrt(np.sum(x * x) + 4.0) + x[0] ** 2),
    "a distance": (lambda x: math.dist(x, WEIGHTS), lambda x: np.sqrt(np.sum((x - WEIGHTS) ** 2))),
    "hypotenuses of norms of rows": (
        lambda x: np.sum(np.hypot(np.exp(x[3]) * row_norms(x)[:, None], [1.0, 2.0])),
        lambda x: np.sum(np.sqrt(np.exp(2.0 * x[3]) * np.sum((ROWS * x) ** 2, axis=1)[:, None] + [1.0, 4.0]))),
    "absolute values of absolute values": (
        lambda x: np.sum(np.abs(np.abs(x)) ** 2) + np.copysign(np.linalg.norm(x), -1.0) ** 2, lambda x: 2.0 * np.sum(x * x)),
    "an inner product": (
        lambda x: np.inner(np.abs(x), np.abs(x)) + np.tensordot(np.abs(x), np.abs(x), 1), lambda x: 2.0 * np.sum(x * x)),
    "products of two": (
        lambda x: np.sum((np.abs(x[:2]) * np.abs(x[2:])) ** 2) + (np.abs(x[2:]) * np.linalg.norm(x)) @ (np.abs(x[2:]) * np.linalg.norm(x)),
        lambda x: np.sum(x[:2] ** 2 * x[2:] ** 2) + np.sum(x[2:] ** 2) * np.sum(x * x)),
    "a sub-tape": (through_a_subtape, lambda x: 2.0 * np.sum(x * x)),
}  # fmt: skip


@pytest.mark.parametrize("compiled", [False, True], ids=["tape", "kernel"])
@pytest.mark.parametrize("name", CASES)
def test_derivatives_of_squares_are_those_of_the_polynomial(name, compiled):
    """Value, gradient and Hessian at 0, where the norm has a kink, and elsewhere."""
    f, polynomial = CASES[name]
    ordinary = np.array([0.3, -0.7, 0.0, 1.2])
    target = td.compile(f, ordinary) if compiled else td.record(f, ordinary)
    for x in (np.zeros(4), ordinary, np.array([0.0, 0.0, 1.0, 0.0])):
        # Rounding of a few dozen operations on numbers below 100.
        np.testing.assert_allclose(td.gradient(target, x), td.gradient(polynomial, x), rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(td.hessian(target, x), td.hessian(polynomial, x), rtol=1e-13, atol=1e-13)
        assert f(x) == pytest.approx(td.value_and_gradient(target, x)[0], rel=1e-14)


def test_a_discarded_square_contributes_nothing():
    """Where a selection discards it, also with infinite derivatives on the way: exact zeros to second order."""
    f = lambda x: np.where(x > 0.0, np.abs(np.log(x)) ** 2, 0.0).sum()
    tape, x = td.record(f, np.ones(3)), np.array([0.0, 1.0, np.e])
    # Rounding of log(e).
    np.testing.assert_allclose(td.gradient(tape, x), [0.0, 0.0, 2.0 / np.e], rtol=1e-15)
    np.testing.assert_allclose(td.hessian(tape, x), np.diag([0.0, 2.0, 0.0]), atol=1e-15)


def test_other_functions_of_a_norm_keep_their_rule():
    """Odd powers, products with other values, and the norm beside its square; 0 where the norm has a kink."""
    f = lambda x: np.linalg.norm(x) ** 3 + np.linalg.norm(x) * np.linalg.norm(x[:2]) + np.linalg.norm(x) ** 2
    np.testing.assert_allclose(td.gradient(f, np.zeros(3)), np.zeros(3))
    td.testing.check_gradient(f, f, np.array([0.4, -1.0, 2.0]))
    td.testing.check_gradient(td.compile(f, np.ones(3)), f, np.array([0.4, -1.0, 2.0]))


@pytest.mark.parametrize("power", [2, 4, 6])
def test_even_powers_of_an_absolute_value_are_powers_at_every_order(power):
    """At the kink, where the derivative of that order is the factorial; of an odd power it is not asked for."""
    derivative = lambda x: np.abs(x) ** power
    for order in range(1, power + 1):
        derivative = lambda x, f=derivative: td.gradient(f, x)
        assert derivative(np.array(0.0)) == (math.factorial(power) if order == power else 0.0)


def test_long_tapes_are_looked_through():
    """Through a norm and rows, their negatives, quotients and products with others, on either side."""
    x = np.array([0.3, -0.5, 0.8, 0.2])

    def f(x):
        norm, total = np.linalg.norm(x), x[0]
        for k in range(300):
            row = np.abs(x * (k + 1.0))
            total = total + (-row[0] / 3.0) ** 2 + (x[1] * norm) ** 2 + np.square(norm * x[2]) + row[2] * x[3]
        return total

    tape = td.record(f, x, merge=False)
    found = smooth_squares.Squares(tape).leads
    ops = [tape.instructions[number].op.name for number in found]
    assert {-1, 0, 1} == set(found.values())
    assert {name: ops.count(name) for name in ("absolute", "negative", "divide", "multiply")} == {
        "absolute": 300, "negative": 300, "divide": 300, "multiply": 900,
    }  # fmt: skip
    assert found == smooth_squares.Squares(dataclasses.replace(tape, instructions=tuple(tape.instructions))).leads
