"""Terms of a long sum that are computed alike, but do not follow one another, become one loop for each kind."""

from itertools import pairwise

import numpy as np
import pytest

import tapediff as td
from tapediff.base.settings import settings
from tapediff.functions.callees.rolled_loop import rolled
from tapediff.ir.interpreter import run
from tapediff.passes.rolling.alike.alike_terms import alike_terms

rng = np.random.default_rng(20261126)
GROUPS = 80
LENGTHS = rng.integers(3, 8, GROUPS)
ENDS = np.concatenate([[0], np.cumsum(LENGTHS)])
ROWS = rng.normal(size=(ENDS[-1], 2))
SEEN = rng.normal(size=ENDS[-1])
P = np.array([0.3, -0.2, 0.4, 0.1])


def parts():
    return [(ROWS[a:b], SEEN[a:b]) for a, b in pairwise(ENDS)]


def sums_of_squares(p):
    total = 0.0
    for rows, seen in parts():
        off = seen - rows @ p[:2]
        total += -0.5 * np.sum((off - p[2] * np.mean(off)) ** 2) * np.exp(-p[3]) - 0.5 * np.log(len(seen) + np.exp(p[3]))
    return total


def slices_of_one_array(p):
    off = SEEN - ROWS @ p[:2]
    total = 0.0
    for a, b in pairwise(ENDS):
        part = off[a:b]
        total += np.log(np.sum(np.exp(p[2] * part))) - np.max(part) * p[3]
    return total


def an_array_of_a_list(p):
    terms = []
    for rows, seen in parts():
        off = np.sin(seen - rows @ p[:2])
        terms.append(np.sum(off * off) * np.exp(p[2]) + p[3] * np.prod(1.0 + 0.1 * off))
    return np.sum(np.array(terms) ** 2) / 10.0


def looks_at_values(p):
    total = 0.0
    for rows, seen in parts():
        off = seen - rows @ p[:2]
        total += np.sum(off**2) * p[2] if np.sum(off) > -1e3 else p[3] * np.sum(off)
        total += np.sum(np.cos(off)) * p[3]
    return total


PROGRAMS = [
    sums_of_squares, slices_of_one_array, an_array_of_a_list,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_groups_of_each_length_are_recorded_once(f, monkeypatch):
    tape = td.record(f, P)
    monkeypatch.setattr(settings, "left_out", frozenset({"batch_alike"}))
    few = len(rolled(tape).instructions)
    monkeypatch.setattr(settings, "left_out", frozenset({"batch_alike", "alike_terms"}))
    many = len(rolled(td.record(f, P)).instructions)
    assert 2 * few < many
    assert 3 * few < len(tape.instructions)


@pytest.mark.parametrize("f", [*PROGRAMS, looks_at_values], ids=lambda f: f.__name__)
def test_answers_are_the_same(f):
    tape, compiled = td.record(f, P), td.compile(f, P)
    for x in (P, P[::-1]):
        value, gradient = td.value_and_gradient(compiled, x)
        np.testing.assert_allclose(value, f(x), rtol=1e-12)
        np.testing.assert_allclose(gradient, td.gradient(tape, x), rtol=1e-10, atol=1e-12)
    differences = [(f(P + step) - f(P - step)) / 2e-6 for step in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(td.gradient(compiled, P), differences, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("f", PROGRAMS[:3], ids=lambda f: f.__name__)
def test_second_derivatives(f):
    tape, v = td.record(f, P), np.array([1.0, -0.5, 2.0, 0.3])
    np.testing.assert_allclose(td.hvp(td.compile(f, P), P, v), td.hvp(tape, P, v), rtol=1e-10)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_only_the_order_of_instructions_changes(f):
    """The same ones, each behind its operands; and every bit of the value is as before."""
    tape = td.record(f, P)
    other = alike_terms(tape)
    assert other is not tape
    other.check()
    names = lambda t: sorted((i.op.name, str(i.type)) for i in t.instructions)
    assert names(other) == names(tape)
    assert run(other, [P]) == run(tape, [P])


def alternating(p):
    total = 0.0
    for t in range(120):
        total += np.sin(p[0] * t) if t % 2 else p[1] * np.cos(p[2] * t)
    return total


def one_kind(p):
    total = 0.0
    for t in range(120):
        total += np.sin(p[0] * t) * p[1] - np.exp(p[2])
    return total


@pytest.mark.parametrize("f", [alternating, one_kind, looks_at_values], ids=lambda f: f.__name__)
def test_what_is_a_loop_as_it_stands_depends_on_the_term_before_or_has_guards_is_left_alone(f):
    tape = td.record(f, P)
    assert alike_terms(tape) is tape
