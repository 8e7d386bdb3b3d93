"""The state that recordings share in one process: those under way, and facts about Python's objects that earlier recordings found."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import CodeType

from ...base.current_recording import CURRENT


class ProcessState:
    """The recordings of the process; `process` is the only instance.

    There is no lock, which a fork or an interrupt could leave held: each step is one idempotent operation on a set or dictionary.
    An interrupt may come before any line of Python, so states are restored in two `finally` clauses.

    A forked child keeps everything but the recordings and compilations of its parent's other threads.

    Attributes:
        recordings: under way, in all threads.
        collector_threshold: the garbage collector's, as user code set it; None until a recording or compilation has raised it.
        collector_pauses: the compilations under way that pause the collector, and the thread of each.
        restorations: the threads that are restoring NumPy's own functions at the end of a recording.
        fills: True if np.zeros and its relatives in NumPy's namespace are replaced.
        warnings_of_draws: how many warnings of random draws there were.
        called_back: functions that tapes call back at every evaluation (td.debug), by their ids; the latest are kept.
        asked_if_recording: how often recorded functions have called td.is_recording(), and the latest line.
        forwarded: SciPy functions, with their module's name, that recordings met under names imported earlier.
        generator_readers: how to read the states of the global generators, once there are any: they live as long as the process.
        names_in_code: the names in functions, by id of the code, as hashing code objects is slow. The latest are kept.
        mutable: objects that recorded functions changed, such as counters and logs; they are compared by identity from then on.
    """

    __slots__ = (
        "asked_if_recording", "called_back", "collector_pauses", "collector_threshold", "fills", "forwarded", "generator_readers",
        "mutable", "names_in_code", "recordings", "restorations", "warnings_of_draws",
    )  # fmt: skip

    def __init__(self) -> None:
        self.recordings: set[object] = set()
        self.collector_threshold: tuple[int, int, int] | None = None
        self.collector_pauses: dict[object, int] = {}
        self.restorations: dict[object, int] = {}
        self.fills = False
        self.warnings_of_draws = 0
        self.asked_if_recording: tuple[int, object] = (0, None)
        self.called_back: dict[int, object] = {}
        self.forwarded: dict[tuple[str, str], None] = {}
        self.generator_readers: dict[int, Callable[[], object]] = {}
        self.names_in_code: dict[int, tuple[CodeType, tuple[str, ...]]] = {}
        self.mutable: dict[int, object] = {}

    def forget_other_threads(self) -> None:
        own, recorder = set(), CURRENT.get()
        while recorder is not None:
            own.add(recorder)
            recorder = recorder.outer
        self.recordings.intersection_update(own)
        self.collector_pauses = _of_this_thread(self.collector_pauses)
        self.restorations = _of_this_thread(self.restorations)


def _of_this_thread(under_way: dict[object, int]) -> dict[object, int]:
    return {key: thread for key, thread in under_way.items() if thread == threading.get_ident()}


process = ProcessState()
