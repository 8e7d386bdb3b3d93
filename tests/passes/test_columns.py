"""Tapes that are kept as arrays."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler.bytecode.sweeps.elements import elements_of
from tapediff.compiler.bytecode.sweeps.runs import KEYS, grouped, keys_of
from tapediff.functions.callees.rolled_loop import prepared_apart, prepared_straight, rolled_apart
from tapediff.functions.callees.tape_callee import callee_of
from tapediff.ir.instruction import ColumnInstructions, Instruction, columns_of
from tapediff.ir.tape import Tape
from tapediff.passes.activity import active_values
from tapediff.passes.columns import as_columns, first_two, operands_of
from tapediff.passes.rolling.alike.alike_terms import alike_terms
from tapediff.passes.rolling.reroll import reroll
from tapediff.passes.rolling.states import states
from tapediff.passes.simplify import common_subexpressions as equal_values
from tapediff.passes.simplify.common_subexpressions import common_subexpressions
from tapediff.passes.simplify.dead_code import dead_code
from tapediff.passes.simplify.forward_writes import forward_writes
from tapediff.passes.simplify.smooth_squares import Squares
from tapediff.recording import instruction_columns

X = np.linspace(0.2, 1.0, 12)


def unlike_operations(x):
    values = [x[k] for k in range(12)]
    for k in range(150):
        a, b = values[-(1 + k * 7 % 11)], x[k * 5 % 12]
        values.append([a + b, a * np.sin(b), np.sqrt(1.0 + a * a), b / (1.0 + b * b), np.exp(-a), abs(a - b) ** 2][k * k % 6])
    return sum(values[-9:])


def deep_repetitions_and_deep_dead_code(x):
    """More turns than any number of rounds."""
    once, twice, dead = x[0], x[0], x[1]
    for k in range(40):
        once, twice, dead = np.sin(once) + x[k % 5], np.sin(twice) + x[k % 5], np.cos(dead) * (1.0 + k)
    return once * twice


def other_choices(x):
    total = x[0]
    for k in range(11):
        total = np.where(x[k] > 0.3 * total, total * x[k + 1], np.maximum(total, x[k] - 0.1 * k)) + np.hypot(x[k], total) ** 2
    return total


def guarded(x):
    total = 0.0
    for k in range(12):
        total = total + (x[k] ** 2 if x[k] > 0.5 else np.sin(x[k]))
    return total if total > 0 else -total


def small_arrays(x):
    state, total = np.array([x[0], x[1]]), 0.0
    for k in range(30):
        turn = np.array([[np.cos(x[2] * k), x[3]], [-x[3], 0.1 * k]])
        state = turn @ state
        state = np.array([np.tanh(state[0]), state[1] * x[k % 7]])
        total = total + state[0] * state[1]
    return total


def written_arrays(x):
    y = td.zeros(12)
    for k in range(12):
        y[k] = np.sin(x[k]) * y[k - 1]
    z = y.reshape(3, 4).T
    z[1:3, 1] = y[:2]
    return np.sum(z**2) + z[0, 0] * x[3:4][0] + x[3]


def loops_between_other_code(x):
    total = x[0]
    for n in range(3):
        for k in range(12):
            total = 0.9 * total + np.sin(x[k]) * (n + 1)
        total = total / (1.0 + x[n] * total) + np.array([x[n], x[n + 1], total, *[x[k] * n for k in range(9)]])[n]
    return total


PROGRAMS = (
    unlike_operations, deep_repetitions_and_deep_dead_code, other_choices, guarded, small_arrays, written_arrays, loops_between_other_code,
)  # fmt: skip
PASSES: dict[str, Callable[[Tape], Tape]] = {
    "dead_code": dead_code, "common_subexpressions": common_subexpressions, "forward_writes": forward_writes, "alike_terms": alike_terms,
    "reroll": lambda tape: reroll(tape, callee_of), "rolled_apart": rolled_apart, "prepared_apart": prepared_apart,
    "dead_code_of_rolled": lambda tape: dead_code(common_subexpressions(rolled_apart(tape))),
}  # fmt: skip


@pytest.fixture(params=PROGRAMS, ids=lambda f: f.__name__)
def both(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[Tape, Tape]:
    """A tape in arrays, and the same with an object for each instruction."""
    monkeypatch.setattr(instruction_columns, "SHORTEST_KEPT", 0)
    tape = td.record(request.param, X, merge=False)
    assert isinstance(tape.instructions, ColumnInstructions)
    return tape, replace(tape, instructions=tuple(tape.instructions))


def test_a_long_tape_in_arrays_is_looked_at_all_at_once(both: tuple[Tape, Tape], monkeypatch: pytest.MonkeyPatch) -> None:
    """For equal values, as it is instruction by instruction."""
    monkeypatch.setattr(equal_values, "SHORTEST_IN_ROUNDS", 0)
    monkeypatch.setattr(equal_values, "FEW_OF_SEVERAL", 0)
    monkeypatch.setattr(equal_values, "MOST_LOOKS", 1000)
    monkeypatch.setattr(equal_values, "MOST_ROUNDS", 1000)
    monkeypatch.setattr(equal_values, "_in_order", None)
    arrays, objects = map(common_subexpressions, both)
    assert told(arrays) == told(objects)


def test_arrays_of_values_that_are_only_read_whole_stay_as_they_are() -> None:
    def f(x):
        state = x[:2]
        for k in range(400):
            state = np.array([[0.9, 0.1], [-0.1, 0.8]]) @ np.array([state[0] * x[2 + k % 3], np.sin(state[1])])
        return state @ state

    tape = dead_code(td.record(f, X, merge=False))
    assert isinstance(tape.instructions, ColumnInstructions)
    assert forward_writes(tape) is tape


def told(tape: Tape) -> Hashable:
    return tuple([_told(i) for i in tape.instructions]), tape.inputs, tape.outputs


def _told(instruction: Instruction) -> Hashable:
    op, inputs, params, type_, site = instruction
    assert all(type(i) is int for i in inputs)
    parts = [(p.shape, p.tobytes()) if isinstance(p, np.ndarray) else told(p.only_tape()) if hasattr(p, "only_tape") else p for p in params]
    return op.name, inputs, tuple(parts), str(type_), str(site)


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_makes_the_same_of_arrays(both: tuple[Tape, Tape], name: str) -> None:
    """Every instruction, with its line."""
    arrays, objects = (PASSES[name](tape) for tape in both)
    assert told(arrays) == told(objects)
    arrays.check()


def test_what_is_known_of_a_tape_is_the_same_of_arrays(both: tuple[Tape, Tape]) -> None:
    """Operands, what is active, states, squares of functions with a kink, and the instructions of an op."""
    arrays, objects = both
    inputs = set(arrays.inputs)
    assert active_values(arrays, inputs) == active_values(objects, inputs)
    assert states(arrays) == states(objects)
    assert Squares(arrays).leads == Squares(objects).leads
    columns = columns_of(arrays.instructions)
    assert columns is not None
    of, first, counts = operands_of(columns)
    assert [tuple(of[a : a + n].tolist()) for a, n in zip(first, counts)] == [i.inputs for i in objects.instructions]
    for found, other in zip(first_two(columns), first_two(as_columns(objects.instructions))):
        assert found.tolist() == other.tolist()
    for op in objects.ops:
        assert [n for n, _ in arrays.numbered(op)] == [n for n, i in enumerate(objects.instructions) if i.op is op]


def test_operations_run_in_the_same_order_of_arrays(both: tuple[Tape, Tape]) -> None:
    """The runs of both sweeps, by the forms of their operations and what their adjoints are."""
    found = []
    for tape in map(prepared_straight, both):
        elements = elements_of(tape)
        keys = keys_of(tape, elements, (0,))
        of = grouped(elements, keys).of.tolist()
        found.append([(elements.forms[key // KEYS], key % KEYS, run, maker) for key, run, maker in zip(keys, of, elements.makers)])
    assert found[0] == found[1]
