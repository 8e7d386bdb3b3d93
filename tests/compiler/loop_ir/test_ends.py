"""Loops end where data end: kernels of arrays of many sizes read nothing beyond these, and compute what kernels of the size do."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

import tapediff as td
from tapediff.compiler.codegen.python_listing import run_listing
from tapediff.compiler.kernel import Kernel
from tapediff.compiler.loop_ir.ends import end_loops
from tapediff.compiler.loop_ir.leading_blocks import form_of
from tapediff.compiler.loop_ir.program import Bands, Extent, RoutineCall, Step
from tapediff.compiler.lower.lower import lower
from tapediff.recording.arguments.size_arguments import grown, shapes_of
from tapediff.targets.tapes.gradient_tape import gradient_tape
from tests.targets.guarded.size_programs import PROGRAMS

T = np.array([0.3, -0.2, 0.1])
SIZES = (2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 90)


def sized_kernel(f: Any, data: Any, most: int = 90, key: Any = (0,)) -> tuple[Kernel, Any]:
    """The kernel of value and gradient for sizes up to a power of 2, and the sizes that it takes."""
    tape, rng = td.GuardedTape(f), np.random.default_rng(0)
    for n in (most, most - 3):
        td.value_and_gradient(tape, T, *data(rng, n))
    (calls,) = tape._function.sizes._calls.values()
    (extents,) = calls.tapes
    return tape._cache.all()[-1].compiled.kernel(key), extents


def poisoned(array: np.ndarray, shape: tuple[int, ...], number: float) -> np.ndarray:
    """A larger array, with numbers that nothing may use beyond the first entries."""
    beyond = {"f": number, "i": np.iinfo(np.int64).max // 2, "b": True}[array.dtype.kind]
    found = np.full(shape, beyond, array.dtype)
    found[tuple(map(slice, array.shape))] = array
    return found


def run(kernel: Kernel, extents: Any, args: Any, number: float, *, by_listing: bool = False) -> tuple[float, np.ndarray] | None:
    """Value and gradient; None where a guard fails."""
    arrays = list(map(np.asarray, args))
    large = [poisoned(a, b.shape, number) for a, b in zip(arrays, grown(arrays, shapes_of(arrays), extents))]
    sizes = [np.array(size, np.int64) for size in extents.sizes(shapes_of(arrays))]
    value, gradient = np.full((), np.nan), np.full(3, np.nan)
    if by_listing:
        status = run_listing(kernel.program, [*large, *sizes], [value, gradient])
    else:
        status = kernel.run([*large, *sizes], [value, gradient])
    return None if status else (float(value), gradient)


def fan(t, i, x):
    return np.sum(t[i] * x) + np.sum(np.maximum(x, t[1]) * t[i] ** 2) * t[2]


def neighbours(t, x):
    return np.sum(np.diff(x * t[0]) ** 2) + np.sum(x[2:] * x[:-2]) * t[1] + x[0] * x[-1] * t[2]


def distances(t, x):
    k = np.exp(-((x[:, None] - x[None, :]) ** 2) * t[0]) + np.eye(len(x))
    return np.sum(k @ x) * t[1] + np.sum(np.max(k, axis=0)) + np.sum(k * t[2])


def products(t, x):
    return np.sum(t * np.sum(x[:, :, None] * t, axis=(0, 1))) + np.sum(np.prod(1 + 0.01 * x, axis=0)) + np.any(x > 2) + np.max(x * t[0])


def maxima(t, x, y):
    m = np.exp(-(np.subtract.outer(x, y) ** 2) * t[0])
    return np.sum(m, axis=1) @ x * t[1] + np.sum(np.max(m, axis=0)) * t[2] + logsumexp(y * t[1]) + np.max(np.minimum(y, x[0]))


OWN = {
    "maxima": (maxima, lambda rng, n: (rng.normal(size=n), rng.normal(size=n))),
    "fan": (fan, lambda rng, n: (rng.integers(0, 3, n), rng.normal(size=n))), "neighbours": (neighbours, lambda rng, n: (rng.normal(size=n),)),
    "distances": (distances, lambda rng, n: (rng.normal(size=n),)), "products": (products, lambda rng, n: (rng.normal(size=(n, 5)),)),
}  # fmt: skip
ALL = {**PROGRAMS, **OWN}
MATRICES = [
    "gaussian_process", "gaussian_process_by_scipy", "least_squares", "inverses", "determinants", "systems", "triangles", "chained", "shrunk",
    "gram", "of_a_matrix",
]  # fmt: skip
# Those of arrays alone; row_by_row has a tape for each larger size.
FLAT = [name for name, (_, data) in ALL.items() if name != "row_by_row" and all(isinstance(a, np.ndarray) for a in data(np.random.default_rng(0), 5))]


@pytest.mark.parametrize("number", [np.nan, np.inf])
@pytest.mark.parametrize("name", FLAT)
def test_nothing_beyond_the_size_is_read(name: str, number: float) -> None:
    f, data = ALL[name]
    kernel, extents = sized_kernel(f, data)
    rng, answered = np.random.default_rng(1), 0
    for n in SIZES:
        args = data(rng, n)
        found = run(kernel, extents, (T, *args), number)
        if found is not None:
            answered += 1
            np.testing.assert_allclose(found[0], f(T, *args), rtol=1e-9)
            np.testing.assert_allclose(found[1], td.gradient(f, T, *args), rtol=1e-7, atol=1e-9)
    assert answered > 5


@pytest.mark.parametrize("name", [*OWN, "logistic", "covariance", "of_edges", "mixture", *MATRICES])
def test_listings_end_where_kernels_do(name: str) -> None:
    f, data = ALL[name]
    kernel, extents = sized_kernel(f, data)
    assert "range(min(" in kernel.source
    rng = np.random.default_rng(1)
    for n in SIZES[::3]:
        args = data(rng, n)
        found, expected = (run(kernel, extents, (T, *args), np.nan, by_listing=by_listing) for by_listing in (True, False))
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)


@pytest.mark.parametrize("name", MATRICES)
def test_routines_end_where_the_data_end(name: str) -> None:
    """All extents of routines do, and loops over more than one axis."""
    f, data = ALL[name]
    kernel, extents = sized_kernel(f, data)
    items = [item for group in kernel.program.groups for item in group.body]
    for item in items:
        if isinstance(item, RoutineCall):
            form = form_of(item)
            assert form is not None
            positions = {position for block in form.operands for position in block[:2]}
            assert not any(item.sizes[k] in extents.largest and not isinstance(item.sizes[k], Extent) for k in positions)
        elif isinstance(item, Step):
            assert math.prod(extent for extent in item.domain if not isinstance(extent, Extent)) <= max(extents.largest)
    assert any(isinstance(item, RoutineCall) for item in items)


def test_arrays_that_are_not_read_are_left_where_they_are() -> None:
    f = lambda t, x, y: np.sum(np.exp(x * t[0])) * len(y)
    kernel, _ = sized_kernel(f, lambda rng, n: (rng.normal(size=n), rng.normal(size=n)))
    assert {position for position, _ in kernel.program.short} >= {1, 2}


def test_a_mask_of_the_program_ends_no_loop() -> None:
    """Its products with infinite numbers are NaN, as in NumPy."""
    f = lambda x, n: np.sum(np.where(np.arange(64) < n, x, 0.0) * np.where(x > 5, np.inf, x))
    fast, x = td.compile(td.record(f, np.ones(64), 5)), np.arange(64.0)
    assert "range(min(" not in fast.source
    assert np.isnan(fast(x, 5))


@pytest.mark.parametrize("name", ["logistic", "garch", "scanned", "hidden_states", "by_group", *OWN])
def test_second_derivatives_end_as_well(name: str) -> None:
    f, data = ALL[name]
    tape, rng, v = td.GuardedTape(f), np.random.default_rng(0), np.array([1.0, -0.5, 2.0])
    for n in (40, 33, 2, 3, 8, 17, 39):
        args = data(rng, n)
        np.testing.assert_allclose(td.hessian(tape, T, *args), td.hessian(f, T, *args), rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(td.hvp(tape, T, v, *args), td.hvp(f, T, v, *args), rtol=1e-7, atol=1e-8)
        step = 1e-5 * v
        differences = (td.gradient(tape, T + step, *args) - td.gradient(tape, T - step, *args)) / 2e-5
        # A central difference: its error is of the second order of the step, or of rounding in the gradients.
        np.testing.assert_allclose(td.hvp(tape, T, v, *args), differences, rtol=1e-5, atol=1e-4)


def long_sums(t, x, y):
    return np.sum(np.exp(-x * t[0]) * np.tanh(y * t[1])) + np.sum(np.log1p(x**2) * t[2]) + np.sum(np.cumsum(x) * y)


def long_product(t, x, y):
    m = np.outer(np.sin(x * t[0]), y)
    return np.sum((m @ m.T) ** 2) * 1e-6 * t[1]


@pytest.mark.parametrize(("f", "most"), [(long_sums, 20_000), (long_product, 500), (maxima, 700)])
def test_bands_of_threads_end_as_well(f: Any, most: int) -> None:
    """Also bands of which no row exists, and those that end within a vector."""
    rng, tape = np.random.default_rng(0), td.GuardedTape(f, threads=2)
    draw = lambda n: (rng.normal(size=n), rng.normal(size=n))
    for n in (most, most - 10):
        td.value_and_gradient(tape, T, *draw(n))
    kernel = tape._cache.all()[-1].compiled.kernel((0,))
    assert any(isinstance(group, Bands) for group in kernel.program.groups)
    for n in (most // 2, most // 2 + 1, most // 2 + 13, most - 1, most - 7, 2 * most // 3):
        args = draw(n)
        value, gradient = td.value_and_gradient(tape, T, *args)
        expected = td.value_and_gradient(td.GuardedTape(f, threads=2), T, *args)
        np.testing.assert_allclose(value, f(T, *args), rtol=1e-9)
        np.testing.assert_allclose(value, expected[0], rtol=1e-9)
        np.testing.assert_allclose(gradient, expected[1], rtol=1e-7, atol=1e-9)
    assert tape.stats.recordings == 2


def lines_of_ending(length: int) -> int:
    """The lines of Python that run to end the loops of a program of unlike operations."""
    rng = np.random.default_rng(length)
    chosen = [(rng.choice([np.sin, np.cos, np.tanh, np.exp]), rng.uniform(size=3), rng.integers(3)) for _ in range(length)]

    def f(t, x):
        a, total = x, 0.0
        for function, (p, q, r), k in chosen:
            a = function(a * t[k] * p) + x * q
            total = total + np.sum(a * r)
        return total

    tape = td.GuardedTape(f, on_new_tape="interpret", compile_after=10**6)
    for n in (40, 30):
        tape(T, np.ones(n))
    lowered, count = lower(gradient_tape(tape._cache.all()[-1].tape, (0,))), 0

    def on_line(frame: Any, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return on_line

    before = sys.gettrace()
    sys.settrace(on_line)
    try:
        found = end_loops(lowered.steps, lowered.storages, lowered.constants)
    finally:
        sys.settrace(before)
    assert sum(any(isinstance(extent, Extent) for extent in step.domain) for step in found if isinstance(step, Step)) > length
    return count


def test_ending_loops_takes_time_in_proportion_to_the_program() -> None:
    """Quadratic time would be an exponent of 2."""
    assert lines_of_ending(160) / lines_of_ending(40) < 4**1.2


MAPS = [
    lambda t, a, b: np.exp(-a * a) + t[0] * b, lambda t, a, b: np.where(a > b, a * t[1], b), lambda t, a, b: a - np.mean(b) * t[2],
    lambda t, a, b: np.cumsum(a) / (1.0 + len(a)), lambda t, a, b: np.maximum(a, b * t[0]), lambda t, a, b: a / (1.0 + b**2),
    lambda t, a, b: np.concatenate([a[:1] * t[1], np.diff(a) * 0.5]), lambda t, a, b: a * np.sum(a * b) / (1.0 + np.sum(a**2)),
    lambda t, a, b: np.outer(np.tanh(a), b) @ np.cos(a * t[2]) / len(a), lambda t, a, b: np.log1p(a**2 + np.max(b) ** 2),
    lambda t, a, b: np.ones(len(a)) * t[0] - a[::-1] * b,
    lambda t, a, b: td.scan(lambda s, x: (0.5 * s + x * t[0], s * x), t[1], a)[1] + b,
]  # fmt: skip
NUMBERS = [
    lambda t, a, b: np.sum(a * b), lambda t, a, b: np.log(np.sum(np.exp(a * 0.1 + t[0]))), lambda t, a, b: np.max(a) * t[1],
    lambda t, a, b: a @ b, lambda t, a, b: np.mean(np.diff(a) ** 2) if len(a) > 1 else 0.0 * t[0], lambda t, a, b: a[0] * b[-1],
    lambda t, a, b: np.prod(1.0 + 0.01 * a), lambda t, a, b: np.sum(np.abs(a[1:] - b[:-1])), lambda t, a, b: np.var(a) + np.any(b > 1.0),
    lambda t, a, b: td.scan(lambda s, x: (np.tanh(s * t[1] + x), None), t[2], a)[0],
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of means of no entries
@pytest.mark.parametrize("seed", range(24))
def test_random_programs_of_all_sizes(seed: int) -> None:
    """Against the function itself, and kernels of each size."""
    rng = np.random.default_rng(seed)
    chosen = [(rng.choice(len(MAPS)), rng.integers(0, 2 + k), rng.integers(0, 2 + k)) for k in range(4)]
    ends = [(rng.choice(len(NUMBERS)), rng.integers(0, 6), rng.integers(0, 6)) for _ in range(3)]
    maps = [(MAPS[m], int(a), int(b)) for m, a, b in chosen]
    numbers = [(NUMBERS[m], int(a), int(b)) for m, a, b in ends]

    def f(t, x, y):
        arrays = [x, y]
        for function, a, b in maps:
            arrays.append(function(t, arrays[a], arrays[b]))
        return sum(function(t, arrays[a], arrays[b]) for function, a, b in numbers)

    tape = td.GuardedTape(f)
    for n in (64, 50, *SIZES, 0, 1, 1000, 500, 2, 999):
        args = rng.normal(size=n), rng.normal(size=n)
        try:
            expected = f(T, *args), td.gradient(f, T, *args)
        except (ValueError, IndexError, td.TapediffError):
            continue
        value, gradient = td.value_and_gradient(tape, T, *args)
        # Sums are blocked as in the kernel of the size; NumPy's differ.
        np.testing.assert_allclose(value, expected[0], rtol=1e-9, atol=1e-12, err_msg=f"{n}: {chosen} {ends}")
        np.testing.assert_allclose(gradient, expected[1], rtol=1e-7, atol=1e-9, err_msg=f"{n}: {chosen} {ends}")
