"""Instructions kept as columns of numbers are those that were recorded, and loops are found in them as in the instructions."""

import tracemalloc

import numpy as np
import pytest

import tapediff as td
from tapediff.errors import UnsupportedFunction
from tapediff.functions.callees.rolled_loop import rolled
from tapediff.ir.instruction import CONSTANT, ColumnInstructions, Columns
from tapediff.passes.simplify.dead_code import dead_code
from tapediff.recording import instruction_columns
from tapediff.recording.instruction_columns import FinishedColumns, GrowingColumns
from tapediff.recording.recorder import current_recorder

X = np.linspace(-0.4, 0.9, 48)


def _guarded(x):
    s = x[0]
    for k in range(1, 48):
        if x[k] > 0.1:
            s = s + x[k] * x[k - 1]
        elif int(3 * x[k]) == 0:
            s = 0.5 * s
    return s


def _matrix(x):
    m, s = x.reshape(6, 8), 0.0
    for i in range(1, 6):
        for j in range(1, 8):
            s = 0.5 * s + m[i, j] * m[i - 1][j - 1] + m[-i, np.int64(j)]
    return s


PROGRAMS = [_guarded, _matrix]


@pytest.fixture(params=PROGRAMS, ids=lambda f: f.__name__)
def pair(request, monkeypatch):
    """Two tapes of one program: as columns, and as instructions."""
    made = []
    for shortest in (1, 10**9):
        monkeypatch.setattr(instruction_columns, "SHORTEST_KEPT", shortest)
        made.append(td.record(request.param, X))
    assert isinstance(made[0].instructions, ColumnInstructions)
    assert type(made[1].instructions) is tuple
    return made


def _text(instruction):
    return repr(instruction._replace(site=None)), str(instruction.site)


def test_columns_give_the_instructions_that_were_recorded(pair):
    """Asked for one by one and all together: the same operations, operands, parameters, types and lines of the user."""
    columns, tuples = pair
    expected = [_text(i) for i in tuples.instructions]
    few = range(0, len(tuples), 16)
    assert [_text(columns.instructions[k]) for k in few] == [expected[k] for k in few]
    assert columns.ops == tuples.ops
    assert [_text(i) for i in columns.instructions] == expected
    assert columns.guards == tuples.guards
    assert [g.ordinal for g in columns.guards] == list(range(columns.guard_count))
    columns.check()


def test_loops_are_found_in_columns_as_in_instructions(pair):
    columns, tuples = pair
    assert str(dead_code(columns)) == str(dead_code(tuples))
    assert str(rolled(columns)) == str(rolled(tuples))


def test_a_loop_is_rolled_without_its_instructions(monkeypatch):
    """Where nothing is unused, no pass asks for all of them."""

    def f(x):
        s = 0.0
        for k in range(300):
            s = 0.9 * s + x[k % 48] * x[k % 48]
        return s

    tape = td.record(f, X)
    rolled(tape)
    assert isinstance(tape.instructions, FinishedColumns)
    assert isinstance(tape.instructions.columns, Columns)


def _peak(f):
    """The most bytes that an operation takes while a function is recorded. Its own values are measured, too: they come and go."""
    td.record(f, X, merge=False)
    tracemalloc.start()
    try:
        tape = td.record(f, X, merge=False)
        return tracemalloc.get_traced_memory()[1] / len(tape)
    finally:
        tracemalloc.stop()


def test_an_operation_on_numbers_takes_forty_bytes():
    """An object for each takes 200 to 270, lists of ints 70; as arrays it is 16, twice at the end, and the rest is of this short tape."""

    def f(x):
        a, b = x[0], x[1]
        for _ in range(4000):
            a = a + 0.01 * (b - a * a)
            b = 0.9 * b + x[40] * 0.1
        return a + b

    assert _peak(f) < 40


def test_another_constant_at_each_turn_takes_two_hundred_bytes():
    """A constant's own object and array take 500. Here each third instruction is one; what is left is the table by which it is found again."""

    def f(x):
        s = x[0]
        for k in range(5000):
            s = 0.5 * s + (k + 0.5) * x[1]
        return s

    assert _peak(f) < 90


def test_constants_are_the_same_to_the_bit():
    """Of numbers that no arithmetic gives again from fewer digits, of both signs, the largest, the least, infinities and zeros."""
    values = [0.1, -1 / 3, 1.7976931348623157e308, 5e-324, -2.2250738585072014e-308, np.inf, -np.inf, 0.0, -0.0, np.pi]

    def f(x):
        return [x[0] * value for value in values * 40]

    tape = td.record(f, X)
    found = [float(i.params[0]) for i in tape.instructions if i.op is CONSTANT]
    assert sorted(map(float.hex, found)) == sorted(map(float.hex, values))
    assert all(not i.params[0].flags.writeable for i in tape.instructions if i.op is CONSTANT)


def test_a_recording_that_went_on_after_an_interrupt_within_an_operation_is_refused():
    """An interrupt may come between the columns; what would follow is out of step."""

    def f(x):
        y = 2.0 * x[0]
        columns = current_recorder().instructions
        assert isinstance(columns, GrowingColumns)
        columns.first.append(0)
        return y * y

    with pytest.raises(UnsupportedFunction, match="was interrupted while an operation was recorded"):
        td.record(f, X)


def test_functions_of_two_numbers_are_recorded_as_of_arrays():
    """Tracked numbers, plain ones of every kind, values of an outer recording and views without axes, in either place."""

    def f(x):
        a, b, view = x[0], x[40], x[7, ...]
        inner = td.grad(lambda y: np.maximum(y * a, b) + np.power(y, 2) + np.hypot(view, y))(b)
        pairs = [(a, b), (a, 2), (2.0, b), (np.float64(0.3), a), (b, view), (x[:3], a), (True, b)]
        return sum(np.sum(np.maximum(p, q) + np.hypot(p, q)) for p, q in pairs) + np.arctan2(a, b) * inner + np.copysign(1, a)

    tape = td.record(f, X)
    tape.check()
    assert tape(X) == pytest.approx(f(X), rel=1e-14)  # the same operations, sums in another order
    assert tape(2 * X) == pytest.approx(f(2 * X), rel=1e-14)
