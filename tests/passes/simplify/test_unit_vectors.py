"""Large constants of unit vectors become comparisons of indices; the values stay."""

import numpy as np
import pytest

import tapediff as td
from tapediff.ir.instruction import CONSTANT
from tapediff.passes.simplify import unit_vectors
from tapediff.targets.tapes.matrix_tapes import hessian_tape


def constants(tape):
    return [i.type.size for i in tape.instructions if i.op is CONSTANT]


@pytest.mark.parametrize(("array", "is_replaced"), [
    (np.eye(20), True),
    (-2.5 * np.eye(20)[:, ::-1].reshape(20, 4, 5), True),
    (np.eye(20)[np.arange(40) % 20].T, True),
    (np.eye(25)[:, :20] * (np.arange(20) % 3 > 0), True),
    (np.eye(20) + np.eye(20, k=1), False),
    (np.diag(np.arange(1.0, 21.0)), False),
    (np.zeros((20, 20)), False),
    (np.full(400, np.nan).reshape(20, 20), False),
], ids=["identity", "three axes", "repeated", "columns without entries", "two in a column", "other values", "zeros", "nan"])  # fmt: skip
def test_unit_vectors_are_compared_and_nothing_else(array, is_replaced, monkeypatch):
    """Whatever their order and number."""
    monkeypatch.setattr(unit_vectors, "SMALLEST", 100)
    tape = td.record(lambda x: x[0] * array, np.ones(1))
    made = unit_vectors.unit_vectors_by_index(tape)
    made.check()
    assert (max(constants(made)) < array.size) == is_replaced
    np.testing.assert_array_equal(made(np.array([3.0])), 3.0 * array)


def test_a_hessian_in_sweeps_keeps_no_identity():
    """300 times 300 numbers, otherwise; its kernel agrees with the replay."""
    x = np.linspace(-0.5, 0.5, 300)
    compiled = td.compile(lambda p: np.sum(td.scan(lambda c, u: (np.tanh(c * u + 0.1), c), p, np.linspace(0.0, 1.0, 3))[0] ** 2), x)
    assert max(constants(hessian_tape(compiled.tape, (0,)))) < 1000
    np.testing.assert_allclose(td.hessian(compiled, x), td.hessian(compiled.tape, x), rtol=1e-12, atol=1e-14)
