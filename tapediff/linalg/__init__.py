"""scipy.linalg's functions with its names and arguments, for tracked and plain arrays.

Comes in: matrices, tracked or plain; leading axes are a stack, where SciPy has them. Goes out: recorded operations or, for plain
arguments, SciPy's results. check_finite= and overwrite_*= are accepted and change nothing for tracked arrays: NaN gives NaN, or the error
of its factorisation. Open first: `calls.py`, then `systems.py`.
"""

from .arrangements import (
    bandwidth,
    block_diag,
    circulant,
    companion,
    convolution_matrix,
    diagsvd,
    fiedler,
    hankel,
    ishermitian,
    issymmetric,
    khatri_rao,
    leslie,
    norm,
    toeplitz,
)
from .bands import cho_solve_banded, cholesky_banded, solve_banded, solveh_banded
from .eigenvalues import (
    eig,
    eig_banded,
    eigh,
    eigh_tridiagonal,
    eigvals,
    eigvals_banded,
    eigvalsh,
    eigvalsh_tridiagonal,
)
from .equations import (
    solve_continuous_are,
    solve_continuous_lyapunov,
    solve_discrete_are,
    solve_discrete_lyapunov,
    solve_lyapunov,
    solve_sylvester,
)
from .factors import (
    lu,
    lu_factor,
    lu_solve,
    null_space,
    orth,
    orthogonal_procrustes,
    polar,
    qr,
    subspace_angles,
    svd,
    svdvals,
)
from .functions import (
    coshm,
    cosm,
    expm,
    expm_frechet,
    fractional_matrix_power,
    logm,
    sinhm,
    sinm,
    sqrtm,
    tanhm,
    tanm,
)
from .systems import (
    cho_factor,
    cho_solve,
    cholesky,
    det,
    inv,
    lstsq,
    matmul_toeplitz,
    pinv,
    pinvh,
    solve,
    solve_circulant,
    solve_toeplitz,
    solve_triangular,
)

__all__ = [
    "bandwidth", "block_diag", "cho_factor", "cho_solve", "cho_solve_banded", "cholesky", "cholesky_banded", "circulant", "companion",
    "convolution_matrix", "coshm", "cosm", "det", "diagsvd", "eig", "eig_banded", "eigh", "eigh_tridiagonal", "eigvals",
    "eigvals_banded", "eigvalsh", "eigvalsh_tridiagonal", "expm", "expm_frechet", "fiedler", "fractional_matrix_power", "hankel", "inv",
    "ishermitian", "issymmetric", "khatri_rao", "leslie", "logm", "lstsq", "lu", "lu_factor", "lu_solve", "matmul_toeplitz", "norm",
    "null_space", "orth", "orthogonal_procrustes", "pinv", "pinvh", "polar", "qr", "sinhm", "sinm", "solve", "solve_banded",
    "solve_circulant", "solve_continuous_are", "solve_continuous_lyapunov", "solve_discrete_are", "solve_discrete_lyapunov",
    "solve_lyapunov", "solve_sylvester", "solve_toeplitz", "solve_triangular", "solveh_banded", "sqrtm", "subspace_angles", "svd",
    "svdvals", "tanhm", "tanm", "toeplitz",
]  # fmt: skip
