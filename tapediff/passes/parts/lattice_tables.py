"""Finds the lattice shape in tables of neighbours whose sites are numbered row by row.

`u[neighbours]`, with the four neighbours of each site in a table, reads four shifted copies of the array. In flat positions each row of
sites ends in a jump; only with the lattice's axes are they a few boxes.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

# Limits on the neighbours of a site, and on the axes of a lattice.
MOST_NEIGHBOURS, MOST_LENGTHS = 8, 3
# The most jumps in one period.
MOST_JUMPS = 3


class Lattice(NamedTuple):
    """Positions by neighbour and site.

    Attributes:
        table: the positions; the first axis counts neighbours, the others are those of the lattice.
        shape: the shape of the array as a lattice.
        is_turned: True if neighbours were the last axis.
    """

    table: np.ndarray
    shape: tuple[int, ...]
    is_turned: bool


def as_lattice(positions: np.ndarray, size: int) -> Lattice | None:
    """Return positions in an array of `size` entries as a table on a lattice; None if jumps are not equally spaced."""
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
    """Return the period of the steps between positions; the whole length if there are few jumps."""
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
