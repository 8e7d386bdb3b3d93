"""Raises an exception at the n-th line that runs inside the package, as Ctrl-C does at any time, or leaves little of the stack, and looks at
what is left."""

import gc
import math
import sys
import threading
import traceback
from collections import Counter
from pathlib import Path

import numpy as np

import tapediff as td
from tapediff.compiler.jit.toolchain import toolchain
from tapediff.recording.recorder import is_recording

PACKAGE = str(Path(td.__file__).parent) + "/"
LOCKS = type(threading.Lock()), type(threading.RLock())


class Lines:
    """Runs a function and counts the lines of the package that it executes; raises `error` at one of them.

    Attributes:
        count: lines so far.
        places: how often each (file, line) was executed.
        interrupted: the line at which it was.
    """

    def __init__(self, interrupt_at=0, error=KeyboardInterrupt):
        self.error = error
        self.interrupt_at, self.count, self.places, self.order, self.interrupted = interrupt_at, 0, Counter(), [], None
        # Held, as raising ends the tracing: where that is in a finalizer, run by the search for garbage while a frame is about to call
        # its trace function, CPython 3.11 goes on to call that function, freed or not.
        self._trace, self._trace_lines = self._frame, self._line

    def run(self, function):
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            return function()
        finally:
            sys.settrace(before)

    def _frame(self, frame, event, _):
        if frame.f_code.co_filename.startswith(PACKAGE):
            return self._trace_lines
        return None

    def _line(self, frame, event, _):
        if event == "line":
            self.count += 1
            if not self.interrupt_at:
                place = frame.f_code.co_filename, frame.f_lineno
                self.places[place] += 1
                self.order.append(place)
            elif self.count == self.interrupt_at:
                self.interrupted = f"{frame.f_code.co_filename.removeprefix(PACKAGE)}:{frame.f_lineno}"
                raise self.error
        return self._trace_lines


def numbers_of_lines(order, most, rng):
    """Which lines to interrupt at: of each place the first, the last and another execution; then any, up to `most` in all."""
    by_place = {}
    for number, place in enumerate(order, 1):
        by_place.setdefault(place, []).append(number)
    chosen = set()
    for numbers in by_place.values():
        chosen |= {numbers[0], numbers[-1], numbers[int(rng.integers(len(numbers)))]}
    if len(chosen) > most:
        return sorted(rng.choice(sorted(chosen), most, replace=False).tolist())
    rest = sorted(set(range(1, len(order) + 1)) - chosen)
    chosen |= set(rng.choice(rest, min(most - len(chosen), len(rest)), replace=False).tolist())
    return sorted(chosen)


def held_locks(*objects):
    """The names of the package's locks that somebody holds."""
    found = []
    for name, module in list(sys.modules.items()):
        if name.startswith("tapediff"):
            found += [(f"{name}.{key}", each) for key, each in vars(module).items() if isinstance(each, LOCKS)]
    for each in objects:
        slots = [getattr(each, "_lock", None), getattr(getattr(each, "_native", None), "errors", None)]
        if each is not None and getattr(each, "_native", None) is not None:
            slots += [getattr(call, "_lock", None) for call in each._native.calls.values()]
            slots += [known._lock for known in each._native.rows.values()]
            slots.append(each._native.errors._lock)
        found += [(f"a lock of {each!r}", slot) for slot in slots if isinstance(slot, LOCKS)]
    return [name for name, lock in found if _is_held(lock)]


def _is_held(lock):
    taken = []

    def attempt():
        if lock.acquire(blocking=False):
            lock.release()
            taken.append(True)

    thread = threading.Thread(target=attempt)  # of its own, as this one may take its own lock again
    thread.start()
    thread.join()
    return not taken


def with_room(function, frames):
    """Call a function where the stack has room for that many frames, and no more."""

    def below(left):
        return below(left - 1) if left else function()

    def depth():
        frame, found = sys._getframe(1), 0
        while frame is not None:
            frame, found = frame.f_back, found + 1
        return found

    return below(sys.getrecursionlimit() - depth() - frames)


def state():
    """What an interrupt must leave as it was."""
    return {
        # Without modules, which may be imported meanwhile.
        "names": [id(found) for module in (np, math) for found in vars(module).values() if type(found) is not type(np)],
        "is_recording": is_recording(), "gc threshold": gc.get_threshold(), "gc is enabled": gc.isenabled(),
        "numpy.geterr": np.geterr(), "pending": dict(toolchain.pending), "in callees": dict(toolchain.outermost),
    }  # fmt: skip


class Scenario:
    """Something that users do.

    Args:
        make: gives the object to call, anew each time, with caches of its own.
        act: does it; may raise KeyboardInterrupt.
        check: calls the object again, and asserts that what it answers is right.
    """

    def __init__(self, name, make, act, check):
        self.name, self.make, self.act, self.check = name, make, act, check

    def count(self):
        lines, made = Lines(), self.make()
        lines.run(lambda: self.act(made))
        self.check(made)
        return lines.order

    def interrupt(self, number, error=KeyboardInterrupt):
        """What is wrong after an exception at the `number`-th line; None if nothing is. Gives the line, too."""
        made, lines = self.make(), Lines(number, error)
        met = self._wrong(made, lambda: lines.run(lambda: self.act(made)), error)
        return lines.interrupted, met

    def overflow(self, frames):
        """What is wrong after it was done with room for so many frames; None if nothing is."""
        made = self.make()
        met = self._wrong(made, lambda: with_room(lambda: self.act(made), frames), RecursionError)
        # Where there was no room to fetch it, an exception is kept until the next one takes its place.
        toolchain.pending.clear()
        return met

    def _wrong(self, made, act, error):
        before = state()
        try:
            act()
        except error:
            pass
        except BaseException:  # noqa: BLE001 -- reported
            told = traceback.format_exc()
            # What is no interrupt may be caught, and the cause of something else that is raised.
            if error is KeyboardInterrupt or error.__name__ not in told:
                return f"raised {told}"
        wrong = {key: (value, before[key]) for key, value in state().items() if value != before[key]}
        if error is RecursionError:
            wrong.pop("pending", None)
        if wrong:
            return f"now, before: {wrong}"
        held = held_locks(made)
        if held:
            return f"held: {held}"
        try:
            self.check(made)
        except Exception:  # noqa: BLE001 -- reported
            return f"later: {traceback.format_exc()}"
        return None
