"""The entry from Python into kernels of arrays of many sizes: it copies the arrays of a call into arrays of the largest sizes, in which the
last entry is repeated, gives the kernel the sizes too, and copies the first entries of its outputs back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from ....ir.instruction import ValueType
from ....recording.arguments.size_arguments import COUNTS, MULTIPLIER
from ...llvm.builder import VOID, Function, external, module_text
from ...llvm.c_library import ALIGNED_ALLOC, FREE
from ...llvm.memory import Array, Struct
from ...llvm.values import F64, I1, I8, I64, PTR, Value, convert, least, select
from ..python_api import FLOAT_FROM_DOUBLE, LONG_FROM_LONG, MOST_ARGUMENTS, Reader, of_size
from ..status import MOST_COMPARED, OVERLAP, REFUSED
from . import python_entry as entry
from .address_call import AS_KERNEL

# The state of the builtin. `arguments`: the inputs before the sizes; `room`: for copies, in bytes; `counts`: see SizesOfCalls.called.
# After it, a range for each size, and the specifications, with the bytes of an entry as `stride`; after each of them the extents,
# `of_size` for those of a size, and the extents of the largest array.
SIZED = entry.ENTRY_STATE.followed_by(sizes=I64, arguments=I64, room=I64, counts=PTR)
# The least and the largest value that are taken; calls of which no size is larger than `smaller` are refused.
RANGE_WORDS = 3
# Copies up to this size are on the stack.
ROOM_ON_STACK = 1 << 15

COPY = external("llvm.memcpy.p0.p0.i64", VOID, PTR, PTR, I64, I1)


class SizedCall(NamedTuple):
    """Arguments of a builtin.

    Attributes:
        inputs: the types of the largest arrays, without the sizes; `written`: of the outputs that are arrays.
        arguments: how many inputs come before the sizes.
        returns_value: the first output is a number, which is returned.
        shapes: the extents of the arrays; that of size k is `of_size(k)`.
        ranges: for each size, the least and the largest value, and that up to which other kernels are better.
        counts: of calls, as SizesOfCalls.called.
    """

    inputs: Sequence[ValueType]
    written: Sequence[ValueType]
    arguments: int
    returns_value: bool
    shapes: Sequence[tuple[int, ...]]
    ranges: Sequence[tuple[int, int, int]]
    counts: np.ndarray


class SizedBuiltin:
    """A builtin of inputs and of arrays for the outputs, as python_entry's; a failure returns an int.

    Attributes:
        function: the builtin.

    Args:
        call: the address of an address_call.CALL.
        keeps: an object to keep alive.
    """

    def __init__(self, call: int, sized: SizedCall, keeps: object) -> None:
        state = entry.state_words(AS_KERNEL.address, call, [], [], returns_value=sized.returns_value)
        state[entry.ENTRY_STATE.word("inputs")], state[entry.ENTRY_STATE.word("outputs")] = len(sized.inputs), len(sized.written)
        self._shapes, self._types, words = sized.shapes, [*sized.inputs, *sized.written], list[int]()
        # Where the state has the extents of the copies.
        self._places = list[int]()
        first = len(SIZED.words()) + RANGE_WORDS * len(sized.ranges)
        for k, (type_, shape) in enumerate(zip(self._types, sized.shapes, strict=True)):
            specification = entry.specification(type_, k >= len(sized.inputs))
            specification[entry.SPECIFICATION.word("stride")] = np.dtype(type_.dtype).itemsize
            words += [*specification[: len(entry.SPECIFICATION.words())], *shape]
            self._places.append(first + len(words))
            words += type_.shape
        state += [len(sized.ranges), sized.arguments, 0, sized.counts.ctypes.data, *chain(*sized.ranges), *words]
        self._state = entry.words(state, (sized, keeps))
        self.leave_in_place(())
        self.function = entry.builtin_of(_ENTRIES, self._state)

    def leave_in_place(self, inputs: Collection[int]) -> None:
        """Do not copy these inputs, nor arrays of one size: no kernel reads more of them than there is."""
        room = 0
        for k, (place, type_, shape) in enumerate(zip(self._places, self._types, self._shapes)):
            extents = shape if k in inputs else type_.shape
            self._state[place : place + len(extents)] = extents
            room += _rounded(type_.size * np.dtype(type_.dtype).itemsize) if extents != shape else 0
        self._state[SIZED.word("room")] = room


def _rounded(size: int) -> int:
    return -(-size // 64) * 64


def _grow() -> Function:
    """Copy an array into a larger one, in which the last entry along each axis is repeated."""
    f = Function("tapediff_grow", VOID, target=PTR, source=PTR, ndim=I64, extents=PTR, largest=PTR, item=I64)
    target = f.parameters[0]
    larger = _copy_along_first(f, larger_is_target=True)
    extent, most = Array(f.parameters[3], I64)[0], Array(f.parameters[4], I64)[0]
    last, filled, wanted = _moved(target, larger * (extent - 1)), f.variable(I64, 1), most - extent + 1
    with f.repeat() as more:
        more.leave_if(filled.value >= wanted)
        count = least(filled.value, wanted - filled.value)
        f.call(COPY, _moved(last, filled.value * larger), last, count * larger, False)
        filled.value += count
    f.return_()
    return f


def _cut() -> Function:
    """Copy the first entries of a larger array."""
    f = Function("tapediff_cut", VOID, target=PTR, source=PTR, ndim=I64, extents=PTR, largest=PTR, item=I64)
    _copy_along_first(f, larger_is_target=False)
    f.return_()
    return f


def _copy_along_first(f: Function, *, larger_is_target: bool) -> Value:
    """Copy between two arrays of other extents, part by part along the first axis; return the bytes of a part of the larger one."""
    target, source, ndim, extents, largest, item = f.parameters
    with f.if_(ndim == 0):
        f.call(COPY, target, source, item, False)
        f.return_()
    small, large = f.variable(I64, item), f.variable(I64, item)
    with f.loop(1, ndim) as d:
        small.value = small.value * Array(extents, I64)[d]
        large.value = large.value * Array(largest, I64)[d]
    size, larger, extent = small.value, large.value, Array(extents, I64)[0]
    into, of = (larger, size) if larger_is_target else (size, larger)
    with f.if_(size == larger):
        f.call(COPY, target, source, extent * size, False)
    with f.else_(), f.loop(0, extent) as k:
        inner = (Array(p, I64).address(1) for p in (extents, largest))
        f.call(f.signature, _moved(target, into * k), _moved(source, of * k), ndim - 1, *inner, item)
    return larger


def _moved(pointer: Value, count: Value) -> Value:
    return Value(pointer.code, pointer.code.emit(f"getelementptr i8, ptr {pointer.ref}, i64 {count.ref}"), PTR, 1)


def _text(name: str, reader: Reader) -> str:
    """LLVM text of the entry."""
    f, grow, cut = Function(name, PTR, self=PTR, args=PTR, count=I64), _grow(), _cut()
    self, args, count = f.parameters
    state = SIZED.at(reader.state_address(f, self))
    inputs, returns_value, number, arguments = state["inputs"], state["returns_value"], state["sizes"], state["arguments"]
    ranges, value, report, total = Array(state.behind(), I64), f.variable(F64, 0.0), f.struct(entry.REPORT), inputs + state["outputs"]
    specifications = ranges.address(number * RANGE_WORDS)
    sizes, own = f.array(I64, MOST_ARGUMENTS), f.array(I64, MOST_ARGUMENTS + 1)
    given, ends = f.array(I64, MOST_ARGUMENTS + 1), f.array(I64, MOST_ARGUMENTS + 1)
    refused, overlap = f.exit(), f.exit()
    report["room"], report["outcome"] = 0, math.nan
    refused.leave_if(count != total)
    with f.loop(0, number) as k:
        sizes[k] = -1

    def each(body: Callable[[Value, Struct, Value, Value], None]) -> None:
        """Emit a loop over the arguments: their numbers, specifications, extents, and those of the largest arrays."""
        position = f.variable(PTR, specifications)
        with f.loop(0, count) as k:
            wanted = entry.SPECIFICATION.at(position.value)
            extents = Array(wanted.behind(), I64)
            largest = extents.address(wanted["ndim"])
            body(k, wanted, extents.start, largest)
            position.value = Array(largest, I64).address(wanted["ndim"])

    def check(k: Value, wanted: Struct, _: Value, __: Value) -> None:
        given[k] = convert("ptrtoint", reader.checked_address(refused, args, k, wanted, k < inputs, sizes), I64)

    each(check)
    _check_sizes(f, refused, state, ranges, sizes)
    first = f.array(I64, 64)

    def of_call(wanted: Struct, extents: Value) -> Value:
        """Write the extents of this call's array to `first`; return its bytes."""
        size = f.variable(I64, wanted["stride"])
        with f.loop(0, wanted["ndim"]) as d:
            extent = f.variable(I64, Array(extents, I64)[d])
            with f.if_(extent.value < 0):
                extent.value = sizes[of_size(0) - extent.value]
            first[d] = extent.value
            size.value = size.value * extent.value
        return size.value

    def note_end(k: Value, wanted: Struct, extents: Value, _: Value) -> None:
        ends[k] = given[k] + of_call(wanted, extents)

    each(note_end)
    outputs = state["outputs"]
    entry.leave_if_shared(overlap, given, ends, inputs, total, select(outputs > MOST_COMPARED, inputs, total))
    room, block = state["room"], f.variable(PTR, f.array(I8, ROOM_ON_STACK).start)
    is_large = room > ROOM_ON_STACK
    with f.if_(is_large):
        block.value = f.call(ALIGNED_ALLOC, 64, room)
        refused.leave_if(block.value.is_null())
    free = f.variable(PTR, block.value)

    def place(k: Value) -> Value:
        """The position of an argument's address: the sizes and the value have theirs."""
        return k + select(k < arguments, 0, number) + select(k < inputs, 0, returns_value)

    def read(k: Value, wanted: Struct, extents: Value, largest: Value) -> None:
        is_copied = f.variable(I1, False)
        with f.loop(0, wanted["ndim"]) as d, f.if_(Array(extents, I64)[d] != Array(largest, I64)[d]):
            is_copied.value = True
        own[place(k)] = given[k]
        with f.if_(is_copied.value):
            copy = free.value
            own[place(k)] = convert("ptrtoint", copy, I64)
            free.value = _moved(copy, (wanted["bytes"] + 63) & -64)
            with f.if_(k < inputs):
                of_call(wanted, extents)
                source = convert("inttoptr", given[k], PTR)
                f.call(grow.signature, copy, source, wanted["ndim"], first.start, largest, wanted["stride"])

    def write(k: Value, wanted: Struct, extents: Value, largest: Value) -> None:
        copy = own[place(k)]
        with f.if_((k >= inputs) & (copy != given[k])):
            of_call(wanted, extents)
            target, source = (convert("inttoptr", address, PTR) for address in (given[k], copy))
            f.call(cut.signature, target, source, wanted["ndim"], first.start, largest, wanted["stride"])

    each(read)
    with f.loop(0, number) as k:
        own[arguments + k] = convert("ptrtoint", sizes.address(k), I64)
    own[inputs + number] = select(returns_value != 0, convert("ptrtoint", value.address, I64), own[inputs + number])
    results = Array(own.start, I64).address(inputs + number)
    status = f.call(entry.KERNEL, own.start, results, state.pointer, report.pointer, address=state["kernel"])
    with f.if_(status == 0):
        each(write)
    with f.if_(is_large):
        f.call(FREE, block.value)
    with f.if_(status == 0):
        f.return_(f.call(FLOAT_FROM_DOUBLE, value.value))
    f.return_(f.call(LONG_FROM_LONG, convert("sext", status, I64)))
    overlap.here()
    f.return_(f.call(LONG_FROM_LONG, OVERLAP))
    refused.here()
    f.return_(f.call(LONG_FROM_LONG, REFUSED))
    return module_text(grow, cut, f)


def _check_sizes(f: Function, refused, state: Struct, ranges: Array, sizes: Array) -> None:
    """Leave if a size is out of its range, other kernels are better, or there have been many calls of these sizes; count the call."""
    number, place, larger = state["sizes"], f.variable(I64, 0), f.variable(I1, False)
    with f.loop(0, number) as k:
        size, at = sizes[k], k * RANGE_WORDS
        refused.leave_if((size < ranges[at]) | (size > ranges[at + 1]))
        larger.value = larger.value | (size > ranges[at + 2])
        place.value = place.value * MULTIPLIER + size
    refused.leave_if(~larger.value)
    counts = Array(state["counts"], I64)
    here = counts.at(place.value.remainder(COUNTS) + 1)
    called = here.value + 1
    here.value = called
    refused.leave_if(called > counts[0])


_ENTRIES = entry.for_readers("sized_entry", _text, lambda: {**entry.known_objects(), AS_KERNEL.name: AS_KERNEL.address})
