"""The entry that knows nothing of CPython's objects answers as the other one does, and refuses what it cannot read."""

import gc
import weakref

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler.runtime.entries import python_entry as entry
from tapediff.compiler.runtime.status import OVERLAP, REFUSED


@pytest.fixture(autouse=True)
def _portable(monkeypatch):
    monkeypatch.setattr(entry, "is_available", lambda: False)


X = np.array([[0.5, -1.0, 2.0], [3.0, 0.25, -0.5]])


def kernel_of(f, *point):
    """A tape, which holds the kernel; the kernel; and whether it has the entry that is tested."""
    tape = td.compile(f, *point)
    kernel = tape.kernel((0,))
    assert isinstance(kernel.call.__self__, tuple)
    return tape, kernel


def test_value_and_gradient_are_written():
    """Two arrays and a float go in; one array and the value come out."""
    _, kernel = kernel_of(lambda x, k, s: np.sum(x * x * s) + k[0], X, np.array([7, 8]), 2.0)
    out = np.empty_like(X)
    # Sums of six numbers, each exact: all are multiples of 1/16.
    assert kernel.call(X, np.array([7, 8]), 3.0, out) == 3 * np.sum(X * X) + 7
    assert np.array_equal(out, 6 * X)


def swapped(x):
    return x.astype(x.dtype.newbyteorder())


def unaligned(x):
    raw = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    raw[...] = x
    return raw


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


class Subclass(np.ndarray):
    pass


INPUTS = {
    "another dtype": lambda x: x.astype(np.float32),
    "integers of the same size": lambda x: x.astype(np.int64),
    "another byte order": swapped,
    "not aligned": unaligned,
    "Fortran's order": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "another shape": lambda x: x.T.copy(),
    "fewer dimensions": lambda x: x.ravel(),
    "more dimensions": lambda x: x[None],
    "a subclass": lambda x: x.view(Subclass),
    "a view of its memory": memoryview,
    "a list": lambda x: x.tolist(),
    "a number": lambda x: 1.0,
    "None": lambda x: None,
}


@pytest.mark.parametrize("kind", INPUTS)
def test_other_arguments_are_refused_and_nothing_is_written(kind):
    """As an input and as an output; no error is left behind, and the array is free afterwards."""
    _, kernel = kernel_of(lambda x: np.sum(x * x), X)
    given, out = INPUTS[kind](X), np.full(X.shape, 5.0)
    before = [*np.ravel(given)] if isinstance(given, np.ndarray) else None
    assert kernel.call(given, out) == REFUSED
    assert np.all(out == 5.0)
    assert kernel.call(X, given) == REFUSED
    assert before is None or before == [*np.ravel(given)]


def test_outputs_have_to_be_writeable_and_inputs_need_not():
    _, kernel = kernel_of(lambda x: np.sum(x * x), X)
    assert kernel.call(X, read_only(X)) == REFUSED
    assert kernel.call(read_only(X), np.empty_like(X)) == np.sum(X * X)


def test_the_number_of_arguments_is_checked():
    _, kernel = kernel_of(lambda x: np.sum(x * x), X)
    out = np.empty_like(X)
    assert [kernel.call(), kernel.call(X), kernel.call(X, out, out)] == [REFUSED] * 3


def test_outputs_that_share_memory_with_inputs_are_told():
    _, kernel = kernel_of(lambda x: np.sum(x * x), X)
    x = X.copy()
    assert kernel.call(x, x) == OVERLAP
    assert np.array_equal(x, X)


def test_numbers_without_dimensions_are_floats_or_arrays():
    """A float as an input only, also NumPy's: nothing can be written to it."""
    _, kernel = kernel_of(lambda x, y: x * x * y, 1.0, 2.0)
    out = np.empty(())
    assert kernel.call(3.0, 2.0, out) == 18.0
    assert out == 12.0
    assert kernel.call(np.array(3.0), 2.0, out) == 18.0
    assert kernel.call(np.float64(3.0), 2.0, out) == 18.0
    assert [kernel.call(3, 2.0, out), kernel.call(3.0, 2.0, 1.0), kernel.call(3.0, 2.0, np.float64(1.0))] == [REFUSED] * 3


def test_guards_are_told_with_their_outcome():
    tape, kernel = kernel_of(lambda x: np.sum(x * x) if x[0] > 0 else np.sum(x), np.ones(3))
    assert kernel.call(-np.ones(3), np.empty(3)) == 1.0 + 0.0j
    with pytest.raises(td.GuardFailed):
        td.gradient(tape, -np.ones(3))


def test_calls_hold_neither_arrays_nor_state():
    """Arguments are free after a call, read or refused; and the state goes with the builtin function."""
    tape, kernel = kernel_of(lambda x: np.sum(x * x), X)
    for make in (np.copy, np.asfortranarray, swapped):
        x, out = make(X), np.empty_like(X)
        kernel.call(x, out)
        kernel.call(X, x)
        gone = weakref.ref(x)
        del x
        assert gone() is None
    state = weakref.ref(kernel.state)
    del tape, kernel
    # Kernels are kept a while for the same text; the state is this one's own.
    gc.collect()
    assert state() is None


def test_guarded_tapes_take_the_fast_path():
    """Native code chooses among their paths, as with the other entry."""
    def f(x):
        return np.sum(x * x) if x[0] > 0 else np.sum(np.exp(x))

    guarded = td.GuardedTape(f)
    for x in (np.ones(3), -np.ones(3)) * 4:
        value, gradient = td.value_and_gradient(guarded, x)
        # Three numbers are added, of size 3 at most.
        assert np.isclose(value, f(x), rtol=1e-15)
        assert np.allclose(gradient, 2 * x if x[0] > 0 else np.exp(x), rtol=1e-15)
