"""Calls of NumPy's functions, one a line, as text: what names in them stand for is drawn by `arguments`.

x, y, w: 6 floats each; v: 3; m, n: (3, 4); s: (3, 3); p: (3, 3), positive definite; t: (2, 3, 4); S, P: stacks of s and p, (2, 3, 3); c, d: numbers;
e: no floats; r: 6 floats that increase; k: 6 plain integers of range(6); b: 6 plain masks; i: 6 tracked integers of range(6).
"""

import numpy as np

SHAPES = {
    "x": (6,), "y": (6,), "w": (6,), "v": (3,), "m": (3, 4), "n": (3, 4), "s": (3, 3), "p": (3, 3), "t": (2, 3, 4), "S": (2, 3, 3),
    "P": (2, 3, 3), "c": (), "d": (), "e": (0,), "r": (6,), "i": (6,),
}  # fmt: skip
PLAIN = {"k": np.array([3, 0, 3, 5, 1, 2]), "b": np.array([True, False, True, True, False, True]), "G": np.linspace(-2.0, 2.0, 5)}


def arguments(rng):
    """Values of the names of SHAPES: numbers away from the whole ones, so that nothing is at a kink or a tie."""
    drawn = {name: rng.permutation(np.prod(shape, dtype=int)).reshape(shape) + rng.uniform(0.2, 0.8, shape) for name, shape in SHAPES.items()}
    drawn = {name: (a - a.size / 2) * (2.0 / max(np.sqrt(a.size), 1.0)) for name, a in drawn.items()}
    for name in "pP":
        drawn[name] = drawn[name] @ np.swapaxes(drawn[name], -1, -2) + np.eye(3)
    drawn["r"] = np.sort(drawn["r"])
    drawn["i"] = rng.integers(0, 6, 6)
    return drawn


SHAPING = """
np.append(x, y)
np.append(m, n, axis=1)
np.append(x, [1.0, c])
np.atleast_1d(c, x, m)[0]
np.atleast_2d(c, x, m)[1]
np.atleast_3d(c, x, m, t)[1:3]
np.block([[m, n], [n, m]])
np.block([x, c, 1.0])
np.broadcast_arrays(v[:, None], m)
np.delete(x, 2)
np.delete(m, [0, 2], axis=1)
np.delete(x, b)
np.delete(x, slice(1, 5, 2))
np.diagflat(v, 1)
np.diagflat(m)
np.dsplit(t, 2)
np.dstack([m, n])
np.dstack([x, y])
np.hsplit(m, 2)
np.hsplit(x, [2, 3])
np.vsplit(m, 3)
np.split(x, 3)
np.split(t, [1, 2], axis=-1)
np.array_split(x, 4)
np.array_split(m, 3, axis=1)
np.insert(x, 2, c)
np.insert(m, 1, v, axis=1)
np.insert(x, [0, 3], [c, d])
np.insert(x, b, 1.0)
np.matrix_transpose(t)
np.permute_dims(t, (2, 0, 1))
np.pad(x, 2)
np.pad(m, ((1, 2), (0, 3)))
np.pad(x, (1, 2), mode="edge")
np.pad(m, 2, mode="reflect")
np.pad(x, 8, mode="reflect", reflect_type="odd")
np.pad(m, 3, mode="symmetric")
np.pad(x, (9, 4), mode="symmetric", reflect_type="odd")
np.pad(m, (3, 5), mode="wrap")
np.pad(m, ((1, 0), (2, 7)), mode="wrap")
np.pad(t, 1, mode="symmetric")
np.pad(x[:1], 2, mode="reflect")
np.pad(m, [(1, 2)], mode="reflect", reflect_type="even")
np.pad(x, 3, mode="constant", constant_values=(c, d))
np.pad(m, 2, mode="constant", constant_values=7.0)
np.pad(x, (2, 3), mode="linear_ramp", end_values=(c, 5.0))
np.pad(m, 1, mode="linear_ramp")
np.pad(m, 2, mode="maximum")
np.pad(x, 2, mode="minimum", stat_length=3)
np.pad(m, 2, mode="mean")
np.pad(x, 2, mode="mean", stat_length=(2, 4))
np.pad(m, 1, mode="median")
np.pad(x, 2, mode="empty")[2:-2]
np.resize(x, (2, 5))
np.resize(m, 3)
np.roll(m, (1, 2), axis=(0, 1))
np.roll(t, 5)
np.rollaxis(t, 2)
np.rollaxis(t, 0, 3)
np.rot90(m)
np.rot90(t, 3, axes=(1, 2))
np.tile(m, (2, 1, 2))
np.tile(c, 3)
np.repeat(m, [1, 0, 2], axis=0)
np.trim_zeros(np.concatenate([[0.0], x, [0.0, 0.0]]))
np.unstack(t)
np.unstack(m, axis=1)
np.concat([x, y])
np.vstack([x, y])
np.hstack([c, x])
np.column_stack([x, y])
np.astype(np.astype(x, float) > 0, float)
np.require(x, requirements="C") * c
np.array([[c, d], [x[0], 2.0]], ndmin=3)
np.r_[x, c, 1.0, y[:2]]
np.r_[1:4, x]
np.r_["0,2", x, y]
np.r_["-1", m, n]
np.c_[x, y]
np.c_[m, v, n]
np.ix_(i, [0, 1])[0] + c
m[np.ix_([0, 2], [1, 3])]
np.lib.stride_tricks.sliding_window_view(x, 3)
np.lib.stride_tricks.sliding_window_view(m, (2, 3))
np.lib.stride_tricks.sliding_window_view(t, 2, axis=1)
np.shape(m)[0] * c + np.ndim(t) + np.size(t, 1)
np.fill_diagonal(np.array(s), c) or c
"""

GRIDS = """
np.geomspace(np.exp(c), np.exp(d), 5)
np.geomspace(np.exp(v), 9.0, 4, axis=1)
np.linspace(c, d, 5)
np.linspace(v, 2.0, 4, endpoint=False, axis=-1)
np.linspace(c, 1.0, 3, retstep=True)
np.logspace(c, d, 4)
np.logspace(c, 1.0, 4, endpoint=False, base=2.0)
np.logspace(c, v, 3, base=np.exp(v), axis=-1)
np.logspace(0.5, 1.5, 3, base=np.exp(v))
np.meshgrid(x, v)
np.meshgrid(x, v, c, indexing="ij")
np.meshgrid(x, y, sparse=True)
np.full((2, 3), c)
np.full_like(x, c)
np.mgrid[0:3, 0:2][0] * c
np.ogrid[0:3, 0:2][1] * c
np.eye(3) * c + np.identity(3)
np.vander(x)
np.vander(x, 3, increasing=True)
np.indices((2, 3))[1] * c
np.fromfunction(lambda a, b: a * c + b, (2, 3))
np.tri(3) * s
np.arange(4) * c
np.copy(m)
"""

ELEMENTWISE = """
np.angle(x)
np.angle(x, deg=True)
np.conj(x)
np.conjugate(m)
np.real(x) + np.imag(x)
np.real_if_close(x)
np.isreal(x) & np.iscomplex(x)
np.isneginf(x) | np.isposinf(x)
np.divmod(x, y)
np.modf(x)
np.ldexp(x, k)
np.ldexp(x, i)
np.i0(x)
np.i0(m)
np.float_power(np.abs(x), y)
np.nan_to_num(x, nan=2.0)
np.sinc(m)
np.unwrap(4.0 * x)
np.unwrap(9.0 * m, axis=0, discont=4.0)
np.unwrap(3.0 * x, period=5.0)
np.fix(x) * x
np.log([np.exp(c), np.exp(d), 2.0])
np.exp([[c, 1.0], [2.0, d]])
np.sqrt([abs(c), abs(d)])
np.add([c, d], [1.0, c])
np.multiply(2.0, [c, d])
np.where([c > 0, d > 0], [c, 1.0], [d, 2.0])
np.clip([c, d], -0.1, 0.2)
np.select([x > 1, x > 0], [x**2, 3 * x], -1.0)
np.select([m > 1.0, n > 0.0], [m, n], c)
np.choose(k % 3, [x, y, w])
np.choose(i % 3, [x, y, w])
np.choose([0, 2, 1], [v, 1.0, c])
np.choose(k, [x, y], mode="clip")
np.choose(k, [x, y], mode="wrap")
np.piecewise(x, [x < 0, x >= 0], [lambda z: -z, lambda z: z**2])
np.left_shift(i, 2) * c + np.right_shift(i, 1)
np.vectorize(lambda z: z**2 if z > 0 else -z)(x)
np.vectorize(lambda z, q: z * q)(m, c)
np.vectorize(lambda z: (z, z**2))(v)
np.vectorize(np.sum, signature="(n)->()")(m)
np.vectorize(lambda z, power=2: z**power, excluded=["power"])(x, power=3)
np.frompyfunc(lambda z, q: z * q + 1.0, 2, 1)(x, y) * 1.0
np.apply_along_axis(lambda z: z[0] * z, 1, m)
np.apply_along_axis(np.sum, 0, t)
np.apply_over_axes(np.sum, t, [0, 2])
"""

REDUCING = """
np.cumulative_sum(x)
np.cumulative_sum(m, axis=1, include_initial=True)
np.cumulative_prod(m, axis=0)
np.nancumsum(m, axis=0)
np.nancumprod(x)
np.nanmedian(m, axis=1)
np.nanmedian(x)
np.nanpercentile(m, [10, 60], axis=0)
np.nanquantile(x, 0.3)
np.nanargmax(m, axis=1) + np.nanargmin(m, axis=1)
np.median(m, axis=(0, 1), keepdims=True)
np.percentile(x, 30)
np.percentile(m, [0, 35, 100], axis=1)
np.percentile(t, 20, axis=(0, 2), keepdims=True)
np.quantile(x, [[0.1, 0.2], [0.5, 0.9]])
np.quantile(m, 0.3, axis=0, method="lower")
np.quantile(m, 0.3, axis=0, method="higher")
np.quantile(x, 0.3, method="nearest")
np.quantile(x, 0.3, method="midpoint")
np.quantile(x, 0.3, method="inverted_cdf")
np.quantile(x, 0.3, method="averaged_inverted_cdf")
np.quantile(x, 0.5, method="closest_observation")
np.quantile(x, 0.3, method="interpolated_inverted_cdf")
np.quantile(x, 0.3, method="hazen")
np.quantile(x, 0.3, method="weibull")
np.quantile(x, 0.3, method="median_unbiased")
np.quantile(x, 0.3, method="normal_unbiased")
np.quantile(x, 0.4, weights=np.exp(G[k % 5]), method="inverted_cdf")
np.average(m, axis=1, weights=n**2)
np.std([c, d, x[0]])
np.var([c, d, 1.0], ddof=1)
np.mean([[c, d], [1.0, 2.0]], axis=0)
np.sum([c, d]) + np.prod([c, d]) + np.max([c, d]) + np.ptp([c, d])
np.cumsum([c, d, 1.0])
np.diff([c, d, 1.0])
np.ediff1d(m)
np.ediff1d(x, to_begin=c, to_end=[1.0, 2.0])
np.diff(m, n=2, prepend=0.0)
np.cov(m)
np.cov(m, n)
np.cov(x, y, bias=True)
np.cov(m, rowvar=False, ddof=0)
np.cov(m, fweights=[1, 2, 1, 3], aweights=[0.5, 1.0, 2.0, 1.0])
np.corrcoef(m)
np.corrcoef(x, y)
np.count_nonzero(m > 0, axis=1) * c
np.bincount(k, weights=x)
np.bincount(k, x, minlength=9)
np.histogram(k, bins=3, weights=x)[0]
np.histogram(G[k % 5], bins=[-3.0, 0.0, 1.0, 3.0], weights=x)
np.histogram(x, bins=4)[0]
np.histogram2d(G[k % 5], G[(k + 1) % 5], bins=2, weights=x)[0]
np.trapezoid(x)
np.trapezoid(m, dx=0.5, axis=0)
np.trapezoid(m, n, axis=1)
np.trapezoid(x, r)
np.gradient(x)
np.gradient(x, 0.5, edge_order=2)
np.gradient(m)
np.gradient(m, 2.0, np.arange(4.0) ** 2)
np.gradient(x, r)
np.gradient(t, axis=(0, 1))[0]
np.add.reduce(m, axis=1)
np.add.reduce(x, initial=3.0, where=b)
np.multiply.reduce(m, axis=(0, 1))
np.maximum.reduce(m) + np.minimum.reduce(m)
np.logaddexp.reduce(m, axis=1)
np.logaddexp.reduce(x)
np.fmax.reduce(m) + np.fmin.reduce(m)
np.hypot.reduce(m, axis=1)
np.subtract.reduce(m, axis=1)
np.divide.reduce(m, axis=1)
np.logical_and.reduce(m > 0, axis=1)
np.logical_xor.reduce(m > 0, axis=1)
np.add.accumulate(m, axis=1)
np.multiply.accumulate(x)
np.maximum.accumulate(m, axis=1)
np.minimum.accumulate(x)
np.logaddexp.accumulate(x)
np.logaddexp2.accumulate(m)
np.subtract.accumulate(x)
np.add.reduceat(x, [0, 3, 1])
np.add.reduceat(m, [0, 2], axis=1)
np.multiply.reduceat(x, [0, 2, 4])
np.maximum.reduceat(x, [0, 4])
np.minimum.reduceat(x, [1, 0])
np.logaddexp.reduceat(x, [0, 2])
np.add.outer(x, v)
np.multiply.outer(m, v)
np.maximum.outer(x, y)
np.minimum.outer(c, x)
np.logaddexp.outer(v, [c, 1.0])
np.subtract.outer(x, x)
"""

SELECTING = """
np.compress([True, False, True], m, axis=0)
np.compress(b, x)
np.extract(b, x)
np.extract(x > 0, x)
np.digitize(x, G)
np.digitize(x, G[::-1], right=True)
np.digitize(G, r)
np.searchsorted(r, y, side="right")
np.isin(i, [1, 3])
np.isin(k, i, invert=True)
np.lexsort((x, y))
np.lexsort(m)
np.lexsort((x, i))
np.sort(m, axis=None)
np.argsort(-x, stable=True)
np.partition(x, 2)[2]
np.partition(m, (0, 3), axis=1)[:, [0, 3]]
x[np.argpartition(x, 2)[2]]
np.take(m, [0, 5, -1])
np.take(m, k % 3, axis=0)
np.take(m, i % 3, axis=0)
np.take(m, i, mode="wrap")
np.take(x, [7, -9], mode="clip")
np.take(PLAIN_G, i % 5) * c
np.take(PLAIN_M, i % 3, axis=1) * c
np.take_along_axis(PLAIN_M, np.argsort(m), axis=1) * c
np.take_along_axis(m, np.argsort(n, axis=0), axis=0)
np.argmax(m, axis=1) * c + np.argmin(m)
np.unique(x)
np.unique(np.round(x), return_index=True, return_inverse=True, return_counts=True)[1]
np.unique(np.round(m), axis=0)
np.unique(np.round(m), axis=-1, return_index=True, return_inverse=True, return_counts=True)[2]
np.unique_values(x)
np.unique_counts(np.round(x)).counts
np.unique_all(x).indices
np.unique_inverse(x).inverse_indices
np.intersect1d(np.round(x), np.round(y))
np.union1d(x, y)
np.setdiff1d(x, [1.0])
np.setxor1d(x, y)
np.histogram_bin_edges(x, 3)
np.histogramdd([G[k % 5], G[(k + 1) % 5]], bins=(2, 3), weights=x)[0]
x[np.s_[1:4]] + x[np.index_exp[2:5]]
c * (np.result_type(x, 1) == np.float64) + np.can_cast(x, float) + (np.common_type(x) is float) + np.isfortran(m)
np.interp(G, r, x)
np.interp(c, r, y, left=1.0, right=d)
np.interp(x, r, y, period=3.0)
np.nonzero(m > 0)
np.argwhere(x > 0)
np.flatnonzero(x > 0)
np.where(x > 0)
np.array_equiv(x, x) * c
np.unravel_index(i, (2, 3))[0] * c
np.ravel_multi_index((i % 2, i % 3), (2, 3)) * c
np.diag_indices_from(s)
np.triu_indices_from(m)
m[np.tril_indices_from(m)]
s[np.triu_indices(3, 1)]
s[np.mask_indices(3, np.triu)]
m[m[:, 1] > 0, 2]
m[m[:, 1] > 0, 1:]
m[1, m[1] > 0]
m[..., m[0] > 0]
m[m[:, 1] > 0, None]
m[m[:, 1] > -9, i[:3] % 4]
t[m[:2, :3] > 0, 1:3]
"""

PRODUCTS = """
np.convolve(x, v)
np.convolve(x, v, mode="same")
np.convolve(v, x, mode="valid")
np.correlate(x, v)
np.correlate(x, v, mode="full")
np.correlate(v, x, mode="same")
np.cross(v, s)
np.cross(s, v)
np.cross(S, s, axis=1)
np.cross(v, [0.5, -1.0, 2.0])
np.cross(np.array([0.5, -1.0, 2.0]), S)
np.cross(v, np.array([1, 0, 2]))
np.cross(v, s, axisc=0)
np.cross(v.reshape(1, 1, 3), s)
np.cross(S, s, axisa=1, axisb=0)
np.dot(t, m.T)
np.dot(t, n[0])
np.dot(c, x) + np.dot(x, y)
np.inner(t, n)
np.inner(x, y)
np.kron(m, v)
np.kron(v, m)
np.kron(c, m)
np.matvec(m, n[0])
np.matvec(t, n[1])
np.vecmat(v, m)
np.vecmat(s[0], t)
np.vecdot(m, n)
np.vdot(m, n)
np.outer(x, v)
np.tensordot(t, n, axes=([1, 2], [0, 1]))
np.tensordot(t, n.T, 1)
np.einsum("ij,kj->ik", m, n)
np.einsum(m, [0, 1], n, [2, 1], [0, 2])
np.einsum(m, [0, 1], n, [2, 1])
np.einsum(t, [..., 0, 1], n, [0, 1], [...])
np.einsum("...ii->...i", S)
np.einsum("...ij,...j", t, n[0])
np.einsum("ij->j", m, optimize=True)
np.einsum("i,ij,j", v, m, n[0], optimize="greedy")
np.einsum("i,i,i->i", x, y, w)
np.einsum("...,...->...", m, c)
np.einsum("ii", s)
np.einsum("ij,ij,ij", m, n, m)
np.einsum("abc,bc->a", t, n)
np.einsum("...a,...a->...", t, n)
np.einsum("i...->...", t)
np.einsum("ij,jk->ki", m, n.T, dtype=float)
np.poly(v)
np.poly(x[:2])
np.poly(p + 0.1 * s)
np.polyadd(v, x)
np.polysub(v, x)
np.polymul(v, x)
np.polymul(c, x)
np.polydiv(x, v)
np.polyder(x)
np.polyder(x, 2)
np.polyint(v)
np.polyint(v, 2, k=[c, 1.0])
np.polyval(v, x)
np.polyval(v, m)
np.polyval([c, d, 1.0], 0.5)
np.polyfit(G, G**2 * c + d, 2)
np.polyfit(r, x, 2)
np.polyfit(G, np.stack([G * c, G**2 * d], 1), 1)
np.polyfit(r, x, 1, w=y**2)
"""

LINALG = """
np.linalg.cholesky(P)
np.linalg.cholesky(P, upper=True)
np.linalg.solve(S, m[:, 0])
np.linalg.solve(s, S)
np.linalg.solve(S, s)
np.linalg.solve(S, np.swapaxes(t, 1, 2)[:, :3])
np.linalg.solve(s, v)
np.linalg.inv(S)
np.linalg.det(S)
np.linalg.det(np.pad(S, ((0, 0), (0, 1), (0, 1)), constant_values=0.5) + np.eye(4))
np.linalg.slogdet(S)
np.linalg.eigh(S @ S.transpose(0, 2, 1))[0]
np.linalg.eigh(S)[1]
np.linalg.eigvalsh(S, UPLO="U")
np.linalg.svd(m, full_matrices=False)
np.linalg.svd(m.T, full_matrices=False)
np.linalg.svd(t, full_matrices=False)[0]
np.linalg.svd(s)
np.linalg.svd(m, compute_uv=False)
np.linalg.svd(s + s.T, hermitian=True)
np.linalg.svdvals(t)
np.linalg.qr(m)
np.linalg.qr(m.T)
np.linalg.qr(t)
np.linalg.qr(s, mode="complete")
np.linalg.qr(m, mode="complete")
np.linalg.qr(t, mode="r")
np.linalg.svd(e.reshape(0, 3))
np.linalg.svd(e.reshape(3, 0))
np.linalg.qr(e.reshape(3, 0), mode="complete")
np.linalg.lstsq(m.T, n[0], rcond=None)[:2]
np.linalg.lstsq(m, v)[0]
np.linalg.lstsq(m.T, n.T)[0]
np.linalg.pinv(m)
np.linalg.pinv(t)
np.linalg.pinv(p, hermitian=True)
np.linalg.matrix_power(s, 3)
np.linalg.matrix_power(S, -2)
np.linalg.matrix_power(s, 0)
np.linalg.matrix_rank(m) * c
np.linalg.matrix_rank(S) * c
np.linalg.multi_dot([m, n.T, s, v])
np.linalg.multi_dot([x, np.outer(x, v), s])
np.linalg.norm(x)
np.linalg.norm(m)
np.linalg.norm(m, axis=1)
np.linalg.norm(x, 3)
np.linalg.norm(x, -1) + np.linalg.norm(x, 0.5)
np.linalg.norm(m, np.inf) + np.linalg.norm(m, 1) + np.linalg.norm(m, -1) + np.linalg.norm(m, "fro")
np.linalg.norm(m, 2) + np.linalg.norm(m, -2) + np.linalg.norm(m, "nuc")
np.linalg.norm(t, 2, axis=(1, 2), keepdims=True)
np.linalg.norm(t, "nuc", axis=(2, 0))
np.linalg.vector_norm(m)
np.linalg.vector_norm(t, ord=3, axis=(0, 1))
np.linalg.matrix_norm(t)
np.linalg.matrix_norm(t, ord=2, keepdims=True)
np.linalg.cond(s)
np.linalg.cond(S, 1)
np.linalg.cond(s, "fro")
np.linalg.cond(m, -2)
np.linalg.tensorsolve(np.reshape(s, (3, 1, 3)), np.reshape(v, (3, 1)))
np.linalg.tensorinv(np.reshape(s, (3, 1, 3)), ind=2)
np.linalg.cross(v, s)
np.linalg.outer(v, x)
np.linalg.trace(S, offset=1)
np.linalg.diagonal(t, offset=1)
np.linalg.matrix_transpose(t)
np.linalg.vecdot(m, n)
np.linalg.vecdot(t, t, axis=1)
np.linalg.tensordot(m, n, axes=2)
np.linalg.matmul(t, n.T)
np.linalg.eigvals(p + 0.1 * s)
np.roots(np.poly(v) * d)
np.roots(np.append([0.0, 0.0], np.append(np.poly(v), 0.0)))
np.linalg.eig(p + 0.1 * s)
np.trace(S, axis1=1, axis2=2)
"""

METHODS = """
x.argpartition(2)[2] * c
x.conj() + x.conjugate() + x.real
x.imag + c
np.astype(m > 0, int).choose([n, c])
x.compress(b)
x.strides[0] * c
m.flat[3] + c
list(m.flat)[5] + c
x.cumprod() + x.cumsum()
m.mT @ n
np.ptp(m) * c
m.take([1, 2], axis=1)
m.std(axis=0) + m.var(axis=0) + m.mean(axis=0)
m.trace() + m.diagonal()
m.squeeze().ravel().flatten().reshape(4, 3).swapaxes(0, 1)
m.repeat(2, axis=0)
r.searchsorted(G) * c
x.astype(float) * x.astype(int)
m.dot(n.T)
m.round(1) * m
m.clip(-0.5, 0.5)
m.argmax() * c + m.argmin(axis=0)
m.argsort(axis=0) * c
(m > 0).any(axis=1) * c + (m > 0).all()
(x > 0).nonzero()
m.prod(axis=1) + m.sum(axis=1) + m.max(axis=1) + m.min(axis=1)
m.transpose(1, 0) @ m.copy()
(x.base is None) * c
m.flags.c_contiguous * c
x.view() * c
x.to_device("cpu") * c
(x.device == "cpu") * c
"""

# Wrong arguments, and none: values, or the kind of error.
edges = """
np.append(e, x)
np.append(c, d)
np.delete(x, 9)
np.delete(e, [])
np.insert(x, 9, 1.0)
np.pad(e, 2)
np.pad(x, -1)
np.pad(x, 1, mode="nothing")
np.pad(e, 1, mode="edge")
np.resize(x, -1)
np.resize(x, 0)
np.roll(x, 1, axis=3)
np.rot90(x)
np.split(x, 4)
np.vsplit(x, 2)
np.dsplit(m, 2)
np.hsplit(c, 1)
np.unstack(c)
np.block([[m], [x]])
np.meshgrid(x, indexing="kl")
np.geomspace(0.0, c, 3)
np.geomspace(c, 1.0, -1)
np.logspace(c, d, -1)
np.linspace(c, d, 1)
np.vander(m)
np.select([x > 0], [x, y])
np.choose(k, [x, y])
np.choose(i, [x, y])
np.percentile(x, 101)
np.percentile(e, 50)
np.quantile(x, 0.3, method="none")
np.quantile(x, -0.1)
np.median(e)
np.nanmedian(e)
np.cov(e)
np.corrcoef(c)
np.bincount(k, x[:3])
np.bincount(x)
np.trapezoid(e)
np.trapezoid(c)
np.trapezoid(x, m)
np.gradient(x[:1])
np.gradient(x, m)
np.gradient(m, axis=5)
np.convolve(e, x)
np.convolve(m, x)
np.convolve(x, v, "no")
np.correlate(x, e)
np.cross(x, x)
np.cross(v[:2], v)
np.kron(e, x)
np.polyval(e, x)
np.polyder(x, -1)
np.polyfit(x, y[:2], 1)
np.polyfit(x, y, -1)
np.polydiv(x, [0.0])
np.polymul(e, x)
np.interp(x, r, y[:2])
np.interp(x, e, e)
np.compress([True] * 9, x)
np.compress(m > 0, m)
np.extract(b, m)
np.digitize(x, x)
np.digitize(x, m)
np.take(x, 9)
np.take(x, [-9])
np.take(x, 1.5)
np.take(m, [0], axis=4)
np.partition(x, 9)
np.partition(e, 0)
np.argpartition(m, 3, axis=0)
np.lexsort((x, m))
np.unique(e)
np.unravel_index(i, (2, 2))
np.ravel_multi_index((i, i), (3, 3))
np.isin(e, x)
np.setdiff1d(x, x)
np.intersect1d(e, x)
np.add.reduce(e)
np.maximum.reduce(e)
np.subtract.reduce(m, axis=(0, 1))
np.subtract.reduce(m, axis=0, keepdims=True)
np.logaddexp.reduce(e)
np.logaddexp.reduce(m, axis=(0, 1))
np.logaddexp.reduce(x, where=b)
np.maximum.accumulate(e)
np.maximum.accumulate(c)
np.add.reduceat(x, [9])
np.add.reduceat(x, [])
np.add.outer(e, x)
np.hypot.reduce(x, initial=2.0)
np.apply_along_axis(np.sum, 3, m)
np.apply_along_axis(lambda z: 1.0 * z[0], 0, e.reshape(0, 2))
np.vectorize(lambda z: z)(e)
np.einsum("ij,jk", m, m)
np.einsum(m, [0, 0])
np.matvec(m, x)
np.vecmat(m, x)
np.linalg.matrix_power(s, 1.5)
np.linalg.matrix_power(m, 2)
np.linalg.multi_dot([s])
np.linalg.multi_dot([m, m])
np.linalg.norm(x, "fro")
np.linalg.norm(m, 3)
np.linalg.norm(t, 2)
np.linalg.norm(e)
np.linalg.norm(x * 0.0, 3)
np.linalg.cond(e)
np.linalg.tensorinv(s, ind=0)
np.linalg.tensorsolve(m, x)
np.linalg.lstsq(m, x)
np.linalg.solve(s, x)
np.linalg.cholesky(x)
np.linalg.qr(x)
np.linalg.qr(m, mode="no")
np.linalg.svd(x)
np.linalg.pinv(e.reshape(0, 3))
np.linalg.eig(m)
np.linalg.cross(x, x)
np.linalg.outer(m, x)
np.linalg.trace(m.ravel())
np.linalg.diagonal(x)
np.diagflat(c)
np.ediff1d(e)
np.diff(e)
np.atleast_3d(e)
np.dstack([e, e])
np.cumulative_sum(m)
np.cumulative_sum(e)
np.unwrap(e)
np.i0(c)
np.angle(c)
np.trim_zeros(e)
np.trim_zeros(x * 0.0)
np.histogram(x, bins=0)
np.histogram(e, bins=3)
np.histogram(x, bins=[2.0, 1.0])
np.sort(c)
np.argsort(c)
x.partition(1)
x.compress([True, False])
x.flat[9]
x.strides
m.T.strides
m[::2].flags.c_contiguous
x[1:].base is None
"""

TRANSFORMS = """
np.fft.fft(x).real
np.fft.ifft(m, axis=0).imag
np.fft.rfft(x).imag
np.fft.irfft(x)
np.fft.hfft(x)
np.fft.ihfft(x).real
np.fft.fft2(m).real
np.fft.ifft2(m).imag
np.fft.rfft2(m).real
np.fft.irfft2(m)
np.fft.fftn(t).real
np.fft.ifftn(m).real
np.fft.rfftn(t).imag
np.fft.irfftn(m)
np.fft.fftshift(m)
np.fft.ifftshift(x)
"""

GROUPS = {
    name.lower(): table.strip().splitlines()
    for name, table in list(globals().items())
    if name.isupper() and isinstance(table, str)
}
EDGES = edges.strip().splitlines()
NAMES = {**PLAIN, "PLAIN_G": PLAIN["G"], "PLAIN_M": np.arange(12.0).reshape(3, 4) ** 1.5, "np": np}
