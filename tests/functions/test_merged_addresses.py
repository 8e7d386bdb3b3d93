"""The C functions of tapes whose bodies are merged before their address is asked for, while they are called by it, or not any more later."""

import functools

import numpy as np
import pytest

import tapediff as td
from tests.functions import merged_bodies as programs
from tests.targets.native.test_native_calls import FromC

POINTS = np.random.default_rng(3).normal(size=(4, 3))


def later_in_paths(v):
    """Its merged form is left at v < -1.5."""
    y = 1.0
    if v > 0.5:
        y = v
    if v < -1.0:
        k = len([w for w in (0.1, 0.2) if w < int(v > -1.7) + 0.15])
        y = y * k
        if v < -1.5:
            y = np.float32(2.0) * y if k else y
    return y * v


def apart(piece):
    return lambda x: piece(x[0]) + piece(x[1]) * x[2] + piece(x[2])


def in_turn(piece):
    return lambda x: functools.reduce(lambda s, v: 0.9 * s + piece(v + 0.1 * s), [x[0], x[1], x[2]], x[0])


def with_counts(piece):
    def step(carry, v):
        s, n = carry
        if v > 0:
            n = n + 1
        if s > 0.5:
            n = 0
        return (0.5 * s + piece(v) * n, n), n

    def f(x):
        (s, n), counts = td.scan(step, (x[0], 0), x)
        return s * n + np.sum(counts * x)

    return f


CALLS = [(in_turn, programs.four_ifs, True), (with_counts, programs.largest, True), (apart, later_in_paths, False)]


@pytest.mark.parametrize(("call", "body", "merge"), CALLS, ids=lambda part: getattr(part, "__name__", ""))
def test_the_c_function_of_a_tape_stays_right_while_its_bodies_are_merged(call, body, merge):
    """The address is asked for before the bodies have met their paths; numba and Python call the same kernels between."""
    f, piece = call(body), td.subtape(body, merge=merge)
    guarded = td.GuardedTape(call(piece), merge=merge, compile_after=0)
    guarded(POINTS[0])
    for target in (guarded, td.compile(call(td.subtape(body, merge=merge)), POINTS[0])):
        by_address, address, out = FromC(target), target.address, np.empty(3)
        for k, x in enumerate((*POINTS, [-1.6, 0.3, -2.0], *POINTS)):
            x = np.array(x)
            expected = td.gradient(td.record(f, x), x)
            assert by_address(x) == 0
            assert np.isclose(by_address.value[0], f(x), rtol=1e-12)
            assert np.allclose(by_address.gradient, expected, rtol=1e-10)
            if k == 5:
                assert np.isclose(target.as_numba()(x, out), f(x), rtol=1e-12)
                assert np.allclose(out, expected, rtol=1e-10)
        assert target.address == address
