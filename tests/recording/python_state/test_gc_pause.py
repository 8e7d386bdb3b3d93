"""The garbage collector while tapes are recorded and compiled: seldom, and as before afterwards."""

import gc

import numpy as np
import pytest
from support.in_threads import in_threads

import tapediff as td
from tapediff.recording.python_state import gc_pause
from tapediff.recording.python_state.gc_pause import FEW_OBJECTS, MANY_OBJECTS


@pytest.fixture(autouse=True)
def thresholds():
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def met(action):
    """The threshold while a function is recorded, inside a recording or not."""
    found = []

    def f(x):
        found.append(gc.get_threshold()[0])
        return action(x)

    td.record(f, np.ones(3))
    return found


def test_garbage_is_looked_for_seldom_while_recording_and_as_before_afterwards():
    assert met(np.sum) == [FEW_OBJECTS]
    assert gc.get_threshold() == (700, 10, 10)


def test_the_threshold_comes_back_after_an_error():
    def fails(x):
        raise KeyError("user")

    with pytest.raises(KeyError):
        td.record(fails, np.ones(3))
    assert gc.get_threshold() == (700, 10, 10)


def test_only_the_outermost_recording_brings_the_threshold_back():
    def f(x):
        inner = td.gradient(np.sum, x)
        assert gc.get_threshold()[0] == FEW_OBJECTS
        return np.sum(inner * x)

    assert met(f) == [FEW_OBJECTS]
    assert gc.get_threshold() == (700, 10, 10)


def record():
    td.record(lambda x: np.sum(np.sin(x)), np.ones(3))


def pause():
    gc_pause.without_collections(lambda: None)


def record_and_pause():
    td.record(lambda x: [gc_pause.without_collections(lambda: None), np.sum(x)][1], np.ones(3))


@pytest.mark.parametrize("steps", [[record], [pause], [record, pause, record_and_pause]])
def test_what_several_threads_do_leaves_the_threshold_as_it_was(steps):
    def work(_):
        for k in range(600 // len(steps)):
            for step in steps if k % 2 else steps[::-1]:
                step()

    in_threads(work, interval=1e-6)
    assert gc.get_threshold() == (700, 10, 10)
    assert gc.isenabled()


def test_the_collector_rests_while_a_kernel_is_compiled_also_within_a_recording():
    found = []

    def compiles():
        found.append(gc.get_threshold()[0])

    def f(x):
        gc_pause.without_collections(compiles)
        found.append(gc.get_threshold()[0])
        return np.sum(x)

    gc_pause.without_collections(compiles)
    found.append(gc.get_threshold()[0])
    td.record(f, np.ones(3))
    assert found == [MANY_OBJECTS, 700, MANY_OBJECTS, FEW_OBJECTS]
    assert gc.get_threshold() == (700, 10, 10)


def test_a_threshold_from_within_a_recording_does_not_stay_beyond_the_next():
    """Code that keeps the threshold, and puts it back later, means the user's."""
    kept = []

    def f(x):
        kept.append(gc.get_threshold())
        return np.sum(x)

    td.record(f, np.ones(3))
    gc.set_threshold(*kept[0])
    record()
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("own", [(0, 10, 10), (200_000, 5, 5)])
def test_a_threshold_that_is_no_lower_is_left_alone(own):
    """0 switches collections off."""
    gc.set_threshold(*own)
    assert met(np.sum) == [own[0]]
    assert gc.get_threshold() == own


def test_a_threshold_that_the_function_sets_stays():
    def f(x):
        gc.set_threshold(1234, 5, 6)
        return np.sum(x)

    td.record(f, np.ones(3))
    assert gc.get_threshold() == (1234, 5, 6)


def test_cycles_of_user_code_are_still_found():
    """A long recording that leaves cycles behind does not keep them all."""

    class Node:
        alive = 0

        def __init__(self):
            Node.alive += 1
            self.own = self

        def __del__(self):
            Node.alive -= 1

    def f(x):
        for _ in range(3 * FEW_OBJECTS):
            Node()
        return np.sum(x)

    td.record(f, np.ones(3))
    assert Node.alive < 3 * FEW_OBJECTS
