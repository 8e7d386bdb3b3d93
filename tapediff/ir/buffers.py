"""Buffers: the arrays of td.Cache and td.Output, of which a tape knows only shape and dtype."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArgumentMismatch, DtypeMismatch
from .arguments import Mark, Output
from .instruction import Operand, is_tracked


@dataclass(frozen=True, slots=True)
class Buffer:
    """An array of a td.Cache or td.Output in a treedef: not an input of the tape, as the function is given a new array.

    Attributes:
        dtype: its name; integers of every width are int64 while recording.
    """

    shape: tuple[int, ...]
    dtype: str
    is_output: bool

    def __repr__(self) -> str:
        sizes = ", ".join(map(str, self.shape))
        return f"td.{'Output' if self.is_output else 'Cache'}({self.dtype}[{sizes}])"

    def unwritten(self) -> np.ndarray:
        """An array whose contents must not be read."""
        dtype = np.dtype(self.dtype)
        return np.full(self.shape, np.nan if dtype.kind == "f" else np.iinfo(dtype).min if dtype.kind == "i" else False, dtype)


def buffer_of(array: Operand, mark: Mark) -> Buffer:
    """The buffer that replaces a marked array.

    Raises:
        ArgumentMismatch: it is a number, which cannot be written to.
        DtypeMismatch: tapes do not support its dtype.
    """
    name = "td.Output" if mark is Output else "td.Cache"
    if not (is_tracked(array) or isinstance(array, (np.ndarray, list))):
        raise ArgumentMismatch(f"{name} holds a number, which a function cannot write to", got=type(array).__name__,
                               fix="pass an array: np.empty(()) for a single number")  # fmt: skip
    if isinstance(array, list):
        array = np.asarray(array)
    dtype = array.dtype
    if dtype.kind not in "fiub" or (dtype.kind == "f" and dtype.itemsize not in (4, 8)):
        raise DtypeMismatch(f"{name} holds an array of a type that a tape cannot hold", got=f"dtype {dtype}, shape {array.shape}",
                            fix="float64, float32, int64 or bool arrays")  # fmt: skip
    return Buffer(tuple(array.shape), "int64" if dtype.kind in "iu" else dtype.newbyteorder("=").name, mark is Output)


def require_apart(written: Sequence[np.ndarray], others: Sequence[np.ndarray]) -> None:
    """Check that no array that a function writes to shares memory with another argument: a write would be seen in both.

    Raises:
        ArgumentMismatch: two of them share memory.
    """
    for k, array in enumerate(written):
        for other in (*written[:k], *others):
            if np.may_share_memory(array, other) and _share(array, other):
                raise ArgumentMismatch(
                    "an array in td.Cache, td.ConstantOrCache or td.Output shares memory with another argument",
                    got=f"shapes {array.shape} and {other.shape}", fix="pass each array once, and take views of it in the function",
                )  # fmt: skip


# The exact test is exponential in the number of axes; beyond this effort arrays count as overlapping.
MOST_WORK: Any = 10_000


def _share(a: np.ndarray, b: np.ndarray) -> bool:
    try:
        return np.shares_memory(a, b, max_work=MOST_WORK)
    except np.exceptions.TooHardError:
        return True
