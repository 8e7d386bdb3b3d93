"""Tables of neighbours on lattices whose sites are numbered row by row: of what shape the lattice is.

`u[neighbours]`, with the four neighbours of every site in a row of the table, reads four shifted copies of the array; in flat positions
each row of sites ends in a jump, and only as rows, or as planes of rows, are they a few boxes.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

# Tables of more neighbours than this, and lattices of more axes, are not looked for.
MOST_NEIGHBOURS, MOST_LENGTHS = 8, 3
# After how many jumps a row begins like the one before.
MOST_JUMPS = 3


class Lattice(NamedTuple):
    """Positions by neighbour and site.

    Attributes:
        table: the positions; the first axis is which neighbour, the others are those of the lattice.
        shape: the shape of the array as a lattice.
        is_turned: whether neighbours were the last axis.
    """

    table: np.ndarray
    shape: tuple[int, ...]
    is_turned: bool


def as_lattice(positions: np.ndarray, size: int) -> Lattice | None:
    """Positions in an array of `size` entries as a table on a lattice; None if jumps come at no regular distances."""
    if positions.ndim not in (1, 2):
        return None
    is_turned = positions.ndim == 2 and positions.shape[0] > positions.shape[1]
    table = positions.T if is_turned else positions.reshape(-1, positions.shape[-1])
    if table.shape[0] > MOST_NEIGHBOURS or not table.size:
        return None
    lengths: set[int] = set()
    for line in table:
        length = _length(line)
        if length is None:
            return None
        lengths.add(length)
    sites = table.shape[1]
    chain = [1, *sorted(lengths - {sites, 1})]
    if len(chain) > MOST_LENGTHS or any(b % a for a, b in itertools.pairwise(chain)) or sites % chain[-1] or size % chain[-1]:
        return None
    inner = tuple(b // a for a, b in itertools.pairwise(chain))[::-1]
    lines = np.ascontiguousarray(table).reshape(-1, sites // chain[-1], *inner)
    return Lattice(lines, (size // chain[-1], *inner), is_turned)


def _length(line: np.ndarray) -> int | None:
    """After how many positions the steps between them repeat; all of them where there are few jumps."""
    steps = np.diff(line)
    if 2 * np.count_nonzero(steps[1:] != steps[:-1]) > steps.size:  # at random, or in rows of fewer than four
        return None
    values, counts = np.unique(steps[:4096], return_counts=True)
    if not values.size:
        return None
    jumps = np.flatnonzero(steps != values[counts.argmax()]) + 1
    if jumps.size <= MOST_JUMPS:
        return line.size
    for several in range(1, MOST_JUMPS + 1):
        distances = jumps[several:] - jumps[:-several]
        if bool((distances == distances[0]).all()):
            return int(distances[0])
    return None
