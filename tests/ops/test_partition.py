"""Parts partition an array, and sums in parts are NumPy's to the bit."""

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler.codegen.python_listing import run_listing
from tapediff.compiler.loop_ir.program import Step
from tapediff.ops.arrays.indexing import Region, assemble
from tapediff.ops.arrays.partition import MOST_PARTS, MOST_REGIONS, partition


def region(*stretches, shape=None):
    starts, counts = zip(*((a, b - a) for a, b in stretches))
    return Region(starts, (1,) * len(starts), counts, counts if shape is None else shape)


CASES = {
    "neighbours": ((100,), [region((1, 100)), region((0, 99))]),
    "lags": ((77,), [region((k, 71 + k)) for k in range(6)]),
    "a hole": ((64,), [region((3, 20)), region((10, 30)), region((40, 50))]),
    "an entry on top": ((40,), [region((0, 40)), region((7, 8), shape=())]),
    "empty": ((40,), [region((3, 3)), region((0, 20)), region((10, 40))]),
    "five points": ((20, 31), [region((1, 19), (1, 30)), region((0, 18), (1, 30)), region((2, 20), (1, 30)),
                               region((1, 19), (0, 29)), region((1, 19), (2, 31))]),
    "rows": ((9, 17), [region((2, 3), (0, 17), shape=(17,)), region((0, 9), (3, 4), shape=(9, 1)), region((0, 9), (0, 17))]),
    "cube": ((4, 5, 6), [region((1, 4), (0, 5), (0, 6)), region((0, 3), (0, 5), (0, 6))]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_every_entry_is_in_one_part(name):
    """And in the regions that the part says, no others."""
    shape, regions = CASES[name]
    times = np.zeros(shape, int)
    for part in partition(regions, shape):
        at = tuple(slice(a, a + n) for a, n in zip(part.starts, part.counts))
        times[at] += 1
        for k, each in enumerate(regions):
            inside = np.zeros(shape, bool)
            inside[each.slices] = True
            assert np.all(inside[at]) if k in part.covered_by else not np.any(inside[at])
    assert np.all(times == 1)


@pytest.mark.parametrize("name", CASES)
def test_sums_in_parts_are_numpys_to_the_bit(name):
    """The kernel and its listing add in the order of the replay; infinities, NaN and the sign of zero are the same."""
    shape, regions = CASES[name]
    rng = np.random.default_rng(4)
    parts = [np.asarray(rng.choice([0.0, -0.0, 1.5, -1e300, np.inf, np.nan, 1e-9], r.shape)) for r in regions]
    if name == "neighbours":
        parts = [np.full(r.shape, -0.0) for r in regions]
    tape = td.record(lambda *parts: assemble([p * 1.0 for p in parts], regions, shape), *parts)
    with np.errstate(all="ignore"):
        expected = tape(*parts)
        compiled = td.compile(tape)
        result = compiled(*parts)
    listed = [np.empty(shape)]
    program = compiled.kernel(None).program
    run_listing(program, parts, listed)
    for answer in (result, listed[0]):
        assert np.array_equal(answer, expected, equal_nan=True)
        finite = ~np.isnan(expected)
        assert np.array_equal(np.signbit(answer)[finite], np.signbit(expected)[finite])
    written = [s for g in program.groups for s in g.body if isinstance(s, Step) and program.storages[s.write.storage].home == "output"]
    assert sum(int(np.prod(s.domain)) for s in written) == np.prod(shape)
    assert all(s.combine is None for s in written)


def test_what_is_no_stretch_or_too_much_code_is_not_cut():
    """Every second entry, backwards, many regions, many parts, few entries."""
    assert partition([Region((0,), (2,), (20,), (20,)), region((0, 40))], (40,)) is None
    assert partition([Region((39,), (-1,), (40,), (40,)), region((0, 40))], (40,)) is None
    assert partition([region((k, k + 9)) for k in range(MOST_REGIONS + 1)], (400,)) is None
    assert partition([region((0, 9)), region((1, 10))], (10,)) is None
    cube = [region((k, 90 + k), (k, 90 + k), (k, 90 + k)) for k in range(4)]
    assert partition(cube, (93, 93, 93)) is None
    assert len(partition([region((k, 90 + k)) for k in range(4)], (93,))) <= MOST_PARTS
