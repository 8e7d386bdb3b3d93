"""What C functions that are given out return, and their types.

    i32 f(i64 size, const double* x, double* gradient, double* value, void* data)
    i32 f(i64 n, const double* x, i64 m, double* out, void* data)
"""

from __future__ import annotations

import ctypes

# Positive: the model has no value at this point, another may do; negative: the caller has to stop. A guard that fails says nothing about
# the model: a sampler that took it for a rejection would sample another posterior.
NOT_POSITIVE_DEFINITE, RECOVERABLE, NOT_FINITE = 2, 3, 4
WRONG_SIZE, MISPLACED, NO_MEMORY, GUARD_FAILED, RAISED = -1, -2, -3, -4, -5

POINT_TYPE = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)
FLAT_TYPE = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p
)
