"""Decides which axes of a guarded function's arrays have sizes that are data: those that took a second size, unless Python needs one.

A tape for sizes that are data takes the sizes, and arrays of the largest ones, in which the last entry is repeated. The function gets
the first entries, as compressed arrays; see arrays/compressed.py.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from operator import le

import numpy as np

from ...errors import ShapeMismatch
from ...ir.containers import has_buffers
from ...ir.instruction import Operand, Tree, UserFunction, is_tracked
from ...ir.keys import static_key
from ...ir.tape import Tape
from ..arrays.compressed import DTYPES, LEAST_SIZE, CompressedArray, Kept
from .bind_call import BoundCall
from .declared_sizes import Size, Spec
from .int_arguments import MOST_PATHS_BY_INTS, depends_on_ints_only

Shapes = tuple[tuple[int, ...], ...]

# A tape serves sizes from a quarter of its largest ones on; smaller ones, too, if all its instructions have so few entries.
WASTE = 4
SMALLEST = 16
FEW_ENTRIES = 50_000

# Beyond, largest sizes are in finer steps than powers of 2, as each entry takes time.
LARGE = 1024

# Added to largest sizes of more than four such: rows of matrices a power of 2 apart share few sets of the cache.
APART = 8

# A size gets a tape of its own after this many calls, sooner if they compute many entries; at most so many do, of calls of one kind.
OFTEN = 100
MANY_ENTRIES = 2_000_000
MOST_OWN = 8

# Counts of calls that kernels answer without Python, by a hash of their sizes.
COUNTS, MULTIPLIER = 1024, 31
NEVER = 1 << 62

# The position of the extents, among the values that a tape is specialised on.
SIZES = -3
# Likewise, of the mark that results have the shapes of one point.
SETTLED = -4

# Most kinds of calls that are told apart, and shapes of one kind that are counted; beyond, all begin anew.
MOST_KINDS, MOST_SHAPES = 1000, 10_000


class SizeNeeded(Exception):
    """The call has to be made again on a tape for its sizes.

    Attributes:
        why: what needs them.
        is_here: only the path of this call needs them.
    """

    def __init__(self, why: str, is_here: bool) -> None:
        super().__init__(why)
        self.why, self.is_here = why, is_here


@dataclass(frozen=True, slots=True)
class Extents:
    """The sizes that a tape takes as data.

    Attributes:
        axes: input, axis and number of its size, for each axis of such a size.
        largest: the largest value of each size.
        names: of the sizes, if they are declared.
    """

    axes: tuple[tuple[int, int, int], ...]
    largest: tuple[int, ...]
    names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        if self.names:
            return "with " + " and ".join(f"{name} up to {most}" for name, most in zip(self.names, self.largest))
        return f"with sizes that are data, up to {' and '.join(map(str, self.largest))}"

    def sizes(self, shapes: Shapes) -> list[int]:
        """The sizes of a call."""
        found = [0] * len(self.largest)
        for number, axis, size in self.axes:
            found[size] = shapes[number][axis]
        return found

    def serve(self, shapes: Shapes, waste: float = WASTE) -> bool:
        """True if a call's sizes are not too large, and not so small that most of the work is in vain."""
        return all(size <= largest <= max(waste * size, SMALLEST) + APART for size, largest in zip(self.sizes(shapes), self.largest))


@dataclass(slots=True, eq=False)
class SizesOfCalls:
    """Calls of one kind, whose arrays differ in sizes alone.

    Attributes:
        first: the shapes of the first call.
        groups: for each axis, a number; axes of one number have had equal sizes so far.
        varying: the axes that have had several sizes.
        own: shapes with tapes of their own.
        counts: calls with other shapes.
        called: further calls, by `place_of` their sizes; the first entry is the largest number that needs no other tape.
        most: the largest size of each axis.
        tapes: the extents of tapes for several sizes, and their entries.
        needed: why sizes cannot be data.
        paths: how many tapes were recorded because a guard on sizes alone came out differently.
        declared: the declared types of the arrays; `names`: for each axis, the name of its size. Empty if the user has declared none.
    """

    first: Shapes
    groups: list[int]
    varying: set[int] = field(default_factory=set)
    own: set[Shapes] = field(default_factory=set)
    counts: Counter[Shapes] = field(default_factory=Counter)
    called: np.ndarray = field(default_factory=lambda: np.array([OFTEN, *[0] * COUNTS], np.int64))
    most: list[int] = field(default_factory=list)
    tapes: dict[Extents, int] = field(default_factory=dict)
    needed: str = ""
    paths: int = 0
    declared: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def extents(self, shapes: Shapes) -> Extents | None:
        """The extents of a tape for a call; None for a tape of its own."""
        if shapes in self.own:
            return None
        if self.needed:
            self.counts[shapes] += 1
            return None
        if len(self.counts) > MOST_SHAPES:
            self.counts.clear()
        count = self.counts[shapes] = self.counts[shapes] + 1
        if count == 1:
            self._compare(shapes)
        flat = [size for shape in shapes for size in shape]
        if min(flat[k] for k in self.varying) < LEAST_SIZE:
            return None
        # The smallest tape first, as in `ranges`.
        for extents, entries in sorted(self.tapes.items(), key=lambda tape: tape[0].largest):
            if extents.serve(shapes, math.inf if entries < FEW_ENTRIES else WASTE):
                place = place_of(extents.sizes(shapes))
                most = math.inf if len(self.own) >= MOST_OWN or self.called[0] >= NEVER else _most_calls(entries)
                if count + self.called[place] <= most:
                    return extents
                self.own.add(shapes)
                self.called[place] = 0
                if len(self.own) >= MOST_OWN:
                    self.called[0] = NEVER
                return None
        return self._new_extents(shapes)

    def ranges(self, extents: Extents) -> list[tuple[int, int, int]]:
        """For each size of a tape, the least and the largest value that it serves, and the largest of the next smaller tape."""
        waste = math.inf if self.tapes.get(extents, 0) < FEW_ENTRIES else WASTE
        smaller = [e.largest for e in self.tapes if e != extents and e.axes == extents.axes and all(map(le, e.largest, extents.largest))]
        least = [LEAST_SIZE if most <= SMALLEST else max(LEAST_SIZE, math.ceil((most - APART) / waste)) for most in extents.largest]
        return list(zip(least, extents.largest, max(smaller, default=(0,) * len(least)), strict=True))

    def _compare(self, shapes: Shapes) -> None:
        """Note which sizes differ from those of former calls."""
        flat = [size for shape in shapes for size in shape]
        numbers: dict[tuple[int, int], int] = {}
        groups = [numbers.setdefault(each, len(numbers)) for each in zip(self.groups, flat)]
        varying = self.varying | {k for k, size in enumerate(size for shape in self.first for size in shape) if size != flat[k]}
        if (groups, varying) != (self.groups, self.varying):
            if self.declared:
                raise ShapeMismatch(
                    "arrays have other sizes than declared", got=", ".join(map(str, shapes)),
                    fix=f"{', '.join(self.declared)} is declared: pass such arrays, or declare what else varies",
                )  # fmt: skip
            # Tapes with fewer sizes may be wrong for more.
            self.groups, self.varying, self.tapes = groups, varying, {}
        self.most = list(map(max, self.most, flat))

    def _new_extents(self, shapes: Shapes) -> Extents:
        places = [(number, axis) for number, shape in enumerate(shapes) for axis in range(len(shape))]
        sizes: dict[int, int] = {}
        axes = tuple((*places[k], sizes.setdefault(self.groups[k], len(sizes))) for k in sorted(self.varying))
        most = {size: max(self.most[k] for k in self.varying if sizes[self.groups[k]] == size) for size in sizes.values()}
        names = {sizes[self.groups[k]]: self.names[k] for k in self.varying} if self.names else {}
        # Larger than necessary if a tape has become too small, as sizes may grow further.
        extents = Extents(axes, tuple(_capacity(size, grows=bool(self.tapes)) for size in most.values()),
                          tuple(names[k] for k in most if names))  # fmt: skip
        # Declared largest sizes have one tape for all, if that has few entries.
        if extents.serve(shapes, math.inf if self.declared and not self.tapes else WASTE):
            return extents
        return replace(extents, largest=tuple(_capacity(size, grows=True) for size in extents.sizes(shapes)))


class SizeArguments:
    """The sizes of a function's arrays, by kind of call: dtypes, static arguments, activity."""

    __slots__ = ("_calls", "_declared")

    def __init__(self) -> None:
        self._calls: dict[Hashable, SizesOfCalls] = {}
        self._declared: dict[Hashable, SizesOfCalls] = {}

    def declare(self, smaller: BoundCall, larger: BoundCall, sizes: Sequence[Sequence[int | Size]]) -> None:
        """Take the sizes in which two calls differ as data, from the first call on.

        Args:
            sizes: the declared shapes of the arrays.
        """
        shapes = shapes_of(smaller.inputs)
        calls = SizesOfCalls(shapes, [size for shape in shapes for size in shape], needed=_refused(smaller))
        calls.most = [0] * len(calls.groups)
        calls._compare(shapes_of(larger.inputs))
        flat = [n for shape in sizes for n in shape]
        calls.most, calls.names = [(isinstance(n, Size) and n.most) or 0 for n in flat], tuple(map(str, flat))
        calls.declared = tuple(repr(Spec(tuple(shape), array.dtype)) for shape, array in zip(sizes, smaller.inputs))
        self._declared[_kind_of(smaller)] = calls

    def extents(self, bound: BoundCall) -> Extents | None:
        """The sizes that are data in a call; None if it is answered by a tape for its sizes."""
        return self.calls_like(bound).extents(shapes_of(bound.inputs))

    def calls_like(self, bound: BoundCall) -> SizesOfCalls:
        """The sizes of all calls of the same kind."""
        kind = _kind_of(bound)
        key = (kind, bound.active)
        calls = self._calls.get(key)
        if calls is None:
            if len(self._calls) >= MOST_KINDS:
                self._calls.clear()
            declared, shapes = self._declared.get(kind), shapes_of(bound.inputs)
            flat = [size for shape in shapes for size in shape]
            if declared is None:
                calls = SizesOfCalls(shapes, flat, own={shapes}, most=flat, needed=_refused(bound))
            else:
                calls = deepcopy(declared)
            self._calls[key] = calls
        return calls

    def reasons(self) -> list[str]:
        """Why there is a tape for each size, of kinds of calls that have one."""
        return sorted({calls.needed for calls in self._calls.values() if calls.needed and len(calls.counts)})

    def need(self, bound: BoundCall, needed: SizeNeeded) -> None:
        """Note that Python needs the sizes of a call, or of all calls like it. It is bound without sizes as data."""
        calls = self.calls_like(bound)
        calls.paths += 1
        if needed.is_here and calls.paths <= MOST_PATHS_BY_INTS:
            calls.own.add(shapes_of(bound.inputs))
        else:
            calls.needed = needed.why

    def note_tape(self, bound: BoundCall, extents: Extents, tape: Tape) -> None:
        """Note a tape for several sizes."""
        calls = self.calls_like(bound)
        calls.tapes[extents] = entries = sum(instruction.type.size for instruction in tape.instructions)
        if len(calls.own) < MOST_OWN:
            calls.called[0] = min(calls.called[0], _most_calls(entries))

    def allow_path(self, bound: BoundCall, tape: Tape, ordinal: int) -> bool:
        """Count a path that begins at a guard on sizes alone. False if there are too many."""
        calls = self.calls_like(bound)
        calls.paths += depends_on_ints_only(tape, ordinal)
        return calls.paths <= MOST_PATHS_BY_INTS


def _kind_of(bound: BoundCall) -> Hashable:
    """Equal for calls whose arrays differ in sizes alone, and in what is differentiated."""
    static = tuple([(position, value if position < 0 else static_key(value)) for position, _, value in bound.static])
    return tuple([(a.dtype, a.ndim) for a in bound.inputs]), static


def _most_calls(entries: int) -> int:
    """The calls of one size that a tape answers before the size gets a tape of its own, unless its kernel ends there."""
    return max(1, min(OFTEN, MANY_ENTRIES // max(entries, 1)))


def place_of(sizes: Sequence[int]) -> int:
    """The place of sizes among the counts of calls."""
    found = 0
    for size in sizes:
        found = found * MULTIPLIER + size
    return 1 + found % COUNTS


def shapes_of(inputs: Sequence[Operand]) -> Shapes:
    return tuple([array.shape for array in inputs])


def _capacity(size: int, *, grows: bool) -> int:
    """The largest size of a tape for a size: a power of 2; above LARGE, a multiple of an eighth of one; and APART."""
    if grows:
        size = size * 2 if size <= LARGE // 2 else max(LARGE, size + size // 4)
    power = 1 << (size - 1).bit_length()
    step = power // 8
    found = max(SMALLEST, power) if power <= LARGE else -(-size // step) * step
    return found + APART * (found > 4 * APART)


def _refused(bound: BoundCall) -> str:
    """Why sizes cannot be data in calls of a kind; empty if they may be."""
    if any(array.ndim and array.dtype not in DTYPES for array in bound.inputs):
        return "an array has a dtype that only arrays of one size have on a tape"
    return "buffers have one size" if any(map(has_buffers, bound.trees or ())) else ""


def with_sizes(bound: BoundCall, extents: Extents, kind: type[CompressedArray]) -> BoundCall:
    """A call with sizes as further inputs, and arrays of the largest sizes.

    Args:
        kind: of the arrays that the function gets.
    """
    shapes = shapes_of(bound.inputs)
    inputs = [*grown(bound.inputs, shapes, extents), *map(np.int64, extents.sizes(shapes))]
    count = len(extents.largest)
    return replace(
        bound, function=_of_sizes(bound.function, extents, kind), inputs=tuple(inputs), active=(*bound.active, *[False] * count),
        static=(*bound.static, (SIZES, Extents, extents)), plain=bound,
    )  # fmt: skip


def grown(arrays: Sequence[Operand], shapes: Shapes, extents: Extents) -> list[Operand]:
    """The arrays of a call, those of sizes that are data with the largest sizes."""
    found = list(arrays)
    largest: dict[int, list[int]] = {}
    for number, axis, size in extents.axes:
        largest.setdefault(number, list(shapes[number]))[axis] = extents.largest[size]
    for number, shape in largest.items():
        found[number] = _grown(arrays[number], shape)
    return found


def _grown(array: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """An array of another shape, in which the last entries along each axis are repeated."""
    grown = np.empty(shape, array.dtype)
    grown[tuple(map(slice, array.shape))] = array
    before: tuple[slice, ...] = ()
    for size, most in zip(array.shape, shape):
        if size < most:
            grown[(*before, slice(size, None))] = grown[(*before, slice(size - 1, size))]
        before = (*before, slice(None))
    return grown


def _of_sizes(function: UserFunction, extents: Extents, kind: type[CompressedArray]) -> UserFunction:
    """The function of arrays of the largest sizes, and of the sizes."""
    count = len(extents.largest)

    def of_sizes(*inputs: Operand) -> Tree:
        arrays, sizes = list(inputs[:-count]), inputs[-count:]
        if not any(map(is_tracked, inputs)):
            for number, axis, size in extents.axes:
                arrays[number] = arrays[number][(slice(None),) * axis + (slice(int(sizes[size])),)]
            return function(*arrays)
        for size, most in zip(sizes, extents.largest):
            if is_tracked(size):
                size._recorder.sizes[size._id] = most
        kept = [Kept.first(size, largest, is_size=True) for size, largest in zip(sizes, extents.largest)]
        axes: dict[int, dict[int, Kept]] = {}
        for number, axis, size in extents.axes:
            axes.setdefault(number, {})[axis - len(arrays[number].shape)] = kept[size]
        return function(*[kind(array, axes[k]) if k in axes else array for k, array in enumerate(arrays)])

    return of_sizes
