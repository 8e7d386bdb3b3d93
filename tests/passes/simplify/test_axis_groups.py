"""The runs of axes that a reshape keeps: for every pair of shapes of the same size."""

import itertools
import math

import numpy as np
import pytest

from tapediff.passes.simplify.axis_groups import axis_groups

SHAPES = [shape for n in range(4) for shape in itertools.product((1, 2, 3, 4, 6), repeat=n) if math.prod(shape) <= 24]


def test_runs_hold_all_axes_in_order_have_equal_sizes_and_cannot_be_cut():
    """On both sides; a shorter beginning of a run is of no shorter beginning of its partner's size."""
    pairs = 0
    for old, new in itertools.product(SHAPES, SHAPES):
        if math.prod(old) != math.prod(new):
            continue
        groups = axis_groups(old, new)
        assert [a for left, _ in groups for a in left] == list(range(len(old)))
        assert [b for _, right in groups for b in right] == list(range(len(new)))
        for left, right in groups:
            assert math.prod(old[a] for a in left) == math.prod(new[b] for b in right)
            cuts = [set(itertools.accumulate((shape[k] for k in run[:-1]), int.__mul__)) for shape, run in ((old, left), (new, right))]
            assert not cuts[0] & cuts[1]
        pairs += 1
    assert pairs > 1000


@pytest.mark.parametrize(("old", "new"), [((0,), (0, 3)), ((2, 0, 3), (0,)), ((0, 2), (5, 0, 1))])
def test_an_array_without_entries_is_one_run(old, new):
    """No axes of it can be told from others."""
    assert np.empty(old).reshape(new).size == 0
    assert axis_groups(old, new) == [(list(range(len(old))), list(range(len(new))))]
