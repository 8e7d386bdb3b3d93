"""Limits of nested sides: in a data-dependent recursion, each continuing side branches again."""

from __future__ import annotations

import sys
from collections import Counter

from ...base.source_location import user_site
from ..anything import Object
from ..translate import is_function
from .values import Restart, Unjoinable, state

# Maximum depth of recursion on a side, and number of times it may be met before only one path is recorded.
MOST_DEEP = 48
MOST_TIMES = 8
# Interval of nesting at which it is checked.
_EVERY = 16


# Numbers of sides, and of all instructions, beyond which only one path is recorded, after 5 to 20 s: long loops have many small sides;
# lists whose lengths double make each larger.
LIMITS = (20_000, 0), (4_000, 60_000)
# Maximum number of instructions on sides.
MOST_INSTRUCTIONS = 100_000
# Of a recording for many sizes: beyond, one for each size takes less time.
MOST_OF_SIZES, GUARDS_OF_SIZES = 20_000, 32
_ONCE = "record the repeated part once: td.subtape, td.scan, or a loop of more iterations"


class TooDeep(Restart):
    """Too many paths: only this point's path is recorded."""


def check_instructions(count: int) -> None:
    """Count instructions recorded on sides; give up if there are too many."""
    state.on_sides += count
    most = MOST_OF_SIZES if is_of_sizes() else _of_long_loops(MOST_INSTRUCTIONS)
    if state.on_sides > most:
        raise TooDeep(f"more than {most:,} instructions are recorded on sides of branches", _ONCE, user_site())


def is_of_sizes() -> bool:
    """True in a recording for many sizes, its loops included."""
    return state.recorder is not None and state.recorder.is_of_sizes


def check_guards(recorder: Object) -> None:
    """Give up a recording for many sizes if it gets many guards."""
    if recorder.is_of_sizes and recorder.guard_count > GUARDS_OF_SIZES:
        raise TooDeep(f"there are more than {GUARDS_OF_SIZES} guards", "", user_site())


def check_sides() -> None:
    """Give up after too many sides, as nested branches can grow exponentially."""
    count = 0 if state.recorder is None else len(state.recorder.instructions)
    for sides, instructions in LIMITS:
        sides, instructions = _of_long_loops(sides), _of_long_loops(instructions)
        if state.sides > sides and count >= instructions:
            also = f", and {instructions:,} instructions recorded" if instructions else ""
            raise TooDeep(f"more than {sides:,} sides of branches are run{also}", _ONCE, user_site())


def _of_long_loops(limit: int) -> int:
    """A limit, ten times as high where long loops are recorded iteration by iteration, and one path is of no use."""
    return 10 * limit if state.recorder is not None and state.recorder.unrolls else limit


def check_recursion() -> None:
    """Refuse a side in too deep a recursion."""
    if len(state.path) < MOST_DEEP or len(state.path) % _EVERY:
        return
    frame, counts = sys._getframe(1), Counter[object]()
    while frame is not None:
        if is_function(frame.f_code):
            counts[frame.f_code] += 1
        frame = frame.f_back
    if max(counts.values(), default=0) > MOST_DEEP:
        state.recursions += 1
        raise (TooDeep if state.recursions > MOST_TIMES else Unjoinable)(*_REASON, user_site())


_REASON = f"a function calls itself more than {MOST_DEEP} times on a data-dependent path", "write a loop, or limit the depth"
