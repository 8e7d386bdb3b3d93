"""The linker: links object code into this process, and finds code again that is linked or was made recently.

Most code is loaded by image.py; what it does not know, by LLVM's linker.
"""

from __future__ import annotations

import sys
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING

from ...base.operating_system import IS_MACOS, heap_functions
from ...base.token import blake2b
from ...base.uninterrupted import uninterrupted
from ..llvm.cpu import is_x86
from .image import IS_LOADED_HERE, Image, NotLoaded

if TYPE_CHECKING:
    from llvmlite.binding import LLJIT, ResourceTracker, TargetMachine

# LLVM's linker keeps 9 kB for everything that it ever linked, and 120 kB for itself. So one linker serves this many libraries, and is freed
# with the last of them.
LIBRARIES_OF_A_LINKER = 16

# The unused libraries, and the bytes of object code, that are kept in case they are needed again.
MOST_RECENT = 64
MOST_CODE_BYTES = 1 << 20
# Bytes of code from pickles.
MOST_SENT_BYTES = 16 << 20

# The code in a pickle; and the function that unpacks it to a code for each text digest. See sent_code.py.
Sent = tuple[bytes, bytes]
Unpack = Callable[[Sent], dict[bytes, bytes]]

class Library:
    """Linked code, which is freed with this object.

    Attributes:
        address: the function that it exports.
        digest, code: the text's digest, and the linked object code.
        is_portable: it contains no addresses of this process.
        key: the name of the code on disk; None if it is not kept there.
        symbols: those that it calls by given addresses.
    """

    __slots__ = ("__weakref__", "_linker", "_unit", "address", "code", "digest", "is_portable", "key", "symbols")

    def __init__(
        self, unit: Image | ResourceTracker, linker: LLJIT | None, digest: bytes, code: bytes, name: str, symbols: Iterable[str]
    ) -> None:
        self._unit, self._linker, self.digest, self.code, self.is_portable = unit, linker, digest, code, False
        self.key: bytes | None = None
        self.symbols = frozenset(symbols)
        self.address: int = unit[name]

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # At interpreter shutdown all else may be gone already.
        if getattr(self, "_linker", None) is not None and not is_finalizing():
            self._unload()

    @uninterrupted
    def _unload(self) -> None:
        """Free the code, and then the linker with its last library."""
        self._unit.close()  # type: ignore[union-attr]  # LLVM's
        del self._unit, self._linker


# LLVM has two linkers. The older one, slightly faster, aborts the process on arm64 if a kernel is more than 4 GB from the table of the
# addresses it uses, and nothing keeps them together. LLVM's own default there, and on macOS, is the newer one.
USES_JIT_LINK = not is_x86() or IS_MACOS


def digest_of(text: str, quickly: bool) -> bytes:
    return blake2b(text.encode() + (b"quickly" if quickly else b""), digest_size=32).digest()


# LLVM, and a function that makes its machine for a linker; set up when it is needed.
LLVM = Callable[[], tuple[ModuleType, Callable[[], "TargetMachine"]]]

# A text's digest, the name of its function, and the addresses that it calls.
_Key = tuple[object, ...]

class Linker:
    """Links code, and remembers recent code. Used only under LLVM_LOCK."""

    def __init__(self) -> None:
        # LLVM's linker for the next libraries, and the number of libraries that it still serves.
        self._engine: LLJIT | None = None
        self._left = 0
        self._libraries: weakref.WeakValueDictionary[_Key, Library] = weakref.WeakValueDictionary()
        self._recent: OrderedDict[_Key, Library] = OrderedDict()
        self._codes: OrderedDict[bytes, bytes] = OrderedDict()
        # Code from pickles: packed with its unpacking function, until the first text is compiled; then by text digest.
        self._received: OrderedDict[Sent, Unpack] = OrderedDict()
        self._sent: OrderedDict[bytes, bytes] = OrderedDict()

    def known_library(self, digest: bytes, name: str, addresses: Mapping[str, int]) -> Library | None:
        """The library of a text that calls these addresses, if it still exists."""
        key = (digest, name, *sorted(addresses.items()))
        library = self._libraries.get(key)
        if library is not None:
            self._note(key, library)
        return library

    def known_code(self, digest: bytes) -> bytes | None:
        """The object code of a text, if it was made recently."""
        return self._codes.get(digest)

    def receive(self, sent: Sent, unpack: Unpack) -> None:
        """Keep code from a pickle, still packed, since unpacking takes LLVM. Needs no lock."""
        self._received[sent] = unpack
        while sum(len(content) for _, content in list(self._received)) > MOST_SENT_BYTES and len(self._received) > 1:
            self._received.popitem(last=False)

    def sent_code(self, digest: bytes) -> bytes | None:
        """The code of a text that came in a pickle."""
        while self._received:
            sent, unpack = self._received.popitem()
            self._sent.update(unpack(sent))
        while len(self._sent) > 1 and sum(map(len, self._sent.values())) > MOST_SENT_BYTES:
            self._sent.popitem(last=False)
        return self._sent.get(digest)

    def link(self, llvm: LLVM, digest: bytes, code: bytes, name: str, addresses: Mapping[str, int]) -> Library:
        """Link object code.

        Raises:
            RuntimeError: the linker refuses it.
        """
        try:
            if not IS_LOADED_HERE:
                raise NotLoaded
            library = Library(Image(code, addresses), None, digest, code, name, addresses)
        except NotLoaded:
            library = self._linked_by_llvm(*llvm(), digest, code, name, addresses)
        key = (digest, name, *sorted(addresses.items()))
        self._libraries[key] = library
        self._note(key, library)
        self._codes[digest] = code
        self._codes.move_to_end(digest)
        while len(self._codes) > 1 and sum(map(len, self._codes.values())) > MOST_CODE_BYTES:
            self._codes.popitem(last=False)
        return library

    def _linked_by_llvm(
        self, llvm: ModuleType, make_machine: Callable[[], TargetMachine], digest: bytes, code: bytes, name: str,
        addresses: Mapping[str, int],
    ) -> Library:  # fmt: skip
        if self._left <= 0:
            engine = llvm.create_lljit_compiler(make_machine(), use_jit_link=USES_JIT_LINK)
            self._engine, self._left = engine, LIBRARIES_OF_A_LINKER
        self._left -= 1
        assert self._engine is not None
        builder = llvm.JITLibraryBuilder().add_object_img(code).export_symbol(name).add_current_process()
        for symbol, address in sorted({**heap_functions(), **addresses}.items()):
            builder.import_symbol(symbol, address)
        tracker = builder.link(self._engine, f"tapediff_library_{self._left}")
        return Library(tracker, self._engine, digest, code, name, addresses)

    def _note(self, key: _Key, library: Library) -> None:
        self._recent[key] = library
        self._recent.move_to_end(key)
        while len(self._recent) > MOST_RECENT:
            self._recent.popitem(last=False)
