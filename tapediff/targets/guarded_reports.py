"""Reports of a GuardedTape: how often its tapes were used, which there are, and how far a point is from the next branch.

Comes in: its function, tapes and recorder, and points. Goes out: counts, text, margins. No kept tape changes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Literal, overload

import numpy as np

from ..errors import GuardFailed, TrackedValueEscaped
from ..ir.instruction import Operand, Tree
from ..ir.interpreter import run
from ..ir.tape import Tape
from ..recording.arguments.bind_call import BoundCall, positional
from ..recording.recorder import Recorder
from .evaluate.nested_recording import is_recorded, record_bound
from .guarded.native_paths import GuardedCalls
from .guarded.report import Explanation, Stats, explanation, explanation_for_programs, ways_taken
from .margins import Margin, margins


class GuardedReports(GuardedCalls):
    """The reports of a GuardedTape."""

    @property
    def stats(self) -> Stats:
        """Hits, misses, recordings, evictions and seconds so far."""
        for known in self._recordings.all():
            known.cache.note_native_uses()
        counts, tapes = self._function.counts, self._recordings.tapes()
        hits = counts.dropped_hits + sum(v.hits for v in tapes)
        seconds = counts.dropped_seconds + sum(program.compiled.seconds for program in {v.program for v in tapes})
        return Stats(hits, counts.misses, counts.recordings, counts.evictions, counts.seconds_recording, seconds)

    @overload
    def explain(self, points: Sequence[Tree] = (), *, as_dict: Literal[False] = False) -> str: ...
    @overload
    def explain(self, points: Sequence[Tree] = (), *, as_dict: Literal[True]) -> dict[str, object]: ...
    def explain(self, points: Sequence[Tree] = (), *, as_dict: bool = False) -> str | dict[str, object]:
        """Why there are several tapes, what was merged, and the kept tapes, as text.

        First the latest recording: each line that keeps the function on several paths, why, and what to write instead; then the branches
        and loops with all paths on the tape. For each tape its argument types, guards, lines and outcomes, hits and seconds. For the
        last call without a tape: the closest tape, the guard at which they diverged, and its two sides.

        Args:
            as_dict: the same of all tapes, as a dict of plain values; without points.
            points: to count at which way each branch goes, merged or not, also in sub-tapes; without bodies of td.scan, td.while_loop
                and td.cond. For a function of several arguments each point is a tuple.

        Raises:
            TrackedValueEscaped: called with points inside a recording.

        Cost: one recording for each of the points. The kept tapes and the counts of hits do not change.
        """
        counts = self._function.counts
        if as_dict:
            return explanation_for_programs(self._function.name, self.stats, self._recordings.tapes(), list(counts.reasons))
        text = explanation(
            self._function.name, self._policy.max_tapes, self.stats, self._recordings.tapes(), list(counts.reasons),
            counts.last_failure, self._function.sizes.reasons(),
        )  # fmt: skip
        paths = [self._path_at(point if isinstance(point, tuple) else (point,)) for point in points]
        return Explanation("\n".join([text, *ways_taken(paths)]))

    def translated(self) -> str:
        """The function as it is recorded, with operators that replace branches on data; or why there is none."""
        # Imported where it is used.
        from ..flow import translated_text

        return translated_text(self._function.f)

    def _path_at(self, args: tuple[Tree, ...]) -> Tape:
        """The tape of the path at a point, which is not kept: every branch on data is a guard."""
        if is_recorded(args):
            raise TrackedValueEscaped(
                "counts of branches look at values, which a recording would not notice", fix="ask for them outside it"
            )
        return _by_paths(self._function.name).run(_record_inlined, self._function.call(args, (), with_data=False).bound)

    def margins(self, *args: Tree, **named: Tree) -> list[Margin]:
        """How far a point is from the next branch: every comparison on its path, and every kink of f's result.

        Args:
            args, named: as for safe(*args, **named).

        Returns:
            One td.Margin for each comparison that a guard depends on, in program order, then one for
            each np.where, maximum, minimum, clip and absolute value that the result depends on.

        Raises:
            TrackedValueEscaped: called inside a recording.

        For merged branches, it lists the comparisons that would be guards with merge=False.

        Cost: one replay with NumPy; or one recording if no tape is kept for the point, or branches are merged. The kept tapes do not
        change.
        """
        return self._margins(tuple(args) if not named else positional(self._function.f, args, named), [])

    def margins_of_many(self) -> Callable[..., list[Margin]]:
        """`margins` for many points, between which nothing changes that the function reads: a path is recorded once."""
        known: list[tuple[Hashable, Tape]] = []
        return lambda *args: self._margins(args, known)

    def _margins(self, args: tuple[Tree, ...], known: list[tuple[Hashable, Tape]]) -> list[Margin]:
        """The margins, with paths that were recorded before; a new one is added to them."""
        if is_recorded(args):
            raise TrackedValueEscaped(
                "margins look at values, which a recording would not notice", fix="ask for them outside it"
            )
        call = self._function.call(args, ())
        # Merged branches have no guards.
        tape = None if self._policy.merge else self._cache.tape_at(call.key, call.bound.inputs)
        if tape is None:
            call = self._function.call(args, (), with_data=False)
            tape = next((path for key, path in known if key == call.key and _holds(path, call.bound.inputs)), None)
        if tape is None:
            tape = _by_paths(self._function.name).run(record_bound, call.bound)
            known.append((call.key, tape))
        return margins(tape, call.bound.inputs)


def _holds(tape: Tape, inputs: Sequence[Operand]) -> bool:
    """True if the tape is of the path at these inputs."""
    try:
        run(tape, inputs)
    except (GuardFailed, np.linalg.LinAlgError):
        return False
    return True


def _by_paths(name: str) -> Recorder:
    """A recorder of one path, also in bodies of sub-tapes and loops."""
    recorder = Recorder(name)
    recorder.merges = False
    return recorder


def _record_inlined(recorder: Recorder, bound: BoundCall) -> Tape:
    """The tape of a call, with the branches of its sub-tapes inlined."""
    recorder.inlines = True
    return record_bound(recorder, bound)
