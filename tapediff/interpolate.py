"""scipy.interpolate's splines for tracked points and tracked ordinates, with SciPy's signatures; the knots are plain data.

SciPy objects made of plain data can be evaluated at tracked points. Made of tracked ordinates inside a recorded function,
they become the classes here. A spline is a polynomial on each piece: derivatives are those of the piece that SciPy evaluates.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from .base.source_location import user_site
from .errors import UnsupportedFunction
from .ir.instruction import Operand, is_tracked
from .numpy_api.creating import holds_tracked
from .numpy_api.joining import as_value
from .ops.arrays.indexing import GATHER
from .ops.matrices.sparse import SPARSE_PRODUCT

__all__ = [
    "Akima1DInterpolator", "CubicHermiteSpline", "CubicSpline", "PchipInterpolator", "PiecewisePolynomial", "RegularGridInterpolator",
    "interp1d", "make_interp_spline",
]  # fmt: skip

# An untyped object or end condition of scipy.interpolate.
Scipys: TypeAlias = Any
# True or False, or "periodic".
Extrapolate = bool | str | None

# From this many ordinates on, the matrix from them to the coefficients is stored without entries below the rounding of its rows.
FEWEST_SPARSE, NEGLIGIBLE = 64, 1e-18


class PiecewisePolynomial:
    """A polynomial on each piece of an interval, as scipy.interpolate.PPoly; coefficients may be tracked.

    Args:
        c: shape (order, pieces, ...), the highest power first, of the distance from the piece's left end.
        x: the ends of the pieces, ascending.
        extrapolate: True continues the first and last piece, False gives NaN, "periodic" repeats.
        axis: the axis of the results along which it interpolates.
    """

    def __init__(self, c: Operand, x: np.ndarray, extrapolate: Extrapolate = True, axis: int = 0) -> None:
        self.c, self.x, self.extrapolate, self.axis = c, x, extrapolate, axis

    def __call__(self, x: Operand, nu: int = 0, extrapolate: Extrapolate = None) -> Operand:
        """The values at x, or the derivative of order nu; the shape of x replaces the axis."""
        x = _floats(x)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        ends, order, inside = self.x, self.c.shape[0], None
        if extrapolate == "periodic":
            x = ends[0] + (x - ends[0]) % (ends[-1] - ends[0])
        elif not extrapolate:
            inside = (x >= ends[0]) & (x <= ends[-1])
        piece = np.searchsorted(ends[1:-1], x, side="right")
        trailing = self.c.shape[2:]
        width, behind = math.prod(trailing), (1,) * len(trailing)
        distance = np.reshape(x - GATHER(np.asarray(ends), piece), x.shape + behind)
        places = np.reshape(piece * width, x.shape + behind) + np.arange(width).reshape(trailing)
        result: Operand = np.zeros(x.shape + trailing) * distance
        for power in range(order - 1, nu - 1, -1):
            result = result * distance + math.perm(power, nu) * GATHER(self.c[order - 1 - power], places)
        if inside is not None:
            result = np.where(np.reshape(inside, x.shape + behind), result, np.nan)
        axes = [*range(x.ndim, x.ndim + self.axis), *range(x.ndim), *range(x.ndim + self.axis, result.ndim)]
        return np.transpose(result, axes) if self.axis else result

    def derivative(self, nu: int = 1) -> PiecewisePolynomial:
        """The derivative, one order lower for each nu."""
        order = self.c.shape[0]
        if nu >= order:
            return type(self)(np.zeros((1, *self.c.shape[1:])), self.x, self.extrapolate, self.axis)
        factors = np.array([math.perm(power, nu) for power in range(order - 1, nu - 1, -1)], float)
        c = self.c[: order - nu] * factors.reshape(-1, *(1,) * (self.c.ndim - 1))
        return type(self)(c, self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> PiecewisePolynomial:
        """The antiderivative of order nu, one degree higher for each: 0 at the first end, and continuous."""
        result = self
        for _ in range(nu):
            result = result._antiderivative()
        return result

    def _antiderivative(self) -> PiecewisePolynomial:
        order, pieces, *trailing = self.c.shape
        behind = (1,) * len(trailing)
        c = self.c / np.arange(order, 0.0, -1.0).reshape(-1, 1, *behind)
        widths = np.diff(self.x).reshape(-1, *behind)
        whole: Operand = np.zeros((pieces, *trailing))
        for coefficients in c:
            whole = (whole + coefficients) * widths
        before = np.concatenate([np.zeros((1, *trailing)), np.cumsum(whole, axis=0)[:-1]])
        # Not periodic: it grows by one integral with each period.
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return type(self)(np.concatenate([c, before[None]]), self.x, extrapolate, self.axis)

    def integrate(self, a: Operand, b: Operand, extrapolate: Extrapolate = None) -> Operand:
        """The integral from number a to number b, with the shape of a value at one point."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        whole, ends = self._antiderivative(), self.x
        a, b = _floats(a), _floats(b)
        if extrapolate != "periodic":
            return whole(b, extrapolate=extrapolate) - whole(a, extrapolate=extrapolate)
        period = ends[-1] - ends[0]
        turns = np.floor((b - ends[0]) / period) - np.floor((a - ends[0]) / period)
        return whole(b, extrapolate="periodic") - whole(a, extrapolate="periodic") + turns * whole(ends[-1], extrapolate=True)


class _SplinePieces(PiecewisePolynomial):
    """The pieces of a BSpline, whose integral counts the outside as zero if it is not extrapolated."""

    def integrate(self, a: Operand, b: Operand, extrapolate: Extrapolate = None) -> Operand:
        if not (self.extrapolate if extrapolate is None else extrapolate):
            a, b = (np.clip(_floats(limit), self.x[0], self.x[-1]) for limit in (a, b))
        return super().integrate(a, b, extrapolate)


def _floats(value: Operand) -> Operand:
    value = value if is_tracked(value) else np.asarray(as_value(value))
    return value if value.dtype == np.float64 else value.astype(np.float64)


def _ordinates(x: Operand, y: Operand, axis: int) -> tuple[np.ndarray, Operand, int]:
    """The knots, which are plain, and the ordinates with the axis of the knots first."""
    if holds_tracked(x):
        raise UnsupportedFunction("an interpolation between tracked places", at=user_site(), got=repr(x),
                                  fix="keep the knots plain data, and transform the places where it is evaluated")  # fmt: skip
    x, y = np.asarray(x, float), _floats(y)
    if x.ndim != 1 or x.size < 2 or not (np.diff(x) > 0.0).all() or not np.isfinite(x).all():
        raise ValueError("`x` must be a strictly increasing sequence of at least 2 finite numbers.")
    axis = normalize_axis_index(axis, y.ndim)
    if y.shape[axis] != x.size:
        raise ValueError(f"The length of `y` along `axis`={axis} doesn't match the length of `x`")
    return x, np.moveaxis(y, axis, 0), axis


# Splines that are linear in their ordinates


def CubicSpline(
    x: Operand, y: Operand, axis: int = 0, bc_type: Scipys = "not-a-knot", extrapolate: Extrapolate = None
) -> PiecewisePolynomial:
    """As scipy.interpolate.CubicSpline.

    Args:
        bc_type: "not-a-knot", "clamped", "natural", "periodic", or a pair of names or (order, value) pairs; values are plain.
    """
    from scipy import interpolate

    x, y, axis = _ordinates(x, y, axis)
    if holds_tracked(bc_type):
        raise UnsupportedFunction("a CubicSpline with tracked derivatives at its ends", at=user_site(), got="bc_type=",
                                  fix="plain numbers there; or CubicHermiteSpline, with a slope for each knot")  # fmt: skip
    sides: Scipys = (bc_type, bc_type) if isinstance(bc_type, str) else tuple(bc_type)
    trailing = y.shape[1:]
    fixed: Operand = 0.0
    if any(not isinstance(side, str) and np.any(side[1]) for side in sides):
        fixed = interpolate.CubicSpline(x, np.zeros((x.size, *trailing)), bc_type=sides).c

    def of(units: np.ndarray) -> np.ndarray:
        zero = [side if isinstance(side, str) else (side[0], np.zeros(units.shape[1])) for side in sides]
        conditions: Scipys = "periodic" if bc_type == "periodic" else tuple(zero)
        return interpolate.CubicSpline(x, units, bc_type=conditions).c

    periodic = bc_type == "periodic"
    c = _linear(of, y, periodic) + fixed
    return PiecewisePolynomial(c, x, ("periodic" if periodic else True) if extrapolate is None else extrapolate, axis)


def make_interp_spline(
    x: Operand, y: Operand, k: int = 3, t: Scipys = None, bc_type: Scipys = None, axis: int = 0, check_finite: bool = True
) -> PiecewisePolynomial:
    """As scipy.interpolate.make_interp_spline, as a polynomial on each piece; end conditions by name."""
    from scipy import interpolate

    x, y, axis = _ordinates(x, y, axis)
    if bc_type is not None and not isinstance(bc_type, str):
        raise UnsupportedFunction("make_interp_spline with derivatives given at the ends", at=user_site(), got=repr(bc_type),
                                  fix='name the condition, "natural", "clamped" or "periodic"; or use CubicSpline')  # fmt: skip
    ends: list[np.ndarray] = []

    def of(units: np.ndarray) -> np.ndarray:
        spline = interpolate.make_interp_spline(x, units, k, t, bc_type)
        c, knots = _pieces_of(spline)
        ends.append(knots)
        return c

    c = _linear(of, y, bc_type == "periodic")
    return _SplinePieces(c, ends[0], "periodic" if bc_type == "periodic" else True, axis)


def _pieces_of(spline: Scipys) -> tuple[np.ndarray, np.ndarray]:
    """The coefficients and ends of the pieces of a SciPy BSpline."""
    from scipy.interpolate import BSpline

    along_first = BSpline.construct_fast(spline.t, spline.c, spline.k)
    ends = np.asarray(spline.t[spline.k : len(spline.t) - spline.k])
    return np.stack([along_first(ends[:-1], nu=m) / math.factorial(m) for m in range(spline.k, -1, -1)]), ends


def _linear(of: Callable[[np.ndarray], np.ndarray], y: Operand, periodic: bool) -> Operand:
    """The coefficients of y: a fixed linear map, built from those of unit vectors."""
    n, trailing = y.shape[0], y.shape[1:]
    units = np.eye(n)
    if periodic:
        if not np.all(np.abs(y[0] - y[-1]) <= 1e-15 + 1e-15 * np.abs(y[-1])):
            raise ValueError("The first and last `y` point along axis 0 must be identical when bc_type='periodic'.")
        units, y = units[:, :-1], y[:-1]
        units[-1, 0] = 1.0
    basis = of(units)
    return np.reshape(times_rows(basis.reshape(-1, basis.shape[-1]), np.reshape(y, (y.shape[0], -1))), (*basis.shape[:2], *trailing))


def times_rows(matrix: np.ndarray, rows: Operand) -> Operand:
    """A product with a plain matrix; stored without entries below the rounding of its rows if it is large."""
    if matrix.shape[1] < FEWEST_SPARSE:
        return matrix @ rows
    kept = np.abs(matrix) > NEGLIGIBLE * np.max(np.abs(matrix), axis=1, keepdims=True)
    starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    return SPARSE_PRODUCT(matrix[kept], rows, np.nonzero(kept)[1], starts)


# Splines of ordinates and slopes


def CubicHermiteSpline(x: Operand, y: Operand, dydx: Operand, axis: int = 0, extrapolate: Extrapolate = None) -> PiecewisePolynomial:
    """As scipy.interpolate.CubicHermiteSpline: of values and slopes at the knots."""
    x, slopes, _ = _ordinates(x, dydx, axis)
    x, y, axis = _ordinates(x, y, axis)
    return _hermite(x, y, slopes, axis, True if extrapolate is None else extrapolate)


def _hermite(x: np.ndarray, y: Operand, slopes: Operand, axis: int, extrapolate: Extrapolate) -> PiecewisePolynomial:
    h = np.diff(x).reshape(-1, *(1,) * (y.ndim - 1))
    secant = (y[1:] - y[:-1]) / h
    t = (slopes[:-1] + slopes[1:] - 2.0 * secant) / h
    return PiecewisePolynomial(np.stack([t / h, (secant - slopes[:-1]) / h - t, slopes[:-1], y[:-1]]), x, extrapolate, axis)


def PchipInterpolator(x: Operand, y: Operand, axis: int = 0, extrapolate: Extrapolate = None) -> PiecewisePolynomial:
    """As scipy.interpolate.PchipInterpolator: monotone where the data are.

    Source: Fritsch and Butland (1984), SIAM J. Sci. Stat. Comput. 5(2); the ends as Moler (2004), Numerical Computing with MATLAB, ch. 3.6.
    """
    x, y, axis = _ordinates(x, y, axis)
    h = np.diff(x).reshape(-1, *(1,) * (y.ndim - 1))
    m = (y[1:] - y[:-1]) / h
    if len(x) == 2:
        return _hermite(x, y, np.concatenate([m, m]), axis, True if extrapolate is None else extrapolate)
    flat = (np.sign(m[1:]) != np.sign(m[:-1])) | (m[1:] == 0.0) | (m[:-1] == 0.0)
    before, after = np.where(flat, 1.0, m[:-1]), np.where(flat, 1.0, m[1:])
    w1, w2 = 2.0 * h[1:] + h[:-1], h[1:] + 2.0 * h[:-1]
    inner = np.where(flat, 0.0, (w1 + w2) / (w1 / before + w2 / after))
    first, last = _end_slope(h[0], h[1], m[0], m[1]), _end_slope(h[-1], h[-2], m[-1], m[-2])
    return _hermite(x, y, np.concatenate([first[None], inner, last[None]]), axis, True if extrapolate is None else extrapolate)


def _end_slope(h0: Operand, h1: Operand, m0: Operand, m1: Operand) -> Operand:
    slope = ((2.0 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    steep = (np.sign(m0) != np.sign(m1)) & (np.abs(slope) > 3.0 * np.abs(m0))
    return np.where(np.sign(slope) != np.sign(m0), 0.0, np.where(steep, 3.0 * m0, slope))


def Akima1DInterpolator(
    x: Operand, y: Operand, axis: int = 0, *, method: str = "akima", extrapolate: Extrapolate = None
) -> PiecewisePolynomial:
    """As scipy.interpolate.Akima1DInterpolator.

    Source: Akima (1970), J. ACM 17(4).
    """
    x, y, axis = _ordinates(x, y, axis)
    if method not in ("akima", "makima"):
        raise NotImplementedError(f"`method`={method} is unsupported.")
    m = (y[1:] - y[:-1]) / np.diff(x).reshape(-1, *(1,) * (y.ndim - 1))
    if len(x) == 2:
        return _hermite(x, y, np.concatenate([m, m]), axis, extrapolate or False)
    first, last = 2.0 * m[0] - m[1], 2.0 * m[-1] - m[-2]
    m = np.concatenate([(2.0 * first - m[0])[None], first[None], m, last[None], (2.0 * last - m[-1])[None]])
    steps = np.abs(m[1:] - m[:-1])
    if method == "makima":
        steps = steps + 0.5 * np.abs(m[1:] + m[:-1])
    left, right = steps[2:], steps[:-2]
    both = left + right
    defined = both > 1e-9 * np.max(both)
    weighted = m[1:-2] + right / np.where(defined, both, 1.0) * (m[2:-1] - m[1:-2])
    return _hermite(x, y, np.where(defined, weighted, 0.5 * (m[3:] + m[:-3])), axis, extrapolate or False)


# Of steps and lines


class interp1d:
    """As scipy.interpolate.interp1d; a step at a knot belongs to the side that SciPy gives it to."""

    def __init__(
        self, x: Operand, y: Operand, kind: str | int = "linear", axis: int = -1, copy: bool = True, bounds_error: bool | None = None,
        fill_value: Scipys = np.nan, assume_sorted: bool = False,
    ) -> None:  # fmt: skip
        order = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3}.get(str(kind), kind)
        if kind not in ("linear", "nearest", "nearest-up", "previous", "next") and not isinstance(order, int):
            raise NotImplementedError(f"{kind} is unsupported: Use fitpack routines for other types.")
        if not assume_sorted and not holds_tracked(x):
            places, y = np.argsort(x, kind="mergesort"), _floats(y)
            if np.shape(y)[normalize_axis_index(axis, np.ndim(y))] != len(places):
                raise ValueError("x and y arrays must be equal in length along interpolation axis.")
            x, y = np.asarray(x)[places], np.take(y, places, axis=axis)
        self._extrapolates = isinstance(fill_value, str) and fill_value == "extrapolate"
        if self._extrapolates and bounds_error:
            raise ValueError("Cannot extrapolate and raise at the same time.")
        self._raises = not self._extrapolates and bounds_error in (None, True)
        self._fill = fill_value if isinstance(fill_value, tuple) else (fill_value, fill_value)
        x, rows, axis = _ordinates(x, y, axis)
        self._ends = x[0], x[-1]
        if isinstance(order, int):
            self._spline = make_interp_spline(x, rows, order)
            self._spline.axis = axis
            return
        up = lambda knots: np.nextafter(knots, np.inf)  # noqa: E731 -- pieces that do not include their left end
        middles = x[1:] / 2.0 + x[:-1] / 2.0
        inner = {"linear": x[1:-1], "previous": x[1:], "next": up(x[:-1]), "nearest": up(middles), "nearest-up": middles}[str(kind)]
        if kind == "linear":
            c = np.stack([(rows[1:] - rows[:-1]) / np.diff(x).reshape(-1, *(1,) * (rows.ndim - 1)), rows[:-1]])
        else:
            c = rows[None]
        if self._extrapolates and kind in ("previous", "next"):
            self._extrapolates, outside = False, (np.nan, rows[-1]) if kind == "previous" else (rows[0], np.nan)
            self._fill = outside
        self._spline = PiecewisePolynomial(c, np.concatenate([x[:1], inner, x[-1:]]), True, axis)

    def __call__(self, x: Operand) -> Operand:
        x = _floats(x)
        result, axis = self._spline(x), self._spline.axis
        if self._extrapolates:
            return result
        below, above = x < self._ends[0], x > self._ends[1]
        if self._raises and (np.any(below) or np.any(above)):
            raise ValueError(f"A value in x_new is {'below' if np.any(below) else 'above'} the interpolation range.")
        behind = (1,) * (result.ndim - axis - x.ndim)
        for outside, fill in zip((below, above), self._fill):
            if np.ndim(fill):
                before, after = result.shape[:axis], result.shape[axis + x.ndim :]
                fill = np.reshape(np.broadcast_to(fill, before + after), (*before, *(1,) * x.ndim, *after))
            result = np.where(np.reshape(outside, x.shape + behind), fill, result)
        return result


# On grids


class RegularGridInterpolator:
    """As scipy.interpolate.RegularGridInterpolator with method="linear" or "nearest"; values and points may be tracked."""

    def __init__(
        self, points: Sequence[Operand], values: Operand, method: str = "linear", bounds_error: bool = True,
        fill_value: float | None = np.nan,
    ) -> None:  # fmt: skip
        self.method = _known_on_grids(method)
        self.grid, self.values = tuple(np.asarray(p, float) for p in points), _floats(values)
        if any((np.diff(p) <= 0.0).any() for p in self.grid) or self.values.shape[: len(self.grid)] != tuple(map(len, self.grid)):
            raise ValueError("the points of each axis must ascend, and there must be as many as values along it")
        self.bounds_error, self.fill_value = bounds_error, fill_value

    def __call__(self, xi: Operand, method: str | None = None) -> Operand:
        xi = np.stack(np.broadcast_arrays(*map(_floats, xi)), axis=-1) if isinstance(xi, tuple) else _floats(xi)
        axes = len(self.grid)
        xi = xi[None] if xi.ndim == 1 and axes != 1 else xi[:, None] if xi.ndim == 1 else xi
        is_nearest = _known_on_grids(method or self.method) == "nearest"
        if xi.shape[-1] != axes:
            raise ValueError(f"The requested sample points xi have dimension {xi.shape[-1]} but this interpolator has dimension {axes}")
        trailing = self.values.shape[axes:]
        width, behind = math.prod(trailing), (1,) * len(trailing)
        columns = [xi[..., d] for d in range(axes)]
        inside = np.stack([(x >= p[0]) & (x <= p[-1]) for x, p in zip(columns, self.grid)]).all(axis=0)
        if self.bounds_error and not np.all(inside | np.stack([np.isnan(x) for x in columns]).any(axis=0)):
            raise ValueError("One of the requested xi is out of bounds")
        pieces = [np.searchsorted(p[1:-1], x, side="right") for x, p in zip(columns, self.grid)]
        parts = [(x - GATHER(p, k)) / GATHER(np.diff(p), k) for x, p, k in zip(columns, self.grid, pieces)]
        if is_nearest:
            pieces, parts = [k + (part > 0.5).astype(np.int64) for k, part in zip(pieces, parts)], [0.0] * axes
        strides = [math.prod(self.values.shape[d + 1 : axes]) for d in range(axes)]
        result: Operand = 0.0
        for corner in itertools.product((0,) if is_nearest else (0, 1), repeat=axes):
            weight: Operand = np.ones(xi.shape[:-1]) if is_nearest else 1.0
            for part, side in zip(parts, corner):
                weight = weight * (part if side else 1.0 - part)
            place: Operand = width * sum((k + side) * stride for k, side, stride in zip(pieces, corner, strides))
            places = np.reshape(place, place.shape + behind) + np.arange(width).reshape(trailing)
            result = result + np.reshape(weight, weight.shape + behind) * GATHER(self.values, places)
        if not self.bounds_error and self.fill_value is not None:
            return np.where(np.reshape(inside, inside.shape + behind), result, self.fill_value)
        return result


def _known_on_grids(method: str) -> str:
    if method not in ("linear", "nearest"):
        raise UnsupportedFunction(f'RegularGridInterpolator with method="{method}"', at=user_site(),
                                  fix='use method="linear" or "nearest"; or CubicSpline along one axis after the other')  # fmt: skip
    return method


# Evaluation of SciPy's own objects during recordings; see recording/python_state/scipy_methods.py

_OURS = {
    "CubicSpline": CubicSpline, "PchipInterpolator": PchipInterpolator, "Akima1DInterpolator": Akima1DInterpolator,
    "CubicHermiteSpline": CubicHermiteSpline, "RegularGridInterpolator": RegularGridInterpolator, "interp1d": interp1d,
}  # fmt: skip


def ours(scipys: Scipys) -> PiecewisePolynomial | RegularGridInterpolator | interp1d | None:
    """The evaluator of a SciPy object: kept if it was made of tracked ordinates, else made from it now; None if there is none."""
    made = vars(scipys).get(TRACKED)
    names = [base.__name__ for base in type(scipys).__mro__ if base.__module__.startswith("scipy.interpolate.")]
    if made is not None or not names:
        return made
    if "PPoly" in names:
        x = np.asarray(scipys.x)
        return PiecewisePolynomial(np.asarray(scipys.c), x, scipys.extrapolate, scipys.axis) if x[0] < x[-1] else None
    if "BSpline" in names:
        return _SplinePieces(*_pieces_of(scipys), scipys.extrapolate, scipys.axis)
    if "RegularGridInterpolator" in names:
        return RegularGridInterpolator(scipys.grid, scipys.values, scipys.method, scipys.bounds_error, scipys.fill_value)
    if "interp1d" in names:
        kind = scipys._spline.k if scipys._kind == "spline" else scipys._kind
        return interp1d(scipys.x, scipys.y, kind, scipys.axis, True, scipys.bounds_error, scipys.fill_value, True)
    return None


# The attribute of a SciPy object made of tracked ordinates that holds its evaluator.
TRACKED = "_of_tapediff"


def made_of_tracked(scipys: Scipys, args: Sequence[Operand], named: dict[str, Operand]) -> bool:
    """Have a SciPy object evaluated by this module. Returns False if its class is not supported here."""
    make = _OURS.get(type(scipys).__name__)
    if make is not None:
        vars(scipys)[TRACKED] = make(*args, **named)
    return make is not None
