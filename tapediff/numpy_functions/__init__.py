"""What plain NumPy calls do on tracked arrays: the ufunc and function protocols, and the table of functions.

Functions that are compositions are written here with recorded operations; only what needs its own derivative is a primitive.
"""

from __future__ import annotations

from .dispatch import METHODS, UNARY, call_function, call_ufunc
from .elementwise import around, mask_operation
from .shaping import copy, reshape, swapaxes, transpose

__all__ = [
    "METHODS", "UNARY", "around", "call_function", "call_ufunc", "copy", "mask_operation", "reshape", "swapaxes", "transpose",
]  # fmt: skip
