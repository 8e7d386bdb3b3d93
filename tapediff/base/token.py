"""Tokens: texts that identify contents, in every process. Caches on disk (joblib, Dask) use them as keys."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Iterator
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, TypeAlias

import numpy as np

from .source_location import Site

try:
    from _blake2 import blake2b as blake2b  # hashlib's own, without OpenSSL, which takes 3 ms to load
except ImportError:
    from hashlib import blake2b as blake2b

# A value of the user's program or of a tape, whose attributes are read once its type is known.
Value: TypeAlias = Any


def token_of(kind: str, *parts: Value) -> str:
    """The token of an object of some kind that consists of these parts."""
    return kind + "-" + _Digests().of((kind, *parts)).hex()


def is_hashed_by_joblib() -> bool:
    """True if joblib.hash called the calling __reduce_ex__: it hashes what pickle would write, counts and times included."""
    pickler = sys._getframe(2).f_locals.get("self")
    return type(pickler).__module__ == "joblib.hashing"


_NAMED = (BuiltinFunctionType, type, np.ufunc, ModuleType)


class _Digests:
    """Digests of values, each computed once."""

    def __init__(self) -> None:
        # Holds the value, so that its id is not reused.
        self._known: dict[int, tuple[Value, bytes]] = {}
        self._package = ""

    def of(self, value: Value) -> bytes:
        """The digest of a value's contents; for a function, of its code and everything it refers to."""
        known = self._known.get(id(value))
        if known is not None:
            return known[1]
        self._known[id(value)] = value, b"a part of itself"
        from hashlib import sha256

        made = sha256()
        for part in self._parts(value):
            made.update(part)
        self._known[id(value)] = value, made.digest()
        return made.digest()

    def _parts(self, value: Value) -> Iterator[bytes]:
        kind = type(value)
        yield f"{kind.__module__}.{kind.__qualname__} ".encode()
        if issubclass(kind, Site):
            return  # source locations do not matter
        if kind is str or kind is bytes or kind is bytearray:
            yield value.encode() if kind is str else bytes(value)
        elif value is None or kind in (bool, int, complex, range):
            yield repr(value).encode()
        elif kind is float:
            yield value.hex().encode()
        elif isinstance(value, (np.ndarray, np.generic)):
            yield from self._array(np.asarray(value))
        elif isinstance(value, np.dtype):
            yield value.str.encode()
        elif kind in (tuple, list):
            yield from map(self.of, value)
        elif kind is dict:
            yield from (self.of(part) for item in value.items() for part in item)
        elif kind in (set, frozenset):
            yield from sorted(map(self.of, value))
        elif hasattr(kind, "__dask_tokenize__"):
            yield self.of(value.__dask_tokenize__())
        else:
            yield from self._object(value)

    def _array(self, array: np.ndarray) -> Iterator[bytes]:
        yield f"{array.dtype.str} {array.shape}".encode()
        if array.dtype.hasobject:
            yield self.of(array.tolist())
        else:
            yield array.tobytes()

    def _object(self, value: Value) -> Iterator[bytes]:
        if isinstance(value, _NAMED):
            yield _place(value)
        elif isinstance(value, FunctionType):
            yield from self._function(value)
        elif isinstance(value, CodeType):
            yield from self._code(value)
        elif isinstance(value, MethodType):
            yield from self._all((value.__func__, value.__self__))
        elif isinstance(value, functools.partial):
            yield from self._all((value.func, value.args, value.keywords))
        elif isinstance(value, CellType):
            yield b"" if value == CellType() else self.of(value.cell_contents)
        else:
            yield from self._reduced(value)

    def _all(self, values: Iterable[Value]) -> Iterator[bytes]:
        yield from map(self.of, values)

    def _function(self, f: FunctionType) -> Iterator[bytes]:
        """The code of the program's own functions and what it refers to; the name of functions from other packages."""
        package = str(f.__module__).partition(".")[0]
        if package != __name__.partition(".")[0]:
            self._package = self._package or package
            if package != self._package:
                yield _place(f)
                return
        yield from self._all((f.__code__, f.__defaults__, f.__kwdefaults__, f.__closure__))
        if package != self._package:
            return  # a wrapper of this package's
        names = sorted(set(_names_in(f.__code__)) & set(f.__globals__))
        yield from (self.of((name, f.__globals__[name])) for name in names)

    def _code(self, code: CodeType) -> Iterator[bytes]:
        yield code.co_code
        yield from self._all((code.co_consts, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars))
        yield from self._all((code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags))

    def _reduced(self, value: Value) -> Iterator[bytes]:
        """The contents as pickle would write them, else the attributes."""
        try:
            reduced = value.__reduce_ex__(4)
        except Exception:  # noqa: BLE001 -- user code refuses as it likes
            yield self.of(getattr(value, "__dict__", None))
            return
        if isinstance(reduced, str):
            yield reduced.encode()
            return
        yield from (self.of(list(part) if hasattr(part, "__next__") else part) for part in reduced)


def _place(value: Value) -> bytes:
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", "")
    return f"{getattr(value, '__module__', '')}.{name}".encode()


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)
