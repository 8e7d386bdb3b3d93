"""Reports of one recording: reasons for guards, and merged statements, by the user's lines."""

from __future__ import annotations

import linecache
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ..base.source_location import PickledSite, Site
from .anything import Object


class Reason(NamedTuple):
    """The reason for a guard, or for not merging.

    Attributes:
        what: what the program does.
        instead: the replacement; empty if there is nothing to change.
        site: the line that does it.
        raises: plain Python raises an error, too, so there is no second tape.
    """

    what: str
    instead: str = ""
    site: Object = None
    raises: bool = False


class Merged(NamedTuple):
    """A merged branch or loop, or a loop recorded iteration by iteration.

    Attributes:
        form: "select", "choice", "loop" or "iterations".
        site: its line.
        carries, iterations: of a loop; None iterations for a data-dependent end.
        reason: for recording a loop iteration by iteration.
    """

    form: str
    site: Object
    carries: int = 0
    iterations: int | None = None
    reason: Reason | None = None


class Report:
    """The reasons for a recording's guards, and its merged statements.

    Attributes:
        only: the reason that only the recorded point's path is on the tape; else None.
        is_single: the tape has exactly the guards of plain Python's path.
        guards: by ordinal on the tape, line and reason.
        merged: merged statements, with counts.
        size: the number of recorded instructions, those of iterations and of discarded sides among them.
    """

    def __init__(self, recorder: Object = None) -> None:
        self.only: Reason | None = None
        self.is_single = False
        self.size = 0
        self.guards: dict[int, tuple[Object, Reason]] = {}
        self.merged: Counter[Merged] = Counter()
        self._noted: list[Merged] = []
        self._of = id(recorder)

    # While the recording is made

    def note(self, form: str, site: Object, carries: int = 0, iterations: int | None = None, reason: Reason | None = None) -> None:
        """Note a branch or a loop, merged or not."""
        self._noted.append(Merged(form, site, carries, iterations, reason))

    def note_choice(self) -> None:
        """Note that the last branch chooses between objects."""
        self.note("choice", self._noted.pop().site)

    def note_guard(self, recorder: Object, reason: Reason, site: Object) -> None:
        """Note the reason for the next guard."""
        if id(recorder) == self._of:
            self.guards[recorder.guard_count] = site, reason

    def mark(self) -> int:
        """The current position, for `forget`."""
        return len(self._noted)

    def forget(self, mark: int) -> None:
        """Drop notes since a mark, which are not part of the recording."""
        del self._noted[mark:]

    def finish(self, recorder: Object, size: int) -> None:
        """Complete the report at the end of the recording."""
        self.size = size
        lines: dict[int, Object] = {}

        def line_of(site: Object) -> Object:
            """A key that is equal for equal lines."""
            found = lines.get(id(site))
            if found is None and site is not None:
                found = lines[id(site)] = PickledSite(*site.place) if isinstance(site, Site) else site
            return found

        def settled(reason: Reason | None) -> Object:
            return reason and reason._replace(site=line_of(reason.site))

        found = sorted(self.guards.items())
        self.guards = {k: (line_of(site), settled(reason)) for k, (site, reason) in found if k < recorder.guard_count}
        self.merged.update(noted._replace(site=line_of(noted.site), reason=settled(noted.reason)) for noted in self._noted)
        self._noted.clear()

    def keep_only(self, reason: Reason) -> None:
        """Report that only one point's path is recorded."""
        self.only = reason
        self.guards.clear()
        self.merged.clear()

    def of_single(self) -> Report:
        """The report of single paths, which are recorded from now on because of this one's guards: for their most common reason."""
        found = Report()
        found.is_single = True
        reasons = Counter(reason for _, reason in self.guards.values())
        found.keep_only(reasons.most_common(1)[0][0])
        return found

    # Afterwards

    def as_dict(self) -> dict[str, Object]:
        """The report as a dict; lines are "file:line in function".

        Returns:
            "only": why only one path is recorded, or None; "guards": their reasons, those that can part tapes first; "iterations": loops
            that are recorded iteration by iteration; "merged": branches and loops.
        """
        ordinals: dict[Reason, list[int]] = {}
        for ordinal, (_, reason) in self.guards.items():
            ordinals.setdefault(reason, []).append(ordinal)
        merged = sorted(self.merged.items(), key=lambda each: each[0].site.place if each[0].site else ("", 0, ""))
        return {
            "only": None if self.only is None else _told(self.only),
            "guards": [
                {**_told(reason), "raises": reason.raises, "ordinals": found, "at": dict(Counter(str(self.guards[k][0]) for k in found))}
                for reason, found in sorted(ordinals.items(), key=lambda each: (each[0].raises, -len(each[1])))
            ],
            "iterations": [{"loop": str(loop.site), "times": n, **_told(loop.reason)} for loop, n in merged if loop.reason is not None],
            "merged": [
                {"line": str(each.site), "form": each.form, "times": n, "carries": each.carries, "iterations": each.iterations}
                for each, n in merged
                if each.reason is None
            ],
        }

    def lines(self) -> list[str]:
        """The report as text; first, the reasons for several paths."""
        found: Object = self.as_dict()
        parting, raising = ([each for each in found["guards"] if each["raises"] is raises] for raises in (False, True))
        n = sum(len(each["ordinals"]) for each in parting)
        only = [found["only"]] if found["only"] else []
        return [
            *_listed("only the path of this point is recorded, each other path has a tape of its own, because", only, _why),
            *_listed(f"{_counted(n, 'guard')}: where one comes out otherwise, a tape of its own is needed", parting, _parts),
            *_listed("loops that are recorded iteration by iteration", found["iterations"], _iterations),
            *_listed("merged", found["merged"], lambda each: [f"{each['line']}: {_form(each)}, {_counted(each['times'], 'time')}"]),
            *_listed("errors that the plain function raises, too", raising, lambda each: [f"{each['line']}: {each['what']}"]),
        ]  # fmt: skip


# Maximum number of items listed of each kind.
_MOST_LISTED = 8


def _listed(title: str, parts: Iterable[Object], lines_of: Callable[[Object], list[str]]) -> list[str]:
    """A heading and its items; nothing if there are none."""
    parts = list(parts)
    rest = len(parts) - _MOST_LISTED
    lines = [line for part in parts[:_MOST_LISTED] for line in lines_of(part)] + [f"and {rest} more"] * (rest > 0)
    return [title, *(f"  {line}" for line in lines)] if parts else []


def _why(told: dict[str, Object]) -> list[str]:
    source = told["source"] and f": `{told['source']}`"
    return [f"{told['line']}{source}", f"  {told['what']}", *([f"  Instead: {told['instead']}"] if told["instead"] else [])]


def _parts(told: dict[str, Object]) -> list[str]:
    return [*_why(told), "  guards: " + ", ".join(f"{at} ({n})" for at, n in told["at"].items())]


def _iterations(told: dict[str, Object]) -> list[str]:
    at = "" if told["loop"] == told["line"] else f", at {told['line']}"
    return [f"{told['loop']}, {_counted(told['times'], 'time')}: {told['what']}{at}", f"  Instead: {told['instead']}"]


def _form(told: dict[str, Object]) -> str:
    if told["form"] != "loop":
        return f"both sides are computed, and {'numbers' if told['form'] == 'select' else 'objects'} are chosen"
    length = "ended by data" if told["iterations"] is None else _counted(told["iterations"], "iteration")
    return f"one loop instruction, {_counted(told['carries'], 'carry', 'carries')}, {length}"


def _told(reason: Reason) -> dict[str, Object]:
    filename, line, _ = getattr(reason.site, "place", ("", 0, ""))
    source = linecache.getline(filename, line).strip()
    return {"line": str(reason.site), "source": source, "what": reason.what, "instead": reason.instead}


def _counted(n: int, one: str, many: str = "") -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"
