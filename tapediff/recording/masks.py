"""Checks in code that is recorded although the program may not reach it: they count only where it does."""

from __future__ import annotations

from collections.abc import Callable

from ..base.current_recording import current_recorder
from ..ir.instruction import Operand, is_tracked
from ..ops.elementwise.comparison import LOGICAL_AND, LOGICAL_NOT
from .arrays.numbers import logical


class Mask:
    """When the code that is being recorded is reached by the program: on one side of a test, which is reached itself.

    Args:
        outer: when the test is; None where it always is.
        side: for which outcome of the test.
    """

    __slots__ = ("_found", "outer", "side", "test")

    def __init__(self, outer: Mask | None, test: Operand, side: bool) -> None:
        self.outer, self.test, self.side = outer, test, side
        self._found: Operand = None

    def condition(self) -> Operand:
        """A bool, tracked or plain; recorded where it is asked for first."""
        if self._found is None:
            mine: Operand = self.test if self.side else logical(LOGICAL_NOT, self.test) if is_tracked(self.test) else not self.test
            self._found = both(self.outer.condition(), mine) if self.outer is not None else mine
        return self._found


def both(a: Operand, b: Operand) -> Operand:
    """Whether two conditions hold."""
    if is_tracked(a) and is_tracked(b):
        return logical(LOGICAL_AND, a, b)
    return (b if a else False) if not is_tracked(a) else (a if b else False)


def holds(*tests: Callable[[], Operand]) -> bool:
    """Whether all conditions hold, by guards; where the program may not reach this, by one that asks whether it does, too."""
    recorder = current_recorder()
    if recorder is None or recorder.mask is None:
        return all(test() for test in tests)
    found = recorder.mask.condition()
    for test in tests:
        if not is_tracked(found) and not found:
            return False
        found = both(found, test())
    before = recorder.guard_count
    is_so = bool(found)
    recorder.masked_guards += recorder.guard_count - before
    return is_so


def raise_where(error: Callable[[], Exception], *tests: Callable[[], Operand]) -> None:
    """Raise an error where all conditions hold: by guards, unless the recording has another way."""
    recorder = current_recorder()
    if recorder is None or recorder.raise_where is None:
        if holds(*tests):
            raise error()
        return
    found: Operand = True
    for test in tests:
        if found is False:
            return
        mine = test()
        found = both(found, mine if is_tracked(mine) else bool(mine))
    recorder.raise_where(found, error)


def enter(test: Operand, side: bool = True) -> Operand:
    """What is recorded from here is reached on one side of a test; the test."""
    recorder = current_recorder()
    recorder.mask = Mask(recorder.mask, test, side)
    return test


def turn(value: Operand = None) -> Operand:
    """What is recorded from here is reached on the other side of the last test; the value."""
    recorder = current_recorder()
    mask = recorder.mask
    recorder.mask = Mask(mask.outer, mask.test, not mask.side)
    return value


def leave(value: Operand = None, count: int = 1) -> Operand:
    """What is recorded from here is reached as before so many tests; the value."""
    recorder = current_recorder()
    for _ in range(count):
        recorder.mask = recorder.mask.outer
    return value
