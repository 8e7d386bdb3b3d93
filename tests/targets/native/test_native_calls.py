"""Calls of compiled gradients from compiled code: bound, by address, and from numba; for fixed tapes and for tapes that branch."""

import copy
import ctypes
import gc
import pickle
import warnings
import weakref

import numba
import numpy as np
import pytest
from support.in_threads import in_threads
from support.side_by_side import times_as_long
from support.three_paths import branching, points, smooth

import tapediff as td
from tapediff.compiler.runtime.entries import c_entry as pointer, python_entry as entry


def picky(x):
    """Raises in two ways, and branches."""
    if x[0] < -2.0:
        raise ValueError("the user says no")
    if x[0] < -1.0:
        return np.sum(np.linalg.cholesky(np.eye(2) * x[1]))
    return np.sum(x**2)


def reference(f, x):
    value, gradient = td.value_and_gradient(f, x)
    return value, gradient


class FromC:
    """A tape's C function as ctypes sees it, with places for what it writes."""

    def __init__(self, tape, size=3):
        self.tape, self.size = tape, size
        self.function = pointer.POINT_TYPE(tape.address)
        self.gradient, self.value = np.full(size, 7.0), np.full(1, 5.0)

    def __call__(self, x, size=None, gradient=None):
        gradient = self.gradient if gradient is None else gradient
        places = x.ctypes.data, gradient.ctypes.data, self.value.ctypes.data
        return self.function(self.size if size is None else size, *places, self.tape.user_data)

    def is_untouched(self):
        return np.all(self.gradient == 7.0) and self.value[0] == 5.0


# Bound


@pytest.mark.parametrize("make", [lambda f: td.compile(f, np.ones(3)), td.GuardedTape], ids=["compiled", "guarded"])
def test_a_bound_call_reads_x_and_writes_out_in_place(make):
    """The same bits as td.value_and_gradient, at every call anew."""
    tape, x, out = make(smooth), np.ones(3), np.empty(3)
    call = tape.bind(x, out)
    for point in points(5):
        x[:] = point
        value, gradient = td.value_and_gradient(tape, point)
        assert call() == value
        assert np.array_equal(out, gradient)


def test_a_bound_call_takes_arrays_of_any_shape():
    """Matrices and arrays without dimensions are places in memory too."""
    matrix, out = np.arange(6.0).reshape(2, 3), np.empty((2, 3))
    assert td.compile(lambda a: np.sum(a**2), matrix).bind(matrix, out)() == 55.0
    assert np.array_equal(out, 2 * matrix)
    number, slope = np.array(3.0), np.array(0.0)
    assert td.GuardedTape(lambda a: a**2).bind(number, slope)() == 9.0
    assert slope == 6.0


def test_a_bound_call_of_a_fixed_tape_refuses_other_branches():
    """GuardFailed with the user's line; out is as it was, and the next call may be fine."""
    x, out = np.full(3, 2.0), np.full(3, 7.0)
    call = td.compile(branching, x).bind(x, out)
    x[0] = 0.0
    with pytest.raises(td.GuardFailed, match="in branching"):
        call()
    assert np.all(out == 7.0)
    x[0] = 2.0
    assert call() == 12.0


def test_a_bound_call_of_a_guarded_tape_follows_branches():
    """Every path is recorded when it is first taken, and native code goes from path to path from then on."""
    safe, x, out = td.GuardedTape(branching, merge=False), np.ones(3), np.empty(3)
    call = safe.bind(x, out)
    for point in points(200):
        x[:] = point
        value, gradient = reference(branching, point)
        # The same operations in another order, which may nearly cancel.
        assert call() == pytest.approx(value, rel=1e-14, abs=1e-14)
        np.testing.assert_allclose(out, gradient, rtol=1e-14, atol=1e-14)
    assert safe.stats.recordings == 3
    assert safe.stats.hits == 197


def test_a_bound_call_raises_what_user_code_raises():
    """The exception itself, with out as it was; so does a factorisation that fails, recorded before or not."""
    safe, x, out = td.GuardedTape(picky), np.array([-3.0, 1.0]), np.full(2, 7.0)
    call = safe.bind(x, out)
    with pytest.raises(ValueError, match="the user says no"):
        call()
    x[:] = -1.5, -1.0
    with pytest.raises(np.linalg.LinAlgError):
        call()
    assert np.all(out == 7.0)
    x[1] = 4.0
    assert call() == 4.0
    out[:] = 7.0
    x[1] = -4.0
    with pytest.raises(np.linalg.LinAlgError):
        call()
    assert np.all(out == 7.0)


def test_a_bound_call_of_a_fixed_tape_raises_what_sub_tapes_raise():
    """A sub-tape records a new path from inside native code; its exception comes out of the call."""

    @td.subtape
    def piece(v):
        if v < 0.0:
            raise KeyError("no such path")
        return v**2

    x, out = np.ones(2), np.full(2, 7.0)
    call = td.compile(lambda x: piece(x[0]) + x[1], x).bind(x, out)
    assert call() == 2.0
    out[:] = 7.0
    x[0] = -1.0
    with pytest.raises(KeyError, match="no such path"):
        call()
    assert np.all(out == 7.0)


@pytest.mark.slow
def test_bound_arrays_and_tapes_stay_alive():
    """The builtin holds what it points to, and lets go of it."""
    tape = td.compile(smooth, np.ones(3))
    watched = weakref.ref(tape)
    call = tape.bind(np.ones(3), np.empty(3))
    expected = call()
    del tape
    gc.collect()
    np.zeros(100_000)
    assert call() == expected
    del call
    gc.collect()
    assert watched() is None


@pytest.mark.parametrize("x", [np.ones(3, np.float32), np.ones((3, 2))[:, 0], [1.0, 1.0, 1.0], np.ones(3, ">f8")])
def test_bind_refuses_what_is_no_plain_memory(x):
    """float32, strided arrays, lists and swapped bytes would have to be copied."""
    with pytest.raises((td.ArgumentMismatch, td.DtypeMismatch), match=r"C-contiguous float64|another dtype"):
        td.compile(smooth, np.ones(3)).bind(x, np.empty(3))


def test_bind_refuses_out_that_cannot_be_written():
    """Other shapes, read-only memory, memory of x; and tapes of other arguments."""
    tape, x = td.compile(smooth, np.ones(3)), np.ones(3)
    read_only = np.empty(3)
    read_only.flags.writeable = False
    with pytest.raises(td.ShapeMismatch):
        tape.bind(x, np.empty(4))
    with pytest.raises(td.ShapeMismatch):
        tape.bind(np.ones(4), np.empty(4))
    for out in (read_only, x):
        with pytest.raises(td.ArgumentMismatch, match=r"out is read-only|out shares"):
            tape.bind(x, out)
    two = td.compile(lambda a, b: np.sum(a * b), np.ones(3), np.ones(3))
    with pytest.raises(td.ArgumentMismatch, match="2 arguments"):
        two.bind(x, np.empty(3))


def test_a_bound_call_refuses_arguments():
    """A point given by mistake would not be read."""
    call = td.compile(smooth, np.ones(3)).bind(np.ones(3), np.empty(3))
    for arguments in ((np.ones(3),), (1.0, 2.0)):
        with pytest.raises(TypeError, match="takes no arguments"):
            call(*arguments)
    with pytest.raises(TypeError):
        call(x=np.ones(3))


def test_bind_works_where_the_layout_of_objects_is_unknown(monkeypatch):
    """On interpreters whose objects the native entry does not know, another function does the same."""
    x, out = np.full(3, 2.0), np.empty(3)
    tape = td.compile(branching, x)
    monkeypatch.setattr(entry, "is_available", lambda: False)
    call = tape.bind(x, out)
    assert call() == 12.0
    assert np.all(out == 4.0)
    x[0] = 0.0
    with pytest.raises(td.GuardFailed):
        call()


# By address


@pytest.mark.parametrize("make", [lambda f: td.compile(f, np.ones(3)), td.GuardedTape], ids=["compiled", "guarded"])
def test_the_c_function_gives_value_and_gradient(make):
    """The same bits as td.value_and_gradient."""
    tape = make(smooth)
    call = FromC(tape)
    for point in points(5):
        value, gradient = td.value_and_gradient(tape, point)
        assert call(point) == 0
        assert call.value[0] == value
        assert np.array_equal(call.gradient, gradient)


def test_the_c_function_says_what_is_wrong_and_writes_nothing():
    """One code for each: a failed guard, a failed factorisation, an exception, sizes, memory that overlaps or is not aligned."""
    fixed = FromC(td.compile(branching, np.full(3, 2.0)))
    assert fixed(np.zeros(3)) == -4
    assert fixed(np.ones(4), size=4) == -1
    x = np.full(4, 2.0)
    assert fixed(x[:3], gradient=x[1:]) == -2
    odd = np.zeros(33, np.uint8)[1:25].view(np.float64)
    assert fixed(odd) == -2
    x, places = np.full(3, 2.0), fixed.gradient.ctypes.data
    for inside in (x.ctypes.data, x.ctypes.data + 16, places, places + 16):
        assert fixed.function(3, x.ctypes.data, places, inside, fixed.tape.user_data) == -2
    assert np.all(x == 2.0)
    factor = FromC(td.compile(lambda x: np.sum(np.linalg.cholesky(np.eye(2) * x[0])), np.ones(3)))
    assert factor(-np.ones(3)) == 2
    safe = FromC(td.GuardedTape(picky), size=2)
    assert safe(np.array([-1.5, -1.0])) == 2
    assert safe(np.array([-3.0, 0.0])) == -5
    assert safe(np.ones(3), size=3) == -1
    for call in (fixed, factor, safe):
        assert call.is_untouched()


def test_take_error_hands_out_each_exception_once():
    """What Python code raised; and what a failed guard or factorisation would say, if it is told where that was."""
    safe = td.GuardedTape(picky)
    assert safe.take_error() is None
    call = FromC(safe, size=2)
    assert call(np.array([-3.0, 0.0])) == -5
    assert isinstance(safe.take_error(), ValueError)
    assert safe.take_error() is None
    fixed = td.compile(branching, np.full(3, 2.0))
    assert FromC(fixed)(np.zeros(3)) == -4
    assert fixed.take_error() is None
    assert isinstance(fixed.take_error(np.zeros(3)), td.GuardFailed)
    assert fixed.take_error(np.full(3, 2.0)) is None


@pytest.mark.parametrize(
    "tape",
    [
        td.record(lambda x, y: np.sum(x * y), np.ones(3), np.ones(3)),
        td.record(lambda x: np.sum(x**2), np.ones((2, 2))),
        td.record(lambda x: x**2, 1.0),
        td.record(lambda p: np.sum(p["a"] * p["b"]), {"b": np.ones(2), "a": 3.0}),
    ],
    ids=["two arguments", "matrix", "number", "dict"],
)
def test_the_c_function_has_all_arguments_in_one_vector(tape):
    """One behind the other, also from numba; a gradient has the same order."""
    compiled = td.compile(tape)
    flat = compiled.c_function("gradient")
    x = np.linspace(1.0, 2.0, flat.sizes[0])
    args = flat.unravel(x)
    args = args if type(args) is tuple else (args,)
    value, gradients = compiled.value_and_gradient(*args, argnums=tuple(range(len(args))))
    call = FromC(compiled, size=x.size)
    assert call(x) == 0
    assert call.value[0] == value
    assert np.array_equal(call.gradient, flat.ravel(*gradients))


@pytest.mark.parametrize(
    "tape",
    [td.record(lambda x: np.sum(x), np.ones(3, np.float32)), td.record(lambda x, k: x[k], np.ones(3), td.Constant(1))],
    ids=["float32", "data"],
)
def test_tapes_of_anything_but_float64_have_no_address(tape):
    """A C caller has doubles."""
    compiled = td.compile(tape)
    for get in (lambda: compiled.address, lambda: compiled.user_data, compiled.as_numba):
        with pytest.raises(td.ArgumentMismatch):
            get()


@pytest.mark.parametrize("args", [(np.ones(3), np.ones(3)), ({"x": np.ones(3)},), (np.ones(3), 2)], ids=["two", "dict", "static"])
def test_the_address_of_a_guarded_tape_called_otherwise_is_refused(args):
    """Nobody has said what the arguments in the vector are; c_function takes them."""
    safe = td.GuardedTape(lambda *args: np.sum(args[0]["x"] if type(args[0]) is dict else args[0] * args[-1]))
    safe.value_and_gradient(*args)
    for get in (lambda: safe.address, safe.as_numba):
        with pytest.raises(td.ArgumentMismatch, match="c_function"):
            get()


def test_a_guarded_tape_takes_its_size_from_its_tapes_or_from_the_first_call():
    """Later calls of another size are refused."""
    new = FromC(td.GuardedTape(branching), size=4)
    assert new(np.ones(4)) == 0
    assert new(np.ones(3), size=3) == -1
    known = td.GuardedTape(branching)
    td.gradient(known, np.ones(3))
    assert FromC(known)(np.ones(4), size=4) == -1


def test_hits_and_paths_are_those_of_the_guarded_tape():
    """Bound, by address and from Python: one set of tapes; native hits are counted, also in explain()."""
    safe = td.GuardedTape(branching, merge=False)
    x, call = np.ones(3), FromC(safe)
    for k in range(60):
        x[0] = 2.0 if k % 2 else 0.5
        if k % 3 == 0:
            td.gradient(safe, x)
        else:
            assert call(x) == 0
    stats = safe.stats
    assert (stats.recordings, stats.misses, stats.hits) == (2, 2, 58)
    assert "58 hits" in safe.explain()


def test_the_budget_holds_for_native_calls():
    """No more tapes than max_tapes; those used natively last are kept; old native code is freed; answers stay right."""
    safe = td.GuardedTape(lambda x: np.sum(x) * int(x[0]), max_tapes=3, merge=False)
    x, out = np.zeros(2), np.empty(2)
    call = safe.bind(x, out)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", td.GuardWarning)
        for k in np.random.default_rng(0).integers(0, 6, size=60):
            x[0] = k + 0.5
            assert call() == x[0] * k
    assert len(safe._cache.all()) == 3
    x[0] = 9.5
    call()
    for _ in range(5):
        for other in (10.5, 9.5, 11.5):
            x[0] = other
            call()
    used = safe.stats.recordings
    x[0] = 9.5
    call()
    assert safe.stats.recordings == used
    for point in safe._native.calls.values():
        assert len(point._paths) <= 3
        assert len(point._retired) <= 1


@pytest.mark.filterwarnings("ignore::tapediff.GuardWarning")
@pytest.mark.parametrize("uses", [("bound 1", "2"), ("2", "bound 1"), ("bound 1", "2", "bound 1"), ("value 1", "bound 2", "1", "value 2")])
def test_the_tape_that_was_not_used_for_longest_is_dropped_whoever_used_it(uses):
    """Bound calls, gradients and values in turns: of two tapes the one of the last use is kept where a third comes."""
    safe = td.GuardedTape(lambda x: np.sum(x) * int(x[0]), max_tapes=2, merge=False)
    points, calls = {k: np.array([k + 0.5]) for k in (1, 2)}, {}
    for k, x in points.items():
        calls |= {f"bound {k}": safe.bind(x, np.empty(1)), f"{k}": lambda x=x: td.gradient(safe, x), f"value {k}": lambda x=x: safe(x)}
    for call in list(calls.values()) * 3:
        call()
    for use in uses:
        calls[use]()
    td.gradient(safe, np.array([3.5]))
    assert {variant.outcomes[0] for variant in safe._cache.all()} == {int(uses[-1][-1]), 3}


def test_policies_hold_for_native_calls():
    """A user's guard is asked at each call; "raise" refuses new paths; "interpret" counts its replays; checks are made."""
    asked = []
    safe = td.GuardedTape(branching, guard=lambda x: asked.append(1) or bool(x[0] > 1.0), merge=False)
    call = FromC(safe)
    for _ in range(4):
        assert call(np.ones(3)) == 0
    assert len(asked) == 4
    safe = td.GuardedTape(branching, merge=False)
    call = FromC(safe)
    assert call(np.full(3, 2.0)) == 0
    safe.on_new_tape = "raise"
    assert call(np.zeros(3)) == -5
    assert isinstance(safe.take_error(), td.NewTape)
    lazy = td.GuardedTape(branching, on_new_tape="interpret", merge=False)
    call = FromC(lazy)
    for k in range(12):
        assert call(np.ones(3)) == 0
        assert (lazy.stats.seconds_compiling > 0) == (k >= 10)
    scale = [1.0]
    stale = td.GuardedTape(lambda x: np.sum(x) * scale[0], check_every=3, frozen=True, merge=False)
    call = FromC(stale)
    assert [call(np.ones(3)) for _ in range(2)] == [0, 0]
    scale[0] = 2.0
    assert -5 in [call(np.ones(3)) for _ in range(4)]
    assert isinstance(stale.take_error(), td.StaleTape)


def test_guards_on_arrays_are_followed():
    """Masks have no native outcome: Python finds the way each time, and finds the right one."""
    safe = td.GuardedTape(lambda x: np.sum(np.kron(x[x > 0], 1.0) ** 2))
    x, out = np.ones(4), np.empty(4)
    call = safe.bind(x, out)
    for point in points(40, size=4, seed=3):
        x[:] = point
        assert call() == pytest.approx(np.sum(point[point > 0] ** 2), rel=1e-14)  # rounding
        np.testing.assert_allclose(out, 2 * np.maximum(point, 0), rtol=1e-14)
    assert safe.stats.recordings <= 16


def test_several_threads_share_a_c_function_while_it_records():
    """Workspaces, paths and values of one thread never show in another; the budget is too small, so that tapes come and go."""

    def f(x):  # a matrix product and a sort, so that there is a workspace
        return np.sum(np.sort(np.outer(x, x)) ** 2) * int(x[0])

    safe = td.GuardedTape(f, max_tapes=2)

    def work(k):
        x, out = np.zeros(20), np.empty(20)
        call, rng = safe.bind(x, out), np.random.default_rng(k)
        for _ in range(40):
            x[:] = rng.normal(size=20)
            x[0] = rng.integers(1, 4) + 0.5
            # A sum of 400 numbers in another order.
            assert call() == pytest.approx(f(x), rel=1e-12)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", td.GuardWarning)
        in_threads(work)


def test_threads_that_python_did_not_start_may_call():
    """A pthread records a new path, and its exceptions are kept for others to ask for, also those from inside a sub-tape."""

    @td.subtape
    def piece(v):
        if v < 0.0:
            raise KeyError("no such path")
        return v**2

    def f(x):
        if x[1] > 0.0:
            return piece(x[0]) + x[1]
        return piece(x[0]) * 2.0

    safe = td.GuardedTape(f)
    libc, fn = ctypes.CDLL(None), safe.as_numba()

    # A C function returns a pointer in the register of an integer.
    @numba.cfunc(numba.types.int64(numba.types.CPointer(numba.types.double)), nogil=True)
    def body(place):
        data = numba.carray(place, 6)  # x, gradient, value, status
        try:
            data[4] = fn(data[:2], data[2:4])
            data[5] = 0.0
        except Exception:  # noqa: BLE001 -- numba knows no other
            data[5] = 1.0
        return 0

    def in_pthread(x):
        data = np.array([*x, 7.0, 7.0, 7.0, 7.0])
        thread, start, place = ctypes.c_ulong(), ctypes.c_void_p(body.address), ctypes.c_void_p(data.ctypes.data)
        assert libc.pthread_create(ctypes.byref(thread), None, start, place) == 0
        assert libc.pthread_join(thread, None) == 0
        return data

    for x in ((1.0, 2.0), (3.0, -1.0), (2.0, 2.0)):
        data = in_pthread(x)
        assert (data[5], data[4]) == (0.0, f(np.array(x)))
    assert safe.stats.recordings == 2
    data = in_pthread((-1.0, 2.0))
    assert data[5] == 1.0
    assert np.all(data[2:5] == 7.0)
    assert isinstance(safe.take_error(), KeyError)


# From numba


@pytest.mark.parametrize("make", [lambda f: td.compile(f, np.ones(3)), td.GuardedTape], ids=["compiled", "guarded"])
def test_numba_code_calls_the_gradient(make):
    """In nopython code, without the interpreter lock, from several threads."""
    fn = make(smooth).as_numba()

    @numba.njit(nogil=True)
    def descend(x, steps):
        g = np.empty_like(x)
        for _ in range(steps):
            fn(x, g)
            x -= 0.01 * g
        return fn(x, g)

    def plain(x, steps):
        for _ in range(steps):
            x = x - 0.01 * td.gradient(smooth, x)
        return smooth(x)

    expected = plain(np.ones(3), 20)
    # Twenty steps that each round differently in the last place.
    assert descend(np.ones(3), 20) == pytest.approx(expected, rel=1e-12)

    def work(_):
        assert descend(np.ones(3), 20) == pytest.approx(expected, rel=1e-12)

    in_threads(work)


def test_numba_code_goes_from_path_to_path():
    """New paths are recorded from inside compiled code, which goes on with them."""
    safe = td.GuardedTape(branching, merge=False)
    fn = safe.as_numba()

    @numba.njit
    def values(X, G):
        v = np.empty(len(X))
        for i in range(len(X)):
            v[i] = fn(X[i], G[i])
        return v

    X = points(300)
    G = np.empty_like(X)
    # Sums of three numbers of size one in another order, which may nearly cancel.
    np.testing.assert_allclose(values(X, G), [branching(x) for x in X], rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(G, [td.gradient(branching, x) for x in X], rtol=1e-14, atol=1e-14)
    assert safe.stats.recordings == 3


def test_numba_code_raises_and_writes_nothing():
    """A Python exception comes out of compiled code, or can be caught in it; the gradient is as it was."""
    fixed, safe = td.compile(branching, np.full(3, 2.0)), td.GuardedTape(picky)
    of_fixed, of_safe = fixed.as_numba(), safe.as_numba()

    @numba.njit
    def call_fixed(x, g):
        return of_fixed(x, g)

    @numba.njit
    def call_safe(x, g):
        return of_safe(x, g)

    @numba.njit
    def or_minus_infinity(x, g):
        try:
            return of_fixed(x, g)
        except Exception:  # noqa: BLE001 -- numba knows no other
            return -np.inf

    g = np.full(3, 7.0)
    with pytest.raises(td.GuardFailed, match="take_error"):
        call_fixed(np.zeros(3), g)
    assert isinstance(fixed.take_error(np.zeros(3)), td.GuardFailed)
    assert or_minus_infinity(np.zeros(3), g) == -np.inf
    with pytest.raises(td.ShapeMismatch):
        call_fixed(np.zeros(4), np.empty(4))
    with pytest.raises(td.ShapeMismatch):
        call_fixed(np.full(3, 2.0), np.empty(2))
    shared = np.full(4, 2.0)
    with pytest.raises(td.ArgumentMismatch, match="share memory"):
        call_fixed(shared[:3], shared[1:])
    with pytest.raises(td.TapediffError, match="take_error"):
        call_safe(np.array([-3.0, 0.0]), g[:2])
    assert isinstance(safe.take_error(), ValueError)
    with pytest.raises(np.linalg.LinAlgError):
        call_safe(np.array([-1.5, -1.0]), g[:2])
    assert np.all(g == 7.0)


def test_numba_refuses_arrays_of_other_kinds_when_it_compiles():
    """The text says which argument it was."""
    fn = td.compile(smooth, np.ones(3)).as_numba()

    @numba.njit
    def call(x, g):
        return fn(x, g)

    read_only = np.empty(3)
    read_only.flags.writeable = False
    for x, g in ((np.ones(6)[::2], np.empty(3)), (np.ones(3, np.float32), np.empty(3)), (np.ones((3, 1)), np.empty(3))):
        with pytest.raises(numba.TypingError, match="x must be a C-contiguous float64 vector"):
            call(x, g)
    with pytest.raises(numba.TypingError, match="gradient must be a C-contiguous float64 vector to write to"):
        call(np.ones(3), read_only)
    assert call(read_only * 0.0, np.empty(3)) == 0.0


def test_numba_keeps_no_such_code_on_disk():
    """Addresses mean nothing to another process, and numba is told so."""
    fn = td.compile(smooth, np.ones(3)).as_numba()
    call = numba.njit(cache=True)(calling(fn))
    with pytest.warns(numba.NumbaWarning, match="dynamic globals"):
        call(np.ones(3), np.empty(3))


def calling(fn):
    def call(x, g):
        return fn(x, g)

    return call


def test_machine_code_outlives_the_tape():
    """numba's code may be called when nothing else holds the tape."""

    @numba.njit
    def call(fn, x, g):
        return fn(x, g)

    fn = td.compile(smooth, np.ones(3)).as_numba()
    gc.collect()
    assert call(fn, np.ones(3), np.empty(3)) == pytest.approx(smooth(np.ones(3)), rel=1e-14)  # rounding


# Copies, and what calls cost


def test_copies_of_tapes_have_functions_of_their_own():
    """Addresses do not travel with a copy."""
    for tape in (td.compile(smooth, np.ones(3)), td.GuardedTape(smooth)):
        assert FromC(tape)(np.ones(3)) == 0
        for copied in (copy.deepcopy(tape), pickle.loads(pickle.dumps(tape))):
            assert copied is tape or copied._native is None
            assert FromC(copied)(np.ones(3)) == 0


def test_calls_cost_little_beside_the_kernel():
    """From slow to fast: td.value_and_gradient, bound, in a numba loop. In units of an empty Python function, with room for noise."""
    tape, x, g = td.compile(lambda x: np.sum(x**2), np.ones(3)), np.ones(3), np.empty(3)
    fn = tape.as_numba()

    @numba.njit
    def loop(x, g, count):
        total = 0.0
        for _ in range(count):
            total += fn(x, g)
        return total

    bound, empty, count = tape.bind(x, g), lambda: None, 5000
    loop(x, g, 1)

    def verbs():
        for _ in range(count):
            td.value_and_gradient(tape, x, out=g)

    def bounds():
        for _ in range(count):
            bound()

    def empties():
        for _ in range(count):
            empty()

    # Measured: 27, 2 and 0.7 times an empty function, which takes 17 ns; 60 by the portable entry, which compares what was read in Python.
    most = 60 if entry.is_available() else 120
    assert times_as_long(verbs, empties, limit=most) < most
    assert times_as_long(bounds, empties, limit=8) < 8
    assert times_as_long(lambda: loop(x, g, count), empties, limit=3) < 3


@pytest.mark.parametrize("kind", [td.compile, lambda f, p: td.GuardedTape(f)], ids=["compiled", "guarded"])
def test_more_arrays_than_native_calls_have_room_for_are_refused(kind):
    """600 arrays with a gradient of each; calls from Python take them."""
    p = [np.full(1, k + 1.0) for k in range(600)]
    target = kind(lambda p: sum(np.sum(a * a) for a in p), p)
    for call in (
        lambda: target.bind(p, out=[np.empty(1) for _ in p]), lambda: target.c_function("gradient", p),
        lambda: target.batch([a[None] for a in p]),
    ):  # fmt: skip
        with pytest.raises(td.ArgumentMismatch, match="at most 1024 arrays"):
            call()
    for _ in range(3):
        assert td.gradient(target, p)[599] == 1200.0
