"""By which name a line calls a function: whether Python code calls it there, or compiled code that was called does."""

from __future__ import annotations

import dis
from collections.abc import Callable
from functools import lru_cache
from types import CodeType, FrameType

from .byte_code import IS_KNOWN, names_of

# What the positions of an instruction say: where its expression begins, and where it ends.
_Place = tuple[int, int]

_CALLS = names_of("call")
_ATTRIBUTES = names_of("attribute")
_NAMES = names_of("attribute", "global", "local", "cell")
# What stands where the name does that is called.
_BESIDE_NAMES = names_of("nothing", "constant", "beside a call", "stack")

# Python's own that call functions which they are given, or what makes the items of an iterator. Of the methods, which are behind a dot,
# these are of modules.
_CALL_OTHERS = frozenset((
    *(f.__name__ for f in (list, tuple, set, dict, map, filter, zip, enumerate, next, sum, max, min, sorted, all, any)),
    *(dot + name for dot in ("", ".") for name in ("starmap", "reduce", "accumulate")),
))  # fmt: skip


def is_called_by(frame: FrameType, function: Callable[..., object], name: str) -> bool:
    """Whether a frame's own code calls a function now, that has this name; also where that cannot be told.

    Compiled code has no frames: what it calls seems to be called by the Python code around.
    """
    if not IS_KNOWN:
        return True
    calls = _called_names(frame.f_code)
    if frame.f_lasti not in calls:
        return False
    called = calls[frame.f_lasti]
    if called is None or called.removeprefix(".") == name or called in _CALL_OTHERS:
        return True
    known = frame.f_locals
    return (known[called] if called in known else frame.f_globals.get(called)) is function


@lru_cache(maxsize=1024)
def _called_names(code: CodeType) -> dict[int, str | None]:
    """By offset of a call, the last part of the name of what is called, with its dot; None where it has none, or no positions are kept."""
    calls: dict[int, str | None] = {}
    # By where they begin, what has been loaded: where that ends, and under which name.
    loaded: dict[_Place, list[tuple[_Place, str | None]]] = {}
    for instruction in dis.get_instructions(code):
        position = instruction.positions
        line, column, end_line, end_column = (
            (None,) * 4 if position is None else (position.lineno, position.col_offset, position.end_lineno, position.end_col_offset)
        )
        if line is None or column is None or end_line is None or end_column is None:
            if instruction.opname in _CALLS:
                calls[instruction.offset] = None
            continue
        here = loaded.setdefault((line, column), [])
        end = end_line, end_column
        if instruction.opname in _CALLS:
            calls[instruction.offset] = next((name for at, name in reversed(here) if at < end), None)
            here.clear()
        if instruction.opname in _NAMES and isinstance(instruction.argval, str):
            here.append((end, "." + instruction.argval if instruction.opname in _ATTRIBUTES else instruction.argval))
        elif instruction.opname not in _BESIDE_NAMES:
            here.append((end, None))
    return calls
