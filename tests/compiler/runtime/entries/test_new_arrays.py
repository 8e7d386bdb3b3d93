"""New arrays: as np.empty makes them, of every shape and dtype, and freed as others are."""

import sys
import tracemalloc

import numpy as np

from tapediff.compiler.runtime.entries.new_arrays import maker_of

TYPES = [((3,), np.dtype(float)), ((), np.dtype(float)), ((2, 0, 3), np.dtype(np.int64)), ((2, 3), np.dtype(bool)), ((1000,), np.dtype(float))]


def test_arrays_are_as_numpy_makes_them():
    """Each is its own, C-contiguous, aligned and writeable; those of another call share no memory with them."""
    make = maker_of(TYPES)
    first, second = make(), make()
    for found in (first, second):
        assert type(found) is tuple
        for array, (shape, dtype) in zip(found, TYPES, strict=True):
            assert type(array) is np.ndarray
            assert (array.shape, array.dtype, array.base) == (shape, dtype, None)
            assert array.flags.carray
            assert array.flags.owndata
            array[...] = 1
    arrays = [a for a in (*first, *second) if a.size]
    assert not any(np.shares_memory(a, b) for k, a in enumerate(arrays) for b in arrays[:k])
    assert maker_of([])() == ()


def test_arrays_and_dtypes_are_given_back():
    """A thousand calls leave no more references to a dtype, and no more memory, than one."""
    make, dtype = maker_of(TYPES), np.dtype(float)
    make()
    tracemalloc.start()
    before, references = tracemalloc.get_traced_memory()[0], sys.getrefcount(dtype)
    for _ in range(1000):
        made = make()
    assert sys.getrefcount(dtype) - references <= len(made)
    # The 8 kB of the last array; a thousand of them would be 8 MB.
    assert tracemalloc.get_traced_memory()[0] - before < 100_000
    tracemalloc.stop()
