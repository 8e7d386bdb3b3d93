"""Dispatches ufuncs, functions and methods called on complex values to their implementations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np

from ...ir.instruction import Operand, Params, is_tracked
from ...ops import Op
from ..kinds import NUMPYS
from . import arithmetic, elementary, fourier, functions, linear_algebra
from .functions import Function, bilinear
from .pair import Pair, is_complex, parts, refused

NO_ORDER = "complex numbers have no order in derivatives: use np.abs(z), z.real or z.imag"

UFUNCS: dict[Operand, Function] = {
    np.add: arithmetic.add, np.subtract: arithmetic.subtract, np.multiply: arithmetic.multiply, np.divide: arithmetic.divide,
    np.negative: arithmetic.negative, np.positive: arithmetic.positive, np.conjugate: arithmetic.conjugate,
    np.absolute: arithmetic.absolute, np.square: arithmetic.square, np.reciprocal: arithmetic.reciprocal, np.sign: arithmetic.sign,
    np.equal: arithmetic.equal, np.not_equal: arithmetic.not_equal, np.isnan: arithmetic.isnan, np.isinf: arithmetic.isinf,
    np.isfinite: arithmetic.isfinite, np.power: elementary.power, np.float_power: elementary.power,
    **{f: arithmetic.logical(f) for f in (np.logical_and, np.logical_or, np.logical_not, np.logical_xor)},
    **{getattr(np, name): getattr(elementary, name) for name in (
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh",
        "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh",
    )},
    np.matmul: bilinear(np.matmul), np.vecdot: bilinear(np.vecdot, conjugates=0), np.matvec: bilinear(np.matvec),
    np.vecmat: bilinear(np.vecmat, conjugates=0),
}  # fmt: skip

_REDUCE: dict[np.ufunc, Function] = {np.add: np.sum, np.multiply: np.prod}
_ACCUMULATE: dict[np.ufunc, Function] = {np.add: np.cumsum, np.multiply: np.cumprod}

# Recorded by running NumPy's own code, as for real arrays; it uses only functions that are implemented here.
OWN = frozenset((
    np.angle, np.corrcoef, np.cov, np.iscomplex, np.isreal, np.polyadd, np.polyder, np.polyint, np.polysub, np.polyval,
    np.real_if_close, np.trapezoid, np.vander,
))  # fmt: skip
# The position of dtype, which has to be complex128.
_PLACES_OF_DTYPE = {
    np.sum: 2, np.mean: 2, np.prod: 2, np.cumsum: 2, np.cumprod: 2, np.var: 2, np.std: 2, np.trace: 4, np.linspace: 5, np.concatenate: 99,
    np.stack: 99, np.vstack: 99, np.hstack: 99, np.cumulative_sum: 99, np.linalg.trace: 99,
}  # fmt: skip

def _dtype_of(value: Operand) -> Operand:
    return value.dtype if is_tracked(value) or is_complex(value) else value


FUNCTIONS: dict[Function, Function] = {
    np.result_type: lambda *values: np.result_type(*map(_dtype_of, values)),
    np.can_cast: lambda from_, to, *args, **named: np.can_cast(_dtype_of(from_), _dtype_of(to), *args, **named),
    np.common_type: lambda *arrays: np.complex128,
    **functions.PARTWISE, **functions.PRODUCTS, **functions.COMPOSED, **fourier.FUNCTIONS, **linear_algebra.FUNCTIONS,
}  # fmt: skip

# Methods of complex arrays, each with the function of the same arguments.
METHODS: dict[str, Function] = {
    **{name: getattr(np, name) for name in (
        "sum", "mean", "prod", "cumsum", "cumprod", "var", "std", "dot", "ravel", "swapaxes", "squeeze", "diagonal", "trace", "repeat",
        "take", "copy", "all", "any", "nonzero", "round",
    )},
    "conj": np.conjugate, "conjugate": np.conjugate, "flatten": lambda a, *order: np.copy(np.ravel(a, *order)),
    "compress": lambda a, condition, axis=None: np.compress(condition, a, axis),
}  # fmt: skip


def call_op(op: Op, args: Sequence[Operand], params: Params) -> Operand:
    """Evaluate an op with a complex operand: call the NumPy function that the op implements."""
    answer = next((UFUNCS[f] for f in (*op.answers, getattr(np, op.name, None)) if f in UFUNCS), None)
    if answer is None:
        raise refused(op.name, NO_ORDER if op.compares is not None else "write it with z.real and z.imag")
    return answer(*args)


def call_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Operand, ...], named: dict[str, Operand]) -> Operand:
    """Call a ufunc with a complex argument or `out`."""
    named = dict(named)
    name = ufunc.__name__
    if method == "at":
        array, index, *values = inputs
        return _at(ufunc, array, index, *values)
    out = named.pop("out", None)
    mask = named.pop("where", True)
    for ignored in ("casting", "subok", "order"):
        named.pop(ignored, None)
    if (dtype := named.pop("dtype", None)) is not None and np.dtype(dtype) != np.complex128:
        raise refused(f"np.{name} with dtype={dtype}", "leave it out: complex numbers are complex128 here")
    target = out[0] if isinstance(out, tuple) else out
    if target is None and mask is not True and method == "__call__":
        raise refused(f"np.{name} with where= but without out=", "use np.where(mask, value, other)")
    result = _result(ufunc, method, inputs, named, mask)
    if target is None:
        return result
    return deliver_into(target, result if mask is True or method != "__call__" else np.where(mask, result, target), name)


def _result(ufunc: np.ufunc, method: str, inputs: tuple[Operand, ...], named: dict[str, Operand], mask: Operand) -> Operand:
    name = ufunc.__name__
    if method == "__call__":
        answer = UFUNCS.get(ufunc)
        if answer is None:
            raise refused(f"np.{name}" if ufunc in NUMPYS else f"scipy.special.{name}", _instead_of(ufunc))
        return answer(*inputs, **named)
    if method == "reduce" and ufunc in _REDUCE:
        if mask is not True:
            named["where"] = mask
        return _REDUCE[ufunc](*inputs, **{"axis": 0, **{k: v for k, v in named.items() if v is not np._NoValue}})
    if method == "accumulate" and ufunc in _ACCUMULATE:
        return _ACCUMULATE[ufunc](*inputs, **{"axis": 0, **named})
    if method == "outer":
        left, right = inputs
        return ufunc(np.reshape(left, np.shape(left) + (1,) * np.ndim(right)), right, **named)
    raise refused(f"np.{name}.{method}", _instead_of(ufunc))


def _at(ufunc: np.ufunc, array: Operand, index: Operand, *values: Operand) -> None:
    if ufunc not in (np.add, np.subtract) or not is_complex(array):
        raise refused(f"np.{ufunc.__name__}.at", "write z[k] = ... for one index after the other")
    for target, part in zip(parts(array), parts(values[0])):
        ufunc.at(target, index, part)


def deliver_into(target: Operand, result: Operand, name: str) -> Operand:
    """Write a result into the array given as out=, by NumPy's rules for casting."""
    if issubclass(type(target), Pair):
        if np.shape(result) != target.shape and np.broadcast_shapes(np.shape(result), target.shape) != target.shape:
            raise ValueError(
                f"non-broadcastable output operand with shape {target.shape} doesn't match the broadcast shape {np.shape(result)}"
            )
        target[...] = result
        return target
    if is_tracked(target):
        if is_complex(result):
            raise TypeError(f"Cannot cast ufunc '{name}' output from dtype('complex128') to {target.dtype!r} with casting rule 'same_kind'")
        target[...] = result
        return target
    error = refused(f"np.{name} with a plain array to write to", "use td.zeros(n, complex) for it, or drop out=")
    error.is_write = True
    raise error


def _instead_of(function: Callable[..., object]) -> str:
    if function in (np.less, np.less_equal, np.greater, np.greater_equal, np.maximum, np.minimum, np.fmax, np.fmin):
        return NO_ORDER
    return "write it with functions that docs/complex.md lists, or with z.real and z.imag"


_ORDERED = frozenset((
    np.max, np.min, np.amax, np.amin, np.argmax, np.argmin, np.sort, np.argsort, np.median, np.percentile, np.quantile, np.clip, np.ptp,
    np.partition, np.argpartition, np.searchsorted, np.unique, np.lexsort, np.sort_complex, np.nanmax, np.nanmin,
))  # fmt: skip


def call_function(
    function: Function, args: tuple[Operand, ...], named: dict[str, Operand], of_real: Mapping[Function, Function]
) -> Operand:
    """Call a NumPy function with a complex argument; `of_real` implements functions of real arguments."""
    answer = of_real[function] if function in OWN else FUNCTIONS.get(function)
    module = getattr(function, "__module__", "numpy")
    if answer is None:
        name = f"{'np' + module.removeprefix('numpy')}.{function.__name__}"
        raise refused(name, NO_ORDER if function in _ORDERED else _instead_of(function))
    named = {key: v for key, v in named.items() if v is not np._NoValue and not (key == "device" and v in (None, "cpu"))}
    out = named.pop("out", None)
    if function in _PLACES_OF_DTYPE:
        place = _PLACES_OF_DTYPE[function]
        dtype = args[place] if place < len(args) else named.pop("dtype", None)
        if dtype is not None and np.dtype(dtype) != np.complex128:
            raise refused(f"np.{function.__name__} with dtype={np.dtype(dtype)}", "take z.real; results of complex numbers are complex128")
        args = tuple(None if k == place else v for k, v in enumerate(args))
    if named:
        try:
            inspect.signature(answer).bind(*args, **named)
        except TypeError as error:
            raise refused(f"np.{function.__name__} with this argument", "leave it out, or take z.real and z.imag", str(error)) from None
    result = answer(*args, **named)
    return result if out is None else deliver_into(out, result, function.__name__)


def concerns(args: tuple[Operand, ...], named: dict[str, Operand]) -> bool:
    """True if an argument, or an entry of a list, is complex. Called at every call of a NumPy function while recording."""
    for value in args:
        if (look := _look(type(value))) and look(value):
            return True
    return bool(named) and concerns(tuple(named.values()), {})


@cache
def _look(kind: type) -> Callable[[Operand], bool] | None:
    """The test for complex values of a type; None if the type has none."""
    if issubclass(kind, (list, tuple)):
        return lambda value: concerns(tuple(value), {})
    return is_complex if issubclass(kind, (Pair, complex, np.ndarray, np.generic)) else None
