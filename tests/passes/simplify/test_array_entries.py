"""Boxes of entries are found again, nothing that is no box is taken for one, and pieces put together are the array."""

import numpy as np
import pytest

from tapediff.ir.instruction import FLOAT64, INPUT, Instruction, ValueType
from tapediff.ops.arrays.indexing import Region
from tapediff.passes.simplify.array_entries import (
    MOST_STRETCHES,
    POSITION,
    SHIFT,
    _target_of as target_of,
    holes_in_a_box,
    own_entries,
    region_in,
    single_source,
    sources_of,
    split,
)


def read(region, shape):
    """The flat positions that a region reads of an array, in the shape of its box."""
    positions = np.arange(np.prod(shape, dtype=int)).reshape(shape)[region.slices]
    assert positions.shape == region.counts
    return positions


def random_shape(rng):
    return tuple(int(n) for n in rng.integers(1, 7, rng.integers(1, 4)))


@pytest.mark.parametrize("seed", range(60))
def test_the_box_of_positions_reads_these_in_the_order_that_is_given(seed):
    """Random strided boxes, some with negative steps, with their axes in another order; and, one entry changed, no box at all, or that one."""
    rng = np.random.default_rng(seed)
    shape = random_shape(rng)
    slices = tuple(slice(*sorted(rng.integers(0, n + 1, 2))[:2], int(rng.integers(1, 3))) for n in shape)
    box = np.arange(np.prod(shape)).reshape(shape)[slices]
    if not box.size:
        return
    if rng.random() < 0.5:
        box = np.flip(box, int(rng.integers(box.ndim)))
    box = box.transpose(rng.permutation(box.ndim))
    for positions in (box, box.ravel()):
        found = region_in(positions, shape)
        if positions is box:
            assert found is not None
        if found is not None:
            region, order = found
            kept = read(region, shape).reshape(region.shape).transpose(order)
            assert np.array_equal(kept.ravel(), positions.ravel())
    changed = box.copy()
    changed.flat[rng.integers(box.size)] = rng.integers(np.prod(shape))
    found = region_in(changed, shape)
    if found is not None:
        region, order = found
        assert np.array_equal(read(region, shape).reshape(region.shape).transpose(order).ravel(), changed.ravel())


@pytest.mark.parametrize("seed", range(60))
def test_a_target_is_the_box_that_ascending_places_fill_and_else_there_is_none(seed):
    """Boxes with steps, and random places, of which few are boxes."""
    rng = np.random.default_rng(seed)
    shape = random_shape(rng)
    region = Region(*zip(*((int(rng.integers(0, n)), int(rng.integers(1, 4))) for n in shape)), (), ())
    counts = tuple(int(rng.integers(1, (n - 1 - start) // step + 2)) for n, start, step in zip(shape, region.starts, region.steps))
    places = read(Region(region.starts, region.steps, counts, counts), shape)
    found = target_of(places.ravel(), shape)
    assert found is not None
    assert np.array_equal(read(found, shape), places)
    some = np.sort(rng.choice(np.prod(shape), rng.integers(1, np.prod(shape) + 1), replace=False))
    found = target_of(some, shape)
    axes = [np.unique(axis) for axis in np.unravel_index(some, shape)]
    is_box = np.prod([len(axis) for axis in axes]) == some.size and all(len(set(np.diff(axis))) < 2 for axis in axes)
    assert (found is not None) == is_box
    assert found is None or np.array_equal(read(found, shape).ravel(), some)


@pytest.mark.parametrize("seed", range(80))
def test_pieces_are_disjoint_and_give_every_entry_its_value(seed):
    """Arrays that are put together of parts of three others, shapes of which are known: by boxes, by columns, and scattered."""
    rng = np.random.default_rng(seed)
    shapes = {number: random_shape(rng) for number in (1, 2, 5)}
    values = [Instruction(INPUT, (), (k,), ValueType(shapes.get(k, ()), FLOAT64), None) for k in range(6)]
    shape = (int(rng.integers(1, 13)), int(rng.integers(1, 13)))
    entries = own_entries(1, (200,)).ravel()[: np.prod(shape)].reshape(shape) % 1
    entries = entries.astype(np.int64)
    sizes = {number: int(np.prod(s)) for number, s in shapes.items()}
    numbers = rng.choice(list(shapes), shape) if seed % 3 else np.where(np.arange(shape[1]) % max(2, shape[1] - 1) == 0, 1, 2) * np.ones(shape, int)
    positions = np.arange(np.prod(shape)).reshape(shape) if seed % 2 else rng.integers(0, 200, shape)
    for number, size in sizes.items():
        entries[numbers == number] = (number << SHIFT) + positions[numbers == number] % size
    flat = entries.ravel()
    places = np.sort(rng.choice(flat.size, rng.integers(0, flat.size + 1), replace=False))
    made = np.full(flat.size, -1)
    for piece in split(places, flat[places], shape, values):
        assert (made[piece.places] == -1).all()
        made[piece.places] = (piece.source << SHIFT) + piece.positions.ravel()
        if piece.target is not None:
            assert np.array_equal(read(piece.target, shape).ravel(), piece.places)
            assert piece.positions.ndim == 0 or region_in(piece.positions, shapes[piece.source]) is not None
        else:
            assert piece.places.size > MOST_STRETCHES
    assert np.array_equal(made[places], flat[places])
    assert (np.delete(made, places) == -1).all()
    assert set(sources_of(flat).tolist()) == set((flat >> SHIFT).tolist())
    assert single_source(flat) == (int(flat[0]) >> SHIFT if len(set((flat >> SHIFT).tolist())) == 1 else None)
    assert (flat & POSITION < max(sizes.values())).all()


@pytest.mark.parametrize("seed", range(40))
def test_few_entries_written_into_a_box_are_its_holes(seed):
    """Filled, the box is one piece; with the holes written again, the array is as before. So is an entry that is elsewhere in the source."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(3, 7, 2))
    of = tuple(int(n + k) for n, k in zip(shape, rng.integers(0, 3, 2)))
    values = [Instruction(INPUT, (), (k,), ValueType(t, FLOAT64), None) for k, t in enumerate((of, shape, ()))]
    low = [int(rng.integers(0, m - n + 1)) for m, n in zip(of, shape)]
    region = Region(tuple(low), (1, 1), shape, shape)
    entries = read(region, of).reshape(-1).astype(np.int64)
    corners = [0, shape[1] - 1, shape[0] * shape[1] - shape[1], shape[0] * shape[1] - 1]
    inner = np.setdiff1d(np.arange(entries.size), corners)
    places = np.sort(rng.choice(inner, int(rng.integers(1, 4)), replace=False))
    entries[places] = np.where(rng.random(places.size) < 0.5, 2 << SHIFT, (1 << SHIFT) + places)
    found = holes_in_a_box(entries, shape, values)
    assert found is not None
    holes, filled = found
    assert holes.tolist() == places.tolist()
    (piece,) = split(np.arange(filled.size), filled, shape, values)
    assert (piece.source, piece.positions.tolist()) == (0, read(region, of).tolist())
    moved = entries.copy()
    moved[corners[0]] += 1
    found = holes_in_a_box(moved, shape, values)
    assert found is not None
    assert found[0].tolist() == [0, *places.tolist()]
    assert np.array_equal(found[1], filled)
    assert holes_in_a_box(read(region, of).reshape(-1).astype(np.int64), shape, values) is None
