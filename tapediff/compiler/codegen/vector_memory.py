"""Emits loads and stores of one or several SIMD lanes: contiguous, strided, masked or at computed indices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..llvm.values import MEMORY_TYPES, TYPES
from ..math.simd import Code, Value, select

# Maps the old value in memory and another one to the value to store.
Combine = Callable[[Value, Value], Value]


def pieces(active: int) -> Iterator[tuple[int, int]]:
    """First lane and length of the power-of-two vectors that make up the first `active` lanes: 7 are 4, 2 and 1.

    Part of a vector is stored in these pieces. A masked store takes 40 micro-operations on AMD's processors up to Zen 3, and the next load
    must wait until its result is in the cache.
    """
    first = 0
    while first < active:
        length = 1 << ((active - first).bit_length() - 1)
        yield first, length
        first += length


def _one(kind: str) -> str:
    return f"splat ({MEMORY_TYPES[kind]} {'1.0' if kind == 'f64' else '1'})"


class LaneMemory:
    """The memory accesses of the growing function `code`."""

    code: Code

    def load(self, address: str, kind: str) -> Value:
        name = self.code.emit(f"load {MEMORY_TYPES[kind]}, ptr {address}")
        return Value(self.code, self.code.emit(f"icmp ne i8 {name}, 0") if kind == "i1" else name, kind, 1)

    def store(self, address: str, value: Value) -> None:
        name = self.code.emit(f"zext i1 {value.ref} to i8") if value.kind == "i1" else value.ref
        self.code.line(f"store {MEMORY_TYPES[value.kind]} {name}, ptr {address}")

    def mask(self, width: int, active: int) -> str:
        if active >= width:
            return "splat (i1 true)"
        return "<" + ", ".join(f"i1 {'true' if k < active else 'false'}" for k in range(width)) + ">"

    def load_lanes(self, address: str, stride: int, kind: str, width: int, active: int) -> Value:
        """Load `width` elements from an address on, `stride` apart; lanes from `active` on are 1 and touch no memory."""
        if width == 1:
            return self.load(address, kind)
        if stride == 1:
            return self._load_vector(address, kind, width, active)
        if stride == -1 and active == width:
            return self._reversed(self._load_vector(self._element(address, kind, 1 - width), kind, width, width))
        return self._lane_by_lane([self._element(address, kind, lane * stride) for lane in range(active)], kind, width)

    def load_active(self, address: str, stride: int, kind: str, width: int, active: Value) -> Value:
        """Load the lanes that count; the others touch no memory."""
        if stride != 1:
            lanes = Value(self.code, "<" + ", ".join(f"i64 {k * stride}" for k in range(width)) + ">", "i64", width)
            return self.gather(address, select(active, lanes, 0), kind, width, width)
        return self._from_memory(self._masked_load(address, kind, width, active.ref), kind, width)

    def _load_vector(self, address: str, kind: str, width: int, active: int) -> Value:
        if active < width:
            name = self._masked_load(address, kind, width, self.mask(width, active))
        else:
            align = 1 if kind == "i1" else 8
            name = self.code.emit(f"load <{width} x {MEMORY_TYPES[kind]}>, ptr {address}, align {align}")
        return self._from_memory(name, kind, width)

    def _from_memory(self, name: str, kind: str, width: int) -> Value:
        if kind == "i1":
            name = self.code.emit(f"icmp ne <{width} x i8> {name}, zeroinitializer")
        return Value(self.code, name, kind, width)

    def _masked_load(self, address: str, kind: str, width: int, mask: str) -> str:
        element = MEMORY_TYPES[kind]
        vector, suffix = f"<{width} x {element}>", f"v{width}{'f64' if kind == 'f64' else element}"
        self.code.declare(f"declare {vector} @llvm.masked.load.{suffix}.p0(ptr, i32, <{width} x i1>, {vector})")
        align = 1 if kind == "i1" else 8
        return self.code.emit(
            f"call {vector} @llvm.masked.load.{suffix}.p0(ptr {address}, i32 {align}, "
            f"<{width} x i1> {mask}, {vector} {_one(kind)})"
        )

    def gather(self, row: str, places: Value, kind: str, width: int, active: int) -> Value:
        """Load elements at computed places; lanes from `active` on are 1.

        Emits scalar loads: LLVM's gathers compute addresses in vectors and then extract them. Here each place is read once as a number, for
        all reads and writes there. Gather instructions save nothing on processors with the microcode fix.
        """
        if width == 1:
            return self.load(self._element(row, kind, places.ref), kind)
        addresses = [self._element(row, kind, self.piece(places, lane, 1).ref) for lane in range(active)]
        return self._lane_by_lane(addresses, kind, width)

    def _element(self, row: str, kind: str, place: int | str) -> str:
        return self.code.emit(f"getelementptr {MEMORY_TYPES[kind]}, ptr {row}, i64 {place}") if place else row

    def _lane_by_lane(self, addresses: Sequence[str], kind: str, width: int) -> Value:
        element = MEMORY_TYPES[kind]
        vector = "poison" if len(addresses) == width else _one(kind)
        for lane, address in enumerate(addresses):
            item = self.code.emit(f"load {element}, ptr {address}")
            vector = self.code.emit(f"insertelement <{width} x {element}> {vector}, {element} {item}, i64 {lane}")
        return self._from_memory(vector, kind, width)

    def store_lanes(self, address: str, stride: int, value: Value, active: int) -> None:
        """The first `active` lanes to an address and on, `stride` apart."""
        width, kind = value.width, value.kind
        if width == 1:
            self.store(address, value)
        elif stride == 1:
            for first, length in pieces(active):
                self._store_vector(self._element(address, kind, first), self.piece(value, first, length))
        elif stride == -1 and active == width:
            self._store_vector(self._element(address, kind, 1 - width), self._reversed(value))
        else:
            for lane in range(active):
                self.store(self._element(address, kind, lane * stride), self.piece(value, lane, 1))

    def _store_vector(self, address: str, value: Value) -> None:
        width, kind = value.width, value.kind
        if width == 1:
            self.store(address, value)
            return
        vector = f"<{width} x {MEMORY_TYPES[kind]}>"
        name = self.code.emit(f"zext <{width} x i1> {value.ref} to {vector}") if kind == "i1" else value.ref
        self.code.line(f"store {vector} {name}, ptr {address}, align {1 if kind == 'i1' else 8}")

    def _reversed(self, value: Value) -> Value:
        vector, width = TYPES[value.kind, value.width], value.width
        lanes = ", ".join(f"i32 {k}" for k in reversed(range(width)))
        name = self.code.emit(f"shufflevector {vector} {value.ref}, {vector} poison, <{width} x i32> <{lanes}>")
        return Value(self.code, name, value.kind, width)

    def piece(self, value: Value, first: int, length: int) -> Value:
        """`length` lanes of a vector, from the lane `first` on."""
        vector = TYPES[value.kind, value.width]
        if length == value.width:
            return value
        if length == 1:
            name = self.code.emit(f"extractelement {vector} {value.ref}, i64 {first}")
        else:
            lanes = ", ".join(f"i32 {first + k}" for k in range(length))
            name = self.code.emit(f"shufflevector {vector} {value.ref}, {vector} poison, <{length} x i32> <{lanes}>")
        return Value(self.code, name, value.kind, length)

    def scatter(self, row: str, places: Value, value: Value, active: int, combine: Combine | None) -> None:
        """Store at computed places, or combine with the old values: lane by lane, as places may repeat."""
        for lane in range(active):
            place, item = self.piece(places, lane, 1), self.piece(value, lane, 1)
            address = self._element(row, value.kind, place.ref)
            self.store(address, item if combine is None else combine(self.load(address, value.kind), item))

    def scatter_row(self, address: str, stride: int, value: Value, active: int, combine: Combine | None) -> None:
        """Combine lanes of one row, `stride` apart. The next row may be the same one, so the loads have the sizes of the stores."""
        if combine is None:
            self.store_lanes(address, stride, value, active)
            return
        if stride != 1:
            old = self.load_lanes(address, stride, value.kind, value.width, active)
            self.store_lanes(address, stride, combine(old, value), active)
            return
        for first, length in pieces(active):
            place = self._element(address, value.kind, first)
            old = self.load_lanes(place, 1, value.kind, length, length)
            self.store_lanes(place, 1, combine(old, self.piece(value, first, length)), length)
