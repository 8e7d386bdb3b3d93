"""NumPy's functions of compressed arrays: entry by entry, or of all entries with the others filled or left out.

Each returns None for arguments that need the masks at this point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import DTypeLike

from ...base.current_recording import current_recorder
from ...ir.instruction import BOOL, Operand, is_tracked
from ...numpy_api.creating import holds_tracked
from ...numpy_api.kinds import Axis
from ...numpy_api.reducing import axes_of
from .compressed_lengths import (
    aligned,
    are_alike,
    broadcast,
    is_compressed,
    of_full_length,
    raise_where,
)
from .compressed_shapes import (
    append,
    array_split,
    column_stack,
    concatenate,
    expand_dims,
    hstack,
    repeat,
    roll,
    squeeze,
    stack,
    swapaxes,
    take,
    transpose,
    vstack,
)

# Maximum number of weights of a convolution.
_MOST_WEIGHTS = 64


# Elementwise functions


def elementwise(function: Callable[..., Operand], args: Sequence[Operand], behind: int = 0, **named: Operand) -> Operand:
    """A function of entries; None where lengths are not known to agree.

    Args:
        behind: how many axes the function adds at the end.
    """
    like: Operand = next((value for value in args if is_compressed(value)), None)
    found = None if like is None or any(map(np.ndim, named.values())) else broadcast(args)
    if found is None:
        return None
    made = _without_warnings(function, found[0], named)
    kept = {axis - behind: value for axis, value in found[1].items()}
    if not all(map(is_tracked, made if type(made) is tuple else (made,))):
        return None  # complex numbers
    make: Operand = type(like)
    return tuple(make(part, kept) for part in made) if type(made) is tuple else make(made, kept)


@np.errstate(all="ignore")
def _without_warnings(function: Callable[..., Operand], operands: list[Operand], named: dict[str, Operand]) -> Operand:
    """Compute entries of which NumPy does not compute all."""
    return function(*operands, **named)


def elementwise_form(function: Callable[..., Operand], *args: Operand, **named: Operand) -> Operand:
    return elementwise(function, args, **named)


def _by_entries(function: Callable[..., Operand]) -> Callable[..., Operand]:
    return lambda *args, **named: elementwise(function, args, **named)


def _of_vectors(function: Callable[..., Operand]) -> Callable[..., Operand]:
    """A function that is only known for one axis."""
    return lambda a, *args, **named: function(a, *args, **named) if is_compressed(a) and a.ndim == 1 else None


# Reductions


def _reduction(
    function: Callable[..., Operand], fills: Callable[[np.dtype], Operand] | None = None, *, may_be_empty: bool = False
) -> Callable[..., Operand]:
    """A reduction by NumPy's where=; or, for extrema, of entries in which the others are filled."""

    def reduced(a: Operand, axis: Axis = None, *, keepdims: bool = False, **named: Operand) -> Operand:
        if not is_compressed(a) or any(map(np.ndim, named.values())):
            return None
        gone = [k - a.ndim for k in axes_of(axis, a.ndim)]
        over = [k for k in a.kept if k in gone]
        if fills is None:
            where = {"where": np.broadcast_to(a.mask_of(over), a.whole.type.shape)} if over else {}
            made = function(a.whole, axis=tuple(gone), keepdims=keepdims, **where, **named)
        else:
            if "initial" not in named and not may_be_empty:
                name = f"zero-size array to reduction operation {function.__name__} which has no identity"
                for k in over:
                    raise_where(~np.any(a.kept[k].mask), partial(ValueError, name))
            made = function(a.filled(fills(a.dtype), over), axis=tuple(gone), keepdims=keepdims, **named)
        left = {k if keepdims else k + sum(g > k for g in gone): kept for k, kept in a.kept.items() if k not in gone}
        return type(a)(made, left) if left else made

    return reduced


def _least(dtype: np.dtype) -> Operand:
    return False if dtype == BOOL else -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _largest(dtype: np.dtype) -> Operand:
    return True if dtype == BOOL else np.inf if dtype.kind == "f" else np.iinfo(dtype).max


_sum, _max, _min = _reduction(np.sum), _reduction(np.max, _least), _reduction(np.min, _largest)


def _position(largest: bool) -> Callable[..., Operand]:
    def position(a: Operand, axis: Axis = None) -> Operand:
        name, mask = "argmax" if largest else "argmin", a.kept[-1].mask
        raise_where(~np.any(mask), partial(ValueError, f"attempt to get {name} of an empty sequence"))
        place = (np.argmax if largest else np.argmin)(a.filled((_least if largest else _largest)(a.dtype)))
        return np.maximum(np.take(np.cumsum(mask), place) - 1, 0)

    return _of_vectors(position)


def _average(a: Operand, axis: Axis = None, weights: Operand = None) -> Operand:
    if weights is None:
        return METHODS["mean"](a, axis)
    return np.sum(a * weights) / np.sum(weights) if np.ndim(a) == np.ndim(weights) == 1 else None


def _norm(x: Operand, ord: Operand = None) -> Operand:
    return np.linalg.norm(x.filled(0.0), ord) if ord in (None, 1, 2) else None


# Order


def sort(a: Operand, axis: int | None = -1) -> Operand:
    """Entries in order; a NaN, which NumPy sorts last, fills the rest."""
    if a.ndim > 1:
        return None
    kept = a.kept[-1]
    whole = np.sort(a.filled(np.nan if a.dtype.kind == "f" else _largest(a.dtype)))
    return type(a)(whole, {-1: type(kept).first(kept.count(), kept.extent)})


def _argsort(a: Operand, axis: int | None = -1) -> Operand:
    """Positions in order; those of missing entries, which are the last ones, follow every NaN."""
    made = a.packed()
    whole = np.argsort(made.filled(np.nan if a.dtype.kind == "f" else _largest(a.dtype)), kind="stable")
    return type(a)(whole, made.kept)


def _flatnonzero(a: Operand) -> Operand:
    """Positions among the selected entries."""
    kept = a.kept[-1]
    return type(a)(np.cumsum(kept.mask) - 1, {-1: type(kept)(kept.mask & (a.whole != 0))})


def _nonzero(a: Operand) -> Operand:
    return (_flatnonzero(a),)


def _where(condition: Operand, *others: Operand) -> Operand:
    if not others:
        return _nonzero(condition) if condition.ndim == 1 else None
    return elementwise(np.where, (condition, *others))


def _quantile(a: Operand, q: Operand, axis: Axis = None, *, per: float = 1.0) -> Operand:
    """np.quantile by linear interpolation; `per`: 100 for percentiles."""
    if holds_tracked(q) or is_compressed(q):
        return None
    q = np.asarray(q, float) / per
    if not is_compressed(a) or a.ndim > 1 or a.dtype.kind != "f" or not np.all((q >= 0) & (q <= 1)):
        return None
    mask = a.kept[-1].mask
    raise_where(~np.any(mask), partial(IndexError, "index -1 is out of bounds for axis 0 with size 0"))
    ordered = sort(a).whole
    place = q * (np.sum(np.where(mask, 1.0, 0.0)) - 1.0)
    lower = np.floor(place)
    below = np.take(ordered, lower.astype(np.int64), mode="clip")
    above = np.take(ordered, np.ceil(place).astype(np.int64), mode="clip")
    found = below + (above - below) * (place - lower)
    return np.where(np.any(np.isnan(a.filled(0.0))), np.nan, found)


def _median(a: Operand, axis: Axis = None) -> Operand:
    if a.dtype.kind != "f":
        return None
    ordered, count = sort(a).whole, a.kept[-1].count()
    middle = (np.take(ordered, (count - 1) // 2, mode="clip") + np.take(ordered, count // 2, mode="clip")) * 0.5
    is_missing = np.any(np.isnan(a.filled(0.0))) | (count == 0)
    return np.where(is_missing, np.nan, middle)


def _cumulative(function: Callable[..., Operand], neutral: Operand) -> Callable[..., Operand]:
    def accumulated(a: Operand, axis: int | None = None) -> Operand:
        if axis is None and a.ndim > 1:
            return None
        (place,) = axes_of(0 if axis is None else axis, a.ndim)
        counted = a.astype(np.int64) if a.dtype == BOOL else a
        over = [k for k in a.kept if k == place - a.ndim]
        return type(a)(function(counted.filled(neutral, over), axis=place), a.kept)

    return accumulated


def _diff(a: Operand, n: int = 1, axis: int = -1) -> Operand:
    if n < 0:
        return None
    for _ in range(n):
        a = a[1:] - a[:-1] if a.dtype != BOOL else a[1:] != a[:-1]
    return a


def _trapezoid(y: Operand, x: Operand = None, dx: float = 1.0, axis: int = -1) -> Operand:
    if np.ndim(y) != 1:
        return None
    widths = dx if x is None else np.diff(x)
    return np.sum(widths * (y[1:] + y[:-1]) / 2.0)


def _interp(x: Operand, xp: Operand, fp: Operand, left: Operand = None, right: Operand = None, period: Operand = None) -> Operand:
    last: Operand = None
    if is_compressed(xp) or is_compressed(fp):
        if np.ndim(xp) != 1 or np.ndim(fp) != 1 or period is not None:
            return None
        like = xp if is_compressed(xp) else fp
        points = aligned([(a if is_compressed(a) else of_full_length(a, -1, like), -1) for a in (xp, fp)])
        if points[0] is None:
            return None
        points = [(a if a.dtype.kind == "f" else a.astype(np.float64)).packed() for a in points]
        count, last = points[0].kept[-1].count(), points[0][-1]
        raise_where(count == 0, lambda: ValueError("array of sample points is empty"))
        # Behind the last point the function is constant.
        behind = np.arange(points[0].kept[-1].extent) - (count - 1)
        xp, fp = points[0].filled(last + np.maximum(1.0, np.abs(last)) * behind), points[1].filled(points[1][-1])

    def at(v: Operand) -> Operand:
        found = np.interp(v, xp, fp, left, right, period)
        return found if last is None or right is None else np.where(v > last, right, found)

    return _at_each(at, x)


def _searchsorted(a: Operand, v: Operand, side: Literal["left", "right"] = "left", sorter: Operand = None) -> Operand:
    if not is_compressed(a):
        return _at_each(lambda w: np.searchsorted(a, w, side, sorter), v)
    if sorter is not None or a.dtype == BOOL:
        return None
    made = a.packed()
    filled, count = made.filled(np.inf if a.dtype.kind == "f" else _largest(a.dtype)), made.kept[-1].count()
    return _at_each(lambda w: np.minimum(np.searchsorted(filled, w, side), count), v)


def _at_each(function: Callable[[Operand], Operand], value: Operand) -> Operand:
    return elementwise(function, (value,)) if is_compressed(value) else function(value)


def _convolve(a: Operand, v: Operand, mode: str = "full") -> Operand:
    """The convolution with a few numbers."""
    if np.ndim(a) != 1 or np.ndim(v) != 1:
        return None
    kept = v.packed().kept[-1] if is_compressed(v) else None
    most, count = (len(v),) * 2 if kept is None else (kept.extent, kept.count())
    if not is_compressed(a) or mode not in ("full", "same", "valid") or not 0 < most <= _MOST_WEIGHTS:
        return None
    n = a.shape[0]
    if (kept is not None or mode != "full") and current_recorder().compressed.is_below(n, count):
        return None
    weights, ends = v if kept is None else v.packed().filled(0.0), np.zeros(most - 1)
    a = np.concatenate([ends, a, ends]) if most > 1 else a
    found: Operand = sum((a[most - 1 - k : -k or None] * weights[k] for k in range(1, most)), a[most - 1 :] * weights[0])
    if mode == "full":
        return found if kept is None else found[: n + count - 1]
    return found[count - 1 : n] if mode == "valid" else found[(count - 1) // 2 :][:n]


# Products


def product(a: Operand, b: Operand) -> Operand:
    """a @ b for vectors and matrices; None where lengths are not known to agree."""
    dims = np.ndim(a), np.ndim(b)
    if not set(dims) <= {1, 2}:
        return None
    inner = -1, -2 if dims[1] == 2 else -1
    is_inner = [is_compressed(v) and axis in v.kept for v, axis in zip((a, b), inner)]
    if any(is_inner):
        if not all(is_inner):
            a, b = (v if known else of_full_length(v, axis, b if is_inner[1] else a) for v, axis, known in zip((a, b), inner, is_inner))
        a, b = aligned([(a, inner[0]), (b, inner[1])])
        if a is None:
            return None
    kept = {}
    if is_compressed(a) and -2 in a.kept:
        kept[-2 if dims[1] == 2 else -1] = a.kept[-2]
    if is_compressed(b) and dims[1] == 2 and -1 in b.kept:
        kept[-1] = b.kept[-1]
    like = a if is_compressed(a) else b
    # Also of rows that are not read: a NaN there would reach the derivative of the other factor.
    left, right = (v.filled(0.0) if is_compressed(v) else v for v in (a, b))
    return type(like)(left @ right, kept) if kept else left @ right


def _dot(a: Operand, b: Operand) -> Operand:
    return np.multiply(a, b) if not (np.ndim(a) and np.ndim(b)) else product(a, b)


def _outer(a: Operand, b: Operand) -> Operand:
    return a[:, None] * b[None, :] if np.ndim(a) == np.ndim(b) == 1 else None


# Matrices


def _square(a: Operand) -> Operand:
    """A matrix with the unit matrix in place of rows and columns that are not selected; None if it may not be square."""
    if not is_compressed(a) or a.ndim != 2 or {*a.kept} != {-1, -2} or not are_alike(a.kept[-1], a.kept[-2]):
        return None
    return np.where(a.mask_of(a.kept), a.whole, np.eye(a.kept[-1].extent))


def _solve(function: Callable[..., Operand], a: Operand, b: Operand, *options: Operand, **named: Operand) -> Operand:
    """The solution of a system by a function of a matrix, or of its factor and a flag, and the right-hand side."""
    given: Operand = a[0] if type(a) is tuple else a
    matrix, axis = _square(given), -1 if np.ndim(b) == 1 else -2
    if matrix is None or np.ndim(b) > 2:
        return None
    if not is_compressed(b) or axis not in b.kept:
        b = of_full_length(b, axis, given)
    _, b = aligned([(given, -1), (b, axis)])
    if b is None or not are_alike(given.kept[-1], b.kept[axis]):
        return None
    return type(b)(function((matrix, *a[1:]) if type(a) is tuple else matrix, b.filled(0.0), *options, **named), b.kept)


def _lstsq(a: Operand, b: Operand, rcond: Operand = None) -> Operand:
    """np.linalg.lstsq with more equations than unknowns; rows of zeros change nothing."""
    rows = a.kept.get(-2) if is_compressed(a) and a.ndim == 2 and len(a.kept) == 1 else None
    if rows is None or not is_compressed(b) or {*b.kept} != {-b.ndim} or not are_alike(rows, b.kept[-b.ndim]):
        return None
    if not rows.count() > a.whole.type.shape[1]:
        return None
    return np.linalg.lstsq(a.filled(0.0), b.filled(0.0), rcond)


def _diag(v: Operand, k: int = 0) -> Operand:
    """The diagonal of a matrix of which the same rows and columns are selected, or the matrix of a diagonal."""
    if is_compressed(v) and v.ndim == 1 and not k:
        return type(v)(np.diag(v.whole), {-1: v.kept[-1], -2: v.kept[-1]})
    if k or not is_compressed(v) or v.ndim != 2 or {*v.kept} != {-1, -2} or not are_alike(v.kept[-1], v.kept[-2]):
        return None
    return type(v)(np.diag(v.whole), {-1: v.kept[-1]})


def _trace(a: Operand) -> Operand:
    diagonal = _diag(a)
    return None if diagonal is None else np.sum(diagonal)


def _ix(*args: Operand) -> Operand:
    """np.ix_ of masks, and of arrays of positions."""
    places = [np.nonzero(part)[0] if part.dtype == BOOL else part for part in args]
    if any(np.ndim(place) != 1 for place in places):
        return None
    return tuple(place[(*[None] * k, slice(None), *[None] * (len(args) - k - 1))] for k, place in enumerate(places))


def _number_of_square(function: Callable[..., Operand], a: Operand, **named: Operand) -> Operand:
    matrix = _square(a)
    return None if matrix is None else function(matrix, **named)


def _matrix_of_square(function: Callable[..., Operand], a: Operand, *options: Operand, **named: Operand) -> Operand:
    """A matrix, perhaps with a flag, made of one."""
    matrix = _square(a)
    if matrix is None:
        return None
    made = function(matrix, *options, **named)
    return (type(a)(made[0], a.kept), *made[1:]) if type(made) is tuple else type(a)(made, a.kept)


def _triangle(function: Callable[..., Operand]) -> Callable[..., Operand]:
    def triangle(m: Operand, k: int = 0) -> Operand:
        if m.ndim != 2 or any(kept.length is None for kept in m.kept.values()):
            return None
        return type(m)(function(m.whole, k), m.kept)

    return triangle


# Logarithms of sums of exponentials


def _logsumexp(function: Callable[..., Operand], a: Operand, axis: Axis = None, *, keepdims: bool = False) -> Operand:
    return _reduction(function, lambda _: -np.inf, may_be_empty=True)(a, axis, keepdims=keepdims)


def _softmax(function: Callable[..., Operand], a: Operand, axis: Axis = None) -> Operand:
    over = [k for k in a.kept if k in [place - a.ndim for place in axes_of(axis, a.ndim)]]
    return type(a)(function(a.filled(-np.inf, over), axis), a.kept)


def _like(function: Callable[..., Operand]) -> Callable[..., Operand]:
    """A new array of the same shape, of one number."""

    def like(a: Operand, *number: Operand, dtype: DTypeLike | None = None) -> Operand:
        return None if any(map(np.ndim, number)) else type(a)(function(a.whole, *number, dtype=dtype), a.kept)

    return like


def _select(condlist: Operand, choicelist: Operand, default: Operand = 0) -> Operand:
    """The first choice whose condition holds."""
    for condition, choice in zip(condlist[::-1], choicelist[::-1], strict=True):
        default = np.where(condition, choice, default)
    return default


# By the name that `of_form` gives: functions of the function and its arguments.
FORMS: dict[str, Callable[..., Operand]] = {
    "entries": elementwise_form, "solve": _solve, "matrix of a square one": _matrix_of_square,
    "number of a square matrix": _number_of_square, "logsumexp": _logsumexp, "softmax": _softmax,
}  # fmt: skip

METHODS: dict[str, Callable[..., Operand]] = {
    "transpose": transpose, "swapaxes": swapaxes, "conj": lambda a: a.copy(), "squeeze": squeeze, "repeat": repeat, "take": take,
    "sum": _sum, "prod": _reduction(np.prod), "mean": _reduction(np.mean), "var": _reduction(np.var), "std": _reduction(np.std),
    "any": _reduction(np.any), "all": _reduction(np.all), "max": _max, "min": _min, "argmax": _position(True),
    "argmin": _position(False), "cumsum": _cumulative(np.cumsum, 0), "cumprod": _cumulative(np.cumprod, 1), "dot": _dot,
    "round": _by_entries(np.round), "clip": _by_entries(np.clip), "argsort": _of_vectors(_argsort), "nonzero": _of_vectors(_nonzero),
}  # fmt: skip

REDUCED: dict[np.ufunc, Callable[..., Operand]] = {
    np.add: _sum, np.multiply: METHODS["prod"], np.maximum: _max, np.minimum: _min, np.logical_and: METHODS["all"],
    np.logical_or: METHODS["any"],
}  # fmt: skip

# What fills the other entries.
ACCUMULATED: dict[np.ufunc, Callable[[np.dtype], Operand]] = {
    np.add: lambda _: 0, np.multiply: lambda _: 1, np.maximum: _least, np.minimum: _largest,
}  # fmt: skip

FUNCTIONS: dict[Operand, Callable[..., Operand]] = {
    **{getattr(np, name): function for name, function in METHODS.items()},
    **{
        function: _by_entries(function)
        for function in (np.clip, np.around, np.nan_to_num, np.sinc, np.i0, np.isclose, np.real, np.fix)
    },
    np.array_split: array_split, np.where: _where, np.select: _select, np.interp: _interp, np.searchsorted: _searchsorted,
    np.amax: _max, np.amin: _min, np.ptp: lambda a, axis=None: _max(a, axis) - _min(a, axis),
    np.count_nonzero: lambda a, axis=None: _sum(a != 0, axis), np.average: _average,
    np.linalg.norm: _of_vectors(_norm), np.sort: sort, np.median: _of_vectors(_median), np.quantile: _quantile,
    np.flatnonzero: _of_vectors(_flatnonzero),
    np.percentile: lambda a, q, axis=None: _quantile(a, q, axis, per=100.0), np.diff: _of_vectors(_diff), np.dot: _dot,
    np.inner: lambda a, b: _dot(a, b) if np.ndim(a) == np.ndim(b) == 1 else None,
    np.vdot: lambda a, b: _dot(a, b) if np.ndim(a) == np.ndim(b) == 1 else None, np.outer: _outer,
    np.concatenate: concatenate, np.append: append, np.hstack: hstack, np.vstack: vstack, np.stack: stack,
    np.column_stack: column_stack, np.linalg.solve: partial(_solve, np.linalg.solve),
    np.linalg.cholesky: partial(_matrix_of_square, np.linalg.cholesky), np.tril: _triangle(np.tril), np.triu: _triangle(np.triu),
    np.linalg.lstsq: _lstsq, np.diag: _diag, np.diagonal: _diag, np.trace: _trace, np.ix_: _ix,
    np.linalg.inv: partial(_matrix_of_square, np.linalg.inv), np.linalg.slogdet: partial(_number_of_square, np.linalg.slogdet),
    np.linalg.det: partial(_number_of_square, np.linalg.det), np.trapezoid: _trapezoid, np.roll: _of_vectors(roll),
    np.convolve: _convolve, np.correlate: lambda a, v, mode="valid": _convolve(a, v[::-1], mode),
    np.digitize: lambda x, bins, right=False: None if np.ndim(x) != 1 else elementwise(lambda v: np.digitize(v, bins, right), (x,)),
    np.flip: _of_vectors(lambda m: m[::-1]), np.copy: lambda a: a.__copy__(), np.ravel: lambda a: a.ravel(),
    np.reshape: lambda a, shape: a.reshape(shape), np.expand_dims: expand_dims,
    np.result_type: lambda *kinds: np.result_type(*[kind.dtype if is_compressed(kind) else kind for kind in kinds]),
    np.transpose: lambda a, axes=(): transpose(a, *axes), np.shape: lambda a: a.shape, np.ndim: lambda a: a.ndim, np.size: lambda a: a.size,
    np.zeros_like: _like(np.zeros_like), np.ones_like: _like(np.ones_like), np.full_like: _like(np.full_like),
    np.empty_like: _like(np.zeros_like), np.compress: lambda condition, a: a[condition] if a.ndim == 1 else None,
}  # fmt: skip
