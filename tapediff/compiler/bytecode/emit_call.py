"""Emits the call of the interpreter on one of its programs."""

from __future__ import annotations

from typing import Protocol

from ..llvm.values import Code
from ..loop_ir.program import Exit, Program
from .sweeps.program import Sweeps
from .translate import CONSTANT, WORKSPACE, Translation


class KernelWriter(Protocol):
    """The kernel that contains the call: compiler.codegen.emitter.Emitter.

    Attributes:
        runs: programs of the interpreter, which live as long as the kernel.
        addresses: addresses in this process, by the symbols that the text uses for them.
        slots: stack slots, at the start of the function.
    """

    program: Program
    code: Code
    slots: list[str]
    runs: list[object]
    addresses: dict[str, int]

    def fresh(self) -> int: ...
    def base(self, storage: int) -> str: ...
    def leave_if(self, fails: str, status: int | str, item: Exit | None = None) -> None: ...


def emit_interpreted(owner: KernelWriter, translation: Translation | Sweeps) -> None:
    """Call the handler of the first run. The kernel keeps the words."""
    code, number = owner.code, owner.fresh()
    words = translation.linked()
    owner.runs.append((translation, words))
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
        # The kernel, which knows the address of an array, reports it.
        owner.leave_if(code.emit(f"icmp eq i32 {status}, {item.ordinal + 1}"), item.ordinal + 1, item)
    owner.leave_if(code.emit(f"icmp ne i32 {status}, 0"), status)
