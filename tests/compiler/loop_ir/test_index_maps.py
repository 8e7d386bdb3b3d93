"""Reads of an array by a loop, as indices into the array: they point at the entries that NumPy's view holds."""

import numpy as np
import pytest

from tapediff.compiler.loop_ir.index_maps import index_map_of
from tapediff.compiler.loop_ir.program import Access
from tapediff.compiler.loop_ir.views import contiguous

SHAPE = (4, 6, 5)
VIEWS = {
    "all of it": lambda a: a,
    "a part": lambda a: a[1:, 2:5, :3],
    "every second, backwards": lambda a: a[::-2, 5:0:-1, ::2],
    "one row": lambda a: a[2, :, 4],
    "transposed": lambda a: a.transpose(2, 0, 1),
    "repeated": lambda a: np.broadcast_to(a[:, None, :, 1:2], (4, 3, 6, 7)),
    "an axis in two": lambda a: a.reshape(2, 2, 2, 3, 5),
    "one entry": lambda a: a[3:, 5:, 4:],
}
RUNNING_ON = {"two axes in one": lambda a: a.reshape(24, 5)[3:9], "all in one": lambda a: a.reshape(-1), "a diagonal": lambda a: np.einsum("iji->ij", a[:, :, :4])}


def access_of(view):
    first = view.__array_interface__["data"][0]
    base = view
    while base.base is not None:
        base = base.base
    return Access(0, (first - base.__array_interface__["data"][0]) // 8, tuple(s // 8 for s in view.strides))


@pytest.mark.parametrize("name", VIEWS)
def test_each_entry_is_found(name):
    """An access of a loop over the array, translated, reads at each point what it read for that entry."""
    array = np.arange(120.0).reshape(SHAPE).copy()
    view = VIEWS[name](array)
    index_map = index_map_of(access_of(view), view.shape, SHAPE)
    assert index_map is not None
    other = Access(1, 7, (100, 0, 3))
    moved = index_map.translated(other)
    for index in np.ndindex(view.shape):
        i, _, k = np.argwhere(array == view[index])[0]
        assert moved.offset + np.dot(index, moved.strides) == 7 + 100 * i + 3 * k
    assert index_map.translated(Access(0, 0, contiguous(SHAPE))) == access_of(np.broadcast_to(view, view.shape))


@pytest.mark.parametrize("name", RUNNING_ON)
def test_a_loop_that_runs_on_into_the_next_row_has_no_index_map(name):
    view = RUNNING_ON[name](np.arange(120.0).reshape(SHAPE).copy())
    assert index_map_of(access_of(view), view.shape, SHAPE) is None


LINES = {
    "all of it": lambda a: a,
    "a part": lambda a: a[3:9],
    "every second, backwards": lambda a: a[10:0:-2],
    "repeated": lambda a: np.broadcast_to(a[4:5], (7,)),
    "one entry": lambda a: a[11:],
}


@pytest.mark.parametrize("name", LINES)
def test_entries_of_an_array_of_one_axis_are_found(name):
    view = LINES[name](np.arange(12.0))
    index_map = index_map_of(access_of(view), view.shape, (12,))
    assert index_map is not None
    moved = index_map.translated(Access(1, 7, (3,), 2))
    assert [moved.offset + index * moved.strides[0] for index in range(view.size)] == [7 + 3 * k for k in view]
    assert (moved.storage, moved.index_read) == (1, 2)


@pytest.mark.parametrize(("offset", "stride", "count"), [(-1, 1, 3), (10, 1, 3), (3, -2, 3), (0, 12, 2)])
def test_reads_outside_of_an_array_of_one_axis_have_no_index_map(offset, stride, count):
    assert index_map_of(Access(0, offset, (stride,)), (count,), (12,)) is None
