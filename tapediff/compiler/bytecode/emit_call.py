"""Emits the call of the interpreter on one of its programs."""

from __future__ import annotations

from typing import Any

from .translate import CONSTANT, WORKSPACE, Translation


def emit_interpreted(owner: Any, translation: Translation) -> None:
    """Call the handler of the first run; `owner` is the Emitter of the kernel. The kernel keeps the words."""
    code, number = owner.code, owner.fresh()
    words = translation.linked()
    owner.runs.append(words)
    # The text has a symbol in place of this process's address, so that its code may be kept on disk.
    symbol = f"tapediff_runs_{len(owner.runs)}"
    owner.addresses[symbol] = words.ctypes.data
    code.declare(f"@{symbol} = external global i64")
    owner.slots.append(f"%bases{number} = alloca [{max(len(translation.bases), 1)} x ptr]")
    for k, storage in enumerate(translation.bases):
        base = {WORKSPACE: "%workspace", CONSTANT: "%constant"}.get(storage) or owner.base(storage)
        code.line(f"store ptr {base}, ptr {code.emit(f'getelementptr ptr, ptr %bases{number}, i64 {k}')}")
    slots = code.emit(f"getelementptr i8, ptr %workspace, i64 {owner.program.slots_at}")
    handler = code.emit(f"load ptr, ptr @{symbol}")
    status = code.emit(f"call i32 {handler}(ptr @{symbol}, ptr {slots}, ptr {slots}, ptr %bases{number}, ptr %report)")
    for item in translation.checks:
        # What an array was is reported by the kernel, which knows where it is.
        owner.leave_if(code.emit(f"icmp eq i32 {status}, {item.ordinal + 1}"), item.ordinal + 1, item)
    owner.leave_if(code.emit(f"icmp ne i32 {status}, 0"), status)
