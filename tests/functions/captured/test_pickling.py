"""Tapes, compiled and guarded tapes, sub-tapes and errors travel between processes, and are copied."""

import copy
import multiprocessing
import pickle
import sys

import numpy as np
import pytest
from support import module_functions as functions
from support.side_by_side import times_as_long

import tapediff as td
from tapediff.ir.instruction import CONSTANT, FLOAT64

X = np.array([0.5, -1.2, 2.0])
POINTS = [X, -X, 2 * X, np.array([0.1, 3.0, 0.2])]
WHOLE = {"branching": functions.branching, "with_subtapes": functions.with_subtapes, "with_loops": functions.with_loops,
         "of_everything": functions.of_everything, "derivative_inside": functions.derivative_inside}  # fmt: skip


def again(value):
    return pickle.loads(pickle.dumps(value))


def assert_same_answers(a, b, points):
    for x in points:
        value, gradient = td.value_and_gradient(a, x)
        other, other_gradient = td.value_and_gradient(b, x)
        assert value == other
        assert np.array_equal(gradient, other_gradient)


# Tapes


@pytest.mark.parametrize("name", WHOLE)
def test_a_tape_is_the_same_after_pickling(name):
    """Listing with files and lines, types, parameters, guards and answers; and it passes its own check."""
    tape = td.record(WHOLE[name], X)
    restored = again(tape)
    assert str(restored) == str(tape)
    assert [str(g) for g in restored.guards] == [str(g) for g in tape.guards]
    assert (restored.inputs, restored.outputs, restored.active_inputs) == (tape.inputs, tape.outputs, tape.active_inputs)
    restored.check()
    assert restored(X) == tape(X)
    assert_same_answers(td.compile(tape), td.compile(restored), [X])


def test_types_and_constants_are_numpys_own():
    """dtypes that compare by `is`, constants that nobody can write to, and every bit of them."""
    constants = np.array([np.nan, -0.0, np.inf, 1e-310])
    restored = again(td.record(lambda x: x * constants[2] + constants * x + np.float32(0.1), 1.0))
    assert all(i.type.dtype is np.dtype(i.type.dtype.str) for i in restored.instructions)
    assert restored.input_types[0].dtype is FLOAT64
    kept = [i.params[0] for i in restored.instructions if i.op is CONSTANT]
    assert any(np.array_equal(c.view(np.int64), constants.view(np.int64)) for c in kept if c.shape == (4,))
    assert not any(c.flags.writeable for c in kept)


def test_a_long_tape_pickles_fast_and_without_recursion():
    """33 000 instructions are a few arrays: as fast as recording them, and small."""

    def long(x):
        for k in range(11_200):
            x = np.sin(x) * 1.0001 + k
        return x

    tape = td.record(long, 0.5, merge=False)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(__import__("inspect").stack()) + 120)
    try:
        content = pickle.dumps(tape)
        restored = pickle.loads(content)
    finally:
        sys.setrecursionlimit(limit)
    assert len(tape) > 33_000
    assert restored.instructions == tape.instructions or restored(0.5) == tape(0.5)
    # It takes about as long as recording. 30 bytes an instruction are 4 numbers and a constant.
    again = times_as_long(lambda: pickle.loads(pickle.dumps(tape)), lambda: td.record(long, 0.5, merge=False), limit=3, repeat=1)
    assert again < 3
    assert len(content) < 30 * len(tape)


def test_copies_of_what_cannot_change_are_the_same():
    """Tapes and compiled tapes, also inside other objects."""
    tape = td.record(functions.branching, X)
    compiled = td.compile(tape)
    assert copy.deepcopy({"a": [tape, compiled]}) == {"a": [tape, compiled]}
    assert copy.copy(tape)(X) == tape(X)


def test_a_compiled_tape_compiles_where_it_is_needed():
    """Kernels do not travel; the first call makes them."""
    compiled = td.compile(functions.branching, X)
    restored = again(compiled)
    assert restored.seconds == 0.0
    assert_same_answers(compiled, restored, [X])
    assert restored.seconds > 0.0
    with pytest.raises(td.GuardFailed) as failed:
        td.gradient(restored, 2 * -X)
    assert str(failed.value.at) == str(td.record(functions.branching, X).guards[0].site)


# Callees


def test_recorded_paths_travel_and_new_ones_are_recorded():
    """Sub-tapes by module-level functions, also wrapped ones with default arguments: both sides of every branch."""
    tape = td.record(functions.with_subtapes, X)
    restored = again(tape)
    assert_same_answers(td.compile(tape), td.compile(restored), [3 * p for p in POINTS])
    for x in POINTS:
        td.testing.check_gradient(td.compile(again(tape)), functions.with_subtapes, x)


def test_recursion_travels():
    """A variant that calls its own callee."""
    x = np.array([0.5, 0.55])
    restored = again(td.record(functions.with_recursion, x))
    for n in (0.0, 0.15, 0.95):
        point = np.array([0.5, n])
        k = int(10 * n)
        # 1e-14: products of at most 9 factors.
        assert td.gradient(td.compile(restored), point)[0] == pytest.approx(k * 0.5 ** (k - 1), rel=1e-14)


def test_local_functions_leave_their_paths_and_refuse_new_ones():
    """The body of the loop is a local function: what it recorded is there, what it did not is an error that names it."""

    def known(x):
        return td.scan(lambda c, v: (c + v if v > 0 else c * 0.5, None), 0.0, x)[0]

    tape = td.record(known, np.array([1.0, 2.0]), merge=False)
    restored = td.compile(again(tape))
    assert td.value_and_gradient(restored, np.array([3.0, 2.0]))[0] == 5.0
    with pytest.raises(td.UnsupportedFunction, match=r"td.scan.* takes a path that was not recorded before it was pickled"):
        td.gradient(restored, np.array([-3.0, 2.0]))
    assert td.gradient(td.compile(tape), np.array([-3.0, 2.0])).tolist() == [0.0, 1.0]
    assert td.gradient(td.compile(again(tape)), np.array([-3.0, 2.0])).tolist() == [0.0, 1.0]
    assert td.gradient(td.compile(again(again(tape))), np.array([-3.0, 2.0])).tolist() == [0.0, 1.0]


def test_changed_globals_are_noticed(monkeypatch):
    """A path that is recorded after unpickling, with another number in the module than when the others were."""
    tape = td.record(lambda x: functions.limited(x), 0.5)
    restored = td.compile(again(tape))
    monkeypatch.setattr(functions, "LIMIT", 0.8)
    assert td.gradient(restored, 0.25) == 1.0
    with pytest.raises(td.StaleTape, match="LIMIT"):
        td.gradient(restored, 5.0)


def test_guards_of_subtapes_travel():
    """A guard by name is asked again; members of an enum are other objects in another process."""
    restored = td.compile(again(td.record(lambda x: functions.of_kind(x), X)))
    for x in POINTS:
        assert td.gradient(restored, x).tolist() == (2 * x).tolist()
    restored = td.compile(again(td.record(lambda v: functions.asked_by_lambda(v), 1.0)))
    assert td.gradient(restored, 2.0) == 3.0


def test_subtapes_and_primitives_are_found_by_name():
    """The same object in this process; made again from the function where only that has a name."""
    assert again(functions.huber) is functions.huber
    assert again(functions.cube) is functions.cube
    restored = again(functions.tails)
    assert restored.f is functions.plain_tails
    assert restored(3.0) == 6.0
    assert copy.deepcopy(functions.tails) is functions.tails
    with pytest.raises(td.UnsupportedFunction, match=r"<lambda> cannot be pickled"):
        pickle.dumps(td.subtape(lambda x: x))


# Guarded tapes


def test_a_guarded_tape_keeps_its_tapes_and_records_more():
    """What was recorded is not recorded again; a new path is."""
    safe = td.GuardedTape(functions.branching, max_tapes=5, compile_after=1, merge=False)
    for x in POINTS[:2]:
        td.gradient(safe, x)
    restored = again(safe)
    assert restored.stats.recordings == safe.stats.recordings == 2
    assert (restored.max_tapes, restored.compile_after, restored.name) == (5, 1, "branching")
    assert_same_answers(safe, restored, POINTS[:2])
    assert restored.stats.recordings == 2
    assert_same_answers(safe, restored, [*POINTS, 2 + X**2])
    assert restored.stats.recordings == safe.stats.recordings > 2
    assert restored.explain().splitlines()[1:3]


def test_settings_guards_and_static_arguments_travel():
    """Tapes are found under keys that are made again, as enum members and static values may be others."""
    safe = td.GuardedTape(functions.branching, guard=functions.kind_of, on_new_tape="warn")
    static = td.GuardedTape(functions.of_order, static=td.static(argnames="order"))
    td.gradient(safe, X)
    td.gradient(static, X, 3)
    safe, static = again(safe), again(static)
    safe.on_new_tape = "raise"
    static.on_new_tape = "raise"
    assert td.gradient(safe, X) == pytest.approx(td.gradient(td.compile(functions.branching, X), X), rel=0)
    assert td.gradient(static, X, 3) == pytest.approx(3 * X**2, rel=1e-15)
    with pytest.raises(td.NewTape):
        td.gradient(safe, -X)


def test_copies_of_a_guarded_tape_are_independent():
    """Lambdas can be copied within a process; a method is that of the copied object."""
    safe = td.GuardedTape(lambda x: np.sum(x) if x[0] > 0 else -np.sum(x), merge=False)
    td.gradient(safe, X)
    for other in (copy.deepcopy(safe), copy.copy(safe)):
        other.on_new_tape = "raise"
        assert td.gradient(other, X).tolist() == [1.0, 1.0, 1.0]
        with pytest.raises(td.NewTape):
            td.gradient(other, -X)
    assert td.gradient(safe, -X).tolist() == [-1.0, -1.0, -1.0]
    assert "  2: " in safe.explain()
    assert "  2: " not in other.explain()


@pytest.mark.parametrize("copied", [again, copy.deepcopy], ids=["pickle", "deepcopy"])
def test_an_object_that_holds_the_tape_of_its_own_method(copied):
    """The cycle is followed once, and the method is that of the new object."""
    model = functions.Model(2.0)
    td.gradient(model.safe, X)
    other = copied(model)
    assert other.safe.f.__self__ is other
    other.safe.on_new_tape = "raise"
    assert td.gradient(other.safe, X).tolist() == [2.0, 2.0, 2.0]
    other.safe.on_new_tape = "compile"
    assert td.gradient(other.safe, -X).tolist() == (2 * X).tolist()


def test_a_lambda_is_refused_with_its_line():
    """The error says what to write instead."""
    with pytest.raises(td.UnsupportedFunction, match=r"(?s)<lambda> cannot be pickled.*test_pickling.py.*top level of a module"):
        pickle.dumps(td.GuardedTape(lambda x: x))
    with pytest.raises(td.UnsupportedFunction, match="cannot be pickled"):
        pickle.dumps(td.GuardedTape(functions.branching, guard=lambda x: x[0] > 0))


# Other processes


def test_workers_load_instead_of_recording():
    """Spawned processes, which share nothing: values, gradients, new paths and errors come back."""
    compiled = td.compile(functions.with_subtapes, X)
    safe = td.GuardedTape(functions.branching, merge=False)
    td.gradient(safe, X)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for target in (compiled, safe):
            answers = pool.map(functions.value_and_gradient, [(target, x) for x in POINTS])
            for x, (value, gradient) in zip(POINTS, answers):
                expected, expected_gradient = td.value_and_gradient(target, x)
                assert value == expected
                assert np.array_equal(gradient, expected_gradient)
        with pytest.raises(td.GuardFailed, match=r"module_functions.py") as failed:
            pool.apply(functions.refused, ((td.compile(functions.branching, X), -X),))
        assert (failed.value.recorded, failed.value.outcome) == (False, True)


def test_errors_are_the_same_after_pickling():
    """Type, text and attributes."""
    for error in (
        td.GuardFailed(at="here", ordinal=3, recorded=True, outcome=np.arange(3)),
        td.UnsupportedFunction("what", at="here", got="this", fix="that"),
    ):
        restored = again(error)
        assert type(restored) is type(error)
        assert str(restored) == str(error)
        assert restored.__dict__.keys() == error.__dict__.keys()


def test_unpickled_arrays_are_arguments_as_any_others():
    """Their dtypes are equal to NumPy's own but not the same; any layout, and as out=."""
    compiled = td.compile(lambda x: np.sum(x**2), X)
    x, out = again(X), again(np.empty(3))
    assert td.gradient(compiled, x).tolist() == (2 * X).tolist()
    assert td.gradient(compiled, x[::-1]).tolist() == (2 * X[::-1]).tolist()
    td.gradient(compiled, x, out=out)
    assert out.tolist() == (2 * X).tolist()
