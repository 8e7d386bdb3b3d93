"""The report of a failure among the guards of all iterations of a loop: which one failed first, and its outcome."""

from __future__ import annotations

from ..llvm.values import MEMORY_TYPES
from ..loop_ir.program import Exit
from .kernel_function import KernelFunction

# The first entry in which two arrays differ, given that one exists; NaN equals NaN.
_FIRST_DIFFERENCE = """define internal i64 @tapediff_first_difference_{kind}(ptr %met, ptr %recorded) noinline nounwind {{
entry:
br label %turn
turn:
%k = phi i64 [ 0, %entry ], [ %next, %turn ]
%next = add i64 %k, 1
%met_slot = getelementptr {memory}, ptr %met, i64 %k
%recorded_slot = getelementptr {memory}, ptr %recorded, i64 %k
%a = load {memory}, ptr %met_slot
%b = load {memory}, ptr %recorded_slot
{differs}
br i1 %differs, label %found, label %turn
found:
ret i64 %k
}}"""

_DIFFERS = {
    "i1": "%differs = icmp ne i8 %a, %b",
    "f64": "%unequal = fcmp une double %a, %b\n%a_is = fcmp ord double %a, %a\n%b_is = fcmp ord double %b, %b\n"
    "%some = or i1 %a_is, %b_is\n%differs = and i1 %unequal, %some",
}


def report_each(owner: KernelFunction, item: Exit) -> str:
    """Emit the search for the guard that failed first; return the status, a run-time value."""
    code = owner.code
    kind = owner.storages[item.report[0]].kind
    memory = MEMORY_TYPES[kind]
    code.declare(_FIRST_DIFFERENCE.format(kind=kind, memory=memory, differs=_DIFFERS[kind]))
    met = owner.base(item.report[0])
    place = code.emit(f"call i64 @tapediff_first_difference_{kind}(ptr {met}, ptr {owner.base(item.pattern)})")
    entry = code.emit(f"load {memory}, ptr {code.emit(f'getelementptr {memory}, ptr {met}, i64 {place}')}")
    outcome = entry if kind == "f64" else code.emit(f"uitofp i8 {entry} to double")
    room = code.emit("getelementptr i8, ptr %report, i64 8")
    code.line(f"store double {outcome}, ptr {room}")
    # The status is a guard's ordinal plus 1.
    return code.emit(f"add i32 {code.emit(f'trunc i64 {place} to i32')}, {item.ordinal + 1}")
