"""Places that a function reads besides its arguments, with their recorded values: compared in Python or as native rows."""

from __future__ import annotations

import ctypes
from array import array
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Sequence
from types import CellType, FunctionType, MemberDescriptorType

import numpy as np

from ...base.token import blake2b
from ...compiler.runtime.entries import watch
from ...recording.python_state.object_snapshot import PythonValue


class _Absent:
    """Marks a missing value."""

    def __repr__(self) -> str:
        return "nothing"


ABSENT = _Absent()

# Contents up to this many bytes are compared at every call; of larger ones, this many words, and a block of 1 kB at every 16th call.
SMALL = 1024
SAMPLED_WORDS = 16

# Objects of bytes that may change: arrays of the standard library, objects of C, and records of NumPy's arrays.
BUFFERS = (bytearray, array, memoryview, ctypes.c_int.__mro__[-2], np.void)

# Odd numbers without a pattern; numpy.random takes longer to import than all else here.
_DIGESTS = b"".join(blake2b(b"%d" % k).digest() for k in range(watch.BLOCK_WORDS // 8))
_MULTIPLIERS = np.frombuffer(_DIGESTS, "<u8").astype(np.uint64) | np.uint64(1)


class Place:
    """One thing that may change.

    Attributes:
        owner: the object that it belongs to.
        label: its name for the user.
    """

    __slots__ = ("label", "owner")

    def __init__(self, owner: PythonValue, label: str = "") -> None:
        self.owner, self.label = owner, label

    @property
    def where(self) -> Hashable:
        """A key of the place, independent of its value."""
        return id(self.owner), getattr(self, "name", "")

    def is_same(self) -> bool:
        """Compare the present value with the recorded one."""
        raise NotImplementedError

    def rows(self, keep: list[object]) -> list[watch.Row]:
        """Return rows for the native comparison. Objects whose addresses they hold are appended to `keep`."""
        raise NotImplementedError


class Binding(Place):
    """A place that holds a reference to one object."""

    __slots__ = ("expected",)

    def __init__(self, owner: PythonValue, expected: object) -> None:
        super().__init__(owner)
        self.expected = expected

    def now(self) -> object:
        """Return the present value."""
        raise NotImplementedError

    def is_same(self) -> bool:
        return self.now() is self.expected

    @property
    def _address(self) -> int:
        return 0 if self.expected is ABSENT else id(self.expected)


class EntryPlace(Binding):
    """An entry of a namespace: a global, an attribute of an object, a class or a module."""

    __slots__ = ("name",)

    def __init__(self, owner: dict[str, PythonValue], name: str, expected: object) -> None:
        super().__init__(owner, expected)
        self.name = name

    def now(self) -> object:
        return self.owner.get(self.name, ABSENT)

    def rows(self, keep: list[object]) -> list[watch.Row]:
        keep += [self.owner, self.name, self.expected]
        return [watch.Row(watch.ENTRY, id(self.owner), id(self.name), self._address)]


class CellPlace(Binding):
    """A variable of an enclosing function."""

    __slots__ = ()

    def __init__(self, owner: CellType, expected: object) -> None:
        super().__init__(owner, expected)

    def now(self) -> object:
        try:
            return self.owner.cell_contents
        except ValueError:  # not assigned yet
            return ABSENT

    def rows(self, keep: list[object]) -> list[watch.Row]:
        keep += [self.owner, self.expected]
        return [watch.Row(watch.CELL, id(self.owner), 0, self._address)]


class SlotPlace(Binding):
    """An attribute that has a slot."""

    __slots__ = ("_member", "name")

    def __init__(self, owner: object, name: str, member: MemberDescriptorType, expected: object) -> None:
        super().__init__(owner, expected)
        self.name, self._member = name, member

    def now(self) -> object:
        try:
            return self._member.__get__(self.owner)
        except AttributeError:  # not assigned yet
            return ABSENT

    def rows(self, keep: list[object]) -> list[watch.Row]:
        keep += [self.owner, self.name, self.expected]
        return [watch.Row(watch.SLOT, id(self.owner), id(self.name), self._address)]


class AnswerPlace(Binding):
    """What an object of C refers to, as a function tells: the object of a weak reference, the arguments of an error."""

    __slots__ = ("_ask", "name")

    def __init__(self, owner: PythonValue, name: str, ask: Callable[[PythonValue], object]) -> None:
        self.name, self._ask, self.owner = name, ask, owner
        super().__init__(owner, self.now())

    def now(self) -> object:
        try:
            return self._ask(self.owner)
        except ReferenceError:  # of a proxy whose object is gone
            return ABSENT

    def rows(self, keep: list[object]) -> list[watch.Row]:
        keep += [self.owner, self.expected]
        return called(self.is_same, keep)


class SizePlace(Place):
    """The number of names in a namespace, which tells when a missing name is added."""

    __slots__ = ("_count",)

    def __init__(self, owner: dict[str, PythonValue], label: str) -> None:
        super().__init__(owner, label)
        self._count = len(owner)

    def is_same(self) -> bool:
        return len(self.owner) == self._count

    def rows(self, keep: list[object]) -> list[watch.Row]:
        keep.append(self.owner)
        return [watch.Row(watch.SIZE, id(self.owner), 0, self._count)]


class ObjectPlace(Place):
    """The class of an object, and the dict of its attributes."""

    __slots__ = ("_attributes", "_kind")

    def __init__(self, owner: object, attributes: dict[str, PythonValue], label: str) -> None:
        super().__init__(owner, label)
        self._kind, self._attributes = type(owner), attributes

    def is_same(self) -> bool:
        return type(self.owner) is self._kind and object.__getattribute__(self.owner, "__dict__") is self._attributes

    def rows(self, keep: list[object]) -> list[watch.Row]:
        keep += [self.owner, self._kind, self._attributes]
        return [watch.Row(watch.OBJECT, id(self.owner), id(self._kind), id(self._attributes))]


class FunctionPlace(Place):
    """The code and the defaults of a function, which reloaders replace."""

    __slots__ = ("_code", "_defaults", "_of_keywords")

    def __init__(self, owner: FunctionType, label: str) -> None:
        super().__init__(owner, label)
        self._code, self._defaults, self._of_keywords = owner.__code__, owner.__defaults__, owner.__kwdefaults__

    def is_same(self) -> bool:
        owner = self.owner
        return owner.__code__ is self._code and owner.__defaults__ is self._defaults and owner.__kwdefaults__ is self._of_keywords

    def rows(self, keep: list[object]) -> list[watch.Row]:
        parts = self._code, self._defaults, self._of_keywords
        keep += [self.owner, parts]
        code, defaults, of_keywords = (0 if part is None else id(part) for part in parts)
        return [watch.Row(watch.FUNCTION, id(self.owner), code, defaults, third=of_keywords)]


class ListPlace(Place):
    """The entries of a list, compared by identity."""

    __slots__ = ("_entries",)

    def __init__(self, owner: list[PythonValue], label: str) -> None:
        super().__init__(owner, label)
        self._entries = contents_of(owner)

    def is_same(self) -> bool:
        return _are_same(contents_of(self.owner), self._entries)

    def rows(self, keep: list[object]) -> list[watch.Row]:
        keep += [self.owner, self._entries]
        if not self._entries:
            return [watch.Row(watch.LENGTH, id(self.owner), 0, 0)]
        return [
            watch.Row(watch.LENGTH, id(self.owner), 0, len(self._entries)),
            watch.Row(watch.ENTRIES, id(self.owner), id(self._entries), len(self._entries)),
        ]


class ContentsPlace(Place):
    """The entries of a dict, a set or a deque, compared by identity; the bytes of a buffer."""

    __slots__ = ("_entries",)

    def __init__(self, owner: PythonValue, label: str) -> None:
        super().__init__(owner, label)
        self._entries = self._now()

    def _now(self) -> list[object]:
        found = contents_of(self.owner)
        return [*found, *dict.values(self.owner)] if isinstance(self.owner, dict) else found

    def is_same(self) -> bool:
        return _are_same(self._now(), self._entries)

    def rows(self, keep: list[object]) -> list[watch.Row]:
        keep += [self.owner, self._entries]
        if not isinstance(self.owner, dict) or isinstance(self.owner, OrderedDict):
            return called(self.is_same, keep)
        count = len(self._entries) // 2
        pairs = np.array([id(part) for pair in zip(self._entries[:count], self._entries[count:]) for part in pair], np.int64)
        keep.append(pairs)
        return [watch.Row(watch.MAPPING, id(self.owner), pairs.ctypes.data, count)]


class ArrayPlace(Place):
    """An array and its contents: all of a small one; of a large one a sample, and its blocks in turn.

    Attributes:
        key: equal for arrays of the same type, shape and contents.
    """

    __slots__ = ("_contents", "_digests", "_header", "_saved", "key")

    def __init__(self, owner: np.ndarray, label: str, contents: str, before: Place | None) -> None:
        super().__init__(owner, label)
        self._header = _header(owner)
        is_compared = contents != "off" and owner.size > 0
        is_small = owner.nbytes <= SMALL or contents == "always" or _memory(owner) is None
        self._contents = "" if not is_compared else "all" if is_small else "sample"
        self._saved: PythonValue = None
        self._digests: np.ndarray | None = None
        if owner.dtype.hasobject:
            # The objects that the references point to have tokens of their own.
            self._saved = np.ndarray.tobytes(owner)
            self.key: Hashable = (np.ndarray, owner.dtype.str, owner.shape)
            return
        if self._contents == "all":
            self._saved = np.ndarray.tobytes(owner)
            self.key = (np.ndarray, owner.dtype.str, owner.shape, self._saved)
            return
        if not self._contents:
            self.key = (np.ndarray, owner.dtype.str, owner.shape, *_sampled(owner))
            return
        memory = _memory(owner)
        assert memory is not None
        offsets = _sampled_offsets(memory.size)
        self._saved = np.stack([offsets, _words_at(memory, offsets)], axis=1).reshape(-1)
        if isinstance(before, ArrayPlace) and before._digests is not None and before.is_same():
            self._digests = before._digests
        else:
            self._digests = _digests(memory)
        order = "F" if not owner.flags.c_contiguous else "C"
        self.key = (np.ndarray, owner.dtype.str, owner.shape, order, self._saved.tobytes(), self._digests.tobytes())

    def is_same(self) -> bool:
        if _header(self.owner) != self._header:
            return False
        if self._contents == "all":
            return np.ndarray.tobytes(self.owner) == self._saved
        if not self._contents:
            return True
        memory = _memory(self.owner)
        assert memory is not None
        return bool(np.array_equal(_words_at(memory, self._saved[::2]), self._saved[1::2]))

    def is_surely_same(self) -> bool:
        """Compare all contents, not only the sample."""
        memory = _memory(self.owner)
        return self.is_same() and (self._digests is None or memory is None or np.array_equal(_digests(memory), self._digests))

    @property
    def blocks(self) -> int:
        """The number of blocks that are compared in turn; 0 for a small array."""
        return 0 if self._digests is None else len(self._digests)

    def rows(self, keep: list[object]) -> list[watch.Row]:
        array: np.ndarray = self.owner
        keep += [array, self._saved, self._digests]
        made = watch.rows_of_array(array, keep)
        if self._contents == "all":
            if not (array.flags.c_contiguous or array.flags.f_contiguous):
                return [*made, *called(self.is_same, keep)]
            saved = np.frombuffer(np.ndarray.tobytes(array, "A"), np.uint8)
            keep.append(saved)
            made.append(watch.Row(watch.MEMORY, array.ctypes.data, saved.ctypes.data, saved.size))
        elif self._contents:
            assert self._digests is not None
            memory = _memory(array)
            assert memory is not None
            keep.append(_MULTIPLIERS)
            made.append(
                watch.Row(
                    watch.SAMPLE, array.ctypes.data, self._saved.ctypes.data, len(self._saved) // 2, memory.size // 8,
                    self._digests.ctypes.data, len(self._digests), _MULTIPLIERS.ctypes.data,
                )
            )  # fmt: skip
        return made


def contents_of(container: PythonValue) -> list[PythonValue]:
    """The entries of a container, keys of a dict or bytes of a buffer, read with the builtin class's methods."""
    if isinstance(container, BUFFERS):
        return list(memoryview(container).tobytes())
    kind: PythonValue = next(kind for kind in (tuple, list, OrderedDict, dict, set, frozenset, deque) if isinstance(container, kind))
    return list(kind.__iter__(container))


def called(is_same: Callable[[], bool], keep: list[object]) -> list[watch.Row]:
    """A row that calls a Python function."""
    keep.append(is_same)
    return [watch.Row(watch.CALL, id(is_same), 0, id(True))]


def _are_same(ours: Sequence[object], theirs: Sequence[object]) -> bool:
    return len(ours) == len(theirs) and all(a is b for a, b in zip(ours, theirs))


def _header(array: np.ndarray) -> Hashable:
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype


def _memory(array: np.ndarray) -> np.ndarray | None:
    """The bytes of a contiguous array; None for others, and for references, which NumPy does not show as bytes."""
    if array.dtype.hasobject:
        return None
    if array.flags.c_contiguous:
        return array.reshape(-1).view(np.ndarray).view(np.uint8)
    return array.T.reshape(-1).view(np.ndarray).view(np.uint8) if array.flags.f_contiguous else None


def _sampled_offsets(size: int) -> np.ndarray:
    """Offsets of sampled words in this many bytes, the last word included."""
    return np.append(np.arange(SAMPLED_WORDS) * (size // SAMPLED_WORDS // 8 * 8), size - 8).astype(np.int64)


def _words_at(memory: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    return memory[offsets[:, None] + np.arange(8)].view(np.int64)[:, 0]


def _sampled(array: np.ndarray) -> tuple[object, ...]:
    """A sample of the contents, for the key of an array that is not compared at calls."""
    return () if array.dtype.hasobject else (array.reshape(-1)[:: array.size // 64 + 1].tobytes(),)


def _digests(memory: np.ndarray) -> np.ndarray:
    """One number for each block of words, which changes with any of them."""
    words = memory[: memory.size // 8 * 8].view(np.uint64)
    size = watch.BLOCK_WORDS
    whole = len(words) // size
    found = [
        (words[k * size : min(whole, k + _SLAB) * size].reshape(-1, size) * _MULTIPLIERS).sum(axis=1, dtype=np.uint64)
        for k in range(0, whole, _SLAB)
    ]
    # The last block ends with the last word.
    found.append((words[-size:] * _MULTIPLIERS).sum(keepdims=True, dtype=np.uint64))
    return np.concatenate(found)


_SLAB = 1024
