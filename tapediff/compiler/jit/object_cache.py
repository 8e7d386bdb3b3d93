"""Keeps object code on disk between processes: one file for each kernel, named by a digest of all that its machine code depends on; and the
facts of recipes.py.

Off unless the environment variable TAPEDIFF_CACHE_DIR names a directory. The code in it is run, so the directory and its files must belong
to the user, and be writable by nobody else; if the system cannot tell (Windows), it stays off. Any fault of the directory, a file or the
disk is a miss: the kernel is compiled as without a cache.
"""

from __future__ import annotations

import importlib
import os
import re
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from functools import cache

import numpy as np

from ...base.operating_system import HAS_PRIVATE_FILES, is_private, open_new, open_to_read, private_directory
from ...base.settings import settings
from ...base.token import blake2b
from ...base.uninterrupted import uninterrupted
from .toolchain import toolchain

# Beyond this many bytes the least recently used files are deleted.
MOST_BYTES = 512 << 20

# A temporary file older than this, in seconds, belongs to a process that died before renaming it.
OLDEST_UNFINISHED = 3600.0

# Changes with the layout of the files.
MAGIC = b"tapediff object 1\n"
DIGEST_BYTES = 32
_HEADER_BYTES = len(MAGIC) + 2 * DIGEST_BYTES

# The endings of names: of object code, and of what recipes.py keeps.
CODE, FACTS = ".o", ".facts"
_UNFINISHED = ".unfinished"
# File names: the key; for temporary files, also the process and a random number. Any other file is not the cache's.
_OWN = re.compile(rf"[0-9a-f]{{{2 * DIGEST_BYTES}}}(\.o|\.facts|\.[0-9]+\.[0-9a-f]{{8}}{re.escape(_UNFINISHED)})")


def is_enabled() -> bool:
    return HAS_PRIVATE_FILES and settings.cache_directory is not None


def key_of(text: str, options: Sequence[str]) -> bytes:
    """The name of a kernel: equal only if all known inputs of its machine code are.

    Args:
        text: LLVM text without addresses of this process.
        options: the code generator's options, and its target processor.
    """
    digest = blake2b(digest_size=DIGEST_BYTES)
    for part in (*versions(), *options, text):
        encoded = part.encode()
        # Lengths first, so that different lists of parts never join to the same bytes.
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    return digest.digest()


@cache
@uninterrupted
def versions() -> tuple[str, ...]:
    """The interpreter, and the packages that text, code or the meaning of symbols depend on."""
    llvm = f"llvm {importlib.import_module('llvmlite.binding').llvm_version_info}"
    return llvm, *packages()


@cache
def packages() -> tuple[str, ...]:
    """The same without LLVM's own version, which takes its import."""
    own = f"tapediff {importlib.import_module('tapediff').__version__}"
    return own, sys.version, np.__version__, *map(_installed, ("llvmlite", "numba", "scipy"))


def _installed(name: str) -> str:
    """The name of pip's metadata directory of a package: importlib.metadata takes 30 ms to find the version."""
    for place in sys.path:
        with suppress(OSError):
            for entry in os.listdir(place or "."):
                if entry.startswith(f"{name}-") and entry.endswith((".dist-info", ".egg-info")):
                    return entry
    return f"{name} {importlib.import_module(name).__version__}"


def load(key: bytes, kind: str = CODE) -> bytes | None:
    """The object code or facts under a key, or None if missing, damaged or not trusted."""
    with suppress(OSError), _directory() as directory:
        handle = open_to_read(key.hex() + kind, directory)
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode) or not is_private(found) or found.st_size > MOST_BYTES:
                return None
            content = _payload(file.read(), key)
            if content is not None:
                # Note the time of the last use, as the file system may not.
                with suppress(OSError):
                    os.utime(handle)
            return content
    return None


def _payload(file: bytes, key: bytes) -> bytes | None:
    header, content = file[:_HEADER_BYTES], file[_HEADER_BYTES:]
    return content if header == MAGIC + key + _checksum(content) else None


def _checksum(content: bytes) -> bytes:
    return blake2b(content, digest_size=DIGEST_BYTES).digest()


def store(key: bytes, content: bytes, kind: str = CODE) -> None:
    """Keep object code or facts under a key if possible: all of it or nothing, whatever happens meanwhile."""
    with suppress(OSError), _directory() as directory:
        unfinished = f"{key.hex()}.{os.getpid()}.{os.urandom(4).hex()}{_UNFINISHED}"
        handle = open_new(unfinished, directory)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(MAGIC + key + _checksum(content) + content)
                file.flush()
                # Sync before the rename: after a power failure the name must not refer to an empty file.
                os.fsync(handle)
            os.rename(unfinished, key.hex() + kind, src_dir_fd=directory, dst_dir_fd=directory)
        except BaseException:
            with suppress(OSError):
                os.unlink(unfinished, dir_fd=directory)
            raise
        _keep_within_bound(directory, _HEADER_BYTES + len(content))


def own_files(directory: int) -> Iterator[tuple[str, os.stat_result]]:
    """The cache's own files in a directory, finished or temporary: no others are counted or deleted."""
    for name in filter(_OWN.fullmatch, os.listdir(directory)):
        with suppress(OSError):
            found = os.stat(name, dir_fd=directory, follow_symlinks=False)
            if stat.S_ISREG(found.st_mode):
                yield name, found


def is_finished(name: str) -> bool:
    return not name.endswith(_UNFINISHED)


def _directory() -> AbstractContextManager[int]:
    return private_directory(_path())


def _path() -> str:
    directory = settings.cache_directory
    assert directory is not None, "asked only where the cache is enabled"
    return directory


def _keep_within_bound(directory: int, added: int) -> None:
    """Delete the least recently used files beyond the limit; best effort, other processes do the same."""
    path = _path()
    believed = toolchain.directory_bytes
    believed[path] = believed.get(path, MOST_BYTES) + added
    if believed[path] <= MOST_BYTES:
        return
    files: list[tuple[float, int, str]] = []
    for name, found in own_files(directory):
        if is_finished(name):
            files.append((found.st_mtime, found.st_size, name))
        elif time.time() - found.st_mtime > OLDEST_UNFINISHED:
            with suppress(OSError):
                os.unlink(name, dir_fd=directory)
    total = sum(size for _, size, _ in files)
    for _, size, name in sorted(files):
        if total <= MOST_BYTES:
            break
        with suppress(OSError):
            os.unlink(name, dir_fd=directory)
        total -= size
    believed[path] = total
