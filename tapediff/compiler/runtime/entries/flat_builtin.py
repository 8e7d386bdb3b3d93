"""Builtins with the plan of a flat C function: of one vector, value, or value and gradient; or of nothing, all else fixed.

    value = builtin(x)                  value = builtin(x, gradient)                value = builtin()

For optimisers and samplers that call from Python: constants and paths are fixed in the plan, so a call costs the same as python_entry
with as many arrays.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....ir.instruction import FLOAT64, Operand, ValueType
from ...jit.shared_function import SharedFunction
from ...llvm.builder import Function, module_text
from ...llvm.memory import Array, Layout, Location
from ...llvm.values import F64, I32, I64, PTR, select
from ..python_api import call_without_lock
from ..status import KEPT
from . import python_entry as entry
from .address_call import CALL, DATA, PLAN, RUN, run_plan

# Replaces a kernel's constants: the size of the gradient, 0 without one; the last argument of the C function; whether to negate.
FIXED = Layout.of_words(size=I64, data=PTR, is_negated=I64)


def _text() -> str:
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


_FIXED_CALL = SharedFunction("tapediff_fixed_call", _text, lambda: {RUN.name: RUN.address})


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
