"""The libraries that routines for numba call: SciPy's BLAS and LAPACK and NumPy's Fourier transforms, by address.

Comes in: a name. Goes out: a function that takes addresses; and how numbers, letters and matrices become what Fortran takes.
"""

import ctypes

import numpy as np
from numba.extending import get_cython_function_address
from numpy.fft import _pocketfft_umath as pocketfft  # pyright: ignore[reportAttributeAccessIssue] -- a compiled module without types

from ..jit.scipy_symbols import loop_of
from .scalar_functions import inner


def library(module, name, arguments):
    """A routine that SciPy's Cython modules export, to be called with so many addresses."""
    address = get_cython_function_address(f"scipy.linalg.cython_{module}", name)
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(address)


def numpy_library(name, arguments):
    """A LAPACK routine of the build that numpy.linalg calls, so that eigenvectors have the same signs; SciPy's if it is not found."""
    found = ctypes.CDLL(np.linalg._umath_linalg.__file__)
    for pattern in ("scipy_{}_64_", "{}_64_", "scipy_{}_", "{}_"):
        routine = getattr(found, pattern.format(name), None)
        if routine is not None:
            address = ctypes.cast(routine, ctypes.c_void_p).value or 0
            return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(address)
    return library("lapack", name, arguments)


dgemm = library("blas", "dgemm", 13)
dtrsm = library("blas", "dtrsm", 11)
dpotrf = library("lapack", "dpotrf", 5)
dgetrf = library("lapack", "dgetrf", 6)
dgetrs = library("lapack", "dgetrs", 9)
dgesdd = library("lapack", "dgesdd", 14)
dsyevd = numpy_library("dsyevd", 11)


fft, ifft, rfft_n_even, rfft_n_odd, irfft = (
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(loop_of(getattr(pocketfft, name)))
    for name in ("fft", "ifft", "rfft_n_even", "rfft_n_odd", "irfft")
)
numpy_dgesdd = numpy_library("dgesdd", 14)
dgeqrf = numpy_library("dgeqrf", 8)
dorgqr = numpy_library("dorgqr", 9)
dgeev = numpy_library("dgeev", 14)
zheevd = numpy_library("zheevd", 13)


A, L, N, R, S, T, U, V = map(ord, "ALNRSTUV")


@inner
def letter(code):
    """A letter as Fortran wants it."""
    return np.full(1, code, np.uint8)


@inner
def integer(value):
    """An integer as Fortran wants it: of 32 bits, or of 64, as the low half comes first."""
    return np.full(1, value, np.int64)


# Assignments to slices take numba four seconds to compile.


@inner
def copy(source, target, count):
    for k in range(count):
        target[k] = source[k]


@inner
def fill(target, first, count, value):
    for k in range(first, first + count):
        target[k] = value


@inner
def transpose(source, target, rows, columns):
    for i in range(rows):
        for j in range(columns):
            target[j * rows + i] = source[i * columns + j]
