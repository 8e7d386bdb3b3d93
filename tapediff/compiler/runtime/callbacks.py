"""Callbacks: C functions that call Python functions. They never lose an exception, nor take it for a result.

An exception may arrive before the first line of a Python function, as Ctrl-C does. A ctypes callback would then return whatever was in
memory. These keep the exception for the thread and return 0, which is not a valid result. They cannot be interrupted, since the function is
the only Python code that runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NoReturn

from ...errors import InvalidTape
from ..jit.shared_function import SharedFunction
from ..jit.toolchain import toolchain
from ..llvm.builder import Function, module_text
from ..llvm.memory import Struct
from ..llvm.values import I32, I64, PTR, Value, convert
from .call_frame import CALL_FRAME
from .python_api import (
    CALL_FUNCTION,
    CLEAR_ERROR,
    DELETE_ITEM,
    ENSURE_LOCK,
    FETCH_ERROR,
    GET_ITEM,
    GIVE_BACK_LOCK,
    HOLD_OBJECT,
    LONG_AS_LONG_LONG,
    LONG_FROM_LONG_LONG,
    LONG_FROM_UNSIGNED,
    NORMALIZE_EXCEPTION,
    RELEASE_OBJECT,
    SET_ITEM,
    SET_TRACEBACK,
    THREAD_IDENT,
)
from .thread_pool import is_of_pool, pool_address


def take_pending() -> BaseException | None:
    """Take the pending exception of this thread, with which native code has returned."""
    return toolchain.pending.pop(threading.get_ident(), None)


def raise_pending() -> NoReturn:
    """Raise the pending exception."""
    raised = take_pending()
    if raised is None:
        raise InvalidTape("native code says that Python has raised an exception, and none is kept")
    raise raised


def outermost() -> int:
    """The start of this thread's stack of callee calls; 0 outside them."""
    return toolchain.outermost.get(threading.get_ident(), 0)


def callback_address(function: Callable[..., int], signature: tuple[str, ...], result: str) -> int:
    """The address of a C function that calls a Python function, which both live as long as the process.

    Args:
        function: takes and returns integers; pointers are passed as integers.
        signature: the C function's parameter types in LLVM; a second parameter of type ptr is a frame.
        result: its type, i32 or i64. It returns 0 if the function raises.
    """
    name = f"tapediff_{function.__name__.strip('_')}"
    # Keep it alive: native code does not.
    held = toolchain.once(("callback", name), lambda: function)
    objects = {"function": held, "pending": toolchain.pending, "outermost": toolchain.outermost}
    addresses = {f"tapediff_object_{key}": id(each) for key, each in objects.items()} | pool_address()
    return SharedFunction(name, lambda: _text(name, signature, result), lambda: addresses).address


# The format characters of PyObject_CallFunction.
_FORMATS = {I64: "L", PTR: "L", I32: "i"}


def _text(name: str, signature: tuple[str, ...], result: str) -> str:
    f = Function(name, result, **{f"a{k}": kind for k, kind in enumerate(signature)})
    lock = f.call(ENSURE_LOCK)
    thread = f.call(LONG_FROM_UNSIGNED, f.call(THREAD_IDENT))
    has_frame = signature[1:2] == (PTR,)
    before = _enter(f, thread, CALL_FRAME.at(f.parameters[1])) if has_frame else None
    # In parentheses a format means a tuple, also of one argument.
    format_ = f.text("tapediff_format", f"({''.join(_FORMATS[kind] for kind in signature)})")
    answer, answered = f.variable(result, 0), f.call(CALL_FUNCTION, f.external("tapediff_object_function"), format_, *f.parameters)
    with f.if_(answered.is_null()):
        _keep_exception(f, thread)
    with f.else_():
        number = f.call(LONG_AS_LONG_LONG, answered)
        answer.value = number if result == I64 else convert("trunc", number, I32)
        f.call(RELEASE_OBJECT, answered)
    if before is not None:
        _leave(f, thread, before)
    f.call(RELEASE_OBJECT, thread)
    f.call(CLEAR_ERROR)
    f.call(GIVE_BACK_LOCK, lock)
    f.return_(answer.value)
    return module_text(f)


def _keep_exception(f: Function, thread: Value) -> None:
    """Keep the exception for this thread, with its traceback. Those of the pool's threads are dropped: the loop is run again instead."""
    type_, raised, traceback = f.variable(PTR), f.variable(PTR), f.variable(PTR)
    addresses = (type_.address, raised.address, traceback.address)
    f.call(FETCH_ERROR, *addresses)
    f.call(NORMALIZE_EXCEPTION, *addresses)
    with f.if_(~traceback.value.is_null()):
        f.call(SET_TRACEBACK, raised.value, traceback.value)
    with f.if_(~is_of_pool(f, f.call(THREAD_IDENT))):
        f.call(SET_ITEM, f.external("tapediff_object_pending"), thread, raised.value)
    for each in (type_, raised, traceback):
        f.call(RELEASE_OBJECT, each.value)


def _enter(f: Function, thread: Value, frame: Struct) -> Value:
    """Let calls that the Python function makes count their depth from the frame's stack. Return the previous start, or null."""
    outermost = f.external("tapediff_object_outermost")
    stack = f.call(LONG_FROM_LONG_LONG, frame["stack"])
    before = f.call(GET_ITEM, outermost, thread)
    f.call(HOLD_OBJECT, before)
    f.call(SET_ITEM, outermost, thread, stack)
    f.call(RELEASE_OBJECT, stack)
    return before


def _leave(f: Function, thread: Value, before: Value) -> None:
    outermost = f.external("tapediff_object_outermost")
    with f.if_(before.is_null()):
        f.call(DELETE_ITEM, outermost, thread)
    with f.else_():
        f.call(SET_ITEM, outermost, thread, before)
        f.call(RELEASE_OBJECT, before)
