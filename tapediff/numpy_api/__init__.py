"""NumPy's functions on tracked arrays: the ufunc and function protocols, and the table of functions.

Comes in: a NumPy function or ufunc, and its arguments. Goes out: recorded operations, and their tracked results.
Open first: `dispatch.py`. Compositions are written here with recorded operations; only functions that need their own derivative are
primitives.
"""

from __future__ import annotations

from .composed.filling import imaginary
from .dispatch import BINARY, METHODS, UNARY, call_function, call_method, call_ufunc
from .elementwise import around, bit_operation
from .kinds import converted, tracked_dtype
from .shaping import copy, laid_out, lying_as, reshape, swapaxes, transpose
from .writing import assign, flat_positions, in_place, put_flat

__all__ = [
    "BINARY", "METHODS", "UNARY", "around", "assign", "bit_operation", "call_function", "call_method", "call_ufunc", "converted", "copy",
    "flat_positions", "imaginary", "in_place", "laid_out", "lying_as", "put_flat", "reshape", "swapaxes", "tracked_dtype", "transpose",
]  # fmt: skip
