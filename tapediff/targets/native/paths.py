"""The calls of a GuardedTape: the kernels of its paths in a dispatch table, and the jumps between them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from ...base.fork_locks import new_lock
from ...base.held_locks import holding
from ...compiler.runtime.call_frame import ONCE, Frame, input_word, widened
from ...compiler.runtime.callbacks import take_pending
from ...compiler.runtime.callees.dispatch_loop import CALLBACK, CURRENT, DONE
from ...compiler.runtime.callees.dispatch_table import DispatchTable, NativeVariant
from ...compiler.runtime.entries import address_call, python_entry
from ...compiler.runtime.entries.python_entry import Words
from ...compiler.runtime.python_api import MOST_ARGUMENTS
from ...compiler.runtime.status import AGAIN, FAILURE, RECURSION
from ...errors import StaleTape
from ...ir.instruction import FLOAT64, FLOAT_SCALAR, Operand, Outcome, Tree, ValueType
from ...ir.pytree import TreeDef
from ...ir.tape import Tape
from .addressed_call import AddressedCall, copy_at
from .errors import OtherResults, lost_error
from .signature import Kind, Signature

if TYPE_CHECKING:
    from ...compiler.kernel import Kernel
    from .owner import CompiledPath, KeptPaths, Owner, PathsOwner

# The structure of a function's results.
Result: TypeAlias = tuple[bool, TreeDef | None]


def result_of(tape: Tape) -> Result:
    return tape.returns_tuple, tape.result


class Path:
    """The kernel of one path in the form that dispatch loops run.

    Attributes:
        address, state: of the adapter and its state block, as for a kernel; the state begins with the words of address_call.PATH.
        noted: how many of its calls have been counted as hits.
    """

    def __init__(self, variant: CompiledPath, kernel: Kernel, state: Words) -> None:
        self.variant, self.kernel, self.address, self.state, self.noted = variant, kernel, address_call.ADAPTER.address, state, 0


class Asked(NamedTuple):
    """The form of calls from native code, by which a GuardedTape answers those that no known path does.

    Attributes:
        owner: the GuardedTape.
        signature, kind: of the calls.
        result: the `result_of` the tapes of all its paths, if these have to agree.
        reads: a key of what the function read when the address was taken.
    """

    owner: PathsOwner
    signature: Signature
    kind: Kind
    result: Result | None
    reads: Hashable

    def answered(self, inputs: Sequence[Operand]) -> tuple[CompiledPath, list[Operand]]:
        """The path that holds, and its results.

        Raises:
            StaleTape: a path would be recorded, but the environment has changed since the address was taken.
        """
        if self.owner.reads != self.reads:
            raise StaleTape(
                f"{self.owner.name} takes a path that has no tape yet, and what it reads has changed since the call was bound, or its "
                "address taken", at="", got="a path that was not recorded before", fix="bind it again, or take the address again",
            )  # fmt: skip
        count = len(self.signature.positions)
        return self.owner.answer_kind(self.signature.arguments(inputs[:count]), self.kind, inputs[count:])


class PathsCall(AddressedCall):
    """The call of a GuardedTape: runs the kernel of the path that holds, among those it has learned.

    Args:
        kept: the cache of the paths.
        key: of their kernels.
        arguments, vectors: the types of the inputs.
        asked: None if the caller is Python, which takes calls on other paths.
    """

    def __init__(
        self, kept: KeptPaths, key: Any, arguments: Sequence[ValueType], vectors: Sequence[ValueType], outputs: Sequence[ValueType],
        asked: Asked | None = None,
    ) -> None:  # fmt: skip
        super().__init__([*arguments, *vectors], outputs, None if asked is None else asked.owner._native_side().errors)
        self.asks, self._asked = asked is not None, asked
        self._kept, self._key, self._arguments = kept, key, len(arguments)
        # By outputs that are cut: the builtin for arrays of many sizes, and what tells it of a new path.
        self.sized: dict[Hashable, Callable[..., Tree]] = {}
        self.told: list[Callable[[], None]] = []
        self._lock = new_lock()
        self._paths: dict[CompiledPath, Path] = {}
        self._table = PathsTable(self)
        # Old tables, from before a tape was dropped, which calls may still be using.
        self._retired: list[PathsTable] = []
        self.words[address_call.TABLE] = self._table.address
        kept.users[id(self)] = self

    @property
    def is_live(self) -> bool:
        """True if it knows a path."""
        return bool(self._paths)

    def short(self) -> frozenset[tuple[int, int]]:
        """The inputs of which no kernel reads more rows than exist, each with the input that says how many.

        None where another path may take over a call that has begun without the GIL.
        """
        kernels = [path.kernel for path in self._paths.values()]
        if not kernels or (self.words[address_call.RELEASES_GIL] and any(kernel.tape.guard_count for kernel in kernels)):
            return frozenset()
        return frozenset.intersection(*(kernel.program.short for kernel in kernels))

    def _path_of(self, variant: CompiledPath) -> Path | None:
        """The kernel of a path, compiled if needed; None if it has other inputs or outputs."""
        kernel, fixed, count = variant.compiled.kernel(self._key), list(variant.constants), self._arguments
        types = kernel.tape_inputs
        given = [*types[:count], *types[count + len(fixed) :]]
        if given != self.inputs or [*kernel.tape_outputs] != self.outputs or len(types) + len(self.outputs) > MOST_ARGUMENTS:
            return None
        arrays = [np.array(c, widened(t).dtype, order="C") for c, t in zip(fixed, types[count:])]
        words = [int(kernel.state[0]), kernel.state.ctypes.data, 0, 0, self._kept.clock.ctypes.data, count, len(fixed), len(types)]
        return Path(variant, kernel, python_entry.words([*words, *(a.ctypes.data for a in arrays)], (arrays, self._kept.clock)))

    def learn(
        self, variant: CompiledPath, table: PathsTable | None = None, asker: Path | None = None, status: int = 0, outcome: int = 0
    ) -> None:
        """Try this tape next, and after the same failed guard."""
        # Made before the lock is taken, as it may compile.
        path = self._paths.get(variant) or self._path_of(variant)
        if path is not None and self._kept.holds(variant):
            self._add(variant, path, table, asker, status, outcome)

    @holding("_lock")
    def _add(
        self, variant: CompiledPath, path: Path, table: PathsTable | None, asker: Path | None, status: int, outcome: int
    ) -> None:
        if not self._kept.holds(variant):
            return
        path = self._paths.get(variant, path)
        # Safe against interrupts at any line: every path in `_paths` is in the table already, and the table is the one in use.
        self.words[address_call.TABLE] = self._table.address
        if path not in self._table.natives:
            self._table.add(path)
            self._paths[variant] = path
            self._connect(variant, self._table.natives[path])
            self.words[address_call.RELEASES_GIL] |= path.kernel.state[python_entry.RELEASES_GIL]
            for tell in self.told:
                tell()
        native = self._table.natives[path]
        self._table.words[CURRENT] = native.address
        if table is None or table is not self._table or asker is None or asker is path or not 0 < status < FAILURE:
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
        """Add its calls so far to the hits of the tapes that it ran, and mark these as used."""
        self._drop_retired(None, 0)
        for variant, path in self._paths.items():
            hits, used = int(path.state[address_call.HITS]), int(path.state[address_call.USED])
            variant.hits, path.noted, variant.used = variant.hits + hits - path.noted, hits, max(variant.used, used)

    @holding("_lock")
    def forget_dropped(self) -> None:
        """Remove the dropped tapes; calls under way continue in their table."""
        self._drop_retired(None, 0)
        kept = {v: p for v, p in self._paths.items() if self._kept.holds(v)}
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

    # Calls that Python answers

    def answer(self, table: PathsTable, frame: Frame, asker: Path | None, status: int, outcome: int) -> int:
        """Run one call by the GuardedTape; then native code takes the same path by itself, if it may."""
        assert self._asked is not None, "for calls from native code"
        owner = self._asked.owner
        self._free_retired(table, 1)
        self.asked += 1
        if status == RECURSION:
            raise RecursionError(f"calls of {owner.name} stand too deep in each other")
        if status == AGAIN and owner.reads == self._asked.reads:
            raise take_pending() or lost_error()
        count = len(self.inputs)
        addresses = (ctypes.c_int64 * (count + len(self.outputs))).from_address(frame[input_word(0)])[:]
        inputs = [copy_at(address, type_) for address, type_ in zip(addresses, self.inputs)]
        variant, results = self._asked.answered(inputs)
        found = self._fitting(variant, results, self._asked.result)
        if owner.may_run_natively(variant):
            self.learn(variant, table, asker, status, outcome)
        # Last, and in one call: after an interrupt nothing may have been written.
        written = map(ctypes.memmove, addresses[count:], [a.ctypes.data for a in found], [a.nbytes for a in found])
        return (all(written), DONE)[1]

    def results(self, tape: Owner, inputs: Sequence[Operand]) -> Sequence[Operand]:
        assert self._asked is not None, "for calls from native code"
        return self._asked.answered(inputs)[1]

    def _fitting(self, variant: CompiledPath, results: Sequence[Operand], wanted: Result | None) -> list[np.ndarray]:
        """Convert the results to the memory's types.

        Raises:
            OtherResults: they would not fit, or be rounded.
        """
        arrays = list(map(np.asarray, results))
        has_result = wanted is None or result_of(variant.program.tape) == wanted
        fits = len(arrays) == len(self.outputs) and has_result and all(
            a.shape == t.shape and np.can_cast(a.dtype, t.dtype) for a, t in zip(arrays, self.outputs)
        )
        if not fits:
            raise OtherResults(
                "paths of the function return results of different types",
                got=f"{', '.join(str(ValueType(a.shape, a.dtype)) for a in arrays)}; room for {', '.join(map(str, self.outputs))}",
                fix="return results of the same shapes from every path",
            )  # fmt: skip
        return [np.ascontiguousarray(a, widened(t).dtype) for a, t in zip(arrays, self.outputs)]


class PathsTable(DispatchTable):
    """The native side of a PathsCall. It keeps the kernels alive that native code finds through it."""

    def __init__(self, owner: PathsCall) -> None:
        # A frame holds one address, of the list of addresses.
        super().__init__((FLOAT_SCALAR,), (), ONCE)
        self._owner = owner
        if not owner.asks:
            self.words[CALLBACK] = 0
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


# The calls from native code


def paths_call(
    tape: Owner, signature: Signature, kind: Kind, outputs: Sequence[ValueType], vectors: Sequence[ValueType] = (),
    result: Result | None = None,
) -> PathsCall:  # fmt: skip
    """The call of a GuardedTape from native code; with `result`, of its paths with that `result_of` their tapes."""
    native, key = tape._native_side(), (kind, signature.key, tuple(vectors), tuple(outputs), result)
    if key not in native.calls:
        asked = Asked(tape, signature, kind, result, tape.reads)
        native.calls.setdefault(key, PathsCall(tape.kept_paths, kind.key, signature.types, vectors, outputs, asked))
    return native.calls[key]


def vector_call(tape: Owner, shape: tuple[int, ...]) -> tuple[PathsCall, Signature]:
    """The call of value and gradient by a GuardedTape's only argument, a float64 array of this shape."""
    x = np.broadcast_to(0.0, shape)
    signature = Signature((x,), (False,), (x,), (0,), None)
    return paths_call(tape, signature, Kind("gradient", (0,), (0,)), [FLOAT_SCALAR, ValueType(shape, FLOAT64)]), signature
