"""Finds the line of user code that would catch an exception raised now, from the exception tables of the running code.

Whether an exception is caught decides what Python does, but leaves no instruction on the tape.
"""

from __future__ import annotations

import contextlib
import dis
import sys
import warnings
from functools import lru_cache
from types import CodeType, FrameType, ModuleType

import numpy as np

from ...base.byte_code import ENTER_WITH, IS_KNOWN, names_of
from ...base.source_location import Site, is_library_file
from .object_snapshot import PythonValue

# On an interpreter whose byte code is not known, every function with a handler may catch.
_IS_KNOWN = IS_KNOWN

# Context managers that let every exception pass.
PASSING = (np.errstate, np.printoptions, warnings.catch_warnings, contextlib.nullcontext, contextlib.closing,
            contextlib.redirect_stdout, contextlib.redirect_stderr)  # fmt: skip

# An expression of unknown value, and a `with` whose byte code cannot be read.
_UNKNOWN, _UNREAD = object(), object()

_VARIABLES, _TWO_VARIABLES = names_of("local", "cell", "global"), names_of("two locals")
_ATTRIBUTES, _TUPLES = names_of("attribute"), names_of("tuple")
_NOTHING = names_of("nothing")

# Instructions between a handler's start and a new raise: clean-up after `except ... as`, comprehensions, generators and handlers.
_TIDYING = names_of("stack", "pop", "leave handler", "constant", "store local", "store name", "store global", "store cell",
                    "delete", "delete cell", "intrinsic")  # fmt: skip

_CALLS, _BESIDE_CALLS = names_of("call"), names_of("beside a call", "constant")
_NEXT_CLAUSE = names_of("jump if false")
_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))

# Mappings in which names are looked up without running user code.
_PLAIN_NAMES = (dict, type(sys._getframe().f_locals), (lambda: type(sys._getframe().f_locals))())


def handler_of(kind: type[BaseException], outermost: int = 0, *, managers: bool = True) -> Site | None:
    """The innermost handler, among the user's frames that are running, that may catch an exception of this kind.

    Args:
        outermost: id of the frame at which to stop looking; 0 for none.
        managers: True if unknown context managers count as handlers.

    Returns:
        The place of the `except`, or of the `with` whose context manager may swallow it; None where nothing catches it.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and id(frame) != outermost:
        if not is_library_file(frame.f_code.co_filename):
            place = _handler_in(frame, kind, managers)
            if place is not None:
                return Site(frame.f_code, place)
        frame = frame.f_back
    return None


def _handler_in(frame: FrameType, kind: type[BaseException], managers: bool) -> int | None:
    """The offset in a frame's code of a handler that may catch an exception of this kind."""
    code = frame.f_code
    if not _IS_KNOWN:
        return frame.f_lasti if getattr(code, "co_exceptiontable", True) else None
    if not code.co_exceptiontable:
        return None
    try:
        for target in _targets(code, frame.f_lasti):
            if _catches(frame, target, kind, managers):
                return target + 2  # after PUSH_EXC_INFO, which has no line
    except (LookupError, ValueError, TypeError, AttributeError):  # not code of Python's compiler; it may do anything
        return frame.f_lasti
    return None


@lru_cache(maxsize=256)
def _targets(code: CodeType, lasti: int) -> tuple[int, ...]:
    """The handlers around an instruction, innermost first."""
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
    """Start, end and handler of each guarded range of code. Format: Objects/exception_handling_notes.txt of CPython."""
    numbers: list[int] = []
    number = 0
    for byte in code.co_exceptiontable:
        number = number << 6 | byte & 63
        if not byte & 64:
            numbers.append(number)
            number = 0
    if len(numbers) % 4 or code.co_exceptiontable[-1] & 64:
        raise ValueError("an exception table ends within an entry")
    entries = [numbers[k : k + 4] for k in range(0, len(numbers), 4)]
    return tuple((2 * start, 2 * (start + length), 2 * target) for start, length, target, _ in entries)


@lru_cache(maxsize=64)
def _instructions(code: CodeType) -> tuple[list[dis.Instruction], dict[int, int]]:
    """The instructions of code, and the index among them of each offset."""
    instructions = [i for i in dis.get_instructions(code) if i.opname not in _NOTHING]
    return instructions, {i.offset: k for k, i in enumerate(instructions)}


def _at(places: dict[int, int], offset: int) -> int:
    """The index of the first instruction at or after an offset."""
    return min((k for o, k in places.items() if o >= offset), default=len(places))


def _catches(frame: FrameType, target: int, kind: type[BaseException], managers: bool) -> bool:
    """True if a handler may end an exception, or if that is unknown."""
    instructions, places = _instructions(frame.f_code)
    k = _at(places, target)
    if instructions[k].opname != "PUSH_EXC_INFO":
        return not _tidies_up(instructions, k)
    following = instructions[k + 1].opname
    if following == "WITH_EXCEPT_START":
        manager = _manager(frame, target)
        if manager is contextlib.suppress or manager is _UNREAD:
            return True
        return managers and not any(manager is passing for passing in PASSING)
    if following == "POP_TOP":
        return True  # a bare `except:`
    k += 1
    stack: list[object] = []
    while k < len(instructions):
        name, value = instructions[k].opname, instructions[k].argval
        if name == "CHECK_EXC_MATCH":
            jump = instructions[k + 1]  # to the next clause
            if _matches(kind, stack.pop() if stack else _UNKNOWN) or jump.opname not in _NEXT_CLAUSE:
                return True
            k = _at(places, jump.argval)
            continue
        if name == "RERAISE":
            return False
        if not _load(frame, name, value, stack):
            return not _raises_again(instructions, k)
        k += 1
    return True


def _matches(kind: type[BaseException], caught: object) -> bool:
    """Compare as `except` does: classes by identity, ignoring a metaclass's issubclass."""
    classes = caught if type(caught) is tuple else (caught,)
    return any(not isinstance(each, type) or any(each is base for base in kind.__mro__) for each in classes)


def _tidies_up(instructions: list[dis.Instruction], k: int) -> bool:
    """True if this is the compiler's clean-up code, which raises again."""
    while instructions[k].opname in _TIDYING:
        k += 1
    return instructions[k].opname == "RERAISE"


def _raises_again(instructions: list[dis.Instruction], k: int) -> bool:
    """True if straight-line code, such as a `finally`, ends in raising again."""
    for instruction in instructions[k:]:
        name = instruction.opname
        if name == "RERAISE":
            return True
        if (
            instruction.opcode in _JUMPS
            or "JUMP" in name
            or "RETURN" in name
            or "YIELD" in name
            or name in ("CHECK_EG_MATCH", "POP_EXCEPT", "SEND")
        ):
            return False
    return False


def _load(frame: FrameType, name: str, value: PythonValue, stack: list[object]) -> bool:
    """Execute an instruction that loads a name, an attribute or a tuple; False for any other."""
    if name in _VARIABLES:
        stack.append(_variable(frame, value, is_global=name == "LOAD_GLOBAL"))
    elif name in _TWO_VARIABLES:
        stack += [_variable(frame, each, is_global=False) for each in value]
    elif name in _ATTRIBUTES:
        owner = stack.pop() if stack else _UNKNOWN
        # Only modules and classes: looking up their attributes runs no user code.
        stack.append(vars(owner).get(value, _UNKNOWN) if type(owner) is ModuleType or isinstance(owner, type) else _UNKNOWN)
    elif name in _TUPLES and len(stack) >= value:
        stack[len(stack) - value :] = [tuple(stack[len(stack) - value :])]
    else:
        return False
    return True


def _variable(frame: FrameType, name: str, *, is_global: bool) -> object:
    for names in (frame.f_globals, frame.f_builtins) if is_global else (frame.f_locals, frame.f_globals, frame.f_builtins):
        if type(names) not in _PLAIN_NAMES:
            return _UNKNOWN
        if name in names:
            return names[name]
    return _UNKNOWN


def _manager(frame: FrameType, target: int) -> object:
    """The callable that made the context manager of the `with` statement that a handler belongs to."""
    instructions, places = _instructions(frame.f_code)
    body = min(start for start, _, t in _table(frame.f_code) if t == target)
    before = instructions[: _at(places, body)]
    enters = next((names for names in ENTER_WITH if tuple(i.opname for i in before[-len(names) :]) == names), None)
    if enters is None or len(before) == len(enters):
        return _UNREAD
    # The instructions of the call precede it, at positions inside it; a `with` of several managers has one position for all.
    last = len(before) - len(enters) - 1
    where = instructions[last].positions
    if instructions[last].opname not in _CALLS or where is None or where.lineno is None:
        return _UNKNOWN
    begin = last
    while begin > 0 and _is_within(instructions[begin - 1].positions, where):
        begin -= 1
    return _called(frame, instructions[begin:last], where)


def _called(frame: FrameType, instructions: list[dis.Instruction], where: dis.Positions) -> object:
    """The callable of a call, if it is a name or an attribute of one: only its expression begins where the call does."""
    stack: list[object] = []
    for instruction in instructions:
        place = instruction.positions
        if place is None or (place.lineno, place.col_offset) != (where.lineno, where.col_offset):
            continue
        if stack and instruction.opname in _BESIDE_CALLS:
            continue  # keyword names
        if not _load(frame, instruction.opname, instruction.argval, stack):
            return _UNKNOWN
    return stack[0] if len(stack) == 1 else _UNKNOWN


def _is_within(inner: dis.Positions | None, outer: dis.Positions) -> bool:
    if inner is None or inner.lineno is None:
        return False
    first, last = (inner.lineno, inner.col_offset), (inner.end_lineno, inner.end_col_offset)
    return first >= (outer.lineno, outer.col_offset) and last <= (outer.end_lineno, outer.end_col_offset)
