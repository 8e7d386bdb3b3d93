"""The native dispatch loops: run a loop on a call frame, switch between variants, and ask Python if no variant is known.

    i32 run_decided(ptr table, ptr frame)     the variants' guards decide which one runs
    i32 run_chosen(ptr table, ptr frame)      the frame has the number of the variant for each iteration

    variants ::= count (variant or null)*          jumps ::= count (status, outcome, variant)*

They return 0, or PENDING when Python has raised an exception; a table without a callback has REFUSED for what none of its variants
does. Lists of variants and jumps are replaced as a whole and never freed while a
dispatch loop may read them, so reading needs no lock.
"""

from __future__ import annotations

from ....base.operating_system import stack_bytes
from ...jit.shared_function import SharedFunction
from ...llvm.builder import Function, external, module_text
from ...llvm.memory import Array, Layout, Location, Struct
from ...llvm.values import I32, I64, NULL, PTR, Value, constant, convert, select
from ..call_frame import CALL_FRAME
from ..status import AGAIN, FAILURE, NAMED, PENDING, RECURSION, REFUSED

# `room`: the capacity in iterations of a while loop's dynamic arrays when one last ended; 0 before.
DISPATCH_TABLE = Layout.of_words(current=PTR, variants=PTR, id=I64, callback=PTR, room=I64)
VARIANT = Layout.of_words(function=PTR, state=PTR, number=I64, jumps=PTR)
JUMP = Layout.of_words(status=I64, outcome=I64, variant=PTR)
REPORT = Layout.of_words(room=I64, outcome=I64)
CURRENT, VARIANTS, ID, CALLBACK, ROOM = DISPATCH_TABLE.words()
JUMPS = VARIANT.word("jumps")

DISPATCH = external("tapediff_run_decided", I32, PTR, PTR)
LOOP_KERNEL = external("loop_kernel", I32, PTR, PTR, PTR)
ASK = external("ask", I64, I64, PTR, PTR, I32, I64)

# Results of the callback other than a variant: an exception is pending; it has done the iteration; the same, and the loop stops.
RAISED, DONE, DONE_AND_STOPS = 0, 2, 3


class _DispatchLoop:
    """A dispatch loop that is being written.

    Attributes:
        first, end: the range of iterations.
        numbers: the variant number of each iteration, `step` apart.
    """

    def __init__(self, name: str) -> None:
        self.f = Function(name, I32, table=PTR, frame=PTR)
        table, frame = self.f.parameters
        self.table, self.frame = DISPATCH_TABLE.at(table), CALL_FRAME.at(frame)
        self.report = self.f.struct(REPORT)
        self.report["room"], self.report["outcome"] = 0, 0
        self.first, self.end, self.step = self.frame["iteration"], self.frame["end"], self.frame["step"]
        self.numbers = Array(self.frame["numbers"], I64)
        with self.f.if_(self.first >= self.end):
            self.f.return_(0)
        self._check_stack()

    def _check_stack(self) -> None:
        """Leave a recursion that is too deep. The outermost call tells the others its stack position."""
        f, here, outermost = self.f, convert("ptrtoint", self.report.pointer, I64), self.f.variable(I64, self.frame["stack"])
        with f.if_(outermost.value == 0):
            outermost.value = here
        self.frame["stack"] = outermost.value
        with f.if_(outermost.value - here > min(stack_bytes() // 2, _MOST_STACK), rarely=True):
            self._call_python(NULL, RECURSION, 0)
            f.return_(PENDING)

    def _call_python(self, variant: object, status: object, outcome: object) -> Value:
        return self.f.call(
            ASK, self.table["id"], self.frame.pointer, variant, status, outcome, address=self.table["callback"]
        )

    def number_at(self, t: Value) -> Location:
        """The number of an iteration's variant, in memory."""
        return self.numbers.at(t * self.step)

    def run(self, variant: Struct) -> Value:
        """Run a variant for as many iterations as it can. Return its status."""
        return self.f.call(
            LOOP_KERNEL, self.frame.pointer, variant["state"], self.report.pointer, address=variant["function"]
        )

    def ask(self, variant: Value, status: Value) -> Value:
        """Ask Python for the variant to continue with. Null if Python did the iteration, and more are left."""
        f = self.f
        with f.if_(self.table["callback"].is_null(), rarely=True):
            f.return_(select(status == AGAIN, constant(f, PENDING, I32), REFUSED))
        answer = self._call_python(variant, status, self.report["outcome"])
        given = f.variable(PTR, NULL)
        with f.if_(answer == RAISED):
            f.return_(PENDING)
        with f.if_((answer == DONE) | (answer == DONE_AND_STOPS)):
            following = self.frame["iteration"] + 1
            self.frame["iteration"] = following
            with f.if_(answer == DONE_AND_STOPS):
                self.frame["stopped"] = 1
                f.return_(0)
            with f.if_(following >= self.end):
                f.return_(0)
        with f.else_():
            given.value = convert("inttoptr", answer, PTR)
        return given.value


# Calls of callees may take half of a thread's stack, and this many bytes at most.
_MOST_STACK = 1 << 28


def _run_decided() -> str:
    d = _DispatchLoop("tapediff_run_decided")
    f, table, frame = d.f, d.table, d.frame
    # At the same iteration only guards after `least` may jump to another variant, to prevent endless cycles.
    current, asked, least = f.variable(PTR, table["current"]), f.variable(I32), f.variable(I32, 0)
    with f.repeat() as loop:
        unknown = f.exit()
        asked.value = 0
        unknown.leave_if(current.value.is_null(), rarely=True)
        variant, before = VARIANT.at(current.value), frame["iteration"]
        status = d.run(variant)
        after = frame["iteration"]
        _write_numbers(d, variant, before, after)
        with f.if_(status == 0):
            table["current"] = variant.pointer
            f.return_(0)
        with f.if_(status == PENDING):
            f.return_(PENDING)
        with f.if_(status.below(FAILURE) & (status > select(before == after, least.value, 0))):
            target = _jump_target(f, variant, convert("zext", status, I64), d.report["outcome"])
            with f.if_(~target.is_null()):
                table["current"] = target
                current.value, least.value = target, status
                loop.again()
        asked.value = status
        unknown.here()
        given = d.ask(current.value, asked.value)
        with f.if_(given.is_null()):
            current.value, least.value = table["current"], 0
        with f.else_():
            table["current"] = given
            current.value, least.value = given, asked.value
    return module_text(f)


def _write_numbers(d: _DispatchLoop, variant: Struct, before: Value, after: Value) -> None:
    """Write the variant's number for the iterations that it did, where the caller wants to know."""
    with d.f.if_(~d.numbers.start.is_null() & (before != after)):
        number = variant["number"]
        with d.f.loop(before, after) as t:
            d.number_at(t).value = number


def _jump_target(f: Function, variant: Struct, status: Value, outcome: Value) -> Value:
    """The variant to continue with when this one failed with an outcome; null if none is known."""
    known, found = variant["jumps"], f.variable(PTR, NULL)
    jump = f.variable(PTR, Array(known, I64).address(1))
    search = f.exit()
    with f.loop(0, Array(known, I64)[0]):
        entry = JUMP.at(jump.value)
        with f.if_((entry["status"] == status) & (entry["outcome"] == outcome)):
            found.value = entry["variant"]
            search.leave()
        jump.value = entry.behind()
    search.here()
    return found.value


def _run_chosen() -> str:
    d = _DispatchLoop("tapediff_run_chosen")
    f, frame, end = d.f, d.frame, d.end
    t, given = f.variable(I64, d.first), f.variable(PTR, NULL)
    variant, asked = f.variable(PTR), f.variable(I32)
    with f.repeat() as loop:
        number, until, ask = d.number_at(t.value).value, _end_of_number(d, t.value), f.exit()
        variant.value, asked.value = given.value, NAMED
        with f.if_(given.value.is_null()):
            variants = Array(d.table["variants"], I64)
            ask.leave_if(~number.below(variants[0]))
            variant.value = Array(variants.start, PTR)[number + 1]
            ask.leave_if(variant.value.is_null())
        frame["end"] = until
        status = d.run(VARIANT.at(variant.value))
        frame["end"] = end
        with f.if_(status == 0):
            with f.if_(until >= end):
                f.return_(0)
            t.value, given.value = until, NULL
            loop.again()
        with f.if_(status == PENDING):
            f.return_(PENDING)
        asked.value = status
        ask.here()
        given.value = d.ask(variant.value, asked.value)
        with f.if_(given.value.is_null()):
            t.value = frame["iteration"]
    return module_text(f)


def _end_of_number(d: _DispatchLoop, t: Value) -> Value:
    """The first iteration from t on that has another variant than t."""
    number, until = d.number_at(t).value, d.f.variable(I64, t)
    with d.f.repeat() as same:
        until.value += 1
        same.leave_if(until.value >= d.end)
        same.leave_if(d.number_at(until.value).value != number)
    return until.value


RUN_DECIDED = SharedFunction("tapediff_run_decided", _run_decided)
RUN_CHOSEN = SharedFunction("tapediff_run_chosen", _run_chosen)


def dispatch_loop_address(name: str) -> int:
    return {"run_decided": RUN_DECIDED, "run_chosen": RUN_CHOSEN}[name].address
