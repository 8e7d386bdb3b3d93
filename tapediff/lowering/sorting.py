"""The stable order of a row of numbers, as LLVM text: by counting ranks where the row is short, by its leading digits where it is long.

A number is turned into an integer with the same order: zeros of both signs become one, NaN the largest. Every way is stable, so the
order is NumPy's kind="stable".

Source: least significant digit first: Seward (1954); few leading digits and then insertion: Davis (1992), Sedgewick (1998).
"""

from __future__ import annotations

from collections.abc import Callable

from .tiles import TileWriter

# Ranks of a row are counted by n² / 8 comparisons of vectors up to this length: 1 us.
LONGEST_COUNTED = 128
LANES = 8
# Bits of a digit, in rows shorter than SHORTEST_WIDE and in longer ones: a table of 256 counters costs less to begin with, one of 2048
# takes fewer rounds.
NARROW, WIDE = 8, 11
SHORTEST_WIDE = 4096
# Digits that are sorted by at first. What these leave out of order is inserted, unless that moves more than MOST_MOVES a number.
LEADING = 3
MOST_MOVES = 4

_LARGEST = 2**63 - 1


def scratch_size(extent: int) -> int:
    """In doubles: keys of whole vectors; or counters and two arrays of records."""
    return extent + LANES if extent <= LONGEST_COUNTED else (1 << WIDE) + 4 * extent


def argsort(name: str) -> str:
    """The function of: numbers, scratch, positions, and how many rows before, numbers in a row, and rows after."""
    parameters = ("ptr x", "ptr scratch", "ptr out", "i64 before", "i64 extent", "i64 after")
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
    value = w.number(w.at("%x", w.add(start, w.times(k, "%after"))))
    pattern = emit(f"bitcast double {emit(f'fadd double {value}, 0.0')} to i64")
    flips = emit(f"and i64 {emit(f'ashr i64 {pattern}, 63')}, {_LARGEST}")
    ordered = emit(f"xor i64 {pattern}, {flips}")
    return w.choose(emit(f"fcmp uno double {value}, {value}"), _LARGEST, ordered)


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


# Long rows: records of a key, unsigned, and a position.


def _by_digits(w: TileWriter, start: str) -> None:
    emit = w.code.emit
    records, others = w.slot("ptr"), w.slot("ptr")
    first = w.at("%scratch", 1 << WIDE)
    w.code.line(f"store ptr {first}, ptr {records}")
    w.code.line(f"store ptr {w.at(first, w.times('%extent', 2))}, ptr {others}")
    varying, is_sorted = _records(w, start, first)
    w.code.declare("declare i64 @llvm.ctlz.i64(i64, i1)")
    bits = w.subtract(64, emit(f"call i64 @llvm.ctlz.i64(i64 {varying}, i1 false)"))
    digit = w.choose(w.compare("slt", "%extent", SHORTEST_WIDE), NARROW, WIDE)
    budget, low = w.slot("i64"), w.slot("i64")
    leading = w.subtract(bits, w.times(digit, LEADING))
    _write(w, w.choose(w.compare("sgt", leading, 0), leading, 0), low)
    attempt, over, done = w.code.label(), w.code.label(), w.code.label()
    w.code.line(f"br i1 {is_sorted}, label %{done}, label %{attempt}")
    w.code.start(attempt)
    shift = w.slot("i64")
    _write(w, _read(w, low), shift)
    _while_below(w, shift, bits, lambda: _round(w, shift, digit, records, others))
    _write(w, w.times("%extent", MOST_MOVES), budget)
    _insert(w, emit(f"load ptr, ptr {records}"), budget, over)
    w.code.line(f"br label %{done}")
    w.code.start(over)
    # Rounds are stable, so whatever order the insertions left is a good one to begin again with all digits.
    _write(w, 0, low)
    w.code.line(f"br label %{attempt}")
    w.code.start(done)
    last = emit(f"load ptr, ptr {records}")
    with w.loop(0, "%extent") as k:
        position = _read(w, w.at(last, w.times(k, 2), 1))
        _write(w, position, w.at("%out", w.add(start, w.times(k, "%after"))))


def _records(w: TileWriter, start: str, records: str) -> tuple[str, str]:
    """Writes them; the bits in which keys differ, and whether the row is in order already."""
    emit = w.code.emit
    together, common, before, in_order = (w.slot("i64") for _ in range(4))
    for slot, value in ((together, 0), (common, -1), (before, 0), (in_order, 1)):
        _write(w, value, slot)
    with w.loop(0, "%extent") as k:
        key = emit(f"xor i64 {_key(w, start, k)}, {-_LARGEST - 1}")
        _write(w, emit(f"or i64 {_read(w, together)}, {key}"), together)
        _write(w, emit(f"and i64 {_read(w, common)}, {key}"), common)
        rises = emit(f"zext i1 {w.compare('ule', _read(w, before), key)} to i64")
        _write(w, emit(f"and i64 {_read(w, in_order)}, {rises}"), in_order)
        _write(w, key, before)
        place = w.at(records, w.times(k, 2))
        _write(w, key, place)
        _write(w, k, w.at(place, 1))
    return emit(f"xor i64 {_read(w, together)}, {_read(w, common)}"), w.compare("ne", _read(w, in_order), 0)


def _while_below(w: TileWriter, slot: str, end: str, body: Callable[[], None]) -> None:
    head, inside, done = w.code.label(), w.code.label(), w.code.label()
    w.code.line(f"br label %{head}")
    w.code.start(head)
    w.code.line(f"br i1 {w.compare('slt', _read(w, slot), end)}, label %{inside}, label %{done}")
    w.code.start(inside)
    body()
    w.code.line(f"br label %{head}")
    w.code.start(done)


def _round(w: TileWriter, shift_slot: str, digit: str, records: str, others: str) -> None:
    """Sorts the records by one digit into the other array, which then takes the first one's place."""
    emit = w.code.emit
    source, target, shift = emit(f"load ptr, ptr {records}"), emit(f"load ptr, ptr {others}"), _read(w, shift_slot)
    size = emit(f"shl i64 1, {digit}")
    mask = w.subtract(size, 1)

    def counter(key: str) -> str:
        return w.at("%scratch", emit(f"and i64 {emit(f'lshr i64 {key}, {shift}')}, {mask}"))

    with w.loop(0, size) as k:
        _write(w, 0, w.at("%scratch", k))
    with w.loop(0, "%extent") as k:
        slot = counter(_read(w, w.at(source, w.times(k, 2))))
        _write(w, w.add(_read(w, slot), 1), slot)
    total = w.slot("i64")
    _write(w, 0, total)
    with w.loop(0, size) as k:
        slot, so_far = w.at("%scratch", k), _read(w, total)
        _write(w, w.add(so_far, _read(w, slot)), total)
        _write(w, so_far, slot)
    with w.loop(0, "%extent") as k:
        record = emit(f"load <2 x i64>, ptr {w.at(source, w.times(k, 2))}, align 8")
        slot = counter(emit(f"extractelement <2 x i64> {record}, i64 0"))
        place = _read(w, slot)
        _write(w, w.add(place, 1), slot)
        w.code.line(f"store <2 x i64> {record}, ptr {w.at(target, w.times(place, 2))}, align 8")
    w.code.line(f"store ptr {target}, ptr {records}")
    w.code.line(f"store ptr {source}, ptr {others}")
    _write(w, w.add(shift, digit), shift_slot)


def _insert(w: TileWriter, records: str, budget: str, over: str) -> None:
    """Straight insertion, for records that are nearly in order; goes to the label `over` when the budget of moves is spent."""
    emit = w.code.emit
    place = w.slot("i64")
    with w.loop(1, "%extent") as k:
        key = _read(w, w.at(records, w.times(k, 2)))
        is_late = w.compare("ugt", _read(w, w.at(records, w.times(k, 2), -2)), key)
        with w.when(is_late):
            record = emit(f"load <2 x i64>, ptr {w.at(records, w.times(k, 2))}, align 8")
            _write(w, k, place)
            head, look, move, put = (w.code.label() for _ in range(4))
            w.code.line(f"br label %{head}")
            w.code.start(head)
            m = _read(w, place)
            w.code.line(f"br i1 {w.compare('sgt', m, 0)}, label %{look}, label %{put}")
            w.code.start(look)
            before = w.at(records, w.times(m, 2), -2)
            w.code.line(f"br i1 {w.compare('ugt', _read(w, before), key)}, label %{move}, label %{put}")
            w.code.start(move)
            moved = emit(f"load <2 x i64>, ptr {before}, align 8")
            w.code.line(f"store <2 x i64> {moved}, ptr {w.at(records, w.times(m, 2))}, align 8")
            _write(w, w.subtract(m, 1), place)
            w.code.line(f"br label %{head}")
            w.code.start(put)
            landed = _read(w, place)
            w.code.line(f"store <2 x i64> {record}, ptr {w.at(records, w.times(landed, 2))}, align 8")
            left = w.subtract(_read(w, budget), w.subtract(k, landed))
            _write(w, left, budget)
            onward = w.code.label()
            w.code.line(f"br i1 {w.compare('slt', left, 0)}, label %{over}, label %{onward}")
            w.code.start(onward)
