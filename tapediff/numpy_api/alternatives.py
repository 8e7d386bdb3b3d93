"""The `fix` of errors about unsupported functions: for each a sentence written for it, never a guess."""

from __future__ import annotations

NOT_HERE = "not supported; docs/supported.md lists what is"

_FULL_RANK = "for a matrix of full column rank"

# By NumPy's and SciPy's names without "numpy."; methods of arrays by their own.
INSTEAD = {
    "trapezoid": "use np.sum(0.5 * (y[1:] + y[:-1]) * (t[1:] - t[:-1]))",
    "polyval": "use Horner's rule, or np.sum of coefficients times powers",
    "polyfit": "solve the normal equations: V = t[:, None] ** np.arange(n); np.linalg.solve(V.T @ V, V.T @ y)",
    "vander": "use x[:, None] ** np.arange(n)",
    "quantile": "use np.sort and indexing, or np.median",
    "percentile": "use np.sort and indexing, or np.median",
    "partition": "use x.sort(), or np.sort and indexing",
    "setflags": "copy the array instead of making it read-only",
    "vectorize": "call the function on the array itself",
    "apply_along_axis": "loop over the rows and np.stack the results",
    "select": "nest np.where: np.where(c1, a1, np.where(c2, a2, default))",
    "choose": "use np.where, or index an array of the choices",
    "convolve": "fill an array: y = td.zeros(len(a) + len(v) - 1), then y[j : j + len(a)] += v[j] * a for every j",
    "correlate": "as a convolution with v[::-1]: y = td.zeros(...), then y[j : j + len(a)] += v[-1 - j] * a for every j",
    "cov": "use d = x - x.mean(axis=1, keepdims=True), then d @ d.T / (x.shape[1] - 1)",
    "corrcoef": "divide d @ d.T, d = x - x.mean(axis=1, keepdims=True), by the outer product of the roots of its diagonal",
    "cross": "write it out: np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])",
    "pad": "write into the middle of td.zeros(...), or np.concatenate",
    "append": "use np.concatenate",
    "dstack": "use np.stack(arrays, axis=2)",
    "gradient": "use differences of slices, (x[2:] - x[:-2]) / 2, and x[1] - x[0] at the ends",
    "ediff1d": "use np.diff(np.ravel(x))",
    "digitize": "use np.searchsorted",
    "bincount": "use counts = td.zeros(n), then np.add.at(counts, k, weights)",
    "meshgrid": "use x[None, :] and y[:, None], which broadcast",
    "cumulative_sum": "use np.cumsum",
    "cumulative_prod": "use np.cumprod",
    "modf": "use np.trunc(x) and x - np.trunc(x)",
    "conjugate": "leave it out: tracked values are real",
    "add.reduceat": "take differences of np.cumsum, or np.add.at into td.zeros(n)",
    "linalg.svd": "use np.linalg.eigh(a.T @ a), whose eigenvalues are the squares of the singular values",
    "linalg.svdvals": "use np.sqrt(np.linalg.eigvalsh(a.T @ a)[::-1])",
    "linalg.qr": f"use l = np.linalg.cholesky(a.T @ a) {_FULL_RANK}: r is l.T and q is np.linalg.solve(l, a.T).T, up to signs",
    "linalg.lstsq": f"use np.linalg.solve(a.T @ a, a.T @ b) {_FULL_RANK}",
    "linalg.pinv": f"use np.linalg.solve(a.T @ a, a.T) {_FULL_RANK}",
    "linalg.matrix_power": "multiply in a loop: a @ a is the square",
    "linalg.multi_dot": "use a @ b @ c",
    "linalg.eig": "use np.linalg.eigh where the matrix is symmetric",
    "linalg.eigvals": "use np.linalg.eigvalsh where the matrix is symmetric",
    "linalg.vecdot": "use np.sum(x * y, axis=-1)",
    "scipy.linalg.solve": "use np.linalg.solve",
    "scipy.linalg.inv": "use np.linalg.inv",
    "scipy.linalg.det": "use np.linalg.det",
    "scipy.linalg.norm": "use np.linalg.norm",
    "scipy.linalg.eigh": "use np.linalg.eigh",
    "scipy.linalg.cholesky": "use np.linalg.cholesky, which gives the lower factor",
    **{f"scipy.special.{name}": f"use tapediff.special.{name}, which has SciPy's signature"
       for name in ("logsumexp", "softmax", "log_softmax", "multigammaln")},
    **{f"scipy.linalg.{name}": f"use tapediff.linalg.{name}, which has SciPy's signature"
       for name in ("solve_triangular", "cho_factor", "cho_solve")},
}  # fmt: skip

# Where one sentence holds for a whole module of SciPy.
MODULES = {
    "scipy.stats": "write the density out with np.log, np.sum and scipy.special's gammaln, xlogy and erf",
    "scipy.sparse": "multiply with the dense matrix, matrix.toarray()",
    "scipy.optimize": "solve outside the recorded function, or write the iteration itself, with td.while_loop",
    "scipy.integrate": "write the steps yourself, e.g. of Runge and Kutta, in a loop or td.scan",
    "scipy.interpolate": "use np.interp, or evaluate the polynomial of the piece that np.searchsorted finds",
}


def instead_of(name: str) -> str:
    """The replacement to suggest for an unsupported function or method."""
    known = INSTEAD.get(name)
    if known is None and name.startswith("scipy."):
        known = next((text for module, text in MODULES.items() if name.startswith(module + ".")), None)
    return known or NOT_HERE
