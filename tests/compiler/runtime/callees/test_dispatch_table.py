"""Compiled callees: run_native, callees in callees, exceptions, answers of Python, threads and memory."""

from dataclasses import replace

import numpy as np
import pytest
from support.call_cases import (
    DAMPED,
    FORMS,
    MIXED,
    RNG,
    assert_agree,
    back_with_variants,
    branching,
    halving,
    mixed_point,
    outputs_of,
    shrinking,
    there_and_back,
    with_variants,
)
from support.in_threads import in_threads
from support.path_callee import CALL, CALL_VARIANT, GET, LOOP, PathCallee, call_tape, loop_tape, types

from tapediff.compiler.kernel import Kernel
from tapediff.compiler.runtime.callees.run_callee import run_native
from tapediff.compiler.runtime.status import PENDING
from tapediff.errors import InvalidTape
from tapediff.ir.interpreter import GuardFailure, run
from tapediff.ops.control.calls import DynamicArray, LoopForm
from tapediff.ops.matrices.linear_algebra import CHOLESKY


@pytest.mark.parametrize("form", FORMS)
def test_run_native_gives_what_numpy_gives(form):
    callee = PathCallee(*MIXED)
    loop_form = LoopForm(4, 1, 1, 9, **FORMS[form])
    point = [np.asarray(p, t.dtype) for p, t in zip(mixed_point(9), callee.in_types)]
    for native, numpy in zip(run_native(LOOP, (callee, loop_form), point), callee.run_loop(loop_form, point)):
        assert native.dtype == numpy.dtype
        np.testing.assert_allclose(native, numpy, rtol=1e-6)
    loop_form = replace(loop_form, length=None)
    stacked = [np.int64(9), *point[:4], DynamicArray(point[4]), point[5]]
    for native, numpy in zip(run_native(LOOP, (callee, loop_form), stacked), callee.run_loop(loop_form, stacked)):
        assert type(native) is type(numpy) or np.ndim(numpy) == 0
        arrays = [v.array if isinstance(v, DynamicArray) else v for v in (native, numpy)]
        np.testing.assert_allclose(*arrays, rtol=1e-6)


def test_run_native_calls_and_stops():
    callee = PathCallee(branching, types("f", "f"), types("f"))
    assert run_native(CALL, (callee,), [np.array(-1.0), np.array(2.0)]) == (-3.0, 0)
    assert run_native(CALL_VARIANT, (callee.chosen(),), [np.int64(0), np.array(5.0), np.array(2.0)]) == (3.0,)
    shrinks = PathCallee(shrinking, types("f", "f"), types("f", "f", "b"), stops=True)
    form = LoopForm(1, 0, 1, None, stops=True, saves_carries=True)
    for goes in (True, False):
        values = [np.bool_(goes), np.array(1e7), np.array(0.3)]
        native, numpy = run_native(LOOP, (shrinks, form), values), shrinks.run_loop(form, values)
        for a, b in zip(native, numpy):
            np.testing.assert_allclose(*(v.array if isinstance(v, DynamicArray) else v for v in (a, b)), rtol=1e-12)


def test_a_callee_whose_results_are_not_known_yet_is_answered_by_numpy():
    """As for a recursive function that is being recorded for the first time."""
    callee = PathCallee(branching, types("f", "f"), types("f"))
    callee.answer(None, [np.array(1.0), np.array(2.0)])
    callee.out_types = ()
    assert run_native(CALL, (callee,), [np.array(4.0), np.array(2.0)]) == (8.0, 0)
    assert callee.native is None


def test_a_variant_of_other_types_is_not_run():
    callee = PathCallee(branching, types("f", "f"), types("f"))
    kernel = Kernel(call_tape(callee))
    callee.answer(None, [np.array(1.0), np.array(2.0)])
    callee.tapes[0] = replace(callee.tapes[0], outputs=callee.tapes[0].outputs * 2)
    with pytest.raises(InvalidTape):
        kernel.failure(kernel.run([np.array(1.0), np.array(2.0)], [np.empty(()), np.empty((), np.int64)]), [])


# Callees in callees


def test_a_loop_stands_in_the_body_of_a_loop_and_keeps_its_stacks():
    inner = PathCallee(halving, types("f", "f"), types("f", "f"))

    def body(c, count, x):
        returned = LOOP(count, c, x, callee=inner, form=LoopForm(1, 0, 1, None, saves_carries=True))
        back = LOOP(
            GET(returned, k=2), count, c, GET(returned, k=3), callee=squares, form=LoopForm(1, 1, 0, None, variant_given=True)
        )
        if GET(returned, k=0) > 0.7:
            return (GET(back, k=0),)
        return (GET(returned, k=0) + GET(back, k=0),)

    squares = PathCallee(lambda s, c: (s * 0.5 + c * c,), types("f", "f"), types("f"), decides=False)
    squares.record([0.0, 0.0])
    with_variants(squares, 8)
    outer = PathCallee(body, types("f", "i", "f"), types("f"))
    tape = loop_tape(outer, LoopForm(1, 2, 0, 12))
    counts = RNG.integers(-1, 90, 12)
    kernel = assert_agree(tape, (0.5, counts, RNG.uniform(size=12)))
    for _ in range(3):
        counts, x = RNG.integers(-1, 90, 12), RNG.uniform(size=12)
        assert outputs_of(kernel, [np.array(0.5), counts, x]) == pytest.approx(run(tape, [np.array(0.5), counts, x]))


def test_calls_stand_in_callees_that_are_called():
    inner = PathCallee(branching, types("f", "f"), types("f"))

    def twice(x, y):
        once = GET(CALL(x, y, callee=inner), k=0)
        if once > 1.0:
            return (GET(CALL(once, x, callee=inner), k=0),)
        return (once,)

    points = [(x, y) for x in (-2.0, 0.5, 3.0) for y in (-1.0, 0.25, 4.0)]
    assert_agree(call_tape(PathCallee(twice, types("f", "f"), types("f"))), *points)


def recursive():
    def power(n, x):
        if n < 1.0:
            return (x * 0.0 + 1.0,)
        return (x * GET(CALL(n - 1.0, x, callee=callee), k=0),)

    callee = PathCallee(power, types("f", "f"), types("f"))
    return callee


def test_a_callee_calls_itself():
    callee = recursive()
    callee.answer(None, [np.array(3.0), np.array(2.0)])
    kernel = Kernel(call_tape(callee))
    for n in (0.0, 1.0, 5.0, 60.0):
        assert outputs_of(kernel, [np.array(n), np.array(1.5)])[0] == pytest.approx(1.5**n, rel=1e-13)
    assert len(callee.tapes) == 2


def test_recursion_without_end_raises_as_in_python():
    callee = recursive()
    callee.answer(None, [np.array(3.0), np.array(2.0)])
    kernel = Kernel(call_tape(callee))
    point = [np.array(1e12), np.array(0.5)]
    for _ in range(2):
        status = kernel.run(point, [np.empty(()), np.empty((), np.int64)])
        with pytest.raises(RecursionError):
            kernel.failure(status, point)
        with pytest.raises(RecursionError):
            run_native(CALL, (callee,), point)
    assert outputs_of(kernel, [np.array(2.0), np.array(0.5)])[0] == 0.25


# Guards of the caller, and exceptions


def guarded_caller(callee):
    """A guard before a call whose operand it protects, and one after, on its result."""

    def caller(x, y):
        if x > 0.0:
            y = np.sqrt(x)
        z = GET(CALL(x, y, callee=callee), k=0)
        if z > 10.0:
            return (z * 2.0,)
        return (z,)

    return PathCallee(caller, types("f", "f"), types("f"))


def test_guards_of_the_caller_keep_their_place_around_calls():
    calls = []

    def inner(x, y):
        calls.append(float(x._value))
        return (x * y,) if y > 1.0 else (x - y,)

    callee = PathCallee(inner, types("f", "f"), types("f"))
    caller = guarded_caller(callee)
    caller.record([np.array(4.0), np.array(1.0)])
    kernel = Kernel(caller.tapes[0])
    assert outputs_of(kernel, [np.array(4.0), np.array(1.0)]) == [8.0]
    before = len(calls), callee.asked
    point = [np.array(-4.0), np.array(1.0)]
    assert kernel.failure(kernel.call(*point), point) == GuardFailure(0, False)
    # The call behind the failing guard was not made.
    assert (len(calls), callee.asked) == before
    point = [np.array(100.0), np.array(1.0)]
    assert kernel.failure(kernel.call(*point), point) == GuardFailure(1, True)


def test_an_exception_of_user_code_comes_through_the_kernel():
    def raising(x, y):
        if y > 5.0:
            raise KeyboardInterrupt("stop here")
        return (x * y,)

    callee = PathCallee(raising, types("f", "f"), types("f"))
    kernel = Kernel(loop_tape(callee, LoopForm(1, 1, 0, 3)))
    good, bad = [np.array(2.0), np.arange(3.0)], [np.array(2.0), np.array([1.0, 9.0, 1.0])]
    assert kernel.call(*good) == 0.0
    for _ in range(2):
        status = kernel.call(*bad)
        assert status == PENDING
        with pytest.raises(KeyboardInterrupt, match="stop here"):
            kernel.failure(status, bad)
    with pytest.raises(KeyboardInterrupt):
        run_native(LOOP, (callee, LoopForm(1, 1, 0, 3)), bad)
    assert kernel.call(*good) == 0.0


@pytest.mark.parametrize("decides", [True, False])
def test_a_failing_factorisation_in_a_callee_raises(decides):
    def body(c, a):
        factor = CHOLESKY(a)
        return (c + factor[1, 1],)

    callee = PathCallee(body, types("f", "f2x2"), types("f"), decides=decides)
    callee.record([np.array(0.0), np.eye(2)])
    form = LoopForm(1, 1, 0, 3, variant_given=not decides)
    kernel = Kernel(loop_tape(callee, form))
    given = [] if decides else [np.zeros(3, np.int64)]
    a = np.stack([np.eye(2), 4.0 * np.eye(2), 9.0 * np.eye(2)])
    assert kernel.call(*given, np.array(0.0), a) == 6.0
    a[1] = -np.eye(2)
    point = [*given, np.array(0.0), a]
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        kernel.failure(kernel.call(*point), point)


# Answers of Python


@pytest.mark.parametrize("more", [{"is_compiled": False}, {"most": 1}, {"most": 0}])
def test_python_answers_where_nothing_may_be_compiled(more):
    callee = PathCallee(*DAMPED, **more)
    tape = loop_tape(callee, LoopForm(1, 1, 0, 25, saves_carries=True))
    assert_agree(tape, (0.3, RNG.normal(size=25)))
    stopping = PathCallee(shrinking, types("f", "f"), types("f", "f", "b"), stops=True, **more)

    def goes(b):
        return [b.input(types("b")[0])], None, True

    assert_agree(there_and_back(stopping, back_with_variants(), goes), (True, 3.0, 0.3), (False, 3.0, 0.3))


def test_kernels_that_disagree_with_numpy_are_answered_by_numpy():
    """A guard on rounding errors: the callee's choice and the kernel's may differ for ever."""

    class Stubborn(PathCallee):
        def missed(self, number, miss, inputs):
            self.asked += 1
            return 0

    callee = Stubborn(branching, types("f", "f"), types("f"))
    callee.answer(None, [np.array(1.0), np.array(1.0)])
    kernel = Kernel(call_tape(callee))
    assert outputs_of(kernel, [np.array(-1.0), np.array(2.0)])[0] == -3.0
    assert callee.asked <= 2


# Compiled once, from several threads, without leaks


def test_threads_share_kernels_and_callees():
    callee = PathCallee(*DAMPED)
    tape = loop_tape(callee, LoopForm(1, 1, 0, 50, saves_carries=True))
    kernel = Kernel(tape)
    points = [RNG.normal(size=50) for _ in range(4)]
    expected = [run(tape, [np.array(0.1), x]) for x in points]

    def work(k):
        for turn in range(200):
            at = (k + turn) % 4
            for a, b in zip(outputs_of(kernel, [np.array(0.1), points[at]]), expected[at]):
                assert np.allclose(a, b, rtol=1e-12)

    in_threads(work)


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_stacks_are_freed_on_every_way_out():
    """10 000 calls with stacks of 100 kB, a third of which end at a guard and a third with an exception behind the loop."""

    def picky(c):
        if c > 0.5:
            raise ValueError("too large")
        return (c,)

    last = PathCallee(picky, types("f"), types("f"))
    last.record([np.array(0.1)])
    callee = PathCallee(halving, types("f", "f"), types("f", "f"))

    def caller(count, c, x, limit):
        returned = LOOP(count, c, x, callee=callee, form=LoopForm(1, 0, 1, None, saves_carries=True))
        back = LOOP(
            GET(returned, k=2), count, c, GET(returned, k=3), callee=sums, form=LoopForm(1, 1, 0, None, variant_given=True)
        )
        if limit < 0.0:
            return (GET(back, k=0),)
        return (GET(CALL(limit, callee=last), k=0) + GET(back, k=0),)

    sums = PathCallee(lambda s, c: (s + c,), types("f", "f"), types("f"), decides=False)
    sums.record([0.0, 0.0])
    with_variants(sums, 8)
    callers = PathCallee(caller, types("i", "f", "f", "f"), types("f"))
    callers.record([np.int64(3), np.array(0.1), np.array(0.1), np.array(0.1)])
    kernel = Kernel(callers.tapes[0])

    def turns(n):
        for k in range(n):
            point = [np.array(4000), np.array(0.1), np.array(0.2), np.array([0.1, -1.0, 0.9][k % 3])]
            status = kernel.call(*point)
            if k % 3 == 0:
                assert type(status) is float
            elif k % 3 == 2:
                with pytest.raises(ValueError, match="too large"):
                    kernel.failure(status, point)
            else:
                assert kernel.failure(status, point).outcome is True

    turns(300)
    before = resident_bytes()
    turns(9700)
    assert resident_bytes() - before < 8_000_000


def test_variants_are_compiled_once_and_callers_never_again():
    callee = PathCallee(*DAMPED)
    form = LoopForm(1, 1, 0, 20)
    kernels = [Kernel(loop_tape(callee, form)) for _ in range(2)]
    assert kernels[0].dispatch_tables == kernels[1].dispatch_tables
    for kernel in kernels:
        kernel.call(np.array(0.1), RNG.normal(size=20), np.empty(20))
    assert sorted(kernels[0].dispatch_tables[0].variants) == [0, 1]
