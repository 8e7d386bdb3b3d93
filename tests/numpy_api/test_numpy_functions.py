"""NumPy's functions on tracked arrays: NumPy's value, shape and dtype, recorded at A and run at B, as a tape and compiled; and the slope.

Every function that the dispatch table answers to must be called by a case here.
"""

import functools
import warnings

import numpy as np
import pytest
from numpy_api.calls import GROUPS, arguments
from numpy_api.test_calls import function, used

import tapediff as td
from tapediff.numpy_api import dispatch
from tapediff.testing import central_difference

RNG = np.random.default_rng(0)
V, W = RNG.normal(size=6), RNG.normal(size=6)
M, N = RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4))
T = RNG.normal(size=(2, 3, 4))
S = RNG.normal(size=(4, 4))
MASK = np.array([True, False, True, True, False, True])
K = np.array([3, 0, 3, 5])

# Subscripts, the tracked operand and the others.
EINSUMS = (
    ("ij->ji", M, ()), ("ij->", M, ()), ("ji", M, ()), ("ii", S, ()), ("ii->i", S, ()), ("ij->j", M, ()), ("i->i", V, ()),
    ("ij,jk->ik", M, (S,)), ("ij,jk", M, (S,)), ("ij , kj -> ki", M, (S,)), ("i,i->", V, (W,)), ("i,i", V, (W,)),
    ("i,j->ij", V, (W,)), ("i,j->ji", V, (W,)), ("ij,ij->i", M, (N,)), ("ij,ij->", M, (N,)), ("ij,i->j", M, (V[:3],)),
    ("ij,j->ij", M, (V[:4],)), ("ijk,ikl->ijl", T, (RNG.normal(size=(2, 4, 5)),)), ("ijk,ik->ij", T, (RNG.normal(size=(2, 4)),)),
    ("ijk,lk->lij", T, (S,)), ("ijk,kj->i", T, (RNG.normal(size=(4, 3)),)), ("i,ij,j->", V[:3], (M, W[:4])),
    ("ij,jk,kl->il", M, (S, S)), ("...j,jk->...k", T, (S,)), ("...ij->...ji", T, ()), ("i...,i...->...", T, (T[:, :1],)),
    ("ij,jk->ik", M[:, :1], (S,)), ("ij,ij->ij", M[:1], (N,)), ("ij,k->i", M, (V,)), ("iij,j->i", RNG.normal(size=(3, 3, 4)), (V[:4],)),
    ("Zb,aZ", M, (S[:, :3],)), ("ijk,jki->", T, (RNG.normal(size=(3, 4, 2)),)),
)  # fmt: skip

# name: (function, where to record, where to evaluate)
CASES = {
    "where": (lambda x: np.where(x > 0, x, -2.0 * x), V, W),
    "where of scalars": (lambda x: np.where(x > 0, 1.0, 0.0) * x, V, W),
    "where of a plain mask": (lambda x: np.where(MASK, x, 0.0), V, W),
    "where of numbers": (lambda x: np.where(x, x**2, 5.0), V, W),
    "where, one argument": (lambda x: x[np.where(x > -10.0)[0]], V, W),
    "clip": (lambda x: np.clip(x, -0.5, 0.5), V, W),
    "clip by None": (lambda x: np.clip(x, None, 0.5) + x.clip(min=-0.1), V, W),
    "clip by arrays": (lambda x: np.clip(x, -np.arange(6.0), 0.1 * np.arange(6.0)), V, W),
    "around": (lambda x: np.around(x, 1) + np.round(x) * x + round(x[0]) * 0.0 + x.round(2), V, V + 1e-3),
    "nan_to_num": (lambda x: np.nan_to_num(x + np.array([0.0, np.inf, 0.0, -np.inf, np.nan, 0.0]), nan=2.0, posinf=7.0, neginf=-7.0), V, W),
    "sinc": (np.sinc, V, W),
    "isclose": (lambda x: np.where(np.isclose(x, V), 1.0, x), V, W),
    "allclose": (lambda x: x * 2.0 if np.allclose(x, 100.0) else x * 3.0, V, W),
    "array_equal": (lambda x: x * 2.0 if np.array_equal(x, np.ones(6)) else x * 3.0, V, W),
    "fix": (lambda x: np.fix(3 * x) * x, V, W),
    "sum": (lambda x: np.sum(x) + x.sum(0) + np.add.reduce(x), V, W),
    "sum over axes": (lambda x: np.sum(x, axis=(0, -1)), T, T + 1),
    "sum, keepdims": (lambda x: x / x.sum(axis=1, keepdims=True), T, T + 1),
    "sum, where and initial": (lambda x: np.sum(x, where=MASK, initial=3.0), V, W),
    "sum of a list of scalars": (lambda x: np.sum([x[0], x[1] * 2, x[2]]), V, W),
    "mean": (lambda x: np.mean(x) + x.mean(axis=0) + np.mean(x, where=MASK), V, W),
    "mean over an axis": (lambda x: np.mean(x, axis=1, keepdims=True), T, T + 1),
    "var": (lambda x: np.var(x, axis=1) + x.var(axis=1, ddof=1), M, N),
    "var, where": (lambda x: np.var(x, where=MASK, ddof=1), V, W),
    "var, correction": (lambda x: np.var(x, correction=1), V, W),
    "std": (lambda x: np.std(x, axis=0, keepdims=True) + x.std(ddof=1), M, N),
    "prod": (lambda x: np.prod(x) + x.prod(axis=0) + np.multiply.reduce(x), V, W),
    "prod over axes": (lambda x: np.prod(x, axis=(0, 2)), T, T + 1),
    "prod, keepdims, where, initial": (lambda x: np.prod(x, axis=0, keepdims=True, where=MASK, initial=2.0), V, W),
    "cumsum": (lambda x: np.cumsum(x, axis=1) + x.cumsum(0) + np.add.accumulate(x), M, N),
    "cumsum, flat": (np.cumsum, M, N),
    "cumprod": (lambda x: np.cumprod(x, axis=1) + x.cumprod(0), M, N),
    "max": (lambda x: np.max(x) + x.max(axis=0) + np.amax(x, axis=1, keepdims=True), M, N),
    "max, initial": (lambda x: np.max(x, initial=0.3) + np.max(x, where=MASK, initial=-9.0) + np.maximum.reduce(x), V, W),
    "min": (lambda x: np.min(x) + x.min(axis=0) + np.amin(x, axis=1, keepdims=True) + np.minimum.reduce(x), M, N),
    "ptp": (lambda x: np.ptp(x, axis=0), M, N),
    "all, any": (lambda x: x * np.all(x > -9) + x * np.any(x > 0) + x * (x > 0).all(axis=0, keepdims=True), V, W),
    "count_nonzero": (lambda x: x * np.count_nonzero(x > 0) + (x > 0).sum(), V, W),
    "argmax": (lambda x: x[np.argmax(x)] + x[x.argmin()] + np.argmax(x > 0) * x, V, W),
    "argmax along an axis": (lambda x: np.argmax(x, axis=1) * x[:, 0] + np.argmin(x, axis=-1, keepdims=True)[:, 0], M, N),
    "average": (lambda x: np.average(x) + np.average(x, weights=W**2), V, W),
    "average along an axis": (lambda x: np.average(x, axis=1, weights=np.arange(1.0, 5.0)), M, N),
    "nan reductions": (lambda x: np.nansum(x) + np.nanmean(x) + np.nanmax(x) * np.nanmin(x) + np.nanprod(x) + np.nanvar(x) + np.nanstd(x), V, W),
    "reshape": (lambda x: np.reshape(x, (2, -1)) + x.reshape(2, 6) + x.reshape((2, 6)), M, N),
    "reshape, order F": (lambda x: np.reshape(x, (2, 6), order="F") + x.ravel(order="F").reshape(2, 6), M, N),
    "ravel": (lambda x: np.ravel(x) + x.ravel() + x.flatten() + x.T.flatten(), M, N),
    "transpose": (lambda x: np.transpose(x, (2, 0, 1)) + x.transpose(2, 0, 1), T, T + 1),
    "T": (lambda x: x.T @ x + x.mT @ x, M, N),
    "swapaxes": (lambda x: np.swapaxes(x, 0, -1) + x.swapaxes(2, 0), T, T + 1),
    "moveaxis": (lambda x: np.moveaxis(x, [0, 1], [-1, 0]), T, T + 1),
    "expand_dims": (lambda x: np.expand_dims(x, (0, -1)), M, N),
    "squeeze": (lambda x: np.squeeze(x[:1]) + x[:1].squeeze(axis=0), M, N),
    "broadcast_to": (lambda x: np.broadcast_to(x, (2, 6)) * np.broadcast_to(x[:1], 6), V, W),
    "broadcast_arrays": (lambda x: sum(np.broadcast_arrays(x, np.ones((3, 1)))), V, W),
    "concatenate": (lambda x: np.concatenate([x, 2 * x[:1], np.ones((2, 4))]), M, N),
    "concatenate along an axis": (lambda x: np.concatenate((x, x[:, ::-1]), axis=-1), M, N),
    "concatenate, flat": (lambda x: np.concatenate((x, x[0]), axis=None), M, N),
    "stack": (lambda x: np.stack([x, np.ones(4), x * 2], axis=1), V[:4], W[:4]),
    "vstack": (lambda x: np.vstack([x, x[::-1], np.ones(6)]), V, W),
    "hstack": (lambda x: np.hstack([x, x[:2], 1.0]), V, W),
    "hstack of matrices": (lambda x: np.hstack([x, x[:, :1]]), M, N),
    "column_stack": (lambda x: np.column_stack([x, np.ones(6), np.outer(x, [1.0, 2.0])]), V, W),
    "atleast": (lambda x: np.atleast_2d(x) + np.atleast_1d(x[0]) + np.atleast_2d(x[0]), V, W),
    "flip": (lambda x: np.flip(x) + np.flip(x, 0) + np.fliplr(x) + np.flipud(x) + np.flip(x, (0, 1)), M, N),
    "roll": (lambda x: np.roll(x, 2) + np.roll(x, -1, axis=1), M, N),
    "roll, several axes": (lambda x: np.roll(x, (1, 2), axis=(0, 1)) + np.roll(x, 1, axis=(0, 1)) + np.roll(x, (1, 1), axis=(1, 1)) + np.roll(x, (1, 2)), M, N),
    "linspace": (lambda x: np.linspace(x[0], 2.0, 5) + np.linspace(x[:2], x[2:4], 5, endpoint=False, retstep=True)[0].sum(axis=1), V, W),
    "tile": (lambda x: np.tile(x, (2, 2)) + np.tile(x, 2).sum(), M, N),
    "repeat": (lambda x: np.repeat(x, 2, axis=0), M, N),
    "repeat by an array": (lambda x: np.repeat(x, [0, 1, 2, 0, 3, 1]) + x.repeat(1)[0], V, W),
    "diagonal": (lambda x: np.diagonal(x) + x.diagonal() + np.diag(x), S, S + 1),
    "diagonal, offset": (lambda x: np.diagonal(x, 1) + np.diag(x, -1), S, S + 1),
    "diag of a vector": (lambda x: np.diag(x) + np.diag(x[:5], 1) + np.diag(x[:5], -1), V, W),
    "trace": (lambda x: np.trace(x) + x.trace() + np.trace(x, offset=1), S, S + 1),
    "tril, triu": (lambda x: np.tril(x) * np.triu(x, 1).sum() + np.tril(x, -1) + np.triu(x), S, S + 1),
    "split": (lambda x: np.split(x, 2)[1] * np.split(x, [2, 4])[0].sum(), V, W),
    "array_split": (lambda x: np.array_split(x, 4, axis=0)[0] + np.array_split(x, 4)[3], V, W),
    "copy": (lambda x: np.copy(x) + x.copy() + +x, V, W),
    "like": (lambda x: np.zeros_like(x) + np.ones_like(x) * x + np.full_like(x, 2.0) * x + np.empty_like(x) * 0, V, W),
    "shape, ndim, size": (lambda x: x * (np.shape(x)[0] + np.ndim(x) + np.size(x) + np.size(x, 0) + len(x) + x.ndim + x.size), V, W),
    "dot": (lambda x: np.dot(x, x.T) + x.dot(x.T) + np.dot(x, 2.0)[:, :3], M, N),
    "dot of vectors": (lambda x: np.dot(x, W) * np.vdot(x, x) + np.inner(x, V) + x @ x, V, W),
    "dot of 3 axes": (lambda x: np.dot(x, np.ones((4, 2))) + np.dot(x, np.ones((5, 4, 2))).sum(), T, T + 1),
    "inner": (lambda x: np.inner(x, x), M, N),
    "outer": (lambda x: np.outer(x, V) + np.multiply.outer(x, x), V, W),
    "tensordot": (lambda x: np.tensordot(x, x, axes=([1, 2], [1, 2])) + np.tensordot(x, np.ones((4, 2)), 1).sum(), T, T + 1),
    "diff": (lambda x: np.diff(x) + np.diff(x, axis=0).sum() + np.diff(x, 2, 0).sum() + np.diff(x, n=0).sum(), M, N),
    "diff with ends": (lambda x: np.diff(x, prepend=0.0, append=x[:2]) + np.diff(V, append=[x[0], 1.0])[1:].sum(), V, W),
    "diff of masks": (lambda x: np.where(np.diff(x > 0, prepend=True), x, 2.0 * x), V, W),
    "kron": (lambda x: np.kron(x, N[:2]) + np.kron(N[:2], x) * 2.0, M, N),
    "kron of other numbers of axes": (lambda x: np.kron(x, V[:2]).sum() + np.kron(V[:2], x) + np.kron(T, x).sum(), M, N),
    "kron with numbers and lists": (lambda x: np.kron(x, 2.0) + np.kron(3.0, x) + np.kron(x[0], [x, x])[:, :6].sum(0), V, W),
    "sum of kron": (lambda x: np.sum(np.kron(x, x.T)) + np.kron(x, x[:1]).sum(axis=1)[0], M, N),
    **{f"einsum {text}": (lambda x, text=text, rest=rest: np.einsum(text, x, *rest), at, at + 1.0) for text, at, rest in EINSUMS},
    "einsum of x twice": (lambda x: np.einsum("ij,kj->ik", x, x) + np.einsum("ij,ij", x, x, optimize=True), M, N),
    "matmul": (lambda x: np.matmul(x, M.T) + x @ np.ones((4, 3)) + (np.ones((2, 3)) @ x).sum(), T, T + 1),
    "matmul by a plain left side": (lambda x: M @ x, V[:4], W[:4]),
    "vecdot": (lambda x: np.vecdot(x, M), M, N),
    "linalg's names": (lambda x: np.linalg.matmul(x, x.T) + np.linalg.outer(x[:, 0], x[:, 1]), M, N),
    "cholesky": (lambda x: np.linalg.cholesky(x @ x.T + np.eye(3)), M, N),
    "cholesky, upper": (lambda x: np.linalg.cholesky(x @ x.T + np.eye(3), upper=True), M, N),
    "solve": (lambda x: np.linalg.solve(x + 5 * np.eye(4), x) + np.linalg.solve(S + 5 * np.eye(4), x), S, S + 1),
    "solve for a vector": (lambda x: np.linalg.solve(x + 5 * np.eye(4), x[0]), S, S + 1),
    "inv": (lambda x: np.linalg.inv(x + 5 * np.eye(4)), S, S + 1),
    "slogdet": (lambda x: np.linalg.slogdet(x)[0] * np.linalg.slogdet(x).logabsdet, S, S + 1),
    "det": (lambda x: np.linalg.det(x) + np.linalg.det(x[:3, :3]) * np.linalg.det(x[:2, :2]) + np.linalg.det(x[:1, :1]), S, S + 1),
    "det of stacks": (lambda x: np.linalg.det(x[:, :2, :2]) * np.linalg.det(x[:, :, :3]) + np.linalg.det(x[:, :1, :1]), T[:, :3], T[:, :3] + 1),
    "eigvalsh": (lambda x: np.linalg.eigvalsh(x) * np.linalg.eigvalsh(x, UPLO="U"), S, S + 1),
    "eigh": (lambda x: np.linalg.eigh(x)[0] + np.sum(np.abs(np.linalg.eigh(x).eigenvectors), axis=0) + np.linalg.eigh(x, "U")[1][0] ** 2, S, S + 1),
    "norm": (lambda x: np.linalg.norm(x) + np.linalg.norm(x, axis=0).sum() + np.linalg.norm(x, 3, axis=1) + np.linalg.norm(x, "fro"), M, N),
    "vector norms": (lambda x: sum(np.linalg.norm(x, p) for p in (1, 2, 2.5, np.inf, -np.inf, 0)), V, W),
    "matrix norms": (lambda x: sum(np.linalg.norm(x, p) for p in (1, -1, np.inf, -np.inf)) + np.linalg.norm(x, 1, keepdims=True), M, N),
    "argsort": (lambda x: x[np.argsort(x)] * np.arange(6.0) + x.argsort() * x, V, W),
    "sort": (lambda x: np.sort(x, axis=0) * np.sort(x, axis=-1) + np.sort(x, axis=None)[0], M, N),
    "take_along_axis": (lambda x: np.take_along_axis(x, np.argsort(x, axis=1), axis=1) + np.take_along_axis(x, np.array([[0, 1, 2, 0]]), 0), M, N),
    "searchsorted": (lambda x: np.searchsorted(np.array([-1.0, 0.0, 1.0]), x, side="right") * x, V, W),
    "median": (lambda x: np.median(x) + np.median(x, axis=1, keepdims=True) + np.median(x, axis=0), M, N),
    "take": (lambda x: np.take(x, K) + x.take(K) + np.take(x, -1), V, W),
    "take along an axis": (lambda x: np.take(x, [0, 0, 3], axis=1), M, N),
    "nonzero": (lambda x: x[np.nonzero(x > -9.0)] + x[(x < 9.0).nonzero()], V, W),
    "flatnonzero, argwhere": (lambda x: x[np.flatnonzero(x > -9.0)] + x[np.argwhere(x > -9.0)[:, 0]], V, W),
    "unique": (lambda x: np.unique(x) * np.arange(6.0), V, W),
    "piecewise": (lambda x: np.piecewise(x, [x < 0, x > 1], [lambda v: v**2, 3.0, np.sin]), V, W),
    "interp": (lambda x: np.interp(x, [-1.0, 0.0, 2.0], [1.0, 3.0, 2.0]), V, W),
    "interp in the values": (lambda x: np.interp([-0.5, 0.3, 9.0], [-1.0, 0.0, 2.0], x[:3]), V, W),
    "predicates": (lambda x: x * np.isfinite(x) + np.isnan(x) + np.isinf(x) + np.signbit(x) + np.iscomplexobj(x) + np.isrealobj(x), V, W),
    "real": (lambda x: np.real(x) + x.real + x.conj(), V, W),
    "logic": (lambda x: x * (((x > 0) & (x < 1)) | ~(x > -1) ^ (x > 2)) + x * np.logical_and(x, x > 0) + np.logical_not(x) * x, V, W),
    "bits of integers": (
        lambda x: x * (np.floor(4 * x).astype(int) & 6) + x * (5 | np.argsort(x)) + x * np.bitwise_xor(np.floor(9 * x).astype(int), x > 0), V, W,
    ),
    "bitwise": (lambda x: x * np.bitwise_and(x > 0, MASK) + x * np.bitwise_or(MASK, x > 0) + np.bitwise_xor(x > 0, x > 1) * x + np.invert(x > 0) * x, V, W),
    "logic reduction": (lambda x: x * np.logical_and.reduce(x > -9) + np.logical_or.reduce(x > 0), V, W),
    "power": (lambda x: np.power(x, 3) + np.float_power(x, 2) + abs(x) ** 1.5 + 2.0**x + 2**x + np.abs(x) ** x + x**-1 + x**0.0, V, W),
    "arithmetic": (lambda x: 1 - x + x / 2 - 2 / x + x // 0.7 + x % 0.7 + 3.0 % x + 3 // x - -x + divmod(x, 0.3)[1] + divmod(2.0, x)[0], V, W),
    "divmod": (lambda x: np.divmod(x, 0.7)[0] + np.divmod(x, 0.7)[1], V, W),
    "arrays on the left": (lambda x: V + x - V * x / (V**2 + 1.0) + np.add(V, x) + (V - x) ** 2 + (V > x) * x + (V <= x), V, W),
    "heaviside": (lambda x: np.heaviside(x, 0.5) * x, V, W),
    "logaddexp2": (lambda x: np.logaddexp2(x, 0.3) + np.logaddexp(x, V), V, W),
    "degrees": (lambda x: np.deg2rad(x) + np.radians(x) + np.rad2deg(x) + np.degrees(x), V, W),
    "positive": (lambda x: np.positive(x) * np.negative(x) + np.absolute(x) + np.fabs(x), V, W),
    "slices": (lambda x: x[1:, ::-2] * x[:-1, 1:3].sum() + x[..., 0:1][1:] + x[None, 1, -1] + x[-1][np.newaxis, 2:4], M, N),
    "integer arrays": (lambda x: x[K] * x[[0, 1, 2, 2]] + x[K[::-1]][::-1] + x[np.int64(2)], V, W),
    "integer arrays of two axes": (lambda x: x[[0, 2, 2], [1, 3, 3]] + x[1:, [0, 1, 1]].sum(0) + x[:, [[0], [3]]][0, 0] , M, N),
    "masks": (lambda x: x[MASK] + x[np.flatnonzero(MASK)] * 2, V, W),
    "indices of a number": (lambda x: x[0][()] * x[0][np.newaxis] + x[0][...] ** 2 + x[0][None, ..., None], V, W),
    "unpacking": (lambda x: sum(v * k for k, v in enumerate(x)) + (lambda a, b, *c: a * b + c[0])(*x), V, W),
    "assignment": (lambda x: assigned(x), V, W),
    "in place": (lambda x: in_place(x), V, W),
    "views": (lambda x: through_views(x), M, N),
    "np.array of scalars": (lambda x: np.array([[x[0], 1 - x[0]], [1 - x[1], x[1]]]) @ x[:2], V, W),
    "exp of a list": (lambda x: np.exp([x[0], x[1] * 2.0, x[2]]) * x[:3], V, W),
    "out=": (lambda x: with_out(x), V, W),
    "astype": (lambda x: x.astype(float) + (x > 0).astype(float) * x + x.astype(int) * x + x.astype(bool), V, W),
    "methods of ufuncs": (lambda x: np.add.outer(x, x) + np.subtract.outer(V, x), V, W),
}  # fmt: skip


def assigned(x):
    y = np.zeros_like(x)
    y[0] = x[1] * 2
    y[1:3] = x[:2]
    y[[3, 4]] = x[4]
    y[5] += x[0] ** 2
    y[MASK] = y[MASK] * 0.5
    y[x > 100.0] = 7.0
    z = td.full((2, 6), 1.5)
    z[:, ::2] = x[:3]
    z[1] = y
    z[0, K[:2]] -= x[:2]
    return z


def in_place(x):
    y = x * 1.0
    y += x
    y *= 2
    y -= 1.0
    y /= x**2 + 1
    y **= 2
    y %= 5.0
    y //= 0.1
    y[...] = y + x
    y[2:4] *= x[:2]
    y[::-1][0] = 3.0 * x[1]
    return y


def through_views(x):
    y = x.copy()
    first, flat = y[0], y.reshape(-1)
    first[1:3] = 5.0
    flat[-1] = x[0, 0] ** 2
    y.T[0] *= 2.0
    flat[[4, 5]] = first[:2]
    return y * first + flat.sum()


def with_out(x):
    y = td.zeros(6)
    np.multiply(x, 2.0, out=y)
    np.add(y, x, out=y)
    return y


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated")  # NumPy 2.5
@pytest.mark.parametrize("name", CASES)
def test_it_gives_what_numpy_gives(name):
    """Plain call == replay == kernel in value, shape and dtype, at a point other than the recorded one."""
    f, recorded, point = CASES[name]
    tape = td.record(f, recorded)
    tape.check()
    plain = np.asarray(f(point.copy()))
    for value in (tape(point), td.CompiledTape(tape)(point)):
        assert np.shape(value) == plain.shape
        # NumPy's integers of other widths are int64 here.
        assert np.asarray(value).dtype == (plain.dtype if plain.dtype.kind != "i" else np.int64)
        # Sums of a few dozen terms in another order.
        np.testing.assert_allclose(value, plain, rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated")  # NumPy 2.5
@pytest.mark.parametrize("name", CASES)
def test_its_gradient_is_its_slope(name):
    """Central differences of a random projection; and the kernel's gradient is the tape's."""
    f, recorded, point = CASES[name]
    weights = np.cos(np.arange(np.size(f(point.copy()))) + 0.5).reshape(np.shape(f(point.copy())))

    def projected(x):
        return np.sum(f(x) * weights)

    tape = td.record(projected, recorded)
    gradient = td.gradient(tape, point)
    scale = max(1.0, np.max(np.abs(gradient)))
    differences = [central_difference(lambda x: float(projected(x.copy())), point, step) for step in (1e-4, 1e-5, 1e-6)]
    # The best step is good to 1e-9 of the largest third derivative, here up to about 50 times the gradient.
    assert np.all(np.min([np.abs(d - gradient) for d in differences], axis=0) < 5e-8 * scale)
    np.testing.assert_allclose(td.gradient(td.CompiledTape(tape), point), gradient, rtol=1e-11, atol=1e-11 * scale)


def test_every_function_of_the_dispatch_table_has_a_case(monkeypatch):
    """Functions, ufunc compositions, reductions and methods are each reached by some case."""
    reached = set()

    def spy(table):
        return {key: (lambda *a, _key=key, _f=f, **n: reached.add(id(_key) if callable(_key) else _key) or _f(*a, **n)) for key, f in table.items()}

    tables = [dispatch.FUNCTIONS, dispatch._UFUNC_COMPOSITIONS, dispatch._REDUCE, dispatch._ACCUMULATE]
    originals = [dict(table) for table in tables]
    for table in tables:
        for key, f in spy(table).items():
            monkeypatch.setitem(table, key, f)
    for f, recorded, _ in CASES.values():
        td.record(f, recorded)
    drawn = arguments(np.random.default_rng(0))
    for line in (line for lines in GROUPS.values() for line in lines):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            td.record(function(line), *(drawn[name] for name in used(line)))
    missing = {getattr(key, "__name__", key) for table in originals for key in table if id(key) not in reached}
    assert not missing


def test_a_function_that_is_not_there_is_named_with_what_to_do_instead():
    with pytest.raises(td.UnsupportedFunction) as raised:
        td.record(lambda x: np.einsum_path("i,i", x, x), V)
    assert str(raised.value).split("\n")[0] == "np.einsum_path is not supported on tracked arrays"
    assert raised.value.fix == "call it on plain arrays of the same shapes"
    with pytest.raises(td.UnsupportedFunction, match=r"the argument where= without out="):
        td.record(lambda x: np.add(x, x, where=x > 0), V)
    plain = np.zeros(6)
    with pytest.raises(td.UnsupportedFunction, match="writing tracked values into a plain array"):
        td.record(lambda x: np.add(x, x, out=plain), V)


@pytest.mark.parametrize(
    ("f", "error"),
    [
        (lambda x: x[6], IndexError),
        (lambda x: x[0, 0], IndexError),
        (lambda x: x[[0, 7]], IndexError),
        (lambda x: x + np.ones(5), ValueError),
        (lambda x: x.reshape(4), ValueError),
        (lambda x: np.concatenate([x, np.ones((2, 2))]), ValueError),
        (lambda x: x @ np.ones(5), ValueError),
        (lambda x: np.sum(x, axis=1), np.exceptions.AxisError),
        (lambda x: np.transpose(x, (0, 1)), ValueError),
        (lambda x: np.max(x[:0]), ValueError),
        (lambda x: np.linalg.solve(x.reshape(2, 3), x[:2]), np.linalg.LinAlgError),
        (lambda x: bool(x > 0), ValueError),
        (lambda x: len(x[0]), TypeError),
        (lambda x: iter(x[0]), TypeError),
        (lambda x: x.nothing, AttributeError),
        (lambda x: np.stack([x, x[:2]]), ValueError),
        (lambda x: np.split(x, 4), ValueError),
        (lambda x: np.diff(x, -1), ValueError),
        (lambda x: np.diff(x[0]), ValueError),
        (lambda x: np.einsum("i,j->i", x), ValueError),
        (lambda x: np.einsum("ij->i", x), ValueError),
        (lambda x: np.einsum("i->ij", x), ValueError),
        (lambda x: np.einsum("i->ii", x), ValueError),
        (lambda x: np.einsum("i,i", x, np.ones(5)), ValueError),
        (lambda x: np.einsum("ii", x.reshape(2, 3)), ValueError),
        (lambda x: np.einsum("i;", x), ValueError),
    ],
)
def test_a_mistake_raises_what_numpy_raises(f, error):
    with pytest.raises(error):
        f(V.copy())
    with pytest.raises(error):
        td.record(f, V)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: np.heaviside(x, 0.5), np.float32([-1.0, 0.0, 2.0])),
        (lambda x: np.logaddexp2(x, 1.0), np.float32([0.1, 0.7])),
        (lambda x: np.inner(x, x), np.zeros(0)),
        (lambda x: np.tensordot(x, x.T, axes=1), np.zeros((0, 3))),
        (lambda x: np.inner(x, x), np.zeros((3, 0))),
        (lambda x: np.histogram(x, bins=3, range=(-2, 2))[0], np.array([0.0, 0.5, -1.5, 0.5])),
    ],
)
def test_precision_empty_products_and_counts_are_numpys(f, x):
    """Numbers of Python's own do not decide the precision; sums over nothing are 0; counts are integers in kernels too."""
    for call in (td.record(f, x), td.compile(f, x)):
        got, expected = call(x), f(x)
        assert np.asarray(got).dtype == np.asarray(expected).dtype
        # Single precision, which kernels round to from double.
        np.testing.assert_allclose(got, expected, rtol=3e-7)


def test_a_wrapped_ufunc_in_numpys_namespace_is_still_numpys(monkeypatch):
    """Somebody's decorator of np.sin changes neither the answer nor the name in a refusal."""
    for name in ("sin", "spacing"):
        monkeypatch.setattr(np, name, functools.wraps(getattr(np, name))(functools.partial(getattr(np, name))))
    np.testing.assert_allclose(td.gradient(td.record(lambda x: np.sum(np.sin(x)), V), V), np.cos(V), rtol=1e-14)
    with pytest.raises(td.UnsupportedFunction, match=r"^np\.spacing is not supported"):
        td.record(lambda x: np.sum(np.spacing(x)), V)
