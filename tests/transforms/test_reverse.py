"""The reverse transform: cotangents as instructions of the same tape, their shapes, their zeros, their cost."""

import numpy as np
import pytest

import tapediff as td
from tapediff.ir.instruction import ValueType
from tapediff.passes.pipeline import PREPARE, run_passes
from tapediff.targets.tapes.gradient_tape import gradient_tape
from tapediff.targets.tapes.operator_tapes import jvp_tape, vjp_tape
from tapediff.transforms.reverse import result_of, reverse

X = np.array([1.0, 2.0, 3.0])


def count(tape, *names):
    return sum(i.op.name in names for i in tape.instructions)


def test_the_adjoint_is_appended_to_the_tape():
    """The primal instructions come first, unchanged, and guards keep their places."""
    tape = td.record(lambda x: np.sum(np.exp(x)) if x[0] > 0 else x[0], X)
    joint = reverse(tape, (0,))
    joint.check()
    assert joint.instructions[: len(tape)] == tape.instructions
    assert len(joint.outputs) == 2
    assert len(joint.guards) == 1


def test_adjoint_instructions_carry_the_users_line():
    def f(x):
        return np.sum(np.sin(x))

    joint = gradient_tape(td.record(f, X), (0,))
    cosine = next(i for i in joint.instructions if i.op.name == "cos")
    assert str(cosine.site) == f"test_reverse.py:{f.__code__.co_firstlineno + 1} in f"


def test_what_does_not_depend_on_the_argument_has_no_adjoint():
    def f(x, y):
        return np.sum(np.exp(y) * 2.0) * x[0]

    joint = gradient_tape(td.record(f, X, X), (0,))
    assert count(joint, "exp") == 1
    assert count(joint, "multiply") <= 4


def test_a_zero_gradient_is_a_constant():
    for f in (lambda x: 2.0, lambda x: np.sum(np.floor(x)), lambda x: np.sum(td.stop_gradient(x)), lambda x: np.sum(x > 0) * 1.0):
        joint = gradient_tape(td.record(f, X), (0,))
        assert np.array_equal(joint(X)[1], np.zeros(3))
        assert joint.instructions[joint.outputs[1]].op.name in ("constant", "broadcast")


def test_many_parts_of_one_array_are_gathered_once(flat_loops):
    """x[0], x[1], ... used one by one: one assembly of the parts, not a sum of arrays for each."""
    n = 50
    tape = td.record(lambda x: sum(x[k] ** 2 * (k + 1) for k in range(n)), np.ones(n))
    joint = gradient_tape(tape, (0,))
    assert count(joint, "assemble") == 1
    assert np.array_equal(joint(np.ones(n))[1], 2.0 * np.arange(1, n + 1))


def test_the_number_of_adjoint_instructions_is_a_few_times_the_primal():
    """Linear in the length of the program, at first and at second order."""
    sizes = []
    for length in (50, 100, 200):
        def f(x, length=length):
            for _ in range(length):
                x = np.sin(x) * x
            return x

        first = gradient_tape(td.record(f, 0.7), (0,))
        second = td.record(lambda x: td.gradient(f, x), 0.7)
        sizes.append((len(first) / length, len(gradient_tape(second, (0,))) / length))
    assert max(s[0] for s in sizes) < 10
    assert sizes[-1][1] < 1.2 * sizes[0][1]


@pytest.mark.parametrize("shape", [(), (3,), (1, 3), (3, 1), (2, 3), (0,), (2, 0)])
@pytest.mark.parametrize("other", [(), (1,), (3,), (2, 1), (2, 3), (4, 1, 3)])
def test_a_cotangent_has_the_shape_of_its_value(shape, other):
    """Through broadcasting in every direction, for every operand."""
    try:
        np.broadcast_shapes(shape, other)
    except ValueError:
        return
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=shape), rng.normal(size=other)
    tape = td.record(lambda x, y: np.sum(x * y + x - y / 2.0), x, y)
    _, x_bar, y_bar = gradient_tape(tape, (0, 1))(x, y)
    times = np.ones(np.broadcast_shapes(shape, other))
    assert np.shape(x_bar) == shape
    assert np.shape(y_bar) == other
    assert np.allclose(x_bar, _folded((y + 1.0) * times, shape), rtol=1e-14)
    assert np.allclose(y_bar, _folded((x - 0.5) * times, other), rtol=1e-14)


def test_a_rule_that_gives_a_cotangent_of_another_shape_is_an_error():
    """With both types."""

    def f(x):
        result_of(x._recorder, x * 2.0, ValueType((2,), np.dtype(np.float64)))

    with pytest.raises(td.TapediffError, match="a cotangent has another shape than its value") as error:
        td.record(f, X)
    assert "got: float64[3] for float64[2]" in str(error.value)


def _folded(a, shape):
    extra = a.ndim - len(shape)
    axes = tuple(range(extra)) + tuple(extra + k for k, s in enumerate(shape) if s == 1)
    return a.sum(axis=axes, keepdims=True).reshape(shape)


def test_the_same_value_used_twice_collects_both_cotangents():
    assert td.gradient(lambda x: x * x * x, 2.0) == 12.0
    assert np.array_equal(td.gradient(lambda x: np.sum(x @ x) + np.sum(np.outer(x, x)), X), 2 * X + 2 * X.sum())
    assert np.array_equal(td.gradient(lambda x: np.sum(np.concatenate([x, x[::-1], x[:1]])), X), [3.0, 2.0, 2.0])


def test_a_seed_makes_a_vector_jacobian_product():
    """And the transpose of that is the Jacobian-vector product."""
    tape = td.record(lambda x: np.stack([x[0] * x[1], x[1] ** 2, x[2], x[0]]), X)
    jacobian = np.array([[2.0, 1.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    v, u = np.array([1.0, 2.0, 3.0, 4.0]), np.array([5.0, 6.0, 7.0])
    assert np.array_equal(vjp_tape(tape, (0,))(X, v)[0], v @ jacobian)
    assert np.array_equal(jvp_tape(tape, (0,))(X, u)[0], jacobian @ u)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.where(x >= 0, np.sqrt(x) * 2, 0.0),
        lambda x: np.maximum(np.sqrt(x), 0.0),
        lambda x: np.where(x > 0, np.log(x) * x, 0.0),
    ],
    ids=["where", "maximum", "discarded"],
)
@pytest.mark.parametrize("x", [0.0, 0.25])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_forward_and_reverse_jacobians_agree_where_a_derivative_is_infinite(f, x):
    """An infinite derivative is no discarded one: a wide Jacobian has the rows that single gradients give, to rounding."""
    x, several = np.array([x, 0.5]), lambda x: np.concatenate([f(x)] * 3)
    rows = [td.gradient(lambda x: several(x)[k], x) for k in range(6)]
    assert len(x) < len(several(x))  # so that the Jacobian is taken forward
    np.testing.assert_allclose(td.jacobian(several, x), rows, rtol=1e-14)


def test_derivative_tapes_are_made_once():
    tape = td.record(lambda x: np.sum(x**2), X)
    assert gradient_tape(tape, (0,)) is gradient_tape(tape, (0,))
    assert vjp_tape(tape, (0,)) is vjp_tape(tape, (0,))


def test_a_cotangent_that_is_zero_by_value_keeps_its_own_derivative():
    """The curvature of a masked chain where its cotangent happens to be 0: a discarded branch is told from a chosen one."""
    tape = run_passes(td.record(lambda x: np.sum(np.where(x > -5.0, np.exp(x) - 1.0, 0.0) ** 2), X), PREPARE)
    assert np.allclose(td.hessian(tape, np.zeros(3)), 2.0 * np.eye(3), rtol=1e-15)


def nested_masks(x):
    outer = np.where(x > 1.0, np.where(x > 2.0, np.sqrt(x - 2.0), np.log(x)), np.where(x > 0.0, x**1.5, 1.0 / (x - 0.5)))
    return np.sum(outer * x)


def same_mask_twice(x):
    inner = np.where(x > 1.0, np.log(x) + 1.0, np.sqrt(1.0 - x))
    return np.sum(np.where(x > 1.0, inner**2, np.exp(inner)))


def both_sides_of_one_value(x):
    r = x - 1.0
    return np.sum(np.where(np.abs(r) < 1.0, 0.5 * r * r, np.abs(r) - 0.5))


def one_mask_for_rows(x):
    mask = x[:, None] > np.array([0.5, 1.5])
    return np.sum(np.where(mask, np.sqrt(np.abs(x[:, None] - 0.5)), x[:, None] * x[0]))


@np.errstate(all="ignore")
@pytest.mark.parametrize("f", [nested_masks, same_mask_twice, both_sides_of_one_value, one_mask_for_rows])
def test_what_masks_choose_has_the_derivatives_of_its_own_branch(f):
    x = np.array([-0.7, 0.3, 1.7, 2.6, 0.9])
    gradient = td.gradient(f, x)
    differences = [(f(x + e) - f(x - e)) / 2e-6 for e in 1e-6 * np.eye(x.size)]
    np.testing.assert_allclose(gradient, differences, rtol=1e-7, atol=1e-8)
    hessian = td.hessian(f, x)
    curvature = [(td.gradient(f, x + e) - td.gradient(f, x - e)) / 2e-5 for e in 1e-5 * np.eye(x.size)]
    np.testing.assert_allclose(hessian, curvature, rtol=1e-6, atol=1e-6)
    compiled = td.compile(f, x)
    np.testing.assert_allclose(td.gradient(compiled, x), gradient, rtol=1e-13)
    # Where the derivative of the other branch is infinite.
    edges = np.array([1.0, 2.0, 0.5, 0.0, 1.0])
    assert not np.isnan(td.gradient(f, edges)).any()
    np.testing.assert_allclose(td.gradient(compiled, edges), td.gradient(f, edges))


def test_a_cotangent_is_masked_once_where_both_sides_lead_to_one_value():
    tape = gradient_tape(td.record(both_sides_of_one_value, X), (0,))
    assert count(tape, "isnan") == 0
    assert count(tape, "select") == 2


def test_a_finite_division_of_a_discarded_zero_is_zero():
    """c / x with constants c of which some are 0, at x = 0: the first derivative of log, differentiated again."""
    tape = td.record(lambda x: np.sum(td.gradient(lambda y: np.log(y)[1], x) * X), X)
    for target in (tape, td.compile(tape)):
        assert np.allclose(td.gradient(target, np.array([0.0, 2.0, 0.0])), [0.0, -0.5, 0.0], rtol=1e-15)
