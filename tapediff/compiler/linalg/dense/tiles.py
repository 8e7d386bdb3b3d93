"""Writes LLVM functions on matrices by square register tiles, for the dense_* modules.

A tile is `lanes` rows of one or more vectors of `lanes` doubles. A vector of 8 rows and two vectors of columns leaves room in 32 wide
registers, one of 4 by two vectors of 4 in 16 narrower ones; both keep the units for multiply-add busy from the first-level cache.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from ...llvm.builder import Function
from ...llvm.memory import Array, Location
from ...llvm.values import F64, I64, PTR, TYPES, Value, constant, least, mask, select, splat
from ...math.simd import fma

Number = Value | int
Tile = list[list[Value]]

PREFIX = "tapediff_dense_"


class TileWriter(Function):
    """One growing function. Indices and strides count doubles.

    Args:
        name: the function's name.
        result: the kind of its result, or VOID.
        lanes: doubles in a vector, 4 or 8.
        parameters: their kinds by name.
    """

    def __init__(self, name: str, result: str, lanes: int, /, **parameters: str) -> None:
        super().__init__(name, result, **parameters)
        self.lanes = lanes
        self.vector = TYPES[F64, lanes]

    # Addresses and loops

    def times(self, a: Number, b: Number) -> Number:
        """A product, folded for Python numbers and for factors of 0 and 1."""
        if isinstance(a, int):
            return a * b if isinstance(b, int) or a not in (0, 1) else b if a else 0
        return self.times(b, a) if isinstance(b, int) else a * b

    def at(self, base: Value, *places: Number) -> Value:
        """The address of an element, `places` doubles from a base."""
        known = sum(place for place in places if isinstance(place, int))
        names = [place for place in places if isinstance(place, Value)]
        if not names:
            return Array(base, F64).address(known)
        total = names[0]
        for name in [*names[1:], *[known] * (known != 0)]:
            total = total + name
        return Array(base, F64).address(total)

    def whole_tiles(self, n: Value, size: int) -> Value:
        """n rounded up to a multiple of a power of two."""
        return (n + (size - 1)) & -size

    @contextmanager
    def backwards(self, start: Number, step: int) -> Generator[Value]:
        """Loop over an index from start down to 0; possibly zero times."""
        index = self.variable(I64, start)
        with self.repeat() as loop:
            k = index.value
            loop.leave_if(k < 0)
            yield k
            index.value = k - step

    # Numbers and vectors

    def number(self, address: Value) -> Value:
        return Location(address, F64).value

    def put_number(self, number: Value | float, address: Value) -> None:
        Location(address, F64).value = number

    def load(self, address: Value) -> Value:
        return Location(address, F64, self.lanes).value

    def store(self, value: Value, address: Value) -> None:
        Location(address, F64, self.lanes).value = value

    def zeros(self) -> Value:
        return constant(self, 0.0, F64, self.lanes)

    def splat(self, number: Value) -> Value:
        return splat(number, self.lanes)

    def spread_lane(self, vector: Value, number: int) -> Value:
        """Broadcast one lane of a vector to all lanes."""
        return self._shuffled(vector, None, [number] * self.lanes)

    def _shuffled(self, a: Value, b: Value | None, picks: Sequence[int]) -> Value:
        numbers = ", ".join(f"i32 {pick}" for pick in picks)
        other = "poison" if b is None else b.ref
        text = f"shufflevector {self.vector} {a.ref}, {self.vector} {other}, <{self.lanes} x i32> <{numbers}>"
        return Value(self, self.emit(text), F64, self.lanes)

    def with_lane(self, vector: Value, number: Value, k: int) -> Value:
        """A vector with one lane replaced."""
        text = f"insertelement {self.vector} {vector.ref}, double {number.ref}, i64 {k}"
        return Value(self, self.emit(text), F64, self.lanes)

    def minus_product(self, a: Value, b: Value, c: Value) -> Value:
        """c - a b, with one rounding (fused)."""
        return fma(-a, b, c)

    # Vectors with only the first lanes in memory

    def first_lanes(self, count: Number) -> Value:
        """A mask of the first `count` lanes: none if it is not positive, all if it is large."""
        numbers = ", ".join(f"i64 {k}" for k in range(self.lanes))
        return Value(self, f"<{numbers}>", I64, self.lanes) < count

    def load_masked(self, address: Value, active: Value) -> Value:
        """Load the active lanes; the others are zero."""
        bits, symbol = TYPES["i1", self.lanes], f"@llvm.masked.load.v{self.lanes}f64.p0"
        self.declare(f"declare {self.vector} {symbol}(ptr, i32, {bits}, {self.vector})")
        operands = f"ptr {address.ref}, i32 8, {bits} {active.ref}, {self.vector} zeroinitializer"
        return Value(self, self.emit(f"call {self.vector} {symbol}({operands})"), F64, self.lanes)

    def store_masked(self, value: Value, address: Value, active: Value) -> None:
        bits, symbol = TYPES["i1", self.lanes], f"@llvm.masked.store.v{self.lanes}f64.p0"
        self.declare(f"declare void {symbol}({self.vector}, ptr, i32, {bits})")
        self.line(f"call void {symbol}({self.vector} {value.ref}, ptr {address.ref}, i32 8, {bits} {active.ref})")

    def upto(self, count: int) -> Value:
        """A constant mask of the first `count` lanes."""
        return mask(self, [k < count for k in range(self.lanes)])

    # Tiles

    def load_tile(self, base: Value, stride: Number, vectors: int, rows: int = 0) -> Tile:
        starts = [self.at(base, self.times(r, stride)) for r in range(rows or self.lanes)]
        return [[self.load(self.at(start, v * self.lanes)) for v in range(vectors)] for start in starts]

    def store_tile(self, tile: Tile, base: Value, stride: Number) -> None:
        for r, row in enumerate(tile):
            start = self.at(base, self.times(r, stride))
            for v, vector in enumerate(row):
                self.store(vector, self.at(start, v * self.lanes))

    def load_tile_masked(self, base: Value, stride: Number, masks: Tile) -> Tile:
        starts = [self.at(base, self.times(r, stride)) for r in range(len(masks))]
        return [
            [self.load_masked(self.at(start, v * self.lanes), active) for v, active in enumerate(row)]
            for start, row in zip(starts, masks)
        ]

    def store_tile_masked(self, tile: Tile, base: Value, stride: Number, masks: Tile) -> None:
        for r, (row, row_masks) in enumerate(zip(tile, masks)):
            start = self.at(base, self.times(r, stride))
            for v, (vector, active) in enumerate(zip(row, row_masks)):
                self.store_masked(vector, self.at(start, v * self.lanes), active)

    def read_part(self, matrix: Value, n: Value, stride: Value, row: Value, column: Value, columns_left: Value) -> list[Value]:
        """Read the rows of a square tile of an n by n matrix, with zeros past its end."""
        room = self.array(F64, self.lanes * self.lanes).start
        with self.loop(0, self.lanes) as r:
            here = row + r
            left = select(here < n, columns_left, 0)
            vector = self.load_masked(self.at(matrix, here * stride, column), self.first_lanes(left))
            self.store(vector, self.at(room, r * self.lanes))
        return [rows[0] for rows in self.load_tile(room, self.lanes, 1)]

    def write_part(self, rows: list[Value], matrix: Value, n: Value, stride: Value, row: Value, column: Value) -> None:
        """Write the rows and columns of a square tile that are inside an n by n matrix."""
        room = self.array(F64, self.lanes * self.lanes).start
        self.store_tile([[vector] for vector in rows], room, self.lanes)
        active = self.first_lanes(n - column)
        with self.loop(0, least(n - row, self.lanes)) as r:
            self.store_masked(self.load(self.at(room, r * self.lanes)), self.at(matrix, (row + r) * stride, column), active)

    def transposed(self, rows: list[Value]) -> list[Value]:
        """Transpose a square tile of one vector per row, in log2(lanes) rounds of swaps."""
        half = self.lanes // 2
        while half:
            exchanged = list(rows)
            for r in range(self.lanes):
                if r & half:
                    continue
                for target, keeps_low in ((r, True), (r + half, False)):
                    sources = [k & ~half if keeps_low else k | half for k in range(self.lanes)]
                    picks = [source + (self.lanes if k & half else 0) for k, source in enumerate(sources)]
                    exchanged[target] = self._shuffled(rows[r], rows[r + half], picks)
            rows = exchanged
            half //= 2
        return rows

    def accumulate(
        self, tile: Tile, count: Number, left: Value, left_strides: tuple[Number, Number], right: Value, right_stride: Number,
        *, subtracts: bool = True, masks: list[Value] | None = None,
    ) -> Tile:  # fmt: skip
        """The tile less (or plus) a product: left(r, p) at left + r s + p t, right(p, :) in rows; p ascends from 0 to count."""
        sums = [[self.variable(F64, vector, self.lanes) for vector in row] for row in tile]
        left_at, right_at = self.variable(PTR, left), self.variable(PTR, right)
        row_places = [self.times(r, left_strides[0]) for r in range(len(tile))]
        operation = self.minus_product if subtracts else fma
        with self.loop(0, count):
            x, y, vectors = left_at.value, right_at.value, []
            for v in range(len(tile[0])):
                address = self.at(y, v * self.lanes)
                vectors.append(self.load(address) if masks is None else self.load_masked(address, masks[v]))
            for place, row_sums in zip(row_places, sums):
                factor = self.splat(self.number(self.at(x, place)))
                for vector, total in zip(vectors, row_sums):
                    total.value = operation(factor, vector, total.value)
            left_at.value, right_at.value = self.at(x, left_strides[1]), self.at(y, right_stride)
        return [[total.value for total in row] for row in sums]


def divided(
    w: TileWriter, tile: Tile, corner: Value, strides: tuple[Number, Number], inverses: Value, step: int = 1
) -> Tile:
    """Multiply a tile from the left by the inverse of a lower triangular block, whose (s, r) is at corner + s a + r b."""
    tile = [list(row) for row in tile]
    for r in range(len(tile)):
        inverse = w.splat(w.number(w.at(inverses, r * step)))
        tile[r] = [vector * inverse for vector in tile[r]]
        for s in range(r + 1, len(tile)):
            factor = w.splat(w.number(w.at(corner, w.times(s, strides[0]), w.times(r, strides[1]))))
            tile[s] = [w.minus_product(factor, done, vector) for done, vector in zip(tile[r], tile[s])]
    return tile
