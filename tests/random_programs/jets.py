"""Jets: arrays with their first and second derivatives, by the rules of calculus and no step size."""

from __future__ import annotations

import numpy as np


class Watch:
    """Notes of the latest evaluation with jets.

    Attributes:
        second: whether second derivatives are asked for.
        margin: how far apart, relatively, the two sides of the closest comparison were.
        is_exact: no operation was used whose last bit depends on the library or on the order of a sum.
        is_finite: all values and derivatives on the way were numbers.
    """

    second, margin, is_exact, is_finite = True, np.inf, True, True

    @classmethod
    def reset(cls, second=True):
        cls.second = second
        cls.margin, cls.is_exact, cls.is_finite = np.inf, True, True

    @classmethod
    def compared(cls, a, b):
        a, b = np.asarray(a, float), np.asarray(b, float)
        with np.errstate(all="ignore"):
            gaps = np.abs(a - b) / np.maximum(1e-300, np.maximum(np.abs(a), np.abs(b)))
        cls.margin = min(cls.margin, float(np.min(np.where(np.isnan(gaps), np.inf, gaps), initial=np.inf)))


# Derivatives: name -> (first, second), of the argument and the result

UNARY = {
    np.negative: lambda x, y: (-1.0, 0.0),
    np.positive: lambda x, y: (1.0, 0.0),
    np.absolute: lambda x, y: (np.sign(x), 0.0),
    np.square: lambda x, y: (2 * x, 2.0),
    np.sqrt: lambda x, y: (0.5 / y, -0.25 / (x * y)),
    np.sin: lambda x, y: (np.cos(x), -y),
    np.cos: lambda x, y: (-np.sin(x), -y),
    np.tanh: lambda x, y: (1 - y * y, -2 * y * (1 - y * y)),
    np.exp: lambda x, y: (y, y),
    np.log1p: lambda x, y: (1 / (1 + x), -1 / (1 + x) ** 2),
    np.arctan: lambda x, y: (1 / (1 + x * x), -2 * x / (1 + x * x) ** 2),
    **dict.fromkeys((np.floor, np.ceil, np.rint, np.sign), lambda x, y: (0.0, 0.0)),
}
INEXACT = {np.sin, np.cos, np.tanh, np.exp, np.log1p, np.arctan}
STEPS = {np.floor, np.ceil, np.rint}


def share(a, b):
    """How much of a maximum is that of a: ties are halved."""
    return np.where(a > b, 1.0, np.where(a == b, 0.5, 0.0))


# Of both arguments: d/da, d/db, d2/da2, d2/dadb, d2/db2.
BINARY = {
    np.add: lambda a, b: (1.0, 1.0, 0.0, 0.0, 0.0),
    np.subtract: lambda a, b: (1.0, -1.0, 0.0, 0.0, 0.0),
    np.multiply: lambda a, b: (b, a, 0.0, 1.0, 0.0),
    np.divide: lambda a, b: (1 / b, -a / b**2, 0.0, -1 / b**2, 2 * a / b**3),
    np.maximum: lambda a, b: (share(a, b), share(b, a), 0.0, 0.0, 0.0),
    np.minimum: lambda a, b: (share(-a, -b), share(-b, -a), 0.0, 0.0, 0.0),
    np.remainder: lambda a, b: (1.0, -np.floor(a / b), 0.0, 0.0, 0.0),
}
COMPARISONS = {np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal}


def value_of(a):
    return a.v if type(a) is Jet else a


def ordered(function):
    """A comparison of the entries of an array with one another."""

    def watched(a, *args, **kwargs):
        if np.ndim(a.v):
            entries = np.sort(a.v, axis=-1)
            Watch.compared(entries[..., 1:], entries[..., :-1])
        return function(a, *args, **kwargs)

    return watched


class Jet(np.lib.mixins.NDArrayOperatorsMixin):
    """An array v with its gradient t, of shape v.shape + (n,), and its Hessian h, of shape v.shape + (n, n), or (n, 0) if not asked for.

    Views are views of all three.
    """

    __slots__ = ("h", "t", "v")

    def __init__(self, v, t, h):
        self.v, self.t, self.h = v, t, h
        Watch.is_finite &= bool(np.isfinite(v).all() and np.isfinite(t).all() and np.isfinite(h).all())

    @classmethod
    def variables(cls, x):
        n = len(x)
        return cls(x.copy(), np.eye(n), np.zeros((n, n, n if Watch.second else 0)))

    @classmethod
    def of(cls, value, n):
        if type(value) is cls:
            return value
        v = np.asarray(value, float)
        return cls(v, np.zeros((*v.shape, n)), np.zeros((*v.shape, n, n if Watch.second else 0)))

    n = property(lambda self: self.t.shape[-1])
    shape = property(lambda self: np.shape(self.v))
    ndim = property(lambda self: np.ndim(self.v))
    size = property(lambda self: np.size(self.v))
    dtype = property(lambda self: np.dtype(float))

    def each(self, function):
        """What moves entries about, along the axes of v."""
        return Jet(function(self.v), function(self.t), function(self.h))

    def chain(self, v, first, second):
        """g(self), from g's derivatives."""
        first = np.broadcast_to(first, self.shape)[..., None]
        if not Watch.second:
            return Jet(v, first * self.t, self.h)
        second = np.broadcast_to(second, self.shape)[..., None, None]
        outer = self.t[..., :, None] * self.t[..., None, :]
        return Jet(v, first * self.t, first[..., None] * self.h + second * outer)

    def spread(self, shape):
        """Broadcast."""
        return self if self.shape == shape else self.each(lambda part: spread(part, self.shape, shape))

    # Where Python looks at it

    def __bool__(self):
        Watch.compared(self.v, 0.0)
        return bool(self.v)

    def __int__(self):
        Watch.compared(2 * self.v, np.rint(2 * self.v))
        return int(self.v)

    def __round__(self):
        Watch.compared(2 * self.v, np.rint(2 * self.v))
        return int(np.rint(self.v))

    def __len__(self):
        return len(self.v)

    def __iter__(self):
        return (self[k] for k in range(len(self.v)))

    def __getitem__(self, index):
        part = self.each(lambda a: a[index])
        return part if part.ndim or Ellipsis in np.atleast_1d(np.array(index, object)) else part.each(np.copy)

    def __setitem__(self, index, value):
        value = Jet.of(value, self.n)
        extra = np.ndim(self.v[index]) - value.ndim
        for mine, given in ((self.v, value.v), (self.t, value.t), (self.h, value.h)):
            mine[index] = np.array(given).reshape((1,) * extra + np.shape(given))

    # Numbers are immutable: += makes new ones. Arrays are written to.

    def __iadd__(self, other):
        return np.add(self, other, out=self) if self.ndim else self + other

    def __isub__(self, other):
        return np.subtract(self, other, out=self) if self.ndim else self - other

    def __imul__(self, other):
        return np.multiply(self, other, out=self) if self.ndim else self * other

    def __pow__(self, k):
        return self.chain(self.v**k, k * self.v ** (k - 1), k * (k - 1) * self.v ** max(0, k - 2))

    # NumPy's protocols

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        if method == "at":
            target, places, given = inputs
            for k, place in enumerate(places):
                target[place] = ufunc(target[place], given[k])
            return None
        result = self._computed(ufunc, inputs)
        if out is None:
            return result
        out[0][...] = result
        return out[0]

    def _computed(self, ufunc, inputs):
        values = [value_of(a) for a in inputs]
        if ufunc in COMPARISONS:
            Watch.compared(*values)
            return ufunc(*values)
        if ufunc is np.matmul:
            return np.sum(inputs[0] * inputs[1])
        Watch.is_exact &= ufunc not in INEXACT
        with np.errstate(all="ignore"):
            v = ufunc(*values)
            if ufunc in UNARY:
                if ufunc in STEPS or ufunc is np.absolute:
                    Watch.compared(2 * values[0], np.rint(2 * values[0]))
                return inputs[0].chain(v, *UNARY[ufunc](values[0], v))
            if ufunc in (np.maximum, np.minimum):
                Watch.compared(*values)
            return self._of_two(ufunc, inputs, v)

    def _of_two(self, ufunc, inputs, v):
        shape = np.shape(v)
        da, db, daa, dab, dbb = BINARY[ufunc](*map(value_of, inputs))
        if type(inputs[1]) is not Jet:
            return inputs[0].spread(shape).chain(v, da, daa)
        if type(inputs[0]) is not Jet:
            return inputs[1].spread(shape).chain(v, db, dbb)
        a, b = (i.spread(shape) for i in inputs)
        da, db = (np.broadcast_to(d, shape)[..., None] for d in (da, db))
        t = da * a.t + db * b.t
        if not Watch.second:
            return Jet(v, t, a.h)
        daa, dab, dbb = (np.broadcast_to(d, shape)[..., None, None] for d in (daa, dab, dbb))
        mixed = a.t[..., :, None] * b.t[..., None, :]
        h = da[..., None] * a.h + db[..., None] * b.h + dab * (mixed + np.swapaxes(mixed, -1, -2))
        h = h + daa * (a.t[..., :, None] * a.t[..., None, :]) + dbb * (b.t[..., :, None] * b.t[..., None, :])
        return Jet(v, t, h)

    def __array_function__(self, function, types, args, kwargs):
        return FUNCTIONS[function](*args, **kwargs)

    def sum(self, axis=None):
        Watch.is_exact = False
        return self.each(lambda a: np.sum(a, axis=tuple(range(self.ndim)) if axis is None else axis))

    def mean(self):
        return self.sum() / self.size

    def max(self):
        return extremum(self, np.max)

    def min(self):
        return extremum(self, np.min)

    def argmax(self):
        return ordered(lambda a: np.argmax(a.v))(self)

    def argmin(self):
        return ordered(lambda a: np.argmin(a.v))(self)

    def astype(self, dtype):
        return self.v.astype(dtype)

    def copy(self):
        return self.each(np.copy)

    def fill(self, value):
        self[...] = value

    def sort(self):
        self[...] = np.sort(self)

    def cumsum(self):
        Watch.is_exact = False
        return self.each(lambda a: np.cumsum(a, axis=0))

    def reshape(self, *shape):
        return self.each(lambda a: a.reshape(*shape, *a.shape[self.ndim :]))


def spread(part, old, new):
    """Broadcast the leading axes `old` of an array of derivatives to `new`."""
    trailing = part.shape[len(old) :]
    return np.broadcast_to(part.reshape((1,) * (len(new) - len(old)) + part.shape), (*new, *trailing))


def extremum(a, function):
    """Of a vector; ties get equal shares."""
    best = ordered(lambda a: function(a.v))(a)
    weights = (a.v == best) / max(1, np.count_nonzero(a.v == best))
    return Jet(best, np.tensordot(weights, a.t, 1), np.tensordot(weights, a.h, 1))


def where(mask, a, b):
    n = next(part.n for part in (a, b) if type(part) is Jet) if Jet in (type(a), type(b)) else None
    mask = np.asarray(mask.v != 0 if type(mask) is Jet else mask, bool)
    if n is None:
        return np.where(mask, a, b)
    shape = np.broadcast_shapes(mask.shape, np.shape(value_of(a)), np.shape(value_of(b)))
    a, b = (Jet.of(i, n).spread(shape) for i in (a, b))
    masks = [np.broadcast_to(mask, shape)[(..., *[None] * k)] for k in range(3)]
    return Jet(*(np.where(m, p, q) for m, p, q in zip(masks, (a.v, a.t, a.h), (b.v, b.t, b.h))))


def joined(function):
    def apply(parts):
        n = next(p.n for p in parts if type(p) is Jet)
        parts = [Jet.of(p, n) for p in parts]
        return Jet(*(function([getattr(p, name) for p in parts]) for name in ("v", "t", "h")))

    return apply


def copyto(target, value):
    target[...] = value


FUNCTIONS = {
    np.sum: lambda a, axis=None: a.sum(axis),
    np.mean: lambda a: a.mean(),
    np.max: lambda a: a.max(),
    np.min: lambda a: a.min(),
    np.any: lambda a: np.any(value_of(a)),
    np.argmax: lambda a: a.argmax(),
    np.argmin: lambda a: a.argmin(),
    np.sort: ordered(lambda a: a[np.argsort(a.v, kind="stable")]),
    np.cumsum: lambda a: a.cumsum(),
    np.clip: lambda a, low, high: np.minimum(np.maximum(a, low), high),
    np.where: where,
    np.stack: joined(np.stack),
    np.concatenate: joined(np.concatenate),
    np.roll: lambda a, k: a.each(lambda part: np.roll(part, k, axis=0)),
    np.dot: lambda a, b: np.sum(a * b),
    np.copyto: copyto,
    np.zeros_like: lambda a: Jet.of(np.zeros(a.shape), a.n),
    np.reshape: lambda a, shape: a.reshape(shape),
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.size: lambda a: a.size,
}
