"""The stable order of a row of numbers, as LLVM text: by counting ranks where the row is short, by its leading digits where it is long.

A number is turned into an integer with the same order: zeros of both signs become one, NaN the largest. Every way is stable, so the
order is NumPy's kind="stable".

Source: least significant digit first: Seward (1954); few leading digits and then insertion: Davis (1992), Sedgewick (1998).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .tiles import TileWriter

# Ranks of a row are counted by n² / 8 comparisons of vectors up to this length, where both ways take 2.5 us.
LONGEST_COUNTED = 128
LANES = 8
# Bits of a digit, in rows shorter than SHORTEST_WIDE and in longer ones: a table of 256 counters costs less to begin with, one of 2048
# takes fewer rounds.
NARROW, WIDE = 8, 11
SHORTEST_WIDE = 2048
# Bits that are sorted by at first, in rows shorter than LONG and in longer ones: of the sign, of the exponent, and so many more. What
# these leave out of order is inserted, unless that moves more than MOST_MOVES a number.
FEW_LEADING, MANY_LEADING = 22, 33
LONG = 32768
MOST_MOVES = 4

_LARGEST = 2**63 - 1


def scratch_size(extent: int) -> int:
    """In doubles: keys of whole vectors; or counters and two arrays of records."""
    return extent + LANES if extent <= LONGEST_COUNTED else (1 << WIDE) + 4 * extent


def argsort(name: str) -> str:
    """The function of: numbers, scratch, positions; rows before, numbers in a row, rows after, and whether numbers are integers."""
    parameters = ("ptr x", "ptr scratch", "ptr out", "i64 before", "i64 extent", "i64 after", "i64 integers")
    w = TileWriter(name, parameters, "void", LANES)
    short = w.compare("sle", "%extent", LONGEST_COUNTED)
    block = w.times("%extent", "%after")
    with w.loop(0, "%before") as b, w.loop(0, "%after") as a:
        start = w.add(w.times(b, block), a)
        with w.when(short):
            _by_ranks(w, start)
        with w.when(w.compare("sgt", "%extent", LONGEST_COUNTED)):
            _by_digits(w, start)
    w.code.line("ret void")
    return "\n".join([*w.code.declarations, w.text()])


def _key(w: TileWriter, start: str, k: str) -> str:
    """The number at a place of the row as an i64 with the same order."""
    emit = w.code.emit
    place = w.at("%x", w.add(start, w.times(k, "%after")))
    value = w.number(place)
    pattern = emit(f"bitcast double {emit(f'fadd double {value}, 0.0')} to i64")
    flips = emit(f"and i64 {emit(f'ashr i64 {pattern}, 63')}, {_LARGEST}")
    ordered = emit(f"xor i64 {pattern}, {flips}")
    of_float = w.choose(emit(f"fcmp uno double {value}, {value}"), _LARGEST, ordered)
    return w.choose(w.compare("ne", "%integers", 0), _read(w, place), of_float)


def _read(w: TileWriter, slot: str) -> str:
    return w.code.emit(f"load i64, ptr {slot}")


def _write(w: TileWriter, value: str | int, slot: str) -> None:
    w.code.line(f"store i64 {value}, ptr {slot}")


# Short rows


def _by_ranks(w: TileWriter, start: str) -> None:
    """As many numbers come before one as are smaller, or equal and before it in the row."""
    emit, vector = w.code.emit, f"<{LANES} x i64>"
    with w.loop(0, "%extent") as k:
        _write(w, _key(w, start, k), w.at("%scratch", k))
    with w.loop("%extent", w.add("%extent", LANES)) as k:
        _write(w, _LARGEST, w.at("%scratch", k))
    ranks = w.slot(vector)
    with w.loop(0, "%extent", LANES) as first:
        mine = emit(f"load {vector}, ptr {w.at('%scratch', first)}, align 8")
        w.code.line(f"store {vector} zeroinitializer, ptr {ranks}")

        def count(other: str, how: str, lanes: str = "") -> None:
            filled = emit(f"insertelement {vector} poison, i64 {_read(w, w.at('%scratch', other))}, i64 0")
            spread = emit(f"shufflevector {vector} {filled}, {vector} poison, <{LANES} x i32> zeroinitializer")
            is_before = emit(f"icmp {how} {vector} {spread}, {mine}")
            if lanes:
                is_equal = emit(f"and <{LANES} x i1> {emit(f'icmp eq {vector} {spread}, {mine}')}, {lanes}")
                is_before = emit(f"or <{LANES} x i1> {is_before}, {is_equal}")
            one = emit(f"sext <{LANES} x i1> {is_before} to {vector}")
            before = emit(f"load {vector}, ptr {ranks}")
            w.code.line(f"store {vector} {emit(f'sub {vector} {before}, {one}')}, ptr {ranks}")

        with w.loop(0, first) as other:
            count(other, "sle")
        for lane in range(LANES):
            later = ", ".join(f"i1 {'true' if k > lane else 'false'}" for k in range(LANES))
            count(w.add(first, lane), "slt", f"<{later}>")
        with w.loop(w.add(first, LANES), "%extent") as other:
            count(other, "slt")
        with w.loop(first, w.least(w.add(first, LANES), "%extent")) as k:
            lane = w.subtract(k, first)
            rank = emit(f"extractelement {vector} {emit(f'load {vector}, ptr {ranks}')}, i64 {lane}")
            _write(w, k, w.at("%out", w.add(start, w.times(rank, "%after"))))


# Long rows: records of the leading bits of a key, unsigned, and a position in one number; where that is not enough, of the whole key and
# the position.


@dataclass(frozen=True, slots=True)
class _Records:
    """Two arrays of n records, of which one is being filled from the other, and how to read them.

    Attributes:
        source, target: slots that hold their addresses.
        words: numbers in a record, 1 or 2. The first is what digits are taken from.
    """

    w: TileWriter
    source: str
    target: str
    words: int

    @property
    def type(self) -> str:
        return "i64" if self.words == 1 else "<2 x i64>"

    def place(self, records: str, k: str, behind: int = 0) -> str:
        return self.w.at(records, self.w.times(k, self.words), -behind * self.words)

    def load(self, place: str) -> str:
        return self.w.code.emit(f"load {self.type}, ptr {place}, align 8")

    def store(self, record: str, place: str) -> None:
        self.w.code.line(f"store {self.type} {record}, ptr {place}, align 8")

    def current(self) -> str:
        return self.w.code.emit(f"load ptr, ptr {self.source}")


def _by_digits(w: TileWriter, start: str) -> None:
    emit = w.code.emit
    w.code.declare("declare i64 @llvm.ctlz.i64(i64, i1)")
    keys = w.at("%scratch", 1 << WIDE)
    varying, rises, falls = _keys(w, start, keys)
    unused = emit(f"call i64 @llvm.ctlz.i64(i64 {emit(f'or i64 {varying}, 1')}, i1 false)")
    digit = w.choose(w.compare("slt", "%extent", SHORTEST_WIDE), NARROW, WIDE)
    in_order, packed, whole, done = (w.code.label() for _ in range(4))
    w.code.line(f"br i1 {emit(f'or i1 {rises}, {falls}')}, label %{in_order}, label %{packed}")
    w.code.start(in_order)
    last = w.subtract("%extent", 1)
    _write_out(w, start, lambda k: w.choose(rises, k, w.subtract(last, k)))
    w.code.line(f"br label %{done}")
    w.code.start(packed)
    _by_leading_bits(w, start, keys, varying, unused, digit, whole)
    w.code.line(f"br label %{done}")
    w.code.start(whole)
    _by_whole_keys(w, start, w.subtract(64, unused), digit)
    w.code.line(f"br label %{done}")
    w.code.start(done)


def _keys(w: TileWriter, start: str, keys: str) -> tuple[str, str, str]:
    """Writes them; the bits in which they differ, whether none is below the one before it, and whether every one is."""
    emit = w.code.emit
    together, common, before, falls, rises = (w.slot("i64") for _ in range(5))
    first = _unsigned_key(w, start, "0")
    for slot, value in ((together, first), (common, first), (before, first), (falls, 1), (rises, 1)):
        _write(w, value, slot)
    _write(w, first, keys)
    with w.loop(1, "%extent") as k:
        key = _unsigned_key(w, start, k)
        _write(w, emit(f"or i64 {_read(w, together)}, {key}"), together)
        _write(w, emit(f"and i64 {_read(w, common)}, {key}"), common)
        is_below = emit(f"zext i1 {w.compare('ult', key, _read(w, before))} to i64")
        _write(w, emit(f"and i64 {_read(w, falls)}, {is_below}"), falls)
        _write(w, emit(f"and i64 {_read(w, rises)}, {w.subtract(1, is_below)}"), rises)
        _write(w, key, before)
        _write(w, key, w.at(keys, k))
    varying = emit(f"xor i64 {_read(w, together)}, {_read(w, common)}")
    return varying, w.compare("ne", _read(w, rises), 0), w.compare("ne", _read(w, falls), 0)


def _unsigned_key(w: TileWriter, start: str, k: str) -> str:
    return w.code.emit(f"xor i64 {_key(w, start, k)}, {-_LARGEST - 1}")


def _by_leading_bits(
    w: TileWriter, start: str, keys: str, varying: str, unused: str, digit: str, otherwise: str
) -> None:
    """Goes to the label `otherwise` where too many keys differ only in the bits that positions take the place of."""
    emit = w.code.emit
    first = w.at(keys, "%extent")
    records = _Records(w, w.slot("ptr"), w.slot("ptr"), 1)
    w.code.line(f"store ptr {first}, ptr {records.source}")
    w.code.line(f"store ptr {w.at(first, '%extent')}, ptr {records.target}")
    taken = w.subtract(64, emit(f"call i64 @llvm.ctlz.i64(i64 {w.subtract('%extent', 1)}, i1 false)"))
    position = w.subtract(emit(f"shl i64 1, {taken}"), 1)
    leading = emit(f"xor i64 {position}, -1")
    with w.loop(0, "%extent") as k:
        aligned = emit(f"shl i64 {_read(w, w.at(keys, k))}, {unused}")
        _write(w, emit(f"or i64 {emit(f'and i64 {aligned}, {leading}')}, {k}"), w.at(first, k))
    aligned = emit(f"shl i64 {varying}, {unused}")
    w.code.declare("declare i64 @llvm.cttz.i64(i64, i1)")
    equal = emit(f"call i64 @llvm.cttz.i64(i64 {aligned}, i1 false)")
    _sort(records, w.choose(w.compare("slt", equal, taken), taken, equal), "64", digit)
    hidden = emit(f"and i64 {aligned}, {position}")
    with w.when(w.compare("ne", hidden, 0)):

        def whole_key(record: str) -> str:
            return _read(w, w.at(keys, emit(f"and i64 {record}, {position}")))

        budget = w.slot("i64")
        _write(w, w.times("%extent", MOST_MOVES), budget)
        _insert(records, whole_key, budget, otherwise, leading)
    last = records.current()
    _write_out(w, start, lambda k: emit(f"and i64 {_read(w, w.at(last, k))}, {position}"))


def _by_whole_keys(w: TileWriter, start: str, bits: str, digit: str) -> None:
    records = _Records(w, w.slot("ptr"), w.slot("ptr"), 2)
    first = w.at("%scratch", 1 << WIDE)
    w.code.line(f"store ptr {first}, ptr {records.source}")
    w.code.line(f"store ptr {w.at(first, w.times('%extent', 2))}, ptr {records.target}")
    with w.loop(0, "%extent") as k:
        _write(w, _unsigned_key(w, start, k), records.place(first, k))
        _write(w, k, w.at(first, w.times(k, 2), 1))
    _sort(records, "0", bits, digit)
    last = records.current()
    _write_out(w, start, lambda k: _read(w, w.at(last, w.times(k, 2), 1)))


def _write_out(w: TileWriter, start: str, position_of: Callable[[str], str]) -> None:
    with w.loop(0, "%extent") as k:
        _write(w, position_of(k), w.at("%out", w.add(start, w.times(k, "%after"))))


def _sort(records: _Records, lowest: str, end: str, digit: str) -> None:
    """By the bits of their first words from `lowest` to `end`: by the leading digits and insertions, else by all digits."""
    w = records.w
    low, shift, budget = w.slot("i64"), w.slot("i64"), w.slot("i64")
    leading = w.subtract(end, w.choose(w.compare("slt", "%extent", LONG), FEW_LEADING, MANY_LEADING))
    _write(w, w.choose(w.compare("sgt", leading, lowest), leading, lowest), low)
    attempt, over, done = w.code.label(), w.code.label(), w.code.label()
    w.code.line(f"br label %{attempt}")
    w.code.start(attempt)
    _write(w, _read(w, low), shift)
    head, inside, sorted_ = w.code.label(), w.code.label(), w.code.label()
    w.code.line(f"br label %{head}")
    w.code.start(head)
    w.code.line(f"br i1 {w.compare('slt', _read(w, shift), end)}, label %{inside}, label %{sorted_}")
    w.code.start(inside)
    _round(records, shift, digit)
    w.code.line(f"br label %{head}")
    w.code.start(sorted_)
    _write(w, w.times("%extent", MOST_MOVES), budget)

    def first_word(record: str) -> str:
        return record if records.words == 1 else w.code.emit(f"extractelement <2 x i64> {record}, i64 0")

    _insert(records, first_word, budget, over)
    w.code.line(f"br label %{done}")
    w.code.start(over)
    # Rounds are stable, so whatever order the insertions left is a good one to begin again with all digits.
    _write(w, lowest, low)
    w.code.line(f"br label %{attempt}")
    w.code.start(done)


def _round(records: _Records, shift_slot: str, digit: str) -> None:
    """Sorts the records by one digit into the other array, which then takes the first one's place."""
    w, emit = records.w, records.w.code.emit
    source, target = records.current(), emit(f"load ptr, ptr {records.target}")
    shift, size = _read(w, shift_slot), emit(f"shl i64 1, {digit}")
    mask = w.subtract(size, 1)

    def counter(k: str) -> str:
        digits = emit(f"lshr i64 {_read(w, records.place(source, k))}, {shift}")
        return w.at("%scratch", emit(f"and i64 {digits}, {mask}"))

    with w.loop(0, size) as k:
        _write(w, 0, w.at("%scratch", k))
    with w.loop(0, "%extent") as k:
        slot = counter(k)
        _write(w, w.add(_read(w, slot), 1), slot)
    total = w.slot("i64")
    _write(w, 0, total)
    with w.loop(0, size) as k:
        slot, so_far = w.at("%scratch", k), _read(w, total)
        _write(w, w.add(so_far, _read(w, slot)), total)
        _write(w, so_far, slot)
    with w.loop(0, "%extent") as k:
        record, slot = records.load(records.place(source, k)), counter(k)
        place = _read(w, slot)
        _write(w, w.add(place, 1), slot)
        records.store(record, records.place(target, place))
    w.code.line(f"store ptr {target}, ptr {records.source}")
    w.code.line(f"store ptr {source}, ptr {records.target}")
    _write(w, w.add(shift, digit), shift_slot)


def _insert(
    records: _Records, key_of: Callable[[str], str], budget: str, over: str, same: str | None = None
) -> None:
    """Straight insertion, for records that are nearly in order; goes to the label `over` when the budget of moves is spent.

    Args:
        key_of: what a record is compared by.
        same: a mask; records that differ in it are in order already.
    """
    w, emit = records.w, records.w.code.emit
    place, array = w.slot("i64"), records.current()

    def is_late(key: str, neighbour: str) -> str:
        return w.compare("ugt", key_of(records.load(neighbour)), key)

    def insert(k: str) -> None:
        record = records.load(records.place(array, k))
        key = key_of(record)
        with w.when(is_late(key, records.place(array, k, 1))):
            _write(w, k, place)
            head, look, move, put, onward = (w.code.label() for _ in range(5))
            w.code.line(f"br label %{head}")
            w.code.start(head)
            m = _read(w, place)
            w.code.line(f"br i1 {w.compare('sgt', m, 0)}, label %{look}, label %{put}")
            w.code.start(look)
            before = records.place(array, m, 1)
            w.code.line(f"br i1 {is_late(key, before)}, label %{move}, label %{put}")
            w.code.start(move)
            records.store(records.load(before), records.place(array, m))
            _write(w, w.subtract(m, 1), place)
            w.code.line(f"br label %{head}")
            w.code.start(put)
            landed = _read(w, place)
            records.store(record, records.place(array, landed))
            left = w.subtract(_read(w, budget), w.subtract(k, landed))
            _write(w, left, budget)
            w.code.line(f"br i1 {w.compare('slt', left, 0)}, label %{over}, label %{onward}")
            w.code.start(onward)

    with w.loop(1, "%extent") as k:
        if same is None:
            insert(k)
        else:
            differing = emit(f"xor i64 {records.load(records.place(array, k, 1))}, {records.load(records.place(array, k))}")
            with w.when(w.compare("eq", emit(f"and i64 {differing}, {same}"), 0)):
                insert(k)
