"""Memory of generated code: one location of a known type, arrays of one type, and structs, whose fields have names.

    frame = CALL_FRAME.at(pointer)        numbers = Array(frame["numbers"], I64)
    frame["iteration"] = end              first = numbers[0]
"""

from __future__ import annotations

from .values import MEMORY_TYPES, PTR, TYPES, Value, operand_text, require

Number = Value | int
Operand = Value | int | float | bool | object

# Bytes of a value in memory.
BYTES = {"f64": 8, "i64": 8, "i1": 1, "i8": 1, "i32": 4, "ptr": 8}


class Location:
    """A value in memory, or several that become SIMD lanes: reading `value` emits a load, assigning to it a store."""

    __slots__ = ("address", "kind", "width")

    def __init__(self, address: Value, kind: str, width: int = 1) -> None:
        self.address, self.kind, self.width = require(address, PTR), kind, width

    @property
    def value(self) -> Value:
        return self._made(f"load {TYPES[self.kind, self.width]}, ptr {self.address.ref}{self._alignment()}")

    @value.setter
    def value(self, new: Operand) -> None:
        self.address.code.line(f"store {self._operand(new)}, ptr {self.address.ref}{self._alignment()}")

    def _alignment(self) -> str:
        return "" if self.width == 1 else f", align {BYTES[self.kind]}"

    def _operand(self, value: Operand) -> str:
        return f"{TYPES[self.kind, self.width]} {operand_text(value, self.kind, self.width)}"

    def _made(self, text: str) -> Value:
        return Value(self.address.code, self.address.code.emit(text), self.kind, self.width)

    # Between threads

    def load_atomic(self, order: str = "seq_cst") -> Value:
        return self._made(f"load atomic {TYPES[self.kind, 1]}, ptr {self.address.ref} {order}, align {BYTES[self.kind]}")

    def update_atomic(self, operation: str, operand: Operand, order: str = "seq_cst") -> Value:
        """Update the memory with one of LLVM's atomic operations (add, sub, min, xchg); return the old value."""
        return self._made(f"atomicrmw {operation} ptr {self.address.ref}, {self._operand(operand)} {order}")

    def replace_atomic(self, expected: Operand, new: Operand) -> Value:
        """Compare and swap: store `new` if the value is `expected`; return True if it was."""
        code = self.address.code
        pair = code.emit(
            f"cmpxchg ptr {self.address.ref}, {self._operand(expected)}, {self._operand(new)} seq_cst seq_cst"
        )
        return Value(code, code.emit(f"extractvalue {{ {TYPES[self.kind, 1]}, i1 }} {pair}, 1"), "i1", 1)


class Array:
    """Consecutive values of one type. `array[k]` emits a load, `array[k] = value` a store."""

    __slots__ = ("kind", "start")

    def __init__(self, start: Value, kind: str) -> None:
        self.start, self.kind = require(start, PTR), kind

    def address(self, k: Number) -> Value:
        if isinstance(k, int) and k == 0:
            return self.start
        code = self.start.code
        place = f"getelementptr {MEMORY_TYPES[self.kind]}, ptr {self.start.ref}, i64 {operand_text(k, 'i64', 1)}"
        return Value(code, code.emit(place), PTR, 1)

    def at(self, k: Number) -> Location:
        return Location(self.address(k), self.kind)

    def lanes(self, k: Number, width: int) -> Location:
        """`width` elements from the k-th on."""
        return Location(self.address(k), self.kind, width)

    def since(self, k: Number) -> Array:
        """The elements from the k-th on."""
        return Array(self.address(k), self.kind)

    def __getitem__(self, k: Number) -> Value:
        return self.at(k).value

    def __setitem__(self, k: Number, value: Operand) -> None:
        self.at(k).value = value


class Layout:
    """The fields of a struct in memory: for each name its offset in bytes, and its type."""

    __slots__ = ("fields",)

    def __init__(self, **fields: tuple[int, str]) -> None:
        self.fields = fields

    @classmethod
    def of_words(cls, **kinds: str) -> Layout:
        """Fields of 8 bytes each, in this order. Python sees them as an array of integers."""
        return cls(**{name: (8 * k, kind) for k, (name, kind) in enumerate(kinds.items())})

    def followed_by(self, **kinds: str) -> Layout:
        """The same layout with more words after it."""
        return Layout.of_words(**{name: kind for name, (_, kind) in self.fields.items()}, **kinds)

    @property
    def size(self) -> int:
        """In bytes, up to the end of the last field."""
        return max(offset + BYTES[kind] for offset, kind in self.fields.values())

    def offset(self, name: str) -> int:
        return self.fields[name][0]

    def word(self, name: str) -> int:
        """The word index of a field."""
        return self.fields[name][0] // 8

    def words(self) -> range:
        """All word indices, for unpacking into names."""
        return range(self.size // 8)

    def at(self, pointer: Value) -> Struct:
        return Struct(pointer, self)


class Struct:
    """A struct at an address. `struct["field"]` emits a load, `struct["field"] = value` a store."""

    __slots__ = ("layout", "pointer")

    def __init__(self, pointer: Value, layout: Layout) -> None:
        self.pointer, self.layout = require(pointer, PTR), layout

    def location(self, name: str) -> Location:
        offset, kind = self.layout.fields[name]
        return Location(self._moved(offset), kind)

    def behind(self) -> Value:
        """The address after the last field."""
        return self._moved(self.layout.size)

    def _moved(self, offset: int) -> Value:
        if offset == 0:
            return self.pointer
        code = self.pointer.code
        return Value(code, code.emit(f"getelementptr i8, ptr {self.pointer.ref}, i64 {offset}"), PTR, 1)

    def __getitem__(self, name: str) -> Value:
        return self.location(name).value

    def __setitem__(self, name: str, value: Operand) -> None:
        self.location(name).value = value
