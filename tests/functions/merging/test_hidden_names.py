"""What long loops do by another name only at some points is right at these, although it cannot be seen where they are recorded."""

from __future__ import annotations

import numpy as np
import pytest

import tapediff as td

from . import hidden_programs as programs
from .long_loops_agree import agree, name_of

pytestmark = pytest.mark.usefixtures("short_recordings_are_long")

POINTS = np.array([[0.4, 0.8], [0.7, 0.3], [0.9, 0.95]])


@pytest.mark.parametrize("f", programs.ALL, ids=name_of)
def test_points_that_another_name_decides_are_right_or_refused(f):
    """Values and gradients of a GuardedTape; those of a tape as well, unless it says that it is of another path."""
    tape, guarded = td.record(f, POINTS[0]), td.GuardedTape(f)
    agree(f, POINTS, guarded, rtol=5e-6)
    for x in POINTS:
        try:
            value = tape(x)
        except td.TapediffError:
            continue
        np.testing.assert_allclose(value, f(x), rtol=1e-11)
