"""Tapes of all paths, however they are used: derivatives, batches, compiled calls, threads, pickles, C functions, solvers, posteriors."""

from __future__ import annotations

import ctypes
import pickle
import threading

import numpy as np
import pytest

import tapediff as td
from tests.flow.corpus import branches, subtapes
from tests.flow.corpus.branches import fixed_point, unlike_at_last
from tests.flow.corpus.masks import POINTS as MASKED, huber
from tests.targets.native.test_native_calls import FromC

POINTS = np.random.default_rng(1).normal(size=(12, 4))


def bent(x):
    total = 0.0
    for v in x:
        if v > 0:
            total = total + v**2
        else:
            total = total - v
    return total


def by_c_function(tape):
    """The gradient by the address of a function in C."""
    function = tape.c_function("gradient", np.ones(4))
    call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, *[ctypes.c_void_p] * 4)(function.address)

    def ask(x):
        value, out = np.empty(1), np.empty(4)
        assert call(4, x.ctypes.data, out.ctypes.data, value.ctypes.data, function.user_data) == 0
        return out

    return ask


def by_bound(tape):
    """The gradient by a call with fixed buffers."""
    x, out = np.empty(4), np.empty(4)
    call = tape.bind(x, out=out)

    def ask(point):
        x[:] = point
        call()
        return out.copy()

    return ask


def by_numba(tape):
    """The gradient by a function for numba."""
    function = tape.as_numba()

    def ask(x):
        out = np.empty(4)
        function(x, out)
        return out

    return ask


WAYS = {
    "C function": by_c_function, "bound": by_bound, "numba": by_numba, "batch": lambda tape: lambda x: tape.batch(x[None])[1][0],
    "pickled": lambda tape: lambda x: td.gradient(pickle.loads(pickle.dumps(tape)), x), "Python": lambda tape: lambda x: td.gradient(tape, x),
}  # fmt: skip


@pytest.mark.parametrize("f", [bent, unlike_at_last])
@pytest.mark.parametrize("way", WAYS)
def test_gradients_are_those_of_paths_however_calls_are_made(way, f):
    """One program takes a tape for all paths, one has a path that joins with no other, which is met late."""
    tape, late = td.GuardedTape(f), np.array([-1.0, 6.0, 0.5, 1.0])
    td.gradient(tape, np.ones(4))
    ask = WAYS[way](tape)
    for x in (*POINTS, late, *POINTS[:3], late):
        # The same terms, masked ones added as zeros.
        np.testing.assert_allclose(ask(x), td.gradient(td.record(f, x, merge=False), x), rtol=1e-12)


def test_threads_may_call_while_paths_are_recorded():
    faults = []
    for trial in range(3):
        tape = td.GuardedTape(unlike_at_last, on_new_tape="interpret", compile_after=1000)

        def calls(seed, tape=tape):
            for x in np.random.default_rng(seed).normal(size=(10, 4)) * 4.0:
                try:
                    if not np.isclose(td.value_and_gradient(tape, x)[0], unlike_at_last(x), rtol=1e-12):
                        faults.append(x)
                except Exception as error:  # noqa: BLE001 -- to be told in the main thread
                    faults.append(repr(error))

        threads = [threading.Thread(target=calls, args=(4 * trial + k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert faults == []


@pytest.mark.parametrize(("f", "points"), [
    (fixed_point, [[0.3, -0.2], [-0.5, 0.9], [1.5, 1.2]]), (huber, MASKED[:3]), (subtapes.paths_below_a_barrier, [[1.1, 1.0, 0.5, 1.5], [0.9, 2.0, -0.5, 1.0]]),
])  # fmt: skip
def test_second_derivatives_are_those_of_paths(f, points):
    tape, v = td.GuardedTape(f), np.array([0.3, -1.0, 0.4, 0.2])[: len(points[0])]
    for x in map(np.array, points):
        td.gradient(tape, x)
    for x in map(np.array, points):
        own = td.record(f, x, merge=False)
        # Sums in another order.
        np.testing.assert_allclose(td.hessian(tape, x), td.hessian(own, x), rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(td.hvp(tape, x, v), td.hvp(own, x, v), rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(td.jvp(tape, (x,), (v,))[1], td.gradient(own, x) @ v, rtol=1e-9)


def test_derivatives_batches_and_kernels_of_bodies_with_branches_are_those_of_paths():
    x, v = np.array([0.3, -0.7, 1.2, 0.1, -0.2]), np.array([1.0, 0.5, -0.3, 0.2, 0.7])
    batch = np.stack([x, x[::-1], -x])

    def target(merge):
        piece = td.subtape(subtapes.four_ifs)
        body = lambda c, w: (0.5 * c + piece(w) * c, subtapes.returns_early(c + w))
        return td.GuardedTape(lambda x: sum(td.scan(body, x[0], x)[1]) + sum(piece(v) ** 2 for v in x), merge=merge)

    merged, paths = target(True), target(False)
    for point in (x, -x):
        for verb in (td.gradient, td.hessian):
            np.testing.assert_allclose(verb(merged, point), verb(paths, point), rtol=1e-10)  # sums in another order
        np.testing.assert_allclose(td.hvp(merged, point, v), td.hvp(paths, point, v), rtol=1e-10)
    values, gradients = merged.batch(batch)
    np.testing.assert_allclose(values, [paths(row) for row in batch], rtol=1e-12)
    np.testing.assert_allclose(gradients, [td.gradient(paths, row) for row in batch], rtol=1e-10)
    of_numba, gradient = merged.as_numba(), np.empty(5)
    assert np.isclose(of_numba(x, gradient), paths(x), rtol=1e-12)
    np.testing.assert_allclose(gradient, td.gradient(paths, x), rtol=1e-10)


CALLS = [
    (subtapes.in_turn, subtapes.four_ifs), (subtapes.with_counts, subtapes.largest),
    (subtapes.called_apart, subtapes.left_later),
]  # fmt: skip


@pytest.mark.parametrize(("call", "body"), CALLS, ids=lambda part: part.__name__)
def test_the_c_function_of_a_tape_stays_right_at_new_paths(call, body):
    """The address is asked for before the bodies have met their paths; numba and Python call the same kernels between."""
    f, points = call(body), np.random.default_rng(3).normal(size=(4, 3))
    guarded = td.GuardedTape(call(td.subtape(body)), compile_after=0)
    guarded(points[0])
    for target in (guarded, td.compile(call(td.subtape(body)), points[0])):
        by_address, address, out = FromC(target), target.address, np.empty(3)
        for k, x in enumerate((*points, [-1.6, 0.3, -2.0], *points)):
            x = np.array(x)
            expected = td.gradient(td.record(f, x, merge=False), x)
            assert by_address(x) == 0
            assert np.isclose(by_address.value[0], f(x), rtol=1e-12)
            np.testing.assert_allclose(by_address.gradient, expected, rtol=1e-10)
            if k == 5:
                assert np.isclose(target.as_numba()(x, out), f(x), rtol=1e-12)
                np.testing.assert_allclose(out, expected, rtol=1e-10)
        assert target.address == address


@pytest.mark.parametrize("f", [branches.robust, branches.solves])
def test_one_recording_serves_all_paths(f):
    """Of td.record and td.compile, on paths that they were not recorded on."""
    start = np.array([0.5, 2.0])
    tape, compiled = td.record(f, start, merge=True), td.compile(f, start, merge=True)
    for x in np.random.default_rng(0).normal(size=(6, 2)) * 2.0:
        assert np.isclose(tape(x), f(x), rtol=1e-12)  # the same operations
        td.testing.check_gradient(compiled, f, x)


def test_arguments_by_name_are_those_of_the_function():
    tape = td.record(branches.robust, np.array([0.5, 2.0]), scale=0.25, merge=True)
    assert np.isclose(tape(np.array([3.0, 9.0]), scale=0.5), branches.robust(np.array([3.0, 9.0]), 0.5))


def test_an_object_that_changes_between_recordings_is_read_as_it_is_then():
    model = branches.Hinges(2.0)
    guarded = td.GuardedTape(model)
    guarded(np.zeros(5))
    model.scale = 3.0
    x = np.full(4, 2.0)  # another shape is recorded again
    assert guarded(x) == pytest.approx(branches.hinges(x, branches.KNOTS, 3.0), rel=1e-13)


def test_a_posterior_and_what_it_generates_take_few_recordings():
    post = td.Posterior(
        lambda a, y: -branches.hinges(a, y), a=td.real(5), data={"y": branches.KNOTS},
        generated=lambda a: {"above": sum(1.0 if value > 0 else 0.0 for value in a)},
    )  # fmt: skip
    points = np.random.default_rng(1).normal(size=(30, 5))
    for u in points:
        assert post.log_density(u) == pytest.approx(post.plain_log_density(u), rel=1e-13)
    assert post.tape.stats.recordings == 1
    np.testing.assert_array_equal(post.generate({"a": points})["above"], (points > 0).sum(1))


def test_margins_of_joined_branches_are_those_of_guards():
    f, x = branches.three_ways, np.array([0.5, -0.25, 1.0])
    merged, plain = td.GuardedTape(f), td.GuardedTape(f, merge=False)
    td.gradient(merged, x)
    assert merged.margins(x) == plain.margins(x)
    assert [(m.kind, m.left, m.outcome) for m in merged.margins(x)] == [("guard", 0.5, True), ("guard", -0.25, False)]
