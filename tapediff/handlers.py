"""Which line of user code would catch an exception raised now: read from the exception tables of the code that is running.

A tape holds what Python did; whether an exception is caught decides what it does, and leaves no instruction behind.
"""

from __future__ import annotations

import contextlib
import dis
import sys
import warnings
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

import numpy as np

from .sites import Site, is_library_file

# Context managers that let every exception pass.
_PASSING = (np.errstate, np.printoptions, warnings.catch_warnings, contextlib.nullcontext, contextlib.closing,
            contextlib.redirect_stdout, contextlib.redirect_stderr)  # fmt: skip

# What stands where the value of an expression is not known.
_UNKNOWN = object()

_VARIABLES = ("LOAD_NAME", "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_GLOBAL")
_NOTHING = ("CACHE", "NOP", "EXTENDED_ARG", "PUSH_NULL")


def handler_of(kind: type[BaseException], outermost: int = 0, *, managers: bool = True) -> Site | None:
    """The innermost handler, among the user's frames that are running, that may catch an exception of this kind.

    Args:
        outermost: id of the frame at which to stop looking; 0 for none.
        managers: whether a context manager of which nothing is known counts.

    Returns:
        The place of the `except`, or of the `with` whose context manager may swallow it; None where nothing catches it.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and id(frame) != outermost:
        code = frame.f_code
        if code.co_exceptiontable and not is_library_file(code.co_filename):
            for target in _targets(code, frame.f_lasti):
                if _catches(frame, target, kind, managers):
                    return Site(code, target + 2)  # behind PUSH_EXC_INFO, which has no line
        frame = frame.f_back
    return None


@lru_cache(maxsize=256)
def _targets(code: CodeType, lasti: int) -> tuple[int, ...]:
    """The handlers around an instruction, innermost first: each stands within the next one."""
    found: list[int] = []
    place = lasti
    while True:
        target = next((t for start, stop, t in _table(code) if start <= place < stop), None)
        if target is None or target in found:
            return tuple(found)
        found.append(target)
        place = target


@lru_cache(maxsize=64)
def _table(code: CodeType) -> tuple[tuple[int, int, int], ...]:
    """Start, end and handler of each stretch of code that has one. The format: Objects/exception_handling_notes.txt of CPython."""
    numbers: list[int] = []
    number = 0
    for byte in code.co_exceptiontable:
        number = number << 6 | byte & 63
        if not byte & 64:
            numbers.append(number)
            number = 0
    entries = [numbers[k : k + 4] for k in range(0, len(numbers), 4)]
    return tuple((2 * start, 2 * (start + length), 2 * target) for start, length, target, _ in entries)


@lru_cache(maxsize=64)
def _instructions(code: CodeType) -> tuple[list[dis.Instruction], dict[int, int]]:
    """The instructions of code, and where among them each offset is."""
    instructions = [i for i in dis.get_instructions(code) if i.opname not in _NOTHING]
    return instructions, {i.offset: k for k, i in enumerate(instructions)}


def _at(places: dict[int, int], offset: int) -> int:
    """The first instruction at an offset or behind it."""
    return min((k for o, k in places.items() if o >= offset), default=len(places))


def _catches(frame: FrameType, target: int, kind: type[BaseException], managers: bool) -> bool:
    """Whether a handler may end an exception; True where that cannot be told."""
    instructions, places = _instructions(frame.f_code)
    k = _at(places, target)
    if instructions[k].opname != "PUSH_EXC_INFO":
        return False  # code of the compiler's own, that tidies up and raises again
    following = instructions[k + 1].opname
    if following == "WITH_EXCEPT_START":
        manager = _manager(frame, target)
        return manager is contextlib.suppress or (managers and manager not in _PASSING)
    if following == "POP_TOP":
        return True  # a bare `except:`
    k += 1
    stack: list[Any] = []
    while k < len(instructions):
        name, value = instructions[k].opname, instructions[k].argval
        if name == "CHECK_EXC_MATCH":
            if _matches(kind, stack.pop() if stack else _UNKNOWN):
                return True
            k = _at(places, instructions[k + 1].argval)  # of the jump to the next clause
            continue
        if name == "RERAISE":
            return False
        if not _load(frame, name, value, stack):
            return not _raises_again(instructions, k)
        k += 1
    return True


def _matches(kind: type[BaseException], caught: Any) -> bool:
    if caught is _UNKNOWN:
        return True
    try:
        return issubclass(kind, caught)
    except TypeError:
        return True


def _raises_again(instructions: list[dis.Instruction], k: int) -> bool:
    """Whether straight code, as of a `finally`, ends in raising again."""
    for instruction in instructions[k:]:
        name = instruction.opname
        if name == "RERAISE":
            return True
        if (
            "JUMP" in name
            or "RETURN" in name
            or "YIELD" in name
            or name in ("FOR_ITER", "CHECK_EG_MATCH", "POP_EXCEPT")
        ):
            return False
    return False


def _load(frame: FrameType, name: str, value: Any, stack: list[Any]) -> bool:
    """Do what an instruction does that loads a name, an attribute or a tuple; False for any other."""
    if name in _VARIABLES:
        stack.append(_variable(frame, value))
    elif name in ("LOAD_ATTR", "LOAD_METHOD"):
        owner = stack.pop() if stack else _UNKNOWN
        # Of modules and classes alone, whose attributes are looked up without running user code.
        stack.append(vars(owner).get(value, _UNKNOWN) if isinstance(owner, (type(dis), type)) else _UNKNOWN)
    elif name == "BUILD_TUPLE":
        if len(stack) < value:
            return False
        parts = [stack.pop() for _ in range(value)]
        stack.append(_UNKNOWN if any(p is _UNKNOWN for p in parts) else tuple(parts))
    else:
        return False
    return True


def _variable(frame: FrameType, name: str) -> Any:
    for names in (frame.f_locals, frame.f_globals, frame.f_builtins):
        if name in names:
            return names[name]
    return _UNKNOWN


def _manager(frame: FrameType, target: int) -> Any:
    """What was called to make the context manager of the `with` statement that a handler belongs to."""
    instructions, places = _instructions(frame.f_code)
    body = min(start for start, _, t in _table(frame.f_code) if t == target)
    enter = _at(places, body) - 1
    where = instructions[enter].positions
    if where is None or where.lineno is None:
        return _UNKNOWN
    # The instructions of the expression stand before, with places inside it.
    begin = enter
    while begin > 0 and _is_within(instructions[begin - 1].positions, where):
        begin -= 1
    stack: list[Any] = []
    for instruction in instructions[begin:enter]:
        if not _load(frame, instruction.opname, instruction.argval, stack):
            break
    return stack[0] if stack else _UNKNOWN


def _is_within(inner: Any, outer: Any) -> bool:
    if inner is None or inner.lineno is None:
        return False
    first, last = (inner.lineno, inner.col_offset), (inner.end_lineno, inner.end_col_offset)
    return first >= (outer.lineno, outer.col_offset) and last <= (outer.end_lineno, outer.end_col_offset)
