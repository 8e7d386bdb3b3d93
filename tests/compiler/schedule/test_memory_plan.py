"""How much memory the kernels of typical models need, and that an array gives its place to the one that follows it."""

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler.loop_ir.program import Access, Literal, LoopNest, Scan, Step, Storage
from tapediff.compiler.schedule.memory_plan import _Overwritten

rng = np.random.default_rng(6)
N, D = 5000, 20
X, Y = rng.normal(size=(N, D)), rng.normal(size=N)
GROUPS = rng.integers(0, 50, N)


def chain(x):
    y = np.tanh(1.5 * x + 0.3)
    return np.sum(y * np.exp(-0.5 * (x - y) ** 2))


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def logistic(b):
    logits = X @ b
    return np.sum(Y * logits - np.logaddexp(0.0, logits)) - 0.5 * np.sum(b**2)


def linear(b):
    sigma = np.exp(b[-1])
    return np.sum(-0.5 * ((Y - X @ b[:-1]) / sigma) ** 2) - N * b[-1]


def mixture(b):
    """Squared distances from D centres along each of D axes: N x D numbers at a time."""
    densities = -0.5 * (X - b) ** 2
    most = np.max(densities, axis=1)
    return np.sum(most + np.log(np.sum(np.exp(densities - most[:, None]), axis=1)))


def varying_intercepts(b):
    return -0.5 * np.sum((Y - b[GROUPS] - b[50] * X[:, 0]) ** 2) - np.sum(b**2)


def steps_of_euler(x):
    for _ in range(4):
        x = np.cumsum(np.sin(x) * 0.1)
    return np.sum(x)


# For blocks of rows, and for what is as long as the argument; one array of N rows would be 40 000 more, one of N x D 800 000.
SMALL = 36_000
MODELS = {
    "elementwise chain": (chain, N, 0),
    "Rosenbrock": (rosenbrock, N, 0),
    "logistic regression": (logistic, D, SMALL),
    "linear regression": (linear, D + 1, SMALL),
    "mixture": (mixture, D, SMALL),
    "varying intercepts": (varying_intercepts, 51, 8 * N + SMALL),
    # The reverse pass needs the cosine of each step; two more are in use at a time.
    "steps of a scheme": (steps_of_euler, N, 6 * (8 * N + 64)),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_need_no_more_memory_than_this(name):
    """The workspace of value and gradient."""
    f, size, most = MODELS[name]
    assert td.compile(f, np.full(size, 0.1)).workspace_bytes <= most


def test_the_listing_begins_with_the_workspace():
    compiled = td.compile(lambda x: np.sum(np.cumsum(x) * np.cumsum(x[::-1])), np.ones(500))
    assert compiled.workspace_bytes > 8 * 500
    assert compiled.source.splitlines()[1] == f"    # workspace: {compiled.workspace_bytes} bytes"


def test_a_value_kernel_has_a_workspace_of_its_own():
    """What counts is the gradient's, where there is one."""
    compiled = td.compile(lambda x: (np.cumsum(x)[::-1] * 2.0, np.sum(x)), np.ones(500))
    assert compiled.workspace_bytes == compiled.kernel(None).workspace_bytes


def test_an_array_takes_the_place_of_the_last_one_read_where_it_is_written():
    """A chain of arrays, each in a loop of its own that reads only the one before."""

    def f(x):
        for k in range(10):
            x = np.exp(x - np.max(x)) * (k + 1.0)
        return x * 1.0

    compiled = td.compile(f, np.linspace(0.0, 1.0, 4000))
    program = compiled.kernel(None).program
    assert len([group for group in program.groups if isinstance(group, LoopNest)]) > 10
    assert compiled.kernel(None).workspace_bytes < 1.1 * 8 * 4000


def may_take_place(old, new, group):
    """The rule itself, step by step: one writer of the new array, which stands behind all reads of the old one or is the last of them,
    and goes through it as they do; and no writer of the old one."""
    writers = [step for step in group.body if step.write.storage == new.number]
    if old.size == 1 or (old.size, old.kind) != (new.size, new.kind) or len(writers) != 1:
        return False
    writer = writers[0]
    if writer.combine is not None or writer.write.index_read >= 0 or 0 in writer.write.strides:
        return False
    written = False
    for step in group.body:
        for read in step.reads:
            if isinstance(read, Access) and read.storage == old.number:
                way = (read.offset, read.strides, read.index_read, step.domain)
                if written or way != (writer.write.offset, writer.write.strides, writer.write.index_read, writer.domain):
                    return False
        written = written or step is writer
        if step.write.storage == old.number:
            return False
    return True


def random_nest(rng):
    """Steps over one domain that read and write a few storages of two sizes, at one of three offsets, some in turn and some twice."""
    storages = [Storage(k, int(rng.choice([8, 8, 8, 12])), str(rng.choice(["f64", "f64", "i64"])), in_memory=True) for k in range(10)]
    body = []
    for k in range(6, 10):
        reads = [
            Access(int(rng.integers(6)), int(rng.choice([0, 0, 0, 1])), (int(rng.choice([1, 1, 1, 0])),), int(rng.choice([-1, -1, -1, 0])))
            for _ in range(rng.integers(3))
        ]
        target = int(rng.choice([k, k, k, k, 6, 2]))
        write = Access(target, int(rng.choice([0, 0, 0, 1])), (1,))
        combine = "add" if rng.random() < 0.1 else None
        body.append(Step((8,), (Literal(1.0, "f64"), *reads), "r0", (), write, combine))
    return storages, LoopNest((8,), tuple(body))


def test_arrays_are_written_over_where_every_entry_was_read_before():
    """As by the rule, tried on each pair of arrays: 500 random nests, where some may and some may not."""
    rng, found = np.random.default_rng(12), 0
    for _ in range(500):
        storages, group = random_nest(rng)
        left = {k: None for k in range(6) if any(k in [r.storage for r in s.reads if isinstance(r, Access)] for s in group.body)}
        overwritten = _Overwritten(group, left, storages)
        for new in storages[6:]:
            expected = next((k for k in left if may_take_place(storages[k], new, group)), -1)
            left.pop(expected, None)
            assert overwritten.by(new) == expected
            found += expected >= 0
    assert found > 50


def test_nothing_is_written_over_by_a_routine_or_outside_loops():
    """Those read their operands in any order."""
    step = Step((8,), (Access(0, 0, (1,)),), "r0", (), Access(1, 0, (1,)))
    storages = [Storage(k, 8, "f64", in_memory=True) for k in range(2)]
    assert _Overwritten(LoopNest((8,), (step,)), [0], storages).by(storages[1]) == 0
    assert _Overwritten(Scan(step), [0], storages).by(storages[1]) == -1
