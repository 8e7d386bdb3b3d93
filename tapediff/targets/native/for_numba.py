"""Hands a tape's C function to numba, as a function that `@njit` code can call. numba is imported here, at first use."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from ...compiler.jit.toolchain import toolchain
from ...compiler.runtime.entries import c_entry
from ...errors import ArgumentMismatch, GuardFailed, ShapeMismatch, TapediffError
from ...ir.instruction import Operand


class GuardFailedNatively(GuardFailed):
    """The GuardFailed of compiled callers: numba raises constant texts only."""

    def __init__(self, what: str) -> None:
        TapediffError.__init__(
            self, what, fix="td.GuardedTape(f), which follows every path; the tape's take_error(x) tells which guard it was"
        )
        self.ordinal, self.recorded, self.outcome = -1, None, None



def numba_function(keep: object, function: int, user_data: int, is_gradient: bool, status: bool) -> Callable[..., Operand]:
    """A numba function of (x, out); see NativeCalls.as_numba.

    Args:
        keep: an object to keep alive.
        function, user_data: the C function and its last argument.
        is_gradient: True if it returns a value besides what it writes.
        status: return the code instead of raising.
    """
    from numba import njit

    toolchain.immortal.append(keep)
    call, raise_for = _caller(function, user_data, is_gradient), _raiser()

    # boundscheck and the like are left to the caller: there is no index here.
    @njit(nogil=True)
    def checked(x, out):  # type: ignore[no-untyped-def]  # numba finds the types
        if is_gradient and out.size != x.size:
            return WRONG_SIZE, np.nan
        return call(x, out)

    @njit(nogil=True)
    def code(x, out):  # type: ignore[no-untyped-def]
        return checked(x, out)[0]

    @njit(nogil=True)
    def value_and_gradient(x, gradient):  # type: ignore[no-untyped-def]
        status, value = checked(x, gradient)
        if status != 0 and status != NOT_FINITE:
            raise_for(status)
        return value

    @njit(nogil=True)
    def results(x, out):  # type: ignore[no-untyped-def]
        status = code(x, out)
        if status != 0:
            raise_for(status)

    return (checked if status else value_and_gradient) if is_gradient else code if status else results


# Numba reads global numbers from a function's module.
GUARD_FAILED, NOT_POSITIVE_DEFINITE, NOT_FINITE = c_entry.GUARD_FAILED, c_entry.NOT_POSITIVE_DEFINITE, c_entry.NOT_FINITE
WRONG_SIZE, MISPLACED, NO_MEMORY = np.int32(c_entry.WRONG_SIZE), c_entry.MISPLACED, c_entry.NO_MEMORY


@cache
def _raiser() -> Callable[..., object]:
    """A function that raises the exception of a status."""
    from numba import njit

    LinAlgError = np.linalg.LinAlgError

    @njit(nogil=True)
    def raise_for(status):  # type: ignore[no-untyped-def]
        if status == GUARD_FAILED:
            raise GuardFailedNatively(
                "the control flow at this point differs from the recorded one, so this tape has no answer here"
            )
        if status == NOT_POSITIVE_DEFINITE:
            raise LinAlgError("a matrix is not positive definite, or singular")
        if status == WRONG_SIZE:
            raise ShapeMismatch("x or gradient has another size than the tape's argument")
        if status == MISPLACED:
            raise ArgumentMismatch("x and gradient share memory, or are not aligned")
        if status == NO_MEMORY:
            raise MemoryError("no memory for a workspace")
        raise TapediffError(
            "Python code that the gradient needed has raised an exception: the tape's take_error() gives it"
        )

    return raise_for


def _caller(function: int, user_data: int, is_gradient: bool) -> Callable[..., Operand]:
    """A numba intrinsic of (x, out): calls a C function at these addresses; returns the status and the value, or NaN if it has none."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.core.errors import TypingError
    from numba.extending import intrinsic

    @intrinsic
    def call(typing_context, x, out):  # type: ignore[no-untyped-def]
        for name, given, written in (("x", x, False), ("gradient" if is_gradient else "out", out, True)):
            vector = isinstance(given, types.Array) and (given.ndim, given.dtype, given.layout) == (
                1,
                types.float64,
                "C",
            )
            if not vector or (written and not given.mutable):
                raise TypingError(
                    f"tapediff: {name} must be a C-contiguous float64 vector{' to write to' * written}, not {given}"
                )

        def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
            arrays = [context.make_array(t)(context, builder, a) for t, a in zip(signature.args, args)]
            byte, number, word = ir.IntType(8).as_pointer(), ir.DoubleType(), ir.IntType(64)
            # Numba never keeps code with such addresses on disk.
            address = context.add_dynamic_addr(builder, function, info="tapediff gradient")
            words = context.add_dynamic_addr(builder, user_data, info="tapediff words")
            value = cgutils.alloca_once_value(builder, ir.Constant(number, float("nan")))
            sizes = [builder.zext(a.nitems, word) if a.nitems.type.width < 64 else a.nitems for a in arrays]
            x, out, value_place = (builder.bitcast(p, byte) for p in (arrays[0].data, arrays[1].data, value))
            given = [sizes[0], x, out, value_place, words] if is_gradient else [sizes[0], x, sizes[1], out, words]
            type_ = ir.FunctionType(ir.IntType(32), [each.type for each in given])
            status = builder.call(builder.bitcast(address, type_.as_pointer()), given)
            return context.make_tuple(builder, signature.return_type, (status, builder.load(value)))

        return types.Tuple((types.int32, types.float64))(x, out), emit

    return call
