"""Errors of functions of numbers that data decide."""

from __future__ import annotations

from collections.abc import Callable

from ..base.current_recording import current_recorder
from ..ir.instruction import Operand, is_tracked
from ..ops.elementwise.comparison import LOGICAL_AND
from .arrays.numbers import logical


def both(a: Operand, b: Operand) -> Operand:
    """Whether two conditions hold."""
    if is_tracked(a) and is_tracked(b):
        return logical(LOGICAL_AND, a, b)
    return (b if a else False) if not is_tracked(a) else (a if b else False)


def holds(*tests: Callable[[], Operand]) -> bool:
    """Whether all conditions hold, by guards."""
    return all(test() for test in tests)


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
