"""CompiledTape: recorded at A and evaluated at B, what it accepts and hands back, threads, failures, memory."""

import gc
import threading
import tracemalloc

import numpy as np
import pytest
from support.in_threads import in_threads

import tapediff as td
from tapediff.compiler.codegen.emitter import LARGEST_STACK_WORKSPACE
from tapediff.compiler.kernel import Kernel

A = np.array([0.3, -1.2, 2.0, 0.7, 1.1])


def density(x):
    return np.sum(np.exp(-0.5 * x**2) + np.sin(x) * x) - np.log1p(np.sum(x**2))


def density_gradient(x):
    return -x * np.exp(-0.5 * x**2) + np.cos(x) * x + np.sin(x) - 2 * x / (1 + np.sum(x**2))


COMPILED = td.compile(density, A)


# A dozen rounded operations on numbers of order one.
def assert_right(gradient, x):
    np.testing.assert_allclose(gradient, density_gradient(np.asarray(x, float)), rtol=1e-13, atol=1e-13)


def large(x):
    """Needs several large arrays at once: its workspace is beyond the stack's limit, and its kernel releases the interpreter lock."""
    a = np.sin(x)
    b = np.cumsum(a * x)
    return np.sum(b * a) / x.size + np.sum(np.sort(b)[::2] * a[::2])


LAYOUTS = {
    "list": A.tolist(),
    "tuple": tuple(A.tolist()),
    "strided": np.repeat(A, 2)[::2],
    "reversed": A[::-1].copy()[::-1],
    "big-endian": A.astype(">f8"),
    "unaligned": np.frombuffer(b"x" + A.tobytes(), np.uint8)[1:].view(np.float64),
    "broadcast": np.broadcast_to(np.array([0.5]), (5,)),
    "matrix column": np.outer(A, np.ones(3))[:, 1],
}


@pytest.mark.parametrize("x", LAYOUTS.values(), ids=LAYOUTS)
def test_any_layout_of_the_argument_is_read(x):
    """The answer is that for the same numbers in a plain array, and the argument is not changed."""
    before = np.array(x)
    assert_right(td.gradient(COMPILED, x), before)
    assert COMPILED(x) == pytest.approx(density(np.asarray(x, float)), rel=1e-13)
    assert np.array_equal(np.array(x), before)


def test_read_only_and_subclassed_arguments_are_read():
    class Sub(np.ndarray):
        pass

    x = A.copy()
    x.flags.writeable = False
    assert_right(td.gradient(COMPILED, x), A)
    result = td.gradient(COMPILED, A.view(Sub))
    assert type(result) is np.ndarray
    assert_right(result, A)


@pytest.mark.parametrize("target", [COMPILED, COMPILED.tape], ids=["kernel", "tape"])
def test_out_receives_the_gradient(target):
    """The very array is returned, whatever its layout."""
    for out in (np.full(5, np.nan), np.full(10, np.nan)[::2], np.full(5, np.nan)[::-1], np.full((5, 2), np.nan)[:, 1]):
        assert td.gradient(target, A, out=out) is out
        assert_right(out, A)
        value, same = td.value_and_gradient(target, A, out=out)
        assert same is out
        assert value == pytest.approx(density(A))


def test_with_out_nothing_is_allocated():
    """Peak of traced memory over a call: less than one array of the result's size."""
    x = np.linspace(-1.0, 1.0, 10_000)
    compiled = td.compile(lambda x: np.sum(np.exp(x) * x), x)
    out = np.empty_like(x)
    td.gradient(compiled, x, out=out)
    tracemalloc.start()
    td.gradient(compiled, x, out=out)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5_000, peak


def test_fresh_results_share_no_memory():
    """With each other, with the argument, with the tape's constants; and they can be written to."""
    compiled = td.compile(lambda x: np.sum(x * A), A)
    first, second = td.gradient(compiled, A), td.gradient(compiled, A)
    assert not np.shares_memory(first, second)
    first[:] = 7.0
    assert np.array_equal(td.gradient(compiled, A), A)
    same = td.compile(lambda x: x[::2], A)
    view = same(A)
    view[:] = 9.0
    assert np.array_equal(same(A), A[::2])
    constant = td.compile(lambda x: (np.ones(3), x), A)
    ones, _ = constant(A)
    ones[:] = 5.0
    assert np.array_equal(constant(A)[0], np.ones(3))


WRONG = [
    (lambda: td.gradient(COMPILED, np.ones(4)), td.ShapeMismatch,
     "argument 0 of density has another shape than recorded\n  got: recorded (5,), given (4,)\n"
     "  fix: record a tape for this shape, or use td.GuardedTape(f), which keeps one per shape"),
    (lambda: COMPILED(np.ones((5, 1))), td.ShapeMismatch,
     "argument 0 of density has another shape than recorded\n  got: recorded (5,), given (5, 1)\n"
     "  fix: record a tape for this shape, or use td.GuardedTape(f), which keeps one per shape"),
    (lambda: td.gradient(COMPILED, np.arange(5)), td.DtypeMismatch,
     "argument 0 must be real floating-point numbers to be differentiated\n  got: dtype int64, shape (5,)\n"
     "  fix: pass floats, e.g. np.asarray(x, dtype=float); wrap data that is not differentiated in td.Constant(...)"),
    (lambda: td.gradient(COMPILED, A.astype(np.float32)), td.DtypeMismatch,
     "argument 0 of density has another dtype than recorded\n  got: recorded float64, given float32\n"
     "  fix: convert it with .astype(np.float64), or record a tape for this dtype"),
    (lambda: td.gradient(COMPILED, A, A), td.ArgumentMismatch,
     "the tape of density takes 1 arguments, 2 were given\n  got: ndarray, ndarray\n"
     "  fix: pass the arguments it was recorded with: float64[5]"),
    (lambda: td.gradient(COMPILED), td.ArgumentMismatch,
     "the tape of density takes 1 arguments, 0 were given\n  got: \n  fix: pass the arguments it was recorded with: float64[5]"),
    (lambda: td.gradient(COMPILED, A, out=np.empty(4)), td.ShapeMismatch,
     "out has another shape than the gradient\n  got: gradient (5,), out (4,)\n  fix: np.empty(x.shape)"),
    (lambda: td.gradient(COMPILED, A, out=np.empty(5, np.float32)), td.DtypeMismatch,
     "out has another dtype than the gradient\n  got: gradient float64, out float32\n  fix: np.empty(x.shape, x.dtype)"),
    (lambda: td.gradient(COMPILED, A, out=[0.0] * 5), td.ArgumentMismatch,
     "out must be a NumPy array\n  got: list\n  fix: np.empty(x.shape)"),
    (lambda: td.gradient(COMPILED, A, out=np.broadcast_to(0.0, 5)), td.ArgumentMismatch,
     "out is read-only\n  fix: pass an array that can be written to"),
    (lambda: td.gradient(COMPILED, A, argnums=1), td.ArgumentMismatch,
     "argnums=1 but density was called with 1 arguments\n  fix: choose argnums between 0 and 0"),
    (lambda: td.gradient(td.compile(lambda x: x * 2, A), A), td.NonScalarOutput,
     "<lambda> returned an array; a gradient needs a scalar\n  got: float64[5]\n"
     "  fix: use td.jacobian(f, x), or reduce the output, e.g. with .sum()"),
    (lambda: td.compile(COMPILED.tape, A), td.ArgumentMismatch,
     "td.compile(tape) takes no further arguments\n  fix: td.compile(f, x0) records and compiles"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), WRONG)
def test_a_wrong_call_raises_with_its_whole_text(call, error, text):
    """What happened, the caller's line, what was met, the fix; and the next call is right."""
    with pytest.raises(error) as raised:
        call()
    what, *details = text.split("\n")
    lines = str(raised.value).split("\n")
    assert lines.pop(1).startswith("  at:  test_compiled_tape.py:")
    assert lines == [what, *details]
    assert_right(td.gradient(COMPILED, A), A)


def test_masked_arrays_are_refused():
    with pytest.raises(td.DtypeMismatch, match="masked array"):
        td.gradient(COMPILED, np.ma.masked_array(A, A < 0))


@pytest.mark.parametrize("f", [density, large], ids=["stack workspace", "heap workspace"])
def test_threads_do_not_disturb_each_other(f):
    """Eight threads, each at points of its own, many calls at once: the answers of a single thread."""
    size = 5 if f is density else 20_000
    rng = np.random.default_rng(0)
    points = [rng.normal(size=size) for _ in range(8)]
    compiled = td.compile(f, points[0])
    kernel = compiled.kernel((0,))
    assert (kernel.workspace_bytes > LARGEST_STACK_WORKSPACE) == (f is large)
    assert kernel.facts.is_short == (f is not large)
    expected = [td.value_and_gradient(compiled, p) for p in points]

    def work(number):
        for turn in range(6 if f is large else 300):
            k = (number + turn) % 8
            value, gradient = td.value_and_gradient(compiled, points[k])
            assert value == expected[k][0]
            assert np.array_equal(gradient, expected[k][1])

    in_threads(work, range(8))


def test_a_failed_call_leaves_out_alone_and_the_next_one_is_right():
    compiled = td.compile(lambda a: np.linalg.slogdet(a)[1] + np.linalg.solve(a, np.ones(2)).sum(), np.eye(2))
    out = np.full((2, 2), 3.0)
    for _ in range(3):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            td.gradient(compiled, np.ones((2, 2)), out=out)
        assert np.array_equal(out, np.full((2, 2), 3.0))
        np.testing.assert_allclose(td.gradient(compiled, 2 * np.eye(2)), [[0.25, -0.25], [-0.25, 0.25]], atol=1e-15)


@pytest.mark.slow
def test_memory_does_not_grow_when_kernels_are_dropped():
    """Fifty kernels, made and dropped, leave less than 250 kB each: llvmlite's pass managers keep 120 kB, a kernel nothing."""
    x = np.linspace(0.0, 1.0, 100_000)  # a workspace of 800 kB

    def one(k):
        compiled = td.compile(lambda x: np.sum(np.cumsum(np.sin(x * k)) * x), x)
        return td.gradient(compiled, x)[0]

    def resident():
        gc.collect()
        with open("/proc/self/statm") as status:
            return int(status.read().split()[1]) * 4096

    for k in range(10):
        one(float(k))
    before = resident()
    for k in range(50):
        one(float(k))
    assert resident() - before < 50 * 250_000


@pytest.mark.parametrize("target", ["tape", "kernel"])
def test_constants_are_read_at_every_call(target):
    """td.Constant data of every kind: floats, integers, masks, numbers."""

    def f(x, y, k, m, s):
        return np.sum((x - y) ** 2 * m) + np.sum(x[k]) * s

    data = (np.ones(4), np.array([0, 1]), np.array([True, False, True, True]), 2)
    tape = td.record(f, np.zeros(4), *map(td.Constant, data))
    run = tape if target == "tape" else td.compile(tape)
    x = np.arange(4.0)
    for y, k, m, s in (data, (np.full(4, 3.0), np.array([3, 3]), np.array([False, True, True, False]), -1)):
        expected = 2 * (x - y) * m
        np.add.at(expected, k, float(s))
        for wrap in (td.Constant, lambda v: v):
            value, gradient = td.value_and_gradient(run, x, *map(wrap, (y, k, m, s)))
            assert value == f(x, y, k, m, s)
            assert np.array_equal(gradient, expected)
    for k in (np.array([0, 4]), np.array([-5, 0])):
        with pytest.raises(td.GuardFailed):
            td.gradient(run, x, np.ones(4), k, data[2], 1)
    assert np.array_equal(td.gradient(run, x, np.ones(4), np.array([-1, -4]), data[2], 0), 2 * (x - 1) * data[2])
    with pytest.raises(td.ArgumentMismatch, match=r"argument 1 of f is data \(td.Constant, or integers\), so it has no gradient"):
        td.gradient(run, x, *data, argnums=1)
    with pytest.raises(td.DtypeMismatch, match="another dtype"):
        td.gradient(run, x, data[0], data[1].astype(float), *data[2:])


@pytest.mark.parametrize("target", ["tape", "kernel"])
def test_argnums_chooses_arguments(target):
    """An int gives a gradient, a tuple a tuple in its order, out= a tuple of arrays."""

    def f(x, y, z):
        return np.sum(x * y) * z + np.sum(x)

    x, y, z = np.array([1.0, 2.0]), np.array([3.0, 5.0]), 2.0
    run = td.record(f, x, y, z) if target == "tape" else td.compile(f, x, y, z)
    gradients = {0: y * z + 1.0, 1: x * z, 2: 13.0}
    for k, expected in gradients.items():
        assert np.array_equal(td.gradient(run, x, y, z, argnums=k), expected)
    for numbers in ((0,), (2, 0), (1, 2), (0, 1, 2), ()):
        got = td.gradient(run, x, y, z, argnums=numbers)
        assert type(got) is tuple
        assert len(got) == len(numbers)
        assert all(np.array_equal(g, gradients[k]) for g, k in zip(got, numbers))
    out = (np.empty(2), np.empty(()))
    assert td.gradient(run, x, y, z, argnums=(1, 2), out=out) is out
    assert np.array_equal(out[0], gradients[1])
    assert out[1] == 13.0
    with pytest.raises(td.ArgumentMismatch, match="out must be a tuple with an entry for each of 2 arguments"):
        td.gradient(run, x, y, z, argnums=(1, 2), out=np.empty(2))


@pytest.mark.parametrize("x", [2.0, np.float64(2.0), np.array(2.0)], ids=["float", "float64", "0-d array"])
@pytest.mark.parametrize("recorded_at", [1.0, np.array(1.0)], ids=["float", "0-d array"])
def test_scalars_and_0d_arrays_are_the_same(recorded_at, x):
    """The gradient is a NumPy float; out= takes a 0-d array."""
    compiled = td.compile(lambda x: x**3 + np.exp(x), recorded_at)
    gradient = td.gradient(compiled, x)
    assert type(gradient) is np.float64
    assert gradient == pytest.approx(12.0 + np.exp(2.0), rel=1e-15)
    out = np.empty(())
    assert td.gradient(compiled, x, out=out) is out
    assert out == gradient
    assert type(compiled(x)) is float


def test_outputs_of_every_kind_come_back():
    """Tuples of floats, arrays, masks, integers, constants, the argument itself, views of it, the same value twice."""

    def f(x):
        y = np.sin(x)
        return np.sum(y), y, x > 0, np.argsort(x), x, x[::2], np.ones(3), 2.0, y, x.reshape(5, 1).T, np.argmax(x), x.sum() > 0, 7

    compiled, tape = td.compile(f, A), td.record(f, A)
    for x in (A, -A):
        for kernel, replay, plain in zip(compiled(x), tape(x), f(x)):
            assert np.shape(kernel) == np.shape(plain)
            assert np.asarray(kernel).dtype == np.asarray(replay).dtype == np.asarray(plain).dtype
            np.testing.assert_allclose(kernel, plain, rtol=1e-15)


@pytest.mark.parametrize("target", ["tape", "kernel"])
def test_empty_arrays_and_constant_functions_have_gradients(target):
    compile_ = td.compile if target == "kernel" else lambda t: t
    empty = np.zeros((0,))
    run = compile_(td.record(lambda x: np.sum(np.exp(x) * 2.0) + 1.0, empty))
    value, gradient = td.value_and_gradient(run, empty)
    assert value == 1.0
    assert gradient.shape == (0,)
    run = compile_(td.record(lambda x: np.sum(x, axis=0) * 2.0 + np.zeros(3), np.zeros((0, 3))))
    assert np.array_equal(run(np.zeros((0, 3))), np.zeros(3))
    run = compile_(td.record(lambda x: 3.0, A))
    assert td.value_and_gradient(run, A)[0] == 3.0
    assert np.array_equal(td.gradient(run, A), np.zeros(5))
    run = compile_(td.record(lambda x: x.sum() * 0 + 1.0, A))
    assert np.array_equal(td.gradient(run, A), np.zeros(5))
    run = compile_(td.record(lambda: 2.5))
    assert run() == 2.5


def test_a_function_that_ignores_an_argument_has_zero_gradient():
    compiled = td.compile(lambda x, y: x.sum(), A, A)
    assert np.array_equal(td.gradient(compiled, A, A, argnums=1), np.zeros(5))


def test_first_compiled_calls_from_several_threads_compile_once():
    compiled = td.CompiledTape(COMPILED.tape)
    start, results = threading.Barrier(4), []

    def work(_):
        start.wait()
        results.append(td.gradient(compiled, A))

    in_threads(work)
    assert len(compiled._kernels) == 1
    for result in results:
        assert_right(result, A)


def test_the_call_without_native_entry_does_the_same():
    """Interpreters whose object layout the entry does not know call by address: same answers, same refusals."""
    kernel = Kernel(COMPILED.kernel((0,)).tape)
    native, plain = np.empty(5), np.empty(5)
    assert kernel.call(A, native) == kernel._call_by_address(A, plain)
    assert np.array_equal(native, plain)
    for wrong in ((A,), (A[::2], plain), (A, plain[:4]), (A.tolist(), plain), (A, A), (A.astype(np.float32), plain), (A[::-1], plain)):
        assert kernel.call(*wrong) == kernel._call_by_address(*wrong) < 0


def test_compiled_tapes_differentiate_inside_a_recording():
    """A compiled tape called with tracked values is recorded again, so second derivatives go through."""
    second = td.record(lambda x: np.sum(td.gradient(COMPILED, x) * A) + COMPILED(x), A)
    x = A + 0.1
    step = 1e-6
    numeric = (density_gradient(x + step * A) - density_gradient(x - step * A)) / (2 * step) + density_gradient(x)
    for target in (second, td.compile(second)):
        # The difference is good to 1e-9.
        np.testing.assert_allclose(td.gradient(target, x), numeric, rtol=1e-7, atol=1e-7)


def test_the_source_is_readable_python_with_the_users_lines():
    assert "def kernel(x0, out0, out1, report):" in COMPILED.source
    assert "test_compiled_tape.py:" in COMPILED.source
    compile(COMPILED.source, "source", "exec")
    assert repr(COMPILED) == f"<CompiledTape of density: {len(COMPILED.tape)} instructions, 0 guards>"
