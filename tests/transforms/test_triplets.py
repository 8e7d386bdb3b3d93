"""Matrices in triplets against sweeps, of programs of many kinds; and that no more is computed than there are entries."""

import functools
from dataclasses import replace

import numpy as np
import pytest
from support.side_by_side import times_as_long

import tapediff as td
from tapediff.ir.instruction import FLOAT64, ValueType
from tapediff.ir.interpreter import run
from tapediff.ops import REGISTRY
from tapediff.ops.arrays.indexing import GATHER, PUT, SCATTER_ADD
from tapediff.targets.tapes.operator_tapes import hvp_tape, vjp_tape
from tapediff.targets.tapes.triplet_tapes import hessian_in_triplets, jacobian_in_triplets
from tapediff.transforms.place_triplets import placed
from tapediff.transforms.triplet_rules import accumulate
from tapediff.transforms.triplets import NotInTriplets, Term, Triplets
from tests.ops.test_ops import EVERY_OP, cases, recorded

# Both sides add the same few terms, in other orders.
CLOSE = {"rtol": 1e-11, "atol": 1e-11, "equal_nan": True}
RNG = np.random.default_rng(3)
EDGES = RNG.integers(0, 9, size=(2, 20))
REPEATED = RNG.integers(0, 9, size=12)
SPARSE = np.where(RNG.random((9, 9)) < 0.7, 0.0, RNG.normal(size=(9, 9)))


def _written(x):
    y = x * 1.0
    y[2:6] = x[:4] ** 2
    y[0] = x[8] * x[1]
    y[[7, 5, 7]] = x[:3] * 2.0
    return np.sin(y) * x[4]


def _laplacian(x):
    grid = td.zeros((4, 5))
    grid[1:-1, 1:-1] = x[:6].reshape(2, 3)
    return (grid[1:-1, 2:] + grid[1:-1, :-2] + grid[2:, 1:-1] + grid[:-2, 1:-1] - 4.0 * grid[1:-1, 1:-1]) ** 3


def _added(weights):
    counts = td.zeros(9)
    np.add.at(counts, REPEATED, weights)
    return counts


def _scanned(x):
    return td.scan(lambda c, u: (c * u + 1.0, c * c), x[0], x[1:])[1]


ENTRY_BY_ENTRY = {
    "elementwise": lambda x: np.sin(x) * x,
    "neighbours": lambda x: x[1:] * np.exp(x[:-1]) - x[1:] ** 2,
    "strides": lambda x: x[::2] * x[8::-2] + x[0],
    "transposed": lambda x: (x.reshape(3, 3).T * x.reshape(3, 3))[:, ::-1] ** 2,
    "columns": lambda x: np.stack([x.reshape(3, 3)[:, 0] * x.reshape(3, 3)[:, 1], x.reshape(3, 3)[:, 2] ** 2], axis=1),
    "laplacian": _laplacian,
    "graph": lambda x: (x[EDGES[0]] - x[EDGES[1]]) ** 3,
    "sums by group": lambda x: _added(x[REPEATED] ** 2) * x,
    "softmax": lambda x: np.exp(x) / np.sum(np.exp(x)),
    "one for all": lambda x: x[1:] * np.exp(x[0]),
    "sums of rows": lambda x: np.sum(x.reshape(3, 3) ** 3, axis=1) * x[3:6],
    "outer": lambda x: np.outer(np.sin(x[:4]), x[4:] ** 2),
    "selected": lambda x: np.where(x > 0.1, x * x[::-1], np.sin(x)),
    "selected of the same": lambda x: np.where(x > 0.1, np.sin(x), x**2) + np.where(x < 0.3, 2.0 * x, -x) * x[::-1],
    "kinks": lambda x: np.maximum(x, 0.2) * np.abs(x[::-1]) + np.minimum(x, x[0]),
    "written": _written,
    "concatenated": lambda x: np.concatenate([x**2, np.sin(x[:3]) * x[3:6], [x[0] * x[8]]]),
    "zeros of a constant": lambda x: np.exp(np.where(np.arange(9) % 2 == 0, 0.0, 1.0) * x**2) * x,
    "extremum": lambda x: x * np.max(x) + np.min(x.reshape(3, 3), axis=0)[0],
    "sorted": lambda x: np.sort(x) * x[::-1],
    "matrix": lambda x: np.tanh(SPARSE @ x),
    "two matrices": lambda x: np.tanh(SPARSE[:, :5] @ np.sin(x @ SPARSE[:, 2:7])) * x,
    "dot": lambda x: (x[2:5] @ np.array([1.0, 0.0, 2.0])) * x,
    "float32": lambda x: (x.astype(np.float32) * np.float32(2.0)) ** 2,
}
# What mixes all entries is left to sweeps.
IN_SWEEPS = {
    "matrices": lambda x: np.tanh(SPARSE[:3, :3] @ x.reshape(3, 3) @ SPARSE[3:6, 3:6]),
    "scan": _scanned,
    "cumulated": lambda x: np.cumsum(x * x[0]) ** 2,
    "solved": lambda x: np.linalg.solve(np.tril(np.outer(np.ones(9), x)) + 3.0 * np.eye(9), x),
}
POINTS = RNG.normal(size=9), np.linspace(-0.5, 1.5, 9)


def agree(f, points, close=CLOSE):
    """Dense and sparse Jacobian of f and Hessian of a function of its results, against products one by one."""
    weights = np.random.default_rng(4).normal(size=np.shape(f(points[0])))
    tape = td.record(f, points[0])
    scalar = td.record(lambda x: np.sum(weights * np.tanh(f(x)) ** 2), points[0])
    with np.errstate(all="ignore"):
        for x in points:
            y, pull = td.vjp(tape, x)
            expected = np.array([pull(row.reshape(y.shape))[0] for row in np.eye(y.size)])
            for found in (td.jacobian(tape, x).reshape(expected.shape), td.sparse_jacobian(tape, x).toarray()):
                np.testing.assert_allclose(found, expected, **close)
            expected = np.array([td.hvp(scalar, x, row) for row in np.eye(x.size)])
            for found in (td.hessian(scalar, x), td.sparse_hessian(scalar, x).toarray()):
                np.testing.assert_allclose(found, expected, **close)


@pytest.mark.parametrize("name", [*ENTRY_BY_ENTRY, *IN_SWEEPS])
def test_triplets_give_the_matrices_that_sweeps_give(name):
    """Whether or not they are used."""
    f = {**ENTRY_BY_ENTRY, **IN_SWEEPS}[name]
    # Rounded to 32 bits between the two.
    close = {"rtol": 1e-5, "atol": 1e-5} if name == "float32" else CLOSE
    agree(f, POINTS, close)


@pytest.mark.parametrize("shape", [(1, 3), (1, 2), (1, 1), (3, 1), (2, 2), (2, 3)])
def test_products_of_matrices_with_axes_of_length_one(shape):
    """As x @ x.ravel() of one row, whose terms share the only entry of a vector."""
    point = np.cos(np.arange(1.0, 1.0 + np.prod(shape))).reshape(shape)
    for f in (
        lambda x: x @ (x.ravel() if x.shape[0] == 1 else x.T), lambda x: x.T @ x, lambda x: np.sum(x, axis=1) @ x,
        lambda x: x * (x.ravel() @ x.ravel()), lambda x: np.sum(x) * (x @ x.T), lambda x: np.einsum("ij,kj->ik", x, x) @ x,
    ):  # fmt: skip
        scalar = lambda x, f=f: np.sum(np.sin(f(x)))
        expected = np.array([td.hvp(scalar, point, row.reshape(shape)).ravel() for row in np.eye(point.size)])
        for target in (scalar, td.compile(scalar, point)):
            found = td.hessian(target, point).reshape(point.size, -1)
            np.testing.assert_allclose(found, expected, **CLOSE)


@EVERY_OP
@np.errstate(all="ignore")
def test_entries_of_every_op_are_those_that_products_give(name):
    """Where they are in triplets: by each operand that is differentiated, replayed with NumPy."""
    for call, arrays in cases(name):
        arrays = [np.asarray(a) for a in arrays]
        tape = recorded(call, arrays, REGISTRY[name].not_differentiated)
        if tape.returns_tuple or not tape.output_types[0].is_float:
            continue
        out = tape.output_types[0]
        for k in tape.active_inputs:
            found = jacobian_in_triplets(tape, (k,), False)
            if found is None or not out.size:
                continue
            (matrix,) = run(found.dense(tape), arrays)
            product = vjp_tape(tape, (k,))
            rows = [run(product, [*arrays, row.reshape(out.shape)[()]])[0] for row in np.eye(out.size, dtype=out.dtype)]
            np.testing.assert_allclose(np.reshape(matrix, (out.size, -1)), np.reshape(rows, (out.size, -1)), **CLOSE)


@pytest.mark.parametrize("name", [*ENTRY_BY_ENTRY, *IN_SWEEPS])
def test_it_is_known_which_programs_have_triplets(name):
    """So that the test above is of them; Hessians of sorted arrays as well."""
    f = {**ENTRY_BY_ENTRY, **IN_SWEEPS}[name]
    scalar = td.record(lambda x: np.sum(np.tanh(f(x)) ** 2), POINTS[0])
    found = [jacobian_in_triplets(td.record(f, POINTS[0]), (0,), False), hessian_in_triplets(scalar, (0,), False)]
    # A sort moves entries to where they are only when it runs.
    expected = name in ENTRY_BY_ENTRY and name != "sorted"
    # Full Hessians of few entries take less in sweeps.
    assert [made is not None for made in found] == [expected, expected and name not in ("softmax", "extremum")]


def test_entries_that_are_zero_by_structure_are_zero_beside_infinite_derivatives():
    """Sweeps multiply zeros by them."""
    f = lambda x: np.sqrt(np.array([0.0, 1.0]) * x**2) * x[::-1]
    tape = td.record(f, np.ones(2))
    for target in (tape, td.compile(tape)):
        np.testing.assert_array_equal(td.jacobian(target, np.array([2.0, 3.0])), [[0.0, 0.0], [3.0, 2.0]])
        assert td.sparse_jacobian(target, np.array([2.0, 3.0])).nnz == 3


@pytest.mark.parametrize("seed", range(5))
def test_programs_of_several_steps_in_any_order(seed):
    """Results of one kind are arguments of the next."""
    rng = np.random.default_rng(seed)
    steps = [f for name, f in ENTRY_BY_ENTRY.items() if name != "float32"]
    chosen = [steps[k] for k in rng.integers(len(steps), size=3)]

    def f(x):
        for step in chosen:
            x = np.concatenate([x, np.reshape(step(x), -1)])[-9:]
        return x

    agree(f, [0.3 * rng.normal(size=9)], {**CLOSE, "rtol": 1e-9, "atol": 1e-9})


def test_kernels_write_every_form_of_entries():
    """At equal steps, overlapping, in any order, several to an entry; against the replay of the same tape."""
    turned = lambda x: np.outer(np.sin(x[:4]), x[4:] ** 2).T * x[0]
    for f in (turned, *(ENTRY_BY_ENTRY[k] for k in ("neighbours", "laplacian", "graph", "softmax", "written", "columns", "two matrices"))):
        tape = td.record(f, POINTS[0])
        fast = td.compile(tape)
        np.testing.assert_allclose(td.sparse_jacobian(fast, POINTS[1]).toarray(), td.sparse_jacobian(tape, POINTS[1]).toarray(), **CLOSE)
        np.testing.assert_allclose(td.jacobian(fast, POINTS[1]), td.jacobian(tape, POINTS[1]), **CLOSE)


def test_several_arguments_and_results_have_blocks():
    """Each block from its own terms, with the value."""
    f = lambda x, y: (x * y[::-1], np.sum(y) * x[:2] ** 2)
    x, y = np.arange(1.0, 4.0), np.array([0.5, -1.0, 2.0])
    (ax, ay), (bx, by) = td.jacobian(f, x, y, argnums=(0, 1))
    np.testing.assert_allclose(ax, np.diag(y[::-1]))
    np.testing.assert_allclose(ay, np.diag(x)[:, ::-1])
    np.testing.assert_allclose(bx, np.diag(2.0 * x)[:2] * np.sum(y))
    np.testing.assert_allclose(by, np.tile(x[:2, None] ** 2, 3))
    value, gradient, ((xx, xy), (yx, yy)) = td.value_gradient_and_hessian(lambda x, y: np.sum(x**2 * y), x, y, argnums=(0, 1))
    assert value == np.sum(x**2 * y)
    np.testing.assert_allclose(gradient, (2 * x * y, x**2))
    np.testing.assert_allclose(np.block([[xx, xy], [yx, yy]]), np.block([[np.diag(2 * y), np.diag(2 * x)], [np.diag(2 * x), np.zeros((3, 3))]]))


def test_a_value_that_the_inputs_do_not_reach_must_be_zero():
    """x + 1 is not linear in x."""
    tape = td.record(lambda x: x + 1.0, np.ones(3))
    with pytest.raises(NotInTriplets):
        accumulate(tape, (0,), 1e9)
    assert accumulate(td.record(lambda x: x[:2] + np.zeros(2), np.ones(3)), (0,), 1e9).terms


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def test_no_more_is_computed_than_there_are_entries():
    """Nothing n times n, and in proportion to n; blocks by their rows."""
    work = [accumulate(hvp_tape(td.record(rosenbrock, np.ones(n)), (0,)), (1,), 1e9).work for n in (101, 1001)]
    assert work[1] == pytest.approx(10 * work[0], rel=0.1)
    assert work[0] < 12 * 101
    # Each result depends on four arguments: one pass with a coefficient for each step of it.
    tape = td.record(lambda x: x[:-3] * x[1:-2] * x[2:-1] * x[3:], np.ones(100))
    assert accumulate(vjp_tape(tape, (0,)), (1,), 1e9).work <= 8 * 100


@pytest.mark.slow
def test_time_grows_in_proportion_to_the_program():
    """Twelve times the instructions in less than 24 times the time, where a pass of quadratic time takes 144 times."""

    def accumulating(length):
        kinds = np.random.default_rng(0).integers(4, size=length)
        steps = [np.sin, np.cos, lambda x: 0.1 * x * x[::-1], lambda x: np.where(x > 0.0, x, -0.5)]
        product = vjp_tape(td.record(lambda x, kinds=kinds: functools.reduce(lambda y, k: steps[k](y), kinds, x), np.ones(4)), (0,))
        return lambda: accumulate(product, (1,), 1e9)

    assert times_as_long(accumulating(240), accumulating(20), limit=24) < 24


def test_positions_are_kept_as_long_as_they_are_known_by_their_identity():
    """Other positions at the same address would be taken for them."""
    tape = td.record(np.sin, np.arange(5.0))
    made = Triplets(tape, np.inf)
    made.copy(0)
    for k in range(20):
        number = made.picked(0, np.array([k % 4, 4]))
        found = run(replace(tape, instructions=tuple(made.instructions), outputs=(number,)), [np.arange(5.0)])[0]
        assert found.tolist() == [k % 4, 4]


@pytest.mark.parametrize("positions", [[0, 1, 2, 3], [1, 3, 5, 7], [6, 4, 2, 0]])
def test_coefficients_at_equal_steps_are_placed_without_positions(positions):
    """By a strided box, also where they are in the opposite order."""
    tape = td.record(np.sin, np.arange(1.0, 5.0))
    made = Triplets(tape, np.inf)
    made.copy(0)
    at = np.array(positions)
    number = placed(made, [Term(0, at, at, 0)], [at], ValueType((8,), FLOAT64))
    assert not {GATHER, PUT, SCATTER_ADD} & {i.op for i in made.instructions}
    expected = np.zeros(8)
    expected[positions] = np.arange(1.0, 5.0)
    np.testing.assert_array_equal(run(replace(tape, instructions=tuple(made.instructions), outputs=(number,)), [np.arange(1.0, 5.0)])[0], expected)
