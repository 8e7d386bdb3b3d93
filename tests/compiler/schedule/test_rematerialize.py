"""What is computed again instead of stored: the same bits, fewer arrays, and nothing costly twice."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from test_fuzz import PROGRAMS, SHAPES, scalar

import tapediff as td
from tapediff.compiler import pipeline as build
from tapediff.compiler.codegen.python_listing import run_listing
from tapediff.compiler.kernel import Kernel
from tapediff.compiler.loop_ir.program import Access, LoopNest, Step, Storage, Straight
from tapediff.compiler.schedule import rematerialize as recompute
from tapediff.targets.tapes.gradient_tape import gradient_tape

RNG = np.random.default_rng(5)
DATA = RNG.normal(size=(40, 12))
MANY = RNG.normal(size=(60, 9, 5))


def mixture(u):
    scaled = (MANY[:, :1] - u[:45].reshape(9, 5)) / np.exp(u[45:].reshape(9, 5))
    each = -0.5 * np.sum(scaled**2, axis=2) - np.sum(u[45:].reshape(9, 5), axis=1)
    largest = np.max(each, axis=1)
    return np.sum(largest + np.log(np.sum(np.exp(each - largest[:, None]), axis=1)))


def layers(u):
    hidden = np.tanh(DATA @ u[:144].reshape(12, 12))
    return np.sum(np.tanh(hidden @ u[144:].reshape(12, 12)) ** 2)


def softmax(u):
    weights = np.exp(u.reshape(40, 12) - np.max(u.reshape(40, 12), axis=1, keepdims=True))
    return np.sum(DATA * weights / np.sum(weights, axis=1, keepdims=True))


def standardised(u):
    x = u.reshape(40, 12)
    centred = x - np.mean(x, axis=0)
    return np.sum((centred / np.sqrt(np.mean(centred**2, axis=0))) ** 3 * DATA)


def views(u):
    """Cheap values read reversed, shifted, transposed, in another shape and along one row, beside sums that keep the nests apart."""
    y = 2.0 * u.reshape(40, 12) - 1.0
    y = y + np.sum(u) * 0.01
    s = np.sum(y * y, axis=1)
    z = 3.0 * y
    t = 1e-4 * (np.sum(z) + np.sum(s))
    parts = (z[::-1] * t, z[1:, 2:] * t, z.T * np.cos(t), z.reshape(20, 24) - t, z[3] * DATA * t)
    return sum((np.sum(np.sin(part)) for part in parts), 0.0)


def guarded(u):
    x = u.reshape(40, 12)
    half = 0.5 * x
    total = np.sum(np.exp(half))
    if total > 100.0:
        half = half * 2.0 + total
    k = int(np.sum(half * half))
    return np.sum(half * half * k + total) + np.sum(half / total)


def looped(u):
    x = u[:72]

    def body(carry, w):
        y = carry * 0.5 + w
        s = np.sum(np.sin(y))
        return np.cos(y) * s, np.sum(y * y)

    last, squares = td.scan(body, x, np.linspace(0.0, 1.0, 9))
    return np.sum(last) + np.sum(squares)


def gathered(u):
    """What is read at computed indices stays in memory."""
    y = 2.0 * u + 1.0
    order = np.argsort(u)
    return np.sum((y * np.sum(y))[order] * np.cos(y[order[::-1]]))


FUNCTIONS = {
    f.__name__: (f, size)
    for f, size in ((mixture, 90), (layers, 288), (softmax, 480), (standardised, 480), (views, 480), (guarded, 480), (looped, 72), (gathered, 96))
}  # fmt: skip


def without(monkeypatch):
    monkeypatch.setattr(build, "rematerialize", lambda groups, storages, before=(): (groups, storages))


def eagerly(monkeypatch):
    """Arrays of any size, and as if memory were a hundred times as slow."""
    monkeypatch.setattr(recompute, "SMALLEST", 2)
    monkeypatch.setattr(recompute, "STORE", 200)
    monkeypatch.setattr(recompute, "MOST_STEPS", 30)


def outcome(kernel, x):
    outputs = [np.empty(t.shape, t.dtype) for t in kernel.tape.output_types]
    status = kernel.run([x], outputs)
    return status, [bits(o) for o in outputs] if status == 0 else None


def bits(array):
    """The bytes of an array, with one NaN for all: the processor takes that of the first operand, and LLVM may swap them."""
    return np.where(np.isnan(array), np.nan, array).tobytes() if array.dtype.kind == "f" else array.tobytes()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("zeal", [None, eagerly])
def test_the_bits_are_those_of_what_is_stored(name, zeal, monkeypatch):
    """Value, gradient and failing guards, at several points; and the listing agrees."""
    f, size = FUNCTIONS[name]
    x = RNG.normal(size=size)
    tapes = [td.record(f, x), gradient_tape(td.record(f, x), (0,))]
    points = [x, x + 1e-9, x[::-1].copy(), 5.0 * x, np.where(np.arange(size) == 7, np.inf, x)]
    with monkeypatch.context() as patched:
        without(patched)
        stored = [Kernel(tape) for tape in tapes]
        expected = [[outcome(kernel, point) for point in points] for kernel in stored]
    if zeal is not None:
        zeal(monkeypatch)
    kernels = [Kernel(tape) for tape in tapes]
    for kernel, wanted in zip(kernels, expected):
        assert [outcome(kernel, point) for point in points] == wanted
    outputs = [np.empty(t.shape) for t in tapes[1].output_types]
    assert run_listing(kernels[1].program, [x], outputs) is None
    np.testing.assert_allclose(outputs[1], tapes[1](x)[1], rtol=1e-10, atol=1e-10)
    # The slope of tanh reads its argument as well, so that nothing is saved in layers.
    if zeal is not None and name not in ("looped", "gathered", "layers"):
        assert kernels[1].workspace_bytes < stored[1].workspace_bytes


@settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(PROGRAMS, SHAPES, SHAPES, st.integers(0, 1000))
@pytest.mark.slow
def test_random_programs_give_the_same_bits(program, shape, other_shape, seed):
    rng = np.random.default_rng(seed)
    points = [rng.uniform(-2.0, 2.0, s) for s in (shape, other_shape)]
    tape = gradient_tape(td.record(scalar(program), *points), (0,))
    results = []
    for change in (without, eagerly):
        with pytest.MonkeyPatch.context() as patched:
            change(patched)
            outputs = [np.empty(t.shape, t.dtype) for t in tape.output_types]
            results.append((Kernel(tape).run(points, outputs), [bits(o) for o in outputs]))
    assert results[0] == results[1]


def stored_arrays(kernel, least):
    """How many arrays of at least so many entries the nests of a kernel keep in its workspace."""
    touched = {i.write.storage for g in kernel.program.groups for i in g.body if hasattr(i, "write")}
    storages = [kernel.program.storages[k] for k in touched]
    return sum(s.home == "workspace" and s.in_memory and s.size >= least for s in storages)


def test_the_mixture_stores_one_array_of_its_size():
    """The scaled distances, which take a division; not the distances, nor twice the scaled ones."""
    x = RNG.normal(size=90)
    assert stored_arrays(Kernel(gradient_tape(td.record(mixture, x), (0,))), MANY.size // 5 * 5) == 1


def test_a_layer_stores_its_hidden_values_and_not_their_slopes(monkeypatch):
    monkeypatch.setattr(recompute, "SMALLEST", DATA.size)
    x = RNG.normal(size=288)
    kernel = Kernel(gradient_tape(td.record(layers, x), (0,)))
    # The hidden values and, for each layer, the cotangent that the products of the backward pass read.
    assert stored_arrays(kernel, DATA.size) == 3


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_costly_function_is_computed_twice(name, monkeypatch):
    f, size = FUNCTIONS[name]
    tape = gradient_tape(td.record(f, RNG.normal(size=size)), (0,))
    counts = []
    for change in (without, lambda patched: None):
        with monkeypatch.context() as patched:
            change(patched)
            text = Kernel(tape).source
            counts.append({word: text.count(f"{word}(") for word in ("exp", "tanh", "sin", "cos", "log")})
    assert counts[0] == counts[1]


def test_a_value_moves_to_its_only_reader_whatever_it_costs():
    """The exponential is ready in the first nest, and used in the second: it is computed there and nowhere stored."""

    def f(x):
        return np.sum(np.exp(2.0 * x) * np.sum(np.square(x)))

    kernel = Kernel(td.record(f, np.ones(1000)))
    assert kernel.workspace_bytes == 0
    assert kernel.source.count("exp(") == 1


def test_small_arrays_stay():
    def f(x):
        return np.sum((2.0 * x) * np.sum(np.square(x)))

    assert Kernel(td.record(f, np.ones(1000))).workspace_bytes == 0
    assert Kernel(td.record(f, np.ones(200))).workspace_bytes > 0


def test_loops_that_merge_into_one_stay_merged():
    """Rows of three numbers: one long loop over the product, and not one that reads a row of the other operand at each turn."""

    def f(x):
        rows, weights = x[:3000].reshape(1000, 3), x[3000:]
        products = rows * weights
        return np.sum(np.sin(products.reshape(-1) + np.sum(products)))

    kernel = Kernel(td.record(f, np.ones(3003)))
    assert kernel.workspace_bytes >= 8 * 3000


def test_a_part_of_an_array_does_not_stand_for_an_equal_value():
    """Two steps write the halves of an array in the nest that reads a copy of what the first of them copies."""
    n = 1000
    x, copied, halves, result = (Storage(k, size, "f64", home) for k, (size, home) in enumerate([(n, "input"), (n, "workspace"), (2 * n, "workspace"), (n, "output")]))

    def step(read, expression, write, **more):
        return Step((n,), tuple(Access(k, 0, (1,)) for k in read), expression, (), Access(*write, (1,)), **more)

    first = LoopNest((n,), (step([0], "r0", (1, 0)),))
    second = LoopNest((n,), (
        step([0], "r0", (2, 0), is_disjoint_part=True), step([0], "-r0", (2, n), is_disjoint_part=True), step([1, 1], "r0 * r1", (3, 0)),
    ))  # fmt: skip
    third = Straight((Step((), (Access(2, n + 7, ()),), "r0", (), Access(3, 0, ())),))
    groups, _ = recompute.rematerialize([first, second, third], [x, copied, halves, result])
    *_, again, product = groups[0].body
    assert len(groups) == 2
    assert (again.reads, again.expression) == ((Access(0, 0, (1,)),), "r0")
    assert {read.storage for read in product.reads} == {again.write.storage} != {2}


def test_very_long_nests_are_left_as_they_are():
    """Looking for what to compute again takes time that grows with their length."""

    def f(x):
        y = x
        for k in range(recompute.LONGEST_NEST):
            y = y * 0.9 + k
        return np.sum((2.0 * y) * np.sum(y))

    assert Kernel(td.record(f, np.ones(1000))).workspace_bytes > 0
