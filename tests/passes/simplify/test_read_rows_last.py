"""Products of repeated rows: computed once for each row, with the values and derivatives of the function as written."""

import numpy as np
import pytest

import tapediff as td
from tapediff.ops import Elementwise
from tapediff.ops.matrices.products import MATMUL
from tapediff.passes.pipeline import STRAIGHTEN, Stage, run_passes
from tapediff.passes.simplify.dead_code import dead_code
from tapediff.passes.simplify.read_rows_last import read_rows_last
from tapediff.targets.tapes.gradient_tape import gradient_tape

RNG = np.random.default_rng(8)
S, PAIRS = RNG.integers(0, 9, 300), RNG.integers(0, 9, (150, 2))
H, W, V = RNG.normal(size=(12, 5)), RNG.normal(size=(5, 4)), RNG.normal(size=(4, 3))

EDGES = RNG.normal(size=(300, 3))

PROGRAMS = {
    "a product": (lambda h, w: np.sum(np.sin(h[S] @ w)), 1),
    "by a vector": (lambda h, w: np.sum(np.sin(h[S] @ w[:, 0])), 1),
    "of pairs": (lambda h, w: np.sum(np.cos(h[PAIRS] @ w)), 1),
    "of a function": (lambda h, w: np.sum(np.tanh(h[S]) @ w), 1),
    "two layers": (lambda h, w: np.sum(np.maximum(h[S] @ w + w[0], 0.0) @ V), 2),
    "of matrices": (lambda h, w: np.sum(np.sin(np.stack([h, 2.0 * h * h], axis=1)[S] @ w)), 1),
    "read otherwise, too": (lambda h, w: np.sum(np.sin(h[S] @ w)) * np.sum(h[S][::2] ** 3), 1),
    "messages": (lambda h, w: np.sum(np.tanh(np.concatenate([h[S], h[S[::-1]], EDGES], axis=1) @ np.concatenate([w, w * w, V.T]))), 3),
    "messages to one number": (lambda h, w: np.sum(np.tanh(np.concatenate([EDGES, h[S]], axis=1) @ np.append(V[:, 0], w[:, 1])[1:])), 2),
    "of cheap functions": (lambda h, w: np.sum(np.sin((2.0 * h[S] + 1.0) @ w)), 1),
    "of functions of rows": (lambda h, w: np.sum(np.sin((h[S] / np.sqrt(np.sum(h[S] ** 2, axis=1, keepdims=True))) @ w)), 1),
    "of parts of rows": (lambda h, w: np.sum(np.sin(h[S, 1:] @ w[1:])) + np.sum(np.cos(h[S][:, :4] @ w[:4])), 2),
    "of rows from behind": (lambda h, w: np.sum(np.sin(h[:9][S, ::-1] @ w)), 1),
    "of reshaped rows": (lambda h, w: np.sum(np.sin(h[S].reshape(30, 2, 5, 5) @ w)), 1),
    "by einsum": (lambda h, w: np.sum(np.sin(np.einsum("ij,jk->ik", h[S], w) + w[0])), 1),
    "of weighted rows": (lambda h, w: np.sum(np.sin((h[S] * EDGES[:, :1]) @ w)) + np.sum(np.sin((EDGES[:, 1:2] * h[S]) @ w[:, 0])), 2),
    "of divided rows": (lambda h, w: np.sum(np.sin((h[S] / np.exp(0.1 * EDGES[:, :1] * w[0, 0])) @ w)), 1),
    "of a constant": (lambda h, w: np.sum(h) * np.sum(np.sin(H[S] @ w)), 1),
    "with another of each": (lambda h, w: np.sum((h[S] @ w) * np.linspace(0.0, 1.0, 300)[:, None] * (h[S[::-1]] @ w)), 2),
}


def multiplications(tape):
    types = [i.type for i in tape.instructions]
    return sum(i.type.size * types[i.inputs[0]].shape[-1] for i in tape.instructions if i.op is MATMUL)


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_derivatives_are_those_of_the_function_as_written(name):
    """At another point than recorded, by kernel and replay; second derivatives, too. Products are of 9 rows, not 300."""
    f, products = PROGRAMS[name]
    h, w = H + 0.3, W * 1.1
    tape = td.record(f, H, W)
    compiled = td.compile(tape)
    for target in (tape, compiled):
        assert target(h, w) == pytest.approx(f(h, w), rel=1e-12)
        td.testing.check_gradient(target, f, h, w)
    step = 1e-5
    product = td.hvp(compiled, h, H, w)
    difference = (td.gradient(f, h + step * H, w) - td.gradient(f, h - step * H, w)) / (2 * step)
    np.testing.assert_allclose(product, difference, rtol=1e-6, atol=1e-7 * np.abs(difference).max())  # the square of the step
    moved = run_passes(tape, STRAIGHTEN, check=True)
    assert sum(i.op is MATMUL for i in moved.instructions) == products
    # Entries of edges are of 300 rows as before.
    assert (2.5 if "messages" in name else 16) * multiplications(moved) <= multiplications(tape)
    assert multiplications(gradient_tape(tape, (0, 1))) <= 3 * multiplications(moved)


def test_a_row_that_is_not_read_may_be_nan():
    """It reaches neither value nor cotangents."""
    f = PROGRAMS["a product"][0]
    h = H.copy()
    h[10:] = np.nan
    expected = td.gradient(f, H, W, argnums=(0, 1))
    for target in (td.record(f, H, W), td.compile(f, H, W)):
        assert target(h, W) == pytest.approx(f(H, W), rel=1e-12)
        for found, wanted in zip(td.gradient(target, h, W, argnums=(0, 1)), expected):
            np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("s", [np.arange(300) % 299, RNG.integers(0, 9, 20)])
def test_rows_that_do_not_repeat_and_few_entries_are_left(s):
    tape = run_passes(td.record(lambda h, w: np.sum(h[s] @ w), np.ones((300, 5)), W), STRAIGHTEN)
    assert read_rows_last(tape) is tape


A, B, SIGNS = RNG.normal(size=7), RNG.normal(size=7), np.cos(np.arange(1500.0))
GROUPS, PLACES = RNG.integers(0, 6, 1500), RNG.integers(0, 3, 1500)


@pytest.mark.parametrize(
    ("f", "source"),
    [
        (lambda a, b: np.sum(np.exp(a[GROUPS]) * SIGNS), 6),
        (lambda a, b: np.sum(SIGNS * a[GROUPS] - np.log1p(np.exp(a[GROUPS] + b[GROUPS] * b[0]))), 6),
        (lambda a, b: np.sum(SIGNS * np.exp(np.outer(a, b)[GROUPS, PLACES])), 18),
        (lambda a, b: np.sum(SIGNS * np.sin(np.sum(np.outer(a, b)[GROUPS], axis=1) * np.max(np.outer(b, a)[GROUPS], axis=-1))), 6),
    ],
)
def test_costly_functions_and_sums_are_of_the_numbers_that_are_read(f, source):
    """No costly function has as many entries as are read; other operands are scalars or are read at the same places."""
    tape = td.record(f, A, B)
    moved = run_passes(tape, (*STRAIGHTEN, Stage(dead_code, "copies without readers")), check=True)
    costly = [i.type.size for i in moved.instructions if isinstance(i.op, Elementwise) and i.op.is_costly]
    assert costly
    assert max(costly) == source
    for target in (tape, td.compile(tape)):
        assert target(A + 0.1, B) == pytest.approx(f(A + 0.1, B), rel=1e-12)
        td.testing.check_gradient(target, f, A + 0.1, B)


@pytest.mark.parametrize(
    "f", [lambda a, b: np.sum(np.exp(a[GROUPS] * SIGNS)), lambda a, b: np.sum(np.exp(a[GROUPS] + b[PLACES])), lambda a, b: np.sum(a[GROUPS] * b[GROUPS]),
          lambda a, b: np.sum(np.exp(np.resize(a, 1600)[np.arange(1500) % 700]) * SIGNS)]
)  # fmt: skip
def test_functions_of_other_numbers_too_and_cheap_ones_are_left(f):
    tape = run_passes(td.record(f, A, B), STRAIGHTEN)
    assert read_rows_last(tape) is tape
