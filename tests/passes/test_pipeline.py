"""The passes: each keeps the outputs, shortens what it is named for, and leaves guards as they are."""

from dataclasses import replace

import numpy as np
import pytest

import tapediff as td
from tapediff.passes.pipeline import PIPELINE, PREPARE, Stage, run_passes
from tapediff.passes.simplify.common_subexpressions import common_subexpressions
from tapediff.passes.simplify.dead_code import dead_code
from tapediff.passes.simplify.fold_constants import fold_constants
from tapediff.passes.simplify.forward_writes import forward_writes
from tapediff.passes.simplify.sink_broadcasts import sink_broadcasts
from tapediff.passes.simplify.stable_softplus import stable_softplus
from tapediff.passes.simplify.sum_before_reshape import sum_before_reshape
from tapediff.targets.tapes.gradient_tape import gradient_tape
from tapediff.transforms.reverse import reverse

X = np.array([1.0, -2.0, 3.0])
EVERY_PASS = sorted({stage.run for stage in (*PREPARE, *PIPELINE)}, key=lambda each: each.__name__)


def names(tape):
    return [i.op.name for i in tape.instructions]


def guarded(x):
    unused = np.exp(x) * 3.0
    assert unused.shape == (3,)
    y = np.broadcast_to(np.sum(x), (3,)) * x + np.sum(x)
    if y[0] > 0:
        y = y + np.broadcast_to(2.0 * x[0], (3,)) * 1.0
    if np.ones(3)[0] > 0:
        y = np.negative(np.negative(y))
    k = int(y[0])
    return np.sum(np.log1p(np.exp(y))) * k + np.where(True, y[1], 0.0)


@pytest.mark.parametrize("each", EVERY_PASS, ids=[e.__name__ for e in EVERY_PASS])
def test_a_pass_keeps_outputs_and_guards(each):
    """Same value, same gradient, same guards in order with ordinal, outcome and line; and the tape passes its check."""
    before = td.record(guarded, X)
    after = each(before)
    after.check()
    assert [(g.ordinal, g.kind, g.outcome, g.site) for g in after.guards] == [(g.ordinal, g.kind, g.outcome, g.site) for g in before.guards]
    assert len(after) <= len(before) + 2
    for point in (X, X * 1.01):
        assert after(point) == pytest.approx(before(point), rel=1e-14)
    with pytest.raises(td.GuardFailed) as raised:
        after(-X)
    with pytest.raises(td.GuardFailed) as expected:
        before(-X)
    assert str(raised.value) == str(expected.value)


def test_the_pipeline_is_checked_after_every_pass():
    tape = run_passes(reverse(run_passes(td.record(guarded, X), PREPARE, check=True), (0,)), check=True)
    assert np.allclose(tape(X)[1], gradient_tape(td.record(guarded, X), (0,))(X)[1], rtol=1e-14)
    again = run_passes(tape, check=True)
    assert len(again) == len(tape)


def test_dead_code_removes_what_nothing_needs():
    assert names(dead_code(td.record(lambda x: (np.exp(x), np.sum(x))[1], X))) == ["input", "sum"]
    tape = td.record(lambda x: np.sum(x), X)
    assert dead_code(tape) is tape


def test_equal_operations_are_computed_once():
    tape = common_subexpressions(td.record(lambda x: np.exp(x) * np.exp(x) + np.sum(x) - np.sum(x, axis=0), X))
    assert names(tape).count("exp") == 1
    assert names(tape).count("sum") == 1


def test_operations_with_other_parameters_or_signs_of_zero_are_not_equal():
    def f(x):
        m = x.reshape(3, 1) * x
        return m.sum(axis=0) + m.sum(axis=1) + np.cumsum(m, 0)[2] + np.copysign(x, 0.0) + np.copysign(x, -0.0) + x[0] + x[1]

    tape = common_subexpressions(td.record(f, X))
    assert np.array_equal(tape(X + 1), f(X + 1))
    assert names(tape).count("copysign") == 2


def test_constants_are_folded():
    tape = td.record(lambda x: x * np.sqrt(td.stop_gradient(td.zeros(3)[0] + 2.0)), X)
    assert names(dead_code(fold_constants(tape))) == ["input", "constant", "multiply"]


def test_multiplying_by_one_and_choosing_between_equals_are_dropped():
    def f(x):
        return np.where(np.array(True), 1.0 * x / 1.0, x * 2.0) + np.where(x > 0, x, x) + np.negative(np.negative(x))

    tape = run_passes(td.record(f, X))
    assert names(tape) == ["input", "add", "add"]


def test_multiplying_by_an_array_of_ones_is_dropped_however_it_was_shaped():
    tape = run_passes(td.record(lambda x: x * np.broadcast_to(np.ones((1, 1)) * td.zeros(1) + 1.0, (2, 3)).reshape(3, 2).T[:, 0], X[:2]))
    assert "multiply" not in names(tape)


def test_a_part_that_is_the_whole_array_is_the_array():
    """A new axis is a reshape, in both directions; reversed or partial, it is a part as before."""
    assert names(run_passes(td.record(lambda x: x[:, None][:, 0] * 2.0, X))) == ["input", "constant", "multiply"]
    tape = td.record(lambda x: x[::-1] * x[:3] + x[:1], X)
    assert names(run_passes(tape)).count("index") == 2
    assert np.array_equal(run_passes(tape)(2 * X), tape(2 * X))


def test_a_large_constant_is_not_made_by_folding():
    """A broadcast number stays an instruction; data are not copied in another order."""
    tape = run_passes(td.record(lambda x: np.sum(x * np.broadcast_to(td.zeros(1) + 2.0, (300, 300, 3))), X))
    assert max(i.params[0].size for i in tape.instructions if i.op.name == "constant") <= 4096


def test_a_guard_on_constants_costs_nothing():
    tape = td.record(lambda x: x.sum() if td.zeros(3)[0] == 0 else x.prod(), X)
    assert len(tape.guards) == 1
    assert len(fold_constants(tape).guards) == 0


GRID = np.linspace(-1.0, 2.0, 12).reshape(4, 3)


@pytest.mark.parametrize(
    ("f", "shape", "sums"),
    [
        (lambda x: np.sum(np.broadcast_to(x, (5, 4, 3))), (4, 3), ["float64[]"]),
        (lambda x: np.sum(np.broadcast_to(x, (5, 4, 3)), axis=0), (4, 3), []),
        (lambda x: np.sum(np.broadcast_to(x, (5, 4, 3)), axis=(0, 2)), (4, 3), ["float64[4]"]),
        (lambda x: np.sum(np.broadcast_to(x, (5, 4, 3)), axis=1), (4, 3), ["float64[3]"]),
        (lambda x: np.sum(np.broadcast_to(x, (4, 7)), axis=1, keepdims=True), (4, 1), []),
        (lambda x: np.sum(np.broadcast_to(x, (4, 7)), axis=0), (4, 1), ["float64[1]"]),
        (lambda x: np.sum(np.broadcast_to(x, (2, 1, 1)), axis=(1, 2)), (1, 1), []),
        (lambda x: np.sum(np.broadcast_to(x[:, :1], (4, 6)).reshape(2, 2, 3, 2), axis=(1, 3)), (4, 3), ["float64[2, 1, 1]"]),
    ],
)
def test_a_sum_over_copies_is_a_multiplication(f, shape, sums):
    """Only the axes that the value has itself are summed over; shape and value are as before."""
    before = td.record(f, np.ones(shape))
    after = dead_code(sink_broadcasts(before))
    after.check()
    assert [str(i.type) for i in after.instructions if i.op.name == "sum"] == sums
    x = GRID.reshape(-1)[: np.prod(shape)].reshape(shape)
    assert np.shape(after(x)) == np.shape(f(x))
    np.testing.assert_allclose(after(x), f(x), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e308, -0.0])
def test_the_sum_of_copies_of_an_extreme_number_is_numpys(value):
    tape = run_passes(td.record(lambda x: np.sum(np.broadcast_to(x, (7, 3)), axis=0), X))
    assert "sum" not in names(tape)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(tape(np.full(3, value)), np.full((7, 3), value).sum(axis=0))


def test_a_sum_over_no_copies_is_zero_and_not_zero_times_infinity():
    tape = run_passes(td.record(lambda x: np.sum(np.broadcast_to(x, (0, 3)), axis=0) + 0.0 * x[0], X))
    assert np.array_equal(tape(np.array([1.0, np.inf, np.nan])), np.zeros(3))


@pytest.mark.parametrize(
    ("f", "moves"),
    [
        (lambda x: np.sum(np.exp(x).reshape(-1)), True),
        (lambda x: np.sum(np.exp(x).reshape(8, 2, 8), axis=(1, 2)), True),
        (lambda x: np.sum(np.exp(x).reshape(1, 8, 1, 16, 1), axis=(0, 3, 4)), True),
        (lambda x: np.sum(np.exp(x).reshape(8, 2, 8), axis=1), False),
        (lambda x: np.sum(np.exp(x).T), True),
        (lambda x: np.sum(np.exp(x).reshape(8, 4, 4).transpose(1, 2, 0), axis=1), False),
        (lambda x: np.sum(np.exp(x.reshape(2, 4, 16)).transpose(2, 1, 0), axis=1), True),
        (lambda x: np.sum(np.exp(x.reshape(2, 4, 16)).transpose(2, 1, 0).reshape(16, 8), axis=1), True),
        (lambda x: np.sum(x.reshape(-1)), False),
        (lambda x: np.sum(np.exp(x.reshape(32, 4)).reshape(-1)), False),
    ],
)
def test_sums_are_taken_before_reshapes_where_that_needs_no_array(f, moves):
    """Same shape and values. Not where a sum runs over a part of an axis, or where nothing would be computed in its loop."""
    x = np.linspace(-1.0, 2.0, 128).reshape(8, 16)
    before = td.record(f, x)
    after = dead_code(sum_before_reshape(before))
    after.check()
    total = next(i for i in after.instructions if i.op.name == "sum")
    assert (after.instructions[total.inputs[0]].op.name == "exp") == moves
    for tape in (after, td.compile(before)):
        assert np.shape(tape(2 * x)) == np.shape(f(2 * x))
        np.testing.assert_allclose(tape(2 * x), f(2 * x), rtol=1e-14)


def test_the_product_of_a_summed_kron_is_not_stored():
    """Neither forward nor backward: no array of its size, and no loop over it but the one that sums it."""
    a, b = np.arange(12.0).reshape(3, 4), np.linspace(0.0, 1.0, 40).reshape(5, 8)
    compiled = td.compile(td.record(lambda x: np.log(np.sum(np.kron(x.reshape(3, 4), b)) ** 2), a.ravel()))
    kernel = compiled.kernel((0,))
    assert kernel.program.workspace_bytes < 8 * b.size
    value, gradient = td.value_and_gradient(compiled, a.ravel())
    assert value == pytest.approx(2 * np.log(a.sum() * b.sum()), rel=1e-13)
    np.testing.assert_allclose(gradient, 2 / a.sum(), rtol=1e-13)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.broadcast_to(x[:1], (3,)) * x,
        lambda x: np.broadcast_to(x.reshape(3, 1), (3, 3)) * x,
        lambda x: (x.reshape(1, 3) @ x.reshape(3, 1)).reshape(()) * x,
        lambda x: (x.reshape(1, 3) @ x.reshape(3, 1)).reshape(1) * x[0],
        lambda x: np.exp(np.broadcast_to(x, (4, 3))) + np.broadcast_to(x, (4, 3)),
        lambda x: np.sum(x, keepdims=True).reshape(1, 1, 1) * x,
    ],
)
def test_broadcasts_sink_behind_elementwise_operations(f):
    """Same shape and values, also where a reshape of one number drops axes."""
    tape = sink_broadcasts(td.record(f, X))
    tape.check()
    assert tape(2 * X).shape == f(2 * X).shape
    assert np.allclose(tape(2 * X), f(2 * X), rtol=1e-15)


def test_what_is_broadcast_is_computed_once_not_once_per_copy():
    tape = dead_code(sink_broadcasts(td.record(lambda x: np.exp(np.broadcast_to(x, (4, 3))), X)))
    assert [str(i.type) for i in tape.instructions] == ["float64[3]", "float64[3]", "float64[4, 3]"]


@pytest.mark.parametrize(
    "f", [lambda x: np.log(1 + np.exp(x)), lambda x: np.log(np.exp(x) + 1.0), lambda x: np.log1p(np.exp(x)),
          lambda x: np.logaddexp(0.0, x), lambda x: np.logaddexp(x, 0)]
)  # fmt: skip
def test_softplus_is_recognised(f):
    assert "softplus" in names(stable_softplus(td.record(f, X)))
    tape = td.record(lambda x: np.sum(f(x)), X)
    assert np.array_equal(td.gradient(tape, np.array([1000.0, -1000.0, 1e308])), [1.0, 0.0, 1.0])


@pytest.mark.parametrize("f", [lambda x: np.log(2 + np.exp(x)), lambda x: np.log(1 - np.exp(-abs(x))), lambda x: np.log(x + np.exp(x)),
                               lambda x: np.logaddexp(x, 1.0), lambda x: np.logaddexp(x[0], np.zeros(3)), lambda x: np.logaddexp(x, x)])  # fmt: skip
def test_what_is_not_softplus_is_left_alone(f):
    tape = td.record(f, np.abs(X))
    assert stable_softplus(tape) is tape


def written(x):
    y = td.zeros(3)
    view = y[1:]
    for i in range(3):
        y[i] = np.exp(x[i]) + y[i - 1]
        view *= x[0]
    old = y.copy()
    y.reshape(3, 1)[:2, 0] += old[1:] * 2.0
    return np.sum(y * old) + np.where(np.sum(y) > 0, y[0], 0.0)


@pytest.mark.parametrize("each", EVERY_PASS, ids=[e.__name__ for e in EVERY_PASS])
@pytest.mark.parametrize("f", [guarded, written])
def test_without_any_one_of_the_passes_the_answers_are_the_same(f, each):
    tape = td.record(f, X)
    prepared = run_passes(tape, [s for s in PREPARE if s.run is not each], check=True)
    joint = run_passes(reverse(prepared, (0,)), [s for s in PIPELINE if s.run is not each], check=True)
    expected = gradient_tape(td.record(f, X), (0,))(X * 1.01)
    value, gradient = joint(X * 1.01)
    assert value == pytest.approx(expected[0], rel=1e-14)
    assert np.allclose(gradient, expected[1], rtol=1e-13)


def forwarded(f, x=X):
    tape = td.record(f, x)
    after = dead_code(forward_writes(dead_code(tape)))
    after.check()
    assert np.array_equal(after(x * 2.0), tape(x * 2.0))
    return names(after)


def filled(x):
    y = td.zeros(3)
    for i in range(3):
        y[i] = x[i] * 2.0
    return y


def test_an_array_that_is_filled_is_assembled_once():
    assert forwarded(filled) == ["input", "index", "constant", *["multiply", "index"] * 2, "multiply", "assemble"]


def test_what_was_written_is_read_without_the_array():
    assert sorted(forwarded(lambda x: filled(x)[1])) == ["constant", "index", "input", "multiply"]
    assert forwarded(lambda x: np.stack([x * 2.0, x])[1] + np.stack([x, x])[1, 0]) == ["input", "index", "add"]


def test_an_array_that_is_joined_and_cut_elsewhere_is_made():
    """Its pieces would not be the values it was joined from, and their cotangents would be collected apart."""

    def f(x):
        joined = np.concatenate([x, np.exp(x)])
        return joined[1:5] * joined[:4] + joined[3:][0]

    assert forwarded(f) == ["input", "exp", "assemble", "index", "index", "multiply", "index", "add"]


def test_what_is_overwritten_is_dropped():
    def f(x):
        y = np.exp(x)
        y[:] = x * 3.0
        y[1] = np.sin(x[0])
        y[1] = 5.0
        return y

    assert forwarded(f) == ["input", "constant", "multiply", "constant", "replace"]


def test_an_array_that_is_read_whole_after_every_write_is_written_once_for_each():
    def f(x):
        y = x * 1.0
        total = np.sum(y)
        for i in range(3):
            y[i] = total
            total = np.sum(y)
        return total

    assert forwarded(f).count("replace") == 3


def test_windows_are_made_of_the_one_before():
    """Each read of five entries takes four from the last read and one new."""

    def f(x):
        y = td.zeros(30)
        y[:5] = x
        for i in range(5, 30):
            y[i] = np.sum(y[i - 5 : i])
        return y[29]

    tape = forward_writes(dead_code(td.record(f, np.arange(5.0))))
    assert max(len(i.inputs) for i in tape.instructions if i.op.name == "assemble") == 2


def test_a_tape_without_writes_is_left_alone():
    tape = td.record(lambda x: np.sum(x[1:] * x[:-1]), X)
    assert forward_writes(tape) is tape


def test_the_cotangents_of_a_quotient_share_a_division():
    """Both are zero, infinite or not a number where the derivative is, also at the ends of the range."""
    tape = gradient_tape(td.record(lambda x: np.sin(x[0] / x[1]), X), (0,))
    assert names(tape).count("divide") == 2
    slope = gradient_tape(td.record(lambda x: x[0] / x[1], X), (0,))
    with np.errstate(all="ignore"):
        for x, y in ((1e200, 1e-100), (3.0, np.inf), (0.0, 1e-300), (-1e-300, 1e200), (5.0, -2.0)):
            np.testing.assert_allclose(slope(np.array([x, y, 0.0]))[1], [1.0 / y, -(1.0 / y) * (x / y), 0.0], rtol=1e-15)
        assert np.isinf(slope(np.array([1.0, 0.0, 0.0]))[1][:2]).all()
        assert np.isnan(slope(np.array([0.0, 0.0, 0.0]))[1][1])


def test_a_pass_that_would_find_nothing_is_not_run_again():
    """After a pass, and one that preserves its result, it is skipped; after one that changes the tape it is run."""
    runs = []

    def counted(tape):
        runs.append(tape)
        return tape

    same, changed = (lambda tape: tape), (lambda tape: replace(tape))
    tape = td.record(lambda x: x * 2.0, X)
    for stages, count in (
        ([Stage(counted, ""), Stage(counted, "")], 1),
        ([Stage(counted, ""), Stage(same, ""), Stage(counted, "")], 1),
        ([Stage(counted, ""), Stage(changed, ""), Stage(counted, "")], 2),
        ([Stage(counted, ""), Stage(changed, "", preserves=(counted,)), Stage(counted, "")], 1),
        ([Stage(changed, "", preserves=(counted,)), Stage(counted, "")], 1),
    ):
        runs.clear()
        run_passes(tape, stages)
        assert len(runs) == count


def test_every_stage_says_why_it_stands_there():
    assert all(len(stage.why.split()) > 3 for stage in (*PREPARE, *PIPELINE))
