"""Operations that are alike and stand anywhere on a long tape, at once."""

import numpy as np
import pytest
from support.agreement import by_numpy
from support.passes import without

import tapediff as td
from tapediff.base.settings import settings
from tapediff.functions.callees.rolled_loop import rolled
from tapediff.passes.rolling.alike import batch_alike as module
from tapediff.targets.tapes.long_tapes import long_program

RNG = np.random.default_rng(3)
POINT, OTHER = np.random.default_rng(4).uniform(0.2, 0.8, size=(2, 4))
LENGTHS = RNG.integers(3, 30, 150)
ENDS = np.cumsum(LENGTHS)
GROUPS = [slice(end - n, end) for n, end in zip(LENGTHS, ENDS)]
X, Y = RNG.normal(size=(ENDS[-1], 3)), RNG.normal(size=ENDS[-1])
RANKINGS = [RNG.permutation(60)[: RNG.integers(4, 12)] for _ in range(60)]
TIED = [RNG.permutation(300)[: RNG.integers(1, 6)] for _ in range(150)]


def groups_of_different_lengths(p):
    total = 0.0
    for g in GROUPS:
        e = Y[g] - X[g] @ p[:3]
        total += np.log(e @ e + np.exp(p[3])) - np.sum(e) ** 2 / (len(e) + p[3])
    return total


def groups_that_are_subtracted(p):
    """From zero, so that no term is added; products from the left, and rows by a matrix of the parameters."""
    total, a = 0.0, np.outer(p[:3], p[:3]) + np.eye(3)
    for g in GROUPS:
        total -= np.sum(np.tanh(X[g] @ a)) * p[3] + np.max(np.exp(Y[g] * p[0]))
    return total


def products_of_one_matrix(p):
    """With vectors that differ; the sums of some are read again, so that they are no parts of the total."""
    a, total, kept = np.outer(p[:3], p[1:]), 0.0, []
    for k in range(150):
        v = a @ (X[k] + p[:3])
        total = total + np.exp(-(v @ X[k + 1]))
        if k % 20 == 3:
            kept.append(total)
    return total + np.sum(np.stack(kept) ** 2)


def ties(p):
    """Efron's ties of Cox's model: a product of matrices and a running sum, and numbers of these."""
    weights = np.exp(X[:300] @ p[:3])
    risk, total = np.cumsum(weights), 0.0
    for k, tied in enumerate(TIED):
        of_tied = np.sum(weights[tied])
        total += np.sum(np.log(weights[tied]))
        for j in range(len(tied)):
            total -= np.log(risk[299 - k] + of_tied - j / len(tied) * of_tied + p[3])
    return total


def rankings(p):
    worth, total = np.sin(np.arange(60.0)[:, None] * p).sum(axis=1), 0.0
    for ranking in RANKINGS:
        v = worth[ranking]
        for k in range(len(ranking) - 1):
            total += v[k] - np.log(np.sum(np.exp(v[k:])))
    return -total


def whole_numbers_and_masks(p):
    """Comparisons, selections, counts, entries that are written, and constants in between."""
    total = 0.0
    for g in GROUPS:
        e = X[g] @ p[:3]
        w = np.where(e > 0.3 * p[3], e, 0.1 * e)
        n = np.sum(w > 0.0)
        v = np.concatenate([w[:2], [1.0], w[2:] * p[0]])
        v[1] = p[1]
        total += np.sum(v * v) / (1.0 + n) + np.prod(v[:2])
    return total


def terms_that_are_added_again(p):
    """Each is in the total as often as it was added."""
    v, total = np.log(np.abs(X[:40] @ p[:3]) + p[3]), 0.0
    for k in range(900):
        total = total + v[k * k % 37] + np.tanh(v[k % 11])
    return total


def a_guard_before(p):
    head = p[0] * 2.0 if p[0] > 0.0 else p[1]
    return head + groups_of_different_lengths(p) * head


PROGRAMS = [
    groups_of_different_lengths, groups_that_are_subtracted, products_of_one_matrix, ties, rankings, whole_numbers_and_masks,
    terms_that_are_added_again, a_guard_before,
]  # fmt: skip


@pytest.fixture(autouse=True)
def terms_as_they_stand(monkeypatch):
    """Terms that are alike would become loops of their own."""
    monkeypatch.setattr(settings, "left_out", settings.left_out | {"alike_terms"})


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_a_long_tape_becomes_a_short_one(function):
    """Of 150 groups a tenth of the instructions, or less; its replay gives what that of the tape gives."""
    tape = td.record(function, POINT)
    made = rolled(tape)
    made.check()
    assert 10 * len(made) <= len(tape)
    assert long_program(tape, (0,)) is None
    for point in (POINT, OTHER):
        # Sums in another order.
        np.testing.assert_allclose(by_numpy(lambda p=point: made(p)), function(point), rtol=1e-12)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.slow
def test_derivatives_are_those_of_the_tape_as_it_is(function):
    """By kernels, and by NumPy's replay of the same tape; sums are added in another order."""
    compiled, direction = td.compile(function, POINT), OTHER - 0.4
    tape = td.record(function, POINT)
    for point in (POINT, OTHER):
        expected = without(["batch_alike"], lambda p=point: by_numpy(lambda: td.gradient(td.record(function, POINT), p)))
        scale = np.abs(expected).max()
        value, gradient = td.value_and_gradient(compiled, point)
        np.testing.assert_allclose(value, function(point), rtol=1e-12)
        np.testing.assert_allclose(gradient, expected, rtol=1e-10, atol=1e-12 * scale)
        np.testing.assert_allclose(by_numpy(lambda p=point: td.gradient(tape, p)), expected, rtol=1e-10, atol=1e-12 * scale)
        product = without(["batch_alike"], lambda p=point: by_numpy(lambda: td.hvp(td.record(function, POINT), p, direction)))
        np.testing.assert_allclose(td.hvp(compiled, point, direction), product, rtol=1e-9, atol=1e-11 * np.abs(product).max())
    if function in (ties, groups_of_different_lengths):
        np.testing.assert_allclose(td.hessian(compiled, point) @ direction, product, rtol=1e-9, atol=1e-11 * np.abs(product).max())


def test_guards_and_what_they_look_at_stay_as_they_are():
    """Instructions up to the last guard are those of the tape."""
    tape = td.record(a_guard_before, POINT)
    made = rolled(tape)
    assert [g.outcome for g in made.guards] == [g.outcome for g in tape.guards]
    with pytest.raises(td.GuardFailed):
        td.compile(tape)(-POINT)


def unlike(p, count=1200):
    """Operations on numbers of which each needs any of those before."""
    values, draw = [p[k] for k in range(4)], np.random.default_rng(0)
    for kind in draw.integers(4, size=count):
        a, b = (values[k] for k in draw.integers(len(values), size=2))
        values.append(np.sin(a) if kind == 0 else a * b * 0.5 if kind == 1 else np.exp(-a * a) if kind == 2 else a / (1.5 + b * b))
    return sum(values[-600:])


def test_operations_that_are_not_alike_stay_as_they_are():
    """Given up as soon as there are more operations than pay."""
    tape = without(["batch_alike"], lambda: rolled(td.record(unlike, POINT)))
    assert module.batch_alike(tape) is tape
    assert long_program(td.record(unlike, POINT), (0,)) is not None


def test_of_the_sums_of_one_length_each_is_a_row_and_of_many_lengths_all_are_one(monkeypatch):
    """The same numbers either way."""
    names = {}
    for most in (0, 100):
        monkeypatch.setattr(module, "MOST_LENGTHS", most)
        made = rolled(td.record(groups_of_different_lengths, POINT))
        names[most] = [i.op.name for i in made.instructions]
        np.testing.assert_allclose(by_numpy(lambda t=made: t(OTHER)), groups_of_different_lengths(OTHER), rtol=1e-12)
    assert "scatter_add" in names[0]
    assert "scatter_add" not in names[100]
    assert names[100].count("sum") > 20


HEADS = np.random.default_rng(5).normal(size=(8, 12, 16))


def attends_to_what_came_before(p):
    """Products of stacks that loops have made, beside others of the same shapes but for the stack."""
    keys, values = np.outer(np.resize(p, 16), np.resize(p[::-1], 32)).reshape(16, 2, 16).transpose(1, 0, 2)
    total = 0.0
    for h in HEADS:
        k, v = h @ keys, h @ values
        for t in range(12):
            weights = np.array([h[t] @ k[s] for s in range(t + 1)])
            total += np.sum(sum(weights[s] * v[s] for s in range(t + 1)) ** 2)
    return total


def test_products_of_stacks_stay_by_themselves():
    tape = td.GuardedTape(attends_to_what_came_before)
    for point in (POINT, OTHER):
        value, gradient = td.value_and_gradient(tape, point)
        np.testing.assert_allclose(value, attends_to_what_came_before(point), rtol=1e-11)
        for k, step in enumerate(1e-6 * np.eye(4)):
            difference = (attends_to_what_came_before(point + step) - attends_to_what_came_before(point - step)) / 2e-6
            np.testing.assert_allclose(gradient[k], difference, rtol=1e-6)
