"""How loops are divided so that they save no more than they may."""

import pytest

from tapediff.passes.loops.checkpoint_loops import _plan


@pytest.mark.parametrize("length", [100, 1000, 4567])
@pytest.mark.parametrize("saved", [8, 24, 400])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_blocks_and_what_is_after_them_save_no_more_than_the_limit(length, saved, share):
    """The carries of each block, and what the iterations of one block and of none save."""
    carried, limit = 8, share * length * saved
    plan = _plan(length, carried, saved, limit)
    assert plan is not None
    if not plan.count:
        assert length * carried <= limit
    elif plan.inner is None or not plan.inner.count:
        each = carried if plan.inner is not None else saved
        assert plan.count * plan.size <= length
        assert carried * plan.count + each * (plan.size + length - plan.count * plan.size) <= limit
