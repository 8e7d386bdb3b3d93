"""Keys, and the uniform numbers from which all draws are made."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence

import numpy as np

from ..errors import ArgumentMismatch, ShapeMismatch
from ..ir.instruction import Operand, is_tracked
from ..numpy_api.joining import as_value
from ..ops.elementwise.counter_based import RANDOM_BITS, RANDOM_UNIT

WORD = 1 << 32
# The upper word of a counter is its purpose: draws count from 0, and these are larger than any draw's.
SPLIT, FOLD = 1 << 20, 2 << 20

Shape = int | Sequence[int]


def key(seed: Operand) -> Operand:
    """A key: an int64 array of two 32-bit words.

    Args:
        seed: an int from 0 to 2**64 - 1, or from -2**63; may be a tracked integer. Different seeds give independent draws.
    """
    if is_tracked(seed):
        _require_integers(seed, "a seed")
        return np.stack([seed // WORD % WORD, seed % WORD])
    number = operator.index(seed)
    return np.array([number // WORD % WORD, number % WORD])


def split(key: Operand, n: int = 2) -> Operand:
    """n new keys, the rows of an array of shape (n, 2). Draw from these, not from the key itself again."""
    return _encrypted(key, np.arange(operator.index(n)), SPLIT)


def fold_in(key: Operand, number: Operand) -> Operand:
    """A new key from a key and an integer from 0 to 2**32 - 1, such as a step number; it may be tracked."""
    if not is_tracked(number):
        number = np.asarray(number)
    _require_integers(number, "the number of td.random.fold_in")
    return _encrypted(key, number % WORD, FOLD)


def _encrypted(key: Operand, counters: Operand, purpose: int) -> Operand:
    bits = RANDOM_BITS(*words(key), counters + purpose * WORD)
    return np.stack([bits // WORD % WORD, bits % WORD], axis=-1)


def words(key: Operand) -> tuple[Operand, Operand]:
    """The two words of a key."""
    key = key if is_tracked(key) else as_value(key)
    if key.dtype.kind != "i" or key.shape != (2,):
        raise ArgumentMismatch(
            "td.random draws from a key, an int64 array of shape (2,)", got=f"{key.dtype}, shape {key.shape}",
            fix="td.random.key(seed); of several keys, as td.random.split gives them, take one: keys[0]",
        )  # fmt: skip
    return key[0], key[1]


def unit(key: Operand, shape: Shape, stream: int = 0) -> Operand:
    """Numbers in (0, 1), odd multiples of 2**-53. A draw that needs several per entry uses several streams."""
    shape = as_shape(shape)
    count = math.prod(shape)
    if count > WORD:
        raise ArgumentMismatch("one draw has at most 2**32 entries", got=str(count), fix="split the key")
    counters = np.arange(stream * WORD, stream * WORD + count).reshape(shape)[()]
    return RANDOM_UNIT(*words(key), counters)


def as_shape(shape: Shape) -> tuple[int, ...]:
    return tuple(map(operator.index, shape)) if isinstance(shape, (tuple, list)) else (operator.index(shape),)  # type: ignore[arg-type]


def parameter(value: Operand) -> Operand:
    """A parameter as an array: tracked, or plain floats."""
    value = value if is_tracked(value) else as_value(value)
    return value if value.dtype.kind == "f" else value.astype(float)


def drawn_shape(name: str, shape: Shape | None, *parameters: Operand) -> tuple[int, ...]:
    """The shape of a draw: as given, or the broadcast shape of the parameters, which must fit into it."""
    common = np.broadcast_shapes(*map(np.shape, parameters))
    if shape is None:
        return common
    shape = as_shape(shape)
    if len(common) > len(shape) or any(extent not in (1, full) for extent, full in zip(common[::-1], shape[::-1])):
        raise ShapeMismatch(
            f"the parameters of td.random.{name} do not fit into its shape", got=f"{common} for {shape}",
            fix="shape= is that of the result, the axes of the parameters included",
        )  # fmt: skip
    return shape


def _require_integers(value: Operand, what: str) -> None:
    if value.dtype.kind not in "iu":
        raise ArgumentMismatch(f"{what} is an integer", got=str(value.dtype), fix="convert it: .astype(int)")
