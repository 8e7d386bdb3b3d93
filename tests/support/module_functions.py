"""Functions at the top level of a module, for the tests of pickling: other processes find them by their names."""

import enum
from dataclasses import dataclass

import numpy as np

import tapediff as td


class Kind(enum.Enum):
    LOW = 1
    HIGH = 2


LIMIT = 1.0


def branching(x):
    total = 0.0
    for v in x:
        if v > 1.0:
            total = total + np.sin(v) * v
        else:
            total = total + v**3
    return total


def kind_of(x):
    return Kind.HIGH if x[0] > 0 else Kind.LOW


def of_order(x, order):
    return np.sum(x**order) if x[0] > 0 else -np.sum(x)


@td.subtape(merge=False)
def huber(r):
    return 0.5 * r * r if abs(r) < LIMIT else abs(r) - 0.5


@td.subtape(merge=False)
def limited(r):
    return r if abs(r) < LIMIT else LIMIT * r**2


def plain_tails(r, weight=2.0):
    return weight * r if r > 0 else r / weight


tails = td.subtape(plain_tails, merge=False)


@td.subtape(guard=lambda v: v > 0)
def asked_by_lambda(v):
    return v * 3.0


@td.subtape(guard=kind_of)
def of_kind(x):
    return np.sum(x**2)


@td.subtape(merge=False)
def power(x, n):
    return 1.0 if n == 0 else x * power(x, n - 1)


@td.primitive
def cube(x):
    return x**3, x


@cube.backward
def cube_rule(x, bar):
    return 3.0 * bar * x**2


def with_subtapes(x):
    return sum(huber(v) + tails(v) for v in x) + cube(x[0])


def with_recursion(x):
    return power(x[0], (10 * x[1]).astype(int))


def with_loops(x):
    def body(carry, v):
        return (carry + v if v > 0 else carry * 0.5), None

    carry, _ = td.scan(body, 0.0, x)
    root = td.while_loop(lambda y: np.abs(y * y - 4.0) > 1e-12, lambda y: 0.5 * (y + 4.0 / y), x[0] ** 2 + 1.0)
    return carry + td.cond(x[1] > 0, lambda: root, lambda: x[1] * root)


def of_everything(x):
    """Ops with parameters of every kind: dtypes, regions, axes, shapes; constants; guards on numbers, integers and masks."""
    y = td.zeros((2, 3))
    y[0, ::2] = x[:2]
    y[1] = np.cumsum(x)[::-1]
    k = int(np.floor(x[0])) + 2
    matrix = np.reshape(np.outer(x, x), (3, 3)) + k * np.eye(3)
    return np.sum(y.T[x > 0.0]) + np.linalg.solve(matrix, x)[0] + x.astype(np.float32).astype(float).sum() + huber(x[1]) + -0.0


def derivative_inside(x):
    def inner(x):
        return sum(huber(v) + tails(v) for v in x) + with_loops(x)

    return np.sum(td.gradient(inner, x) ** 2)


@dataclass
class Model:
    """An object that holds the GuardedTape of its own method."""

    scale: float

    def __post_init__(self):
        self.safe = td.GuardedTape(self.value)

    def value(self, x):
        return self.scale * np.sum(x) if x[0] > 0 else -np.sum(x**2)


def value_and_gradient(arguments):
    """What a worker does with what it is given."""
    target, x = arguments
    value, gradient = td.value_and_gradient(target, x)
    return value, gradient


def refused(arguments):
    target, x = arguments
    return td.gradient(target, x)
