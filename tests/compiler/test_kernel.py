"""Kernels: listing == kernel == replay on chosen programs, the schedule, the memory plan, guards and failures, generated text."""

import re

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler.codegen.emitter import FAILURE, LARGEST_STACK_WORKSPACE
from tapediff.compiler.codegen.python_listing import listing, run_listing
from tapediff.compiler.jit.native_function import assembly
from tapediff.compiler.kernel import Kernel
from tapediff.compiler.loop_ir.program import Access, Exit, LoopNest, RoutineCall, Step
from tapediff.compiler.pipeline import build_program
from tapediff.compiler.runtime.entries import python_entry as entry
from tapediff.ir.interpreter import run
from tapediff.ops.elementwise.arithmetic import CONVERT
from tapediff.passes.pipeline import run_passes
from tapediff.targets.tapes.gradient_tape import gradient_tape

RNG = np.random.default_rng(0)
V, M = RNG.normal(size=11), RNG.normal(size=(5, 9))


def program_of(f, *args, gradient=False):
    tape = td.record(f, *args)
    return build_program(gradient_tape(tape, (0,)) if gradient else run_passes(tape))


def nests(program):
    return [group for group in program.groups if isinstance(group, LoopNest)]


def two_reductions(x):
    return np.sum(np.exp(x)) / np.sum(x * x)


def softmax_rows(m):
    e = np.exp(m - np.max(m, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def overlapping_parts(x):
    y = np.zeros_like(x)
    y[2:] = x[:-2]
    y[:4] += x[3:7]
    y[::3] *= 2.0
    return y[::-1] + y


def scalar_loop(x):
    total = x[0]
    for k in range(1, 11):
        total = total * 0.5 + np.sin(x[k]) * x[k - 1]
    return total


def long_scalar_loop(x):
    """More straight-line steps than one function is given."""
    total = x[0]
    for k in range(1, 400):
        total = np.tanh(total * 0.5 + x[k % 11] * x[(k * 3) % 11])
    return total + np.sum(x)


def matrices(m):
    a = m @ m.T + 5.0 * np.eye(5)
    return np.sum(np.linalg.cholesky(a) @ m) + np.linalg.slogdet(a)[1] + np.sum(np.linalg.solve(a, m))


def sorted_and_gathered(x):
    order = np.argsort(x)
    return np.cumsum(x[order])[::-1] * x[np.argmax(x)] + np.searchsorted(np.array([-1.0, 0.0, 1.0]), x)


PROGRAMS = {
    "two reductions": (two_reductions, V),
    "softmax": (softmax_rows, M),
    "overlapping parts": (overlapping_parts, V),
    "scalar loop": (scalar_loop, V),
    "long scalar loop": (long_scalar_loop, V),
    "matrices": (matrices, M),
    "sorted and gathered": (sorted_and_gathered, V),
    "reductions over every axis": (lambda m: np.sum(m, 0)[:5] * np.max(m, 1) + np.sum(m) - np.min(m), M),
    "a reduction of a transpose": (lambda m: np.sum(np.exp(m.T), axis=0) + np.sum(m.T, axis=0), M),
    "a sum of one-row sums": (lambda m: np.sum(np.sum(m[:1], axis=0)) + np.sum(m[:, :1], axis=1), M),
    "products of every layout": (lambda m: (m @ m.T) @ (m[:, ::2] @ m.T[::2]) + m[:, 0] @ m[:, 1], M),
    "empty parts": (lambda x: np.sum(np.exp(x[:0])) + np.concatenate([x[:0], x, x[3:3]]) + np.sum(np.zeros((0, 11)) * x, axis=0), V),
    "an output used as an input of another": (lambda x: (np.exp(x), np.exp(x) * 2.0, np.sum(np.exp(x)), np.exp(x)[2:5]), V),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_listing_kernel_and_replay_agree(name):
    """At another point than the recorded one, for the values and for the gradient of their sum."""
    f, recorded = PROGRAMS[name]
    point = recorded[::-1].copy()

    def total(x):
        values = f(x)
        return sum(np.sum(np.sin(v)) for v in values) if isinstance(values, tuple) else np.sum(np.sin(values))

    for tape in (run_passes(td.record(f, recorded)), gradient_tape(td.record(total, recorded), (0,))):
        kernel = Kernel(tape)
        native, listed = ([np.empty(t.shape, t.dtype) for t in tape.output_types] for _ in range(2))
        assert kernel.run([point], native) == 0
        assert run_listing(kernel.program, [point], listed) is None
        for k, expected in enumerate(run(tape, [point])):
            # A few hundred rounded operations; sums in another order.
            np.testing.assert_allclose(native[k], expected, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(listed[k], expected, rtol=1e-12, atol=1e-12)


def test_an_elementwise_chain_and_its_gradient_are_one_loop():
    """Forward and backward together, nothing stored between them."""
    program = program_of(lambda x: np.sum(np.exp(-(x**2)) * np.sin(x)), V, gradient=True)
    assert len(nests(program)) == 1
    assert program.workspace_bytes == 0


def test_reductions_over_one_array_share_its_loop():
    assert len(nests(program_of(two_reductions, V))) == 1


def test_a_value_read_at_another_point_waits_for_its_loop():
    """x and x reversed: two loops, and the value between them in memory."""
    program = program_of(lambda x: np.exp(x) + np.exp(x)[::-1], V)
    assert len(nests(program)) == 2
    assert program.workspace_bytes >= V.nbytes


def test_every_value_is_written_before_it_is_read():
    """Over all programs above: reads follow the groups, or the steps of the same group, that write them."""
    for f, recorded in PROGRAMS.values():
        program = program_of(f, recorded)
        written = {s.number for s in program.storages if s.home in ("input", "constant")}
        for group in program.groups:
            for item in group.body:
                reads = [r.storage for r in item.reads if isinstance(r, Access)] if isinstance(item, Step) else []
                if isinstance(item, RoutineCall):
                    reads = [storage for storage, _ in item.operands[:1]]
                elif isinstance(item, Exit):
                    assert item.read.storage in written
                    continue
                reads = [storage for storage in reads if program.storages[storage].size]
                assert set(reads) <= written | {item.write.storage if isinstance(item, Step) else -1}
                written.add(item.write.storage if isinstance(item, Step) else item.result)


def lifetimes(program):
    """First and last group that touches each stored array of the workspace, and its bytes."""
    found = {}
    for number, group in enumerate(program.groups):
        for item in group.body:
            if isinstance(item, Step):
                touched = [item.write.storage, *(r.storage for r in item.reads if isinstance(r, Access))]
            elif isinstance(item, RoutineCall):
                touched = [item.result, *(storage for storage, _ in item.operands)]
            else:
                touched = [item.read.storage, item.report[0]]
            for k in touched:
                if k >= 0 and program.storages[k].home == "workspace" and program.storages[k].in_memory:
                    first, _ = found.get(k, (number, number))
                    found[k] = first, number
    return found


def takes_place(program, old, new, alive):
    """Whether one array begins in the nest that reads the other for the last time, at the same address and before that is written."""
    if alive[old][1] != alive[new][0] or alive[old][0] == alive[old][1]:
        return False
    body = program.groups[alive[new][0]].body
    writes = [k for k, step in enumerate(body) if isinstance(step, Step) and step.write.storage == new]
    if len(writes) != 1:
        return False
    (write,) = writes
    where = {(r.storage, r.offset, r.strides, r.index_read) for s in body for r in s.reads if isinstance(r, Access) and r.storage == old}
    last = max(k for k, step in enumerate(body) for r in step.reads if isinstance(r, Access) and r.storage == old)
    target = body[write].write
    return where == {(old, target.offset, target.strides, -1)} and last <= write and body[write].combine is None


def test_arrays_alive_at_once_do_not_share_memory(flat_loops):
    """For every pair whose lifetimes meet, the byte ranges are apart; all lie in the workspace and on cache lines."""
    for f, recorded in PROGRAMS.values():
        programs = [program_of(f, recorded)]
        if not isinstance(f(recorded), tuple):
            programs.append(program_of(lambda x, f=f: np.sum(f(x)), recorded, gradient=True))
        for program in programs:
            alive = lifetimes(program)
            spans = {k: (program.storages[k].position, program.storages[k].position + program.storages[k].bytes) for k in alive}
            for k, (start, stop) in spans.items():
                assert start % (64 if program.storages[k].size > 1 else 8) == 0
                assert 0 <= start <= stop <= program.workspace_bytes
            starts, stops = np.transpose([*spans.values()]) if spans else np.zeros((2, 0), int)
            firsts, lasts = np.transpose([alive[k] for k in spans]) if spans else np.zeros((2, 0), int)
            for (k, (start, stop)), (first, last) in zip(spans.items(), zip(firsts, lasts)):
                clash = (starts < stop) & (start < stops) & (firsts <= last) & (first <= lasts)
                for m in (m for m, clashes in zip(spans, clash) if clashes and m != k):
                    assert takes_place(program, k, m, alive) or takes_place(program, m, k, alive)


def test_memory_is_used_again_when_a_value_is_no_longer_needed():
    """Twenty arrays that follow each other need room for a few."""

    def f(x):
        for _ in range(20):
            x = np.cumsum(np.sin(x))
        return x

    program = program_of(f, np.linspace(0.0, 1.0, 1000))
    assert program.workspace_bytes <= 3 * 8064


def test_a_failed_guard_reports_its_outcome_and_writes_nothing():
    def f(x):
        y = x * 2.0
        if np.sum(y) > 0:
            y = y + 1.0
        k = int(y[3])
        mask = y > 0
        return y * k + np.sum(np.kron(y[mask], 1.0))

    x = np.abs(V) + 1.0
    kernel = Kernel(run_passes(td.record(f, x, merge=False)))
    cases = [(-x, 0, False), (x + 5.0, 1, int(2 * (x[3] + 5.0) + 1.0))]
    flipped = x.copy()
    flipped[0] = -1.0
    cases.append((flipped, 2, 2 * flipped + 1.0 > 0))
    for point, ordinal, outcome in cases:
        out = np.full(11, 7.0)
        status = kernel.run([point], [out])
        assert np.array_equal(out, np.full(11, 7.0))
        miss = kernel.failure(status, [point])
        assert miss.ordinal == ordinal
        assert np.array_equal(miss.outcome, outcome)
        assert run_listing(kernel.program, [point], [out]) == ("guard", ordinal)
        assert np.array_equal(out, np.full(11, 7.0))


def test_a_failed_routine_writes_nothing():
    kernel = Kernel(run_passes(td.record(lambda m: (np.sin(m), np.linalg.cholesky(m)), np.eye(3))))
    out = [np.full((3, 3), 7.0), np.full((3, 3), 7.0)]
    status = kernel.run([-np.eye(3)], out)
    assert status >= FAILURE
    assert np.array_equal(out[0], np.full((3, 3), 7.0))
    with pytest.raises(np.linalg.LinAlgError, match="Matrix is not positive definite"):
        kernel.failure(status, [-np.eye(3)])
    assert run_listing(kernel.program, [-np.eye(3)], out) == ("failure", 0)


@pytest.mark.parametrize(
    "read",
    [lambda x, k: x[k], lambda x, k: np.take_along_axis(x, k, 0), lambda x, k: written_at(x, k), lambda x, k: behind_a_guard(x, k)],
    ids=["read", "along an axis", "written", "behind another guard"],
)
def test_positions_out_of_range_never_reach_memory(read):
    """Run-time indices, read and written: a guard stands before the access, in the kernel too (or 2**40 ends the process)."""
    compiled = td.compile(lambda x, k: np.sum(read(x * 2.0, k) ** 2), V, td.Constant(np.array([0, 1, 2])))
    for k in (np.array([0, 1, 11]), np.array([-12, 0, 0]), np.array([0, 2**40, 0]), np.array([-(2**40), 0, 0])):
        with pytest.raises(td.GuardFailed):
            compiled(V, k)
        with pytest.raises(td.GuardFailed):
            td.gradient(compiled, V, k)
    for k in (np.array([-11, 10, 3]), np.array([5, 5, 5])):
        assert compiled(V, k) == pytest.approx(np.sum(read(V * 2.0, k) ** 2), rel=1e-14)


def behind_a_guard(x, k):
    """The range is checked last, although the positions, and loops that they could be used in, come earlier."""
    c = np.exp(-np.square(np.cumsum(x)[:3])) * (k[0] * 1e-30 + 1.0)
    d = np.exp(-np.square(np.cumsum(c))) * 0.5
    return x[k] * x[k[0]] * d if np.sum(d) > 0 else d


def written_at(x, k):
    y = x.copy()
    y[k] = 1.5
    return y


@pytest.mark.parametrize("f", [np.sum, lambda x: x @ x, np.max], ids=["sum", "dot", "max"])
@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 16, 17, 25, 64, 1000])
def test_a_reduction_has_the_same_bits_whatever_it_is_fused_with(f, size):
    """Two kernels that share a guard must compute what feeds it alike."""
    x = RNG.normal(size=size)
    alone = td.compile(f, x)(x)
    with_others = td.compile(lambda x: (np.exp(x), f(x), np.sum(np.sin(x)), x[::-1] * 2.0), x)(x)[1]
    gradient, _ = td.value_and_gradient(td.compile(lambda x: f(x) * 1.0, x), x)
    assert alone == with_others == gradient


def test_repeated_positions_are_written_in_order():
    """The last assignment wins, as in NumPy, and every addition counts."""
    positions = np.array([0, 0, 3, 3, 3, 0, 1, 2, 2, 0, 4, 4, 4, 4, 4, 4, 0])
    values = RNG.normal(size=17)

    def f(v):
        y, z = td.zeros(5), td.zeros(5)
        y[positions] = v
        np_add = z[positions] + v
        return y, np_add

    for got, expected in zip(td.compile(f, values)(values), f(values)):
        assert np.array_equal(got, expected)
    counts = td.gradient(td.compile(lambda x: np.sum(x[positions]), np.ones(5)), np.ones(5))
    assert np.array_equal(counts, np.bincount(positions))


def test_workspaces_beyond_the_stack_limit_are_kept_for_the_next_call():
    """The kernel's state holds the idle workspace; the same one is used again."""
    x = np.linspace(0.0, 1.0, 2 * LARGEST_STACK_WORKSPACE // 8)
    kernel = Kernel(run_passes(td.record(lambda x: np.cumsum(np.sin(x))[::-1] * x, x)))
    assert kernel.workspace_bytes > LARGEST_STACK_WORKSPACE
    out = np.empty_like(x)
    before = kernel.state.copy()
    assert kernel.run([x], [out]) == 0
    held = kernel.state[kernel.state != before]
    assert held.size == 1
    assert kernel.run([x], [out]) == 0
    assert np.array_equal(kernel.state[kernel.state != before], held)


def test_the_listing_names_the_users_lines_and_compiles():
    f = softmax_rows
    text = listing(program_of(f, M))
    first = f.__code__.co_firstlineno
    assert f"# test_kernel.py:{first + 1} in softmax_rows" in text
    compile(text, "listing", "exec")


def test_no_user_string_reaches_generated_code():
    """Names in generated code are numbers; the function's own name and its file appear in comments of the listing only."""

    def evil(x):
        return np.sum(x * 2.0)

    evil.__name__ = "x;import os\nos.abort()"
    kernel = Kernel(gradient_tape(td.record(evil, V), (0,)))
    assert "import os" not in kernel.llvm
    assert all(re.fullmatch(r"v\d+ = .*|w\d+.*|for i\d+ in range\(\d+\):|out\d+.*|def kernel.*|return 0|", line.split("#")[0].strip())
               for line in kernel.source.splitlines())  # fmt: skip


def test_constants_travel_by_their_bits():
    """Signed zeros, NaN, infinities, subnormals, numbers with all their digits: as scalars and in arrays."""
    numbers = [0.0, -0.0, 1.0, 0.1, 1 / 3, 5e-324, 1.7976931348623157e308, np.inf, -np.inf, np.nan, -1e-300]

    def f(x):
        return (np.copysign(x[0], np.array(numbers)), *(np.where(x > 100.0, x, c) for c in numbers))

    for got, expected in zip(td.compile(f, V)(V), f(V)):
        assert got.tobytes() == expected.tobytes()


def test_an_exponential_is_vectorised():
    """No call in the loop: the machine code of exp over a long array works on vector registers."""
    kernel = Kernel(run_passes(td.record(lambda x: np.exp(x) * 2.0, np.ones(4096))))
    text = assembly(kernel.llvm)
    assert not re.search(r"\bcall\b.*\bexp\b", text)


def test_types_that_kernels_do_not_know_are_refused():
    """A wrong width would read and write beyond the arrays."""
    tape = td.record(lambda x: CONVERT(x, dtype=np.dtype(np.int8)), V)
    with pytest.raises(td.UnsupportedFunction, match="compiling"):
        td.compile(tape)


@pytest.mark.parametrize("most", [1024, 8])
def test_a_kernel_takes_any_number_of_arguments(monkeypatch, most):
    """33 and 100 of them, with as many gradients: the way from Python into kernels, or ctypes where that has no room for them."""
    monkeypatch.setattr(entry, "MOST_ARGUMENTS", most)
    for count in (33, 100):
        arrays = [np.array([1.0 + k / count, 2.0]) for k in range(count)]
        compiled = td.compile(lambda *a: sum(np.sum(v * v) * (k + 1) for k, v in enumerate(a)), *arrays)
        value, gradients = td.value_and_gradient(compiled, *arrays, argnums=tuple(range(count)))
        # Sums of 200 numbers, added in some order.
        np.testing.assert_allclose(value, sum(np.sum(v * v) * (k + 1) for k, v in enumerate(arrays)), rtol=1e-13)
        for k, (array, gradient) in enumerate(zip(arrays, gradients)):
            np.testing.assert_array_equal(gradient, 2 * (k + 1) * array)
