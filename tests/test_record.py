"""Recording: what ends up on the tape, constants and arguments, nesting, leaks, user lines, and what recording costs."""

import gc
import os
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pytest

import tapediff as td
from tapediff.instruction import CONSTANT, INPUT

X = np.array([1.0, 2.0, 3.0])


def names(tape):
    return [i.op.name for i in tape.instructions]


def test_one_operation_is_one_instruction():
    tape = td.record(lambda x: np.sum(np.exp(x) * 2.0), X)
    assert names(tape) == ["input", "exp", "constant", "multiply", "sum"]
    tape.check()


def test_instructions_name_the_users_line():
    """Through NumPy, through tapediff's own compositions, and through functions that the user's function calls."""

    def inner(x):
        return np.std(x)

    def outer(x):
        return inner(x) + 1.0

    tape = td.record(outer, X)
    sites = {str(i.site) for i in tape.instructions if i.op not in (INPUT, CONSTANT)}
    line = inner.__code__.co_firstlineno + 1
    assert sites == {f"test_record.py:{line} in inner", f"test_record.py:{outer.__code__.co_firstlineno + 1} in outer"}


def test_equal_constants_are_kept_once_and_signed_zeros_apart():
    """By bits: 0.0 and -0.0 differ, NaN equals NaN, 1 and 1.0 are the same float beside a float array."""

    def f(x):
        return x * 1.0 + x * 1 + x * np.float64(1.0) + np.copysign(x, 0.0) + np.copysign(x, -0.0) + x * np.nan + x * np.nan

    tape = td.record(f, X)
    constants = [i.params[0] for i in tape.instructions if i.op is CONSTANT]
    assert len(constants) == 4
    assert {np.signbit(c).item() for c in constants if c == 0.0} == {True, False}
    arrays = td.record(lambda x: x * np.ones(3) + x * np.ones(3) + x * np.ones((1, 3)), X)
    assert sum(i.op is CONSTANT for i in arrays.instructions) == 2


def test_a_constant_means_the_value_it_was_recorded_with():
    """A closure's array is copied: changing it later changes no tape; so is the array a result was built on."""
    weights = np.ones(3)
    tape = td.record(lambda x: np.sum(x * weights), X)
    compiled = td.compile(tape)
    weights[:] = 7.0
    assert tape(X) == compiled(X) == 6.0
    assert not any(i.params[0].flags.writeable for i in tape.instructions if i.op is CONSTANT)


def test_recording_reads_its_arguments_and_never_writes_them():
    x = X.copy()

    def f(x):
        x[0] = 5.0
        x *= 2.0
        return np.sum(x)

    tape = td.record(f, x)
    assert np.array_equal(x, X)
    assert tape(X) == 20.0
    assert np.array_equal(td.gradient(tape, X), [0.0, 2.0, 2.0])


def test_arguments_are_floats_arrays_and_constants():
    """Floats stay scalars, lists become arrays, td.Constant is an input that is not differentiated."""
    tape = td.record(lambda a, b, c, d: (a * b).sum() + c * d.sum(), 2.0, [1.0, 2.0], td.Constant(3), td.Constant(np.array([True, False])))
    assert [str(t) for t in tape.input_types] == ["float64[]", "float64[2]", "int64[]", "bool[2]"]
    assert tape.active_inputs == (0, 1)
    assert tape(2.0, [1.0, 2.0], 3, [True, True]) == 12.0


@pytest.mark.parametrize(
    ("result", "shape"), [(lambda x: x, (3,)), (lambda x: 2.0, ()), (lambda x: [x, x], None), (lambda x: np.ones((2, 2)), (2, 2)), (lambda x: 3, ())]
)
def test_results_are_values_numbers_or_tuples(result, shape):
    tape = td.record(result, X)
    tape.check()
    assert tape.returns_tuple == (shape is None)
    if shape is not None:
        assert np.shape(tape(X)) == shape


@pytest.mark.parametrize("result", [None, "text", {"a": 1}, 1j, object()])
def test_other_results_are_refused(result):
    with pytest.raises(td.ArgumentMismatch, match="not a real number or array"):
        td.record(lambda x: result, X)


def test_small_integer_results_become_int64_in_kernels_too():
    """Generated code knows 8-byte integers only."""
    for value in (np.int32(3), np.arange(3, dtype=np.uint8), np.float16(2.0)):
        tape = td.record(lambda x, value=value: (x.sum(), value), X)
        assert np.array_equal(td.compile(tape)(X)[1], value)
        assert np.array_equal(tape(X)[1], value)


def test_an_object_array_of_tracked_scalars_is_one_tracked_array():
    def f(x):
        m = np.array([[x[0], 1 - x[0]], [1.0, x[1]]])
        return np.sum(m @ m) + np.sum(np.exp(np.array([x[0], x[2]])))

    tape = td.record(f, X)
    for point in (X, -X):
        assert tape(point) == pytest.approx(f(point), rel=1e-15)


def test_a_value_used_after_its_recording_ended_is_an_error():
    kept = []
    td.record(lambda x: kept.append(x * 2.0) or x.sum(), X)
    with pytest.raises(td.TrackedValueLeaked, match="after its recording ended"):
        kept[0] + 1.0
    with pytest.raises(td.TrackedValueLeaked, match="after its recording ended"):
        bool(kept[0][0] > 0)
    with pytest.raises(td.TrackedValueLeaked):
        td.record(lambda x: np.sum(x * kept[0]), X)


def test_a_value_of_an_inner_recording_used_in_the_outer_one_is_an_error():
    def f(x):
        kept = []
        td.gradient(lambda y: kept.append(y) or np.sum(y * y), x)
        return np.sum(kept[0] * x)

    with pytest.raises(td.TrackedValueLeaked):
        td.record(f, X)


def test_an_exception_leaves_no_recording_open():
    """Five failures in a row, then a right answer."""

    def fails(x):
        x = x * 2.0
        raise RuntimeError("mine")

    for _ in range(5):
        with pytest.raises(RuntimeError, match="mine"):
            td.record(fails, X)
        assert not td.is_recording()
    assert np.array_equal(td.gradient(lambda x: np.sum(x**2), X), 2 * X)


def test_nested_derivatives_are_not_confused():
    """grad(x * grad(lambda y: x + y)(1))(1) is 1; inner functions see outer values; the third derivative of x**4."""
    assert td.gradient(lambda x: x * td.gradient(lambda y: x + y, 1.0), 1.0) == 1.0
    assert td.gradient(lambda x: td.gradient(lambda y: y * y * x, x) * x, 3.0) == 6 * 9.0
    cube = td.grad(td.grad(td.grad(lambda x: x**4)))
    assert cube(2.0) == pytest.approx(48.0, rel=1e-14)


def test_a_view_sees_what_is_written_to_its_base_and_the_reverse():
    """As in NumPy, through slices of slices, reshapes and transposes; copies and gathered entries are not views."""

    def f(x):
        a = x * 1.0
        b, c = a[1:], a.reshape(1, -1)
        d = b[::-1]
        copied, gathered = a.copy(), a[[0, 1]]
        a[2] = 10.0
        d[-1] = 20.0
        c.T[0] = 30.0
        return np.concatenate([a, b, c[0], d, copied, gathered])

    tape = td.record(f, X)
    for point in (X, -X):
        assert np.array_equal(tape(point), f(point))
        assert np.array_equal(td.compile(tape)(point), f(point))


def test_a_value_kept_before_a_write_is_the_value_before_it():
    def f(x):
        y = x * 1.0
        before = y + 0.0
        total = np.sum(y * y)
        y[0] = 9.0
        return np.sum(before * y) + total

    tape = td.record(f, X)
    assert tape(X) == f(X)
    assert np.array_equal(td.gradient(tape, X), [9.0 + 2.0, 4.0 + 4.0, 6.0 + 6.0])


LOOP = """
def loop(x):
    a, b = x[0], x[1]
    for k in range({count}):
        a = a * b + 0.5
    return a
"""


def test_a_loop_of_a_hundred_thousand_operations_records_quickly_and_small():
    """Under 1 s of processor time (best of three), and under 500 bytes an instruction kept."""
    scope = {}
    exec(compile(LOOP.format(count=50_000), "loop.py", "exec"), scope)
    seconds = []
    x = np.array([0.3, 0.5])
    for _ in range(3):
        start = time.process_time()
        tape = td.record(scope["loop"], x)
        seconds.append(time.process_time() - start)
    assert len(tape) > 100_000
    assert min(seconds) < 1.0, seconds
    del tape
    gc.collect()
    exec(compile(LOOP.format(count=5_000), "loop.py", "exec"), scope)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    tape = td.record(scope["loop"], x)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (after - before) / len(tape) < 500


def run_python(code):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True).stdout


def test_importing_tapediff_is_quick_and_loads_no_compiler():
    """Under 0.15 s of this thread's processor time beyond NumPy, best of five; numba, llvmlite and SciPy are left for the first kernel."""
    code = """
import sys, time, numpy
start = time.thread_time()
import tapediff
print(time.thread_time() - start)
print([name for name in ("numba", "llvmlite", "scipy") if name in sys.modules])
"""
    runs = [run_python(code).splitlines() for _ in range(5)]
    assert runs[0][1] == "[]"
    assert min(float(run[0]) for run in runs) < 0.15
