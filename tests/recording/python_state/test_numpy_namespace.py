"""NumPy's namespace during recordings: who sees tracked arrays made by np.array, and that NumPy is left as it was."""

import math
import pickle
import subprocess
import sys
import threading
import time
import weakref
from types import MethodType

import numpy as np
import pytest
from numpy import array as array_by_name, asarray as asarray_by_name
from support.in_threads import in_threads

import tapediff as td
from tapediff.recording.python_state import numpy_namespace as namespace
from tapediff.recording.python_state.filled_arrays import Fills
from tapediff.recording.recorder import Recorder

X = np.array([0.5, -1.25, 2.0])


def is_numpys_own():
    return all(getattr(np, name) is original for name, original in namespace._ORIGINALS.items())


def test_numpy_is_what_it_was_after_every_recording():
    """Also after nested ones, errors and interrupts."""
    def f(x):
        return np.sum(np.array([x[0], 1.0])) + td.gradient(lambda y: np.sum(np.array([y[0], y[1]]) ** 2), x)[0]

    def interrupted(x):
        raise KeyboardInterrupt

    assert is_numpys_own()
    td.gradient(f, X)
    assert is_numpys_own()
    td.GuardedTape(f)(X)
    assert is_numpys_own()
    with pytest.raises(KeyboardInterrupt):
        td.record(interrupted, X)
    with pytest.raises(ZeroDivisionError):
        td.record(lambda x: np.array([x[0], 1 / 0]), X)
    assert is_numpys_own()


def test_other_threads_have_numpys_functions():
    """While one thread records, another makes plain arrays; recordings of two threads may end in either order."""
    inside, go_on, results = threading.Event(), threading.Event(), []

    def f(x):
        inside.set()
        assert go_on.wait(60)
        return np.sum(np.array([x[0], x[1]]) ** 2)

    thread = threading.Thread(target=lambda: results.append(td.gradient(f, X)))
    thread.start()
    assert inside.wait(60)
    assert not is_numpys_own()
    plain = np.array([1.0, 2.0])
    assert type(plain) is np.ndarray
    assert list(np.fromiter(iter([1, 2]), int)) == [1, 2]
    np.testing.assert_array_equal(td.gradient(lambda x: np.sum(np.array([x[0], x[2]])), X), [1.0, 0.0, 1.0])
    assert not is_numpys_own()  # the other one still records
    go_on.set()
    thread.join()
    np.testing.assert_array_equal(results[0], [1.0, -2.5, 0.0])
    assert is_numpys_own()


def test_a_function_kept_from_a_recording_is_numpys():
    kept = []
    td.record(lambda x: kept.append(np.array) or x, X)
    assert type(kept[0]([1.0, 2.0])) is np.ndarray
    assert repr(kept[0]) == repr(np.array)


def test_it_passes_for_numpys_function():
    """Equal, of equal hash, pickled by name, with its name and text: tables of functions find it."""
    def f(x):
        assert np.array == array_by_name
        assert {array_by_name: 1}[np.array] == 1
        assert pickle.loads(pickle.dumps(np.array)) is np.array
        assert (np.array.__name__, np.array.__doc__) == (array_by_name.__name__, array_by_name.__doc__)
        return x

    td.record(f, X)


def test_a_name_imported_before_is_numpys_own():
    """Arrays are refused on that line; numbers become an array of objects, which is stacked where it meets a tracked value."""
    with pytest.raises(td.TrackedValueEscaped, match=r"np\.asarray"):
        td.record(lambda x: asarray_by_name(x), X)
    with pytest.raises(td.TrackedValueEscaped, match=r"np\.stack"):
        td.record(lambda x: array_by_name([x[0], 1.0], dtype=float), X, merge=False)
    f = lambda x: array_by_name([x[0] ** 2, 1.0], dtype=float)[0]
    td.testing.check_gradient(td.compile(f, X), f, X)
    f = lambda x: np.sum(array_by_name([x[0], 2.0 * x[1]]) * x[:2])
    td.testing.check_gradient(td.compile(f, X), f, X)


def of_a_converted_number(x):
    made = array_by_name([np.floor(x[0]).astype(int), 2])
    made[1] = x[1] * 3.7
    return made[1] * x[1]


def of_a_count(x):
    made = array_by_name([(x > 0).sum(), 2])
    made[1] = x[1] * 3.7
    return made[1] * x[1]


def of_a_bool(x):
    made = array_by_name([x[0] > 0, False])
    made[1] = x[1]
    return made[1] * x[1]


def through_a_variable(x):
    make = array_by_name
    made = make([np.floor(x[0]).astype(int), 2])
    made[1] = x[1] * 3.7
    return made[1] * x[1]


@pytest.mark.parametrize("f", [of_a_converted_number, of_a_count, of_a_bool, through_a_variable])
def test_ints_become_no_objects_by_a_name_imported_before(f):
    """What is written to these would stay a float: refused on one path; on all paths the array is one of ints."""
    with pytest.raises(td.TrackedValueEscaped, match=r"np\.array"):
        td.record(f, X)
    guarded = td.GuardedTape(f)
    assert guarded(X) == f(X.copy())


def test_what_someone_else_has_put_there_stays():
    """A function of the user's own under one of the names is neither replaced nor removed."""
    own = lambda *args, **named: array_by_name(*args, **named)
    before = np.array
    np.array = own
    try:
        td.record(lambda x: x + np.array(1.0), X)
        assert np.array is own
    finally:
        np.array = before
    assert is_numpys_own()


def test_objects_may_be_asked_for():
    """dtype=object makes NumPy's array of objects."""
    def f(x):
        a = np.array([x[0], None], dtype=object)
        assert type(a) is np.ndarray
        return a[0] * 2.0

    assert td.record(f, X)(X) == 1.0


def test_tables_keyed_by_weak_references_find_it_where_they_find_the_original():
    """Such tables, numba's for one, are keyed by the function itself where that has no weak references."""
    def key(function):
        try:
            return weakref.ref(function)
        except TypeError:
            return function

    replacements = {**namespace._REPLACEMENTS, **namespace.filled_arrays.REPLACEMENTS}
    originals = {name: replacement.original for name, replacement in replacements.items()}
    assert all(key(replacements[name]) in {key(original): 1} for name, original in originals.items())
    assert all(key(original) in {key(replacements[name]): 1} for name, original in originals.items())


_NUMBA_FIRST_USED_IN_A_RECORDING = """
import math
import numba, numpy as np
import tapediff as td

def plain(a):
    return np.sum(a) * np.exp(a[0])

a = np.linspace(0.1, 0.9, 4)
expected = plain(a)
compiled, later = numba.njit(plain), numba.njit(lambda a: np.argmax(a) + math.exp(a[0]))

def f(x):
    y = np.zeros(2)  # makes np.exp and others stand for NumPy's as well
    y[0] = x[0]
    return y[0] * compiled(a)

x = np.array([2.0])
tape = td.compile(f, x)
np.testing.assert_allclose(tape(x), 2.0 * expected, rtol=1e-12)
np.testing.assert_allclose(later(a), 3 + math.exp(a[0]), rtol=1e-12)
"""


@pytest.mark.slow
def test_numba_may_be_used_first_within_a_recording():
    """Its own tables of NumPy's functions are filled then, and serve behind the recording too."""
    pytest.importorskip("numba")
    subprocess.run([sys.executable, "-c", _NUMBA_FIRST_USED_IN_A_RECORDING], check=True, timeout=120)


@pytest.mark.parametrize("name", ["full", "mean", "array", "arange"])
def test_as_an_attribute_of_a_class_it_is_a_method_where_numpys_is_one(name):
    """What is a method of an instance is called with it, in every version of Python."""
    original, seen = getattr(np, name), []

    def f(x):
        made = type("Keeps", (), {"kept": getattr(np, name)})
        seen.extend((made.kept, made().kept))
        return np.sum(x)

    td.record(f, X)
    made = type("Keeps", (), {"kept": original})
    assert seen[0] == made.kept
    is_method = hasattr(type(original), "__get__")
    assert (type(seen[1]) is MethodType) == (type(made().kept) is MethodType) == is_method


def test_a_recording_that_begins_while_that_of_another_thread_ends_has_its_names(monkeypatch):
    """It waits for the other to give NumPy its own functions back; then it puts its own there. Here it is the one that fills arrays."""
    is_ending, has_ended = threading.Event(), threading.Event()
    put, restart = namespace.filled_arrays.put, Recorder._restart

    def slow_put(replaced):
        if threading.current_thread() is ends_first and not replaced:
            is_ending.set()
            time.sleep(0.05)
        put(replaced)

    def end():
        td.record(np.sum, np.ones(3))
        has_ended.set()

    def restart_while_the_other_ends(recorder, fills):
        restart(recorder, fills)
        if fills is Fills.ALL:
            ends_first.start()
            assert is_ending.wait(60)

    def f(x):
        assert not is_ending.is_set() or has_ended.wait(60)
        is_positive = np.ones(2, bool)
        is_positive[:] = x > 0
        return np.sum(x**2 * is_positive)

    monkeypatch.setattr(namespace.filled_arrays, "put", slow_put)
    monkeypatch.setattr(Recorder, "_restart", restart_while_the_other_ends)
    ends_first = threading.Thread(target=end)
    np.testing.assert_array_equal(td.gradient(f, np.array([3.0, -4.0])), [6.0, 0.0])
    ends_first.join()
    assert is_numpys_own()


def test_recordings_in_several_threads_have_their_names_throughout():
    def f(x):
        out = np.zeros(2)
        out[0] = x[0] * 2
        return np.sum(out) + np.sum(np.array([x[0], x[1]])) + math.sin(x[1]) + np.sum(np.full(2, x[1]))

    point, found = np.array([1.0, 2.0]), []
    expected = [3.0, 3.0 + math.cos(2.0)]

    def work(_):
        found.extend(td.gradient(f, point) for _ in range(100))

    in_threads(work, interval=1e-6)
    np.testing.assert_allclose(found, [expected] * 400, rtol=1e-15)
