"""Sparse matrices: products, arithmetic and solves with tracked entries; the Cholesky factorisation of plain ones.

Comes in: SciPy's matrices, or tracked entries at fixed positions. Goes out: values on a tape; factors, determinants, inverses on a pattern.
Open first: `arrays.py`; for factors `cholesky.py`, then `kernels.py`.
"""

from .arrays import SparseArray, coo_array, csc_array, csr_array, spsolve
from .cholesky import Cholesky, cholesky

__all__ = ["Cholesky", "SparseArray", "cholesky", "coo_array", "csc_array", "csr_array", "spsolve"]
