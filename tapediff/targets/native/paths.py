"""The paths of a GuardedTape for native code: their kernels in a dispatch table, and the jumps between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...base.fork_locks import new_lock
from ...base.held_locks import holding
from ...compiler.runtime.call_frame import ONCE, Frame
from ...compiler.runtime.callbacks import take_pending
from ...compiler.runtime.callees.dispatch_loop import CURRENT
from ...compiler.runtime.callees.dispatch_table import DispatchTable, NativeVariant
from ...compiler.runtime.entries import address_call, python_entry
from ...compiler.runtime.status import AGAIN, FAILURE
from ...errors import StaleTape
from ...ir.instruction import FLOAT_SCALAR, Outcome
from .errors import lost_error

if TYPE_CHECKING:
    from ...compiler.kernel import Kernel
    from .owner import CompiledPath, PathsOwner


class Path:
    """The kernel of one path in the form that dispatch loops run.

    Attributes:
        address, state: of the adapter and its state block, as for a kernel; the state begins with the words of address_call.PATH.
        noted: how many of its calls have been counted as hits.
    """

    def __init__(self, variant: CompiledPath, kernel: Kernel, address: int, state: np.ndarray, keeps: object = None) -> None:
        self.variant, self.kernel, self.address, self.state = variant, kernel, address, state
        self.noted = 0
        # Arrays whose addresses the state holds.
        self._keeps = keeps


class PathsDispatch:
    """The kernels of some paths for one kind of call; native code runs the one that holds.

    Attributes:
        words: as in address_call.CALL.
    """

    words: np.ndarray

    def __init__(self, guarded: PathsOwner) -> None:
        self._guarded, self._reads = guarded, guarded.reads
        self._lock = new_lock()
        self._paths: dict[CompiledPath, Path] = {}
        self._table = PathsTable(self)
        # Old tables, from before a tape was dropped, which calls may still be using.
        self._retired: list[PathsTable] = []

    def answer(self, table: PathsTable, frame: Frame, asker: Path | None, status: int, outcome: int) -> int:
        """Run one call by the GuardedTape; then native code takes the same path by itself, if it may."""
        raise NotImplementedError

    def path_of(self, variant: CompiledPath) -> Path | None:
        """The kernel of a path, compiled if needed; None if native code may not run it."""
        raise NotImplementedError

    def _raise_pending(self, status: int) -> None:
        """Raise the pending exception of a path.

        Raises:
            StaleTape: a path would be recorded, but the environment has changed since the address was taken.
        """
        if self._guarded.reads != self._reads:
            raise StaleTape(
                f"{self._guarded.name} takes a path that has no tape yet, and what it reads has changed since the call was bound, or its "
                "address taken", at="", got="a path that was not recorded before", fix="bind it again, or take the address again",
            )  # fmt: skip
        if status == AGAIN:
            raise take_pending() or lost_error()

    def _learn(self, variant: CompiledPath, table: PathsTable, asker: Path | None, status: int, outcome: int) -> None:
        """Make native code try this tape next, and after the same failed guard."""
        # Made before the lock is taken, as it may compile.
        path = self._paths.get(variant) or self.path_of(variant)
        if path is not None and self._guarded.keeps(variant):
            self._add(variant, path, table, asker, status, outcome)

    @holding("_lock")
    def _add(
        self, variant: CompiledPath, path: Path, table: PathsTable, asker: Path | None, status: int, outcome: int
    ) -> None:
        if not self._guarded.keeps(variant):
            return
        path = self._paths.get(variant, path)
        # Safe against interrupts at any line: every path in `_paths` is in the table already, and the table is the one in use.
        self.words[address_call.TABLE] = self._table.address
        if path not in self._table.natives:
            self._table.add(path)
            self._paths[variant] = path
            self._connect(variant, self._table.natives[path])
            self.words[address_call.RELEASES_GIL] |= path.kernel.state[python_entry.RELEASES_GIL]
        native = self._table.natives[path]
        self._table.words[CURRENT] = native.address
        if table is not self._table or asker is None or asker is path or not 0 < status < FAILURE:
            return
        # Native code does not compare arrays, so they have no outcome value.
        if not isinstance(asker.variant.outcomes[status - 1], np.ndarray):
            table.natives[asker].add_jump(status, outcome, native)

    def _connect(self, variant: CompiledPath, native: NativeVariant) -> None:
        """Connect this path with those that diverge from it, both ways: a fork is the same guard for all paths that reach it."""
        # Copied first: another thread may record a path meanwhile.
        for ordinal, fork in list(variant.forks.items()):
            side, outcome = variant.path[ordinal], variant.outcomes[ordinal]
            # Native code does not compare arrays, so they have no outcome value.
            if isinstance(outcome, np.ndarray):
                continue
            for other_side, others in list(fork.tapes.items()):
                known = [] if other_side == side else [v for v in others if v in self._paths]
                for other in known:
                    self._table.natives[self._paths[other]].add_jump(ordinal + 1, _reported(outcome), native)
                if known:
                    last = self._table.natives[self._paths[known[-1]]]
                    native.add_jump(ordinal + 1, _reported(known[-1].outcomes[ordinal]), last)

    # Called by the tape cache

    @holding("_lock")
    def note_uses(self) -> None:
        """Count the native calls so far as hits and uses of their tapes, the current tape as the latest."""
        self._drop_retired(None, 0)
        current = int(self._table.words[CURRENT])
        for path in sorted(self._paths.values(), key=lambda path: self._table.natives[path].address == current):
            hits = int(path.state[address_call.HITS])
            if hits != path.noted:
                path.variant.hits += hits - path.noted
                path.noted = hits
                self._guarded.note_native_use(path.variant)

    @holding("_lock")
    def forget_dropped(self) -> None:
        """Remove the dropped tapes; calls under way continue in their table."""
        self._drop_retired(None, 0)
        kept = {v: p for v, p in self._paths.items() if self._guarded.keeps(v)}
        if len(kept) == len(self._paths):
            return
        made = PathsTable(self)
        for path in kept.values():
            made.add(path)
        self._retired.append(self._table)
        self._table, self._paths = made, kept
        for variant, path in kept.items():
            self._connect(variant, made.natives[path])
        self.words[address_call.TABLE] = self._table.address

    @holding("_lock")
    def _free_retired(self, table: PathsTable | None, own: int) -> None:
        self._drop_retired(table, own)

    def _drop_retired(self, table: PathsTable | None, own: int) -> None:
        """Free old tables if the only calls under way are `own` many of this thread, in `table`. Call under the lock."""
        # New calls cannot find them.
        if self._retired and self.words[address_call.ACTIVE] == own:
            used = self.words[address_call.TABLE]
            self._retired = [old for old in self._retired if old is table or old.address == used]


class PathsTable(DispatchTable):
    """The native side of a PathsDispatch. It keeps the kernels alive that native code finds through it."""

    def __init__(self, owner: PathsDispatch) -> None:
        # A frame holds one address, of the list of addresses.
        super().__init__((FLOAT_SCALAR,), (), ONCE)
        self._owner = owner
        self.natives: dict[Path, NativeVariant] = {}
        self._paths_by_address: dict[int, Path] = {}

    def add(self, path: Path) -> None:
        native = NativeVariant(path, path.variant.number)
        # Safe against interrupts at any line: every path in `natives` is in the other table already.
        self._paths_by_address[native.address] = path
        self.natives[path] = native

    def answer(self, frame: Frame, asker: int, status: int, outcome: int) -> int:
        return self._owner.answer(self, frame, self._paths_by_address.get(asker), status, outcome)


def _reported(outcome: Outcome) -> int:
    """The outcome of a guard on a number as kernels report it: the bits of a double."""
    return int(np.float64(outcome).view(np.int64))
