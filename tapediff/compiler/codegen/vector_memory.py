"""Emits loads and stores of one or several SIMD lanes: contiguous, strided, masked or at computed indices."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..llvm.values import MEMORY_TYPES, TYPES
from ..math.simd import Code, Value

# The value to store, of the one that is there and another.
Combine = Callable[[Value, Value], Value]


def pieces(active: int) -> Iterator[tuple[int, int]]:
    """First lane and length of the vectors that make up the first `active` lanes, each as long as a power of two: 7 are 4, 2 and 1.

    Part of a vector is stored by these and not under a mask, which takes AMD's processors up to Zen 3 forty micro-operations, and
    whose result the next load has to wait for until it is in the cache.
    """
    first = 0
    while first < active:
        length = 1 << ((active - first).bit_length() - 1)
        yield first, length
        first += length


class LaneMemory:
    """The memory accesses of a function that grows in `code`."""

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
        """`width` elements from an address on, `stride` apart; lanes beyond `active` are 1 and touch no memory."""
        if width == 1:
            return self.load(address, kind)
        element = MEMORY_TYPES[kind]
        if stride != 1:
            places = "<" + ", ".join(f"i64 {k * stride}" for k in range(width)) + ">"
            return self._gathered(address, places, kind, width, active)
        vector = f"<{width} x {element}>"
        if active >= width:
            name = self.code.emit(f"load {vector}, ptr {address}, align {8 if kind != 'i1' else 1}")
        else:
            name = self._masked_load(address, kind, width, active)
        return self._from_memory(name, kind, width)

    def _from_memory(self, name: str, kind: str, width: int) -> Value:
        if kind == "i1":
            name = self.code.emit(f"icmp ne <{width} x i8> {name}, zeroinitializer")
        return Value(self.code, name, kind, width)

    def _masked_load(self, address: str, kind: str, width: int, active: int) -> str:
        element = MEMORY_TYPES[kind]
        vector, suffix = f"<{width} x {element}>", f"v{width}{'f64' if kind == 'f64' else element}"
        one = "splat (double 1.0)" if kind == "f64" else f"splat ({element} 1)"
        self.code.declare(f"declare {vector} @llvm.masked.load.{suffix}.p0(ptr, i32, <{width} x i1>, {vector})")
        align = 1 if kind == "i1" else 8
        return self.code.emit(
            f"call {vector} @llvm.masked.load.{suffix}.p0(ptr {address}, i32 {align}, "
            f"<{width} x i1> {self.mask(width, active)}, {vector} {one})"
        )

    def gather(self, address: str, places: Value, kind: str, width: int, active: int) -> Value:
        if width == 1:
            element = MEMORY_TYPES[kind]
            return self.load(self.code.emit(f"getelementptr {element}, ptr {address}, i64 {places.ref}"), kind)
        return self._gathered(address, places.ref, kind, width, active)

    def _gathered(self, address: str, places: str, kind: str, width: int, active: int) -> Value:
        element = MEMORY_TYPES[kind]
        vector, suffix = f"<{width} x {element}>", f"v{width}{'f64' if kind == 'f64' else element}"
        one = "splat (double 1.0)" if kind == "f64" else f"splat ({element} 1)"
        pointers = self.code.emit(f"getelementptr {element}, ptr {address}, <{width} x i64> {places}")
        self.code.declare(
            f"declare {vector} @llvm.masked.gather.{suffix}.v{width}p0(<{width} x ptr>, i32, <{width} x i1>, {vector})"
        )
        align = 1 if kind == "i1" else 8
        name = self.code.emit(
            f"call {vector} @llvm.masked.gather.{suffix}.v{width}p0(<{width} x ptr> {pointers}, i32 {align}, "
            f"<{width} x i1> {self.mask(width, active)}, {vector} {one})"
        )
        return self._from_memory(name, kind, width)

    def store_lanes(self, address: str, stride: int, value: Value, active: int) -> None:
        width, kind = value.width, value.kind
        if width == 1:
            self.store(address, value)
            return
        if stride == 1 and active < width:
            for first, length in pieces(active):
                self.store_lanes(self.lane_at(address, first, kind), 1, self.piece(value, first, length), length)
            return
        element = MEMORY_TYPES[kind]
        vector = f"<{width} x {element}>"
        name = self.code.emit(f"zext <{width} x i1> {value.ref} to {vector}") if kind == "i1" else value.ref
        align, suffix = (1, f"v{width}i8") if kind == "i1" else (8, f"v{width}{'f64' if kind == 'f64' else 'i64'}")
        if stride != 1:
            mask = f"<{width} x i1> {self.mask(width, active)}"
            places = "<" + ", ".join(f"i64 {k * stride}" for k in range(width)) + ">"
            pointers = self.code.emit(f"getelementptr {element}, ptr {address}, <{width} x i64> {places}")
            self.code.declare(
                f"declare void @llvm.masked.scatter.{suffix}.v{width}p0({vector}, <{width} x ptr>, i32, <{width} x i1>)"
            )
            self.code.line(
                f"call void @llvm.masked.scatter.{suffix}.v{width}p0({vector} {name}, <{width} x ptr> {pointers}, i32 {align}, {mask})"
            )
        else:
            self.code.line(f"store {vector} {name}, ptr {address}, align {align}")

    def lane_at(self, address: str, first: int, kind: str) -> str:
        """The address of a lane of the contiguous ones that begin at `address`."""
        return self.code.emit(f"getelementptr {MEMORY_TYPES[kind]}, ptr {address}, i64 {first}") if first else address

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
        """Store at computed places, or combine with what is there: one lane after the other, as places may repeat."""
        for lane in range(active):
            place, item = self.piece(places, lane, 1), self.piece(value, lane, 1)
            address = self.code.emit(f"getelementptr {MEMORY_TYPES[value.kind]}, ptr {row}, i64 {place.ref}")
            self.store(address, item if combine is None else combine(self.load(address, value.kind), item))

    def scatter_row(self, address: str, stride: int, value: Value, active: int, combine: Combine | None) -> None:
        """The same for lanes of one row, `stride` apart. The next row may be the same one: it is loaded by the pieces that were stored."""
        if combine is None:
            self.store_lanes(address, stride, value, active)
            return
        if stride != 1:
            old = self.load_lanes(address, stride, value.kind, value.width, active)
            self.store_lanes(address, stride, combine(old, value), active)
            return
        for first, length in pieces(active):
            place = self.lane_at(address, first, value.kind)
            old = self.load_lanes(place, 1, value.kind, length, length)
            self.store_lanes(place, 1, combine(old, self.piece(value, first, length)), length)
