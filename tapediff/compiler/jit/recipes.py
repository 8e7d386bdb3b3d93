"""Facts on disk by their recipe: by a digest of all that they follow from, so that later processes need neither compute them nor import
what would.

A recipe names what is made, of what input; the digest also covers this package's source files, the versions, the processor and the
settings. The facts of a kernel name its object code, which object_cache.py keeps by its LLVM text: kernels of equal text share it, when a
recipe has changed in what the text does not say, as the numbers of a constant.
"""

from __future__ import annotations

import marshal
import os
import platform
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from typing import Any, TypeAlias

from ...base.operating_system import memory_bytes
from ...base.settings import STARTED, settings
from ...base.token import blake2b
from ..llvm.cpu import processor
from . import object_cache

# Numbers, strings, bytes and None, and tuples of these.
Fact: TypeAlias = Any

_PACKAGE = __name__.partition(".")[0]

# Of marshal: equal values give equal bytes, as it has no references between them.
FORMAT = 2


def key_of(*recipe: Fact) -> bytes | None:
    """The name of a recipe's facts; None where none are kept."""
    environment = _environment(settings.cpu_features) if object_cache.is_enabled() else None
    if environment is None:
        return None
    parts = environment, tuple(sorted(settings.left_out)), recipe
    return blake2b(marshal.dumps(parts, FORMAT), digest_size=object_cache.DIGEST_BYTES).digest()


def recalled(key: bytes | None) -> Fact:
    """The facts under a key; None if there are none."""
    content = None if key is None else object_cache.load(key, object_cache.FACTS)
    return None if content is None else marshal.loads(content)


def remember(key: bytes | None, facts: Fact) -> None:
    """Keep facts, unless the sources have changed: what was imported since the key was made may differ from what it says."""
    if key is not None and _sources() is not None:
        object_cache.store(key, marshal.dumps(facts, FORMAT), object_cache.FACTS)


def known_or_found(key: bytes, find: Callable[[], Fact]) -> Fact:
    """The fact under a key: from disk, or as `find` returns it."""
    known = recalled(key)
    if known is None:
        known = find()
        remember(key, known)
    return known


@cache
def _environment(features: str) -> Fact | None:
    """All that kernels follow from besides their tapes; None if that cannot be told. `features` are the settings' changes to those of the
    processor.
    """
    files = _sources()
    return None if files is None else (object_cache.packages(), files, _processor(), features, memory_bytes())


def _sources() -> Fact | None:
    """The files of this package and of LLVM; None if one has changed since this process began, which may have imported what was there
    before, or if there are none, as in an archive.
    """
    llvm = find_spec("llvmlite")
    folders = [(os.path.dirname(sys.modules[_PACKAGE].__file__ or ""), ".py")]
    if llvm is not None and llvm.origin is not None:
        folders.append((os.path.join(os.path.dirname(llvm.origin), "binding"), ""))
    files, changed = list[Fact](), [0]
    try:
        for folder, suffix in folders:
            _note_files(folder, "", suffix, files, changed)
    except OSError:
        return None
    return tuple(sorted(files)) if max(changed) < STARTED else None


def _note_files(folder: str, below: str, suffix: str, files: list[Fact], changed: list[int]) -> None:
    """Note the names, sizes and times of the files in a folder, by which Python trusts its byte code, too; and when they changed last."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(suffix) and entry.is_file():
                found = entry.stat()
                files.append((below + entry.name, found.st_size, found.st_mtime_ns))
                changed.append(found.st_ctime_ns)
            elif entry.name != "__pycache__" and entry.is_dir(follow_symlinks=False):
                _note_files(entry.path, f"{below}{entry.name}/", suffix, files, changed)


# The lines of /proc/cpuinfo that tell which instructions a processor has. Others, such as its frequency, change.
_OF_MODEL = (b"vendor_id", b"cpu family", b"model", b"stepping", b"flags")


def _processor() -> Fact:
    """The processor's model and features. LLVM would tell them, and takes as long to import as all else."""
    with suppress(OSError, ImportError), open("/proc/cpuinfo", "rb") as file:
        from numpy._core._multiarray_umath import __cpu_features__ as features

        # The first processor of the list; the others are like it.
        lines = file.read(1 << 14).partition(b"\n\n")[0].splitlines()
        told = tuple(line for line in lines if line.startswith(_OF_MODEL))
        if len(told) >= len(_OF_MODEL):
            return platform.machine(), told, tuple(sorted(name for name, has in features.items() if has))
    return processor()
