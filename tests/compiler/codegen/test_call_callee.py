"""Calls and loops of callees: kernel == listing == NumPy in every form; what the generated code is like."""

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
)
from support.path_callee import CALL, GET, LOOP, Builder, PathCallee, call_tape, chosen_tape, loop_tape, types

from tapediff.compiler.kernel import Kernel
from tapediff.ir.instruction import ValueType
from tapediff.ops.control.calls import LoopForm


def test_a_call_runs_the_variant_that_its_guards_choose():
    callee = PathCallee(branching, types("f", "f"), types("f"))
    points = [(1.0, 2.0), (-1.0, 2.0), (-1.0, -2.0), (3.0, -2.0), (-2.0, 5.0), (-2.0, -5.0)]
    kernel = assert_agree(call_tape(callee), *points)
    asked = callee.asked
    for x, y in points * 3:
        value, number = outputs_of(kernel, [np.array(x), np.array(y)])
        assert value == branching(x, y)[0]
        assert number == (0 if x > 0 else 1 if y > 0 else 2)
    # Each change from one path to another is a native jump once it has been met.
    assert callee.asked <= asked + 3


def test_a_chosen_call_runs_the_given_variant_without_guards():
    callee = PathCallee(branching, types("f", "f"), types("f"))
    for x, y in [(1.0, 2.0), (-1.0, 2.0), (-1.0, -2.0)]:
        callee.answer(None, [np.array(x), np.array(y)])
    kernel = assert_agree(chosen_tape(callee.chosen()), (0, -1.0, 2.0), (1, 1.0, 2.0), (2, 1.0, 2.0), (0, 3.0, 4.0))
    assert outputs_of(kernel, [np.array(1), np.array(7.0), np.array(2.0)])[0] == 5.0


@pytest.mark.parametrize("length", [0, 1, 2, 7, 40])
@pytest.mark.parametrize("form", FORMS)
def test_loops_of_static_length_agree_in_every_form(form, length):
    callee = PathCallee(*DAMPED)
    tape = loop_tape(callee, LoopForm(1, 1, 0, length, **FORMS[form]))
    assert_agree(tape, *[(RNG.normal(), RNG.normal(size=length)) for _ in range(4)])


@pytest.mark.parametrize("form", FORMS)
def test_loops_carry_every_kind_and_shape(form):
    callee = PathCallee(*MIXED)
    tape = loop_tape(callee, LoopForm(4, 1, 1, 6, **FORMS[form]))
    assert_agree(tape, mixed_point(6), mixed_point(6), mixed_point(6))


def test_a_call_takes_and_returns_every_kind_and_shape():
    callee = PathCallee(*MIXED)
    point = mixed_point(1)
    point[4] = point[4][0]
    assert_agree(call_tape(callee), point)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("saves_carries", [False, True])
def test_chosen_loops_take_the_variant_of_each_iteration(backwards, saves_carries):
    callee = PathCallee(*DAMPED)
    for x in (0.0, 1.0):
        callee.answer(None, [np.array(0.0), np.array(x)])
    form = LoopForm(1, 1, 0, 30, variant_given=True, backwards=backwards, saves_carries=saves_carries)
    numbers = RNG.integers(0, 2, 30)
    tape = loop_tape(callee.chosen(), form)
    assert_agree(tape, (numbers, 0.3, RNG.normal(size=30)), (np.sort(numbers), 0.3, RNG.normal(size=30)))


def test_constants_and_empty_arrays_may_be_operands():
    callee = PathCallee(lambda c, e, k: (c + k[1] + np.sum(e), e), types("f", "f0", "f3"), types("f", "f0"))
    assert_agree(loop_tape(callee, LoopForm(1, 1, 1, 5)), (1.0, np.zeros((5, 0)), np.arange(3.0)))


@pytest.mark.parametrize("count", [-3, 0, 1, 5, 63, 64, 65, 500])
def test_loops_of_run_time_length_keep_their_iterations_on_stacks(count):
    callee = PathCallee(halving, types("f", "f"), types("f", "f"))

    def given(b):
        return [b.input(types("i")[0])], None, False

    assert_agree(there_and_back(callee, back_with_variants(), given), (count, 0.2, 0.3), (count + 2, 4.0, 0.1))


@pytest.mark.parametrize("start", [0.001, 0.5, 1.0, 50.0, 1e9])
def test_while_loops_stop_when_their_callee_says_so(start):
    """From none to several hundred iterations, so that the stacks grow more than once."""
    callee = PathCallee(shrinking, types("f", "f"), types("f", "f", "b"), stops=True)

    def goes(b):
        return [b.input(types("b")[0])], None, True

    tape = there_and_back(callee, back_with_variants(), goes)
    assert_agree(tape, (True, start, 0.3), (False, start, 0.3), (True, 2.0 * start, 0.1))


def test_a_while_loop_that_keeps_nothing_needs_no_stack():
    callee = PathCallee(lambda c: (c * 0.5, c > 1.0), types("f"), types("f", "b"), stops=True)
    b = Builder()
    record = b.add(
        LOOP, (b.input(types("b")[0]), b.input(types("f")[0])), (callee, LoopForm(1, 0, 0, None, stops=True))
    )
    kernel = assert_agree(b.tape(b.items(record)[0]), (True, 1e6), (False, 3.0), (True, 0.1))
    assert "tapediff_room" not in kernel.llvm


def test_an_int_guard_and_an_array_guard_choose_variants_too():
    """The pattern of an array is told apart natively after Python has seen it once."""

    def by_pattern(c, x):
        if np.array_equal(x > 0.0, [True, False, True]):
            return (c + 1.0,)
        return (c * int(np.floor(x[0])),)

    callee = PathCallee(by_pattern, types("f", "f3"), types("f"))
    tape = loop_tape(callee, LoopForm(1, 1, 0, 40))
    x = RNG.normal(size=(40, 3))
    x[::3] = [1.5, -1.0, 1.0]
    kernel = assert_agree(tape, (0.5, x))
    asked = callee.asked
    for _ in range(3):
        outputs_of(kernel, [np.array(0.5), x])
    assert callee.asked - asked <= 3


def test_a_guard_on_the_truth_of_a_number_is_met_natively_whatever_the_number():
    def by_truth(c, x):
        return (c + 1.0,) if np.maximum(x, 0.0) else (c - x,)

    callee = PathCallee(by_truth, types("f", "f"), types("f"))
    assert_agree(loop_tape(callee, LoopForm(1, 1, 0, 60)), (0.5, RNG.normal(size=60)))
    assert callee.asked <= 3


def test_equal_calls_share_a_function():
    callee = PathCallee(branching, types("f", "f"), types("f"))
    b = Builder()
    x, y = b.input(types("f")[0]), b.input(types("f")[0])
    for _ in range(50):
        y = b.add(GET, (b.add(CALL, (x, y), (callee,)),), (0,))
    kernel = assert_agree(b.tape([y]), (0.9, 1.0), (-0.9, 1.0), (-0.9, -1.0))
    assert kernel.llvm.count("define internal i32 @tapediff_invoke") == 1


def test_the_listing_names_calls_and_loops():
    callee = PathCallee(*DAMPED, name="one step")
    assert "status = loop_one_step_0((x0, x1), (" in Kernel(loop_tape(callee, LoopForm(1, 1, 0, 5))).source


def test_long_bodies_are_cut_and_still_loop():
    """More straight-line steps than one function is given, on numbers that arrive in registers."""

    def long_body(c, x, k):
        for _ in range(300):
            c = c * 0.99 + x * k
        if c > 0.0:
            c = c - 1.0
        return c, c * x

    callee = PathCallee(long_body, types("f", "f", "f"), types("f", "f"))
    assert_agree(loop_tape(callee, LoopForm(1, 1, 1, 5, saves_carries=True)), (0.3, RNG.normal(size=5), 0.01))


def test_what_depends_on_constants_alone_is_computed_once_before_the_loop():
    """Arrays of one size, so that memory would be shared if the first were thought to be needed no more."""

    def body(c, x, k, a):
        weights = np.exp(k) * np.sum(a)
        y = np.cumsum(c * weights[::-1])
        z = np.cumsum(y[::-1] + x)
        following = z / np.sum(np.abs(z))
        if following[3] > weights[0] * 1e-3:
            following = following * 0.5
        return following, np.cumsum(following)[::-1] + weights

    callee = PathCallee(body, types("f50", "f50", "f50", "f7"), types("f50", "f50"))
    points = [
        (RNG.normal(size=50), RNG.normal(size=(9, 50)), RNG.normal(size=50), RNG.normal(size=7)) for _ in range(3)
    ]
    kernel = assert_agree(loop_tape(callee, LoopForm(1, 1, 2, 9, saves_carries=True)), *points)
    for variant in kernel.dispatch_tables[0].variants.values():
        before, body_groups = (
            variant.kernel.program.groups[: variant.kernel.program.before],
            variant.kernel.program.groups,
        )
        assert any("exp(" in step.expression for group in before for step in group.body)
        assert sum("exp(" in getattr(step, "expression", "") for group in body_groups for step in group.body) == 1


def test_large_bodies_take_their_workspace_once():
    def body(c, x):
        y = np.exp(c[::-1] * 0.1) + x
        return (y[::-1] / np.sum(y),)

    callee = PathCallee(body, types("f3000", "f3000"), (ValueType((3000,), np.dtype(float)),))
    assert_agree(loop_tape(callee, LoopForm(1, 1, 0, 4)), (RNG.normal(size=3000), RNG.uniform(size=(4, 3000))))


@pytest.mark.parametrize(("count", "is_optimised"), [(2, True), (150, False)])
def test_the_code_around_a_call_of_many_values_is_left_as_it_is_written(count, is_optimised):
    """LLVM takes quadratic time over it. A call of few is optimised, and both give what NumPy gives."""
    callee = PathCallee(lambda *v: tuple(a * b for a, b in zip(v, v[1:] + v[:1])), types(*"f" * count), types(*"f" * count))
    kernel = assert_agree(call_tape(callee), tuple(np.linspace(0.5, 2.0, count)))
    assert ("optnone" not in kernel.llvm) == is_optimised
