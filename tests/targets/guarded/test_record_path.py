"""Recordings that fail leave the tapes that are there as they were."""

import numpy as np
import pytest
from support.guarded import A, checked

import tapediff as td


def test_a_recording_that_raises_leaves_the_cache_as_it_was():
    """The user's own AssertionError and NumPy's LinAlgError pass through; later calls are right and `out` is untouched."""
    safe = td.GuardedTape(checked)
    good, out = A([3.0, 4.0]), np.full(2, 7.0)
    with pytest.raises(AssertionError, match="must be positive"):
        td.gradient(safe, -good, out=out)
    assert safe.stats == td.GuardedTape(checked).stats.__class__(0, 1, 0, 0, 0.0, 0.0)
    for _ in range(2):
        assert td.gradient(safe, good) == pytest.approx([2.0, 0.75])
        with pytest.raises(AssertionError, match="must be positive"):
            td.gradient(safe, -good, out=out)
        with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
            td.gradient(safe, A([1.0, -1.0]), out=out)
    assert safe.stats.recordings == 1
    assert (out == 7.0).all()
    assert not td.is_recording()
