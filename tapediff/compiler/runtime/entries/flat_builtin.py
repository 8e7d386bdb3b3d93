"""Builtins of one vector around the C functions of address_call: value, or value and gradient, all else fixed.

    value = builtin(x)                  value = builtin(x, gradient)

For optimisers and samplers that call from Python: constants and paths are fixed in the C function, so a call costs the same as python_entry
with one or two arrays.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....ir.instruction import FLOAT64, Operand, ValueType
from ...jit.shared_function import SharedFunction
from ...llvm.builder import Function, Signature, module_text
from ...llvm.memory import Array, Layout, Location
from ...llvm.values import F64, I32, I64, PTR, Value, constant
from ..python_api import call_without_lock
from ..status import KEPT
from . import python_entry as entry
from .address_call import CALL, DATA, FLAT, FLAT_GRADIENT, PLAN
from .c_entry import POINT_FUNCTION

# Replaces a kernel's constants: the size of x, the last argument of the C function, and whether to negate.
FIXED = Layout.of_words(size=I64, data=PTR, is_negated=I64)


def _kernel(name: str, run: Callable[[Function, Value, Array, Array, Value], Value]) -> str:
    """A kernel's interface, for the entry, which checks the arguments; `run` returns the code of the call."""
    f = Function(name, I32, inputs=PTR, outputs=PTR, state=PTR, report=PTR)
    inputs, outputs = (Array(p, PTR) for p in f.parameters[:2])
    fixed = FIXED.at(entry.ENTRY_STATE.at(f.parameters[2])["constants"])
    size, data = fixed["size"], fixed["data"]
    call = PLAN.at(DATA.at(data)["plan"])["call"]
    code = call_without_lock(f, CALL.at(call)["releases_gil"], lambda: run(f, size, inputs, outputs, data))
    with f.if_(code != 0):
        f.return_(KEPT)
    with f.if_(fixed["is_negated"] != 0):
        _negate(Location(outputs[0], F64))
        if name == _GRADIENT:
            with f.loop(0, size) as k:
                _negate(Array(outputs[1], F64).at(k))
    f.return_(0)
    return module_text(f)


def _negate(number: Location) -> None:
    number.value = -number.value


def _value(f: Function, size: Value, inputs: Array, outputs: Array, data: Value) -> Value:
    signature = Signature(FLAT.name, I32, (I64, PTR, I64, PTR, PTR))
    return f.call(signature, size, inputs[0], constant(f, 1, I64), outputs[0], data)


def _gradient(f: Function, size: Value, inputs: Array, outputs: Array, data: Value) -> Value:
    signature = Signature(FLAT_GRADIENT.name, POINT_FUNCTION.result, POINT_FUNCTION.parameters)
    return f.call(signature, size, inputs[0], outputs[1], outputs[0], data)


_VALUE, _GRADIENT = "tapediff_fixed_value", "tapediff_fixed_gradient"
_KERNELS = {
    False: SharedFunction(_VALUE, lambda: _kernel(_VALUE, _value), lambda: {FLAT.name: FLAT.address}),
    True: SharedFunction(_GRADIENT, lambda: _kernel(_GRADIENT, _gradient), lambda: {FLAT_GRADIENT.name: FLAT_GRADIENT.address}),
}  # fmt: skip


def flat_builtin(
    data: int, size: int, keeps: object, *, with_gradient: bool, negate: bool = False
) -> Callable[..., Operand]:
    """A builtin of a vector, and an array for the gradient. Returns the value, a float; else an int, KEPT if an exception is pending.

    Args:
        data: the last argument of the C function, with a plan.
        keeps: objects that keep it alive.
    """
    fixed, vector = np.array([size, data, negate], np.int64), ValueType((size,), FLOAT64)
    return entry.callable_of(_KERNELS[with_gradient].address, fixed.ctypes.data, [vector], [vector] * with_gradient, (fixed, keeps))
