"""The name by which a line calls a function: tells a call by Python code from one by compiled code that was called there."""

from __future__ import annotations

import dis
from collections.abc import Callable
from functools import lru_cache
from types import CodeType, FrameType

from .byte_code import IS_KNOWN, names_of

# Begin and end of an instruction's expression in the source.
_Place = tuple[int, int]

_CALLS = names_of("call")
_ATTRIBUTES = names_of("attribute")
_NAMES = names_of("attribute", "global", "local", "cell")
# Instructions whose position is that of the called name.
_BESIDE_NAMES = names_of("nothing", "constant", "beside a call", "stack")

# Python's own functions that call functions given to them, or advance iterators. Names after a dot are functions of modules.
_CALL_OTHERS = frozenset((
    *(f.__name__ for f in (list, tuple, set, dict, map, filter, zip, enumerate, next, sum, max, min, sorted, all, any)),
    *(dot + name for dot in ("", ".") for name in ("starmap", "reduce", "accumulate")),
))  # fmt: skip


def is_called_by(frame: FrameType, function: Callable[..., object], name: str) -> bool:
    """True if a frame's own code now calls a function by this name, or if that is unknown.

    Compiled code has no frames: the functions it calls seem to be called by the enclosing Python code.
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


def called_name(frame: FrameType) -> str:
    """The last part of the name that a frame now calls; "" if it has none, or if that is unknown."""
    return (_called_names(frame.f_code).get(frame.f_lasti) or "").removeprefix(".") if IS_KNOWN else ""


@lru_cache(maxsize=1024)
def _called_names(code: CodeType) -> dict[int, str | None]:
    """Offset of a call -> last part of the called name, with its dot; None if it has no name, or no positions are kept."""
    calls: dict[int, str | None] = {}
    # Begin of a loaded expression -> its end and its name.
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
