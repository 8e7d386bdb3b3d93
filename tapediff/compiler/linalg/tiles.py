"""Writes LLVM functions on matrices by square tiles of vectors that stay in registers, for the dense_* modules.

A tile is `lanes` rows of one or more vectors of `lanes` doubles. A vector of 8 rows and two vectors of columns leaves room in 32 wide
registers, one of 4 by two vectors of 4 in 16 narrower ones; both keep the units for multiply-add busy from the first-level cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..llvm.values import Code

Tile = list[list[str]]

PREFIX = "tapediff_dense_"


def _is_number(term: str | int) -> bool:
    return isinstance(term, int) or term[0] != "%"


class TileWriter:
    """One function that grows. Names are LLVM's; indices and strides are i64 and count doubles.

    Args:
        name: of the function.
        parameters: names by type, such as ("ptr a", "i64 n").
        result: the type that it returns.
        lanes: doubles in a vector, 4 or 8.
    """

    def __init__(self, name: str, parameters: Sequence[str], result: str, lanes: int) -> None:
        self.code = Code("body")
        self.lanes = lanes
        self.vector = f"<{lanes} x double>"
        self.head = f"define {result} @{name}({', '.join(p.replace(' ', ' %') for p in parameters)}) nounwind {{"
        self.slots: list[str] = []

    def text(self) -> str:
        """The whole function."""
        lines = [self.head, "entry:", *self.slots, "br label %body", "body:", *self.code.lines, "}"]
        return "\n".join(lines)

    # Integers, addresses and loops

    def slot(self, type_: str, count: int = 1) -> str:
        """Room on the stack, which becomes a register where it can."""
        name = f"%s{len(self.slots)}"
        self.slots.append(f"{name} = alloca {type_}, i64 {count}, align 64")
        return name

    def add(self, *terms: str | int) -> str:
        known = sum(int(term) for term in terms if _is_number(term))
        names = [str(term) for term in terms if not _is_number(term)]
        if known or not names:
            names.append(str(known))
        total = names[0]
        for name in names[1:]:
            total = self.code.emit(f"add i64 {total}, {name}")
        return total

    def subtract(self, a: str | int, b: str | int) -> str:
        return self.code.emit(f"sub i64 {a}, {b}")

    def times(self, a: str | int, b: str | int) -> str:
        if _is_number(a) and _is_number(b):
            return str(int(a) * int(b))
        for number, other in ((a, b), (b, a)):
            if _is_number(number) and int(number) in (0, 1):
                return "0" if int(number) == 0 else str(other)
        return self.code.emit(f"mul i64 {a}, {b}")

    def least(self, a: str | int, b: str | int) -> str:
        self.code.declare("declare i64 @llvm.smin.i64(i64, i64)")
        return self.code.emit(f"call i64 @llvm.smin.i64(i64 {a}, i64 {b})")

    def choose(self, condition: str, a: str | int, b: str | int) -> str:
        return self.code.emit(f"select i1 {condition}, i64 {a}, i64 {b}")

    def at(self, base: str, *places: str | int) -> str:
        """The address of an element, so many doubles from a base."""
        place = self.add(*places)
        return base if place == "0" else self.code.emit(f"getelementptr double, ptr {base}, i64 {place}")

    @contextmanager
    def loop(self, start: str | int, end: str | int, step: int = 1) -> Iterator[str]:
        """For an index from start, while below end; possibly never."""
        with self._counting(start, step, "slt", end) as index:
            yield index

    @contextmanager
    def backwards(self, start: str | int, step: int) -> Iterator[str]:
        """For an index from start down to 0; possibly never."""
        with self._counting(start, -step, "sge", 0) as index:
            yield index

    @contextmanager
    def _counting(self, start: str | int, step: int, how: str, bound: str | int) -> Iterator[str]:
        slot = self.slot("i64")
        head, body, done = self.code.label(), self.code.label(), self.code.label()
        self.code.line(f"store i64 {start}, ptr {slot}")
        self.code.line(f"br label %{head}")
        self.code.start(head)
        index = self.code.emit(f"load i64, ptr {slot}")
        more = self.compare(how, index, bound)
        self.code.line(f"br i1 {more}, label %{body}, label %{done}")
        self.code.start(body)
        yield index
        self.code.line(f"store i64 {self.add(index, step)}, ptr {slot}")
        self.code.line(f"br label %{head}")
        self.code.start(done)

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        then, after = self.code.label(), self.code.label()
        self.code.line(f"br i1 {condition}, label %{then}, label %{after}")
        self.code.start(then)
        yield
        self.code.line(f"br label %{after}")
        self.code.start(after)

    def leave_when(self, condition: str, result: str) -> None:
        away, onward = self.code.label(), self.code.label()
        self.code.line(f"br i1 {condition}, label %{away}, label %{onward}")
        self.code.start(away)
        self.code.line(f"ret {result}")
        self.code.start(onward)

    def compare(self, how: str, a: str | int, b: str | int) -> str:
        return self.code.emit(f"icmp {how} i64 {a}, {b}")

    # Vectors

    def load(self, address: str) -> str:
        return self.code.emit(f"load {self.vector}, ptr {address}, align 8")

    def store(self, value: str, address: str) -> None:
        self.code.line(f"store {self.vector} {value}, ptr {address}, align 8")

    def number(self, address: str) -> str:
        return self.code.emit(f"load double, ptr {address}")

    def splat(self, number: str) -> str:
        first = self.code.emit(f"insertelement {self.vector} poison, double {number}, i64 0")
        return self.code.emit(
            f"shufflevector {self.vector} {first}, {self.vector} poison, <{self.lanes} x i32> zeroinitializer"
        )

    def lane(self, vector: str, lane: int) -> str:
        """One lane of a vector on all lanes."""
        picks = ", ".join([f"i32 {lane}"] * self.lanes)
        return self.code.emit(
            f"shufflevector {self.vector} {vector}, {self.vector} poison, <{self.lanes} x i32> <{picks}>"
        )

    def multiply(self, a: str, b: str) -> str:
        return self.code.emit(f"fmul {self.vector} {a}, {b}")

    def fma(self, a: str, b: str, c: str) -> str:
        symbol = f"@llvm.fma.v{self.lanes}f64"
        self.code.declare(f"declare {self.vector} {symbol}({self.vector}, {self.vector}, {self.vector})")
        return self.code.emit(f"call {self.vector} {symbol}({self.vector} {a}, {self.vector} {b}, {self.vector} {c})")

    def minus_product(self, a: str, b: str, c: str) -> str:
        """c - a b, rounded once."""
        return self.fma(self.code.emit(f"fneg {self.vector} {a}"), b, c)

    # Vectors of which only the first lanes are in memory

    def first_lanes(self, count: str | int) -> str:
        """A mask of the first lanes; of none where the count is not positive, of all where it is large."""
        integers = f"<{self.lanes} x i64>"
        filled = self.code.emit(f"insertelement {integers} poison, i64 {count}, i64 0")
        spread = self.code.emit(
            f"shufflevector {integers} {filled}, {integers} poison, <{self.lanes} x i32> zeroinitializer"
        )
        numbers = ", ".join(f"i64 {k}" for k in range(self.lanes))
        return self.code.emit(f"icmp slt {integers} <{numbers}>, {spread}")

    def load_masked(self, address: str, mask: str, otherwise: str = "zeroinitializer") -> str:
        bits, symbol = f"<{self.lanes} x i1>", f"@llvm.masked.load.v{self.lanes}f64.p0"
        self.code.declare(f"declare {self.vector} {symbol}(ptr, i32, {bits}, {self.vector})")
        return self.code.emit(
            f"call {self.vector} {symbol}(ptr {address}, i32 8, {bits} {mask}, {self.vector} {otherwise})"
        )

    def store_masked(self, value: str, address: str, mask: str) -> None:
        bits, symbol = f"<{self.lanes} x i1>", f"@llvm.masked.store.v{self.lanes}f64.p0"
        self.code.declare(f"declare void {symbol}({self.vector}, ptr, i32, {bits})")
        self.code.line(f"call void {symbol}({self.vector} {value}, ptr {address}, i32 8, {bits} {mask})")

    def where(self, mask: str, a: str, b: str = "zeroinitializer") -> str:
        return self.code.emit(f"select <{self.lanes} x i1> {mask}, {self.vector} {a}, {self.vector} {b}")

    def upto(self, count: int) -> str:
        """A constant mask of the first `count` lanes."""
        return "<" + ", ".join(f"i1 {'true' if k < count else 'false'}" for k in range(self.lanes)) + ">"

    # Tiles

    def load_tile(self, base: str, stride: str | int, vectors: int, rows: int = 0) -> Tile:
        rows = rows or self.lanes
        starts = [self.at(base, self.times(r, stride)) for r in range(rows)]
        return [[self.load(self.at(start, v * self.lanes)) for v in range(vectors)] for start in starts]

    def store_tile(self, tile: Tile, base: str, stride: str | int) -> None:
        for r, row in enumerate(tile):
            start = self.at(base, self.times(r, stride))
            for v, vector in enumerate(row):
                self.store(vector, self.at(start, v * self.lanes))

    def load_tile_masked(self, base: str, stride: str | int, masks: Tile) -> Tile:
        starts = [self.at(base, self.times(r, stride)) for r in range(len(masks))]
        return [
            [self.load_masked(self.at(start, v * self.lanes), mask) for v, mask in enumerate(row)]
            for start, row in zip(starts, masks)
        ]

    def store_tile_masked(self, tile: Tile, base: str, stride: str | int, masks: Tile) -> None:
        for r, (row, row_masks) in enumerate(zip(tile, masks)):
            start = self.at(base, self.times(r, stride))
            for v, (vector, mask) in enumerate(zip(row, row_masks)):
                self.store_masked(vector, self.at(start, v * self.lanes), mask)

    def read_part(self, matrix: str, row: str, column: str, columns_left: str) -> list[str]:
        """The rows of a square tile of a matrix with rows and columns of n, with zeros where it has ended."""
        room = self.slot("double", self.lanes * self.lanes)
        with self.loop(0, self.lanes) as r:
            here = self.add(row, r)
            left = self.choose(self.compare("slt", here, "%n"), columns_left, 0)
            vector = self.load_masked(self.at(matrix, self.times(here, "%n"), column), self.first_lanes(left))
            self.store(vector, self.at(room, self.times(r, self.lanes)))
        return [rows[0] for rows in self.load_tile(room, self.lanes, 1)]

    def write_part(self, rows: list[str], matrix: str, row: str, column: str) -> None:
        """As much of a square tile as a matrix with rows and columns of n has room for."""
        room = self.slot("double", self.lanes * self.lanes)
        self.store_tile([[vector] for vector in rows], room, self.lanes)
        mask = self.first_lanes(self.subtract("%n", column))
        with self.loop(0, self.least(self.lanes, self.subtract("%n", row))) as r:
            place = self.at(matrix, self.times(self.add(row, r), "%n"), column)
            self.store_masked(self.load(self.at(room, self.times(r, self.lanes))), place, mask)

    def transposed(self, rows: list[str]) -> list[str]:
        """The square tile of one vector a row, by log2(lanes) rounds of exchanges."""
        half = self.lanes // 2
        while half:
            exchanged = list(rows)
            for r in range(self.lanes):
                if r & half:
                    continue
                for target, keeps_low in ((r, True), (r + half, False)):
                    picks = []
                    for k in range(self.lanes):
                        source = k & ~half if keeps_low else k | half
                        picks.append(source + (self.lanes if k & half else 0))
                    mask = ", ".join(f"i32 {p}" for p in picks)
                    exchanged[target] = self.code.emit(
                        f"shufflevector {self.vector} {rows[r]}, {self.vector} {rows[r + half]}, "
                        f"<{self.lanes} x i32> <{mask}>"
                    )
            rows = exchanged
            half //= 2
        return rows

    def accumulate(
        self, tile: Tile, count: str | int, left: str, left_strides: tuple[str | int, str | int], right: str,
        right_stride: str | int, *, subtracts: bool = True, masks: list[str] | None = None,
    ) -> Tile:  # fmt: skip
        """The tile less (or plus) a product: left(r, p) at left + r s + p t, right(p, :) in rows; p ascends from 0 to count."""
        slots = [[self.slot(self.vector) for _ in row] for row in tile]
        for row, row_slots in zip(tile, slots):
            for vector, slot in zip(row, row_slots):
                self.code.line(f"store {self.vector} {vector}, ptr {slot}")
        left_slot, right_slot = self.slot("ptr"), self.slot("ptr")
        self.code.line(f"store ptr {left}, ptr {left_slot}")
        self.code.line(f"store ptr {right}, ptr {right_slot}")
        row_places = [self.times(r, left_strides[0]) for r in range(len(tile))]
        operation = self.minus_product if subtracts else self.fma
        with self.loop(0, count):
            x, y = (self.code.emit(f"load ptr, ptr {slot}") for slot in (left_slot, right_slot))
            vectors = []
            for v in range(len(tile[0])):
                address = self.at(y, v * self.lanes)
                vectors.append(self.load(address) if masks is None else self.load_masked(address, masks[v]))
            for place, row_slots in zip(row_places, slots):
                factor = self.splat(self.number(self.at(x, place)))
                for vector, slot in zip(vectors, row_slots):
                    old = self.code.emit(f"load {self.vector}, ptr {slot}")
                    self.code.line(f"store {self.vector} {operation(factor, vector, old)}, ptr {slot}")
            self.code.line(f"store ptr {self.at(x, left_strides[1])}, ptr {left_slot}")
            self.code.line(f"store ptr {self.at(y, right_stride)}, ptr {right_slot}")
        return [[self.code.emit(f"load {self.vector}, ptr {slot}") for slot in row] for row in slots]


def divided(
    w: TileWriter, tile: Tile, corner: str, strides: tuple[str | int, str | int], inverses: str, step: int = 1
) -> Tile:
    """A tile multiplied from the left by the inverse of a lower triangular block, whose (s, r) is at corner + s a + r b."""
    tile = [list(row) for row in tile]
    for r in range(len(tile)):
        inverse = w.splat(w.number(w.at(inverses, r * step)))
        tile[r] = [w.multiply(vector, inverse) for vector in tile[r]]
        for s in range(r + 1, len(tile)):
            factor = w.splat(w.number(w.at(corner, w.times(s, strides[0]), w.times(r, strides[1]))))
            tile[s] = [w.minus_product(factor, done, vector) for done, vector in zip(tile[r], tile[s])]
    return tile


def module_text(exported: TileWriter, *internal: TileWriter) -> str:
    """LLVM text of one function that is called from elsewhere, and those that it calls."""
    declarations = dict.fromkeys(d for w in (exported, *internal) for d in w.code.declarations)
    definitions = [w.text().replace("define ", "define internal ", 1) for w in internal]
    return "\n".join([*declarations, *definitions, exported.text()])
