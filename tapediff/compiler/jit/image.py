"""Loads object code without LLVM: ELF for x86-64 whose relocations are absolute addresses, as LLVM's large code model has."""

from __future__ import annotations

import ctypes
import mmap
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from ..llvm.cpu import is_x86

# Other systems have other object files, or pages that may not become code.
IS_LOADED_HERE = sys.platform == "linux" and sys.maxsize > 2**32 and is_x86()

_HEAD = b"\x7fELF\x02\x01\x01"
_RELOCATABLE, _X86_64 = 1, 62
_SECTION, _SYMBOL, _RELOCATION = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ"), struct.Struct("<QQq")
_WORD = struct.Struct("<Q")
# Section types and flags, and the absolute relocation of 64 bits.
_PROGBITS, _SYMTAB, _RELA = 1, 2, 4
_WRITABLE, _ALLOCATED = 1, 2
_ABSOLUTE = 1
_READ_EXECUTE = 1 | 4


class NotLoaded(Exception):
    """This object code needs LLVM's linker."""


class _Section(NamedTuple):
    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry: int


class Image:
    """Object code in memory, freed with this object.

    Args:
        code: an object file.
        addresses: of its undefined symbols; others are looked up in the process.

    Raises:
        NotLoaded: it has something that only LLVM's linker knows.
    """

    __slots__ = ("_memory", "_start", "_symbols")

    def __init__(self, code: bytes, addresses: Mapping[str, int]) -> None:
        try:
            self._load(code, addresses)
        except (struct.error, IndexError, ValueError, OSError) as error:
            raise NotLoaded(str(error)) from error

    def __getitem__(self, name: str) -> int:
        """The address of an exported symbol."""
        return self._symbols[name]

    def _load(self, code: bytes, addresses: Mapping[str, int]) -> None:
        sections = _sections(code)
        places, size = dict[int, int](), 0
        for number, section in enumerate(sections):
            if section.flags & _ALLOCATED and section.size:
                if section.type != _PROGBITS or section.flags & _WRITABLE:
                    raise NotLoaded("a section that can be written")
                size += -size % max(section.alignment, 1)
                places[number], size = size, size + section.size
        self._memory = memory = mmap.mmap(-1, max(size, 1), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE)
        self._start = start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        for number, place in places.items():
            section = sections[number]
            memory[place : place + section.size] = code[section.offset : section.offset + section.size]
        values, self._symbols = _values(code, sections, {k: start + place for k, place in places.items()}, addresses)
        for section in sections:
            if section.type == _RELA and section.info in places:
                self._relocate(code, section, places[section.info], sections[section.info].size, values)
        if _protect()(start, len(memory), _READ_EXECUTE):
            raise NotLoaded("pages that may not become code")

    def _relocate(self, code: bytes, table: _Section, place: int, size: int, values: list[int | None]) -> None:
        for offset, info, addend in _RELOCATION.iter_unpack(code[table.offset : table.offset + table.size]):
            value = values[info >> 32]
            if info & 0xFFFFFFFF != _ABSOLUTE or value is None or offset + 8 > size:
                raise NotLoaded("another relocation")
            _WORD.pack_into(self._memory, place + offset, value + addend & 2**64 - 1)


def _sections(code: bytes) -> list[_Section]:
    kind, machine = struct.unpack_from("<HH", code, 16)
    if not code.startswith(_HEAD) or (kind, machine) != (_RELOCATABLE, _X86_64):
        raise NotLoaded("another kind of object file")
    (start,), (size, count) = struct.unpack_from("<Q", code, 40), struct.unpack_from("<HH", code, 58)
    if size != _SECTION.size:
        raise NotLoaded("another kind of sections")
    return [_Section(*_SECTION.unpack_from(code, start + k * size)) for k in range(count)]


def _values(
    code: bytes, sections: list[_Section], starts: Mapping[int, int], addresses: Mapping[str, int]
) -> tuple[list[int | None], dict[str, int]]:
    """The address of each symbol, None for those without; and of those with names that the code defines."""
    values, defined = list[int | None](), dict[str, int]()
    for table in sections:
        if table.type != _SYMTAB:
            continue
        names = sections[table.link].offset
        for name_at, _, _, section, value, _ in _symbols(code, table):
            name = code[names + name_at : code.index(b"\0", names + name_at)].decode()
            if section in starts:
                values.append(starts[section] + value)
                defined[name] = starts[section] + value
            elif section or not name:
                values.append(None)
            else:
                values.append(addresses[name] if name in addresses else _in_process(name))
    return values, defined


def _symbols(code: bytes, table: _Section) -> Iterator[tuple[int, ...]]:
    return _SYMBOL.iter_unpack(code[table.offset : table.offset + table.size])


@cache
def _process() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def _in_process(name: str) -> int:
    """The address of a function of the C library or of Python."""
    try:
        return ctypes.cast(getattr(_process(), name), ctypes.c_void_p).value or 0
    except AttributeError:
        raise NotLoaded(f"no {name} in this process") from None


@cache
def _protect() -> Callable[[int, int, int], int]:
    prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return prototype(("mprotect", _process()))
