"""The state that recordings share in one process: those under way, and facts about Python's objects from earlier ones."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import CodeType

from ...base.current_recording import CURRENT


class ProcessState:
    """The recordings of the process: there is one, `process`.

    There is no lock, which a fork or an interrupt could leave behind: each step is one operation on a set or dictionary, and does no harm
    if it is done twice. An interrupt may come before any line of Python, so states are restored in two `finally` clauses.

    A forked child keeps everything but the recordings and compilations of its parent's other threads.

    Attributes:
        recordings: under way, in all threads.
        collector_threshold: the garbage collector's, as user code set it; None until a recording or compilation has raised it.
        collector_pauses: the compilations under way that do without collections, and the thread of each.
        restorations: the endings under way that give NumPy its own functions back, and the thread of each.
        fills: whether NumPy's namespace has functions that make tracked arrays where plain ones would be written to.
        warnings_of_draws: how many there were.
        called_back: functions that tapes call back at every evaluation (td.debug), by their ids; the latest are kept.
        asked_if_recording: how often recorded functions have asked td.is_recording(), and where the latest did.
        forwarded: SciPy's functions that recordings have met by names from before, with their module's.
        generator_readers: how to read the states of the generators without a name, once there are any: they live as long as the process.
        names_in_code: the names in functions, by the id of the code; code objects are hashed by content, slowly. The latest are kept.
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
