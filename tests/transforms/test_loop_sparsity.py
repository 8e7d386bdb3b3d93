"""Index sets through loops: no entry is lost, and iterations that do not depend on each other stay apart."""

import numpy as np
import pytest

import tapediff as td
from tapediff.targets.tapes.gradient_tape import gradient_tape
from tapediff.targets.tapes.matrix_tapes import hessian_sweeps
from tapediff.targets.tapes.operator_tapes import hvp_tape
from tapediff.transforms.sparsity import jacobian_pattern

X = np.linspace(0.2, 1.4, 24)

BODIES = {
    "a sum of terms": lambda c, v: (c + np.sin(v) ** 2, v * v),
    "results of their own iteration": lambda c, v: (c, np.exp(v) * v),
    "a carry that results read": lambda c, v: (np.tanh(c * v), c * v),
    "a carry of a carry": lambda c, v: ((c[0] + v, c[0] * 0.5), c[1] * v),
    "a carry that nothing varies": lambda c, v: (c * 0.5, c * v),
}


def scanned(body, x):
    start = (0.3, 0.1) if "carry of" in body else 0.3
    carry, results = td.scan(BODIES[body], start, x)
    return np.sum(results**2) + (carry[0] if isinstance(carry, tuple) else carry)


@pytest.mark.parametrize("body", BODIES)
def test_no_entry_of_a_loop_is_lost(body):
    """Of the results and last carries of scans, and of their gradients: what products with unit vectors find is in the pattern."""
    tape = td.record(lambda x: scanned(body, x), X)
    joint = gradient_tape(tape, (0,))
    pattern = jacobian_pattern(joint, [0], [1]).toarray()
    product = hvp_tape(tape, (0,))
    dense = np.stack([product(X, e)[0] for e in np.eye(len(X))])
    assert not (np.abs(dense) > 1e-14)[~pattern].any()


@pytest.mark.parametrize("body", BODIES)
def test_no_entry_of_results_is_lost(body):
    """Of the Jacobian of what a scan returns, with rows of several entries and backwards streams."""
    def f(x):
        wide = np.reshape(x, (12, 2))
        results = td.scan(lambda c, row: (BODIES[body](c, row[0])[0], np.stack([row[1] * x[0], BODIES[body](c, row[1])[1]])),
                          (0.3, 0.1) if "carry of" in body else 0.3, wide)[1]  # fmt: skip
        return results

    tape = td.record(f, X)
    pattern = jacobian_pattern(tape, [0], [0])
    dense = td.jacobian(tape, X, mode="forward").reshape(24, 24)
    assert not (dense != 0.0)[~pattern.toarray()].any()


@pytest.mark.parametrize(("body", "count"), [("a sum of terms", 1), ("results of their own iteration", 1), ("a carry that nothing varies", 1)])
def test_iterations_that_do_not_depend_on_each_other_share_products(body, count):
    """The Hessian of a sum over a scan is diagonal."""
    tape = td.record(lambda x: scanned(body, x), X)
    assert hessian_sweeps(tape, (0,)).count == count
