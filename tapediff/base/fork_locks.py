"""Locks of processes that fork. A child has only one thread; locks that other threads held at the fork would never be released.

A fork waits until no thread is inside LLVM, whose own locks are not accessible. The locks of this package are reset in the child:
everything they guard is looked up, made, and then stored in one assignment, so nothing is left half done.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Protocol

from .operating_system import at_fork

_locks: weakref.WeakSet[threading.RLock] = weakref.WeakSet()


class _Lock(Protocol):
    """A lock of any package."""

    def acquire(self) -> bool: ...
    def release(self) -> None: ...


def new_lock() -> threading.RLock:
    """A lock that is free in a forked child, unless the forking thread holds it."""
    lock = threading.RLock()
    _locks.add(lock)
    return lock


# Held while LLVM works. Forks wait for it.
LLVM_LOCK = threading.RLock()


class _Forking(threading.local):
    """The locks that this thread holds while it forks, in the order in which they were taken."""

    def __init__(self) -> None:
        self.held: list[_Lock] = []


_forking = _Forking()


def _llvm_locks() -> list[_Lock]:
    """LLVM's locks in locking order: numba's, which compiles callers of kernels; this package's; llvmlite's, around each call."""
    numba = getattr(sys.modules.get("numba.core.compiler_lock"), "global_compiler_lock", None)
    library = getattr(sys.modules.get("llvmlite.binding.ffi"), "lib", None)
    llvmlites = getattr(getattr(library, "_lock", None), "_lock", None)
    locks: tuple[_Lock | None, ...] = (getattr(numba, "_lock", None), LLVM_LOCK, llvmlites)
    return [lock for lock in locks if lock is not None]


# A fork waits for other threads that import modules of these packages, for so many seconds at most: the child could never import them.
_IMPORTED_LATE = ("tapediff", "llvmlite", "numba", "scipy")
_LONGEST_IMPORT = 10.0


def _is_importing() -> bool:
    """True if another thread imports one of these packages. Python has no query for that, but holds a lock for each module meanwhile."""
    locks: dict[str, Callable[[], object]] = getattr(sys.modules.get("importlib._bootstrap"), "_module_locks", {})
    own = threading.get_ident()
    return any(
        getattr(lock(), "owner", None) not in (None, own)
        for name, lock in list(locks.items()) if name.partition(".")[0] in _IMPORTED_LATE
    )  # fmt: skip


def _before() -> None:
    for lock in _llvm_locks():
        lock.acquire()
        _forking.held.append(lock)
    limit = time.monotonic() + _LONGEST_IMPORT
    while _is_importing() and time.monotonic() < limit:
        time.sleep(1e-3)


def _after() -> None:
    while _forking.held:
        _forking.held.pop().release()


def _in_child() -> None:
    _after()
    for lock in list(_locks):
        if not lock._is_owned():  # pyright: ignore[reportAttributeAccessIssue]  # as threading itself does
            lock._at_fork_reinit()  # pyright: ignore[reportAttributeAccessIssue]


at_fork(before=_before, after_in_parent=_after, after_in_child=_in_child)
