"""Writes triplets into one array: the data of a sparse matrix, or a dense matrix, without intermediate columns."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..ir.instruction import INT64, ValueType
from ..ops.arrays.indexing import ASSEMBLE, GATHER, INDEX, PUT, REPLACE, SCATTER_ADD
from ..ops.arrays.regions import Region, Regions, are_disjoint
from ..ops.arrays.shape import BROADCAST, TRANSPOSE
from ..ops.elementwise.arithmetic import ADD
from .triplets import Term, Triplets

# More runs are written entry by entry, so that the code stays short.
MOST_RUNS = 64

# Limit on the rows that an array of triplets is cut into.
MOST_CUTS = 16

# Limit on the edges of overlapping runs; each piece between edges is code of its own.
MOST_EDGES = 16


class Run(NamedTuple):
    """Values written at equal steps: entry k at start + k * step."""

    value: int
    start: int
    step: int
    entries: int

    @property
    def end(self) -> int:
        return self.start + self.step * self.entries


def placed(made: Triplets, terms: Sequence[Term], positions: Sequence[np.ndarray], type_: ValueType) -> int:
    """A value of the new tape: zeros, with the coefficients of terms added at flat positions of them.

    Args:
        terms: the terms to write.
        positions: for each term, the positions of its coefficients; of the shape of its rows.
        type_: the type of the result, which has one axis.
    """
    terms, positions = _in_order(made, terms, positions)
    runs = _runs(made, terms, positions)
    if runs is not None and runs:
        return _written(made, _joined(made, runs), type_)
    zeros = made.make(BROADCAST, (made.constant(0.0, ValueType((), type_.dtype)),), (type_.shape,))
    if not terms:
        return zeros
    at = np.concatenate([np.ravel(p) for p in positions])
    flat = [made.reshaped(made.whole(t), (t.rows.size,)) for t in terms]
    values = _side_by_side(made, flat, len(at)) if len(flat) > 1 else flat[0]
    counts = np.bincount(at, minlength=type_.size)
    if (counts == 1).all():
        order = np.empty(len(at), np.int64)
        order[at] = np.arange(len(at))
        return made.make(GATHER, (values, made.constant(order, ValueType(order.shape, INT64))))
    where = made.constant(at, ValueType(at.shape, INT64))
    if (counts <= 1).all():
        return made.make(PUT, (zeros, values, where), (True,))
    return made.make(SCATTER_ADD, (values, where), (type_.shape,))


def _in_order(
    made: Triplets, terms: Sequence[Term], positions: Sequence[np.ndarray]
) -> tuple[Sequence[Term], Sequence[np.ndarray]]:
    """Transpose each term to the axis order of the result."""
    found = []
    for term, at in zip(terms, positions):
        steps = [abs(int(at.take(1, k).flat[0] - at.flat[0])) if n > 1 else 0 for k, n in enumerate(at.shape)]
        axes = tuple(sorted(range(at.ndim), key=lambda k, steps=steps: -steps[k]))
        if axes != tuple(range(at.ndim)):
            value = made.make(TRANSPOSE, (made.whole(term),), (axes,))
            term, at = Term(value, term.rows.transpose(axes), term.columns.transpose(axes), term.source), at.transpose(axes)
        found.append((term, at))
    return [term for term, _ in found], [at for _, at in found]


def _side_by_side(made: Triplets, values: Sequence[int], size: int) -> int:
    ends = np.cumsum([0, *(made.shape(v)[0] for v in values)])
    regions = Regions(Region((int(a),), (1,), (int(b - a),), (int(b - a),)) for a, b in itertools.pairwise(ends))
    return made.make(ASSEMBLE, tuple(values), (regions, (size,), True))


def _runs(made: Triplets, terms: Sequence[Term], positions: Sequence[np.ndarray]) -> list[Run] | None:
    """Return the terms as runs of equal steps; None if they are not."""
    cuts = [cut for term, at in zip(terms, positions) for cut in _cuts(term, at)]
    if len(cuts) > MOST_RUNS:
        return None
    found = [_equal_steps(at) for _, _, at in cuts]
    if any(step is None for step in found):
        return None
    runs = []
    for (term, chosen, at), step in zip(cuts, found):
        value = made.reshaped(made.whole(term), (term.rows.size,))
        if len(at) < term.rows.size:
            value = made.picked(value, chosen)
        assert step is not None, "seen above"
        if step < 0:
            last = Region((len(at) - 1,), (-1,), (len(at),), (len(at),))
            value = made.make(INDEX, (value,), (last,))
        runs.append(Run(value, int(at.min()), abs(step), len(at)))
    return runs


def _cuts(term: Term, at: np.ndarray) -> list[tuple[Term, np.ndarray, np.ndarray]]:
    """Cut a term along its longest axis unless it is one run: each part with its coefficients and positions."""
    ids = np.arange(at.size)
    if at.ndim < 2 or _equal_steps(np.ravel(at)) is not None:
        return [(term, ids, np.ravel(at))]
    longest = int(np.argmax(at.shape))
    rows = np.moveaxis(ids.reshape(at.shape), longest, -1).reshape(-1, at.shape[longest])
    if len(rows) > MOST_CUTS:
        return [(term, ids, np.ravel(at))]
    return [(term, row, np.ravel(at)[row]) for row in rows]


def _equal_steps(at: np.ndarray) -> int | None:
    if len(at) < 2:
        return 1
    step = int(at[1] - at[0])
    return step if step and (np.diff(at) == step).all() else None


def _joined(made: Triplets, runs: Sequence[Run]) -> list[Run]:
    """Merge overlapping runs of the same step into disjoint ones, adding their values."""
    found: list[Run] = []
    classes: dict[tuple[int, int], list[Run]] = {}
    for run in runs:
        classes.setdefault((run.step, run.start % run.step), []).append(run)
    for same in classes.values():
        same.sort(key=lambda run: run.start)
        group: list[Run] = []
        end = 0
        for run in same:
            if group and run.start >= end:
                found += _sums(made, group)
                group = []
            group.append(run)
            end = max(end, run.end)
        found += _sums(made, group)
    return found


def _sums(made: Triplets, group: Sequence[Run]) -> list[Run]:
    """Add overlapping runs, separately between any two adjacent edges."""
    edges = sorted({edge for run in group for edge in (run.start, run.end)})
    if len(group) == 1 or len(edges) > MOST_EDGES:
        return list(group)
    found = []
    for start, end in itertools.pairwise(edges):
        parts = [_part(made, run, start, end) for run in group if run.start <= start and end <= run.end]
        value = functools.reduce(lambda x, y: made.make(ADD, (x, y)), parts)
        found.append(Run(value, start, group[0].step, (end - start) // group[0].step))
    return found


def _part(made: Triplets, run: Run, start: int, end: int) -> int:
    if (start, end) == (run.start, run.end):
        return run.value
    count = ((end - start) // run.step,)
    return made.make(INDEX, (run.value,), (Region(((start - run.start) // run.step,), (1,), count, count),))


def _written(made: Triplets, runs: Sequence[Run], type_: ValueType) -> int:
    whole = [run for run in runs if run.entries == type_.size]
    if whole and len(runs) > 1:
        return _added_to(made, whole[0], [run for run in runs if run is not whole[0]])
    regions = Regions(Region((run.start,), (run.step,), (run.entries,), (run.entries,)) for run in runs)
    return made.make(ASSEMBLE, tuple(run.value for run in runs), (regions, type_.shape, are_disjoint(regions, type_.shape)))


def _added_to(made: Triplets, whole: Run, runs: Sequence[Run]) -> int:
    """Add runs to some entries of a run that covers all."""
    value = whole.value
    for run in runs:
        region = Region((run.start,), (run.step,), (run.entries,), (run.entries,))
        part = made.make(ADD, (made.make(INDEX, (value,), (region,)), run.value))
        value = made.make(REPLACE, (value, part), (Regions((region,)),))
    return value
