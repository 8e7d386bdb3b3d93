"""Links object code into this process, and finds code again that is linked already or was made a short while ago."""

from __future__ import annotations

import hashlib
import itertools
import sys
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING

from ...base.operating_system import IS_MACOS, heap_functions
from ..llvm.cpu import is_x86

if TYPE_CHECKING:
    from llvmlite.binding import LLJIT, TargetMachine

# LLVM's linker keeps 9 kB for everything that it ever linked, and 120 kB for itself. So one serves for so many libraries, and goes
# with the last of them.
LIBRARIES_OF_A_LINKER = 16

# Libraries that nobody uses any more and object code, in bytes, that are kept in case they are asked for again.
MOST_RECENT = 64
MOST_CODE_BYTES = 1 << 20

_numbers = itertools.count()


class Library:
    """Linked code, which is freed with this object.

    Attributes:
        address: of the function that it exports.
    """

    __slots__ = ("__weakref__", "_linker", "_tracker", "address")

    def __init__(self, llvm: ModuleType, linker: LLJIT, code: bytes, name: str, addresses: Mapping[str, int]) -> None:
        self._linker = linker
        builder = llvm.JITLibraryBuilder().add_object_img(code).export_symbol(name).add_current_process()
        for symbol, address in sorted({**heap_functions(), **addresses}.items()):
            builder.import_symbol(symbol, address)
        self._tracker = builder.link(linker, f"tapediff_library_{next(_numbers)}")
        self.address: int = self._tracker[name]

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # Before its linker goes. At the end of the process nothing else may be there any more.
        tracker = getattr(self, "_tracker", None)
        if tracker is not None and not is_finalizing():
            tracker.close()


class _Linker:
    """The linker of the next libraries, and how many there may be."""

    engine: LLJIT | None = None
    left = 0


# A text's digest, the name of its function, and the addresses that it calls.
_Key = tuple[object, ...]

# All of these are changed under the lock of compiler.jit.native_function alone.
_linker = _Linker()
_libraries: weakref.WeakValueDictionary[_Key, Library] = weakref.WeakValueDictionary()
_recent: OrderedDict[_Key, Library] = OrderedDict()
_codes: OrderedDict[bytes, bytes] = OrderedDict()


def digest_of(text: str, quickly: bool) -> bytes:
    return hashlib.blake2b(text.encode() + (b"quickly" if quickly else b""), digest_size=32).digest()


def known_library(digest: bytes, name: str, addresses: Mapping[str, int]) -> Library | None:
    """The library of a text that calls these addresses, if there is one still."""
    key = (digest, name, *sorted(addresses.items()))
    library = _libraries.get(key)
    if library is not None:
        _note(key, library)
    return library


def known_code(digest: bytes) -> bytes | None:
    """The object code of a text, if it was made a short while ago."""
    return _codes.get(digest)


# LLVM has two linkers. The older one, which is a little faster, aborts the process on arm64 where a kernel lies more than 4 GB from the
# table of the addresses it uses, and nothing keeps them together. LLVM's own choice there, and on macOS, is the newer one.
USES_JIT_LINK = not is_x86() or IS_MACOS


def link(
    llvm: ModuleType, make_machine: Callable[[], TargetMachine], digest: bytes, code: bytes, name: str, addresses: Mapping[str, int]
) -> Library:
    """Link object code.

    Raises:
        RuntimeError: the linker refuses it.
    """
    if _linker.left <= 0:
        engine = llvm.create_lljit_compiler(make_machine(), use_jit_link=USES_JIT_LINK)
        _linker.engine, _linker.left = engine, LIBRARIES_OF_A_LINKER
    _linker.left -= 1
    assert _linker.engine is not None
    library = Library(llvm, _linker.engine, code, name, addresses)
    key = (digest, name, *sorted(addresses.items()))
    _libraries[key] = library
    _note(key, library)
    _codes[digest] = code
    _codes.move_to_end(digest)
    while len(_codes) > 1 and sum(map(len, _codes.values())) > MOST_CODE_BYTES:
        _codes.popitem(last=False)
    return library


def _note(key: _Key, library: Library) -> None:
    _recent[key] = library
    _recent.move_to_end(key)
    while len(_recent) > MOST_RECENT:
        _recent.popitem(last=False)
