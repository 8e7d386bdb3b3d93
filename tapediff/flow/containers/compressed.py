"""Arrays whose lengths are data: loops run where the entry exists."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterable, Iterator
from types import FunctionType

import numpy as np

from ...base.current_recording import current_recorder
from ...numpy_api.composed.numpys_own import recorded_code
from ...recording.arrays.compressed import CompressedArray, Kept
from ...recording.arrays.compressed_lengths import are_alike
from ..anything import Object
from ..state.fork import by_guards, refuse
from ..state.joins import maybe
from ..state.numbers.bounds import below, bounds_of, bounds_on_all_paths, difference, ends, equals, note_bounds, outcome
from ..state.numbers.python_numbers import note_python
from ..state.recursions import is_of_sizes
from ..state.values import Lazy, Restart, is_data, note_packed, state
from ..translate import translated


class Compressed(CompressedArray, Lazy):
    """A compressed array of a recording of all paths."""

    __slots__ = ()

    @staticmethod
    def length_of(kept: Kept) -> Object:
        count = kept.count()
        if is_data(count):
            # Of a length that is NumPy's number, a copy is Python's int.
            count = note_python(count + 0 if kept.length is not None and not kept.is_size else count)
            if not kept.is_size:
                note_bounds(count, 0, kept.extent)
        return count

    @staticmethod
    def by_own_code(function: Object, args: tuple[Object, ...], named: dict[str, Object]) -> Object:
        if not is_of_sizes() or not isinstance(getattr(function, "_implementation", None), FunctionType):
            return None
        recorder = current_recorder()
        refusal, recorder.refusal = recorder.refusal, None
        try:
            found = translated(recorded_code(function))(*args, **named)
            return found if recorder.refusal is None else None
        except Restart:
            raise
        except Exception:  # noqa: BLE001 -- also NumPy's own: its function is called with the entries, and raises it
            return None
        finally:
            recorder.refusal = refusal

    @staticmethod
    def most(length: Object) -> int | None:
        low, high = ends(bounds_of(length))
        return int(high) if low >= 0 and math.isfinite(high) else None

    @staticmethod
    def is_below(a: Object, b: Object) -> Object:
        # Also where this path is not taken, as positions there are inside arrays, too.
        facts, state.facts = state.facts, {}
        try:
            return below(a, b)
        finally:
            state.facts = facts

    @staticmethod
    def are_equal(a: Object, b: Object) -> Object:
        return equals(a, b)

    def _cut(self, axis: int, start: Object, stop: Object, count: Object) -> Object:
        width = difference(start, stop) if is_of_sizes() else None
        if width is None or width <= 0 or not (_is_at_most(0, start) and _is_at_most(stop, count)):
            return super()._cut(axis, start, stop, count)
        # A window that moves: so many entries exist.
        low, high = ends(bounds_on_all_paths(start))
        most = self.whole.type.shape[axis] - width
        first = start if low >= 0 and high <= most else np.clip(start, 0, most)
        return self.with_kept(axis, self._along(first + np.arange(width), axis), None)

    def settled(self) -> Object:
        reason = refuse(
            "a function needs the entries that data select",
            "use elementwise functions, reductions, sort, products, slices or loops, which need no guard",
        )
        return by_guards(self._recorder, super().settled, reason)

    def length(self) -> Object:
        return self.shape[0]

    def truth(self) -> bool:
        """As NumPy: of an array of one entry."""
        return bool(self.settled())

    def entries(self) -> list[Object]:
        """The entries along the first axis, those that may be missing as conditional ones."""
        kept = self.kept.get(-self.ndim)
        if kept is None:
            return list(self._rows())
        conditions = list(kept.mask)
        if kept.length is not None:
            note_packed(conditions, self.length_of(kept))
        return [maybe(condition, value) for condition, value in zip(conditions, self._rows())]

    def steps(self) -> Iterable[Object]:
        kept = self.kept.get(-self.ndim)
        return self.entries() if kept is None else Conditional(zip(kept.mask, self._rows()), kept)

    def _rows(self) -> Iterable[Object]:
        """The entries along the first axis, whether selected or not."""
        others = {axis: kept for axis, kept in self.kept.items() if axis != -self.ndim}
        return self.whole if not others else [type(self)(row, others) for row in self.whole]


def _is_at_most(a: Object, b: Object) -> bool:
    """True if a <= b on this path, as far as bounds and tests tell."""
    test = below(b, a)
    return test is False or (is_data(test) and outcome(test) is False)


class Zipped(Lazy):
    """The first entries of arrays whose lengths may be data, and of sequences, side by side."""

    __slots__ = ("columns", "kept")

    def __init__(self, columns: Iterable[Object]) -> None:
        self.columns = [column.packed(-column.ndim) if is_of_data_length(column) else column for column in columns]
        kept = {id(one): one for column in self.columns if is_of_data_length(column) for one in [column.kept[-column.ndim]]}
        first, *others = kept.values()
        least, self.kept = min(one.extent for one in kept.values()), first
        if not all(are_alike(first, other) for other in others):
            self.kept = Kept(functools.reduce(operator.and_, (one.mask[:least] for one in kept.values())))

    def length(self) -> Object:
        return np.sum(self.kept.mask)

    def entries(self) -> list[Object]:
        conditions = list(self.kept.mask)
        note_packed(conditions)
        return [maybe(condition, row) for condition, row in zip(conditions, self._rows())]

    def steps(self) -> Iterable[Object]:
        return Conditional(zip(self.kept.mask, self._rows()), self.kept)

    def _rows(self) -> Iterator[Object]:
        return zip(*[column._rows() if isinstance(column, Compressed) else column for column in self.columns])


def is_of_data_length(value: Object) -> bool:
    """True for arrays of which data select entries along the first axis."""
    return isinstance(value, Compressed) and -value.ndim in value.kept


class Conditional:
    """An iterator of conditional entries, from pairs of a condition and a value.

    Attributes:
        kept: the conditions.
    """

    __slots__ = ("kept", "pairs")

    def __init__(self, pairs: Iterator[tuple[Object, Object]], kept: Kept | None = None) -> None:
        self.pairs, self.kept = pairs, kept

    def __iter__(self) -> Iterator[Object]:
        return self

    def __next__(self) -> Object:
        return maybe(*next(self.pairs))
