"""A metric for samplers: coordinates in which a posterior looks like a standard normal distribution, by a sparse precision at its mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...errors import NoMode, NotPositiveDefinite, PosteriorError
from ...ir.instruction import Operand
from ...ops.matrices.sparse import Scipys
from ...sparse.cholesky import Cholesky, cholesky
from ...targets.native.c_function import CFunction
from ...targets.operators.sparse import sparse_hessian
from ..density import NamedDensity
from ..estimates import find_mode
from ..transforms import Array
from .marginal import marginal_of


class Metric:
    """The unconstrained vector u = center + R z, where R R^T is the inverse of a sparse precision.

    Attributes:
        center: where z is 0.
        factor: the precision's Cholesky factors.
    """

    def __init__(self, center: Array, factor: Cholesky) -> None:
        self.center, self.factor = np.ascontiguousarray(center), factor

    def at(self, z: Array) -> Array:
        """The unconstrained vector."""
        return self.center + self.factor.root(z[None])[0]


def laplace_metric(posterior: NamedDensity, random: Sequence[str], seed: int) -> Metric:
    """The precision at the joint mode; with random effects, at the mode of the other parameters' marginal, where hierarchies have one.

    Raises:
        PosteriorError: the density has no mode, or is flat or a saddle there.

    Source: Monnahan and Kristensen (2018), PLoS ONE 13(5), for the joint precision; Kristensen et al. (2016), section 2.
    """
    try:
        center, precision = _of_marginal(posterior, random, seed) if random else _of_joint(posterior, seed)
        return Metric(center, cholesky(precision))
    except (NoMode, NotPositiveDefinite) as error:
        fix = "metric=None" if random else "random='z', the names of the random effects; or metric=None"
        raise PosteriorError("metric='laplace' needs a mode with curvature in all directions", got=error, fix=fix) from error


def _of_joint(posterior: NamedDensity, seed: int) -> tuple[Array, Scipys]:
    """The joint mode, and the precision there."""
    center = find_mode(posterior, None, True, seed).u
    return center, _precision(posterior, center)


def _precision(posterior: NamedDensity, center: Array) -> Scipys:
    precision = -sparse_hessian(posterior.tape, center, posterior.constants)
    return (0.5 * (precision + precision.T)).tocsc()


def _of_marginal(posterior: NamedDensity, random: Sequence[str], seed: int) -> tuple[Array, Scipys]:
    """The mode of the others' marginal, with the effects' mode there; and the joint precision that has the marginal's information.

    The joint density has no mode there, so the others' block of its Hessian, which is replaced, may be indefinite.
    """
    import scipy.sparse  # late: it is not loaded with this package

    given = marginal_of(posterior, random, 200)
    marginal = NamedDensity(given["log_density"], data=given["data"], coords=given["coords"], parameters=given["parameters"])
    mode = find_mode(marginal, None, True, seed)
    center = posterior.unconstrain({**mode.values, **given["log_density"].mode(mode.values, posterior.data)})
    parts = {block.name: np.arange(posterior.layout.size)[block.part] for block in posterior.layout.blocks}
    u = np.concatenate([part for name, part in parts.items() if name in random])
    rest = np.concatenate([part for name, part in parts.items() if name not in random])
    precision = _precision(posterior, center)
    of_effects, across = precision[u][:, u], precision[u][:, rest].toarray()
    block = across.T @ cholesky(of_effects).solve(across) - marginal.log_density_hessian(mode.u)[2]
    whole: Scipys = scipy.sparse.block_array([[of_effects, across], [across.T, 0.5 * (block + block.T)]], format="csc")
    order = np.argsort(np.concatenate([u, rest]))
    return center, whole[order][:, order]


class Whitened:
    """A C function of z that calls one of u, with a gradient by z; used as adapters.nutpie.model uses a CFunction."""

    def __init__(self, function: CFunction, metric: Metric) -> None:
        self.function, self.metric = function, metric
        self.sizes, self.address, self.user_data = function.sizes, function.address, function.user_data
        self.take_error, self.fault = function.take_error, function.fault
        # Compiled code reads them as long as this is kept, as nutpie's model does.
        self._arrays = (metric.center, *metric.factor.arrays())

    def as_numba(self, *, status: bool = False) -> Callable[..., Operand]:
        """The function for numba code: `code, value = f(z, gradient)`; of values, `code = f(z, out)`."""
        from numba import carray, njit, types  # pyright: ignore[reportPrivateImportUsage] -- documented as numba.carray
        from numba.core import cgutils
        from numba.extending import intrinsic

        from ...sparse.kernels import backward, forward

        @intrinsic
        def at_address(typing_context, address):  # type: ignore[no-untyped-def]
            return types.voidptr(address), lambda context, builder, signature, args: builder.inttoptr(args[0], cgutils.voidptr_t)

        pointer: Operand = at_address
        inner, is_gradient = self.function.as_numba(status=True), self.function.kind == "gradient"
        # Read at their addresses: numba would make arrays in closures part of the machine code.
        at_center, at_starts, at_rows, at_values, at_scale, at_order = [array.ctypes.data for array in self._arrays]
        n, entries = len(self.metric.center), len(self._arrays[3])

        @njit(nogil=True)
        def called(z, out):  # type: ignore[no-untyped-def]
            starts, rows = carray(pointer(at_starts), n + 1, np.int64), carray(pointer(at_rows), entries, np.int64)
            values, scale = carray(pointer(at_values), entries, np.float64), carray(pointer(at_scale), n, np.float64)
            center, order = carray(pointer(at_center), n, np.float64), carray(pointer(at_order), n, np.int64)
            x, u = np.empty((1, n)), np.empty(n)
            x[0] = z * scale
            backward(starts, rows, values, x)
            for k in range(n):
                u[order[k]] = center[order[k]] + x[0, k]
            found = inner(u, out)
            if is_gradient:
                for k in range(n):
                    x[0, k] = out[order[k]]
                forward(starts, rows, values, x)
                out[:] = x[0] * scale
            return found

        return called
