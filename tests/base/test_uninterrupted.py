"""Signals that come while a function runs to its end: none is lost, none is handled early, and the handlers are what they were."""

import signal
import sys
import threading

import pytest

from tapediff.base.uninterrupted import require_stack, uninterrupted

FIRST, SECOND = signal.SIGINT, signal.SIGTERM


@pytest.fixture
def told():
    """What the handlers and the function have done; the handler of FIRST raises."""
    done = []

    def note(number, _):
        done.append(signal.Signals(number))

    def note_and_raise(number, frame):
        note(number, frame)
        raise KeyboardInterrupt

    before = {FIRST: signal.signal(FIRST, note_and_raise), SECOND: signal.signal(SECOND, note)}
    yield done
    for number, handler in before.items():
        signal.signal(number, handler)


def come(done, *numbers):
    def function():
        for number in numbers:
            signal.raise_signal(number)
        done.append("end")
        return 7

    return function


@pytest.mark.parametrize("depth", [1, 2])
def test_signals_are_handled_after_the_function(told, depth):
    """Also where one such function calls another."""
    calm, both = come(told, SECOND), come(told, FIRST, SECOND)
    for _ in range(depth):
        calm, both = uninterrupted(calm), uninterrupted(both)
    assert calm() == 7
    assert told == ["end", SECOND]
    told.clear()
    handlers = [signal.getsignal(number) for number in (FIRST, SECOND)]
    with pytest.raises(KeyboardInterrupt):
        both()
    assert told == ["end", FIRST, SECOND], "the second one, too, though the first handler has raised"
    assert [signal.getsignal(number) for number in (FIRST, SECOND)] == handlers


def test_what_the_function_raises_is_the_context_of_what_a_handler_raises(told):
    @uninterrupted
    def failing():
        signal.raise_signal(FIRST)
        raise ValueError("own")

    with pytest.raises(KeyboardInterrupt) as raised:
        failing()
    assert isinstance(raised.value.__context__, ValueError)


def test_a_handler_that_the_function_sets_stays(told):
    handler = uninterrupted(lambda: signal.signal(SECOND, signal.SIG_IGN))
    handler()
    assert signal.getsignal(SECOND) is signal.SIG_IGN
    signal.signal(SECOND, signal.SIG_DFL)


def test_other_threads_call_as_they_are(told):
    """They handle no signals, and may set no handlers."""
    found = []
    thread = threading.Thread(target=lambda: found.append(uninterrupted(lambda: 7)()))
    thread.start()
    thread.join()
    assert found == [7]


def test_where_the_stack_has_no_room_nothing_begins(told):
    began = []

    @uninterrupted
    def function():
        began.append(True)
        return needs(8)

    def needs(calls):
        return calls and needs(calls - 1)

    def below(left):
        return below(left - 1) if left else function()

    depth = len(list(iter_frames()))
    refused = 0
    for frames in range(3, 80):
        try:
            below(sys.getrecursionlimit() - depth - frames)
        except RecursionError:
            refused += 1
            assert not began, "what has begun has room to end"
        began.clear()
    assert 0 < refused < 77
    require_stack()


def iter_frames():
    frame = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back
