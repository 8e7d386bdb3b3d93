"""The stable argsort of a row of numbers, as LLVM text: by counting ranks if the row is short, by its leading digits if it is long.

A number becomes an integer of the same order: both zeros are equal, NaN is the largest. Every algorithm here is stable, so the order is
that of NumPy's kind="stable".

Source: least significant digit first: Seward (1954); few leading digits and then insertion: Davis (1992), Sedgewick (1998).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..llvm.builder import VOID, Exit, Function, external, module_text
from ..llvm.memory import Array, Location
from ..llvm.values import F64, I1, I64, PTR, Value, constant, convert, lane, least, mask, select, splat

# Up to this length ranks are counted, by n² / 8 comparisons of vectors. At this length both ways take 2.5 us.
LONGEST_COUNTED = 128
LANES = 8
# Bits of a digit, in rows shorter than SHORTEST_WIDE and in longer ones: a table of 256 counters is cheaper to set up, one of 2048 needs
# fewer rounds.
NARROW, WIDE = 8, 11
SHORTEST_WIDE = 2048
# Leading bits to sort by at first, in rows shorter than LONG and in longer ones. An insertion sort puts the rest in order, unless it moves
# more than MOST_MOVES entries a number.
FEW_LEADING, MANY_LEADING = 22, 33
LONG = 32768
MOST_MOVES = 4

_LARGEST = 2**63 - 1
_LEADING_ZEROS = external("llvm.ctlz.i64", I64, I64, I1)
_TRAILING_ZEROS = external("llvm.cttz.i64", I64, I64, I1)


def scratch_size(extent: int) -> int:
    """In doubles: keys of whole vectors; or counters and two arrays of records."""
    return extent + LANES if extent <= LONGEST_COUNTED else (1 << WIDE) + 4 * extent


def argsort(name: str) -> str:
    """The function of: numbers, scratch, positions; rows before, numbers in a row, rows after, and a flag for integers."""
    f = Function(name, VOID, x=PTR, scratch=PTR, out=PTR, before=I64, extent=I64, after=I64, integers=I64)
    x, scratch, out, before, extent, after, integers = f.parameters
    with f.loop(0, before) as b, f.loop(0, after) as a:
        start = b * (extent * after) + a
        row = _Row(f, Array(x, F64).since(start), Array(scratch, I64), Array(out, I64).since(start), extent, after, integers)
        with f.if_(extent <= LONGEST_COUNTED):
            _by_ranks(row)
        with f.else_():
            _by_digits(row)
    f.return_()
    return module_text(f)


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of `extent` numbers, `step` apart; its order is written with the same stride."""

    f: Function
    numbers: Array
    scratch: Array
    order: Array
    extent: Value
    step: Value
    integers: Value

    def key(self, k: Value | int) -> Value:
        """A number as an i64 with the same order."""
        at = k * self.step
        number, whole = self.numbers[at], Array(self.numbers.start, I64)[at]
        pattern = convert("bitcast", number + 0.0, I64)
        ordered = pattern ^ ((pattern >> 63) & _LARGEST)
        return select(self.integers != 0, whole, select(number != number, _LARGEST, ordered))

    def unsigned_key(self, k: Value | int) -> Value:
        return self.key(k) ^ (-_LARGEST - 1)

    def write(self, rank: Value, k: Value) -> None:
        self.order[rank * self.step] = k

    def write_all(self, position_of: Callable[[Value], Value]) -> None:
        with self.f.loop(0, self.extent) as rank:
            self.write(rank, position_of(rank))

    def variable(self, initial: Value | int | None = None) -> Location:
        return self.f.variable(I64, initial)


# Short rows


def _by_ranks(row: _Row) -> None:
    """Rank: the number of smaller numbers, and of equal ones earlier in the row."""
    f, keys, extent = row.f, row.scratch, row.extent
    with f.loop(0, extent) as k:
        keys[k] = row.key(k)
    with f.loop(extent, extent + LANES) as k:
        keys[k] = _LARGEST
    ranks = f.variable(I64, width=LANES)
    with f.loop(0, extent, LANES) as first:
        mine = keys.lanes(first, LANES).value
        ranks.value = 0

        def add(is_before: Value) -> None:
            ranks.value -= convert("sext", is_before, I64)

        with f.loop(0, first) as other:
            add(splat(keys[other], LANES) <= mine)
        for number in range(LANES):
            other = splat(keys[first + number], LANES)
            later = mask(f, [k > number for k in range(LANES)])
            add((other < mine) | ((other == mine) & later))
        with f.loop(first + LANES, extent) as other:
            add(splat(keys[other], LANES) < mine)
        with f.loop(first, least(first + LANES, extent)) as k:
            row.write(lane(ranks.value, k - first), k)


# Long rows: records pack the leading bits of a key, unsigned, and a position into one number; if that is not enough, a record is the whole
# key and the position.


@dataclass(frozen=True, slots=True)
class _Records:
    """Two arrays of records; one is filled from the other.

    Attributes:
        source, target: variables that hold their addresses.
        words: numbers in a record, 1 or 2. Digits are taken from the first.
    """

    row: _Row
    source: Location
    target: Location
    words: int

    def at(self, records: Value, k: Value) -> Location:
        return Array(records, I64).lanes(k * self.words, self.words)

    def before(self, records: Value, k: Value) -> Location:
        return Array(self.at(records, k).address, I64).lanes(-self.words, self.words)

    def first_word(self, records: Value, k: Value) -> Location:
        return Location(self.at(records, k).address, I64)

    def swap(self) -> None:
        self.source.value, self.target.value = self.target.value, self.source.value


def _by_digits(row: _Row) -> None:
    f, keys = row.f, row.scratch.since(1 << WIDE)
    varying, rises, falls = _keys(row, keys)
    unused = f.call(_LEADING_ZEROS, varying | 1, False)
    digit = select(row.extent < SHORTEST_WIDE, _constant(row, NARROW), WIDE)
    done, too_many = f.exit(), f.exit()
    with f.if_(rises | falls):
        row.write_all(lambda k: select(rises, k, row.extent - 1 - k))
        done.leave()
    _by_leading_bits(row, keys, varying, unused, digit, too_many)
    done.leave()
    too_many.here()
    _by_whole_keys(row, 64 - unused, digit)
    done.here()


def _constant(row: _Row, number: int) -> Value:
    return constant(row.f, number, I64)


def _keys(row: _Row, keys: Array) -> tuple[Value, Value, Value]:
    """Write the keys. Return the bits in which they differ, and whether they never fall, and whether they always do."""
    f, first = row.f, row.unsigned_key(_constant(row, 0))
    any_bits, all_bits, before = row.variable(first), row.variable(first), row.variable(first)
    falls, rises = f.variable(I1, True), f.variable(I1, True)
    keys[0] = first
    with f.loop(1, row.extent) as k:
        key = row.unsigned_key(k)
        any_bits.value |= key
        all_bits.value &= key
        is_below = key.below(before.value)
        falls.value &= is_below
        rises.value &= ~is_below
        before.value = key
        keys[k] = key
    return any_bits.value ^ all_bits.value, rises.value, falls.value


def _by_leading_bits(row: _Row, keys: Array, varying: Value, unused: Value, digit: Value, too_many: Exit) -> None:
    """Leave if too many keys differ only in the bits replaced by positions."""
    f, extent, first = row.f, row.extent, keys.since(row.extent)
    records = _Records(row, f.variable(PTR, first.start), f.variable(PTR, first.address(extent)), 1)
    taken = 64 - f.call(_LEADING_ZEROS, extent - 1, False)
    position = (_constant(row, 1) << taken) - 1
    with f.loop(0, extent) as k:
        first[k] = ((keys[k] << unused) & ~position) | k
    aligned = varying << unused
    equal = f.call(_TRAILING_ZEROS, aligned, False)
    _sort(records, select(equal < taken, taken, equal), _constant(row, 64), digit)
    with f.if_(aligned & position != 0):
        budget = row.variable(extent * MOST_MOVES)
        _insert(records, lambda record: keys[record & position], budget, too_many, ~position)
    last = Array(records.source.value, I64)
    row.write_all(lambda k: last[k] & position)


def _by_whole_keys(row: _Row, bits: Value, digit: Value) -> None:
    f, first = row.f, row.scratch.since(1 << WIDE)
    records = _Records(row, f.variable(PTR, first.start), f.variable(PTR, first.address(row.extent * 2)), 2)
    with f.loop(0, row.extent) as k:
        first[k * 2] = row.unsigned_key(k)
        first[k * 2 + 1] = k
    _sort(records, _constant(row, 0), bits, digit)
    last = Array(records.source.value, I64)
    row.write_all(lambda k: last[k * 2 + 1])


def _sort(records: _Records, lowest: Value, end: Value, digit: Value) -> None:
    """Sort by the bits of the first words from `lowest` to `end`: by leading digits and insertion, else by all digits."""
    row, f = records.row, records.row.f
    leading = end - select(row.extent < LONG, _constant(row, FEW_LEADING), MANY_LEADING)
    low, shift, budget = row.variable(select(leading > lowest, leading, lowest)), row.variable(), row.variable()
    with f.repeat() as attempt:
        shift.value = low.value
        with f.repeat() as rounds:
            rounds.leave_if(shift.value >= end)
            _round(records, shift.value, digit)
            shift.value += digit
        budget.value = row.extent * MOST_MOVES
        over = f.exit()
        _insert(records, lambda record: record if records.words == 1 else lane(record, 0), budget, over)
        attempt.leave()
        over.here()
        # Rounds are stable, so sorting by all digits can start from the order that the insertions left.
        low.value = lowest


def _round(records: _Records, shift: Value, digit: Value) -> None:
    """Sort the records by one digit into the other array, then swap the arrays."""
    row, f = records.row, records.row.f
    source, target, size, counters = records.source.value, records.target.value, _constant(row, 1) << digit, row.scratch

    def counter(k: Value) -> Location:
        return counters.at(records.first_word(source, k).value.lshr(shift) & (size - 1))

    with f.loop(0, size) as k:
        counters[k] = 0
    with f.loop(0, row.extent) as k:
        counter(k).value += 1
    total = row.variable(0)
    with f.loop(0, size) as k:
        so_far = total.value
        total.value = so_far + counters[k]
        counters[k] = so_far
    with f.loop(0, row.extent) as k:
        record, place = records.at(source, k).value, counter(k)
        rank = place.value
        place.value = rank + 1
        records.at(target, rank).value = record
    records.swap()


def _insert(
    records: _Records, key_of: Callable[[Value], Value], budget: Location, over: Exit, same: Value | None = None
) -> None:
    """Insertion sort, for nearly sorted records; leaves when the budget of moves is spent.

    Args:
        key_of: the sort key of a record.
        same: a mask; records that differ in it are in order already.
    """
    row, f, array = records.row, records.row.f, records.source.value
    place = row.variable()

    def insert(k: Value) -> None:
        record = records.at(array, k).value
        key = key_of(record)
        with f.if_(key.below(key_of(records.before(array, k).value))):
            place.value = k
            with f.repeat() as move:
                move.leave_if(place.value <= 0)
                other = records.before(array, place.value).value
                move.leave_if(~key.below(key_of(other)))
                records.at(array, place.value).value = other
                place.value -= 1
            records.at(array, place.value).value = record
            budget.value -= k - place.value
            over.leave_if(budget.value < 0)

    with f.loop(1, row.extent) as k:
        if same is None:
            insert(k)
        else:
            with f.if_((records.before(array, k).value ^ records.at(array, k).value) & same == 0):
                insert(k)
