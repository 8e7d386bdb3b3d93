"""JAX: compiled gradients as JAX functions, for blackjax, numpyro, optax and any jitted program; and jitted JAX functions on tapes.

XLA calls the C function of a target through its foreign function interface, without Python, also inside jit, vmap and scan.
Source: the interface's header, xla/ffi/api/c_api.h, which JAX ships; tried with JAX 0.10, blackjax 1.7, numpyro 0.22 and optax
0.2. `pip install 'tapediff[jax]'` installs it. Versions of JAX with another interface, or none, call through Python.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import re
import traceback
from collections.abc import Callable
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ..compiler.jit.toolchain import toolchain
from ..compiler.runtime.callbacks import callback_address
from ..errors import ArgumentMismatch
from ..functions.primitive import Primitive, primitive
from ..ir.arguments import Constant
from ..ir.instruction import Target, Tree
from ..targets.compiled_tape import CompiledTape
from ..targets.guarded_tape import GuardedTape
from ..targets.native.c_function import CFunction
from . import gradient_at, of_posterior, required

# An object of JAX or numba, whose class exists only if they are installed.
Foreign: TypeAlias = Any

# Positions of 8-byte words in the structs of xla/ffi/api/c_api.h, whose layout is stable.
_EXTENSION, _API, _ARGUMENTS, _RESULTS = 1, 2, 9, 14  # of a call frame
_DTYPE, _DATA, _RANK, _DIMS = 2, 3, 4, 5  # of a buffer
_FLOAT32 = 11
_VERSION, _CREATE_ERROR = 4, 6  # of the interface
_METADATA = 3  # of its extension; there the version is word 3
_INTERNAL = 13  # a code of errors
# The most bytes of an error's text; longer ones are cut.
_LENGTH = 4000

_numbers = itertools.count()


def to_jax(target: Target, *args: Tree) -> Callable[..., Foreign]:
    """A JAX function of the same arrays, with its gradient; may be jitted, vmapped, scanned over, and differentiated once in reverse mode.

    Args:
        target: a function, a CompiledTape or a GuardedTape, which maps arrays of floats to a number; or a td.Posterior.
        args: of a call: they give the shapes of all calls. td.Constant for data, which are fixed. None for a td.Posterior.

    Returns:
        f(*arrays) for the arguments that are not constants. Its attribute `c_function` is the C function, with take_error() and
        set_constants().

    Raises:
        ImportError: JAX is not installed.
        ArgumentMismatch: an argument that is neither an array of floats nor a constant.

    float32 arrays, JAX's default, are widened, and results rounded. If a factorisation fails, value and gradient are NaN. An
    exception of the function becomes a JAX error with the same text; `c_function.take_error()` returns the exception itself.

    Cost: the kernel, and 0.3 µs inside a jitted program; the first call compiles a few lines with numba, 0.5 s. For versions of JAX with an
    unknown foreign function interface, it uses `jax.pure_callback`: some 50 µs.
    """
    jax = _jax()
    target, args = of_posterior(target, args, example=True)
    if not args:
        raise ArgumentMismatch("to_jax takes example arguments, whose shapes all calls have", got="none", fix="to_jax(f, np.zeros(3))")
    tape = target if isinstance(target, (CompiledTape, GuardedTape)) else GuardedTape(target)
    density = gradient_at(tape, args)
    arrays = [np.asarray(a) for a in args if not isinstance(a, Constant)]
    if any(a.dtype.kind != "f" for a in arrays) or size_of(density) != sum(a.size for a in arrays):
        raise ArgumentMismatch("to_jax takes arrays of floats, and td.Constant for everything else", got=f"{len(args)} arguments",
                               fix="use jax.flatten_util.ravel_pytree for containers")  # fmt: skip
    kept, both = (_by_address if _knows_interface(jax) else _by_python)(jax, density)
    f = _with_gradient(jax, both, [a.shape for a in arrays])
    f.c_function = density
    f.kept = kept
    return f


# Maps points of one array, along its last axis, to values and gradients.
_Both: TypeAlias = Callable[[Foreign], Foreign]


def _knows_interface(jax: Foreign) -> bool:
    """True if the structs of the foreign function interface have the layout that `_handler` reads."""
    try:
        header = Path(jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h").read_text()
    except (AttributeError, OSError):
        return False
    return re.search(r"#define XLA_FFI_API_MAJOR 0\b", header) is not None


def _by_address(jax: Foreign, density: CFunction) -> tuple[Tree, _Both]:
    """Let XLA call the C function. Also returns what must be kept alive."""
    name = f"tapediff_{next(_numbers)}"
    handler, message = _handler(density)
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(ctypes.c_void_p(handler.address).value), platform="cpu")
    return (handler, message), lambda flat: jax.ffi.ffi_call(name, _shapes(jax, flat), vmap_method="broadcast_all")(flat)


def _by_python(jax: Foreign, density: CFunction) -> tuple[Tree, _Both]:
    """Let XLA call Python, which calls the C function."""
    from numba import njit  # pyright: ignore[reportPrivateImportUsage] -- documented as numba.njit

    of_density = density.as_numba(status=True)

    @njit
    def rows(points, values, slopes):  # type: ignore[no-untyped-def]
        for r in range(len(points)):
            code, found = of_density(points[r], slopes[r])
            if code < 0:
                return code
            if code == 2 or code == 3:
                found = np.nan
                slopes[r] = np.nan
            values[r] = found
        return 0

    def call(flat: Foreign) -> tuple[np.ndarray, np.ndarray]:
        points = np.array(flat, np.float64).reshape(-1, flat.shape[-1])
        values, slopes = np.empty(len(points)), np.empty(points.shape)
        if rows(points, values, slopes) < 0:
            raise RuntimeError(_text_of_error(density))
        return values.reshape(flat.shape[:-1]).astype(flat.dtype), slopes.reshape(flat.shape).astype(flat.dtype)

    return None, lambda flat: jax.pure_callback(call, _shapes(jax, flat), flat, vmap_method="broadcast_all")


def _shapes(jax: Foreign, flat: Foreign) -> tuple[Foreign, Foreign]:
    """The shapes of values and gradients."""
    return jax.ShapeDtypeStruct(flat.shape[:-1], flat.dtype), jax.ShapeDtypeStruct(flat.shape, flat.dtype)


def _with_gradient(jax: Foreign, both: Callable[[Foreign], Foreign], shapes: list[tuple[int, ...]]) -> Foreign:
    """The function of arrays of these shapes; its derivative is the gradient computed with its value."""
    jnp = jax.numpy
    ends = np.cumsum([prod(shape) for shape in shapes])

    def flattened(arrays: tuple[Foreign, ...]) -> Foreign:
        if len(arrays) != len(shapes) or any(jnp.shape(a) != shape for a, shape in zip(arrays, shapes)):
            raise ArgumentMismatch("the function was made for arrays of other shapes", got=str([jnp.shape(a) for a in arrays]),
                                   fix=f"call it with {shapes}, or make another with to_jax")  # fmt: skip
        if any(jnp.iscomplexobj(a) for a in arrays):
            raise ArgumentMismatch("the function was made for real arrays", got="a complex array", fix="call it with jnp.real(x)")
        return jnp.concatenate([jnp.ravel(jnp.asarray(a, jnp.result_type(float))) for a in arrays])

    def f(*arrays: Foreign) -> Foreign:
        return both(flattened(arrays))[0]

    def forward(*arrays: Foreign) -> tuple[Foreign, Foreign]:
        value, gradient = both(flattened(arrays))
        return value, (gradient, arrays)

    def backward(saved: tuple[Foreign, Foreign], cotangent: Foreign) -> tuple[Foreign, ...]:
        gradient, arrays = saved
        parts = jnp.split(cotangent * gradient, ends[:-1])
        return tuple(part.reshape(shape).astype(jnp.result_type(a)) for part, shape, a in zip(parts, shapes, arrays))

    differentiable = jax.custom_vjp(f)
    differentiable.defvjp(forward, backward)
    return differentiable


def from_jax(f: Callable[..., Foreign], name: str | None = None) -> Primitive:
    """A JAX function as an operation on tapes; its derivative is JAX's.

    Args:
        f: maps arrays to an array; is jitted.
        name: in messages.

    Calls go through Python, some 20 to 50 µs. JAX computes in float32 unless jax_enable_x64 is set: results are as accurate as that.
    """
    jax = _jax()
    jitted = jax.jit(f)
    pulled = jax.jit(lambda arrays, cotangent: jax.vjp(f, *arrays)[1](cotangent))

    def forward(*arrays: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        return np.asarray(jitted(*arrays), dtype=np.float64), arrays

    def backward(saved: tuple[np.ndarray, ...], cotangent: np.ndarray) -> Tree:
        output = jax.eval_shape(jitted, *saved)
        parts = pulled(saved, jax.numpy.asarray(cotangent, output.dtype))
        cotangents = [np.asarray(part, dtype=np.float64) for part in parts]
        return tuple(cotangents) if len(cotangents) > 1 else cotangents[0]

    return primitive(forward, backward, name=name or getattr(f, "__name__", "of_jax"))


def _jax() -> Foreign:
    jax: Foreign = required("jax", "JAX", "'tapediff[jax]'")
    with contextlib.suppress(ImportError):  # before JAX 0.5
        import_module("jax.ffi")
    return jax


def size_of(density: CFunction) -> int:
    """The size of its vector; 0 if no arguments were given that tell it."""
    return 0 if density.sizes is None else density.sizes[0]


class _Message:
    """The text of the last error, in memory that XLA reads."""

    def __init__(self, density: CFunction) -> None:
        self._density, self._text = density, np.zeros(_LENGTH, np.uint8)
        self.address, self.number = int(self._text.ctypes.data), toolchain.number(_Message, self)
        self.callback = callback_address(_write_message, ("i64",), "i64")

    def write(self) -> int:
        """Write the error's text. Called by native code."""
        encoded = _text_of_error(self._density).encode()[: _LENGTH - 1]
        self._text[:] = 0  # terminates a shorter text
        self._text[: len(encoded)] = np.frombuffer(encoded, np.uint8)
        return 0


def _text_of_error(density: CFunction) -> str:
    """The text of a fault; the exception is kept for take_error."""
    raised = density.take_error()
    if raised is None:
        return "GuardFailed: the tape has no answer on this path; fix: to_jax of a function or a td.GuardedTape"
    density._errors.keep(raised)
    return "".join(traceback.format_exception_only(raised)) + "f.c_function.take_error() is the exception itself."


def _write_message(number: int) -> int:
    """Called by native code; see _Message.write."""
    return toolchain.numbered(_Message, number).write()


def _handler(density: CFunction) -> tuple[Foreign, _Message]:
    """The function that XLA calls with a frame; and the message of its errors, which must be kept alive."""
    from numba import carray, cfunc, njit, types  # pyright: ignore[reportPrivateImportUsage] -- documented as numba.carray

    of_density, size, message = density.as_numba(status=True), size_of(density), _Message(density)
    at_message, write, number = message.address, message.callback, message.number
    call, pointer = _call_by_address(), as_pointer()

    @njit
    def words(address, count):  # type: ignore[no-untyped-def]
        return carray(pointer(address), count, np.int64)

    @njit
    def failed(api):  # type: ignore[no-untyped-def]
        call(write, number)
        error = np.zeros(4, np.int64)
        error[0], error[2], error[3] = 28, at_message, _INTERNAL
        return call(words(api, _CREATE_ERROR + 1)[_CREATE_ERROR], error.ctypes.data)

    def handler(frame):  # type: ignore[no-untyped-def]
        fields = carray(frame, 22)
        api = fields[_API]
        if fields[_EXTENSION] != 0:  # a query for the version: return the caller's
            metadata = words(words(fields[_EXTENSION], 4)[_METADATA], 6)
            metadata[3] = words(api, _VERSION + 1)[_VERSION]
            return 0
        x = words(words(fields[_ARGUMENTS], 1)[0], 6)
        results = words(fields[_RESULTS], 2)
        value, gradient = words(results[0], 6), words(results[1], 6)
        rows = 1
        for length in words(x[_DIMS], x[_RANK])[: x[_RANK] - 1]:
            rows *= length
        is_float32 = (x[_DTYPE] & 0xFFFFFFFF) == _FLOAT32
        point, slope = np.empty(size), np.empty(size)
        for r in range(rows):
            if is_float32:
                point[:] = carray(pointer(x[_DATA]), rows * size, np.float32)[r * size : (r + 1) * size]
            else:
                point[:] = carray(pointer(x[_DATA]), rows * size, np.float64)[r * size : (r + 1) * size]
            code, found = of_density(point, slope)
            if code < 0:
                return failed(api)
            if code == 2 or code == 3:
                found = np.nan
                slope[:] = np.nan
            if is_float32:
                carray(pointer(value[_DATA]), rows, np.float32)[r] = found
                carray(pointer(gradient[_DATA]), rows * size, np.float32)[r * size : (r + 1) * size] = slope
            else:
                carray(pointer(value[_DATA]), rows, np.float64)[r] = found
                carray(pointer(gradient[_DATA]), rows * size, np.float64)[r * size : (r + 1) * size] = slope
        return 0

    return cfunc(types.int64(types.CPointer(types.int64)))(handler), message


def as_pointer() -> Foreign:
    """For numba: an address as a pointer."""
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def as_pointer(typing, address):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            return builder.inttoptr(args[0], context.get_value_type(types.voidptr))

        return types.voidptr(types.int64), code

    return as_pointer


def _call_by_address() -> Foreign:
    """For numba: call the function at an address with one pointer, which returns a pointer."""
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def call(typing, address, argument):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            word = ir.IntType(64)
            return builder.call(builder.inttoptr(args[0], ir.FunctionType(word, [word]).as_pointer()), [args[1]])

        return types.int64(types.int64, types.int64), code

    return call
