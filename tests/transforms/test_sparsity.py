"""Patterns of Jacobians: they hold every entry that is not zero, and the programs that people write have sparse ones."""

import functools

import numpy as np
import pytest
import scipy.sparse

import tapediff as td
from tapediff.ir.interpreter import run
from tapediff.ops import REGISTRY
from tapediff.ops.matrices.sparse import SPARSE_PRODUCT, SPARSE_SAMPLED, SPARSE_TRANSPOSED
from tapediff.targets.tapes.gradient_tape import gradient_tape
from tapediff.targets.tapes.operator_tapes import vjp_tape
from tapediff.transforms import sparsity_rules
from tapediff.transforms.coloring import column_colors, symmetric_colors
from tapediff.transforms.sparsity import jacobian_pattern
from tests.ops.test_ops import EVERY_OP, cases, recorded


@EVERY_OP
def test_no_entry_that_is_not_zero_is_left_out(name):
    """For every op of the registry, none named: what the reverse pass finds is in the pattern."""
    for call, arrays in cases(name):
        arrays = [np.asarray(a) for a in arrays]
        tape = recorded(call, arrays, REGISTRY[name].not_differentiated)
        if tape.returns_tuple or not tape.output_types[0].is_float:
            continue
        size = tape.output_types[0].size
        for k in tape.active_inputs:
            pattern = jacobian_pattern(tape, [k], [0])
            if pattern is None or not size:
                continue
            product = vjp_tape(tape, (k,))
            cotangents = np.eye(size, dtype=tape.output_types[0].dtype).reshape(size, *tape.output_types[0].shape)
            rows = [np.ravel(run(product, [*arrays, cotangent[()]])[0]) for cotangent in cotangents]
            assert not (np.stack(rows) != 0)[~pattern.toarray()].any(), (name, k)


def pattern_of(f, *args, wrt=(0,)):
    tape = td.record(f, *args)
    return jacobian_pattern(tape, wrt, range(len(tape.outputs))).toarray()


def test_differences_of_neighbours_are_two_diagonals():
    """The Jacobian of x[1:] - x[:-1] ** 2."""
    found = pattern_of(lambda x: x[1:] - x[:-1] ** 2, np.ones(5))
    assert (found == (np.eye(4, 5) + np.eye(4, 5, 1) > 0)).all()


def test_the_hessian_of_a_chain_is_tridiagonal():
    """Rosenbrock's function couples neighbours."""
    rosenbrock = lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    joint = gradient_tape(td.record(rosenbrock, np.ones(6)), (0,))
    found = jacobian_pattern(joint, [0], [1]).toarray()
    assert (found == (abs(np.subtract.outer(range(6), range(6))) <= 1)).all()


def test_entries_that_are_zero_at_the_recorded_point_only_are_kept():
    """A pattern holds everywhere on the path."""
    assert pattern_of(lambda x: x * x[::-1], np.zeros(3)).sum() == 5


BANDED = np.eye(4, 3) + np.eye(4, 3, -1)
PRODUCTS = {
    "a constant from the left": (lambda x, y: BANDED @ x, BANDED != 0, None),
    "a constant from the right": (lambda x, y: x @ BANDED.T, BANDED != 0, None),
    "of both": (lambda x, y: x @ y, np.ones((1, 3)), np.ones((1, 3))),
    "an argument from the right": (lambda x, y: y @ np.stack([x, 2.0 * x]).T, np.ones((2, 3)), np.ones((2, 3))),
    "matrices": (lambda x, y: np.ravel(np.outer(x, y)), np.repeat(np.eye(3), 3, axis=0), np.tile(np.eye(3), (3, 1))),
    "a matrix made of one argument times the other one": (lambda x, y: (BANDED * x) @ y, BANDED, np.ones((4, 3))),
    "a zero row": (lambda x, y: np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]) @ x, np.eye(2, 3) * [[1], [0]], None),
}  # fmt: skip


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_with_matrices_depend_on_the_rows_and_columns_that_meet(name):
    """For each argument alone and for both; zeros of constants are left out."""
    f, by_x, by_y = PRODUCTS[name]
    x, y = np.array([1.0, 2.0, 3.0]), np.array([0.5, 1.5, -1.0])
    assert np.array_equal(pattern_of(f, x, y), by_x != 0)
    if by_y is not None:
        assert np.array_equal(pattern_of(f, x, y, wrt=(1,)), by_y != 0)
        assert np.array_equal(pattern_of(f, x, y, wrt=(0, 1)), np.hstack([by_x != 0, by_y != 0]))


COLUMNS, STARTS = np.array([0, 1, 0, 2, 1]), np.array([0, 1, 2, 4, 5])
AT_POSITIONS = {
    "a product": (SPARSE_PRODUCT, (5,), (3,)), "a product with a matrix": (SPARSE_PRODUCT, (5,), (3, 2)),
    "of the transpose": (functools.partial(SPARSE_TRANSPOSED, width=3), (5,), (4,)), "entries of an outer product": (SPARSE_SAMPLED, (4,), (3,)),
    "gathered": (lambda x, y, columns, starts: x[columns] * y[columns], (3,), (3,)),
    "written": (lambda x, y, columns, starts: functools.reduce(lambda a, k: _written(a, columns[k : k + 1], y[k]), range(2), x), (3,), (2,)),
}  # fmt: skip


def _written(a, at, value):
    a = a.copy()
    a[at] = value
    return a


@pytest.mark.parametrize("name", AT_POSITIONS)
def test_at_positions_that_are_arguments_each_entry_may_depend_on_all(name):
    """They are others at the next call; constant ones give the entries that meet there, and no more."""
    f, *shapes = AT_POSITIONS[name]
    rng = np.random.default_rng(2)
    operands = [rng.normal(size=shape) for shape in shapes]
    for k, operand in enumerate(operands):
        assert pattern_of(f, *operands, COLUMNS, STARTS, wrt=(k,)).all()
        constant = lambda *operands: f(*operands, COLUMNS, STARTS)
        dense = td.jacobian(constant, *operands, argnums=(k,))[0].reshape(-1, operand.size)
        assert np.array_equal(pattern_of(constant, *operands, wrt=(k,)), dense != 0)


@pytest.mark.parametrize("name", [*PRODUCTS, *AT_POSITIONS])
def test_beyond_a_limit_of_effort_patterns_are_wider_and_lose_nothing(name, monkeypatch):
    """A product that would take too long to look at depends on all that its operands depend on."""
    if name in PRODUCTS:
        f, operands = PRODUCTS[name][0], [np.array([1.0, 2.0, 3.0]), np.array([0.5, 1.5, -1.0])]
    else:
        on, *shapes = AT_POSITIONS[name]
        f, operands = lambda *operands: on(*operands, COLUMNS, STARTS), [np.ones(shape) for shape in shapes]
    for wrt in ((0,), (1,), (0, 1)):
        expected = pattern_of(f, *operands, wrt=wrt)
        with monkeypatch.context() as patch:
            patch.setattr(sparsity_rules, "MOST_ENTRIES", 0)
            found = pattern_of(f, *operands, wrt=wrt)
        assert found[expected].all()


def test_several_arguments_are_columns_one_after_the_other():
    """In the order in which they are asked for."""
    found = pattern_of(lambda x, y: (x * y, y.sum()), np.ones(2), np.ones(2), wrt=(1, 0))
    assert found.astype(int).tolist() == [[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]]


def random_pattern(rng, rows, columns, density):
    pattern = scipy.sparse.random_array((rows, columns), density=density, rng=rng, format="csr")
    pattern.data[:] = 1
    return pattern.astype(bool)


@pytest.mark.parametrize("seed", range(20))
def test_columns_of_one_colour_share_no_row(seed):
    """For random patterns."""
    rng = np.random.default_rng(seed)
    pattern = random_pattern(rng, 12, 15, rng.uniform(0.02, 0.3))
    colors = column_colors(pattern)
    for color in range(colors.max() + 1):
        assert (pattern.toarray()[:, colors == color].sum(axis=1) <= 1).all()


@pytest.mark.parametrize("seed", range(20))
def test_every_entry_of_a_symmetric_matrix_can_be_read_directly(seed):
    """From its own row or, where that has a colour of its own, from its column; also with a few full rows."""
    rng = np.random.default_rng(seed)
    half = random_pattern(rng, 15, 15, rng.uniform(0.02, 0.15)).toarray()
    half[rng.integers(0, 15, seed % 4)] = True
    matrix = scipy.sparse.csr_array(half | half.T | np.eye(15, dtype=bool))
    values = rng.normal(size=(15, 15)) * matrix.toarray()
    values = values + values.T
    colors = symmetric_colors(matrix)
    products = np.stack([values[:, colors == c].sum(axis=1) for c in range(colors.max() + 1)])
    alone = np.bincount(colors)[colors] == 1
    for i, j in zip(*np.nonzero(matrix.toarray())):
        at, by = (j, i) if alone[i] and not alone[j] else (i, j)
        assert products[colors[by], at] == pytest.approx(values[i, j], abs=1e-12)


def test_an_arrow_takes_two_colours():
    """A variable that everything depends on, as in a hierarchical model."""
    arrow = np.eye(50, dtype=bool)
    arrow[0] = arrow[:, 0] = True
    assert symmetric_colors(scipy.sparse.csr_array(arrow)).max() + 1 == 2
    assert column_colors(scipy.sparse.csr_array(arrow)) is None or column_colors(scipy.sparse.csr_array(arrow)).max() + 1 == 50


@pytest.mark.parametrize(("f", "shapes"), [
    (lambda a: np.cumsum(a, axis=-1), [(0,)]), (lambda a: np.cumprod(a, axis=1), [(3, 0)]), (np.sort, [(0, 2)]), (np.diff, [(1,)]),
    (np.matmul, [(2, 3, 0), (0, 4)]), (np.matmul, [(2, 0, 3), (3, 4)]),
    (lambda a: np.linalg.svd(a, full_matrices=False)[1], [(0, 4)]), (lambda a: np.linalg.svd(a, full_matrices=False)[0], [(2, 3, 0)]),
    (np.linalg.svdvals, [(0, 3, 2)]), (np.linalg.inv, [(0, 0)]), (lambda a: np.fft.rfft(a).real, [(0, 4)]),
])  # fmt: skip
def test_arrays_without_entries_have_derivatives_of_every_kind(f, shapes):
    """Beside an argument with entries, so that something is left to differentiate."""
    arrays = [np.zeros(shape) for shape in shapes]
    g = lambda x, *arrays: np.sum(x**3) + x[0] * np.sum(f(*arrays) ** 2)
    compiled, x = td.compile(g, np.ones(2), *arrays), np.array([1.0, 2.0])
    every = tuple(range(len(arrays) + 1))
    for target in (compiled, compiled.tape):
        gradients = td.gradient(target, x, *arrays, argnums=every)
        assert [a.shape for a in gradients[1:]] == shapes
        np.testing.assert_allclose(gradients[0], 3 * x**2, rtol=1e-14)  # three roundings
    blocks = td.hessian(compiled, x, *arrays, argnums=every)
    np.testing.assert_allclose(blocks[0][0], np.diag(6 * x), rtol=1e-14)
    np.testing.assert_allclose(td.sparse_hessian(compiled, x, *arrays).toarray(), np.diag(6 * x), rtol=1e-14)
    assert td.jacobian(f, *arrays).size == 0
    assert jacobian_pattern(td.record(f, *arrays), range(len(arrays)), (0,)).nnz == 0
