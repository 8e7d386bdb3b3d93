"""Calls of NumPy's functions of complex numbers, one a line, as text; what names in them stand for is made by `names`.

z, w: 6 complex numbers each; Z, W: (3, 3); S: stack of matrices, (2, 3, 3); H: Hermitian, P: positive definite, (3, 3); Q: a stack of
such; c: a complex number; x: 6 real numbers; X: real, (3, 3); k: plain complex numbers, K: (3, 3); b: masks, i: integers.
"""

import numpy as np

SIZE = 78
PLAIN = {
    "k": np.array([1 - 2j, 0.5j, -1.5, 2 + 1j, -0.3 - 0.7j, 1j]), "K": np.array([[1, 2j, -1j], [0.5 + 1j, 2, 1], [1j, -1, 3 - 1j]]),
    "b": np.array([True, False, True, True, False, True]), "i": np.array([3, 0, 3, 5]),
}  # fmt: skip


def names(v):
    """Of a vector of SIZE real numbers, tracked or not."""
    z, w = v[0:6] + 1j * v[6:12], v[12:18] + 1j * v[18:24]
    stack = np.reshape(v[24:42] + 1j * v[42:60], (2, 3, 3))
    both = np.swapaxes(stack, -1, -2).conj()
    x = v[60:66]
    return {
        "z": z, "w": w, "Z": stack[0], "W": stack[1], "S": stack, "H": stack[0] + both[0], "c": z[0] * 0.5 + 0.2j,
        "P": both[1] @ stack[1] + 0.5 * np.eye(3), "Q": stack @ both + np.eye(3), "x": x, "X": np.reshape(v[66:75], (3, 3)), **PLAIN,
    }  # fmt: skip


ARITHMETIC = """
z + w
z - 1j
2.5 - z
x + 1j * x
x - z
z * w
3 * z
1j * x
x * k
k * z
z / w
z / 2
z / x
x / z
1j / z
z / (1 - 2j)
k / w
-z
+z
z**2
z**3
z**-2
z**0
z**0.5
z**1.7
z**w
z**np.exp(x[0])
k**x[1]
x**z
2.0**z
z**x
np.abs(z)
abs(z)
np.angle(z)
np.angle(z, deg=True)
np.real(z)
np.imag(z)
z.real * z.imag
z.conj()
np.conjugate(z) * w
np.square(z)
np.reciprocal(z)
np.sign(z)
np.positive(z)
np.float_power(z, 2)
c * z
abs(c)
np.where(b, z, 1j)
np.where(x > 0, z, x)
np.where(z == w, z, w)
(z != w) * x
np.isclose(z, z + 1e-12) * x
np.isfinite(z) * x
x.astype(complex) * 1j
np.asarray(x, dtype=complex)
np.array([z[0], 1j, x[1], 2.0])
np.array([[c, 1j], [1.0, x[0]]])
"""
ELEMENTARY = """
np.exp(z)
np.exp(1j * x)
np.expm1(z)
np.exp2(z)
np.log(z)
np.log2(z)
np.log10(z)
np.log1p(z)
np.sqrt(z)
np.sqrt(x + 0j)
np.sqrt(-x * (1 + 0j))
np.log(x * (1 + 0j))
np.sin(z)
np.cos(z)
np.tan(z)
np.sinh(z)
np.cosh(z)
np.tanh(z)
np.arcsin(z)
np.arccos(z)
np.arctan(z)
np.arcsinh(z)
np.arccosh(z)
np.arctanh(z)
np.tanh(30 * z)
np.exp(c)
np.sqrt(c) + np.log(c)
"""
SHAPING = """
z[2]
z[::-1]
z[1:4] * w[2:5]
z[i]
z[b]
z[None, :]
S[..., 1]
S[0, :, 1:]
S[:, i[:2] % 3]
z.reshape(2, 3).T
S.transpose(2, 0, 1)
S.swapaxes(0, 1)
np.moveaxis(S, 0, -1)
z.ravel()
S.flatten()
np.squeeze(z[None])
np.expand_dims(z, 1)
np.broadcast_to(z, (2, 6))
np.broadcast_arrays(z, x[:, None])
np.concatenate([z, x, k])
np.stack([z, w], axis=1)
np.vstack([z, w])
np.hstack([z, 1j * x])
np.column_stack([z, x])
np.dstack([z, w])
np.block([[Z, W], [X, K]])
np.append(z, 1j)
np.insert(z, 2, 1j)
np.delete(z, 1)
np.roll(z, 2)
np.flip(z)
np.rot90(Z)
np.tile(z, 2)
np.repeat(z, 2)
np.diag(z)
np.diag(Z)
np.diagonal(S, axis1=1, axis2=2)
np.trace(Z)
np.tril(Z) + np.triu(W, 1)
np.take(z, [0, 2])
z.take([1, 1])
np.split(z, 3)
np.compress(b, z)
np.extract(b, z)
np.select([x > 0, x < -1], [z, w], 1j)
np.meshgrid(z, x)
np.atleast_2d(z)
np.zeros_like(z) + w
np.ones_like(z) * z
np.full_like(z, c)
np.linspace(c, 1j, 4)
[v for v in z][1] * 2
list(Z)[1]
np.copy(z)
np.real_if_close(z)
"""
REDUCTIONS = """
np.sum(z)
z.sum()
S.sum(axis=(0, 2), keepdims=True)
sum(z)
np.mean(S, axis=1)
np.prod(z)
S.prod(axis=1)
np.prod(S, axis=(0, 2))
np.cumsum(z)
np.cumprod(z)
S.cumprod(axis=2)
np.add.reduce(S, axis=1)
np.multiply.outer(z, x)
np.var(S, axis=0)
z.std()
np.std(S, axis=1, ddof=1)
np.diff(z)
np.gradient(z)
np.trapezoid(z, dx=0.3)
np.average(z)
np.linalg.norm(z)
np.linalg.norm(Z)
np.linalg.norm(Z, axis=1)
np.linalg.norm(Z, 1)
np.linalg.norm(z, np.inf)
np.interp(x, np.linspace(-2.0, 2.0, 6), z)
np.polyval(z, w)
np.vander(z, 3)
np.cov(z, w)
np.any(z) * x
np.count_nonzero(z) * x
"""
PRODUCTS = """
z @ w
Z @ W
Z @ z[:3]
X @ Z
K @ X
Z @ K
S @ Z
np.dot(Z, W)
np.dot(z, x)
np.vdot(z, w)
np.inner(Z, W)
np.outer(z, w)
np.kron(Z, W)
np.tensordot(S, Z, axes=1)
np.einsum("ij,jk->ik", Z, W)
np.einsum("i,i", z, x)
np.einsum("bij,j,bk->ik", S, z[:3], S[:, 0])
np.einsum("ij,jk,kl->il", Z, W.conj(), K)
np.vecdot(Z, W)
np.convolve(z, w)
np.correlate(z, w, "full")
np.cross(z[:3], w[:3])
np.linalg.multi_dot([Z, W, K])
np.linalg.matrix_power(Z, 3)
np.matvec(Z, z[:3])
"""
LINALG = """
np.linalg.solve(Z, W)
np.linalg.solve(Z, z[:3])
np.linalg.solve(X, z[:3])
np.linalg.solve(K, X)
np.linalg.solve(S, W[None])
np.linalg.inv(Z)
np.linalg.inv(S)
np.linalg.pinv(Z[:2])
np.linalg.pinv(S[:, :, :2], rtol=1e-10)
np.linalg.matrix_power(Z, -2)
np.linalg.det(Z)
np.linalg.det(S)
np.linalg.det(np.kron(Z, W[:2, :2]))
np.linalg.det(np.block([[S, X[None] * S], [S[::-1], S]]))
np.linalg.cholesky(P, upper=True)
np.linalg.eigh(H).eigenvectors
np.linalg.eigh(H, 'U').eigenvectors
np.linalg.slogdet(np.kron(Z, W))
np.linalg.slogdet(Z)
np.linalg.slogdet(S).logabsdet
np.linalg.cholesky(P)
np.linalg.cholesky(Q)
np.linalg.eigvalsh(H)
np.linalg.eigvalsh(Q, "U")
np.linalg.eigh(H).eigenvalues
abs(np.linalg.eigh(H).eigenvectors)
abs(np.linalg.eigh(Q)[1])
"""
TRANSFORMS = """
np.fft.fft(z)
np.fft.fft(x)
np.fft.fft(z, n=9, norm="ortho")
np.fft.fft(Z, n=2, axis=0, norm="forward")
np.fft.ifft(z)
np.fft.ifft(x, n=5)
np.fft.rfft(x)
np.fft.rfft(X, n=5, axis=0, norm="ortho")
np.fft.irfft(z)
np.fft.irfft(Z, n=5, axis=0)
np.fft.irfft(x, norm="ortho")
np.fft.hfft(z)
np.fft.ihfft(x, norm="forward")
np.fft.fft2(S)
np.fft.ifft2(Z)
np.fft.fftn(S)
np.fft.fftn(X, s=(5, 2), axes=(0, 1))
np.fft.ifftn(S, axes=(0, 1))
np.fft.ifftn(X, norm="ortho")
np.fft.fftn(X, axes=(1, 0))
np.fft.fftn(X, axes=(0, 0))
np.fft.fft2(X[:, :1])
np.fft.ifft2(X, s=(4, 3))
np.fft.rfft2(X)
np.fft.irfft2(Z)
np.fft.rfftn(X, axes=(1, 0))
np.fft.irfftn(S, norm="ortho")
np.fft.fftshift(z)
np.fft.ifftshift(S, axes=1)
np.fft.fftfreq(5, x[0])
np.fft.rfftfreq(6, x[0])
scipy.fft.fft(z)
scipy.fft.fftn(X, s=4, axes=0)
scipy.fft.hfft2(Z)
scipy.fft.ihfftn(X)
scipy.fft.dct(x)
scipy.fft.idct(x, 3, n=7, norm="ortho")
scipy.fft.dct(x, 1, norm="forward", orthogonalize=True)
scipy.fft.dct(z, 4)
scipy.fft.dst(x, 3)
scipy.fft.idst(x[:5], 2, norm="ortho")
scipy.fft.dst(x, 1)
scipy.fft.dst(x, 4, orthogonalize=False)
scipy.fft.dctn(X, norm="ortho")
scipy.fft.idstn(X, axes=0, s=5)
scipy.fft.fht(x, 0.1, 0.5, bias=0.3, offset=0.2)
"""
WRITES = """
written(z, "y[1] = 2j")
written(z, "y[1:4] = w[:3]")
written(z, "y[::2] += 1j * x[:3]")
written(z, "y *= w")
written(z, "y -= x")
written(z, "y /= 2")
written(z, "y **= 2")
written(z, "y.real = x")
written(z, "y.imag[2] = x[0]")
written(z, "y[b] = 1.5")
written(z, "y[i] = x[:4]")
written(z, "v = y[1:4]; v *= 2j")
written(z, "v = y.reshape(2, 3); v[0] = c")
written(z, "np.copyto(y, w, where=b)")
written(z, "np.add(y, w, out=y)")
written(z, "np.add.at(y, [1, 1, 2], 1j)")
written(z, "y.fill(c)")
written(Z, "np.fill_diagonal(y, c)")
written(z, "y = np.zeros(3, complex); y[0] = c; y[1] = x[0]")
written(z, "y = np.empty((2, 2), dtype=np.complex128); y[...] = 1j; y[0] = z[:2]")
written(z, "y = td.zeros(3, complex); y[1] = c")
written(z, "y = np.zeros(6, dtype=complex); y += z; y[0] *= 2")
written(z, "u = y[0]; u += 1; y[1] = u")
"""
GROUPS = {
    name: [line for line in text.strip().splitlines() if line]
    for name, text in (
        ("arithmetic", ARITHMETIC), ("elementary", ELEMENTARY), ("shaping", SHAPING), ("reductions", REDUCTIONS), ("products", PRODUCTS),
        ("linalg", LINALG), ("transforms", TRANSFORMS), ("writes", WRITES),
    )
}  # fmt: skip
