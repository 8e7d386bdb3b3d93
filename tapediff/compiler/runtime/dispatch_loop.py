"""The native dispatch loops: run a loop on a frame, changing from variant to variant, and ask Python where no variant is known.

    i32 run_decided(ptr table, ptr frame)     the variants' guards decide which one runs
    i32 run_chosen(ptr table, ptr frame)      the frame has the number of the variant for each iteration

    table    ::= current variant, variants, id, callback           variants ::= count (variant or null)*
    variant  ::= function, state, number, jumps                    jumps    ::= count (status, outcome, variant)*

They return 0, or PENDING when Python has raised an exception. Lists of variants and jumps are replaced as a whole and never
freed while a dispatch loop may read them, so reading needs no lock.
"""

from __future__ import annotations

from typing import Any

from ...base.fork_locks import new_lock
from ...base.held_locks import holding
from ...base.operating_system import stack_bytes
from ..jit.native_function import NativeFunction
from .call_frame import END, ITERATION, NUMBERS, STACK, STEP, STOPPED
from .status import FAILURE, NAMED, PENDING, RECURSION

CURRENT, VARIANTS, ID, CALLBACK = range(4)
DISPATCH_TABLE_WORDS = 4
FUNCTION, STATE, NUMBER, JUMPS = range(4)

# What the callback answers instead of a variant: an exception is pending; it did the iteration; and the loop stops.
RAISED, DONE, DONE_AND_STOPS = 0, 2, 3

_lock = new_lock()
_dispatch_loops: dict[str, NativeFunction] = {}


def dispatch_loop_address(name: str) -> int:
    """The address of a dispatch loop, which is linked when first needed and never freed."""
    known = _dispatch_loops.get(name)
    if known is None:
        known = _linked(name)
    return known.address


@holding(_lock)
def _linked(name: str) -> NativeFunction:
    known = _dispatch_loops.get(name)
    if known is None:
        symbol = f"tapediff_{name}"
        known = _dispatch_loops[name] = NativeFunction(_TEXTS[name](symbol), symbol, set(), is_portable=True)
    return known


def _stack_limit() -> int:
    """How many bytes calls of callees may take on a thread's stack: half of it."""
    return min(stack_bytes() // 2, 1 << 28)


def _slot(name: str, of: str, word: int) -> str:
    return f"%{name} = getelementptr i64, ptr %{of}, i64 {word}"


def _prologue() -> str:
    """What both dispatch loops begin with: nothing to do, or too deep a recursion. %report is theirs."""
    return f"""entry:
%report = alloca [2 x i64], align 16
store i64 0, ptr %report
{_slot("outcome_slot", "report", 1)}
store i64 0, ptr %outcome_slot
{_slot("t_slot", "frame", ITERATION)}
{_slot("end_slot", "frame", END)}
{_slot("stopped_slot", "frame", STOPPED)}
{_slot("numbers_slot", "frame", NUMBERS)}
{_slot("step_slot", "frame", STEP)}
{_slot("id_slot", "table", ID)}
{_slot("callback_slot", "table", CALLBACK)}
{_slot("outermost_slot", "frame", STACK)}
%first = load i64, ptr %t_slot
%end = load i64, ptr %end_slot
%numbers = load ptr, ptr %numbers_slot
%step = load i64, ptr %step_slot
%some = icmp slt i64 %first, %end
br i1 %some, label %look_at_stack, label %finished
look_at_stack:
%outermost_given = load i64, ptr %outermost_slot
%here = ptrtoint ptr %report to i64
%is_outermost = icmp eq i64 %outermost_given, 0
%outermost = select i1 %is_outermost, i64 %here, i64 %outermost_given
store i64 %outermost, ptr %outermost_slot
%used = sub i64 %outermost, %here
%too_deep = icmp sgt i64 %used, {_stack_limit()}
br i1 %too_deep, label %deep, label %start, !prof !0
finished:
ret i32 0
deep:
%id_of_deep = load i64, ptr %id_slot
%callback_of_deep = load ptr, ptr %callback_slot
call i64 %callback_of_deep(i64 %id_of_deep, ptr %frame, ptr null, i32 {RECURSION}, i64 0)
ret i32 {PENDING}"""


def _decided(symbol: str) -> str:
    return f"""define i32 @{symbol}(ptr %table, ptr %frame) nounwind {{
{_prologue()}
start:
{_slot("current_slot", "table", CURRENT)}
%current = load ptr, ptr %current_slot
br label %turn
turn:
%variant = phi ptr [ %current, %start ], [ %found, %jump ], [ %given, %resume ], [ %kept, %done ]
%least = phi i32 [ 0, %start ], [ %status, %jump ], [ %asked, %resume ], [ 0, %done ]
%unknown = icmp eq ptr %variant, null
br i1 %unknown, label %ask, label %run, !prof !0
run:
%before = load i64, ptr %t_slot
%function = load ptr, ptr %variant
{_slot("state_slot", "variant", STATE)}
%state = load ptr, ptr %state_slot
%status = call i32 %function(ptr %frame, ptr %state, ptr %report)
%after = load i64, ptr %t_slot
%wanted = icmp ne ptr %numbers, null
%moved = icmp ne i64 %before, %after
%writes = and i1 %wanted, %moved
br i1 %writes, label %number, label %ran
number:
{_slot("number_slot", "variant", NUMBER)}
%own = load i64, ptr %number_slot
br label %write
write:
%k = phi i64 [ %before, %number ], [ %k_next, %write ]
%k_place = mul i64 %k, %step
%k_slot = getelementptr i64, ptr %numbers, i64 %k_place
store i64 %own, ptr %k_slot
%k_next = add i64 %k, 1
%more_numbers = icmp slt i64 %k_next, %after
br i1 %more_numbers, label %write, label %ran
ran:
%ok = icmp eq i32 %status, 0
br i1 %ok, label %success, label %failed
success:
store ptr %variant, ptr %current_slot
ret i32 0
failed:
%at_guard = icmp ult i32 %status, {FAILURE}
br i1 %at_guard, label %guard, label %fault
fault:
%raised_below = icmp eq i32 %status, {PENDING}
br i1 %raised_below, label %raised, label %ask
guard:
; At the same iteration only later guards may send it on, so that it cannot run in circles.
%least_here = select i1 %moved, i32 0, i32 %least
%later = icmp sgt i32 %status, %least_here
%outcome = load i64, ptr %outcome_slot
br i1 %later, label %search, label %ask
search:
{_slot("jumps_slot", "variant", JUMPS)}
%jumps = load ptr, ptr %jumps_slot
%count = load i64, ptr %jumps
%entries = mul i64 %count, 3
br label %entry_of
entry_of:
%j = phi i64 [ 0, %search ], [ %j_next, %other ]
%left = icmp slt i64 %j, %entries
br i1 %left, label %compare, label %ask
compare:
%j_slot = getelementptr i64, ptr %jumps, i64 %j
%j_status_slot = getelementptr i64, ptr %j_slot, i64 1
%j_status = load i64, ptr %j_status_slot
%j_outcome_slot = getelementptr i64, ptr %j_slot, i64 2
%j_outcome = load i64, ptr %j_outcome_slot
%wide = zext i32 %status to i64
%same_status = icmp eq i64 %j_status, %wide
%same_outcome = icmp eq i64 %j_outcome, %outcome
%same = and i1 %same_status, %same_outcome
br i1 %same, label %jump, label %other
other:
%j_next = add i64 %j, 3
br label %entry_of
jump:
%j_variant_slot = getelementptr i64, ptr %j_slot, i64 3
%found = load ptr, ptr %j_variant_slot
store ptr %found, ptr %current_slot
br label %turn
ask:
%asked = phi i32 [ 0, %turn ], [ %status, %fault ], [ %status, %guard ], [ %status, %entry_of ]
%asker = phi ptr [ null, %turn ], [ %variant, %fault ], [ %variant, %guard ], [ %variant, %entry_of ]
{_asked("%asker", "%asked")}
resume:
%given = inttoptr i64 %answer to ptr
{_slot("current_slot_again", "table", CURRENT)}
store ptr %given, ptr %current_slot_again
br label %turn
done:
%kept_slot = getelementptr i64, ptr %table, i64 {CURRENT}
%kept = load ptr, ptr %kept_slot
br label %turn
}}
!0 = !{{!"branch_weights", i32 1, i32 1000}}"""


def _asked(variant: str, status: str) -> str:
    """Ask Python; continues at %resume with the variant that it names, or at %done with the next iteration."""
    return f"""%met = load i64, ptr %outcome_slot
%id = load i64, ptr %id_slot
%callback = load ptr, ptr %callback_slot
%answer = call i64 %callback(i64 %id, ptr %frame, ptr {variant}, i32 {status}, i64 %met)
switch i64 %answer, label %resume [ i64 {RAISED}, label %raised i64 {DONE}, label %onward i64 {DONE_AND_STOPS}, label %stop ]
raised:
ret i32 {PENDING}
onward:
%did = load i64, ptr %t_slot
%next = add i64 %did, 1
store i64 %next, ptr %t_slot
%goes_on = icmp slt i64 %next, %end
br i1 %goes_on, label %done, label %last
last:
ret i32 0
stop:
%did_last = load i64, ptr %t_slot
%beyond = add i64 %did_last, 1
store i64 %beyond, ptr %t_slot
store i64 1, ptr %stopped_slot
ret i32 0"""


def _chosen(symbol: str) -> str:
    return f"""define i32 @{symbol}(ptr %table, ptr %frame) nounwind {{
{_prologue()}
start:
br label %turn
turn:
%t = phi i64 [ %first, %start ], [ %until, %ran ], [ %t, %resume ], [ %next, %done ]
%given = phi ptr [ null, %start ], [ null, %ran ], [ %named, %resume ], [ null, %done ]
%place = mul i64 %t, %step
%number_slot = getelementptr i64, ptr %numbers, i64 %place
%number = load i64, ptr %number_slot
br label %same
same:
%until_before = phi i64 [ %t, %turn ], [ %until, %next_number ]
%until = add i64 %until_before, 1
%in_loop = icmp slt i64 %until, %end
br i1 %in_loop, label %next_number, label %pick
next_number:
%other_place = mul i64 %until, %step
%other_slot = getelementptr i64, ptr %numbers, i64 %other_place
%other = load i64, ptr %other_slot
%goes_with = icmp eq i64 %other, %number
br i1 %goes_with, label %same, label %pick
pick:
%is_given = icmp ne ptr %given, null
br i1 %is_given, label %run, label %look_up
look_up:
{_slot("variants_slot", "table", VARIANTS)}
%variants = load ptr, ptr %variants_slot
%count = load i64, ptr %variants
%listed = icmp ult i64 %number, %count
br i1 %listed, label %take, label %ask
take:
%position = add i64 %number, 1
%entry_slot = getelementptr i64, ptr %variants, i64 %position
%taken = load ptr, ptr %entry_slot
%missing = icmp eq ptr %taken, null
br i1 %missing, label %ask, label %run
run:
%variant = phi ptr [ %given, %pick ], [ %taken, %take ]
%function = load ptr, ptr %variant
{_slot("state_slot", "variant", STATE)}
%state = load ptr, ptr %state_slot
store i64 %until, ptr %end_slot
%status = call i32 %function(ptr %frame, ptr %state, ptr %report)
store i64 %end, ptr %end_slot
%ok = icmp eq i32 %status, 0
br i1 %ok, label %ran, label %failed
ran:
%more = icmp slt i64 %until, %end
br i1 %more, label %turn, label %finished_all
finished_all:
ret i32 0
failed:
%raised_below = icmp eq i32 %status, {PENDING}
br i1 %raised_below, label %raised, label %ask
ask:
%asked = phi i32 [ {NAMED}, %look_up ], [ {NAMED}, %take ], [ %status, %failed ]
%asker = phi ptr [ null, %look_up ], [ null, %take ], [ %variant, %failed ]
{_asked("%asker", "%asked")}
resume:
%named = inttoptr i64 %answer to ptr
br label %turn
done:
br label %turn
}}
!0 = !{{!"branch_weights", i32 1, i32 1000}}"""


_TEXTS: dict[str, Any] = {"run_decided": _decided, "run_chosen": _chosen}
