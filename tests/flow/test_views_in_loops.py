"""Views from before a loop that changes their array: what the loop writes is seen in them."""

from __future__ import annotations

import numpy as np
import pytest

from flow.one_tape import recordings
from tests.flow.corpus.array_writes import by_another_name_in_a_loop


def views_of_views(x):
    y, e, k = x * 1.0, abs(x[0]) + 1.0, 0
    z = y[1:]
    w = z[::2]
    while e > 0.3 and k < 5:
        z[k] = e * x[2]
        e = e * 0.5 + 0.1 * w[0] * x[1] - 0.2 + np.sum(w) * 0.01
        w[1] = w[1] * 0.9
        k += 1
    return np.sum(y * np.arange(6.0)) + e + z[1] + w[2]


PROGRAMS = [by_another_name_in_a_loop, views_of_views]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_views_show_what_loops_write(f):
    """Such a loop is recorded iteration by iteration."""
    assert recordings(f) <= 6


def of_one_of_two(x):
    """The array that is written, and what is written to it, are chosen by data."""
    y, z = x * 1.0, x[::-1] * 2.0
    for k in range(3):
        if x[k] > 0:
            y, z = z, y * 0.5
        flag = x[k + 1] > 0.3
        y[:2] = z[1:3]
        y[3] = flag
        y[4] = x[k] if x[k + 2] > 0 else 1
    return np.sum(y * np.arange(6)) + z[0]


def test_arrays_are_written_with_what_data_choose():
    """Arrays, their parts, bools and ints."""
    assert recordings(of_one_of_two) == 1
