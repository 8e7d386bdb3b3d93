"""walnutpie, a No-U-Turn sampler in C++ whose step sizes vary within an orbit: it calls compiled functions by their addresses.

`pip install walnutpie` installs it. Source: walnutpie.walnuts_pyfunc in its reference; tried with walnutpie 0.0.3.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from ..targets.native.c_function import CFunction
from . import required

# An object of walnutpie or numba, whose class exists only if they are installed.
Foreign: TypeAlias = Any


class Thunk:
    """A C function of a log density for `walnuts_pyfunc(thunk.arguments, num_params=...)`; `sample` uses it.

    Attributes:
        density: the compiled function.
        fault: after a run, the error code of the density, or 0.
    """

    def __init__(self, density: CFunction) -> None:
        self.density = density
        self._fault = np.zeros(1, np.int64)
        self._function = _always_answers(density.as_numba(status=True))

    @property
    def fault(self) -> int:
        return int(self._fault[0])

    @property
    def arguments(self) -> tuple[Foreign, int]:
        """The function and its last argument in walnutpie's form; keep the thunk as long as they are used."""
        return required("walnutpie", "walnutpie", "walnutpie").logp_cfunc_type(self._function.address), int(self._fault.ctypes.data)


def sample(density: CFunction, **options: Foreign) -> list[Foreign]:
    """`walnutpie.walnuts_pyfunc` of a compiled log density.

    Args:
        density: `tape.c_function("gradient", x, ...)`, or `c_function()` of a td.Posterior.
        options: of walnuts_pyfunc, such as num_chains, seed, init_radius.

    Returns:
        An array of draws for each chain, of shape (draws, size), of the unconstrained vector.

    Raises:
        ImportError: walnutpie is not installed.
        Exception: an error of the density; walnutpie itself would reject the point and go on. After one, every further
            point is rejected without a call, so that the run ends soon.

    A point that the density rejects has the value -inf: otherwise walnutpie would print a line for each.

    Cost: one compilation of a few lines by numba, 0.3 s; then 0.02 µs a gradient on top of the kernel.
    """
    walnutpie, thunk = required("walnutpie", "walnutpie", "walnutpie"), Thunk(density)
    if density.sizes is None and not {"num_params", "inits"} & options.keys():
        raise ValueError("the size of the density's argument is not known; fix: tape.c_function('gradient', x)")
    if density.sizes is not None:
        options = {"num_params": density.sizes[0], **options}
    density.take_error()
    draws, failure = [], None
    try:
        draws = walnutpie.walnuts_pyfunc(thunk.arguments, **options)
    except Exception as raised:
        if not thunk.fault:
            raise
        failure = raised  # the sampler's own error, as every point is rejected by now
    if thunk.fault:
        raise density.fault(thunk.fault) from failure
    return draws


def _always_answers(density: Foreign) -> Foreign:
    """The density as a C function that returns -inf for rejected points, and for all points after a fault, whose code it keeps."""
    from numba import carray, cfunc, types  # pyright: ignore[reportPrivateImportUsage] -- documented as numba.carray

    doubles = types.CPointer(types.double)

    def log_density(size, x, gradient, value, user_data):  # type: ignore[no-untyped-def]
        fault = carray(user_data, 1, np.int64)
        code, found = 0, -np.inf
        if fault[0] == 0:
            code, found = density(carray(x, size), carray(gradient, size))
            if code < 0:
                fault[0] = code
        if code != 0 or fault[0] != 0:
            found = -np.inf
            carray(gradient, size)[:] = 0.0
        carray(value, 1)[0] = found
        return 0

    return cfunc(types.int32(types.uint64, doubles, doubles, doubles, types.voidptr))(log_density)
