"""How large the whole numbers become that turns of a long loop count with: as float64 they are exact only to 2**53."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import CodeType
from typing import NamedTuple, TypeAlias

import numpy as np

from .....ir.instruction import BOOL, CONSTANT, FLOAT64, INPUT, INT64, Instruction, Operand, Tree, ValueType
from .....ops.control.calls import CALL, GET, LOOP
from .....ops.elementwise.arithmetic import CONVERT
from .....ops.elementwise.comparison import SELECT
from .....recording.arrays.tracked import TrackedArray
from .....recording.recorder import Recorder
from ...plain_numbers import may_be_plain
from ...rules import INTS, INTS_BESIDE_FLOATS, Place, Refusing, is_small

# Larger whole numbers are not all float64.
LARGEST_WHOLE = 2.0**53

# A turn may add so much, whatever the recorded ones do: numbers of states, steps of counters.
FEWEST_ADDED = 16.0


class Size(NamedTuple):
    """A whole number, or what may be one, is at most `times` the largest one before the turn, `plus` another number.

    Attributes:
        or_float: it may be a float as well.
    """

    times: float
    plus: float
    or_float: bool = False


UNKNOWN = Size(math.inf, 0.0)
BEFORE = Size(1.0, 0.0)


# Of values of a recording, how many bits the largest has that each may be, where that is known.
Bits: TypeAlias = Iterable[tuple[int, float | None]]


class Starts(NamedTuple):
    """What whole numbers of a loop are before it, of those that are data their numbers in the recording, and by how much they may grow."""

    numbers: tuple[int, ...]
    largest: float
    grown: float


def sizes_of(recorder: Recorder, given: Mapping[int, Size]) -> dict[int, Size]:
    """The sizes of all values in a recording that Python may have as whole numbers: those that are left out are floats there.

    Args:
        given: of inputs.
    """
    sizes = dict(given)
    for number, instruction in enumerate(recorder.instructions):
        if number not in sizes:
            size = _size(recorder, number, instruction, sizes)
            if size is not None:
                sizes[number] = size
    return sizes


def _size(recorder: Recorder, number: int, instruction: Instruction, sizes: Mapping[int, Size]) -> Size | None:
    kind, name = instruction.type, instruction.op.name
    if instruction.op is CONSTANT:
        return None if instruction.params[0].shape else size_of_constant(float(instruction.params[0]))
    if kind == _BOOL:
        return Size(0.0, 1.0)
    if instruction.op in (INPUT, GET, CALL, LOOP):
        if number in recorder.counts:
            return _behind(Starts(*recorder.counts[number]), sizes)
        if number in recorder.bits and instruction.op is INPUT:
            return Size(0.0, 2.0 ** recorder.bits[number])
        is_int = not isinstance(kind, ValueType) or kind.dtype == INT64
        return UNKNOWN if is_int or recorder.plain_numbers.get(number) or _is_plain_input(recorder, number) else None
    known = [sizes.get(k) for k in (instruction.inputs[1:] if instruction.op is SELECT else instruction.inputs)]
    found = [size for size in known if size is not None]
    if instruction.op is SELECT or name in ("maximum", "minimum"):
        or_float = len(found) < len(known) or any(size.or_float for size in found)
        return Size(max(size.times for size in found), max(size.plus for size in found), or_float) if found else None
    if len(found) == len(known) > 0 and name in _RULES:
        return _RULES[name](*found)._replace(or_float=any(size.or_float for size in found))
    # A float beside a whole number makes floats; other functions of whole numbers may give any.
    is_whole = name in _TO_WHOLE or (len(found) == len(known) > 0 and name in _OF_WHOLE)
    return UNKNOWN if is_whole or (isinstance(kind, ValueType) and kind.dtype == INT64) else None


def _is_plain_input(recorder: Recorder, number: int) -> bool:
    if recorder.instructions[number].op is not INPUT or recorder.instructions[number].type != _FLOAT:
        return False
    captured = recorder.inputs.index(number) - (len(recorder.inputs) - len(recorder.captured))
    return captured >= 0 and may_be_plain(recorder.captured[captured])


def _behind(starts: Starts, sizes: Mapping[int, Size]) -> Size:
    """The size of a number that a loop within this recording has counted."""
    found = [sizes.get(number, UNKNOWN) for number in starts.numbers]
    return Size(max((size.times for size in found), default=0.0), max([starts.largest, *(size.plus for size in found)]) + starts.grown)


def size_of_constant(value: float) -> Size | None:
    return Size(0.0, abs(value)) if value.is_integer() else None


def size_of(value: Operand, recorder: Recorder, sizes: Mapping[int, Size]) -> Size | None:
    """The size of a value behind a turn; None if Python has a float there."""
    if type(value) is not TrackedArray:
        return size_of_constant(float(value)) if type(value) in (int, bool, float) else None
    if value._recorder is not recorder:
        return UNKNOWN if value.type.dtype == INT64 or may_be_plain(value) else None
    return sizes.get(value._id)


def _sum(a: Size, b: Size) -> Size:
    return Size(a.times + b.times, a.plus + b.plus)


def _product(a: Size, b: Size) -> Size:
    if a.times and b.times:
        return UNKNOWN
    return Size(a.times * b.plus + b.times * a.plus, a.plus * b.plus) if max(a.times, b.times) < math.inf else UNKNOWN


_RULES = {
    "add": _sum, "subtract": _sum, "multiply": _product, "remainder": lambda _, b: b, "floor_divide": lambda a, _: a,
    "negative": lambda a: a, "absolute": lambda a: a, "convert": lambda a: a, "sign": lambda _: Size(0.0, 1.0),
}  # fmt: skip

# Functions that give whole numbers of Python's for some numbers, or for whole ones.
_TO_WHOLE = frozenset("floor ceil rint trunc".split())
_OF_WHOLE = frozenset("square integer_power power".split())

_BOOL, _INT, _FLOAT = ValueType((), BOOL), ValueType((), INT64), ValueType((), FLOAT64)

# Where nothing is known.
MOST_BITS = 53.0


def as_float(value: TrackedArray) -> TrackedArray:
    """The number of a turn, or what was computed of it and other whole numbers, as a float64; others as they are."""
    recorder = value._recorder
    if value.type != _INT or not recorder.turn_numbers:
        return value
    size = sizes_of(recorder, {k: Size(0.0, largest) for k, largest in recorder.turn_numbers.items()}).get(value._id, UNKNOWN)
    if size.times or size.plus > LARGEST_WHOLE:
        return value
    recorder.bits[value._id] = math.log2(max(1.0, size.plus))
    return CONVERT(value, dtype=FLOAT64)


class Counting(Refusing):
    """The variables of one long loop that are ints of Python's before it, and those that its turns may compute of these.

    Args:
        place: of the loop.
        first: the variables before it, each with its flags.
        by_data: which of them tell whether an exit was taken, or what is known there.
        turns: how many turns it has.
    """

    def __init__(
        self, code: CodeType, place: Place, first: Sequence[Tree], flags: Sequence[int], by_data: Sequence[bool], turns: int
    ) -> None:
        super().__init__(code)
        self._place, self._flags, self._turns, self._first = place, flags, turns, first
        self._ints = [k for k, value in enumerate(first) if type(value) is int and not by_data[k]]
        is_data = [type(v) is TrackedArray and v.type == _FLOAT and may_be_plain(v) for v in first]
        # Those that may be whole numbers in some turn, and how much one turn adds to the largest of them, as other paths may add more.
        self._whole = {*self._ints, *(k for k, is_one in enumerate(is_data) if is_one)}
        self._numbers = [k for k, is_one in enumerate(is_data) if is_one]
        self._added = FEWEST_ADDED
        # Loops around this one may count with them.
        self._counts_outside = any(type(v) is TrackedArray and v._recorder.bits for v in first)
        self._is_checked = self._is_noted = False

    def as_floats(self, values: Sequence[Tree]) -> tuple[Tree, ...]:
        """Variables before the loop, of which those that are ints become data."""
        found = list(values)
        for k in self._ints:
            value = found[k]
            assert type(value) is int
            if not (self._flags[k] & INTS_BESIDE_FLOATS and is_small(value, self._flags[k])):
                got = f"a variable of the loop is {value!r}, of type int"
                raise self._refuse("numbers", self._place, got, needed=self._needed(value, self._flags[k]))
            found[k] = float(value)
        return tuple(found)

    def note_turn(self, recorder: Recorder, items: Bits, captured: Bits) -> None:
        """Note of whole numbers that a turn is given how many bits the largest has: of those that the loop goes over, and others."""
        recorder.turn_numbers.update({number: 2.0**bits for number, bits in items if bits is not None})
        recorder.bits.update({number: bits for number, bits in captured if bits is not None})
        if self._ints or self._counts_outside:
            recorder.bits.update(dict.fromkeys([recorder.inputs[k] for k in self._whole], MOST_BITS))

    def as_data(self, found: Sequence[Operand]) -> tuple[Operand, ...]:
        """Variables behind a turn, with whole numbers as floats where they began as ints."""
        after = list(found)
        for k, value in enumerate(found):
            kind = type(self._first[k])
            if k in self._ints and type(value) is TrackedArray and value.type == _INT:
                after[k] = value = as_float(value)
            is_other = k in self._ints and type(value) is TrackedArray and value.type != _FLOAT
            is_other |= k in self._ints and type(value) in (bool, np.bool_)
            is_other |= kind is np.int64 and (value.dtype != INT64 if type(value) is TrackedArray else type(value) is not np.int64)
            is_other |= kind is bool and (value.dtype != BOOL if type(value) is TrackedArray else type(value) not in (bool, np.bool_))
            if is_other:
                got = f"a variable is {self._first[k]!r} before the loop, and {getattr(value, 'type', value)!r} after a turn"
                raise self._refuse("numbers", self._place, got)
        return tuple(after)

    def check(self, recorder: Recorder, found: Sequence[Operand]) -> None:
        """Refuse turns after which an int of Python's is none that a float64 is as good as."""
        if not self._ints and not self._numbers:
            return
        given = {k: Size(0.0, largest) for k, largest in recorder.turn_numbers.items()}
        whole = set(self._whole)
        while True:
            sizes = sizes_of(recorder, {**given, **{recorder.inputs[k]: BEFORE for k in whole}})
            after = [None if getattr(value, "shape", ()) else size_of(value, recorder, sizes) for value in found]
            new = {k for k, size in enumerate(after) if size is not None} - whole
            if not new:
                break
            whole |= new
        if self._is_checked and whole != self._whole:
            raise self._refuse("numbers", self._place, "a variable is a whole number on some of its turns' paths only")
        self._whole, self._is_checked = whole, True
        behind = [size for k in whole if (size := after[k]) is not None]
        added = max([self._added, *(size.plus for size in behind)])
        if self._is_noted and added > self._added:
            raise self._refuse("large", self._place, "on some of its turns' paths it adds larger whole numbers")
        self._added = added
        is_exact = all(size.times <= 1.0 for size in behind) and self._largest <= LARGEST_WHOLE
        if not self._ints and not is_exact:
            self._added = math.inf
            return
        if not is_exact:
            raise self._refuse("large", self._place, "it counts with whole numbers that may become too large")
        for k in self._ints:
            # Where nothing is added, it is a float or what it was.
            size = after[k]
            if size is not None and not self._flags[k] & INTS and not (size.or_float and not size.plus):
                raise self._refuse("numbers", self._place, "a variable is an int after a turn", needed=self._needed(0, self._flags[k]))
        for k in whole:
            recorder.bits[recorder.inputs[k]] = self._bits

    @property
    def _largest(self) -> float:
        """The largest whole number behind the loop, unless there are larger ones among the data that it begins with."""
        return max(abs(v) for v in (0, *self._plain)) + self._turns * self._added

    @property
    def _plain(self) -> list[float]:
        known = [v for k, v in enumerate(self._first) if k in self._whole and type(v) in (int, float)]
        return [float(v) for v in known if float(v).is_integer()]  # type: ignore[arg-type]  # a number

    @property
    def _bits(self) -> float:
        # Of what it begins with as data nothing is known here.
        return MOST_BITS if self._numbers else math.log2(max(1.0, self._largest))

    def note_results(self, start: Sequence[Operand], found: Sequence[Operand]) -> None:
        """Note how large the numbers behind the loop are."""
        if not self._is_checked or self._added == math.inf:
            return
        self._is_noted = True
        starts = tuple([value._id for k in self._numbers if type(value := start[k]) is TrackedArray])
        largest = self._largest
        grown = self._turns * self._added
        for k in self._whole:
            value = found[k]
            if type(value) is TrackedArray and value.type == _FLOAT:
                value._recorder.counts[value._id] = starts, largest - grown, grown
                if self._ints:
                    value._recorder.bits[value._id] = self._bits
