"""Finds repeated bodies in a sequence: where each operand of each slot keeps its relation to the iteration.

The period is the distance to the previous occurrence of the same window of instructions. Then every operand must be one of: the value of a
slot a fixed number of instructions before, in the same iteration or an earlier one; or a value from outside the loop: always the same one,
a constant, a slice of an array, or anything else known before the loop.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np

from ...base.source_location import Site
from ...ir.instruction import TUPLE, some_of
from .guards_of_loops import may_be_rolled
from .tape_arrays import FEWEST_ITERATIONS, Ints, TapeArrays, agreement, previous_windows

# Rolling a loop must save this many instructions.
LEAST_SAVED = 64

# Values are carried over at most this many iterations.
FARTHEST = 8

# Limit on the stages of an iteration that have the same tokens.
MOST_STAGES = 4

# A boundary between iterations must not separate a call from its results.
NEVER = 1 << 40

# The number of rows examined first.
FIRST_ROWS = 128

# The number of tokens compared at first on either side of a window that has occurred before.
FIRST_LOOKS = 8

# Limit on the values that an array gains from one repetition to the next.
MOST_NEW = 4

# The number of rows examined first on either side of one; and of carry-only iterations that may precede a loop.
NEARBY, MOST_EARLIER = 8, 3

# After so many breaks, the search starts afresh.
MOST_BREAKS = 16


@dataclass(frozen=True)
class Repetition:
    """A body that is repeated: iterations of `period` slots from place `start` of the sequence.

    Attributes:
        values: the operands, by iteration and column. A column is one operand of one slot.
        slots: of each column; the columns of slot k are first[k] to first[k + 1].
        producers: by column, the slot that makes it, or -1 where it is from outside.
        distances: by column, the number of iterations that it is carried.
        growing: columns of outside values that extend those of an earlier repetition by a few, at one end.
    """

    start: int
    period: int
    count: int
    values: Ints
    slots: Ints
    first: Ints
    producers: Ints
    distances: Ints
    growing: frozenset[int] = frozenset()

    @property
    def end(self) -> int:
        return self.start + self.period * self.count


class Finder:
    """Finds the repetitions of a sequence one by one, in order."""

    def __init__(self, sequence: TapeArrays) -> None:
        self.sequence = sequence
        previous = previous_windows(sequence.tokens)
        periods = np.where(previous >= 0, np.arange(previous.size) - previous, 0)
        starts = np.flatnonzero(np.diff(periods, prepend=-1))
        ends = np.append(starts[1:], periods.size)
        chosen = _may_repeat(sequence.tokens, starts, periods[starts])
        # Stretches of windows that repeat at one distance.
        self._stretches = list(zip(*(a[chosen].tolist() for a in (starts, ends, periods[starts]))))
        self._next = 0
        # By period, the last stretch that equals the one a period before.
        self._agreements: dict[int, tuple[int, int]] = {}
        # Bodies for which no multiple of the period needs fewer assembled values.
        self._best_alone: set[Hashable] = set()
        self._growing = _Growing(sequence)

    def next(self, begin: int) -> Repetition | None:
        """The first repetition that starts at place `begin` or later."""
        failed: dict[int, int] = {}
        while self._next < len(self._stretches):
            start, end, period = self._stretches[self._next]
            place = max(start, begin + period)
            if place < end and failed.get(period, -1) <= place:
                found, until = self._at(begin, place, period)
                if found is not None:
                    return found
                failed[period] = until
            self._next += 1
        return None

    def _at(self, begin: int, place: int, period: int) -> tuple[Repetition | None, int]:
        """Return a repetition of a period around a place; else None and the place to continue at."""
        tokens = self.sequence.tokens
        first = place - period
        while first > begin and tokens[first - 1] == tokens[first - 1 + period]:
            first -= 1
        end = self._agreement(place, period)
        operands = int(self.sequence.first[first + period] - self.sequence.first[first])
        # Stages of an iteration may have the same tokens, but operands from different sources.
        for several in range(1, MOST_STAGES + 1):
            count = (end - first) // (several * period)
            if not self._pays(first, several * period, count, several * operands):
                break
            rotation = Examination(self.sequence, first, several * period, min(end, first + 5 * several * period)).rotation()
            examined, found = self._longest(first + rotation, several * period, end)
            if found is not None:
                return self._best(examined, found, end), end
        return None, end

    def _agreement(self, place: int, period: int) -> int:
        """Return the end of the stretch from `place` on that equals the one a period before."""
        start, end = self._agreements.get(period, (0, 0))
        if not start <= place < end:
            start, end = place, place + agreement(self.sequence.tokens, place, period)
            self._agreements[period] = start, end
        return end

    def _longest(self, first: int, period: int, end: int) -> tuple[Examination, Repetition | None]:
        """Return the first long stretch of rows. In a nested loop, whose outer iterations match as well, only the first is examined."""
        rows = FIRST_ROWS
        while True:
            until = min(end, first + rows * period)
            examined = Examination(self.sequence, first, period, until)
            found = examined.longest()
            if until == end or (found is not None and not examined.is_open):
                return examined, found
            rows *= 4

    def _best(self, examined: Examination, found: Repetition, end: int) -> Repetition | None:
        """Return the repetition, or one of a multiple of its period that assembles fewer values, if it pays."""
        best, (reads, parts) = found, examined.outside(found)
        together = _common_distance(found)
        if parts and self._growing.goes_on(found):
            return self._if_it_pays(found, reads, parts)
        # In a nested loop each outer iteration has an equal repetition.
        body = self.sequence.tokens[found.start : found.start + found.period]
        key = (found.count, parts, *[each.tobytes() for each in (body, found.producers, found.distances)])
        if key in self._best_alone:
            return self._if_it_pays(found, reads, parts)
        for factor in [together] if together > 1 else range(2, MOST_STAGES + 1) if parts else ():
            wider, other = self._longest(found.start, found.period * factor, end)
            if other is not None and self._pays(other.start, other.period, other.count, 0):
                other_reads, other_parts = wider.outside(other)
                if other_parts < parts or together > 1:
                    best, reads, parts = other, other_reads, other_parts
                    break
        if best is found:
            self._best_alone.add(key)
        return self._if_it_pays(best, reads, parts)

    def _if_it_pays(self, found: Repetition, reads: int, parts: int) -> Repetition | None:
        pays = self._pays(found.start, found.period, found.count, reads, 2 * parts)
        if not pays and parts and self._pays(found.start, found.period, found.count, reads):
            growing = self._growing.columns(found)
            pays, found = bool(growing), replace(found, growing=growing)
        return found if pays and not self._hands_on_tuples(found) else None

    def _hands_on_tuples(self, found: Repetition) -> bool:
        """True if an iteration unpacks results of a loop or call from another iteration, or from outside: no loop takes tuples."""
        producers = np.unique(found.producers[found.distances > 0])
        others = self.sequence.members[found.start + producers], found.values[:, found.producers < 0].ravel()
        return any(self.sequence.type_of(number).dtype is TUPLE for number in np.unique(np.concatenate(others)).tolist())

    def _pays(self, start: int, period: int, count: int, reads: int, costs: int = 0) -> bool:
        """True if it saves enough instructions; `reads` counts reads of single entries in an iteration."""
        if count < FEWEST_ITERATIONS:
            return False
        weights = self.sequence.weights
        body = int(weights[start + period] - weights[start]) + reads
        return body * (count - 1) - costs >= LEAST_SAVED


class _Growing:
    """Values assembled in successive repetitions, each time with a few more.

    ```
    for t in range(1, n):
        x.append(a * sum(x[s] * w[t - s] for s in range(t)))        of the loop over s: x[0] to x[t - 1]
    ```
    Once they are an array, the next one is this array and the new values.
    """

    def __init__(self, sequence: TapeArrays) -> None:
        self._sequence = sequence
        # The values of columns that did not pay, by their last and first value.
        self._last: dict[int, Ints] = {}
        self._first: dict[int, Ints] = {}

    def columns(self, found: Repetition) -> frozenset[int]:
        """Return the columns to assemble, if each extends an earlier one by a few values; else none."""
        growing: list[int] = []
        put_together = self._put_together(found)
        for column, values in put_together.items():
            if self._has_grown(values):
                growing.append(column)
            self._last[int(values[-1])] = self._first[int(values[0])] = values
        return frozenset(growing if len(growing) == len(put_together) else ())

    def goes_on(self, found: Repetition) -> bool:
        """True if all columns to assemble begin or end with an array that has grown before."""
        known, source = self._sequence.growing, self._sequence.source
        ends = [source[values[[0, -1]]].tolist() for values in self._put_together(found).values()] if known else []
        return bool(ends) and not any(map(known.isdisjoint, ends))

    def _put_together(self, found: Repetition) -> dict[int, Ints]:
        """Return, by column, outside values to assemble: not all equal, not constants, not entries of one array."""
        made: dict[int, Ints] = {}
        for column in np.flatnonzero(found.producers < 0).tolist():
            values = found.values[:, column]
            sources = self._sequence.source[values]
            is_read = sources[0] >= 0 and (sources == sources[0]).all()
            if not (is_read or (values == values[0]).all() or self._sequence.is_constant[values].all()):
                made[column] = values
        return made

    def _has_grown(self, values: Ints) -> bool:
        for new in range(1, MOST_NEW + 1):
            for known, mine in ((self._last.get(int(values[-1 - new])), values), (self._first.get(int(values[new])), values[new:])):
                if known is not None and known.size + new == values.size and np.array_equal(known, mine[: known.size]):
                    return True
        return False


def _may_repeat(tokens: Ints, places: Ints, periods: Ints) -> np.ndarray:
    """Mark the places where tokens equal those of one period before for half of a loop's length, on either side.

    Only a few tokens are compared: most windows that occur twice are not loops, and each candidate is examined on its own.
    """
    half = ((FEWEST_ITERATIONS - 1) * periods - 1) // 2
    found = np.zeros(places.size, bool)
    for side in (1, -1):
        agrees = periods > 0
        for k in range(1, FIRST_LOOKS + 1):
            at = places + side * (half * k // FIRST_LOOKS)
            agrees &= (at < tokens.size) & (at >= periods)
            safe = np.where(agrees, at, 0)
            agrees &= tokens[safe] == tokens[safe - np.where(agrees, periods, 0)]
        found |= agrees
    return found


def _common_distance(found: Repetition) -> int:
    """Return the greatest common divisor of the carry distances: sums of even and odd entries, say, are two sums."""
    together = math.gcd(*found.distances[found.distances > 0].tolist())
    return together if together <= MOST_STAGES else 1


class Examination:
    """The operands of a periodic stretch of the sequence, one row per iteration.

    Attributes:
        values: the operands by row and column.
        place: of the instructions that use them; `made`, of those that make them, below `begin` if from outside.
        is_open: True if a found stretch reaches the last row, and may continue.
    """

    def __init__(self, sequence: TapeArrays, begin: int, period: int, end: int) -> None:
        self.sequence, self.begin, self.period, self.is_open = sequence, begin, period, False
        self.count = (end - begin) // period
        first = sequence.first[begin : begin + period + 1]
        self.first = first - first[0]
        self.slots = np.repeat(np.arange(period), np.diff(first))
        rows = begin + period * np.arange(self.count)
        self.values = sequence.same[sequence.operands[sequence.first[rows][:, None] + np.arange(self.slots.size)]]
        self.place = rows[:, None] + self.slots
        self.made = sequence.position[self.values]
        self.inside = self.made >= begin
        self.known_before = sequence.known[self.values] < begin

    def rotation(self) -> int:
        """How far to move the boundary between iterations so that the fewest values cross it."""
        if self.count < 4:
            return 0
        row, p = min(3, self.count - 2), self.period
        back = self.place[row] - self.made[row]
        moving = self.inside[row] & (back == self.place[row + 1] - self.made[row + 1])
        reach = np.zeros(p, np.int64)
        np.maximum.at(reach, (self.slots[moving] - back[moving]) % p, back[moving])
        crossings = np.zeros(2 * p + 1, np.int64)
        members = self.sequence.members
        for slot in np.flatnonzero(reach % p).tolist():
            type_ = self.sequence.type_of(members[self.begin + slot])
            weight = NEVER if type_.dtype is TUPLE else type_.size
            crossings[slot + 1] += weight
            crossings[slot + 1 + int(reach[slot]) % p] -= weight
        total = np.cumsum(crossings)[: 2 * p]
        fewest = np.flatnonzero((total := total[:p] + total[p:]) == total.min())
        return self._where_python_jumps_back(row, fewest) if fewest.size > 1 else int(fewest[0])

    def _where_python_jumps_back(self, row: int, slots: Ints) -> int:
        """Return the first of the slots before which the user's code jumped back; the first of all if none.

        All rows of a table are then cut at the same places, whatever their borders are.
        """
        sequence, places = self.sequence, self.begin + row * self.period + slots
        sites = [i.site for i in some_of(sequence.tape.instructions, sequence.members[np.concatenate([places - 1, places])].tolist())]
        for slot, before, site in zip(slots.tolist(), sites, sites[slots.size :]):
            if isinstance(site, Site) and isinstance(before, Site) and before.code is site.code and site.lasti < before.lasti:
                return slot
        return int(slots[0])

    def longest(self) -> Repetition | None:
        """The first stretch of rows that is long enough."""
        base = 0
        for _ in range(MOST_BREAKS):
            if self.count - base < FEWEST_ITERATIONS:
                return None
            found, base = self._around(base + 3)
            if found is not None:
                return found
        return None

    def _around(self, row: int) -> tuple[Repetition | None, int]:
        """Return the repetition around a row, and the row to continue at if there is none."""
        values, back = self.values, self.place[row] - self.made[row]
        held = values[row] == values[row + 1]
        moving = self.inside[row] & self.inside[row + 1] & (back == self.place[row + 1] - self.made[row + 1]) & ~held
        outside = ~self.inside[row]
        # Most stretches break nearby: check a few rows first.
        low, high = max(row - NEARBY, 0), min(row + NEARBY, self.count)
        start, stop = (low + end for end in _run(np.logical_and.reduce(self._fitting(row, low, high, moving)[0], axis=1), row - low))
        if (low < start or not low) and (stop < high or high == self.count) and stop - start + MOST_EARLIER < FEWEST_ITERATIONS:
            self.is_open |= stop == self.count
            return None, max(stop, row + 1)
        fits, alike = self._fitting(row, 0, self.count, moving)
        start, stop = _run(np.logical_and.reduce(fits, axis=1), row)
        self.is_open |= stop == self.count
        distances = np.where(moving, -((self.slots - back) // self.period), 0)
        # For later iterations, a value made once in an early one comes from outside.
        made = self.made[row][held & self.inside[row]].max(initial=self.begin - 1)
        least = int((made - self.begin) // self.period) + 1
        start = self._earlier(least, max(start, least), fits, moving, distances, alike)
        if stop - start < FEWEST_ITERATIONS:
            return None, max(stop, row + 1)
        start, stop = self._without_borders(start, stop, row, outside)
        if stop - start < FEWEST_ITERATIONS or distances.max(initial=0) > FARTHEST:
            return None, max(stop, row + 1)
        producers = np.where(moving, (self.slots - back) % self.period, -1)
        begin = self.begin + start * self.period
        rows = values[start:stop]
        if not self._is_closed(begin, stop - start) or not self._guards_may_be_rolled(begin, stop - start):
            return None, max(stop, row + 1)
        return Repetition(
            begin, self.period, stop - start, rows, self.slots, self.first, producers, distances
        ), stop  # fmt: skip

    def _fitting(self, row: int, low: int, high: int, moving: Ints) -> tuple[Ints, Ints]:
        """Compare rows with one of them: the operands with the same relation, and those of the same type."""
        values, inside, types, outside = self.values[low:high], self.inside[low:high], self.sequence.types, ~self.inside[row]
        back = self.place[low:high] - self.made[low:high]
        fits = np.where(moving, inside & (back == self.place[row] - self.made[row]), values == self.values[row])
        alike = types[values] == types[self.values[row]]
        fits[:, outside] = (~inside & self.known_before[low:high] & alike)[:, outside]
        return fits, alike

    def _earlier(self, least: int, start: int, fits: Ints, moving: Ints, distances: Ints, alike: Ints) -> int:
        """Return an earlier start, if the iterations before `start` differ only in their carries."""
        least = max(least, start - MOST_EARLIER)
        known = self.sequence.known[self.values[least:start]]
        for first in range(least, start):
            begin = self.begin + first * self.period
            rows = np.arange(first, start)[:, None]
            carried = moving & (rows - first < distances) & (known[rows[:, 0] - start] < begin)
            if bool((fits[first:start] | (carried & alike[first:start])).all()):
                return first
        return start

    def _without_borders(self, start: int, stop: int, row: int, outside: Ints) -> tuple[int, int]:
        """Drop rows at the ends where an array is read in other steps than in most rows.

        Arrays made by the program are exempt if few assembled parts give the operands of all rows: the border of one row of a recurrence is
        then part of the loop, as it is in the next row.
        """
        sequence = self.sequence
        columns = np.flatnonzero(outside & (sequence.source[self.values[row]] >= 0))
        given = sequence.known[self.values[row, columns]] < 0
        wide = self._regular(start, stop, row, columns[given])
        if wide[1] - wide[0] < FEWEST_ITERATIONS:
            return wide
        narrow = self._regular(*wide, row, columns[~given])
        left_out = self.period * (wide[1] - wide[0] - narrow[1] + narrow[0])
        if not left_out:
            return wide
        others = np.flatnonzero(outside)
        parts, fewest = (int(self._parts(self.values[slice(*rows), others]).sum()) for rows in (wide, narrow))
        return wide if 2 * (parts - fewest) <= left_out else narrow

    def _regular(self, start: int, stop: int, row: int, columns: Ints) -> tuple[int, int]:
        sequence, read = self.sequence, self.values[start:stop, columns]
        offsets, sources, boxes = sequence.offset[read], sequence.source[read], sequence.box[read]
        steps = offsets[1:] - offsets[:-1]
        at = min(max(row - start, 0), stop - start - 2)
        goes_on = (sources[1:] == sources[:-1]) & (boxes[1:] == boxes[:-1]) & (steps == steps[at])
        first, last = _runs(goes_on, at)
        long = (last > first) & (2 * (last + 1 - first) >= stop - start)
        low, high = start + int(first[long].max(initial=0)), start + int(last[long].min(initial=stop - start - 1)) + 1
        return (low, high) if high > low else (start, start)

    def _is_closed(self, begin: int, count: int) -> bool:
        """True if no tuple of results is used after the loop."""
        sequence, end = self.sequence, begin + self.period * count
        body = sequence.members[begin : begin + self.period]
        for slot in np.flatnonzero(sequence.is_tuple[body]).tolist():
            records = sequence.members[begin + slot : end : self.period]
            if (sequence.last_use[records] >= end).any():
                return False
        return True

    def _guards_may_be_rolled(self, begin: int, count: int) -> bool:
        """True if the guards of a repetition may be checked after its last iteration."""
        instructions, end = self.sequence.tape.instructions, begin + self.period * count
        rows = self.sequence.members[begin:end].reshape(count, self.period)
        guards = np.flatnonzero(self.sequence.is_guard[rows[0]])
        if not guards.size:
            return True
        body = some_of(instructions, rows[0].tolist())
        return may_be_rolled(body, some_of(instructions, rows[:, guards].ravel().tolist()))

    def outside(self, found: Repetition) -> tuple[int, int]:
        """Return the number of array reads in an iteration, and of values to assemble one by one."""
        parts = self._parts(found.values[:, found.producers < 0])
        return int(np.count_nonzero(parts == 1)), int(parts[parts > 1].sum())

    def _parts(self, values: Ints) -> Ints:
        """Return the number of parts to assemble for each column: 1 for a read of one array, 0 for constants and equal values."""
        sequence = self.sequence
        sources, boxes = sequence.source[values], sequence.box[values]
        unread = (values == values[0]).all(axis=0) | sequence.is_constant[values].all(axis=0)
        is_read = (sources[0] >= 0) & (sources == sources[0]).all(axis=0) & (boxes == boxes[0]).all(axis=0)
        parts = np.where(unread, 0, 1)
        several = ~(unread | is_read)
        if several.any():
            put_together = np.sort(values[:, several], axis=0)
            different = 1 + np.count_nonzero(put_together[1:] != put_together[:-1], axis=0)
            parts[several] = np.minimum(different, self._pieces(values[:, several]))
        return parts

    def _pieces(self, values: Ints) -> Ints:
        """Estimate the number of regular slices and single values in each column."""
        sequence = self.sequence
        source, box, offset = sequence.source[values], sequence.box[values], sequence.offset[values]
        source = np.where(source >= 0, source, -1 - values)
        breaks = (source[1:] != source[:-1]) | (box[1:] != box[:-1])
        steps = offset[1:] - offset[:-1]
        uneven = (steps[1:] != steps[:-1]) & ~breaks[1:] & ~breaks[:-1]
        return 1 + np.count_nonzero(breaks, axis=0) + (np.count_nonzero(uneven, axis=0) + 1) // 2


def _run(flags: Ints, place: int) -> tuple[int, int]:
    """The stretch of true entries around a place."""
    if not flags[place]:
        return place, place
    before = np.flatnonzero(~flags[:place])
    after = np.flatnonzero(~flags[place:])
    return (int(before[-1]) + 1 if before.size else 0), (place + int(after[0]) if after.size else flags.size)


def _runs(flags: Ints, place: int) -> tuple[Ints, Ints]:
    """Apply _run to each column."""
    before, after = ~flags[:place][::-1], ~flags[place:]
    start = place - np.where(before.any(axis=0), before.argmax(axis=0), place) if place else np.zeros(flags.shape[1], np.int64)
    stop = place + np.where(after.any(axis=0), after.argmax(axis=0), flags.shape[0] - place)
    return np.where(flags[place], start, place), np.where(flags[place], stop, place)
