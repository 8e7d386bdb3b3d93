"""The table of NumPy's functions and methods that are compositions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...ir.instruction import Operand, is_tracked
from ..matrices import decompositions, products
from . import choosing, cross_products, filling, numpys_own, padding, per_element


def _dtype_of(value: Operand) -> Operand:
    return value.dtype if is_tracked(value) else value


def _of_types(function: Callable[..., Operand]) -> Callable[..., Operand]:
    """A function of dtypes; an array argument stands for its dtype."""

    def call(*args: Operand, **named: Operand) -> Operand:
        return function(*map(_dtype_of, args), **{k: _dtype_of(v) for k, v in named.items()})

    return call


FUNCTIONS: dict[Callable[..., object], Callable[..., Operand]] = {
    **numpys_own.FUNCTIONS,
    np.apply_along_axis: per_element.apply_along_axis, np.argpartition: choosing.argpartition, np.bincount: choosing.bincount,
    np.can_cast: _of_types(np.can_cast), np.choose: choosing.choose, np.compress: choosing.compress, np.convolve: filling.convolve,
    np.correlate: filling.correlate, np.histogram: choosing.histogram, np.isin: choosing.isin, np.lexsort: choosing.lexsort,
    np.meshgrid: filling.meshgrid, np.cross: cross_products.cross, np.nanmedian: choosing.nanmedian, np.pad: padding.pad,
    np.partition: choosing.partition, np.polymul: filling.polymul, np.ravel_multi_index: choosing.ravel_multi_index,
    np.result_type: _of_types(np.result_type), np.setdiff1d: choosing.setdiff1d, np.take: choosing.take,
    np.unique: choosing.unique, np.unravel_index: choosing.unravel_index,
    np.lib.stride_tricks.sliding_window_view: filling.sliding_window_view,
    np.linalg.cond: decompositions.cond, np.linalg.eig: decompositions.eig, np.linalg.eigvals: decompositions.eigvals,
    np.roots: decompositions.roots,
    np.linalg.lstsq: decompositions.lstsq, np.linalg.matrix_rank: decompositions.matrix_rank, np.linalg.pinv: decompositions.pinv,
    np.linalg.qr: decompositions.qr, np.linalg.svd: decompositions.svd, np.linalg.svdvals: decompositions.svdvals,
    np.linalg.trace: lambda x, /, *, offset=0, dtype=None: np.sum(np.linalg.diagonal(x, offset=offset), axis=-1, dtype=dtype),
    np.linalg.vecdot: products.vecdot, np.linalg.tensorsolve: filling.tensorsolve,
}  # fmt: skip

UFUNCS: dict[Callable[..., object], Callable[..., Operand]] = {
    np.modf: filling.modf, np.ldexp: filling.ldexp, np.left_shift: filling.left_shift, np.right_shift: filling.right_shift,
    np.conjugate: filling.conjugate, np.matvec: products.matvec, np.vecmat: products.vecmat,
}  # fmt: skip

METHODS: dict[str, Callable[..., Operand]] = {
    "argpartition": choosing.argpartition, "partition": choosing.partition_in_place, "choose": choosing.choose, "take": choosing.take,
    "compress": lambda a, condition, axis=None: choosing.compress(condition, a, axis), "conjugate": lambda a: a,
    "conj": lambda a: a,  # returns the array itself, where np.conj copies
}  # fmt: skip
