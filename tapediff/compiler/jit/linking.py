"""The linker: links object code into this process, and finds code again that is linked or was made recently."""

from __future__ import annotations

import hashlib
import sys
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING

from ...base.operating_system import IS_MACOS, heap_functions
from ...base.uninterrupted import uninterrupted
from ..llvm.cpu import is_x86

if TYPE_CHECKING:
    from llvmlite.binding import LLJIT, TargetMachine

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
        symbols: those that it calls by given addresses.
    """

    __slots__ = ("__weakref__", "_linker", "_tracker", "address", "code", "digest", "is_portable", "symbols")

    def __init__(
        self, llvm: ModuleType, linker: LLJIT, digest: bytes, code: bytes, name: str, addresses: Mapping[str, int], number: int
    ) -> None:  # fmt: skip
        self._linker, self.digest, self.code, self.is_portable = linker, digest, code, False
        self.symbols = frozenset(addresses)
        builder = llvm.JITLibraryBuilder().add_object_img(code).export_symbol(name).add_current_process()
        for symbol, address in sorted({**heap_functions(), **addresses}.items()):
            builder.import_symbol(symbol, address)
        self._tracker = builder.link(linker, f"tapediff_library_{number}")
        self.address: int = self._tracker[name]

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # At interpreter shutdown all else may be gone already.
        if hasattr(self, "_tracker") and not is_finalizing():
            self._unload()

    @uninterrupted
    def _unload(self) -> None:
        """Free the code, and then the linker with its last library."""
        self._tracker.close()
        del self._tracker, self._linker


# LLVM has two linkers. The older one, slightly faster, aborts the process on arm64 if a kernel is more than 4 GB from the table of the
# addresses it uses, and nothing keeps them together. LLVM's own default there, and on macOS, is the newer one.
USES_JIT_LINK = not is_x86() or IS_MACOS


def digest_of(text: str, quickly: bool) -> bytes:
    return hashlib.blake2b(text.encode() + (b"quickly" if quickly else b""), digest_size=32).digest()


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

    def link(
        self, llvm: ModuleType, make_machine: Callable[[], TargetMachine], digest: bytes, code: bytes, name: str,
        addresses: Mapping[str, int],
    ) -> Library:  # fmt: skip
        """Link object code.

        Raises:
            RuntimeError: the linker refuses it.
        """
        if self._left <= 0:
            engine = llvm.create_lljit_compiler(make_machine(), use_jit_link=USES_JIT_LINK)
            self._engine, self._left = engine, LIBRARIES_OF_A_LINKER
        self._left -= 1
        assert self._engine is not None
        library = Library(llvm, self._engine, digest, code, name, addresses, self._left)
        key = (digest, name, *sorted(addresses.items()))
        self._libraries[key] = library
        self._note(key, library)
        self._codes[digest] = code
        self._codes.move_to_end(digest)
        while len(self._codes) > 1 and sum(map(len, self._codes.values())) > MOST_CODE_BYTES:
            self._codes.popitem(last=False)
        return library

    def _note(self, key: _Key, library: Library) -> None:
        self._recent[key] = library
        self._recent.move_to_end(key)
        while len(self._recent) > MOST_RECENT:
            self._recent.popitem(last=False)
