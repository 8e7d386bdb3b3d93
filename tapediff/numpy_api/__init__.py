"""NumPy's functions on tracked arrays: the ufunc and function protocols, and the table of functions.

Comes in: a NumPy function or ufunc, and its arguments. Goes out: recorded operations, and the tracked arrays that they give.
Open first: `dispatch.py`. Functions that are compositions are written here with recorded operations; only what needs its own derivative is
a primitive.
"""

from __future__ import annotations

from .dispatch import METHODS, UNARY, call_function, call_method, call_ufunc
from .elementwise import around, mask_operation
from .kinds import tracked_dtype
from .shaping import copy, reshape, swapaxes, transpose
from .writing import assign, in_place, without_masks

__all__ = [
    "METHODS", "UNARY", "around", "assign", "call_function", "call_method", "call_ufunc", "copy", "in_place",
    "mask_operation", "reshape", "swapaxes", "tracked_dtype", "transpose", "without_masks",
]  # fmt: skip
