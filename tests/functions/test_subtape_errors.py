"""What sub-tapes refuse, and that errors of theirs leave the caller as it was."""

import subprocess
import sys

import numpy as np
import pytest
from support.agreement import agree

import tapediff as td


def test_what_a_sub_tape_does_to_a_list_is_seen_or_an_error():
    seen = []

    def f(x):
        kept, total = [x[0]], 0.0

        @td.subtape
        def inner(v):
            seen.append(1)
            return v * kept[0]

        @td.subtape
        def outer(v):
            kept.append(v)
            return v

        total = total + inner(x[1])
        return total + outer(x[0]) if len(x) > 2 else total

    assert td.gradient(f, np.array([2.0, 3.0])).tolist() == [3.0, 2.0]
    assert seen == [1]
    with pytest.raises(td.UnsupportedFunction, match="outer changes a list, dict or object that it closes over"):
        td.record(f, np.ones(3))


def test_writing_into_an_argument_is_an_error():
    @td.subtape
    def f(v):
        v[0] = 0.0
        return np.sum(v)

    with pytest.raises(td.UnsupportedFunction, match=r"f writes into an array that it was given") as caught:
        td.record(lambda x: f(x), np.ones(3))
    assert "fix: write into a copy" in str(caught.value)
    assert not td.is_recording()

    def g(x):
        y = x * 1.0

        @td.subtape
        def inner(v):
            y[0] = v
            return v

        return inner(x[0]) + y[0]

    with pytest.raises(td.UnsupportedFunction, match="inner writes into"):
        td.record(g, np.ones(3))


def test_paths_must_return_the_same_types():
    f = td.subtape(lambda v: v[:2] if v[0] > 0 else v)
    tape = td.record(lambda x: np.sum(f(x)), np.array([1.0, 2.0, 3.0]))
    for target in (tape, td.compile(tape)):
        with pytest.raises(td.ShapeMismatch, match="returned other types than on another path"):
            td.gradient(target, np.array([-1.0, 2.0, 3.0]))
    h = td.subtape(lambda v: (v, v) if v > 0 else v)
    compiled = td.compile(lambda x: h(x)[0], 1.0)
    with pytest.raises(td.ArgumentMismatch, match="another structure than on another path"):
        td.gradient(compiled, -1.0)
    assert td.gradient(compiled, 2.0) == 1.0  # nothing was lost


def test_a_result_that_is_an_argument_cannot_be_written_to():
    """In NumPy both would change; also where it is one on a path that is taken later, or a view, or one array twice."""
    same = td.subtape(lambda a: a)
    part = td.subtape(lambda a: (a[1:], a[0] * 2))
    twice = td.subtape(lambda a: (lambda b: (b, b))(a * 2.0))
    later = td.subtape(lambda a: a if a[0] > 0 else a * 2.0)

    def writes(f, into_result):
        def g(x):
            a = x * 1.0
            b = f(a)
            b = b[0] if type(b) is tuple else b
            if into_result:
                b[0] = 5.0
            else:
                a[-1] = 5.0
            return np.sum(b) + np.sum(a)

        return g

    for f in (same, part, twice):
        with pytest.raises(td.UnsupportedFunction, match="one of the two was written to afterwards") as caught:
            td.record(writes(f, True), np.ones(3))
        assert "fix: return a copy" in str(caught.value)
    for f in (same, part):
        with pytest.raises(td.UnsupportedFunction, match="written to afterwards"):
            td.record(writes(f, False), np.ones(3))
    compiled = td.compile(writes(later, True), -np.ones(3))
    for _ in range(2):
        with pytest.raises(td.UnsupportedFunction, match="written to afterwards"):
            td.gradient(compiled, np.ones(3))
    assert td.gradient(compiled, -2 * np.ones(3)).tolist() == [1.0, 3.0, 3.0]
    fresh = td.subtape(lambda a: a * 2.0)
    agree(writes(fresh, True), np.array([1.0, 2.0]))
    agree(lambda x: np.sum(same(x) * same(x)[::-1]), np.array([1.0, 2.0, 4.0]))


def test_a_result_that_a_loop_may_leave_as_an_argument_cannot_be_written_to():
    """Where the loop runs it is another array; where not, each call is refused."""

    @td.subtape
    def grown(a):
        while a[0] < 2.0:
            a = a * 1.5
        return a

    def f(x):
        a = x * 1.0
        b = grown(a)
        b[0] = 5.0
        return np.sum(b**2) + np.sum(a)

    g = td.GuardedTape(f)
    for start in (1.0, 0.4):
        assert g(np.full(3, start)) == pytest.approx(f(np.full(3, start)), rel=1e-12)
    for _ in range(2):
        with pytest.raises(td.UnsupportedFunction, match="written to afterwards"):
            g(np.full(3, 3.0))
    assert g(np.full(3, 1.0)) == pytest.approx(f(np.full(3, 1.0)), rel=1e-12)


def test_a_call_whose_results_are_not_used_still_holds_the_caller_to_its_path():
    """How many results there are is all that the caller looks at."""

    @td.subtape
    def f(v):
        if v[0] > 0:
            return v, v
        return {"a": v}

    compiled = td.compile(lambda x: np.sum(x) * len(f(x)), np.ones(2))
    assert td.gradient(compiled, np.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(td.ArgumentMismatch, match="another structure"):
        td.gradient(compiled, -np.ones(2))


def test_an_error_on_a_new_path_leaves_everything_as_it_was():
    @td.subtape
    def f(v):
        if v < 0:
            raise ValueError("negative")
        return v * 2

    compiled = td.compile(lambda x: f(x[0]) * x[1], np.array([1.0, 2.0]))
    out = np.array([7.0, 7.0])
    for _ in range(3):
        with pytest.raises(ValueError, match="negative"):
            td.gradient(compiled, np.array([-1.0, 2.0]), out=out)
        np.testing.assert_array_equal(out, [7.0, 7.0])
        np.testing.assert_allclose(td.gradient(compiled, np.array([1.0, 2.0])), [4.0, 2.0])
    assert f.recordings == 1
    assert not td.is_recording()


def test_linear_algebra_errors_come_through():
    solve = td.subtape(lambda a: np.sum(np.linalg.cholesky(a)))
    compiled = td.compile(lambda x: solve(x.reshape(2, 2)), np.array([2.0, 0.0, 0.0, 2.0]))
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        td.gradient(compiled, -np.eye(2).ravel())
    assert np.isfinite(td.gradient(compiled, np.array([3.0, 0.0, 0.0, 2.0]))).all()


def test_an_exception_that_the_caller_catches_is_refused():
    """What decided it was looked at in a recording that is gone, so the caller's tape could not be guarded."""

    @td.subtape
    def f(v):
        if v > 1:
            raise KeyError("too big")
        return v * v

    def g(x):
        try:
            return f(x[0]) + f(x[1])
        except KeyError:
            return x[0]

    with pytest.raises(td.UnsupportedFunction, match="g caught the error of f"):
        td.record(g, np.array([0.5, 2.0]))
    assert td.gradient(g, np.array([0.5, 0.2])).tolist() == [1.0, 0.4]


def test_an_exception_is_a_path_where_the_caller_would_catch_factorisations_that_fail_too():
    """LinAlgError is a ValueError: such calls are recorded into the caller, so that what decided is guarded there."""

    @td.subtape
    def f(v):
        if v > 1:
            raise ValueError("too big")
        return v * v

    def g(x):
        try:
            return f(x[0]) + f(x[1])
        except ValueError:
            return x[0]

    guarded = td.GuardedTape(g)
    for x, want in (([0.5, 2.0], [1.0, 0.0]), ([0.5, 0.25], [1.0, 0.5]), ([3.0, 0.25], [1.0, 0.0])):
        assert td.gradient(guarded, np.array(x)).tolist() == want


def test_recursion_that_is_too_deep_says_what_gives_it_room():
    """An error in four parts at a depth of 200, which is also a RecursionError; with room, 1,000 calls deep is as right as 10.

    Since 3.12 the recursion limit does not give that room; then the error says so, and paths that are known need none.
    """
    program = """
import sys
import numpy as np
import tapediff as td

@td.subtape(merge=False)
def down(n, a):
    return a * 1.5 if n == 0 else down(n - 1, a) * 0.999

def f(a):
    return down(depth, a) + a

depth = 200
try:
    td.record(f, 2.0)
except RecursionError as error:
    print(*str(error).splitlines(), type(error).__mro__[1].__name__, td.is_recording(), sep="\\n")
sys.setrecursionlimit(40_000)
if sys.version_info >= (3, 12):
    depth = 1500
    try:
        td.record(f, 2.0)
    except RecursionError as error:
        print(*str(error).splitlines()[2:], td.is_recording(), sep="\\n")
for depth in (10, 1000) if sys.version_info >= (3, 12) else (1000, 10):
    compiled = td.compile(f, 2.0)
    # The powers are products in another order: 1e-16 for each factor.
    value, gradient = td.value_and_gradient(compiled, 3.0)
    want = 1.5 * 0.999**depth + 1
    print(abs(value - 3.0 * want) < 1e-12 and abs(gradient - want) < 1e-12)
"""
    lines = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=200, check=True
    ).stdout.splitlines()
    in_c = (
        f"  got: what Python 3.{sys.version_info[1]} has room for, whatever the recursion limit",
        "  fix: call it less deep first, as it is new paths that need room; or write the recursion as td.while_loop",
        "False",
    )
    assert lines == [
        "calls of down stand too deep in each other",
        "  at:  <string>:8 in down",
        "  got: a recursion limit of 1000",
        "  fix: make room with sys.setrecursionlimit, 20 for each call while a path is new; or write the recursion as td.while_loop",
        "TapediffError",
        "False",
        *(in_c if sys.version_info >= (3, 12) else ()),
        "True",
        "True",
    ]
