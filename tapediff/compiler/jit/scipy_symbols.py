"""Addresses of SciPy's special functions, of its BLAS and LAPACK and of NumPy's, by the symbol that generated code calls.

A symbol is `tapediff_<library>_<routine>`: `tapediff_special_gammaln`, `tapediff_blas_dgemm`, `tapediff_lapack_dpotrf`,
`tapediff_numpy_dsyevd`, `tapediff_fourier_fft`.
Any other name, such as `pow`, is left to the linker, which finds it in the C library of the process. `JITLibraryBuilder.import_symbol`
tells the linker each address; it does not see `llvmlite.binding.add_symbol`.
"""

from __future__ import annotations

import ctypes
import importlib
import re
from functools import cache
from typing import Any

import numpy as np

PREFIX = "tapediff_"
_MODULES = {
    "special": "scipy.special.cython_special",
    "blas": "scipy.linalg.cython_blas",
    "lapack": "scipy.linalg.cython_lapack",
}
# Some of SciPy's functions exist for several types, as "__pyx_fuse_1erf"; the number of the double version varies.
# Names of a routine in NumPy's LAPACK: as NumPy's wheels name it, with integers of 64 bits, and as other builds do.
_NAMES_IN_NUMPY = ("scipy_{}_64_", "{}_64_", "scipy_{}_", "{}_")
_ALL_DOUBLE = re.compile(r"double \((double, )+int __pyx_skip_dispatch\)|void \(double(, double \*)+\)")


@cache
def address_of(symbol: str) -> int | None:
    """The address of a routine such as `tapediff_lapack_dpotrf`; None without the prefix.

    A special function takes doubles and one trailing C int, which is ignored; one with several results takes a double and pointers to them.
    BLAS and LAPACK take pointers.

    Raises:
        LookupError: SciPy has no such routine.
    """
    if not symbol.startswith(PREFIX):
        return None
    library, _, routine = symbol.removeprefix(PREFIX).partition("_")
    if library == "numpy":
        return _in_numpy(routine)
    if library == "fourier":
        return loop_of(getattr(importlib.import_module("numpy.fft._pocketfft_umath"), routine))
    if library not in _MODULES:
        raise LookupError(f"{symbol} does not name a library of SciPy; the libraries are {', '.join(_MODULES)}")
    # Imported here, not above: scipy.special takes 0.1 s, and most programs call none of its functions.
    exported = importlib.import_module(_MODULES[library]).__pyx_capi__
    capsule = exported.get(routine)
    if library == "special" and (capsule is None or not _ALL_DOUBLE.fullmatch(_signature(capsule))):
        fused = (exported.get(f"__pyx_fuse_{k}{routine}") for k in range(4))
        capsule = next((c for c in fused if c is not None and _ALL_DOUBLE.fullmatch(_signature(c))), None)
    if capsule is None:
        raise LookupError(f"{_MODULES[library]} exports no routine {routine} for doubles")
    return _pointer(capsule)


def _in_numpy(routine: str) -> int | None:
    """A LAPACK routine of the build that numpy.linalg calls, or SciPy's if that cannot be found.

    Two builds agree to rounding only where the answer is unique: eigenvectors have signs, and bases where eigenvalues are repeated.
    """
    library = ctypes.CDLL(importlib.import_module("numpy.linalg._umath_linalg").__file__)
    for pattern in _NAMES_IN_NUMPY:
        found = getattr(library, pattern.format(routine), None)
        if found is not None:
            return ctypes.cast(found, ctypes.c_void_p).value
    return address_of(f"{PREFIX}lapack_{routine}")


def loop_of(ufunc: np.ufunc) -> int:
    """The C loop of a ufunc for doubles, which NumPy lists first: (addresses, sizes, strides, data), without the GIL.

    Its place in NumPy's public structure PyUFuncObject: four ints after the head of the object, then the array of functions.
    """
    types: Any = ufunc.types
    if types[0] not in ("Dd->D", "Dd->d", "dd->D"):
        raise LookupError(f"{ufunc.__name__} of numpy.fft has other loops than expected: {types}")
    functions = ctypes.c_void_p.from_address(id(ufunc) + object.__basicsize__ + 16).value
    address = ctypes.c_void_p.from_address(functions or 0).value
    if address is None:
        raise LookupError(f"{ufunc.__name__} of numpy.fft has no loop")
    return address


def _signature(capsule: object) -> str:
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return name(capsule).decode()


def _pointer(capsule: object) -> int:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return pointer(capsule, _signature(capsule).encode())
