"""Rows of inputs evaluated at once, against one evaluation for each row."""

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler.kernel import Kernel
from tapediff.functions.callees.tape_callee import callee_of
from tapediff.ir.interpreter import run
from tapediff.ops import REGISTRY
from tapediff.ops.control.calls import LOOP
from tapediff.passes.pipeline import run_passes
from tapediff.transforms.map_rows import RowsCannotBeMapped, map_rows
from tests.ops.test_ops import EVERY_OP, KERNEL_TOLERANCE, assert_close, cases, recorded

ROWS = 3


def rows_of(array, is_order):
    """Rows that suit every op: the example itself, slightly larger, and slightly smaller; masks, positions and orders as they are."""
    if array.dtype.kind != "f" or is_order:
        return np.stack([array] * ROWS)
    return np.stack([array * factor for factor in (1.0, 1.01, 0.99)])


def choices(count):
    """Which arguments have rows: each alone, and all of them."""
    alone = [(k,) for k in range(count)]
    return list(dict.fromkeys([*alone, tuple(range(count))]))


@EVERY_OP
def test_rows_of_any_argument_give_the_rows_of_the_results(name):
    """For every op of the registry, none named: by replay and by kernel, as one evaluation per row."""
    orders = REGISTRY[name].not_differentiated
    for call, arrays in cases(name):
        tape = recorded(call, [np.asarray(a) for a in arrays])
        if not tape.inputs:
            continue
        for chosen in choices(len(arrays)):
            inputs = [rows_of(np.asarray(a), k in orders) if k in chosen else np.asarray(a) for k, a in enumerate(arrays)]
            mapped = map_rows(tape, chosen, ROWS, callee_of)
            mapped.check()
            by_row = [
                run(tape, [a[r] if k in chosen else a for k, a in enumerate(inputs)]) for r in range(ROWS)
            ]
            expected = [np.stack([np.asarray(v) for v in column]) for column in zip(*by_row)]
            for found, wanted in zip(run(mapped, inputs), expected):
                assert_close(found, wanted, KERNEL_TOLERANCE, f"{name} {chosen}")
            kernel = Kernel(run_passes(mapped, check=True))
            native = [np.empty(t.shape, t.dtype) for t in kernel.tape.output_types]
            assert kernel.run([np.ascontiguousarray(a) for a in inputs], native) == 0
            for found, wanted in zip(native, expected):
                assert_close(found, wanted, KERNEL_TOLERANCE, f"{name} {chosen} kernel")


def test_a_guard_on_a_row_is_refused():
    """One tape holds one path, and rows may take several."""
    tape = td.record(lambda x: x * 2 if x > 0 else x, 1.0)
    with pytest.raises(RowsCannotBeMapped):
        map_rows(tape, [0], 4, callee_of)


def test_guards_on_what_no_row_reaches_stay_as_they_are():
    """They are checked once."""
    tape = td.record(lambda x, v: v * 2 if x > 0 else v, 1.0, 2.0)
    mapped = map_rows(tape, [1], 4, callee_of)
    assert mapped.guards == tape.guards
    assert run(mapped, [np.float64(1.0), np.arange(4.0)])[0].tolist() == [0.0, 2.0, 4.0, 6.0]


def test_outputs_that_no_row_reaches_are_repeated_unless_they_are_shared():
    """As np.broadcast_to would."""
    tape = td.record(lambda x, v: (x * 2, v + x), 1.0, 2.0)
    assert map_rows(tape, [1], 4, callee_of).output_types[0].shape == (4,)
    assert map_rows(tape, [1], 4, callee_of, shared=1).output_types[0].shape == ()
    with pytest.raises(RowsCannotBeMapped):
        map_rows(tape, [1], 4, callee_of, shared=2)


def test_values_that_no_row_reaches_are_computed_once():
    """Only instructions behind a row get the axis."""
    tape = td.record(lambda x, v: v * np.exp(x).sum(), np.ones(5), 2.0)
    mapped = map_rows(tape, [1], 4, callee_of)
    assert sum(i.type.size for i in mapped.instructions if i.op.name == "exp") == 5


@pytest.mark.parametrize("structure", ["subtape", "scan", "branching subtape", "while", "gradient of while"])
def test_calls_and_loops_run_once_for_each_row(structure):
    """Calls have no rule for rows; they stand in a loop over the rows."""
    branch = td.subtape(lambda v: np.sin(v) if v > 0 else v * v)

    def f(x, v):
        if structure == "subtape":
            return td.subtape(lambda a, b: np.sin(a) * b)(x, v)
        if structure == "scan":
            return td.scan(lambda c, s: (c * s + v, c * v), 1.0, x)[1]
        if structure == "branching subtape":
            return x * branch(v)
        if structure == "gradient of while":
            return td.gradient(lambda u: np.sum(td.while_loop(lambda c: np.sum(c) < 5.0, lambda c: c * (1.5 + u * u), x)), v)
        return td.while_loop(lambda c: c < 5.0, lambda c: c + v, np.sum(x))

    x, rows = np.array([0.3, 0.2, 0.4]), np.array([0.5, 1.5, -0.2]) if "while" not in structure else np.array([0.5, 1.5, 0.2])
    tape = td.record(f, x, 0.7)
    mapped = map_rows(tape, [1], 3, callee_of)
    expected = np.stack([np.asarray(f(x, v)) for v in rows])
    np.testing.assert_allclose(run(mapped, [x, rows])[0], expected, rtol=1e-14)
    np.testing.assert_allclose(td.compile(mapped)(x, rows), expected, rtol=1e-14)


@pytest.mark.parametrize(("left", "right"), [("row", "row"), ("row", "shared"), ("shared", "row")])
def test_products_of_any_rank_with_rows_on_either_side(left, right):
    """Every pair of ranks that NumPy multiplies, against one product for each row."""
    rng = np.random.default_rng(0)
    for x_shape, y_shape in (((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 2)), ((3, 4), (4, 2)), ((5, 3, 4), (4,)), ((5, 3, 4), (4, 2)),
                             ((5, 3, 4), (5, 4, 2)), ((3, 4), (5, 4, 2)), ((4,), (5, 4, 2))):  # fmt: skip
        tape = td.record(np.matmul, rng.normal(size=x_shape), rng.normal(size=y_shape))
        x = rng.normal(size=(ROWS, *x_shape) if left == "row" else x_shape)
        y = rng.normal(size=(ROWS, *y_shape) if right == "row" else y_shape)
        chosen = [k for k, side in enumerate((left, right)) if side == "row"]
        mapped = map_rows(tape, chosen, ROWS, callee_of)
        expected = np.stack([(x[r] if left == "row" else x) @ (y[r] if right == "row" else y) for r in range(ROWS)])
        # Sums of four terms, in another order.
        np.testing.assert_allclose(run(mapped, [x, y])[0], expected, rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(td.compile(mapped)(x, y), expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("f", [
    lambda a, b: np.linalg.solve(a, b),
    lambda a, b: np.broadcast_to(np.sin(b), (2, 3)) * a[0],
], ids=["solve", "broadcast"])  # fmt: skip
def test_rows_of_solutions_and_broadcasts_take_no_loop(f):
    """All rows at once."""
    rng = np.random.default_rng(0)
    a, b = 3.0 * np.eye(3) + rng.normal(size=(4, 3, 3)), rng.normal(size=(4, 3))
    mapped = map_rows(td.record(f, a[0], b[0]), [0, 1], 4, callee_of)
    assert LOOP not in mapped.ops
    # The same operations, in another order.
    np.testing.assert_allclose(run(mapped, [a, b])[0], [f(*row) for row in zip(a, b)], rtol=1e-12)
