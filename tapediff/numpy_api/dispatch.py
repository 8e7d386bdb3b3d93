"""The two NumPy protocols: dispatch a ufunc or function called on tracked arrays to the op or composition that implements it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import NoReturn, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from ..base.source_location import scipy_function, user_site
from ..errors import UnsupportedFunction
from ..ir.instruction import Operand, is_tracked
from ..ops import BY_FUNCTION, BY_SCIPY_NAME
from ..ops.elementwise.arithmetic import power
from ..ops.elementwise.comparison import MASK_OPS
from . import creating, elementwise, joining, reducing, shaping, writing
from .alternatives import instead_of
from .complex_numbers import dispatch as complex_dispatch, fourier
from .composed import ignoring_nan, ordering, per_element, special_functions, table as composed, ufunc_methods
from .creating import arrays
from .elementwise import as_mask
from .joining import as_value
from .kinds import NUMPYS, converted
from .matrices import einsum, linear_algebra, products
from .whole_numbers import WholeNumber, ufunc_operands

# A function of NumPy or SciPy, as users call it.
NumpyFunction: TypeAlias = Callable[..., object]

_UFUNC_COMPOSITIONS: dict[NumpyFunction, Callable[..., Operand]] = {
    np.power: power,
    np.float_power: elementwise.float_power,
    np.positive: elementwise.positive,
    np.fabs: elementwise.fabs,
    np.heaviside: elementwise.heaviside,
    np.logaddexp2: elementwise.logaddexp2,
    np.deg2rad: elementwise.deg2rad,
    np.radians: elementwise.deg2rad,
    np.rad2deg: elementwise.rad2deg,
    np.degrees: elementwise.rad2deg,
    np.divmod: lambda x, y: (np.floor_divide(x, y), np.remainder(x, y)),
    np.invert: lambda x: ~x,
    np.bitwise_and: lambda x, y: x & y if is_tracked(x) else y & x,
    np.bitwise_or: lambda x, y: x | y if is_tracked(x) else y | x,
    np.bitwise_xor: lambda x, y: x ^ y if is_tracked(x) else y ^ x,
    np.matmul: products.matmul,
    np.vecdot: products.vecdot,
    **composed.UFUNCS,
}

# Unary and binary ufuncs that are a single op: a fast path from the call to the tape.
UNARY, BINARY = (
    {
        function: op
        for function, op in BY_FUNCTION.items()
        if isinstance(function, np.ufunc)
        and function.nin == count
        and function.signature is None
        and op not in MASK_OPS
        and function not in _UFUNC_COMPOSITIONS
    }
    for count in (1, 2)
)

_REDUCE: dict[NumpyFunction, Callable[..., Operand]] = {
    np.add: reducing.sum,
    np.multiply: reducing.prod,
    np.maximum: reducing.amax,
    np.minimum: reducing.amin,
    np.logical_and: reducing.all,
    np.logical_or: reducing.any,
}
_ACCUMULATE: dict[NumpyFunction, Callable[..., Operand]] = {np.add: reducing.cumsum, np.multiply: reducing.cumprod}

FUNCTIONS: dict[NumpyFunction, Callable[..., Operand]] = {
    **composed.FUNCTIONS, **fourier.FUNCTIONS,
    np.where: elementwise.where, np.clip: elementwise.clip, np.around: elementwise.around, np.round: elementwise.around,
    np.nan_to_num: elementwise.nan_to_num, np.sinc: elementwise.sinc, np.i0: elementwise.i0, np.isclose: elementwise.isclose,
    np.allclose: elementwise.allclose, np.fix: np.trunc,
    np.sum: reducing.sum, np.mean: reducing.mean, np.var: reducing.var, np.std: reducing.std, np.prod: reducing.prod,
    np.diff: reducing.diff, np.cumsum: reducing.cumsum, np.cumprod: reducing.cumprod, np.max: reducing.amax, np.min: reducing.amin,
    np.amax: reducing.amax, np.amin: reducing.amin, np.ptp: reducing.ptp, np.all: reducing.all, np.any: reducing.any,
    np.count_nonzero: reducing.count_nonzero, np.argmax: reducing.argmax, np.argmin: reducing.argmin,
    np.nansum: ignoring_nan.nansum, np.nanprod: ignoring_nan.nanprod, np.nanmax: ignoring_nan.nanmax,
    np.nanmin: ignoring_nan.nanmin, np.nanmean: ignoring_nan.nanmean, np.nanvar: ignoring_nan.nanvar, np.nanstd: ignoring_nan.nanstd,
    np.reshape: shaping.reshape, np.ravel: shaping.ravel, np.transpose: shaping.transpose, np.swapaxes: shaping.swapaxes,
    np.moveaxis: shaping.moveaxis, np.expand_dims: shaping.expand_dims, np.squeeze: shaping.squeeze,
    np.broadcast_to: shaping.broadcast_to, np.broadcast_arrays: shaping.broadcast_arrays,
    np.concatenate: joining.concatenate, np.stack: joining.stack, np.vstack: joining.vstack, np.hstack: joining.hstack,
    np.column_stack: joining.column_stack, np.flip: shaping.flip, np.roll: shaping.roll, np.tile: shaping.tile, np.repeat: shaping.repeat,
    np.diagonal: shaping.diagonal, np.diag: shaping.diag, np.trace: shaping.trace, np.tril: shaping.tril, np.triu: shaping.triu,
    np.copy: arrays(shaping.copy),
    np.zeros_like: arrays(creating.zeros_like), np.empty_like: arrays(creating.zeros_like), np.ones_like: arrays(creating.ones_like),
    np.full_like: arrays(creating.full_like), np.linspace: creating.linspace, np.fliplr: lambda m: m[:, ::-1], np.flipud: lambda m: m[::-1],
    np.shape: lambda a: a.shape, np.ndim: lambda a: a.ndim, np.size: shaping.size,
    np.dot: products.dot, np.inner: products.inner, np.outer: products.outer, np.vdot: products.vdot,
    np.tensordot: arrays(products.tensordot), np.kron: products.kron, np.einsum: einsum.einsum,
    np.linalg.cholesky: linear_algebra.cholesky, np.linalg.solve: linear_algebra.solve, np.linalg.inv: linear_algebra.inv,
    np.linalg.slogdet: linear_algebra.slogdet, np.linalg.norm: linear_algebra.norm, np.linalg.outer: products.outer_of_vectors,
    np.linalg.matmul: products.matmul, np.linalg.det: linear_algebra.det, np.linalg.eigh: linear_algebra.eigh,
    np.linalg.eigvalsh: linear_algebra.eigvalsh,
    np.argsort: ordering.argsort, np.sort: ordering.sort, np.take_along_axis: ordering.take_along_axis,
    np.searchsorted: ordering.searchsorted, np.median: ordering.median, np.nonzero: ordering.nonzero,
    np.flatnonzero: ordering.flatnonzero, np.argwhere: ordering.argwhere,
    np.piecewise: arrays(ordering.piecewise), np.interp: ordering.interp,
    np.iscomplexobj: lambda x: False, np.isrealobj: lambda x: True, np.real: lambda val: val,
}  # fmt: skip

# Functions that change their first argument and return nothing.
WRITERS: dict[NumpyFunction, Callable[..., Operand]] = {
    np.copyto: writing.copyto, np.put: writing.put, np.place: writing.place, np.putmask: writing.putmask,
    np.fill_diagonal: writing.fill_diagonal, np.put_along_axis: writing.put_along_axis,
}  # fmt: skip

METHODS: dict[str, Callable[..., Operand]] = {
    **composed.METHODS,
    "sum": reducing.sum, "mean": reducing.mean, "var": reducing.var, "std": reducing.std, "prod": reducing.prod,
    "cumsum": reducing.cumsum, "cumprod": reducing.cumprod, "max": reducing.amax, "min": reducing.amin, "all": reducing.all,
    "any": reducing.any, "argmax": reducing.argmax, "argmin": reducing.argmin, "argsort": ordering.argsort,
    "clip": elementwise.clipped, "round": elementwise.around, "copy": shaping.method_copy, "ravel": shaping.ravel,
    "flatten": shaping.flatten, "squeeze": shaping.squeeze, "swapaxes": shaping.swapaxes, "diagonal": shaping.diagonal,
    "trace": shaping.trace, "repeat": shaping.repeat, "dot": products.dot, "nonzero": ordering.nonzero,
    "searchsorted": ordering.searchsorted, "ptp": reducing.ptp,
    "fabs": elementwise.fabs, "sort": writing.sort_in_place, "fill": writing.fill, "put": writing.put,
    # NumPy's object loops call methods, named after unary functions, on each element of an object array.
    **{function.__name__: op for function, op in BY_FUNCTION.items() if isinstance(function, np.ufunc) and function.nin == 1},
}  # fmt: skip


def call_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Operand, ...], kwargs: dict[str, Operand]) -> Operand:
    if complex_dispatch.concerns(inputs, kwargs):
        return complex_dispatch.call_ufunc(ufunc, method, inputs, kwargs)
    if method == "at":
        return writing.at(ufunc, *inputs)
    if method in ("accumulate", "reduceat") and isinstance(kwargs.get("axis"), tuple) and len(kwargs["axis"]) == 1:
        kwargs["axis"] = kwargs["axis"][0]
    if any(type(value) is WholeNumber for value in inputs):
        inputs = tuple(ufunc_operands(ufunc, method, inputs))
    out, casts = kwargs.pop("out", None), kwargs.get("casting") == "unsafe"
    if method == "__call__" and type(out) is tuple and len(out) == 1 and kwargs.get("where", True) is not True:
        mask = kwargs.pop("where")
        _require_tracked_out(ufunc.__name__, out)
        return writing.deliver_into(out[0], np.where(mask, ufunc(*inputs, **kwargs), out[0]), None if casts else ufunc.__name__)
    if out is None or all(o is None for o in out):
        return _ufunc_result(ufunc, method, inputs, kwargs)
    _require_tracked_out(ufunc.__name__, out)
    if any(is_tracked(value) or isinstance(value, (list, tuple)) for value in inputs):
        result = _ufunc_result(ufunc, method, inputs, kwargs)
    else:
        result = getattr(ufunc, method)(*inputs, **kwargs)
    results = result if isinstance(result, tuple) else (result,)
    # A result is broadcast over `out`, except along the axes of a matrix product.
    written = [
        value if o is None else writing.deliver_into(
            o, value, None if casts else ufunc.__name__,
            broadcasts=method == "__call__" and (ufunc.signature is None or np.shape(value)[-2:] == o.shape[-2:]),
        )
        for o, value in zip(out, results)
    ]  # fmt: skip
    return tuple(written) if isinstance(result, tuple) else written[0]


def _require_tracked_out(name: str, out: tuple[Operand, ...]) -> None:
    if any(o is not None and not is_tracked(o) for o in out):
        unsupported(name, "writing tracked values into a plain array",
                    "use td.zeros(...) for the array, or drop out= (x = x + y instead of x += y)", is_write=True)  # fmt: skip


def _ufunc_result(ufunc: np.ufunc, method: str, inputs: tuple[Operand, ...], kwargs: dict[str, Operand]) -> Operand:
    name = ufunc.__name__
    if per_element.is_of_python(ufunc) and method == "__call__":
        return per_element.of_python(ufunc, inputs)
    if method == "__call__":
        composition, op = _UFUNC_COMPOSITIONS.get(ufunc), BY_FUNCTION.get(ufunc)
        if composition is None and op is None and ufunc not in NUMPYS:  # SciPy's ufuncs are found by name
            scipys = name.removeprefix("_")  # for zeta, which is called through a Python function
            composition, op = special_functions.COMPOSITIONS.get(scipys), BY_SCIPY_NAME.get(scipys)
        if composition is None and op is None:
            unsupported(_name_of_ufunc(ufunc), None, instead_of(_name_of_ufunc(ufunc)))
        casting = kwargs.pop("casting", "same_kind")
        kwargs.pop("subok", None)
        kwargs.pop("order", None)
        if kwargs.get("dtype") is not None:
            inputs = _as_the_loop_takes(ufunc, inputs, kwargs["dtype"], casting)
        elif casting not in ("same_kind", "unsafe"):
            # Raises as NumPy does. Arrays without entries, since `resolve_dtypes` of Python's numbers crashes in NumPy 2.4.
            ufunc(*(v if type(v) in _NUMBERS else np.empty((0,) * max(1, np.ndim(v)), as_value(v).dtype) for v in inputs), casting=casting)
        kwargs.pop("dtype", None)
        if kwargs.get("where") is True:
            del kwargs["where"]
        if kwargs and ufunc.signature is not None and composition is not None:
            return _called(name, composition, inputs, kwargs)
        if "where" in kwargs:
            unsupported(name, "the argument where= without out=", "use np.where(mask, value, other)")
        if kwargs:
            unsupported(name, f"the argument {sorted(kwargs)[0]}=", "leave it out; dtype= gives the type of the result")
        if composition is not None:
            return composition(*(as_value(v) if isinstance(v, (list, tuple)) else v for v in inputs))
        return op(*map(as_mask, inputs)) if op in MASK_OPS else op(*inputs)  # type: ignore[misc]
    if method == "reduce" and ufunc in _REDUCE:
        kwargs.setdefault("axis", 0)
        return _called(name, _REDUCE[ufunc], inputs, kwargs)
    if method == "accumulate" and ufunc in _ACCUMULATE:
        return _called(name, _ACCUMULATE[ufunc], inputs, {"axis": 0, **kwargs})
    if ufunc_methods.concerns(ufunc, method):
        return ufunc_methods.METHODS[method](ufunc, *inputs, **kwargs)
    if method == "outer" and ufunc.nin == 2:
        left, right = inputs
        return ufunc(np.reshape(left, np.shape(left) + (1,) * np.ndim(right)), right, **kwargs)
    return unsupported(f"{name}.{method}", None, instead_of(f"{name}.{method}"))


_NUMBERS = (int, float, complex)
_LOGIC = (np.logical_and, np.logical_or, np.logical_xor, np.logical_not)  # their loops take numbers as masks


def _as_the_loop_takes(ufunc: np.ufunc, inputs: tuple[Operand, ...], dtype: DTypeLike, casting: Operand) -> tuple[Operand, ...]:
    """The operands in the dtypes of the loop whose results have a dtype, which is that of the operands for most ufuncs."""
    dtype = np.dtype(getattr(dtype, "type", dtype))  # a class of dtypes stands for its dtype
    kinds = tuple(type(v) if type(v) in _NUMBERS else as_value(v).dtype for v in inputs)
    if ufunc in _LOGIC and dtype == np.bool_:
        return inputs
    signature = (*[None] * ufunc.nin, *[dtype] * ufunc.nout)
    wanted = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout), signature=signature, casting="unsafe")
    for value, kind in zip(inputs, wanted):
        if hasattr(value, "dtype") and not np.can_cast(value.dtype, kind, casting):
            raise TypeError(f"Cannot cast ufunc '{ufunc.__name__}' input from {value.dtype!r} to {kind!r} with casting rule '{casting}'")
    return tuple(converted(v, kind) if is_tracked(v := as_value(value)) else v.astype(kind) for value, kind in zip(inputs, wanted))


def _name_of_ufunc(ufunc: np.ufunc) -> str:
    """NumPy's name, or SciPy's with its module; if a SciPy function called the ufunc, the name of the function that the user called."""
    name = ufunc.__name__
    if ufunc in NUMPYS:
        return name
    return scipy_function() or f"scipy.special.{name}"


def call_function(function: NumpyFunction, args: tuple[Operand, ...], kwargs: dict[str, Operand]) -> Operand:
    if complex_dispatch.concerns(args, kwargs):
        return complex_dispatch.call_function(function, args, kwargs, FUNCTIONS)
    implementation = FUNCTIONS.get(function) or WRITERS.get(function)
    if implementation is not None and not kwargs and len(args) <= _place_of_out(function):
        return shaping.as_numpy_lays_out(implementation(*args), function, args, kwargs)
    name = f"{getattr(function, '__module__', 'numpy')}.{getattr(function, '__name__', function)}"
    if implementation is None:
        name = name.removeprefix("numpy.")
        unsupported(name, None, instead_of(name))
    kwargs = {key: v for key, v in kwargs.items() if v is not np._NoValue and not (key == "device" and v in (None, "cpu"))}
    args, kwargs, out = _without_out(function, args, kwargs)
    name = name.removeprefix("numpy.")
    if out is None:
        return shaping.as_numpy_lays_out(_called(name, implementation, args, kwargs), function, args, kwargs)
    _require_tracked_out(name, (out,))
    if any(map(_holds_tracked, args)):
        result = _called(name, implementation, args, kwargs)
    else:
        result = function(*args, **kwargs)
    return writing.deliver_into(out, result, name)


def call_method(name: str, array: Operand, args: tuple[Operand, ...], kwargs: dict[str, Operand]) -> Operand:
    args, kwargs, out = _without_out(getattr(np, name, None), (array, *args), kwargs)
    if out is None:
        numpys = lambda a, *rest, **named: getattr(a, name)(*rest, **named)  # noqa: E731 -- its name is its use
        return shaping.as_numpy_lays_out(METHODS[name](*args, **kwargs), numpys, args, kwargs)
    _require_tracked_out(name, (out,))
    return writing.deliver_into(out, METHODS[name](*args, **kwargs), name)


def _without_out(
    function: NumpyFunction | None, args: tuple[Operand, ...], kwargs: dict[str, Operand]
) -> tuple[tuple[Operand, ...], dict[str, Operand], Operand]:
    """The arguments without `out`, and `out`."""
    if "out" in kwargs:
        out = kwargs["out"]
        out = out[0] if isinstance(out, tuple) and len(out) == 1 else out
        return args, {k: v for k, v in kwargs.items() if k != "out"}, out
    place = _place_of_out(function) if function is not None else 99
    if len(args) > place:
        return (*args[:place], *args[place + 1 :]), kwargs, args[place]
    return args, kwargs, None


@cache
def _place_of_out(function: NumpyFunction) -> int:
    """The number of positional arguments of a NumPy function before `out`."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return 99
    positional = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    return positional.index("out") if "out" in positional else 99


def _holds_tracked(value: Operand) -> bool:
    return is_tracked(value) or (isinstance(value, (list, tuple)) and any(map(_holds_tracked, value)))


def _called(name: str, implementation: Callable[..., Operand], args: tuple[Operand, ...], kwargs: dict[str, Operand]) -> Operand:
    unknown = [k for k in kwargs if k not in _parameters(implementation)]
    if unknown:
        unsupported(name, f"the argument {unknown[0]}=", "leave it out, or write the function out with supported ones")
    return implementation(*args, **kwargs)


def _parameters(implementation: Callable[..., Operand]) -> Operand:
    code = getattr(implementation, "__code__", None)
    if code is None or code.co_flags & 0x08:
        return _Anything()
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


class _Anything:
    """The parameters of a function that takes any keyword."""

    def __contains__(self, _: object) -> bool:
        return True


def unsupported(name: str, what: str | None, fix: str, *, is_write: bool = False) -> NoReturn:
    subject = name if name.startswith("scipy") else f"np.{name}"
    error = UnsupportedFunction(
        f"{subject} is not supported on tracked arrays" + (f": {what}" if what else ""), at=user_site(3), fix=fix
    )
    error.is_write = is_write
    raise error
