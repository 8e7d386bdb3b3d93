"""Index sets through loops: no entry is lost, and iterations that do not depend on each other stay apart."""

import subprocess
import sys

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
    "a carry that is replaced": lambda c, v: (v, np.sin(c) * v),
    "a carry of a replaced carry": lambda c, v: ((v, c[0] * c[0]), np.exp(c[0] * c[1]) * v),
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


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("body", "reach"), [("a carry that is replaced", 1), ("a carry of a replaced carry", 2)])
def test_replaced_carries_remember_few_iterations(body, reach, reverse):
    """The Hessian of a chain written as a scan has the entries of neighbours, from either end, and a start that is a variable too."""
    def f(x):
        start = (x[-1], x[-2]) if reach == 2 else x[-1]
        carry, results = td.scan(BODIES[body], start, x[:-2], reverse=reverse)
        return np.sum(results**2) + np.sum(np.stack(np.ravel(carry)) ** 2 if reach == 1 else carry[0] * carry[1])

    rows, columns = td.sparse_hessian(f, X).nonzero()
    found = td.sparse_hessian(f, X)
    inside = np.maximum(rows, columns) < len(X) - 2
    assert np.max(np.abs(rows - columns)[inside]) == reach
    np.testing.assert_allclose(found.toarray(), td.hessian(f, X), rtol=1e-12, atol=1e-14)
    h = 1e-5  # error 1e-10 by truncation, 1e-11 by rounding
    differences = np.stack([(td.gradient(f, X + h * e) - td.gradient(f, X - h * e)) / (2.0 * h) for e in np.eye(len(X))])
    np.testing.assert_allclose(found.toarray(), differences, atol=1e-8)
    assert hessian_sweeps(td.record(f, X), (0,)).count <= 3 + 2 * reach


def test_a_loop_may_be_the_first_thing_that_a_process_differentiates():
    """By a verb that neither records nor compiles a target."""
    program = "import numpy as np, tapediff as td; f = lambda x: np.sum(td.scan(lambda c, v: (v, c * v), 0.0, x)[1]); print(td.{}(f, np.ones(3)))"
    for verb in ("sparse_hessian", "vjp"):
        done = subprocess.run([sys.executable, "-c", program.format(verb)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
