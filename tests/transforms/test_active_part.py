"""Derivatives by a part of an argument: the same entries as of all of it, by work that is as small as the part."""

import numpy as np
import pytest

import tapediff as td
from tapediff.ir.instruction import ValueType
from tapediff.ir.interpreter import run
from tapediff.passes.pipeline import run_passes
from tapediff.passes.simplify.dead_code import dead_code
from tapediff.targets.tapes.gradient_tape import gradient_tape
from tapediff.transforms.active_part import ATTACH, closed, part_of, restricted
from tapediff.transforms.entry_sets import EntrySet, union

N = 100
RNG = np.random.default_rng(3)
X, A, PLACES = RNG.normal(size=N), RNG.normal(size=(50, N)), RNG.integers(0, N, 40)


def written(x):
    b = td.empty(N)
    b[: N // 2], b[N // 2 :] = x[N // 2 :] ** 2, np.exp(x[: N // 2])
    return np.sum(b * x)


def added(x):
    b = td.zeros(N)
    np.add.at(b, PLACES, x[:40] ** 2)
    return np.sum(b**3)


def loop(x):
    s = 0.0
    for i in range(60):
        s = np.sin(s) + x[i] * x[i + 1]
    return s


FUNCTIONS = {
    "single entries": lambda x: np.sum(np.exp(x) * np.sin(x)),
    "neighbours": lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2),
    "matrix on the left": lambda x: np.sum(np.tanh(A @ x) ** 2),
    "matrix on the right": lambda x: np.sum(np.tanh(x @ A.T) ** 2),
    "matrices": lambda x: np.sum(np.sin(x.reshape(10, 10)).T @ np.cos(A[:10, :10]) @ x.reshape(10, 10)),
    "norm": lambda x: np.sum((x / np.sqrt(np.sum(x**2))) ** 3),
    "norms of rows": lambda x: np.sum(x.reshape(20, 5) / np.sum(x.reshape(20, 5) ** 2, axis=1, keepdims=True)),
    "gather": lambda x: np.sum(np.exp(x[PLACES]) * np.arange(40)),
    "parameters in front": lambda x: np.sum((x[0] * A[:, 0] + x[1] - x[50:]) ** 2 * np.exp(x[2:52])),
    "softmax": lambda x: np.log(np.sum(np.exp(x - np.max(x)))) - x[3],
    "running sum": lambda x: np.sum(np.cumsum(x) ** 2 * x),
    "outer": lambda x: np.sum(x[:, None] * np.sin(x)[None, :] * A[:, :1].T.sum()),
    "reversed": lambda x: np.sum(x[::-1] * np.exp(x)),
    "written": written,
    "chosen": lambda x: np.sum(np.where(x > 0, np.sqrt(np.abs(x)), x**2)),
    "loop": loop,
    "solve": lambda x: np.sum(np.linalg.solve(np.eye(N) + 0.01 * np.outer(x, x), x)),
    "sorted": lambda x: np.sum(np.sort(x) * np.arange(N)),
    "diagonal": lambda x: np.sum(np.tanh(np.diag(x) @ A.T)),
    "stacked": lambda x: np.sum(np.stack([x, x**2])[:, 3:9].T ** 2),
    "concatenated": lambda x: np.sum(np.concatenate([x[50:], x[:50]]) * x),
    "added at": added,
    "branch": lambda x: np.sum(x**2) if x[0] > 10 else np.sum(np.exp(x) * x[0]),
}
MASK = RNG.random(N) < 0.05
INDICES = (
    np.s_[:2], np.s_[3], np.s_[-1:], np.s_[1:], np.s_[10:60:7], np.s_[60:3:-9], MASK, [5, 3, 77], np.array([[5], [4]]), np.s_[:0],
    np.s_[...], np.s_[None, 4:6],
)  # fmt: skip


def gradient_of(tape, index, *, keep=True):
    """The gradient tape of a part, as the operators make it."""
    part = part_of(index, tape.input_types[0].shape)
    base = restricted(tape, (0,), (part,))
    base.check()
    made = run_passes(closed(gradient_tape(base, (1,)), (0,), (part,), 1))
    made.check()
    assert not any(i.op is ATTACH for i in made.instructions)
    return made if keep else run_passes(dead_code(td.Tape(made.instructions, made.inputs, made.outputs[1:], active_inputs=(0,))))


def entries(tape):
    """How many entries a tape computes, but for those that it only moves."""
    moves = ("input", "constant", "index", "reshape", "broadcast", "transpose")
    return sum(i.type.size for i in tape.instructions if i.op.name not in moves and isinstance(i.type, ValueType))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_gradient_by_a_part_is_that_part_of_the_gradient(name):
    """For every kind of index; and the gradient of that is the part of the Hessian."""
    tape = td.record(FUNCTIONS[name], X)
    value, full = td.value_and_gradient(tape, X)
    hessian = td.hessian(tape, X) if name in ("single entries", "neighbours", "norm", "gather", "softmax", "chosen") else None
    for index in INDICES:
        made = gradient_of(tape, index)
        found = run(made, [X])
        assert np.isclose(found[0], value, rtol=1e-12), "sums in another order"
        assert np.shape(found[1]) == full[index].shape
        assert np.allclose(found[1], full[index], rtol=1e-10, atol=1e-12), "sums in another order, after cancellation"
        if hessian is not None and full[index].shape:
            weights = RNG.normal(size=full[index].shape)
            weighed = td.gradient(lambda x, made=made, w=weights: np.sum(made(x)[1] * w), X)
            rows = hessian[index].reshape(-1, N)
            assert np.allclose(weighed, np.ravel(weights) @ rows, rtol=1e-9, atol=1e-11), "as above"


def test_the_work_is_as_small_as_the_part():
    """Two of a hundred entries: what the reverse pass computes, beside what the value needs; without the value a few entries are left."""
    # The reversed vector is multiplied entry by entry, so that all of the exponentials are read; nothing else is.
    for name, most, whole in (
        ("single entries", 20, 500), ("neighbours", 30, 1000), ("gather", 20, 200), ("stacked", 20, 1000), ("outer", 350, 10_000),
        ("reversed", 150, 350),
    ):  # fmt: skip
        tape = td.record(FUNCTIONS[name], X)
        assert entries(gradient_of(tape, np.s_[:2], keep=False)) <= most
        assert entries(gradient_tape(tape, (0,))) >= whole
    # The cotangents of 50 results, and two columns of the matrix; all of it would be 5,000 multiplications.
    products = [i for i in gradient_of(td.record(FUNCTIONS["matrix on the left"], X), np.s_[:2], keep=False).instructions if i.op.name == "matmul"]
    assert sorted(i.type.size for i in products) == [2, 50]


def test_what_the_part_does_not_reach_is_not_differentiated():
    """An expensive function of other entries leaves no instruction in the gradient alone."""
    tape = td.record(lambda x: np.sum(np.linalg.cholesky(np.diag(np.exp(x[2:])))) + x[0] * x[1], X)
    assert {i.op.name for i in gradient_of(tape, np.s_[:2], keep=False).instructions} <= {"input", "index", "assemble", "constant", "reshape"}
    full = gradient_tape(tape, (0,))
    assert "cholesky" in {i.op.name for i in full.instructions}


def test_sets_of_entries_are_products_of_indices():
    """The smallest one around some entries, unions, and where entries are found in them, held against masks."""
    for shape in ((), (7,), (4, 6), (3, 1, 5)):
        size = int(np.prod(shape))
        for _ in range(10):
            one, other = (np.unique(RNG.integers(0, size, RNG.integers(1, size + 1))) for _ in range(2))
            both = union([EntrySet.around(one, shape), EntrySet.around(other, shape)])
            mask = np.zeros(shape, bool)
            mask[np.ix_(*map(np.asarray, both.axes))] = True
            assert np.array_equal(np.flatnonzero(mask), np.ravel(both.positions))
            assert both.holds(np.arange(size)).reshape(shape).tolist() == mask.tolist()
            for part in (one, other):
                assert np.array_equal(np.ravel(both.positions)[both.local(part)], part)
            if both.region is not None:
                assert np.array_equal(np.arange(size).reshape(shape)[both.region.slices], both.positions)


def test_indices_that_select_no_part_are_refused():
    """Entries twice, tracked indices, and what NumPy refuses."""
    with pytest.raises(td.ArgumentMismatch, match="selects an entry of the argument twice"):
        part_of([1, 1], (3,))
    with pytest.raises(IndexError):
        part_of(7, (3,))
    with pytest.raises(IndexError):
        part_of([7], (3,))
    with pytest.raises(td.ArgumentMismatch, match="an index of plain integers"):
        td.gradient(lambda x: x[0] * part_of(x > 0, (3,)).shape[0], np.ones(3))
