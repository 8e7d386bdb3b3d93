"""Addresses of SciPy's routines by symbol, and that linked code calls the right ones."""

import ctypes
import subprocess
import sys

import numpy as np
import pytest
import scipy.special
from support.loops import native

from tapediff.compiler.jit.scipy_symbols import address_of
from tapediff.compiler.math.simd import call_scalar

FORTRAN_INTEGER = ctypes.POINTER(ctypes.c_int)


@pytest.mark.parametrize("routine", ["gammaln", "psi", "erf", "ndtri", "erfinv", "i0"])
@pytest.mark.parametrize("width", [1, 8])
def test_linked_code_gives_scipys_bits(routine, width):
    """Plain routines, routines whose double variant is the first one, and routines where it is the second."""
    x = np.linspace(0.05, 0.95, 16)
    loop = native(lambda x: call_scalar(f"tapediff_special_{routine}", x, trailing="i32 0"), 1, width)
    assert np.array_equal(loop(x), getattr(scipy.special, routine)(x))


def test_blas_is_called_by_address():
    """dnrm2 of (3, 4) is 5."""
    norm = ctypes.CFUNCTYPE(ctypes.c_double, FORTRAN_INTEGER, ctypes.c_void_p, FORTRAN_INTEGER)(
        address_of("tapediff_blas_dnrm2")
    )
    x = np.array([3.0, 4.0])
    assert norm(ctypes.c_int(2), x.ctypes.data, ctypes.c_int(1)) == 5.0


def test_lapack_is_called_by_address():
    """dpotrf turns [[4]] into its Cholesky factor [[2]] and reports success."""
    signature = ctypes.CFUNCTYPE(
        None, ctypes.c_char_p, FORTRAN_INTEGER, ctypes.c_void_p, FORTRAN_INTEGER, FORTRAN_INTEGER
    )
    x, failed = np.array([[4.0]]), ctypes.c_int(-1)
    signature(address_of("tapediff_lapack_dpotrf"))(b"L", ctypes.c_int(1), x.ctypes.data, ctypes.c_int(1), failed)
    assert (x[0, 0], failed.value) == (2.0, 0)


def test_names_of_the_c_library_are_left_to_the_linker():
    """They have no address here, and linked code finds them."""
    assert address_of("pow") is None
    assert native(lambda x: call_scalar("pow", x, 2.0))(np.array([3.0]))[0] == 9.0


@pytest.mark.parametrize("symbol", ["tapediff_special_gamaln", "tapediff_lapack_dpotr", "tapediff_fftw_plan"])
def test_an_unknown_routine_is_named(symbol):
    """A misspelt routine or library raises before anything is linked."""
    with pytest.raises(LookupError, match=symbol.rpartition("_")[2]):
        address_of(symbol)


def test_scipy_is_imported_only_for_its_routines():
    """The module and names of the C library cost no SciPy import."""
    program = (
        "import sys; from tapediff.compiler.math import function_table; from tapediff.compiler.jit.scipy_symbols import address_of;"
        "address_of('pow'); assert not [m for m in sys.modules if m.startswith(('scipy', 'llvmlite'))]"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
