"""The toolchain: everything native that a process has once, and the numbers and threads by which native code refers to Python's objects."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Hashable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from ...base.fork_locks import new_lock
from ...base.held_locks import holding
from ...base.operating_system import at_fork
from .linking import Linker

if TYPE_CHECKING:
    from llvmlite.binding import ContextRef, ModulePassManager, TargetMachine

T = TypeVar("T")

# Indices of `pause_words`: the main thread, and the number of threads to stop.
MAIN, STOPS = range(2)


class Machines(NamedTuple):
    """LLVM, set up for this processor.

    Attributes:
        llvm: llvmlite's binding.
        usual, quick: target machines, one of which leaves out the slowest optimisations.
        managers: pass managers, by the names of their passes. Reused, as LLVM leaks 3 kB with each.
    """

    llvm: ModuleType
    usual: TargetMachine
    quick: TargetMachine
    managers: dict[tuple[str, ...], ModulePassManager]


class Toolchain:
    """The native side of the process, a singleton: `toolchain`.

    Locks: LLVM_LOCK (base/fork_locks.py) is held while `machines` and `linker` change, and a fork waits for it. `lock` is held while
    something is made once, which may take LLVM_LOCK, never the other way round, and runs no user code. All else changes by one operation on
    a dictionary or set.

    After a fork the child keeps everything, since native code and its objects are in its copy of the memory; except the threads to
    stop: it has none of them.

    Attributes:
        machines: None until the first text is compiled.
        context: the LLVM context that texts are parsed in; and the bytes of text so far.
        linker: links code, and remembers recent code.
        directory_bytes: the size of each directory of the kernel cache, as far as this process knows; looked up at its first write, and
            whenever it would exceed the limit.
        pending: the pending exceptions of native code, by thread. Not thread-local storage: Python drops that of foreign threads each time
            they leave it.
        outermost: by thread that is calling callees, the start of its stack of calls.
        stopping: the threads whose loops are to raise KeyboardInterrupt.
        pause_words: the words about `stopping` that loops read, at MAIN and STOPS.
        immortal: objects whose addresses are in machine code that others made, which may live as long as the process.
    """

    def __init__(self) -> None:
        self.lock = new_lock()
        self.machines: Machines | None = None
        self.context: ContextRef | None = None
        self.context_bytes = 0
        self.linker = Linker()
        self.directory_bytes: dict[str, int] = {}
        self.pending: dict[int, BaseException] = {}
        self.outermost: dict[int, int] = {}
        self.stopping: set[int] = set()
        self.pause_words = np.zeros(2, np.int64)
        self.immortal: list[object] = []
        self._once: dict[tuple[Hashable, ...], object] = {}
        self._counters: dict[Hashable, Iterator[int]] = {}
        self._numbered: dict[type, weakref.WeakValueDictionary[int, object]] = {}
        self.forget_threads()

    def forget_threads(self) -> None:
        self.stopping.clear()
        self.pause_words[MAIN], self.pause_words[STOPS] = threading.main_thread().ident or 0, 0

    def once(self, key: tuple[Hashable, ...], make: Callable[[], T]) -> T:
        """The object that `make` returned for this key at first use; never freed, since native code has its address.

        Args:
            key: begins with a name for the kind of object, so that `make` always returns the same type.
        """
        known = self._once.get(key)
        return known if known is not None else self._make_once(key, make)  # type: ignore[return-value]

    def made_once(self) -> list[tuple[tuple[Hashable, ...], object]]:
        """The objects that `once` has made so far, with their keys."""
        return list(self._once.items())

    @holding("lock")
    def _make_once(self, key: tuple[Hashable, ...], make: Callable[[], T]) -> object:
        known = self._once.get(key)
        if known is None:
            known = self._once[key] = make()
        return known

    def number(self, kind: type[T], thing: T) -> int:
        """A number by which native code refers to an object, valid while somebody holds it."""
        numbered = self._numbered.get(kind)
        if numbered is None:
            numbered = self._numbered.setdefault(kind, weakref.WeakValueDictionary())
        number = self.next_number(kind)
        numbered[number] = thing
        return number

    def count(self, kind: type) -> int:
        """The number of live objects of a kind that have a number."""
        return len(self._numbered.get(kind, ()))

    def next_number(self, kind: Hashable) -> int:
        return next(self._counters.get(kind) or self._counters.setdefault(kind, itertools.count(1)))

    def numbered(self, kind: type[T], number: int) -> T:
        """The object with a number."""
        found = self._numbered[kind][number]
        assert isinstance(found, kind)
        return found


toolchain = Toolchain()
at_fork(after_in_child=toolchain.forget_threads)
