"""Regions of arrays: which entries they are."""

import numpy as np
import pytest

from tapediff.ops.arrays.indexing import Region
from tapediff.ops.arrays.regions import frame


@pytest.mark.parametrize(
    ("shape", "starts", "counts"),
    [((5,), (1,), (3,)), ((4, 6), (1, 2), (2, 3)), ((4, 6), (0, 1), (4, 1)), ((3, 4, 5), (1, 0, 2), (1, 3, 3)), ((3, 4), (0, 0), (3, 4))],
)
def test_a_frame_is_all_that_is_not_in_the_box(shape, starts, counts):
    """Each entry once, in strips that have as many axes as the array."""
    times = np.zeros(shape, int)
    times[tuple(slice(a, a + n) for a, n in zip(starts, counts))] += 1
    for strip in frame(Region(starts, (1,) * len(shape), counts, counts), shape):
        assert [len(each) for each in strip] == [len(shape)] * 4
        assert strip.shape == strip.counts
        times[strip.slices] += 1
    assert np.all(times == 1)
