"""Writes LLVM functions on stacks of small matrices: `lanes` matrices at a time, each in a lane of its own.

    i1 (operand, ..., result, count, advance, ..., advance)

Matrix number m of an operand begins `m * advance` doubles after the first; the last advance is the result's. The function returns true if
it failed on any matrix. A last group that is not full repeats the last matrix, which writes the same numbers to the same places.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from ...llvm.builder import module_text
from ...llvm.values import F64, I1, I64, PTR, Value, lane, least, select
from ...math.simd import any_lane, fma
from .tiles import Number, TileWriter

PREFIX = "tapediff_stacked_"

# Up to this order all loops are unrolled, and matrices stay in registers.
LARGEST_UNROLLED = 4


class StackWriter(TileWriter):
    """One function on stacks. See the module's docstring.

    Args:
        name: the routine's name.
        lanes: doubles in a vector.
        n: the order of the matrices.
        operands: their names.

    Attributes:
        has_failed: a mask of the failed lanes.
    """

    def __init__(self, name: str, lanes: int, n: int, *operands: str) -> None:
        pointers, advances = dict.fromkeys((*operands, "result"), PTR), {f"{name}_advance": I64 for name in (*operands, "result")}
        super().__init__(PREFIX + name, I1, lanes, **pointers, count=I64, **advances)
        self.n, self._width = n, len(pointers)
        self.has_failed = self.variable(I1, False, lanes)
        self._numbers: list[Value] = []

    def finished(self) -> str:
        self.return_(any_lane(self.has_failed.value))
        return module_text(self)

    @contextmanager
    def groups(self) -> Generator[None]:
        """Loop over groups of matrices; reads and writes inside are of the current group."""
        count = self.parameters[self._width]
        with self.loop(0, count, self.lanes) as first:
            self._numbers = [least(first + r, count - 1) for r in range(self.lanes)]
            yield

    def each(self, start: Number, end: Number, body: Callable[[Number], None]) -> None:
        """Loop over indices, unrolled for small matrices."""
        if self.n <= LARGEST_UNROLLED and isinstance(start, int) and isinstance(end, int):
            for k in range(start, end):
                body(k)
        else:
            with self.loop(start, end) as k:
                body(k)

    def each_backwards(self, start: Number, end: int, body: Callable[[Number], None]) -> None:
        """Loop from start down to end."""
        if self.n <= LARGEST_UNROLLED and isinstance(start, int):
            for k in range(start, end - 1, -1):
                body(k)
        else:
            with self.backwards(start - end, 1) as k:
                body(k + end)

    def starts(self, operand: int) -> list[Value]:
        """The addresses of an operand's matrices in the group; the result is the last operand."""
        base, advance = self.parameters[operand], self.parameters[self._width + 1 + operand]
        return [self.at(base, number * advance) for number in self._numbers]

    def room(self, rows: int, columns: int) -> Matrix:
        """An uninitialised matrix in each lane."""
        whole = -(-rows * columns // self.lanes) * self.lanes
        return Matrix(self, self.array(F64, whole * self.lanes).start, columns)

    def read(self, operand: int, rows: int, columns: int) -> Matrix:
        made, starts = self.room(rows, columns), self.starts(operand)

        def whole(place: Number) -> None:
            self._turn([self.load(self.at(start, place)) for start in starts], made, place)

        left = self._each_whole(rows * columns, whole)
        place = rows * columns - left
        if left > 2:
            active = self.upto(left)
            self._turn([self.load_masked(self.at(start, place), active) for start in starts], made, place)
        else:
            for k in range(place, place + left):
                made.put(self.gathered([self.at(start, k) for start in starts]), k)
        return made

    def write(self, matrix: Matrix, rows: int, columns: int) -> None:
        starts = self.starts(self._width - 1)

        def turned(place: Number) -> list[Value]:
            return self.transposed([matrix.at(place + k if k else place) for k in range(self.lanes)])

        def whole(place: Number) -> None:
            for start, vector in zip(starts, turned(place)):
                self.store(vector, self.at(start, place))

        left = self._each_whole(rows * columns, whole)
        place = rows * columns - left
        if left > 2:
            active = self.upto(left)
            vectors = [matrix.at(place + k) if k < left else self.zeros() for k in range(self.lanes)]
            for start, vector in zip(starts, self.transposed(vectors)):
                self.store_masked(vector, self.at(start, place), active)
        else:
            for k in range(place, place + left):
                vector = matrix.at(k)
                for r, start in enumerate(starts):
                    self.put_number(lane(vector, r), self.at(start, k))

    def gathered(self, addresses: list[Value]) -> Value:
        """One number of each matrix, as a vector."""
        vector = self.zeros()
        for r, address in enumerate(addresses):
            vector = self.with_lane(vector, self.number(address), r)
        return vector

    def _each_whole(self, size: int, body: Callable[[Number], None]) -> int:
        """Call `body` for the start of each whole vector; return the length of the remainder."""
        whole = size // self.lanes * self.lanes
        if self.n <= LARGEST_UNROLLED:
            for place in range(0, whole, self.lanes):
                body(place)
        else:
            with self.loop(0, whole, self.lanes) as place:
                body(place)
        return size - whole

    def _turn(self, vectors: list[Value], matrix: Matrix, place: Number) -> None:
        for k, vector in enumerate(self.transposed(vectors)):
            matrix.put(vector, place + k if k else place)

    # Pivots: 1-based 32-bit integers after the factors

    def read_pivots(self, operand: int) -> Matrix:
        """For each row of the factors the number of the row that it was swapped with, as a double."""
        made, starts = self.room(self.n, 1), self.starts(operand)

        def read(k: Number) -> None:
            vector = self.zeros()
            for r, start in enumerate(starts):
                vector = self.with_lane(vector, self._pivot_number(start, k), r)
            made.put(vector, k)

        self.each(0, self.n, read)
        return made

    def _pivot_place(self, start: Value, k: Number) -> Value:
        offset = k * 4 if isinstance(k, int) else (k * 4).ref
        behind = self.at(start, self.n * self.n)
        return Value(self, self.emit(f"getelementptr i8, ptr {behind.ref}, i64 {offset}"), PTR, 1)

    def _pivot_number(self, start: Value, k: Number) -> Value:
        loaded = self.emit(f"load i32, ptr {self._pivot_place(start, k).ref}")
        return Value(self, self.emit(f"sitofp i32 {loaded} to double"), F64, 1) - 1.0

    def write_pivots(self, pivots: Matrix) -> None:
        starts = self.starts(self._width - 1)
        for start in starts:
            with self.loop(self.n * self.n, self.n * (self.n + 1)) as k:
                self.put_number(0.0, self.at(start, k))

        def write(k: Number) -> None:
            vector = pivots.at(k) + 1.0
            for r, start in enumerate(starts):
                number = self.emit(f"fptosi double {lane(vector, r).ref} to i32")
                self.line(f"store i32 {number}, ptr {self._pivot_place(start, k).ref}")

        self.each(0, self.n, write)

    def number_of(self, k: Number) -> Value:
        """An index as a double in each lane."""
        if isinstance(k, int):
            return self.zeros() + float(k)
        return self.splat(Value(self, self.emit(f"sitofp i64 {k.ref} to double"), F64, 1))

    def fail_where(self, condition: Value) -> None:
        self.has_failed.value |= condition

    def minus(self, a: Value, b: Value, c: Value) -> Value:
        """a - b c, with one rounding (fused)."""
        return fma(-b, c, a)

    def nonzero(self, value: Value) -> Value:
        """A divisor: the value, or 1 where it is zero."""
        return select(value == 0.0, 1.0, value)


class Matrix:
    """A matrix in each lane, in memory by rows."""

    __slots__ = ("_code", "_start", "columns")

    def __init__(self, code: StackWriter, start: Value, columns: int) -> None:
        self._code, self._start, self.columns = code, start, columns

    def at(self, k: Number) -> Value:
        return self._code.load(self._place(k))

    def put(self, value: Value, k: Number) -> None:
        self._code.store(value, self._place(k))

    def _place(self, k: Number) -> Value:
        return self._code.at(self._start, self._code.times(k, self._code.lanes))

    def _index(self, i: Number, j: Number) -> Number:
        row = self._code.times(i, self.columns)
        return j + row if isinstance(row, int) and not isinstance(j, int) else row + j

    def __getitem__(self, place: tuple[Number, Number]) -> Value:
        return self.at(self._index(*place))

    def __setitem__(self, place: tuple[Number, Number], value: Value) -> None:
        self.put(value, self._index(*place))
