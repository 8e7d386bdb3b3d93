"""Callbacks: C functions that call Python functions, of which no exception is ever lost or taken for an answer.

An exception may arrive before the first line of a Python function: Ctrl-C does. What ctypes makes of a function would then return
whatever was in memory. These keep the exception for the thread and return 0, which is no answer. Nothing here can be interrupted,
as no Python runs but the function.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NoReturn

from ...errors import InvalidTape
from ..jit.native_function import NativeFunction
from .call_frame import STACK

# The exceptions that native code is returning with, by thread. Not thread-local storage: Python forgets that of threads that it
# did not start each time they leave it.
_pending: dict[int, BaseException] = {}

# Where the stack of calls of callees begins, of threads that are in such calls.
_outermost: dict[int, int] = {}

_callbacks: dict[str, NativeFunction] = {}


def take_pending() -> BaseException | None:
    """The exception that native code has returned with in this thread; handed out once."""
    return _pending.pop(threading.get_ident(), None)


def raise_pending() -> NoReturn:
    """Raise it."""
    raised = take_pending()
    if raised is None:
        raise InvalidTape("native code says that Python has raised an exception, and none is kept")
    raise raised


def outermost() -> int:
    """Where this thread's stack of calls of callees begins; 0 outside them."""
    return _outermost.get(threading.get_ident(), 0)


def callback_address(function: Callable[..., int], signature: tuple[str, ...], result: str) -> int:
    """The address of a C function that calls a Python function, which both live as long as the process.

    Args:
        function: takes and returns integers; pointers are integers as well.
        signature: of the C function, in LLVM's types; a second parameter of type ptr is a frame.
        result: its type, i32 or i64. It returns 0 where the function raises.
    """
    name = f"tapediff_{function.__name__.strip('_')}"
    known = _callbacks.get(name)
    if known is None:
        objects = {"function": function, "pending": _pending, "outermost": _outermost}
        addresses = {f"tapediff_object_{key}": id(each) for key, each in objects.items()}
        text = _text(name, signature, result)
        # Held first: native code does not.
        _kept.append(function)
        known = _callbacks.setdefault(name, NativeFunction(text, name, set(), addresses=addresses, is_portable=True))
    return known.address


_kept: list[Any] = []

_FORMATS = {"i64": "L", "ptr": "L", "i32": "i"}


def _text(name: str, signature: tuple[str, ...], result: str) -> str:
    parameters = ", ".join(f"{type_} %a{k}" for k, type_ in enumerate(signature))
    letters = "".join(_FORMATS[type_] for type_ in signature)
    # Between the parentheses a format stands for a tuple, also of one argument.
    format_ = f"({letters})\\00"
    given = ", ".join(f"{type_} %a{k}" for k, type_ in enumerate(signature))
    has_frame = signature[1:2] == ("ptr",)
    answer = "%number" if result == "i64" else "%short"
    return f"""declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare ptr @PyObject_CallFunction(ptr, ptr, ...)
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyLong_FromUnsignedLong(i64)
declare i64 @PyThread_get_thread_ident()
declare void @Py_DecRef(ptr)
declare void @Py_IncRef(ptr)
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_NormalizeException(ptr, ptr, ptr)
declare void @PyErr_Clear()
declare i32 @PyException_SetTraceback(ptr, ptr)
declare ptr @PyDict_GetItemWithError(ptr, ptr)
declare i32 @PyDict_SetItem(ptr, ptr, ptr)
declare i32 @PyDict_DelItem(ptr, ptr)
@tapediff_object_function = external global i64
@tapediff_object_pending = external global i64
@tapediff_object_outermost = external global i64
@tapediff_format = internal constant [{len(letters) + 3} x i8] c"{format_}"
define {result} @{name}({parameters}) nounwind {{
entry:
%type = alloca ptr
%value = alloca ptr
%traceback = alloca ptr
%gil = call i32 @PyGILState_Ensure()
%ident = call i64 @PyThread_get_thread_ident()
%thread = call ptr @PyLong_FromUnsignedLong(i64 %ident)
{_ENTER if has_frame else ""}
%object = call ptr (ptr, ptr, ...) @PyObject_CallFunction(ptr @tapediff_object_function, ptr @tapediff_format, {given})
%failed = icmp eq ptr %object, null
br i1 %failed, label %error, label %answered
answered:
%number = call i64 @PyLong_AsLongLong(ptr %object)
%short = trunc i64 %number to i32
call void @Py_DecRef(ptr %object)
br label %leave
error:
call void @PyErr_Fetch(ptr %type, ptr %value, ptr %traceback)
call void @PyErr_NormalizeException(ptr %type, ptr %value, ptr %traceback)
%raised_type = load ptr, ptr %type
%raised = load ptr, ptr %value
%trace = load ptr, ptr %traceback
%has_no_trace = icmp eq ptr %trace, null
br i1 %has_no_trace, label %keep, label %with_trace
with_trace:
%set = call i32 @PyException_SetTraceback(ptr %raised, ptr %trace)
br label %keep
keep:
%kept = call i32 @PyDict_SetItem(ptr @tapediff_object_pending, ptr %thread, ptr %raised)
call void @Py_DecRef(ptr %raised_type)
call void @Py_DecRef(ptr %raised)
call void @Py_DecRef(ptr %trace)
br label %leave
leave:
%told = phi {result} [ {answer}, %answered ], [ 0, %keep ]
{_LEAVE if has_frame else ""}
call void @Py_DecRef(ptr %thread)
call void @PyErr_Clear()
call void @PyGILState_Release(i32 %gil)
ret {result} %told
}}"""


# Calls that the Python function makes count their depth from where the frame does; afterwards from where they did before.
_ENTER = f"""%stack_slot = getelementptr i64, ptr %a1, i64 {STACK}
%stack = load i64, ptr %stack_slot
%stack_object = call ptr @PyLong_FromLongLong(i64 %stack)
%before = call ptr @PyDict_GetItemWithError(ptr @tapediff_object_outermost, ptr %thread)
call void @Py_IncRef(ptr %before)
%entered = call i32 @PyDict_SetItem(ptr @tapediff_object_outermost, ptr %thread, ptr %stack_object)
call void @Py_DecRef(ptr %stack_object)"""

_LEAVE = """%was_outside = icmp eq ptr %before, null
br i1 %was_outside, label %outside, label %inside
outside:
%deleted = call i32 @PyDict_DelItem(ptr @tapediff_object_outermost, ptr %thread)
br label %restored
inside:
%restored_item = call i32 @PyDict_SetItem(ptr @tapediff_object_outermost, ptr %thread, ptr %before)
call void @Py_DecRef(ptr %before)
br label %restored
restored:"""
