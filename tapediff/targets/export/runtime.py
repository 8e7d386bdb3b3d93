"""The runtime of exported kernels, without a process of Python: no signals, no memory between calls, no new paths."""

from __future__ import annotations

import math
import re

from ...compiler.llvm.builder import VOID, Function, included, module_text
from ...compiler.llvm.c_library import ALIGNED_ALLOC, FREE
from ...compiler.llvm.memory import Array, Location
from ...compiler.llvm.values import I32, I64, PTR, Code, Value, convert, select
from ...compiler.math.gamma_functions import digamma
from ...compiler.math.simd import call_scalar, rint
from ...compiler.runtime.call_frame import CALL_FRAME
from ...compiler.runtime.status import FAILURE, OUT_OF_MEMORY, PENDING, RECURSION

# Statuses of the C functions; a path that was not recorded is NEW_PATH, or this minus the number of the guard that failed, from 1 on.
NOT_POSITIVE_DEFINITE, NO_MEMORY, TOO_DEEP, TOO_LONG, NEW_PATH = 2, -3, -6, -7, -100

# In `tapediff_left_with`, beside statuses of kernels.
_LOOP_TOO_LONG, _UNKNOWN = -7, 1


def without_kept_workspaces() -> list[str]:
    """The functions of compiler.runtime.workspaces that allocate at each call."""
    acquire = Function("tapediff_acquire", PTR, "noinline nounwind", state=PTR, size=I64)
    acquire.return_(acquire.call(ALIGNED_ALLOC, 64, acquire.parameters[1]))
    release = Function("tapediff_release", VOID, "noinline nounwind", state=PTR, workspace=PTR)
    release.call(FREE, release.parameters[1])
    release.return_()
    return [*included(acquire), *included(release)]


def _left_with(f: Function) -> Location:
    """Why this thread's loop or function ended; read right after the call."""
    return Location(Value(f, "@tapediff_left_with", PTR, 1), I32)


def _pause() -> Function:
    """The end of the loop: nothing else is looked for. See compiler.runtime.signal_checks."""
    f = Function("tapediff_pause", I64, clock=PTR, iteration=I64, end=I64)
    f.return_(f.parameters[2])
    return f


def _loop_too_long() -> Function:
    f = Function("tapediff_loop_too_long", I64, number=I64, steps=I64)
    _left_with(f).value = _LOOP_TOO_LONG
    f.return_(0)
    return f


def _ask() -> Function:
    """The callback of dispatch loops: the next path in the list, until all have been tried in this iteration."""
    f = Function("tapediff_ask", I64, list=I64, frame=PTR, variant=PTR, status=I32, outcome=I64)
    list_, pointer, variant, status, _ = f.parameters
    frame, words = CALL_FRAME.at(pointer), Array(convert("inttoptr", list_, PTR), I64)
    with f.if_((status < 0) | (status >= FAILURE)):
        _left_with(f).value = status
        f.return_(0)
    count, paths = words[0], Array(words.address(1), PTR)
    tried = select(frame["asked_at"] == frame["iteration"], frame["asked_status"], 0) + 1
    frame["asked_at"], frame["asked_status"] = frame["iteration"], tried
    with f.if_(tried >= count):
        _left_with(f).value = _UNKNOWN
        f.return_(0)
    k, found = f.variable(I64, 0), f.variable(PTR, variant)
    with f.loop(0, count) as j, f.if_(paths[j] == variant):
        k.value = j
    with f.repeat() as search:
        k.value = (k.value + 1).remainder(count)
        found.value = paths[k.value]
        search.leave_if(~found.value.is_null())
    f.return_(convert("ptrtoint", found.value, I64))
    return f


def _code() -> Function:
    """The status of a C function for that of a kernel."""
    f = Function("tapediff_code", I32, status=I32)
    given = f.parameters[0]
    with f.if_((given > 0) & (given < FAILURE)):
        f.return_(convert("trunc", NEW_PATH - convert("sext", given, I64), I32))
    status = f.variable(I32, given)
    with f.if_(given == PENDING):
        status.value = _left_with(f).value
    for known, code in ((0, 0), (_UNKNOWN, NEW_PATH), (OUT_OF_MEMORY, NO_MEMORY), (RECURSION, TOO_DEEP), (_LOOP_TOO_LONG, TOO_LONG)):
        with f.if_(status.value == known):
            f.return_(code)
    with f.if_(status.value >= FAILURE):
        f.return_(NOT_POSITIVE_DEFINITE)
    f.return_(NEW_PATH)
    return f


# SciPy's functions that every C library has, too, with other last bits; the sign of the gamma function goes to a place of the caller's.
_OF_C = {"gamma": "tgamma", "gammaln": "lgamma_r"}
_OF_ONE_NAME = re.compile("[jy][01]")


def of_c_library(symbol: str) -> str | None:
    """The text that defines a special function by those of the C library; None if there is none."""
    if symbol == _DIGAMMA:
        return _digamma()
    routine = symbol.removeprefix("tapediff_special_")
    name = routine if _OF_ONE_NAME.fullmatch(routine) else _OF_C.get(routine)
    if name is None:
        return None
    more = ("ptr %sign", "ptr") if name == "lgamma_r" else ("", "")
    return (
        f"declare double @{name}(double{', ' * bool(more[1])}{more[1]})\n"
        f"define double @{symbol}(double %x, i32 %ignored) nounwind {{\n%sign = alloca i32\n"
        f"%y = call double @{name}(double %x{', ' * bool(more[0])}{more[0]})\nret double %y\n}}"
    )


_DIGAMMA = "tapediff_special_psi"


def _digamma() -> str:
    """Digamma below 0, by reflection. Kernels compute it above themselves."""
    code = Code("entry")
    x = Value(code, "%x", "f64", 1)
    part = x - rint(x)
    reflected = digamma(1.0 - x) - math.pi / call_scalar("tan", math.pi * part)
    made = select(part.eq(0.0), math.nan, reflected)
    declared = [text for text in code.declarations if f"@{_DIGAMMA}(" not in text]
    head = f"define double @{_DIGAMMA}(double %x, i32 %ignored) nounwind {{"
    return "\n".join([*declared, head, "entry:", *code.lines, f"ret double {made.ref}", "}"])


def runtime() -> list[str]:
    """The texts of these functions and of what they share."""
    shared = "@tapediff_left_with = thread_local global i32 0\n@tapediff_limit = constant i64 0"
    declared = "@tapediff_left_with = external thread_local global i32\n"
    return [shared, *(declared + module_text(function()) for function in (_pause, _loop_too_long, _ask, _code))]
