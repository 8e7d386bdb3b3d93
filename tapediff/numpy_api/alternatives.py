"""The `fix` of errors about unsupported functions, and about names of other libraries: a sentence written for each, never a guess."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import numpy as np

NOT_HERE = "not supported; docs/supported.md lists what is"

# Keys: NumPy's and SciPy's names without "numpy."; names of array methods.
SHOW = "print(x) shows type, value and origin while recording; td.debug.print(\"x = {}\", x) prints at every replay"
_BITS = "use &, |, ^, << and >>, e.g. (n >> k) & 1 for a bit"
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

# Functions of other modules that tapediff.scipy has; the functions that the first ones take may close over tracked values.
WITH_FUNCTIONS = ("integrate", "optimize")
SCIPY = {
    "optimize": tuple("bisect brenth brentq ridder toms748 newton root_scalar fsolve root minimize_scalar minimize least_squares".split()),
    "signal": tuple("lfilter convolve fftconvolve correlate savgol_filter detrend".split()),
    "ndimage": tuple("""gaussian_filter gaussian_filter1d convolve convolve1d correlate correlate1d uniform_filter uniform_filter1d
                     map_coordinates""".split()),
    "spatial.distance": tuple("""cdist pdist squareform sqeuclidean euclidean cityblock chebyshev minkowski seuclidean mahalanobis cosine
                              correlation canberra braycurtis jensenshannon""".split()),
    "integrate": tuple("solve_ivp odeint quad trapezoid cumulative_trapezoid simpson".split()),
}  # fmt: skip

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
    "scipy.stats": "use tapediff.stats, which has densities and distribution functions by SciPy's names and arguments: "
    "tapediff.stats.norm.logpdf(x, loc, scale); write moments as formulas, and draw by td.random",
    "scipy.sparse": "tapediff.sparse has csr_array, csc_array and coo_array for tracked entries, and spsolve; else use matrix.toarray()",
    "scipy.optimize": "scipy.optimize's root, root_scalar, brentq, newton, fsolve, minimize, minimize_scalar and least_squares are there, "
    "and td.implicit.fixed_point; else solve outside the recorded function, or write the iteration itself, with td.while_loop",
    "scipy.integrate": "scipy.integrate's solve_ivp, odeint, quad, simpson, trapezoid and cumulative_trapezoid are there, quad "
    "also within quad; write other integrals as sums over the nodes of a rule, e.g. by scipy.integrate.fixed_quad",
    "scipy.signal": "scipy.signal's convolve, fftconvolve, correlate, lfilter, savgol_filter and detrend are there; another linear filter "
    "is a product with the matrix of filtered unit vectors, made outside",
    "scipy.ndimage": "scipy.ndimage's convolve, correlate, gaussian_filter, uniform_filter, those 1d, and map_coordinates are there",
    "scipy.spatial": "scipy.spatial.distance is there, by names of metrics that docs/scipy.md has; neighbours are found outside",
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

_PLAIN = "functions stay plain NumPy and SciPy"
_TREE = "td.tree.map, leaves, flatten, unflatten and ravel"
_VARIABLES = "plain arrays: td.gradient(f, x) tracks them while it records f"
_NO_TAPE = "code outside td.gradient and the like is not recorded; td.stop_gradient(x) inside a function"
_BACKWARD = "td.gradient(f, x), of a function; td.vjp for results that are not one number"
_RULE = "td.primitive(forward, backward)"
_CHECK = "td.testing.check_derivatives(f, x) or check_gradient"
_OPTIMISERS = "td.value_and_grad(f) with tapediff.adapters.scipy, optax-like steps by td.tree.map, or docs/optimisers.md"
_SOLVERS = "tapediff.adapters.scipy for optimisers, td.implicit for solutions with gradients, td.ode.solve for differential equations"
_MODEL = "td.Posterior(log_density, **parameters), around a plain function"
_RANDOM = "td.random.key(seed), and draws from it such as td.random.normal(key, shape)"
_DEVICES = "kernels run on the processor; threads= shares one call between cores"

# Names of JAX, autograd, PyTorch, Stan, SciPy and others -> what to use here. A key has all names of one answer, with tapediff's module
# before a name.
ELSEWHERE = {
    # JAX
    "jit njit function script": "td.compile(f, x), or td.GuardedTape(f) where f branches",
    "pmap shard_map": "td.vmap(f), or compiled.batch(X, threads=4)",
    "tree_map tree_util tree_leaves tree_flatten tree_unflatten tree_structure flatten_util ravel_pytree pytree": _TREE,
    "lax": "td.cond, td.switch, td.scan, td.fori_loop, td.while_loop, td.stop_gradient; or plain if, for and while",
    "numpy jnp nn": _PLAIN,
    "Array ndarray Tracer DeviceArray ShapedArray": "np.ndarray; td.is_recording() tells whether values are tracked",
    "custom_vjp custom_jvp custom_gradient defvjp defjvp extend custom_derivatives Op": _RULE,
    "remat checkpoint_sequential": "td.checkpoint(f)",
    "make_jaxpr eval_shape trace": "print(td.record(f, x)), which lists the instructions",
    "pure_callback io_callback host_callback": "td.primitive(forward, backward), or td.debug.callback",
    "device device_put devices cuda gpu local_devices block_until_ready": _DEVICES,
    "config disable_jit": "arguments of td.compile and td.GuardedTape; without compiling: td.record(f, x)(x)",
    "PRNGKey manual_seed seed default_rng RandomState rand randn": _RANDOM,
    "random.PRNGKey random.manual_seed random.seed random.default_rng random.RandomState": "td.random.key(seed)",
    "random.rand random.random random.random_sample": "td.random.uniform(key, shape=shape)",
    "random.randn random.standard_normal": "td.random.normal(key, shape=shape)",
    "random.integers": "td.random.randint(key, low, high)",
    "random.poisson random.binomial random.negative_binomial random.geometric": "the quantile of a uniform number, as "
    "td.stats.poisson.ppf(td.random.uniform(key, shape), mu); or an argument rng, a numpy.random.Generator, where td.Posterior calls",
    "check_grads gradcheck check_grad approx_fprime check_numerical_gradients": _CHECK,
    "associative_scan map fmap": "td.scan, td.vmap, or a plain for",
    # autograd, PyTorch, TensorFlow
    "elementwise_grad egrad": "td.derivative(f, x) by a number; td.vmap(td.grad(f))(x) for each entry",
    "make_vjp vector_jacobian_product": "td.vjp(f, x), which returns (y, pull)",
    "make_jvp jacobian_vector_product forward_derivative": "td.jvp(f, (x,), (v,)), which returns (y, y_dot)",
    "make_hvp hessian_vector_product vhp": "td.hvp(f, x, v)",
    "make_ggnvp hessian_tensor_product tensor_jacobian_product": "td.linear_operator(f, x), or td.jvp and td.vjp",
    "grad_and_value": "td.value_and_grad(f), which returns (value, gradient)",
    "value_and_jac value_and_grads": "td.value_and_jacobian(f, x) or td.value_and_gradient(f, x)",
    "backward autograd func": _BACKWARD,
    "no_grad inference_mode enable_grad set_grad_enabled": _NO_TAPE,
    "detach": "td.stop_gradient(x)",
    "tensor Tensor as_tensor from_numpy Variable Parameter requires_grad Module TrackedArray": _VARIABLES,
    "optim optax Adam SGD": _OPTIMISERS,
    "GradientTape JacobianTape HessianTape tape": "td.gradient(f, x), or td.record(f, x) for a tape, td.GuardedTape for all branches",
    # Stan, PyMC
    "log_prob target parameters Model StanModel Data Deterministic Potential": _MODEL,
    "sample sampling NUTS HMC mcmc": "post.sample() of post = td.Posterior(log_density, **parameters)",
    "optimizing find_MAP": "post.find_map() or post.laplace() of post = td.Posterior(log_density, **parameters)",
    "cholesky_factor_corr": "td.params.cholesky_corr",
    "sum_to_zero_vector": "td.params.zero_sum",
    "lower_bound upper_bound": "td.params.lower(bound) or td.params.upper(bound)",
    "reduce_sum map_rect": "td.compile(f, x, threads=4)",
    # SciPy, CasADi
    "optimize minimize least_squares curve_fit integrate root fsolve nlpsol solve_ivp odeint ode_rk45 algebra_solver rootfinder": _SOLVERS,
    "fit": "scipy.optimize.minimize(td.value_and_grad(f), x0, jac=True), and td.covariance(f, found) for standard errors",
    "State": "the new state as aux: (value, state), slopes = td.value_and_gradient(f, x, td.Constant(state), has_aux=True)",
    "distributions": "td.stats, by SciPy's names: td.stats.norm.logpdf(x, loc, scale)",
    "enable_x64 x64": "float64 is the default; float32 arrays stay float32",
    "SX MX Function": "td.record(f, x), of a Python function",
    "jtimes": "td.jvp(f, (x,), (v,))",
    "if_else conditional": "a plain if, td.cond or td.switch",
}  # fmt: skip
FOR_NAME = {name: text for names, text in ELSEWHERE.items() for name in names.split()}


def missing_name(module: str, name: str, names: Iterable[str]) -> Exception:
    """The error about a name that a module of tapediff does not have: what to use instead, or names that are close.

    Returns:
        An AttributeError; inside `from module import name`, an ImportError with the same text, as Python would drop this one.
    """
    from difflib import get_close_matches  # which only mistakes need

    prefix = "td" + module.removeprefix(__name__.partition(".")[0])
    instead = FOR_NAME.get(f"{prefix}.{name}".removeprefix("td."))
    if instead is None and callable(getattr(np, name, None)):
        instead = f"np.{name}: {_PLAIN}"
    text = f"module {module!r} has no attribute {name!r}"
    if instead is not None:
        text += f"; instead: {instead} (docs/migration.md)"
    elif close := get_close_matches(name, names, 2):
        text += f"; did you mean {' or '.join(f'{prefix}.{found}' for found in close)}?"
    frame = sys._getframe(2)
    if frame.f_code.co_name == "_handle_fromlist":
        return ImportError(text, name=module)
    return AttributeError(text, name=name, obj=None)  # a module there would have Python guess once more
