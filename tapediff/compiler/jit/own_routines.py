"""Routines of this package that kernels call by symbol: compiled once in a process, at first use."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

from ..linalg import bands, index_routines, sparse_products
from ..linalg.dense import dense_cholesky, dense_product, dense_pullback, dense_solve, lanes, stacked, tiles
from ..linalg.matrix_loops import WITHIN
from ..llvm.cpu import has
from .toolchain import toolchain

_DENSE: dict[str, Callable[[int], str]] = {
    "cholesky": dense_cholesky.cholesky,
    "cholesky_pullback": dense_pullback.cholesky_pullback,
    "triangular_solve": dense_solve.triangular_solve,
    "product": dense_product.product,
    "cholesky" + WITHIN: partial(dense_cholesky.cholesky, within=True),
    "cholesky_pullback" + WITHIN: partial(dense_pullback.cholesky_pullback, within=True),
    "product" + WITHIN: partial(dense_product.product, within=True),
}


class Linked(Protocol):
    """A compiled routine."""

    @property
    def address(self) -> int: ...


def is_linked_here(symbol: str) -> bool:
    return symbol.startswith((index_routines.PREFIX, tiles.PREFIX, lanes.PREFIX, sparse_products.PREFIX, bands.PREFIX))


def address_of(symbol: str, link: Callable[..., Linked], by_recipe: Callable[..., Linked]) -> int:
    """The address of a routine, which is compiled when a kernel first calls it.

    Args:
        link, by_recipe: NativeFunction, and its maker of that name.

    Cost: 5 ms, 20 to 70 for one on matrices and for sorting.
    """

    def make() -> Linked:
        return by_recipe(("own routine", symbol), symbol, {}, lambda: link(text_of(symbol), symbol, set(), is_portable=True))

    return toolchain.once(("own routine", symbol), make).address


def text_of(symbol: str) -> str:
    """The LLVM text of a routine."""
    if symbol.startswith(index_routines.PREFIX):
        return index_routines.index_text(symbol.removeprefix(index_routines.PREFIX))
    width = 8 if has("avx512f") else 4
    if symbol.startswith(lanes.PREFIX):
        return stacked.text(symbol, width)
    if symbol.startswith(bands.PREFIX):
        return bands.text(symbol, width)
    if symbol.startswith(sparse_products.PREFIX):
        return sparse_products.TEXTS[symbol.removeprefix(sparse_products.PREFIX)](width)
    return _DENSE[symbol.removeprefix(tiles.PREFIX)](width)
