"""The tapes of a GuardedTape, keyed by the function's environment: globals, closures, attributes, arrays.

If the environment changes, its tapes are set aside, and the function is recorded again, or tapes of the new values
are reused. Tapes that differ in constants alone share one program, so from the second change on a new value costs no compilation.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable

from ....base.fork_locks import new_lock
from ....base.held_locks import holding
from ....functions.callees.path_messages import warn
from ....functions.captured.environment_check import Change, EnvironmentCheck, part_text
from ....ir.instruction import Tree
from ...evaluate.shared_programs import MOST_PROGRAMS, Programs
from ..dispatch import Dispatch
from ..keyed_call import GuardedFunction
from ..policy import Policy
from ..record_path import PathRecorder
from ..staleness import StalenessCheck
from ..tape_cache import TapeCache
from ..variant import CompiledProgram, Variant
from .direct_paths import DirectPaths

# Recordings of other values are kept while the arrays read by the function take at most this many bytes; tapes have copies.
MOST_BYTES = 1 << 27


class Recordings:
    """The tapes recorded with one environment, with everything that finds and runs them.

    Attributes:
        check: compares the environment; None before the first call, and if comparing is off.
        first_key: the environment before the first recording.
        calls: attributes saved from the GuardedTape while other recordings are in use.
    """

    __slots__ = ("cache", "calls", "check", "direct", "dispatch", "first_key", "recorder", "staleness")

    def __init__(
        self, function: GuardedFunction, policy: Policy, programs: Programs[CompiledProgram], lock: threading.RLock,
        note_effects: Callable[[Recordings], None],
    ) -> None:  # fmt: skip
        self.cache = TapeCache(function)
        self.check: EnvironmentCheck | None = None
        self.first_key: Hashable = None
        self.recorder = PathRecorder(function, policy, self.cache, programs, lock, lambda: note_effects(self))
        self.staleness = StalenessCheck(function, policy, self.cache)
        self.dispatch = Dispatch(function, policy, self.cache, self.recorder, self.staleness)
        self.direct = DirectPaths(function, policy, self.cache, lambda run: self.checked(self.staleness.counted(run)))
        self.calls: dict[str, Tree] = {}

    def checked(self, call: Callable[..., Tree]) -> Callable[..., Tree]:
        """Wrap a kernel so that it refuses to run when the environment has changed."""
        return call if self.check is None else self.check.checked(call)

    @property
    def weight(self) -> int:
        """The number of tapes, at least 1."""
        return max(1, len(self.cache.all()))

    @property
    def nbytes(self) -> int:
        """The size in bytes of the arrays that the function has read."""
        return 0 if self.check is None else self.check.environment.nbytes


class AllRecordings:
    """The recordings of a GuardedTape, by environment.

    Attributes:
        current: the recordings in use.
        lock: held while the function is recorded and while environments are compared.
    """

    __slots__ = ("_by_key", "_function", "_policy", "_programs", "current", "lock")

    def __init__(self, function: GuardedFunction, policy: Policy) -> None:
        self._function, self._policy = function, policy
        self._programs: Programs[CompiledProgram] = Programs(policy.program)
        # The most recent comes last; some have several keys.
        # (OrderedDict looks up its keys to iterate over its values; an interrupt during their comparison raises KeyError then.)
        self._by_key: dict[Hashable, Recordings] = {}
        self.lock = new_lock()
        self.current = self._new()

    def _new(self) -> Recordings:
        return Recordings(self._function, self._policy, self._programs, self.lock, self._note_effects)

    def all(self) -> list[Recordings]:
        """All recordings without duplicates, those in use last."""
        others = {id(known): known for known in list(self._by_key.values()) if known is not self.current}
        return [*others.values(), self.current]

    def tapes(self) -> list[Variant]:
        """The tapes of all recordings."""
        return [variant for known in self.all() for variant in known.cache.all()]

    @holding("lock")
    def changed(self) -> Change | None:
        """Compare the environment with that of the tapes in use. Called when no kernel has answered."""
        current = self.current
        if self._policy.frozen:
            return None
        if current.check is None:
            current.check = EnvironmentCheck(self._function.f, self._policy.check_contents)
            current.first_key = current.check.environment.key
            self._by_key[current.first_key] = current
            if not current.check.environment.is_whole:
                warn(part_text(self._function.name))
            return None
        return current.check.change()

    @holding("lock")
    def take(self, change: Change) -> Recordings:
        """Switch to the recordings for the present environment."""
        if change.stale_calls and change.name not in self._policy.warned:
            self._policy.warned.add(change.name)
            warn(contents_text(self._function.name, change))
        before, key = self.current, change.environment.key
        found = self._by_key.get(key)
        if found is None:
            found = self._new()
            found.check, found.first_key = EnvironmentCheck(self._function.f, self._policy.check_contents, change.environment), key
            found.recorder.changed, found.recorder.others = change.name, self.tapes
            # Differing values become inputs of the existing programs.
            self._programs.known = self._programs.known or (*dict.fromkeys(v.program for v in before.cache.all()),)[:MOST_PROGRAMS]
            self._by_key[key] = found
        elif found.check is not None:
            found.check.adopt(change.environment)
        self._by_key[key] = self._by_key.pop(key)
        self.current = found
        self._drop_beyond()
        return found

    @holding("lock")
    def _note_effects(self, recordings: Recordings) -> None:
        """Ignore changes that the function made itself while it ran: its tapes do not call it."""
        if recordings.check is not None and recordings.check.adopt():
            # Keyed by the environment before its first recording, and by the latest one.
            for key in [key for key, known in self._by_key.items() if known is recordings and key != recordings.first_key]:
                del self._by_key[key]
            self._by_key[recordings.check.environment.key] = recordings

    def is_same_here(self, fingerprint: bytes | None) -> bool:
        """True if the environment equals that of the process that pickled the tapes."""
        if fingerprint is None or self._policy.frozen:
            return True
        check = EnvironmentCheck(self._function.f, self._policy.check_contents)
        if check.environment.fingerprint() != fingerprint:
            return False
        self.current.check, self.current.first_key = check, check.environment.key
        self._by_key[check.environment.key] = self.current
        return True

    def _drop_beyond(self) -> None:
        """Drop the least recently used recordings while there are too many tapes or too large arrays."""
        everything = self.all()
        # Recordings without a tape, whose function raised, count as one.
        count, size = sum(known.weight for known in everything), sum(known.nbytes for known in everything)
        for known in everything[:-1]:
            if count < self._policy.max_tapes and size <= MOST_BYTES:
                return
            count, size = count - known.weight, size - known.nbytes
            known.cache.drop_beyond(0)
            self._by_key = {key: kept for key, kept in self._by_key.items() if kept is not known}


def contents_text(name: str, change: Change) -> str:
    """Say that a large array was changed in place, and how many results may have used the old contents."""
    stale = f"up to {change.stale_calls} calls before this one may have" if change.stale_calls > 1 else "the call before this one may have"
    return (
        f"{change.name}, which {name} reads, was changed in place, and {name} is recorded again\n"
        f"  got: {stale} used its old contents, as of an array of more than 1 kB each call compares a part\n"
        f'  fix: pass it as an argument, td.Constant({change.name}); or check_contents="always", which compares all of it at every call'
    )
