"""Activity: what no argument that is differentiated reaches is not in the reverse pass, and what only the value needs not in the gradient."""

import numpy as np
import pytest

import tapediff as td
from tapediff.targets.tapes.gradient_tape import is_cheaper_alone, joint_tape

RNG = np.random.default_rng(1)
A, X, B = RNG.normal(size=(40, 60)), RNG.normal(size=60), RNG.normal(size=5000)


def names(tape):
    return [i.op.name for i in tape.instructions]


def test_only_arguments_that_are_differentiated_have_a_reverse_pass():
    """By argnums and by td.Constant: the product with A is pulled back for the first argument alone."""

    def f(a, b):
        return np.sum(np.tanh(A @ a)) * np.sum(np.exp(b))

    tape = td.record(f, X, B)
    forward = names(tape).count("matmul")
    assert names(joint_tape(tape, (0,))).count("matmul") == forward + 1
    assert names(joint_tape(tape, (1,))).count("matmul") == forward
    # The cotangents of b, as many as it has entries, are computed for b alone.
    long = [sum(i.type.shape == B.shape for i in joint_tape(tape, k).instructions) for k in ((0,), (1,), (0, 1))]
    assert long[0] < long[1] == long[2]
    constant = td.record(f, td.Constant(X), B)
    assert constant.active_inputs == (1,)
    assert names(joint_tape(constant, (1,))).count("matmul") == forward


def log_sum(x):
    return np.sum(np.log(np.cosh(x))) + np.prod(np.ones(3) * 2.0)


def sines(x):
    return np.sum(np.sin(x))


def branching(x):
    return np.sum(np.sin(x)) if x[0] > -10 else np.sum(x)


def test_the_gradient_alone_does_not_compute_what_only_the_value_needs():
    """Of sums of sines only the cosines are left; guards stay."""
    tape = td.record(sines, B)
    assert "sin" in names(joint_tape(tape, (0,)))
    assert {"sin", "sum"}.isdisjoint(names(joint_tape(tape, (0,), False)))
    assert "log" not in names(joint_tape(td.record(log_sum, B), (0,), False))
    assert "guard" in names(joint_tape(td.record(branching, B), (0,), False))
    # The wanted entries of a part need still less.
    assert len(joint_tape(td.record(lambda x: 3.0 * np.sum(x), B), (0,), False).instructions) <= 3


def test_every_target_gives_the_same_gradient_with_and_without_the_value():
    """In both orders of the calls; a kernel of its own only where it saves something."""
    for f, saves in ((sines, True), (lambda x: np.sum(np.exp(x)), False), (lambda x: np.sum(x[:10] ** 2), False)):
        wanted = td.value_and_gradient(f, B)[1]
        assert np.array_equal(td.gradient(f, B), wanted)
        tape = td.record(f, B)
        assert np.array_equal(td.gradient(tape, B), wanted)
        for order in ((td.gradient, td.value_and_gradient), (td.value_and_gradient, td.gradient)):
            compiled, out = td.compile(tape), np.empty_like(B)
            for verb in (*order, *order):
                found = verb(compiled, B)
                assert np.allclose(found if verb is td.gradient else found[1], wanted, rtol=1e-14), "the kernels' functions, to 1 ulp"
            assert td.gradient(compiled, B, out=out) is out
            assert np.array_equal(out, compiled.gradient(B))
            assert len(compiled._kernels) == 1 + saves
        assert is_cheaper_alone(tape, (0,)) == saves


def test_the_kernel_of_the_gradient_alone_answers_as_the_other_does():
    """Layouts, further arguments, containers, names, several gradients, recordings; and refuses what that refuses."""

    def f(x, y):
        return np.sum(np.sin(x)) * y if x[0] > 0 else np.sum(x)

    x = np.abs(B)
    compiled = td.compile(f, x, 2.0)
    wanted = 2.0 * np.cos(x)
    double = np.repeat(x, 2)
    for given in (x, double[::2], x.tolist()):
        for _ in range(2):
            assert np.allclose(td.gradient(compiled, given, 2.0), wanted, rtol=1e-14), "1 ulp"
    assert np.allclose(td.gradient(compiled, x, y=np.float64(2.0)), wanted, rtol=1e-14), "1 ulp"
    by_x, by_y = td.gradient(compiled, x, 2.0, argnums=(0, 1))
    assert np.allclose(by_x, wanted, rtol=1e-14), "1 ulp"
    assert np.isclose(by_y, np.sum(np.sin(x)), rtol=1e-12), "a sum in another order"
    out = np.full_like(x, 7.0)
    for _ in range(2):
        with pytest.raises(td.GuardFailed):
            td.gradient(compiled, -x, 2.0, out=out)
    assert np.all(out == 7.0)
    with pytest.raises(td.ShapeMismatch):
        td.gradient(compiled, x[1:], 2.0)
    same = x.copy()
    assert td.gradient(compiled, same, 2.0, out=same) is same
    assert np.allclose(same, wanted, rtol=1e-14), "1 ulp"
    nested = td.compile(lambda d: np.sum(np.sin(d["x"])), {"x": x})
    assert np.allclose(td.gradient(nested, {"x": x})["x"], np.cos(x), rtol=1e-14), "1 ulp"
    single = td.compile(sines, x.astype(np.float32))
    for _ in range(2):
        assert td.gradient(single, x.astype(np.float32)).dtype == np.float32
    by_recording = td.gradient(lambda x: np.sum(td.gradient(compiled, x, 2.0) ** 2), x)
    assert np.allclose(by_recording, -8.0 * np.cos(x) * np.sin(x), rtol=1e-12, atol=1e-14), "rounding"
    with pytest.raises(td.NonScalarOutput):
        td.gradient(td.compile(np.sin, x), x)


def test_the_gradient_alone_of_a_number_is_a_number_of_numpy_at_every_call():
    """A linear loop's gradient does not depend on the point, and is computed without the value from the first call on."""

    def f(x):
        for _ in range(40):
            x = x * 0.5 + 1.0
        return x

    for fast in (td.compile(f, 1.0), td.compile(td.record(f, 1.0))):
        for _ in range(3):
            gradient = td.gradient(fast, 2.0)
            assert type(gradient) is np.float64
            assert gradient == 0.5**40
