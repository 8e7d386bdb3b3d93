"""Runs NumPy's own Python code on tracked arrays: compositions keep its signatures, corner cases and errors.

Most NumPy functions are written in Python in terms of others. They fail on tracked arrays because they begin with `asarray`
and fill arrays from `empty`: here they run in copies of their modules in which these names make tracked arrays.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable

import numpy as np
from numpy._core._multiarray_umath import (
    _array_converter,  # pyright: ignore
    _monotonicity as _binning,  # pyright: ignore
)

from ...base.current_recording import current_recorder
from ...ir.instruction import Computes, Operand, is_tracked
from .. import creating
from ..joining import as_value
from ..matrices.decompositions import real_eig

# NumPy's own, even while recording; see recording/python_state/numpy_namespace.py.
_ORIGINALS = {
    name: getattr(np, name)
    for name in ("array", "asarray", "asanyarray", "ascontiguousarray", "asarray_chkfinite", "zeros", "empty", "ones", "full")
}  # fmt: skip


def _converting(name: str, answer: Callable[..., Operand]) -> Callable[..., Operand]:
    original = _ORIGINALS[name]

    @functools.wraps(original)
    def convert(*args: Operand, **named: Operand) -> Operand:
        value = args[0] if args else next(iter(named.values()), None)
        return answer(*args, **named) if creating.holds_tracked(value) else original(*args, **named)

    return convert


def _instead_of(original: Callable[..., Operand], function: Operand) -> Callable[..., Operand]:
    """A function with NumPy's own, by which its form for lengths that are data is found."""
    function.original = original
    return function


def _filled(name: str, value: float) -> Callable[..., Operand]:
    """np.zeros and its relatives with tracked float arrays, so that tracked values can be written into them."""
    original = _ORIGINALS[name]

    def fill(shape: Operand, dtype: Operand = float, order: str = "C", *, device: str | None = None) -> Operand:
        recorder = current_recorder()
        dtype = np.dtype(dtype)
        if recorder is None or dtype.kind not in "fc":
            return original(shape, dtype, order)
        return recorder.tracked_constant(np.full(shape, value, dtype))

    return _instead_of(original, fill)


def _full(shape: Operand, fill_value: Operand, dtype: Operand = None, order: str = "C") -> Operand:
    recorder = current_recorder()
    if creating.holds_tracked(fill_value):
        return creating.full(shape, fill_value, dtype, order)
    made = _ORIGINALS["full"](shape, fill_value, dtype, order)
    return made if recorder is None or made.dtype.kind not in "fc" else recorder.tracked_constant(made)


def _monotonicity(bins: Operand) -> int:
    """1 if bins never decrease, -1 if they never increase, else 0: a guard."""
    if np.all(bins[1:] >= bins[:-1]):
        return 1
    return -1 if np.all(bins[1:] <= bins[:-1]) else 0


class _Converter:
    """NumPy's own class for arguments that may be lists or subclasses."""

    def __init__(self, *given: Operand) -> None:
        self._arrays = tuple(v if is_tracked(v) or issubclass(type(v), Computes) else as_value(v) for v in given)
        self.scalar_input = tuple(np.ndim(v) == 0 for v in self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __getitem__(self, k: int) -> Operand:
        return self._arrays[k]

    def as_arrays(self, subok: bool = True, pyscalars: str = "") -> tuple[Operand, ...]:
        return self._arrays

    def wrap(self, arr: Operand, /, to_scalar: bool | None = None) -> Operand:
        return arr


class _Broadcast:
    """np.broadcast, of which only shape and dimensions are used."""

    def __init__(self, *arrays: Operand) -> None:
        self.shape = np.broadcast_shapes(*map(np.shape, arrays))
        self.ndim = len(self.shape)


def _real_eigvals(a: Operand) -> Operand:
    """np.linalg.eigvals, of which np.poly takes the real parts."""
    return real_eig(a).eigenvalues


# Replacements by id of NumPy's function.
_standing: dict[int, Callable[..., Operand]] = {
    id(_ORIGINALS[name]): made
    for name, made in (
        ("array", _converting("array", creating.array)), ("asarray", _converting("asarray", creating.asarray)),
        ("asanyarray", _converting("asanyarray", creating.asarray)),
        ("ascontiguousarray", _converting("ascontiguousarray", creating.ascontiguousarray)),
        ("asarray_chkfinite", _converting("asarray_chkfinite", creating.asarray_chkfinite)),
        ("zeros", _filled("zeros", 0.0)), ("empty", _filled("empty", 0.0)), ("ones", _filled("ones", 1.0)), ("full", _full),
    )
} | {id(_array_converter): _Converter, id(_binning): _monotonicity, id(np.broadcast): _Broadcast,
     id(np.linalg.eigvals): _real_eigvals}  # fmt: skip
# C implementations that NumPy's modules call without the dispatch protocol.
_standing |= {id(getattr(f, "_implementation")): f for f in (np.concatenate, np.size, np.ndim)}  # noqa: B009 -- not declared


class _Module(types.ModuleType):
    """A NumPy module as its own functions see it: attributes are replaced."""

    def __init__(self, original: types.ModuleType) -> None:
        super().__init__(original.__name__)
        self.__dict__["_original"] = original

    def __getattr__(self, name: str) -> Operand:
        return _standing_for(getattr(self._original, name))


# Copies by id of a module's namespace, which lives as long as NumPy. Entered only when complete, as threads may read concurrently.
_COPIES: dict[int, dict[str, Operand]] = {}


def _standing_for(value: Operand, made: dict[int, dict[str, Operand]] | None = None) -> Operand:
    """The replacement of a value in the copies of NumPy's modules; `made` has the copies under construction."""
    original = getattr(value, "original", value)
    if id(original) in _standing:
        return _standing[id(original)]
    if isinstance(value, types.ModuleType) and value.__name__.startswith("numpy"):
        return _Module(value)
    if isinstance(value, types.FunctionType) and value.__module__.startswith("numpy"):
        return _within(value, _copy_of(value.__globals__, made))
    return value


def _copy_of(namespace: dict[str, Operand], made: dict[int, dict[str, Operand]] | None = None) -> dict[str, Operand]:
    """A copy of a module's namespace whose functions use the copy as their globals."""
    known = _COPIES.get(id(namespace)) or (made or {}).get(id(namespace))
    if known is not None:
        return known
    is_first = made is None
    made = {} if made is None else made
    copied = made[id(namespace)] = dict(namespace)
    copied.update({name: _standing_for(value, made) for name, value in namespace.items()})
    if is_first:
        _COPIES.update(made)
    return copied


def _within(function: types.FunctionType, namespace: dict[str, Operand]) -> types.FunctionType:
    made = types.FunctionType(function.__code__, namespace, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__dict__["is_numpys_own"] = True
    return made


def own_code(function: Callable[..., object]) -> Callable[..., Operand]:
    """The Python code of one of NumPy's functions, on tracked arrays."""

    @functools.wraps(function)
    def call(*args: Operand, **named: Operand) -> Operand:
        return recorded_code(function)(*args, **named)

    del call.__wrapped__
    return call


@functools.cache
def recorded_code(function: Operand) -> Callable[..., Operand]:
    implementation = function._implementation
    return _within(implementation, _copy_of(implementation.__globals__))


def method_code(method: types.FunctionType) -> Callable[..., Operand]:
    """The Python code of a method of one of NumPy's classes, on tracked arrays."""
    return _within(method, _copy_of(method.__globals__))


def table(functions: Iterable[Callable[..., object]]) -> dict[Callable[..., object], Callable[..., Operand]]:
    return {function: own_code(function) for function in functions}


FUNCTIONS = table((
    np.angle, np.append, np.apply_over_axes, np.array_equal, np.array_equiv, np.array_split, np.astype, np.atleast_1d, np.atleast_2d,
    np.atleast_3d, np.average, np.block, np.common_type, np.corrcoef, np.cov, np.cumulative_prod, np.cumulative_sum,
    np.delete, np.diag_indices_from, np.diagflat, np.digitize, np.dsplit, np.dstack, np.ediff1d, np.extract, np.geomspace, np.gradient,
    np.histogram2d, np.histogram_bin_edges,
    np.hsplit, np.imag, np.insert, np.intersect1d, np.iscomplex, np.isneginf, np.isposinf, np.isreal, np.ix_, np.logspace,
    np.matrix_transpose, np.nanargmax, np.nanargmin, np.nancumprod, np.nancumsum, np.nanpercentile, np.nanquantile, np.percentile, np.poly,
    np.polyadd, np.polyder, np.polydiv, np.polyfit, np.polyint, np.polysub, np.polyval, np.quantile, np.real_if_close, np.resize,
    np.rollaxis, np.rot90, np.select, np.setxor1d, np.split, np.trapezoid, np.trim_zeros, np.triu_indices_from, np.tril_indices_from,
    np.union1d, np.unique_all, np.unique_counts, np.unique_inverse, np.unique_values, np.unstack, np.unwrap, np.vander, np.vsplit,
    np.linalg.cross, np.linalg.diagonal, np.linalg.matrix_norm, np.linalg.matrix_power,
    np.linalg.matrix_transpose, np.linalg.multi_dot, np.linalg.tensordot, np.linalg.tensorinv, np.linalg.vector_norm,
))  # fmt: skip


def _histogramdd(sample: Operand, *args: Operand, **named: Operand) -> Operand:
    """np.histogramdd; a list has the coordinates one after the other, an array the points."""
    points = np.transpose(as_value(sample)) if isinstance(sample, (list, tuple)) else sample
    return own_code(np.histogramdd)(points, *args, **named)


FUNCTIONS[np.histogramdd] = _histogramdd
