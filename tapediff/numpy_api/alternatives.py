"""The `fix` of errors about unsupported functions: for each a sentence written for it, never a guess."""

from __future__ import annotations

NOT_HERE = "not supported; docs/supported.md lists what is"

# Keys: NumPy's and SciPy's names without "numpy."; names of array methods.
SHOW = "print(x) shows type, value and origin while recording; td.debug.print(\"x = {}\", x) prints at every replay"
_BITS = "integers have no bits here: multiply, divide and take remainders by powers of 2"
_FILES = "return the values from the function, and write them to a file outside"
_MEMORY = "tracked values have no memory of their own: compare values, or the indices that made the arrays"
_MATRICES = "use np.block, or np.stack and reshape: matrices are arrays of two axes"

# Plain Python functions of scipy.linalg and scipy.special that tapediff.linalg and tapediff.special have, too.
LINALG = tuple(
    """bandwidth block_diag cho_factor cho_solve cho_solve_banded cholesky cholesky_banded circulant companion convolution_matrix coshm cosm
    det diagsvd eig eig_banded eigh eigh_tridiagonal eigvals eigvals_banded eigvalsh eigvalsh_tridiagonal expm expm_frechet fiedler
    fractional_matrix_power hankel inv ishermitian issymmetric khatri_rao leslie logm lstsq lu lu_factor lu_solve matmul_toeplitz norm
    null_space orth orthogonal_procrustes pinv pinvh polar qr sinhm sinm solve solve_banded solve_circulant solve_continuous_are
    solve_continuous_lyapunov solve_discrete_are solve_discrete_lyapunov solve_lyapunov solve_sylvester solve_toeplitz solve_triangular
    solveh_banded sqrtm subspace_angles svd svdvals tanhm tanm toeplitz""".split()
)
SPECIAL = (
    "logsumexp", "softmax", "log_softmax", "multigammaln", "polygamma", "factorial", "comb", "perm", "lambertw", "spherical_jn",
    "spherical_yn", "spherical_in", "spherical_kn",
)  # fmt: skip

INSTEAD = {
    "setflags": "copy the array instead of making it read-only",
    "byteswap": "convert the numbers outside the recorded function",
    "getfield": "convert with x.astype(dtype)",
    "setfield": "assign to x[...]",
    "tobytes": _FILES,
    "tofile": _FILES,
    "dump": _FILES,
    "dumps": _FILES,
    "data": _MEMORY,
    "ctypes": _MEMORY,
    "resize": "use np.resize, which makes a new array",
    "asmatrix": _MATRICES,
    "bmat": _MATRICES,
    "array2string": SHOW,
    "array_repr": SHOW,
    "array_str": SHOW,
    "base_repr": SHOW,
    "binary_repr": SHOW,
    "format_float_positional": SHOW,
    "format_float_scientific": SHOW,
    "save": _FILES,
    "savez": _FILES,
    "savez_compressed": _FILES,
    "savetxt": _FILES,
    "bitwise_count": _BITS,
    "packbits": _BITS,
    "unpackbits": _BITS,
    "gcd": "compute it outside the recorded function, or by remainders in td.while_loop",
    "lcm": "compute it outside the recorded function, or by remainders in td.while_loop",
    "frexp": "use np.floor(np.log2(np.abs(x))) + 1 for the exponent, and divide by its power of 2",
    "nextafter": "it has no use for derivatives: write x, or x * (1 + 2.2e-16)",
    "spacing": "it has no use for derivatives: use np.finfo(float).eps * np.abs(x)",
    "isnat": "tracked values are numbers, never dates",
    "min_scalar_type": "use x.dtype",
    "einsum_path": "call it on plain arrays of the same shapes",
    "from_dlpack": _MEMORY,
    "frombuffer": _MEMORY,
    "may_share_memory": _MEMORY,
    "shares_memory": _MEMORY,
    "nested_iters": "loop over np.ndindex(x.shape)",
    "sort_complex": "use np.sort: tracked values are real",
    **{f"scipy.{module}.{name}": f"use tapediff.{module}.{name}, which has SciPy's signature"
       for module, names in (("linalg", LINALG), ("special", SPECIAL)) for name in names},
    **dict.fromkeys(
        ("scipy.linalg.schur", "scipy.linalg.rsf2csf", "scipy.linalg.cdf2rdf", "scipy.linalg.hessenberg", "scipy.linalg.qz",
         "scipy.linalg.ordqz", "scipy.linalg.cossin", "scipy.linalg.matrix_balance"),
        "use what is computed from it: tapediff.linalg.eigvals, eigh, sqrtm, logm, solve_sylvester, svd",
    ),
    **dict.fromkeys(
        ("scipy.linalg.qr_delete", "scipy.linalg.qr_insert", "scipy.linalg.qr_update", "scipy.linalg.qr_multiply"),
        "use tapediff.linalg.qr of the changed matrix, and a product",
    ),
    "scipy.linalg.rq": "use tapediff.linalg.qr of np.flipud(a).T, whose factors are those of a, transposed, with rows and columns reversed",
    "scipy.linalg.ldl": "use tapediff.linalg.cholesky where the matrix is positive definite, else tapediff.linalg.lu",
    "scipy.linalg.funm": "use tapediff.linalg.expm, logm, sqrtm, cosm or sinm, or eigh and the function of the eigenvalues",
    "scipy.linalg.signm": "use a @ inv(sqrtm(a @ a)), of tapediff.linalg",
    "scipy.linalg.expm_cond": "compute it outside the recorded function",
    "scipy.linalg.fiedler_companion": "use tapediff.linalg.companion, which has the same eigenvalues",
    "scipy.linalg.clarkson_woodruff_transform": "draw the sketch outside the recorded function, and multiply with it",
    "scipy.special.wofz": "its real part for real x is np.exp(-x * x), its imaginary part 2 / np.sqrt(np.pi) * scipy.special.dawsn(x)",
    "scipy.special.voigt_profile": "convolve the two densities by a sum over the nodes of a Gauss-Hermite rule",
    "scipy.special.zetac": "use scipy.special.zeta(s, x), differentiable in x: a derivative in s is not known",
    **dict.fromkeys(
        ("scipy.special.hankel1", "scipy.special.hankel2", "scipy.special.hankel1e", "scipy.special.hankel2e", "scipy.special.h1vp",
         "scipy.special.h2vp"),
        "use jv and yv, which are its real and imaginary part, or their derivatives jvp and yvp",
    ),
    "scipy.special.hyp0f1": "of negative x it is gamma(v) s**(1 - v) jv(v - 1, 2 * s), s = sqrt(-x); of positive x the same with iv",
    **dict.fromkeys(
        ("scipy.special.assoc_legendre_p", "scipy.special.legendre_p", "scipy.special.lpmv", "scipy.special.legendre_p_all",
         "scipy.special.assoc_legendre_p_all", "scipy.special.sph_legendre_p", "scipy.special.sph_legendre_p_all"),
        "use scipy.special.eval_legendre, eval_gegenbauer or eval_jacobi",
    ),
    "scipy.special.ellipj": "write it as a differential equation, or by arithmetic-geometric means",
}  # fmt: skip

# Sentences for whole modules.
MODULES = {
    "scipy.special": "compute it outside the recorded function, or give it and its derivative as a td.primitive",
    "scipy.stats": "use tapediff.stats, which has SciPy's names and arguments: tapediff.stats.norm.logpdf(x, loc, scale)",
    "scipy.sparse": "tapediff.sparse has csr_array, csc_array and coo_array for tracked entries, and spsolve; else use matrix.toarray()",
    "scipy.optimize": "td.implicit.root(f, x0, args), fixed_point and minimize have SciPy's arguments, and the derivative of the solution; "
    "else solve outside the recorded function, or write the iteration itself, with td.while_loop",
    "scipy.integrate": "use td.ode.solve(f, y0, t, args) for differential equations; write integrals as sums over the nodes of a rule, "
    "e.g. by scipy.integrate.fixed_quad or np.trapezoid",
    "numpy.polynomial": "use np.polyval(c[::-1], x), np.polyfit and np.roots, which have the highest power first; or write the sum, or "
    "Horner's rule, in a loop",
    "statistics": "use np.mean, np.var, np.std (with ddof=1 for those of samples), np.median or np.quantile; np.stack([...]) joins numbers",
    "fractions": "leave Fraction out: tracked values are floats",
    "scipy.interpolate": "tapediff.interpolate has CubicSpline, PchipInterpolator, make_interp_spline and others; of lines, use np.interp",
}


def instead_of(name: str) -> str:
    """The replacement to suggest for an unsupported function or method."""
    known = INSTEAD.get(name)
    if known is None and "." in name:
        known = next((text for module, text in MODULES.items() if name.startswith(module + ".")), None)
    return known or NOT_HERE
