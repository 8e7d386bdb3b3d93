"""Arrays that loops write a few entries of: by turns, in one place, with the values and derivatives of plain Python."""

import math

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler.codegen.loop_function import varying
from tapediff.compiler.loop_ir.program import InPlace, Invoke, Step
from tapediff.compiler.pipeline import build_body
from tapediff.compiler.runtime.call_frame import ArgumentLayout
from tapediff.ops.control.calls import LOOP

TURNS = 24
BLOCK = np.random.default_rng(0).normal(size=(4, 4))
# Where turns write: four different rows of the first twelve; and four that may be the same.
APART = np.array([np.random.default_rng(k).permutation(12)[:4] for k in range(TURNS)])
REPEATED = np.random.default_rng(1).integers(0, 12, (TURNS, 4))


def block(K, F, x, e):
    K[np.ix_(APART[e], APART[e])] += x[e] * BLOCK


def broadcast_positions(K, F, x, e):
    K[APART[e][:, None], APART[e]] += x[e] * BLOCK


def from_the_end(K, F, x, e):
    K[np.ix_(APART[e] - len(K), APART[e])] -= x[e] * BLOCK


def rows(K, F, x, e):
    K[APART[e]] += x[e] * np.resize(BLOCK, (4, len(K)))


def entries_of_a_vector(K, F, x, e):
    F[APART[e]] += x[e] * BLOCK[0]


def entries_set(K, F, x, e):
    F[APART[e]] = x[e] * BLOCK[0]


def windows(K, F, x, e):
    i, j = APART[e, :2]
    K[i : i + 2, j : j + 2] += x[e] * BLOCK[:2, :2]


def added_at(K, F, x, e):
    np.add.at(K, (APART[e][:, None], APART[e]), x[e] * BLOCK)


def added_where_positions_repeat(K, F, x, e):
    np.add.at(K, (REPEATED[e][:, None], REPEATED[e]), x[e] * BLOCK)


def written_where_positions_repeat(K, F, x, e):
    K[REPEATED[e], REPEATED[e]] += x[e] * BLOCK[0]


def read_and_written(K, F, x, e):
    K[np.ix_(APART[e], APART[e])] = 0.5 * np.sin(K[np.ix_(APART[e], APART[e])]) + x[e] * BLOCK


def read_elsewhere(K, F, x, e):
    K[np.ix_(APART[e], APART[e])] = 0.5 * np.sin(K[np.ix_(APART[e - 1], REPEATED[e])]) + x[e] * BLOCK


def scaled(K, F, x, e):
    K[np.ix_(APART[e], APART[e])] *= 1.0 + 0.1 * x[e] * BLOCK


def two_arrays(K, F, x, e):
    K[np.ix_(APART[e], APART[e])] += np.sqrt(1.0 + x[e] ** 2) * BLOCK
    F[APART[e]] -= K[APART[e], APART[e]] * x[e]


def written_twice(K, F, x, e):
    K[np.ix_(APART[e], APART[e])] += x[e] * BLOCK
    K[np.ix_(APART[e - 1], APART[e])] = np.cos(K[np.ix_(APART[e], APART[e - 1])]) * x[e]


def inverses(K, F, x, e):
    K[np.ix_(APART[e], APART[e])] += np.linalg.inv(3.0 * np.eye(4) + 0.1 * x[e] * BLOCK)


def boxes_beside(K, F, x, e):
    i, j = APART[e, :2]
    K[np.ix_(APART[e], APART[e])] += x[e] * K[j, i] + BLOCK
    K[i, j] = np.sin(K[j, i]) * x[e]
    K[i : i + 2, j : j + 2] *= 0.5
    F[APART[e]] -= np.sum(K[i, 3:8])


def loops_inside(K, F, x, e):
    for k in range(18):
        K[np.ix_(APART[e, k % 3 :], APART[e, k % 3 :])] += x[e] * x[k]


WRITES = (
    block, broadcast_positions, from_the_end, rows, entries_of_a_vector, entries_set, windows, added_at, added_where_positions_repeat,
    written_where_positions_repeat, read_and_written, read_elsewhere, scaled, two_arrays, written_twice, inverses, boxes_beside, loops_inside,
)  # fmt: skip


def program(write, size, dtype=np.float64):
    """A function of TURNS numbers: turns write to a matrix and a vector, which had other names and copies before."""
    weights = np.random.default_rng(3).normal(size=(size, size)).astype(dtype)

    def f(x):
        K, F = np.zeros((size, size), x.dtype), np.zeros(size * size, x.dtype)
        K[0], F[1:3] = x[0], x[1]
        copied, version = K.copy(), K * x[2]
        row = K[3]
        for e in range(TURNS):
            write(K, F, x, e)
        total = np.sum(np.sin(K) * weights) + np.sum(np.cos(F) * weights.reshape(-1)) + np.sum(row**2)
        return total + np.sum(copied**2 * weights) + np.sum(version**3)

    return f


def point(dtype=np.float64):
    return (0.5 * np.random.default_rng(5).normal(size=TURNS)).astype(dtype)


def bodies(program, seen=None):
    """The loop programs of the iterations of all loops, and what runs them."""
    for group in program.groups:
        if not isinstance(group, Invoke) or group.op is not LOOP:
            continue
        callee, form = group.params
        layout = ArgumentLayout.of(form, program.threads, group.in_place)
        tape = callee.variant_tape(0)
        inner = build_body(tape, varying(tape, layout), layout.carries, layout.threads, layout.in_place)
        yield group, inner
        yield from bodies(inner)


def touched(program):
    """How many entries the loop programs of iterations read or write in a turn, and copy when a loop inside begins."""
    total = 0
    for _, inner in bodies(program):
        for group in inner.groups[inner.before :]:
            for item in group.body:
                if isinstance(item, Step):
                    total += math.prod(item.domain)
                elif isinstance(item, Invoke):
                    carried = set(range(item.params[1].carries)).difference(item.stays)
                    total += sum(item.params[0].in_types[k].size for k in carried)
    return total


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_kernels_give_what_plain_python_and_differences_give(write):
    """Value, gradient and Hessian product; the gradient also against NumPy's replay of the tape."""
    f, x = program(write, 16), point()
    tape = td.record(f, x)
    compiled = td.compile(tape)
    td.testing.check_gradient(compiled, f, x)
    value, gradient = td.value_and_gradient(compiled, x)
    np.testing.assert_allclose(value, f(x), rtol=1e-11)  # sums of a few hundred terms, in another order
    np.testing.assert_allclose(gradient, td.gradient(tape, x), rtol=1e-11, atol=1e-11)
    direction = np.cos(np.arange(TURNS))
    product = td.hvp(compiled, x, direction)
    differences = [
        (td.gradient(tape, x + h * direction) - td.gradient(tape, x - h * direction)) / (2 * h) for h in (1e-4, 1e-5, 1e-6)
    ]
    # The best of several steps: 1e-6 of the largest entry is what central differences of this function reach.
    assert min(np.max(np.abs(product - d)) for d in differences) < 1e-6 * max(1.0, np.max(np.abs(product)))


@pytest.mark.parametrize("write", [block, entries_set, read_and_written, added_where_positions_repeat, scaled], ids=lambda write: write.__name__)
def test_floats_of_32_bits_are_those_of_the_replay(write):
    x = point(np.float32)
    tape = td.record(program(write, 16, np.float32), x)
    value, gradient = td.value_and_gradient(td.compile(tape), x)
    assert gradient.dtype == np.float32
    expected, expected_gradient = td.value_and_gradient(tape, x)
    # A few hundred roundings to 24 bits.
    np.testing.assert_allclose(value, expected, rtol=1e-4)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_a_turn_costs_what_it_writes(write):
    """The loop programs of value, gradient and Hessian product read and write as much of a matrix of 40 x 40 as of one of 20 x 20."""
    found = []
    for size in (20, 40):
        x = point()
        tape = td.record(program(write, size), x)
        product = td.compile(lambda z, t=tape: td.hvp(t, z, np.ones(TURNS)), x)
        programs = [td.compile(tape).kernel(None).program, td.compile(tape).kernel((0,)).program, product.kernel(None).program]
        found.append([touched(p) for p in programs])
    rows_written = 40 * TURNS if write is rows else 0
    assert all(large <= small + rows_written for small, large in zip(*found)), found


def scanned(x, table, size, inner=False):
    """td.scan with the matrix as its carry, at positions that are data of the loop."""

    def body(K, turn):
        number, d = turn
        K = K.copy()
        K[d[:, None], d] = 0.5 * np.sin(K[d[:, None], d]) + number * BLOCK
        return K, K[d[0], d[1]]

    def nested(K, number):
        K, taken = td.scan(body, K, (x * number, table))
        return K, np.sum(taken)

    if inner:
        K, ys = td.scan(nested, np.zeros((size, size)), x[:9])
    else:
        K, ys = td.scan(body, np.zeros((size, size)), (x, table))
    return np.sum(np.cos(K) * np.arange(size)) + np.sum(ys**2)


@pytest.mark.parametrize("inner", [False, True], ids=["one loop", "a loop in a loop"])
@pytest.mark.parametrize("table", [APART, REPEATED, APART - 16], ids=["apart", "repeated", "from the end"])
def test_scans_that_carry_an_array(table, inner):
    """Guards look at positions in every iteration: a turn that another variant begins again finds the array as it was."""
    x = point()
    f = lambda z: scanned(z, table, 16, inner)
    compiled = td.compile(f, x)
    td.testing.check_gradient(compiled, f, x)
    assert compiled(x) == pytest.approx(f(x), rel=1e-11)  # the order of a few hundred terms


def test_a_branch_that_is_taken_later_finds_the_array_as_it_was():
    """The new variant is recorded in the middle of a loop, by kernels that know only the first one; Python answers some turns."""

    def body(K, turn):
        number, d = turn
        K = K.copy()
        K[d[:, None], d] += number * BLOCK
        if K[d[0], d[1]] > 0.9:
            K[d] *= 0.5
        return K, K[d[2], 0]

    def f(x):
        K, ys = td.scan(body, np.zeros((16, 16)), (x, APART))
        return np.sum(np.sin(K)) + np.sum(ys)

    x = point()
    guarded = td.GuardedTape(f)
    for scale in (0.01, 1.0, 3.0, 0.01, 3.0):
        td.testing.check_gradient(guarded, f, scale * x)
        assert guarded(scale * x) == pytest.approx(f(scale * x), rel=1e-11)  # the order of a few hundred terms


def test_a_routine_that_fails_leaves_an_error_as_in_python():
    """The turn is not begun again on a matrix that it has half written."""

    def f(x):
        K = np.zeros((16, 16))
        for e in range(TURNS):
            d = APART[e]
            K[np.ix_(d, d)] += x[e] * np.eye(4)
            K[np.ix_(d, d)] += np.linalg.inv(K[np.ix_(d, d)] + np.eye(4))
        return np.sum(K)

    x = np.full(TURNS, 0.5)
    compiled = td.compile(f, x)
    td.testing.check_gradient(compiled, f, x)
    x[0] = -1.0
    with pytest.raises(np.linalg.LinAlgError):
        f(x)
    with pytest.raises(np.linalg.LinAlgError):
        compiled(x)


def random_program(seed):
    """Some of the writes above in one turn, in any order, to a matrix that keeps growing or not."""
    rng = np.random.default_rng(seed)
    chosen = [WRITES[k] for k in rng.integers(0, len(WRITES) - 1, rng.integers(1, 4))]

    def write(K, F, x, e):
        for each in chosen:
            each(K, F, x, e)

    return chosen, program(write, 16)


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_of_such_writes(seed):
    chosen, f = random_program(seed)
    x = point()
    tape = td.record(f, x)
    compiled = td.compile(tape)
    value, gradient = td.value_and_gradient(compiled, x)
    np.testing.assert_allclose(value, f(x), rtol=1e-10, err_msg=str(chosen))  # a few thousand terms in another order
    np.testing.assert_allclose(gradient, td.gradient(tape, x), rtol=1e-10, atol=1e-10, err_msg=str(chosen))
    direction = np.cos(np.arange(TURNS))
    errors = [abs((f(x + h * direction) - f(x - h * direction)) / (2 * h) - gradient @ direction) for h in (1e-4, 1e-5, 1e-6)]
    assert min(errors) < 1e-6 * max(1.0, abs(gradient @ direction)), chosen  # what central differences reach


def test_what_is_read_and_written_in_place_is_shown():
    """`source` of a body shows its reads and writes in their order; nothing else touches the array."""
    x = point()
    compiled = td.compile(program(block, 16), x)
    loops = [(group, inner) for group, inner in bodies(compiled.kernel((0,)).program) if group.in_place]
    assert len(loops) == 1
    _, inner = loops[0]
    steps = [group.step for group in inner.groups if isinstance(group, InPlace)]
    assert [step.write.index_read >= 0 for step in steps] == [False, True]
    assert not any(step.write.storage == 0 for group in inner.groups if not isinstance(group, InPlace) for step in group.body)
