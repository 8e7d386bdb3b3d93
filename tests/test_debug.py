"""td.debug: what is looked at while a tape runs is seen once at every replay, in order, and changes nothing."""

import pickle

import numpy as np
import pytest

import tapediff as td

SEEN = []
X = np.array([1.0, -2.0, 3.0])


def look(*values, **named):
    SEEN.append(tuple(np.array(v, float).tolist() for v in (*values, *named.values())))


def seen():
    found = list(SEEN)
    SEEN.clear()
    return found


def straight(x):
    td.debug.callback(look, x[0])
    td.debug.callback(look, x[0])
    y = x**2
    td.debug.callback(look, 7.0, y=y)
    return np.sum(y)


def in_a_loop(x):
    total = 0.0
    for k in range(60):
        total = total + x[k % 3] ** 2
        td.debug.callback(look, total, k)
    return total


def on_one_side(x):
    total = 0.0
    for k in range(3):
        if x[k] > 0:
            td.debug.callback(look, x[k])
            total = total + x[k] ** 2
        else:
            total = total - x[k]
    return total


def in_a_scan(x):
    def body(carry, entry):
        td.debug.callback(look, carry, entry)
        return carry * entry, carry

    return td.scan(body, 1.0 + 0.0 * x[0], x)[0]


def of_nothing_that_a_loop_changes(x):
    def body(k, carry):
        td.debug.callback(look, x[0])
        return carry + x[0] ** 2 * k

    return td.fori_loop(0, 4, body, 0.0 * x[0])


@td.checkpoint
def checkpointed(a):
    td.debug.callback(look, a)
    return np.sin(a) * a


def in_a_checkpoint(x):
    return checkpointed(x[0]) * checkpointed(x[2])


def in_a_cond(x):
    def yes(a):
        td.debug.callback(look, a)
        return 2.0 * a**2

    return td.cond(x[0] > 0, yes, lambda a: a, x[1])


def in_a_while(x):
    def body(a):
        td.debug.callback(look, a)
        return 0.5 * a

    return td.while_loop(lambda a: a > 0.3, body, x[0] ** 2)


PROGRAMS = [straight, in_a_loop, on_one_side, in_a_scan, of_nothing_that_a_loop_changes, in_a_checkpoint, in_a_cond, in_a_while]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_each_replay_shows_what_the_function_would(f):
    """Nothing while recording; then the same values in the same order, by NumPy, by a kernel, for every derivative, on merged paths."""
    f(X)
    expected = seen()
    assert len(expected) > 0
    tape = td.record(f, X)
    assert seen() == []
    compiled, merged = td.compile(tape), td.GuardedTape(f, merge=True)
    for replay in (
        lambda: tape(X), lambda: td.gradient(tape, X), lambda: td.gradient(f, X), lambda: compiled(X), lambda: td.gradient(compiled, X),
        lambda: td.value_and_gradient(compiled, X), lambda: td.hessian(compiled, X), lambda: td.jvp(compiled, (X,), (X,)),
        lambda: td.gradient(merged, X), lambda: td.gradient(merged, X),
    ):  # fmt: skip
        replay()
        found = seen()
        assert len(found) == len(expected)
        # Kernels round otherwise than NumPy.
        assert all(np.allclose(a, b, rtol=1e-12) for a, b in zip(sum(found, ()), sum(expected, ())))


def test_merged_branches_show_the_side_that_is_taken():
    """Also at points of another path than the first."""
    merged = td.GuardedTape(on_one_side, merge=True)
    for x in (X, -X, np.array([1.0, 2.0, -3.0]), X, -X):
        td.gradient(merged, x)
        found = seen()
        on_one_side(x)
        expected = seen()
        assert found[-len(expected) :] == expected


def test_derivatives_are_those_without(capsys):
    """Printing is no part of the function; the text is as of str.format."""

    def f(x):
        td.debug.print("{{{}}} {n:.1f} {word}", x, n=np.sum(x), word="so")
        return np.sum(np.sin(x) ** 2)

    compiled = td.compile(f, X)
    assert capsys.readouterr().out == ""
    gradient = td.gradient(compiled, 2 * X)
    assert capsys.readouterr().out == "{[ 2. -4.  6.]} 4.0 so\n"
    assert np.allclose(gradient, np.sin(4 * X), rtol=1e-14)  # a few units in the last place
    f(X)
    assert capsys.readouterr().out == "{[ 1. -2.  3.]} 2.0 so\n"


def test_values_without_an_argument_are_shown_at_each_replay():
    """A constant, in the middle of a function."""

    def f(x):
        td.debug.callback(look, 3)
        return np.sum(x**2)

    compiled = td.compile(f, X)
    assert seen() == []
    td.gradient(compiled, X)
    td.gradient(compiled, X)
    assert seen() == [(3.0,), (3.0,)]


def test_an_error_of_the_callback_ends_the_replay():
    """In a kernel as in Python, with its own type; the arrays are read-only."""

    def refuse(x):
        x[0] = 1.0

    def f(x):
        td.debug.callback(refuse, x)
        return np.sum(x**2)

    for target in (td.record(f, X), td.compile(f, X)):
        with pytest.raises(ValueError, match="read-only"):
            td.gradient(target, X)


def test_compiled_callers_and_copies_show_as_well():
    """By rows, from C, and after pickling, where the function has a name."""
    compiled = td.compile(straight, X)
    compiled.batch(np.stack([X, 2 * X]))
    assert len(seen()) == 6
    bound = compiled.bind(X, np.empty(3))
    bound()
    assert len(seen()) == 3
    copy = pickle.loads(pickle.dumps(td.record(straight, X)))
    copy(X)
    assert len(seen()) == 3


def test_a_breakpoint_stops_in_python(monkeypatch):
    """At every replay, with the values by name."""
    stopped = []
    monkeypatch.setattr("builtins.breakpoint", lambda: stopped.append(True))

    def f(x):
        td.debug.breakpoint(x=x, first=x[0])
        return np.sum(x**2)

    compiled = td.compile(f, X)
    assert stopped == []
    td.gradient(compiled, X)
    td.gradient(compiled, X)
    assert len(stopped) == 2


def test_print_shows_tracked_values_while_recording(capsys):
    """Shape, dtype, the value now and where it came from; also of complex numbers, views that were written to, and in lists."""

    def f(x):
        y = np.sin(x)
        print("y =", y, y[1], sep=" ")
        y[0] = 2.0
        print([y[:1]], 1j * x[:1], "plain", np.ones(2))
        return np.sum(y)

    td.record(f, np.array([0.0, 1.0]))
    lines = capsys.readouterr().out.splitlines()
    line = f.__code__.co_firstlineno + 1
    assert lines == [
        f"y = <tracked float64[2] = [0. 0.841471], sin(...) at test_debug.py:{line} in f> "
        f"<tracked float64[] = 0.841471, index(...) at test_debug.py:{line + 1} in f>",
        f"[<tracked float64[1] = [2.], index(...) at test_debug.py:{line + 3} in f>] <tracked complex128[1] = [0.+0.j]> plain [1. 1.]",
    ]
    print("outside", np.ones(1))
    assert capsys.readouterr().out == "outside [1.]\n"


def test_text_of_tracked_values_is_refused_elsewhere():
    """A program could go another way by it; the error says how to see the value."""
    for f in (lambda x: f"{x}", lambda x: str(x[0]), lambda x: "%s" % x):  # noqa: UP031
        with pytest.raises(td.TrackedValueEscaped, match="print\\(x\\) shows"):
            td.record(f, X)
