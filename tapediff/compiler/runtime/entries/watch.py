"""Checks that the values a function has read besides its arguments are unchanged: one native loop over rows, 2 to 10 ns each.

`checked(table, call)` is a builtin that compares and then calls, or returns REFUSED.

Source: PyDict_GetItemWithError, PyObject_GenericGetDict, PyObject_GenericGetAttr, PyFunction_GetCode, PyDict_Next and
PyObject_Vectorcall are CPython's public functions; cells and lists are read where python_entry.is_available has found objects as expected.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from types import CellType
from typing import NamedTuple

import numpy as np

from ....ir.instruction import Operand, Tree
from ...jit.shared_function import SharedFunction
from ...llvm.builder import Exit, Function, external, module_text
from ...llvm.memory import Array, Layout, Struct
from ...llvm.values import I32, I64, NULL, PTR, Value
from ..python_api import (
    ARRAY_OBJECT,
    CLEAR_ERROR,
    GET_ITEM,
    LONG_FROM_LONG,
    METH_FASTCALL,
    RELEASE_OBJECT,
    builtin,
)
from ..status import REFUSED
from .python_entry import is_available, words

# Kinds of rows.
ENTRY, CELL, SLOT, OBJECT, SIZE, FUNCTION, LENGTH, ENTRIES, MAPPING, MEMORY, SAMPLE, CALL = range(12)

BLOCK_WORDS = 128
# Every so many checks one block of each large array is compared, in rotation.
CALLS_PER_BLOCK = 16

HEAD = Layout.of_words(rows=PTR, count=I64, calls=I64, failed=I64, by_block=I64)
ROW = Layout.of_words(kind=I64, owner=PTR, first=PTR, second=PTR, words=I64, third=PTR, blocks=I64, multipliers=PTR)
CELL_OBJECT = Layout(contents=(16, PTR))
LIST_OBJECT = Layout(size=(16, I64), entries=(24, PTR))
ANY_OBJECT = Layout(type=(8, PTR))

GENERIC_DICT = external("PyObject_GenericGetDict", PTR, PTR, PTR)
GENERIC_ATTRIBUTE = external("PyObject_GenericGetAttr", PTR, PTR, PTR)
FUNCTION_CODE = external("PyFunction_GetCode", PTR, PTR)
FUNCTION_DEFAULTS = external("PyFunction_GetDefaults", PTR, PTR)
FUNCTION_KEYWORD_DEFAULTS = external("PyFunction_GetKwDefaults", PTR, PTR)
DICT_SIZE = external("PyDict_Size", I64, PTR)
DICT_NEXT = external("PyDict_Next", I32, PTR, PTR, PTR, PTR)
CALL_WITHOUT_ARGUMENTS = external("PyObject_CallNoArgs", PTR, PTR)
VECTORCALL = external("PyObject_Vectorcall", PTR, PTR, PTR, I64, PTR)
COMPARE_BYTES = external("memcmp", I32, PTR, PTR, I64)


class Row(NamedTuple):
    """One comparison: the words of ROW. The meaning of `first`, `second` and `third` depends on the kind."""

    kind: int
    owner: int
    first: int
    second: int
    words: int = 0
    third: int = 0
    blocks: int = 0
    multipliers: int = 0


class Table:
    """The rows to compare. They can be replaced; comparisons hold the address of `head`.

    Attributes:
        head: words as in HEAD.
    """

    def __init__(self) -> None:
        self.head = np.zeros(len(HEAD.words()), np.int64)
        self._rows = np.zeros(0, np.int64)
        # Previous rows: a comparison may still use them.
        self._keep: tuple[object, ...] = ()

    def replace(self, rows: Sequence[Row], keep: list[object]) -> None:
        """Replace the rows; `keep` are the objects that own the addresses in them."""
        made = np.array(rows, np.int64).reshape(-1)
        self.head[HEAD.word("by_block")] = 0
        self._keep = (made, keep, self._rows, *self._keep[:2])
        self._rows = made
        # The address and the count are read under the GIL, so no call sees one without the other.
        self.head[HEAD.word("count")] = 0
        self.head[HEAD.word("rows")] = made.ctypes.data
        self.head[HEAD.word("count")] = len(rows)

    @property
    def calls(self) -> int:
        """The number of comparisons so far."""
        return int(self.head[HEAD.word("calls")])

    @property
    def by_block(self) -> bool:
        """True if a block differed in a way that samples did not show."""
        return bool(self.head[HEAD.word("by_block")])


def rows_of_array(array: np.ndarray, keep: list[object]) -> list[Row]:
    """Rows for the fields of an array object, its extents and its strides."""
    start, end = ARRAY_OBJECT.offset("data"), ARRAY_OBJECT.offset("flags") + 4
    fields = np.frombuffer(ctypes.string_at(id(array) + start, end - start), np.uint8)
    extents = ctypes.c_int64.from_address(id(array) + ARRAY_OBJECT.offset("extents")).value
    shape = np.array([*array.shape, *array.strides], np.int64)
    keep += [fields, shape]
    rows = [Row(MEMORY, id(array) + start, fields.ctypes.data, end - start)]
    return [*rows, Row(MEMORY, extents, shape.ctypes.data, shape.nbytes)] if array.ndim else rows


def _same(name: str) -> Function:
    """`i64 same(head)`: 0, or the 1-based number of the first row that differs."""
    f = Function(name, I64, head=PTR)
    head = HEAD.at(f.parameters[0])
    calls = head["calls"] + 1
    head["calls"] = calls
    rows, failed = f.variable(PTR, head["rows"]), f.exit()
    number = f.variable(I64, 0)
    with f.loop(0, head["count"]) as k:
        number.value = k + 1
        row = ROW.at(rows.value)
        _compare(f, failed, row, head, calls)
        rows.value = row.behind()
    f.return_(0)
    failed.here()
    head["failed"] = number.value
    f.return_(number.value)
    return f


def _compare(f: Function, failed: Exit, row: Struct, head: Struct, calls: Value) -> None:
    kind, owner, first, second = row["kind"], row["owner"], row["first"], row["second"]
    done = f.exit()
    with f.if_(kind == ENTRY):
        failed.leave_if(f.call(GET_ITEM, owner, first) != second, rarely=True)
        done.leave()
    with f.if_(kind == CELL):
        failed.leave_if(CELL_OBJECT.at(owner)["contents"] != second, rarely=True)
        done.leave()
    with f.if_(kind == MEMORY):
        failed.leave_if(f.call(COMPARE_BYTES, owner, first, _integer(f, second)) != 0, rarely=True)
        done.leave()
    with f.if_(kind == FUNCTION):
        failed.leave_if(f.call(FUNCTION_CODE, owner) != first, rarely=True)
        failed.leave_if(f.call(FUNCTION_DEFAULTS, owner) != second, rarely=True)
        failed.leave_if(f.call(FUNCTION_KEYWORD_DEFAULTS, owner) != row["third"], rarely=True)
        done.leave()
    with f.if_(kind == OBJECT):
        failed.leave_if(ANY_OBJECT.at(owner)["type"] != first, rarely=True)
        _compare_new(f, failed, f.call(GENERIC_DICT, owner, NULL), second)
        done.leave()
    with f.if_(kind == SIZE):
        failed.leave_if(f.call(DICT_SIZE, owner) != _integer(f, second), rarely=True)
        done.leave()
    with f.if_(kind == SLOT):
        _compare_new(f, failed, f.call(GENERIC_ATTRIBUTE, owner, first), second)
        done.leave()
    with f.if_(kind == LENGTH):
        failed.leave_if(LIST_OBJECT.at(owner)["size"] != _integer(f, second), rarely=True)
        done.leave()
    with f.if_(kind == ENTRIES):
        size = _integer(f, second) * 8
        ours, theirs = LIST_OBJECT.at(owner)["entries"], LIST_OBJECT.at(first)["entries"]
        failed.leave_if(f.call(COMPARE_BYTES, ours, theirs, size) != 0, rarely=True)
        done.leave()
    with f.if_(kind == MAPPING):
        _compare_mapping(f, failed, owner, Array(first, PTR), _integer(f, second))
        done.leave()
    with f.if_(kind == SAMPLE):
        _compare_sample(f, failed, row, head, calls)
        done.leave()
    _compare_new(f, failed, f.call(CALL_WITHOUT_ARGUMENTS, owner), second)
    done.here()


def _integer(f: Function, value: Value) -> Value:
    return Value(f, f.emit(f"ptrtoint ptr {value.ref} to i64"), I64, 1)


def _compare_new(f: Function, failed: Exit, found: Value, expected: Value) -> None:
    """Compare a new reference, or leave with an error."""
    with f.if_(found.is_null()):
        f.call(CLEAR_ERROR)
    with f.else_():
        f.call(RELEASE_OBJECT, found)
    failed.leave_if(found != expected, rarely=True)


def _compare_mapping(f: Function, failed: Exit, owner: Value, pairs: Array, count: Value) -> None:
    failed.leave_if(f.call(DICT_SIZE, owner) != count, rarely=True)
    position, key, value = f.variable(I64, 0), f.variable(PTR), f.variable(PTR)
    with f.loop(0, count) as k:
        failed.leave_if(f.call(DICT_NEXT, owner, position.address, key.address, value.address) == 0, rarely=True)
        failed.leave_if(key.value != pairs[k * 2], rarely=True)
        failed.leave_if(value.value != pairs[k * 2 + 1], rarely=True)


def _compare_sample(f: Function, failed: Exit, row: Struct, head: Struct, calls: Value) -> None:
    memory, saved, count = row["owner"], Array(row["first"], I64), _integer(f, row["second"])
    with f.loop(0, count) as k:
        failed.leave_if(_word_at(f, memory, saved[k * 2]) != saved[k * 2 + 1], rarely=True)
    with f.if_(calls.remainder(CALLS_PER_BLOCK) == 0):
        block = calls.quotient(CALLS_PER_BLOCK).remainder(row["blocks"])
        first, last = f.variable(I64, block * BLOCK_WORDS), row["words"] - BLOCK_WORDS
        with f.if_(first.value > last):
            first.value = last
        words, multipliers = Array(memory, I64).since(first.value), Array(row["multipliers"], I64)
        total = f.variable(I64, 0)
        with f.loop(0, BLOCK_WORDS) as k:
            total.value = total.value + words[k] * multipliers[k]
        with f.if_(total.value != Array(row["third"], I64)[block]):
            head["by_block"] = 1
            failed.leave()


def _word_at(f: Function, memory: Value, offset: Value) -> Value:
    """A word at any offset in bytes."""
    place = f.emit(f"getelementptr i8, ptr {memory.ref}, i64 {offset.ref}")
    return Value(f, f.emit(f"load i64, ptr {place}, align 1"), I64, 1)


def _head_of(self: Value) -> tuple[Value, Value]:
    """The words of a builtin: the address of a head, and a callable."""
    words = Array(ARRAY_OBJECT.at(self)["data"], PTR)
    return words[0], words[1]


def _checked_text() -> str:
    same = _same("tapediff_same_environment")
    f = Function("tapediff_checked", PTR, self=PTR, args=PTR, count=I64)
    self, args, count = f.parameters
    head, call = _head_of(self)
    with f.if_(f.call(same.signature, head) == 0):
        f.return_(f.call(VECTORCALL, call, args, count, NULL))
    f.return_(f.call(LONG_FROM_LONG, REFUSED))
    return module_text(same, f)


_CHECKED = SharedFunction("tapediff_checked", _checked_text)


def unchanged(table: Table) -> Callable[[], bool]:
    """A function without arguments: True if nothing has changed."""
    compared = checked(table, True.__bool__)
    return lambda: compared() is True


def checked(table: Table, call: Callable[..., Tree]) -> Callable[..., Operand]:
    """A builtin that calls another one, with the same arguments, if nothing has changed; otherwise it returns REFUSED."""
    return builtin(_CHECKED, "tapediff_checked", METH_FASTCALL, words([table.head.ctypes.data, id(call)], (table, call)))


@functools.cache
def is_native() -> bool:
    """True if cells and lists have the expected layout, checked on sample objects."""
    if not is_available():
        return False
    word, content, entries = ctypes.c_int64.from_address, object(), [1.5, 2.5]
    cell = CellType(content)
    return (
        word(id(cell) + CELL_OBJECT.offset("contents")).value == id(content)
        and word(id(entries) + LIST_OBJECT.offset("size")).value == 2
        and word(word(id(entries) + LIST_OBJECT.offset("entries")).value + 8).value == id(entries[1])
        and word(id(entries) + ANY_OBJECT.offset("type")).value == id(list)
    )
