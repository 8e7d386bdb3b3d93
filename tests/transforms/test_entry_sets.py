"""Sets of entries of arrays."""

import numpy as np
import pytest

from tapediff.transforms.entry_sets import EntrySet


@pytest.mark.parametrize("indices", [[4], [1, 2], [7, 2], [0, 3, 6], [6, 4, 2], [0, 1, 5], [5, 1, 0], [0, 1, 2, 4], [2, 1, 2]])
def test_indices_are_a_strided_box_if_and_only_if_their_steps_are_equal(indices):
    """A box reads the same entries as the indices do."""
    at = np.array(indices)
    region = EntrySet.steps((3, 8), [np.arange(3), at])
    assert (region is None) == (len(set(np.diff(at))) > 1)
    if region is not None:
        rows, columns = (a + k * np.arange(n) for a, k, n, _ in zip(*region))
        assert rows.tolist() == [0, 1, 2]
        assert columns.tolist() == indices
