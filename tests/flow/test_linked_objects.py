"""Objects that refer to each other, in chains, trees and circles, and stacks that data shorten: one recording for all paths."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tapediff as td
from tests.flow.one_tape import POINTS, recordings


class Node:
    def __init__(self, value, other=None):
        self.value, self.next, self.previous = value, other, None


def sorted_chain(x):
    head = None
    for v in x:
        node = [v, None]
        if head is None or v < head[0]:
            node[1] = head
            head = node
        else:
            at = head
            while at[1] is not None and at[1][0] < v:
                at = at[1]
            node[1] = at[1]
            at[1] = node
    total, k = 0.0, 1
    while head is not None:
        total += k * head[0]
        k += 1
        head = head[1]
    return total


def sorted_circle(x):
    head = Node(x[0])
    head.next = head.previous = head
    for v in x[1:4]:
        node, at = Node(v), head
        while at.next is not head and at.next.value < v:
            at = at.next
        node.next, node.previous = at.next, at
        at.next.previous = node
        at.next = node
    total, k, at = head.value, 2, head.next
    while at is not head:
        total += k * at.value
        k += 1
        at = at.next
    return total


def in_turn(x):
    """A loop that data end goes from one object to the other; both keep what is written to them."""
    a = Node(abs(x[0]) + 0.2)
    b = Node(x[1], a)
    a.next = b
    at, total = a, 0.0
    while total < 5.0:
        at.value += 0.3 * abs(x[2])
        total += abs(at.value) + 0.1
        at = at.next
    return a.value * 2 + b.value + total


def tree_with_parents(x):
    root = {"value": x[0], "up": None, "below": []}
    at = root
    for v in x[1:]:
        if v > 0:
            child = {"value": v, "up": at, "below": []}
            at["below"].append(child)
            at = child
        elif at["up"] is not None:
            at["value"] += v
            at = at["up"]
        else:
            at["value"] *= 0.5

    def total(tree):
        return tree["value"] + 0.5 * sum(total(child) for child in tree["below"])

    return total(root)


def walk(x):
    graph = [[v, []] for v in x]
    for k in range(6):
        graph[k][1] += [graph[(k + 1) % 6], graph[(2 * k + 1) % 6]]
    at, total = graph[0], 0.0
    for _ in range(8):
        total += at[0]
        at[0] *= 0.9
        at = at[1][0] if at[0] > 0.2 else at[1][1]
    return total


def out_of_a_circle(x):
    nodes = [[v, None] for v in x]
    for k in range(6):
        nodes[k][1] = nodes[(k + 1) % 6]
    at, total = nodes[0], 0.0
    for r in range(4):
        if at[0] > 0:
            at = at[1]
        total += at[1][0] * (r + 1)
        at[1] = at[1][1]
    return total + at[0]


def means_in_order(x):
    """Isotonic regression: a stack of blocks, which a loop that data end joins."""
    blocks = []
    for v in x[:5]:
        blocks.append([v, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            b = blocks.pop()
            a = blocks[-1]
            n = a[1] + b[1]
            blocks[-1] = [(a[0] * a[1] + b[0] * b[1]) / n, n]
    return sum(m * m * n for m, n in blocks)


def largest_area(x):
    heights, stack, best = [*(abs(v) + 0.1 for v in x), 0.0], [], 0.0
    for k, v in enumerate(heights):
        while stack and heights[stack[-1]] > v:
            top = stack.pop()
            best = max(best, heights[top] * (k if not stack else k - stack[-1] - 1))
        stack.append(k)
    return best


PROGRAMS = [
    sorted_chain, sorted_circle, in_turn, tree_with_parents, walk, out_of_a_circle, means_in_order, largest_area,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS)
def test_one_recording(f):
    """For all points."""
    assert recordings(f, POINTS[:12]) == 1


class Holder:
    """What a program leaves something in."""


def leaves_a_circle(x, held):
    held.root = {"name": "a" if x[0] > 0 else "b", "all": [held.inner]}
    held.root["self"] = held.root
    held.pair = (held.inner, ["up" if x[1] > 0 else "down", held.inner])
    held.inner.append("c" if x[2] > 0 else "d")
    return x[0] * x[1]


@pytest.mark.parametrize("point", POINTS[:4])
def test_the_callers_objects_are_left_as_python_leaves_them(point):
    """Choices are settled wherever they are, and objects stay the objects that they are, in circles as well."""
    left = []
    for f in (leaves_a_circle, td.GuardedTape(leaves_a_circle)):
        held = Holder()
        held.inner = [1]
        f(point, held)
        root = held.root
        assert root["self"] is root
        assert root["all"][0] is held.pair[0] is held.pair[1][1] is held.inner
        left.append([root["name"], root["all"], held.pair, held.inner])
    assert left[0] == left[1]


def test_what_has_no_end_is_no_endless_recording():
    """A loop that data end, and whose objects have objects in them without an end, keeps its paths."""

    class Ring:
        def __init__(self, value):
            self.value, self.me = value, self

    def program(x):
        ring, total = Ring(x[0]), 0.0
        while total < 3.0:
            ring = Ring(ring.me.value * 0.9 + 0.3)
            total += abs(ring.value) + 0.2
        return ring.value + total

    g = td.GuardedTape(program)
    for p in POINTS[:6]:
        assert math.isclose(td.value_and_gradient(g, p)[0], program(p.copy()), rel_tol=1e-10)
    assert np.isfinite(td.gradient(g, POINTS[0])).all()
