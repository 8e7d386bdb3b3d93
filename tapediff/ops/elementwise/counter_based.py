"""Random bits as a function of a key and a counter: Threefry-2x32 with 20 rounds, in 32-bit words held in int64.

Source: Salmon, Moraes, Dror and Shaw (2011), Parallel random numbers: as easy as 1, 2, 3, SC11; the constants are Random123's.
"""

from __future__ import annotations

import numpy as np

from ...ir.instruction import FLOAT64, INT64, Operand
from ..declaration.op import Elementwise
from ..declaration.samples import COUNTER, WORD

ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
PARITY = 0x1BD11BDA
# A float of 52 random bits in [1, 2) less this is in (0, 1), in the middle of its interval: the subtraction is exact.
EXPONENT = 0x3FF << 52
ALMOST_ONE = 1.0 - 2.0**-53


def _bits(first: Operand, second: Operand, counter: Operand) -> np.ndarray:
    """64 bits for each counter, as uint64; its low word is the first of the block that is encrypted."""
    keys = [np.asarray(word).astype(np.uint32) for word in (first, second)]
    keys.append(np.uint32(PARITY) ^ keys[0] ^ keys[1])
    counter = np.atleast_1d(counter).astype(np.uint64)  # sums of arrays wrap around silently
    shape = np.broadcast_shapes(counter.shape, keys[2].shape)
    x = np.broadcast_to(counter.astype(np.uint32), shape) + keys[0]
    y = np.broadcast_to((counter >> np.uint64(32)).astype(np.uint32), shape) + keys[1]
    left, right = np.empty_like(y), np.empty_like(y)
    for block in range(5):
        for rotation in ROTATIONS[:4] if block % 2 == 0 else ROTATIONS[4:]:
            x += y
            np.left_shift(y, np.uint32(rotation), out=left)
            np.right_shift(y, np.uint32(32 - rotation), out=right)
            np.bitwise_or(left, right, out=y)
            y ^= x
        x += keys[(block + 1) % 3]
        y += keys[(block + 2) % 3]
        y += np.uint32(block + 1)
    return (x.astype(np.uint64) << np.uint64(32)) | y.astype(np.uint64)


def _shaped(bits: np.ndarray, *operands: Operand) -> Operand:
    return bits.reshape(np.broadcast_shapes(*map(np.shape, operands)))[()]


def random_bits(first: Operand, second: Operand, counter: Operand) -> Operand:
    """64 bits as an int64: the two encrypted words, the first one in the upper half."""
    return _shaped(_bits(first, second, counter).view(np.int64), first, second, counter)


def random_unit(first: Operand, second: Operand, counter: Operand) -> Operand:
    """A float in (0, 1): an odd multiple of 2**-53."""
    bits = (_bits(first, second, counter) >> np.uint64(12)) | np.uint64(EXPONENT)
    return _shaped(bits.view(np.float64) - ALMOST_ONE, first, second, counter)


RANDOM_BITS = Elementwise(
    "random_bits", random_bits, "random_bits(x, y, w)", vjp=(None, None, None), result=INT64, floats_only=False,
    samples=(WORD, WORD, COUNTER),
)  # fmt: skip
RANDOM_UNIT = Elementwise(
    "random_unit", random_unit, "random_unit(x, y, w)", vjp=(None, None, None), result=FLOAT64, floats_only=False,
    samples=(WORD, WORD, COUNTER),
)  # fmt: skip

OPS = (RANDOM_BITS, RANDOM_UNIT)
