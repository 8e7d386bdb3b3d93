"""Calls bound to arrays: a function without arguments that reads its arrays, and writes the gradient, in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...compiler.runtime.entries import address_call
from ...compiler.runtime.status import REFUSED
from ...errors import ArgumentMismatch, hides_frames
from ...ir.arguments import unwrap
from ...ir.instruction import FLOAT64, FLOAT_SCALAR, Operand, Tree, ValueType
from ...ir.outputs import Out, check_out, share_memory
from ..evaluate.chosen import choose, inputs_of
from ..evaluate.fast_path import Argnums
from ..evaluate.request import beside_outputs
from .addressed_call import compiled_call
from .owner import Owner
from .paths import paths_call, vector_call
from .signature import Kind, Signature, completed, of_call, of_tape

if TYPE_CHECKING:
    from .addressed_call import AddressedCall


def bound_call(tape: Owner, args: Sequence[Tree], out: Out, argnums: Argnums) -> Callable[[], float]:
    """See NativeCalls.bind."""
    if out is None:
        raise ArgumentMismatch("bind needs an array for the gradient", fix="bind(*args, out=np.empty(x.shape))")
    argnums = beside_outputs(tape, args, argnums)
    if not hasattr(tape, "answer_kind"):
        args = completed(tape.tape, args)
    signature, call, wrt = _call(tape, args, argnums)
    outs = choose(tape, args, argnums).flat(out, "out")
    check_out(outs, [signature.types[k] for k in wrt])
    inputs = _inputs(signature, args)
    for k, array in enumerate(outs):
        _check_buffer(f"array {k} of out", array, FLOAT64)
    if share_memory(inputs, outs):
        raise ArgumentMismatch("out shares memory with the arguments", fix="pass an array of its own: np.empty(x.shape)")
    arrays, own = [*inputs, np.empty(()), *outs], len(inputs)

    @hides_frames
    def failed(code: int) -> float:
        if code == REFUSED:
            raise TypeError("a bound call takes no arguments: it reads its arrays")
        value, *gradients = call.again(code, tape, inputs)
        for array, gradient in zip(outs, gradients):
            array[...] = gradient
        return value

    places = [(address_call.OWN_PLACE, 0) if k == own else (address_call.CONSTANT, k) for k in range(len(arrays))]
    data = address_call.data_words(address_call.plan_words(call.address, (0, 0), places, call), address_call.constant_words(arrays))
    return address_call.flat_builtin(data.address, 0, data, with_gradient=False, handler=failed)


def _call(tape: Owner, args: Sequence[Tree], argnums: Argnums) -> tuple[Signature, AddressedCall, tuple[int, ...]]:
    """The call of value and gradient of a target by `argnums`, and the inputs of these arguments."""
    numbers = choose(tape, args, argnums).numbers
    if hasattr(tape, "answer_kind"):
        if len(args) == 1 and type(args[0]) is np.ndarray and args[0].dtype == FLOAT64:
            found, signature = vector_call(tape, args[0].shape)
            return signature, found, (0,)
        call = tape.keyed(args, numbers)
        signature, kind = of_call(call.bound, call.key), Kind("gradient", numbers, call.bound.argnums)
        outputs = [FLOAT_SCALAR, *(signature.types[k] for k in kind.wrt)]
        return signature, paths_call(tape, signature, kind, outputs), kind.wrt
    signature = of_tape(tape.tape, args)
    kind = Kind("gradient", numbers, inputs_of(tape.tape, numbers))
    return signature, compiled_call(tape, kind), kind.wrt


def _inputs(signature: Signature, args: Sequence[Tree]) -> list[np.ndarray]:
    """The caller's arrays, read in place; copies of numbers.

    Raises:
        ArgumentMismatch: an array that cannot be read in place.
    """
    given = [unwrap(leaf) for k, argument in enumerate(args) for leaf in signature.inputs_in(k, argument)]
    for k, (leaf, type_) in enumerate(zip(given, signature.types)):
        if np.ndim(leaf) or isinstance(leaf, np.ndarray):
            _check_buffer(f"array {k} of the arguments", leaf, type_.dtype)
    return [leaf if isinstance(leaf, np.ndarray) else np.array(leaf, t.dtype) for leaf, t in zip(given, signature.types)]


def _check_buffer(name: str, array: Operand, dtype: np.dtype) -> None:
    fits = isinstance(array, np.ndarray) and array.dtype == dtype != np.float32 and array.dtype.isnative
    if not (fits and array.flags.c_contiguous and array.flags.aligned):
        what = str(ValueType(array.shape, array.dtype)) if isinstance(array, np.ndarray) else type(array).__name__
        raise ArgumentMismatch(f"{name} is not a C-contiguous {np.dtype(dtype).name} array", got=what,
                               fix="np.ascontiguousarray(x, dtype=float), kept and written to")  # fmt: skip
