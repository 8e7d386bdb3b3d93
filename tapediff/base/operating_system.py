"""All that depends on the operating system: its limits, forks, the C library's heap, and files that nobody else can write to.

The tests run on Linux. The rest is written after the documentation of macOS and Windows, and runs in the tests in a process that
lacks what these lack. What depends on the processor is in `compiler/llvm/cpu.py`, what kernels need in `compiler/llvm/c_library.py`.
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

# Whether files can be opened in a directory that was checked before, and have an owner: what a cache of code has to rely on.
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


# What is raised by an import for which there is no memory: Python, the linker and the modules themselves say many things.
IMPORT_FAILURES = (ImportError, OSError, SystemError, SyntaxError)

# As much as the largest library needs that is imported when it is first called.
_ROOM = 1 << 28


def raise_if_out_of_memory(raised: Exception) -> None:
    """Raise MemoryError where an import has failed and there is little memory. What is left of it is asked for, as no text tells."""
    try:
        mmap.mmap(-1, _ROOM).close()  # addresses alone, as nothing is written
    except (OSError, MemoryError):
        raise MemoryError(f"no memory for what is imported at the first call: {type(raised).__name__}: {raised}") from raised


def stack_bytes() -> int:
    """How large the stack of a thread may grow."""
    if resource is None:
        return _USUAL_STACK
    size = resource.getrlimit(resource.RLIMIT_STACK)[0]
    return _USUAL_STACK if size == resource.RLIM_INFINITY else size


def available_threads() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def heap_functions() -> dict[str, int]:
    """Addresses of the functions for aligned memory, which the C library of Windows has under names of its own; none elsewhere.

    They are looked up here as a process may have several C libraries, each with a heap of its own.
    """
    if not IS_WINDOWS:
        return {}
    library, names = ctypes.CDLL("ucrtbase"), ("_aligned_malloc", "_aligned_realloc", "_aligned_free")
    return {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in names}


@cache
def free() -> Callable[[int], None]:
    """The function that frees what generated code has allocated."""
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    return prototype(heap_functions()["_aligned_free"] if IS_WINDOWS else ("free", ctypes.CDLL(None)))


@contextmanager
def private_directory(path: str) -> Generator[int]:
    """A directory, made if it is not there; files in it are opened relative to what was checked here. A link to one is not followed.

    Raises:
        OSError: there is none that only this user can write to.
    """
    # With one of these at its end a path is that of what a link leads to.
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
    """Whether a file or directory is this user's, and nobody else can write to it."""
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def open_to_read(name: str, directory: int) -> int:
    """A handle of a file in a directory. Links are not followed, and a pipe is not waited for."""
    return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=directory)


def open_new(name: str, directory: int) -> int:
    """A handle of a file that was not there before."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(name, flags, 0o600, dir_fd=directory)
