"""scipy.spatial.distance for tracked values. At distance 0 the slope of a root is 0, not infinite."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from ..ir.instruction import Operand
from ..ops.arrays.indexing import GATHER
from .calls import floats, plain, refuse, supports_only

# Distances along the last axis, with SciPy's arguments for two vectors


def _root(value: Operand) -> Operand:
    is_zero = value <= 0.0
    return np.where(is_zero, 0.0 * value, np.sqrt(np.where(is_zero, 1.0, value)))


def _sum(value: Operand, w: Operand = None) -> Operand:
    return np.sum(value if w is None else value * w, axis=-1)


def sqeuclidean(u: Operand, v: Operand, w: Operand = None) -> Operand:
    """As scipy.spatial.distance.sqeuclidean, of vectors or of rows; so are the functions after it."""
    return _sum((_floats(u) - _floats(v)) ** 2, w)


def euclidean(u: Operand, v: Operand, w: Operand = None) -> Operand:
    return _root(sqeuclidean(u, v, w))


def cityblock(u: Operand, v: Operand, w: Operand = None) -> Operand:
    return _sum(np.abs(_floats(u) - _floats(v)), w)


def chebyshev(u: Operand, v: Operand, w: Operand = None) -> Operand:
    distance = np.abs(_floats(u) - _floats(v))
    return np.max(distance if w is None else distance * (_floats(w) > 0.0), axis=-1)


def minkowski(u: Operand, v: Operand, p: float = 2, w: Operand = None) -> Operand:
    plain("scipy.spatial.distance.minkowski", p=p)
    if p <= 0:
        raise ValueError("p must be greater than 0")
    if np.isinf(p):
        return chebyshev(u, v, w)
    distance = np.abs(_floats(u) - _floats(v))
    # Powers below 2 have an infinite slope, or curvature, at 0.
    is_zero = distance == 0.0
    total = _sum(np.where(is_zero, 0.0 * distance, np.where(is_zero, 1.0, distance) ** p), w)
    none = total <= 0.0
    return np.where(none, 0.0 * total, np.where(none, 1.0, total) ** (1.0 / p))


def seuclidean(u: Operand, v: Operand, V: Operand) -> Operand:
    return _root(_sum((_floats(u) - _floats(v)) ** 2 / _floats(V)))


def mahalanobis(u: Operand, v: Operand, VI: Operand) -> Operand:
    difference = _floats(u) - _floats(v)
    return _root(_sum((difference @ _floats(VI)) * difference))


def cosine(u: Operand, v: Operand, w: Operand = None) -> Operand:
    return correlation(u, v, w, centered=False)


def correlation(u: Operand, v: Operand, w: Operand = None, centered: bool = True) -> Operand:
    u, v = _floats(u), _floats(v)
    weights = np.ones(u.shape[-1]) / u.shape[-1] if w is None else _floats(w) / np.sum(w)
    if centered:
        u, v = (x - np.expand_dims(_sum(x, weights), -1) for x in (u, v))
    return np.clip(1.0 - _sum(u * v, weights) / np.sqrt(_sum(u * u, weights) * _sum(v * v, weights)), 0.0, 2.0)


def canberra(u: Operand, v: Operand, w: Operand = None) -> Operand:
    u, v = _floats(u), _floats(v)
    total = np.abs(u) + np.abs(v)
    return _sum(np.abs(u - v) / np.where(total == 0.0, 1.0, total), w)


def braycurtis(u: Operand, v: Operand, w: Operand = None) -> Operand:
    u, v = _floats(u), _floats(v)
    return _sum(np.abs(u - v), w) / _sum(np.abs(u + v), w)


def jensenshannon(p: Operand, q: Operand, base: float | None = None, *, axis: int = 0, keepdims: bool = False) -> Operand:
    p, q = (x / np.sum(x, axis=axis, keepdims=True) for x in (_floats(p), _floats(q)))
    middle = (p + q) / 2.0
    entropy = np.sum(special.rel_entr(p, middle) + special.rel_entr(q, middle), axis=axis, keepdims=keepdims)
    return _root(entropy / 2.0 / (1.0 if base is None else np.log(base)))


METRICS: dict[str, Callable[..., Operand]] = {
    metric.__name__: metric
    for metric in (sqeuclidean, euclidean, cityblock, chebyshev, minkowski, seuclidean, mahalanobis, cosine, correlation, canberra,
                   braycurtis)
}  # fmt: skip
METRICS["jensenshannon"] = lambda u, v: jensenshannon(u, v, axis=-1)


# Of all pairs


def cdist(XA: Operand, XB: Operand, metric: Operand = "euclidean", *, out: Operand = None, **named: Operand) -> Operand:
    """As scipy.spatial.distance.cdist, of these metrics by name, or of a function of two vectors."""
    name = "scipy.spatial.distance.cdist"
    supports_only(name, "use the result", out=(out, None))
    a, b = floats(name, XA), floats(name, XB)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise ValueError("XA and XB must be 2-dimensional, with the same number of columns")
    if not isinstance(metric, str):
        return np.stack([np.stack([metric(u, v, **named) for v in b]) for u in a])
    distance = _metric(name, metric, np.concatenate([a, b]), named)
    return distance(*np.broadcast_arrays(a[:, None, :], b[None, :, :]))


def pdist(X: Operand, metric: Operand = "euclidean", *, out: Operand = None, **named: Operand) -> Operand:
    """As scipy.spatial.distance.pdist; metrics as of cdist."""
    name = "scipy.spatial.distance.pdist"
    supports_only(name, "use the result", out=(out, None))
    x = floats(name, X)
    if x.ndim != 2:
        raise ValueError("A 2-dimensional array must be passed.")
    first, second = np.triu_indices(x.shape[0], 1)
    if not isinstance(metric, str):
        return np.stack([metric(x[i], x[j], **named) for i, j in zip(first.tolist(), second.tolist())])
    return _metric(name, metric, x, named)(x[first], x[second])


def _metric(name: str, metric: str, rows: Operand, named: dict[str, Operand]) -> Callable[..., Operand]:
    """The distance of two arrays of rows; what it needs of all rows is computed once."""
    found = METRICS.get(metric.lower())
    if found is None:
        refuse(name, f"metric={metric!r}", f"one of {', '.join(METRICS)}; or a function of two vectors")
    if found is seuclidean and named.get("V") is None:
        named["V"] = np.var(rows, axis=0, ddof=1)
    if found is mahalanobis and named.get("VI") is None:
        named["VI"] = np.transpose(np.linalg.inv(np.cov(np.transpose(rows))))
    return lambda u, v: found(u, v, **named)


def squareform(X: Operand, force: str = "no", checks: bool = True) -> Operand:
    """As scipy.spatial.distance.squareform; whether a matrix is symmetric is a guard."""
    x = floats("scipy.spatial.distance.squareform", X)
    if force.lower() in ("tomatrix", "tovector") and x.ndim != (1 if force.lower() == "tomatrix" else 2):
        raise ValueError(f"Forcing '{force}' but input X is not a distance {'vector' if x.ndim == 2 else 'matrix'}.")
    if x.ndim == 1:
        n = int(np.ceil(np.sqrt(2 * x.size))) if x.size else 1
        if n * (n - 1) != 2 * x.size:
            raise ValueError("Incompatible vector size. It must be a binomial coefficient n choose 2 for some integer n >= 2.")
        places = np.zeros((n, n), int)
        places[np.triu_indices(n, 1)] = np.arange(x.size)
        return np.zeros((1, 1)) if n == 1 else np.where(np.eye(n, dtype=bool), 0.0, GATHER(x, places + places.T))
    if x.ndim != 2 or x.shape[0] != x.shape[1]:
        raise ValueError("The matrix argument must be square.")
    if checks and (np.any(x != np.transpose(x)) or np.any(np.diagonal(x) != 0.0)):
        raise ValueError("Distance matrix 'X' must be symmetric, with a zero diagonal.")
    return x[np.triu_indices(x.shape[0], 1)]


def _floats(value: Operand) -> Operand:
    return floats("scipy.spatial.distance", value)
