"""Calls by address: of a kernel, or of the kernels of several paths, with a list of the addresses of inputs and outputs.

    i32 tapediff_call(const ptr* addresses, void* call)      the codes are those of c_entry
    i32 tapediff_flat(i64 n, const double* x, i64 m, double* out, void* data)
    i32 tapediff_flat_gradient(i64 size, const double* x, double* gradient, double* value, void* data)

    value = builtin(x)                  value = builtin(x, gradient)                value = builtin()

The others call the first one, which runs one kernel, or the dispatch loop of callees on a table whose variants are the kernels of a
GuardedTape's paths, each in an adapter to a loop kernel of one iteration. The flat functions take all arguments concatenated in x, and
return all results concatenated in `out`; a plan has the place of each, and constants have their own addresses. Nothing is written on
failure. The builtins run the plan of a flat function from Python: of one vector, value, or value and gradient; or of nothing, all else
fixed. Such a call costs the same as python_entry with as many arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np

from ....ir.instruction import FLOAT64, FLOAT_SCALAR, Operand, ValueType
from ...jit.shared_function import SharedFunction
from ...llvm.builder import Function, external, module_text
from ...llvm.memory import Array, Layout, Location, Struct
from ...llvm.values import F64, I32, I64, PTR, Value, constant, convert, select
from ..call_frame import CALL_FRAME, frame_words, input_word, widened
from ..callees.dispatch_loop import DISPATCH, RUN_DECIDED
from ..python_api import MOST_ARGUMENTS, call_without_lock
from ..status import AGAIN, FAILURE, KEPT, PENDING, REFUSED
from . import python_entry as entry
from .c_entry import (
    GUARD_FAILED,
    MISPLACED,
    NOT_FINITE,
    NOT_POSITIVE_DEFINITE,
    RAISED,
    WRONG_SIZE,
)
from .python_entry import KERNEL, REPORT

# The state of a call: one kernel and its number of inputs, or the table of several paths and the number of active calls. Without a
# callback, it returns the status of what no kernel answers. If `block` is not 0, another kernel computes that many rows of a batch at once.
CALL = Layout.of_words(
    kernel=PTR, state=PTR, inputs=I64, table=PTR, active=I64, id=I64, callback=PTR, releases_gil=I64, block=I64, block_kernel=PTR,
    block_state=PTR,
)  # fmt: skip
CALL_KERNEL, CALL_STATE, CALL_INPUTS, TABLE, ACTIVE, ID, CALLBACK, RELEASES_GIL, BLOCK, BLOCK_KERNEL, BLOCK_STATE = CALL.words()

# The kernel of a path, the number of calls that it answered, and when it began to answer last. Its inputs: `arguments` many of the
# caller's, the `fixed` addresses after these words, the rest of the caller's.
PATH = Layout.of_words(kernel=PTR, state=PTR, hits=I64, used=I64, clock=PTR, arguments=I64, fixed=I64, inputs=I64)
HITS, USED = PATH.word("hits"), PATH.word("used")

# Counts how often the paths of a cache take turns; `last` is the one that has answered last.
CLOCK = Layout.of_words(time=I64, last=PTR)

# The last argument of the flat functions: the plan, which may be replaced at any time; the constants' addresses; and, if `callback` is not
# null, the Python object to ask if there is no plan for the given sizes.
DATA = Layout.of_words(plan=PTR, constants=PTR, id=I64, callback=PTR)
PLAN_WORD, CONSTANTS_WORD, DATA_ID, DATA_CALLBACK = DATA.words()

# After it, for each of `count` addresses: in what memory it is, and its offset there in bytes; or CONSTANT, and the constant's number.
PLAN = Layout.of_words(call=PTR, n=I64, m=I64, count=I64)
IN_X, IN_OUT, OWN_PLACE, CONSTANT = range(4)

FRAME_WORDS = frame_words(1, 0)

CALL_FUNCTION = external("tapediff_call", I32, PTR, PTR)
FAILED = external("failed", I32, I64, I32)
PLAN_FOR = external("plan_for", I32, I64, I64, PTR, I64, PTR)


# The call


def _call() -> str:
    f = Function("tapediff_call", I32, addresses=PTR, call=PTR)
    addresses, call = f.parameters[0], CALL.at(f.parameters[1])
    kernel = call["kernel"]
    with f.if_(kernel.is_null()):
        f.return_(_on_paths(f, addresses, call))
    report = f.struct(REPORT)
    report["room"] = 0
    outputs = Array(addresses, PTR).address(call["inputs"])
    status = f.call(KERNEL, addresses, outputs, call["state"], report.pointer, address=kernel)
    with f.if_(status == 0):
        f.return_(0)
    with f.if_(status > 0):
        f.return_(select(status.below(FAILURE), constant(f, GUARD_FAILED, I32), NOT_POSITIVE_DEFINITE))
    f.return_(_ask(f, call, status))
    return module_text(f)


def _on_paths(f: Function, addresses: Value, call: Struct) -> Value:
    # Counted before the table is read: a table that no new call can find is free once no call is under way.
    active = call.location("active")
    active.update_atomic("add", 1)
    table = call.location("table").load_atomic()
    frame, code = f.struct(CALL_FRAME, 8 * FRAME_WORDS), f.variable(I32, 0)
    words = Array(frame.pointer, I64)
    for k in range(FRAME_WORDS):
        words[k] = 0
    frame["end"] = 1
    Array(frame.pointer, PTR)[input_word(0)] = addresses
    status = f.call(DISPATCH, table, frame.pointer)
    with f.if_(status != 0):
        code.value = _ask(f, call, status)
    active.update_atomic("sub", 1)
    return code.value


def _ask(f: Function, call: Struct, status: Value) -> Value:
    """Let Python find the reason of a failure, and keep it; return the code, or the status if there is no callback."""
    callback, code = call["callback"], f.variable(I32, status)
    with f.if_(~callback.is_null()):
        found = f.call(FAILED, call["id"], status, address=callback)
        # An interrupt may have prevented Python's reply, which must not look like success.
        code.value = select(found == 0, RAISED, found)
    return code.value


def _path() -> str:
    """An adapter from the kernel of a path to a loop kernel of one iteration; see compiler.loop_kernel."""
    f = Function("tapediff_addressed_path", I32, frame=PTR, own=PTR, report=PTR)
    frame, path, report = f.parameters[0], PATH.at(f.parameters[1]), f.parameters[2]
    given = Array(Array(frame, PTR)[input_word(0)], PTR)
    inputs, fixed = f.variable(PTR, given.start), path["fixed"]
    total = path["inputs"]
    outputs = given.address(total - fixed)
    with f.if_(fixed != 0):
        arguments, own = path["arguments"], Array(path.behind(), PTR)
        merged = f.array(PTR, MOST_ARGUMENTS)
        with f.loop(0, arguments) as k:
            merged[k] = given[k]
        with f.loop(0, fixed) as k:
            merged[arguments + k] = own[k]
        with f.loop(arguments + fixed, total) as k:
            merged[k] = given[k - fixed]
        inputs.value = merged.start
    status = f.call(KERNEL, inputs.value, outputs, path["state"], report, address=path["kernel"])
    with f.if_(status == 0):
        CALL_FRAME.at(frame)["iteration"] = 1
        path.location("hits").update_atomic("add", 1, "monotonic")
        clock = CLOCK.at(path["clock"])
        with f.if_(clock["last"] != path.pointer):
            path["used"] = clock["time"] + 1
            clock["time"], clock["last"] = path["used"], path.pointer
    f.return_(select(status == PENDING, AGAIN, status))
    return module_text(f)


# Flat arguments and results


def _check_places(f: Function, x: Value, n: Value, out: Value, m: Value) -> None:
    """Leave if the arrays are not aligned or share memory: writing one would change another."""
    start, target = convert("ptrtoint", x, I64), convert("ptrtoint", out, I64)
    overlap = start.below(target + (m << 3)) & target.below(start + (n << 3))
    with f.if_((((start | target) & 7) != 0) | overlap):
        f.return_(MISPLACED)


def run_plan(f: Function, plan: Struct, data: Struct, x: Value, out: Value, own: Value) -> Value:
    """Run the call that a plan describes, and return its code; `own` is the address for the value that has one."""
    places, constants = Array(plan.behind(), I64), Array(data.location("constants").load_atomic(), PTR)
    addresses, memories = f.array(PTR, MOST_ARGUMENTS), f.array(PTR, CONSTANT)
    memories[IN_X], memories[IN_OUT], memories[OWN_PLACE] = x, out, own
    with f.loop(0, plan["count"]) as k:
        memory, place = places[k * 2], places[k * 2 + 1]
        with f.if_(memory == CONSTANT):
            addresses[k] = constants[place]
        with f.else_():
            addresses[k] = convert("inttoptr", convert("ptrtoint", memories[memory], I64) + place, PTR)
    return f.call(CALL_FUNCTION, addresses.start, plan["call"])


def _plan_of(f: Function, pointer: Value, n: Value, x: Value, m: Value) -> Struct:
    """The plan for these sizes; leaves with a code if there is none."""
    data, found = DATA.at(pointer), f.variable(PTR)
    with f.repeat() as search:
        plan = data.location("plan").load_atomic()
        found.value = plan
        unknown = f.exit()
        unknown.leave_if(plan.is_null(), rarely=True)
        fits = (PLAN.at(plan)["n"] == n) & (PLAN.at(plan)["m"] == m)
        search.leave_if(fits)
        unknown.here()
        callback = data["callback"]
        with f.if_(callback.is_null()):
            f.return_(WRONG_SIZE)
        code = f.call(PLAN_FOR, data["id"], n, x, m, pointer, address=callback)
        with f.if_(code <= 0):
            # An interrupt may have prevented Python's reply.
            f.return_(select(code == 0, RAISED, code))
        with f.if_(code != PLANNED):
            f.return_(code)
    return PLAN.at(found.value)


# Python's reply if it has installed a plan.
PLANNED = 100


def _run_flat(f: Function, pointer: Value, x: Value, n: Value, out: Value, m: Value, own: Value) -> Value:
    """Check the arrays, and run the plan for their sizes; return its code."""
    _check_places(f, x, n, out, m)
    plan = _plan_of(f, pointer, n, x, m)
    return run_plan(f, plan, DATA.at(pointer), x, out, own)


def _flat() -> str:
    f = Function("tapediff_flat", I32, n=I64, x=PTR, m=I64, out=PTR, data=PTR)
    n, x, m, out, pointer = f.parameters
    f.return_(_run_flat(f, pointer, x, n, out, m, out))
    return module_text(f)


def _flat_gradient() -> str:
    """With a code of its own for values that are not finite, which a sampler cannot use."""
    f = Function("tapediff_flat_gradient", I32, size=I64, x=PTR, gradient=PTR, value=PTR, data=PTR)
    size, x, gradient, value, pointer = f.parameters
    for array in (x, gradient):
        _check_places(f, array, size, value, constant(f, 1, I64))
    result = f.variable(F64)
    code = _run_flat(f, pointer, x, size, gradient, size, result.address)
    with f.if_(code == 0):
        number = result.value
        Location(value, F64).value = number
        with f.if_((number - number) != 0.0):
            f.return_(NOT_FINITE)
    f.return_(code)
    return module_text(f)


def _as_kernel() -> str:
    """A call in the form of a kernel, for the entry, which checks the arguments. Its constants are the call."""
    f = Function("tapediff_call_as_kernel", I32, inputs=PTR, outputs=PTR, state=PTR, report=PTR)
    call = CALL.at(entry.ENTRY_STATE.at(f.parameters[2])["constants"])
    # The entry has the addresses of the outputs behind those of the inputs.
    code = call_without_lock(f, call["releases_gil"], lambda: f.call(CALL_FUNCTION, f.parameters[0], call.pointer))
    # Without a callback the code is a kernel's status: 0, REFUSED or PENDING.
    f.return_(select((code == 0) | (code <= REFUSED), code, KEPT))
    return module_text(f)


# Builtins of a flat function

# Replaces a kernel's constants: the size of the gradient, 0 without one; the last argument of the C function; whether to negate.
FIXED = Layout.of_words(size=I64, data=PTR, is_negated=I64)


def _fixed_call() -> str:
    """A kernel's interface, for the entry, which checks the arguments."""
    f = Function("tapediff_fixed_call", I32, inputs=PTR, outputs=PTR, state=PTR, report=PTR)
    inputs, outputs = (Array(p, PTR) for p in f.parameters[:2])
    state = entry.ENTRY_STATE.at(f.parameters[2])
    fixed = FIXED.at(state["constants"])
    size, data, out = fixed["size"], DATA.at(fixed["data"]), f.variable(PTR, outputs[0])
    plan = PLAN.at(data["plan"])
    with f.if_(size > 0):
        out.value = outputs[1]
    run = lambda: run_plan(f, plan, data, inputs[0], out.value, outputs[0])  # noqa: E731 -- its name is its use
    code = call_without_lock(f, CALL.at(plan["call"])["releases_gil"], run)
    with f.if_((code == 0) & (fixed["is_negated"] != 0)):
        _negate(Location(outputs[0], F64))
        with f.loop(0, size) as k:
            _negate(Array(out.value, F64).at(k))
    f.return_(select((code == 0) | ~state["handler"].is_null(), code, KEPT))
    return module_text(f)


def _negate(number: Location) -> None:
    number.value = -number.value


RUN = SharedFunction("tapediff_call", _call, lambda: {RUN_DECIDED.name: RUN_DECIDED.address})
ADAPTER = SharedFunction("tapediff_addressed_path", _path)


def _calls_it() -> dict[str, int]:
    return {RUN.name: RUN.address}


AS_KERNEL = SharedFunction("tapediff_call_as_kernel", _as_kernel, _calls_it)
FLAT = SharedFunction("tapediff_flat", _flat, _calls_it)
FLAT_GRADIENT = SharedFunction("tapediff_flat_gradient", _flat_gradient, _calls_it)
_FIXED_CALL = SharedFunction("tapediff_fixed_call", _fixed_call, _calls_it)


def python_builtin(call: int, inputs: Sequence[ValueType], outputs: Sequence[ValueType], keeps: object) -> Callable[..., Operand]:
    """A builtin of inputs and of arrays for the outputs, as Kernel.call. It returns an int after a failure.

    Args:
        call: the address of a CALL.
        keeps: an object to keep alive.
    """
    returns_value = bool(outputs) and widened(outputs[0]) == FLOAT_SCALAR
    types = list(map(widened, inputs)), list(map(widened, outputs[returns_value:]))
    return entry.callable_for(entry.words(entry.state_words(AS_KERNEL.address, call, *types, returns_value=returns_value), keeps))


def plan_words(call: int, sizes: tuple[int, int], places: Sequence[tuple[int, int]], keeps: object) -> entry.Words:
    """The words of a PLAN.

    Args:
        call: the address of a CALL.
        sizes: of x and out.
        places: of the inputs and outputs.
        keeps: an object to keep alive.
    """
    return entry.words([call, *sizes, len(places), *chain(*places)], keeps)


def constant_words(arrays: Sequence[np.ndarray]) -> entry.Words:
    """The addresses of a plan's constants."""
    return entry.words([a.ctypes.data for a in arrays] or [0], arrays)


def data_words(plan: entry.Words | None, constants: entry.Words | None = None) -> entry.Words:
    """The words of DATA."""
    return entry.words([0 if each is None else each.address for each in (plan, constants)] + [0, 0], (plan, constants))


def flat_builtin(
    data: int, size: int, keeps: object, *, with_gradient: bool, negate: bool = False, handler: Callable[[int], Operand] | None = None
) -> Callable[..., Operand]:
    """A builtin of a vector, and an array for the gradient. Returns the value, a float; else an int, KEPT if an exception is pending.

    Args:
        data: the last argument of the C function, with a plan.
        size: of the vector; 0 for a builtin without arguments.
        keeps: objects that keep it alive.
        handler: called with the code of a failure, REFUSED for other arguments; its result is returned.
    """
    fixed, vectors = np.array([size * with_gradient, data, negate], np.int64), [ValueType((size,), FLOAT64)] * (size > 0)
    state = entry.state_words(
        _FIXED_CALL.address, fixed.ctypes.data, vectors, vectors * with_gradient, returns_value=True, handler=handler
    )  # fmt: skip
    return entry.callable_for(entry.words(state, (fixed, keeps, handler)))
