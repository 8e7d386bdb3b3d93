"""Everything that depends on the operating system: limits, forks, the C library's heap, and files that nobody else can write to.

The tests run on Linux. The rest follows the documentation of macOS and Windows, and is tested in a process that lacks what these
systems lack. `compiler/llvm/cpu.py` has what depends on the processor, `compiler/llvm/c_library.py` what kernels need.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import stat
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import cache

try:
    import resource
except ImportError:  # Windows has no such module
    resource = None

IS_WINDOWS, IS_MACOS = sys.platform == "win32", sys.platform == "darwin"

# Bytes of stack of a thread, where the system sets no limit or does not tell.
_USUAL_STACK = (1 << 20) if IS_WINDOWS else (2 << 20)

# True if files have an owner and can be opened relative to a checked directory, as a cache of code requires.
HAS_PRIVATE_FILES = (
    all(hasattr(os, name) for name in ("geteuid", "O_NOFOLLOW", "O_DIRECTORY", "O_CLOEXEC", "O_NONBLOCK"))
    and {os.open, os.stat, os.rename, os.unlink} <= os.supports_dir_fd
    and os.utime in os.supports_fd
)  # fmt: skip


def at_fork(
    *, before: Callable[[], None] | None = None, after_in_parent: Callable[[], None] | None = None,
    after_in_child: Callable[[], None] | None = None,
) -> None:  # fmt: skip
    """Have functions called around each fork, on systems that fork."""
    hooks = {"before": before, "after_in_parent": after_in_parent, "after_in_child": after_in_child}
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(**{name: hook for name, hook in hooks.items() if hook is not None})  # type: ignore[call-overload]


def memory_bytes() -> int | None:
    """This machine's memory; None where the system does not tell."""
    if not hasattr(os, "sysconf") or not {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= os.sysconf_names.keys():
        return None
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


# Errors of an import that ran out of memory, from Python, the linker or the modules themselves.
IMPORT_FAILURES = (ImportError, OSError, SystemError, SyntaxError)

# Memory that the largest lazily imported library needs.
_ROOM = 1 << 28


def raise_if_out_of_memory(raised: Exception) -> None:
    """Raise MemoryError if an import has failed and memory is short. A trial allocation tells, as the error's text does not."""
    try:
        mmap.mmap(-1, _ROOM).close()  # addresses alone, as nothing is written
    except (OSError, MemoryError):
        raise MemoryError(f"no memory for what is imported at the first call: {type(raised).__name__}: {raised}") from raised


def stack_bytes() -> int:
    """The largest stack of a thread, in bytes."""
    if resource is None:
        return _USUAL_STACK
    size = resource.getrlimit(resource.RLIMIT_STACK)[0]
    return _USUAL_STACK if size == resource.RLIM_INFINITY else size


def available_threads() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def heap_functions() -> dict[str, int]:
    """Addresses of the functions for aligned memory, which have names of their own in the C library of Windows; empty elsewhere.

    They are looked up here because a process may have several C libraries, each with its own heap.
    """
    if not IS_WINDOWS:
        return {}
    library, names = ctypes.CDLL("ucrtbase"), ("_aligned_malloc", "_aligned_realloc", "_aligned_free")
    return {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in names}


@cache
def free() -> Callable[[int], None]:
    """The function that frees memory allocated by generated code."""
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    return prototype(heap_functions()["_aligned_free"] if IS_WINDOWS else ("free", ctypes.CDLL(None)))


@contextmanager
def private_directory(path: str) -> Generator[int]:
    """Open a directory, making it if needed, so that files are opened relative to the checked handle. A link is not followed.

    Raises:
        OSError: it is a link, has another owner, others can write to it, or it cannot be made.
    """
    # With one of these endings a path denotes the target of a link.
    while path.endswith(("/", "/.")) and len(path) > 1:
        path = path[:-1]
    with suppress(FileExistsError):
        os.makedirs(path, mode=0o700)
    if os.path.islink(path):
        raise PermissionError(f"{path} is a link, which somebody may lead elsewhere")
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not is_private(os.fstat(handle)):
            raise PermissionError(f"{path} belongs to somebody else, or others can write to it")
        yield handle
    finally:
        os.close(handle)


def is_private(found: os.stat_result) -> bool:
    """True if this user owns a file or directory, and nobody else can write to it."""
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def open_to_read(name: str, directory: int) -> int:
    """Open a file in a directory, without following links or waiting for a pipe."""
    return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=directory)


def open_new(name: str, directory: int) -> int:
    """Create a file, which must not exist, and return its handle."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(name, flags, 0o600, dir_fd=directory)
