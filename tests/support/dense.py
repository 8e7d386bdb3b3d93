"""The package's routines on matrices, as functions of addresses and integers; results are watched for writes beyond their ends."""

import ctypes
from functools import cache

import numpy as np

from tapediff.compiler.jit.native_function import NativeFunction
from tapediff.compiler.linalg.dense import dense_cholesky, dense_product, dense_pullback, dense_solve

LANES = (4, 8)
SIZES = (1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 31, 40, 65, 100)
_TEXTS = {
    "cholesky": dense_cholesky.cholesky,
    "cholesky_pullback": dense_pullback.cholesky_pullback,
    "triangular_solve": dense_solve.triangular_solve,
    "product": dense_product.product,
}
_UNTOUCHED = 12345.678


@cache
def _function(name, lanes):
    return NativeFunction(_TEXTS[name](lanes), f"tapediff_dense_{name}", set())


def call(name, lanes, *arguments):
    """Arrays are passed by the address of their first element, of a pair an array and a place in it, integers and truths as they are."""
    types, values = [], []
    for argument in arguments:
        if isinstance(argument, bool):
            types.append(ctypes.c_bool)
        elif isinstance(argument, int):
            types.append(ctypes.c_int64)
        else:
            array, place = argument if isinstance(argument, tuple) else (argument, 0)
            types.append(ctypes.c_void_p)
            argument = array.ctypes.data + 8 * place
        values.append(argument)
    return ctypes.CFUNCTYPE(ctypes.c_bool, *types)(_function(name, lanes).address)(*values)


def watched(size):
    """Room for so many numbers, and a function that tells whether anything was written around it."""
    whole = np.full(size + 64, _UNTOUCHED)
    room = whole[32 : 32 + size]
    room[:] = np.nan
    return room, lambda: (whole[:32] == _UNTOUCHED).all() and (whole[32 + size :] == _UNTOUCHED).all()


def definite(rng, n):
    a = rng.normal(size=(n, n))
    return a @ a.T / n + np.eye(n)
