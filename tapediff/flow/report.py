"""What the interpreter tells of one recording: why guards are left, and what was merged, by the user's lines."""

from __future__ import annotations

import linecache
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ..base.source_location import PickledSite, Site
from .anything import Object


class Reason(NamedTuple):
    """Why something has a guard, or is not merged.

    Attributes:
        what: what the program does.
        instead: what to write instead; empty where there is nothing to change.
        site: the line that does it.
        raises: an error is raised, as by plain Python: no second tape is for that.
    """

    what: str
    instead: str = ""
    site: Object = None
    raises: bool = False


class Merged(NamedTuple):
    """A branch or loop that was merged, or a loop that could not be one instruction.

    Attributes:
        form: "select", "choice", "loop" or "iterations".
        site: its line.
        carries, iterations: of a loop; None iterations where data end it.
        reason: why a loop was recorded iteration by iteration.
    """

    form: str
    site: Object
    carries: int = 0
    iterations: int | None = None
    reason: Reason | None = None


class Report:
    """Why a recording has guards, and what was merged.

    Attributes:
        only: why only the path of the recorded point is on the tape; None if all are that can be merged.
        is_single: the tape has the guards of plain Python's path, and no others.
        guards: by the ordinals of the tape's guards, their lines and reasons.
        merged: what was merged, and how often.
    """

    def __init__(self, recorder: Object = None) -> None:
        self.only: Reason | None = None
        self.is_single = False
        self.guards: dict[int, tuple[Object, Reason]] = {}
        self.merged: Counter[Merged] = Counter()
        self._noted: list[Merged] = []
        self._of = id(recorder)

    # While the recording is made

    def note(self, form: str, site: Object) -> None:
        """Note that a branch was merged."""
        self._noted.append(Merged(form, site))

    def note_choice(self) -> None:
        """Note that the branch noted last chooses between objects."""
        self.note("choice", self._noted.pop().site)

    def note_loop(self, loop: Merged) -> None:
        """Note that a loop was merged, or why it was not."""
        self._noted.append(loop)

    def note_guard(self, recorder: Object, reason: Reason, site: Object) -> None:
        """Note why there is a guard, which is recorded next."""
        if id(recorder) == self._of:
            self.guards[recorder.guard_count] = site, reason

    def mark(self) -> int:
        """What was noted so far, for `forget`."""
        return len(self._noted)

    def forget(self, mark: int) -> None:
        """Drop what was noted since, as it is not part of the recording."""
        del self._noted[mark:]

    def finish(self, recorder: Object) -> None:
        """The recording has ended."""
        lines: dict[int, Object] = {}

        def line_of(site: Object) -> Object:
            """Equal for one line."""
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
        """Only the path of one point is recorded, in place of all."""
        self.only = reason
        self.guards.clear()
        self.merged.clear()

    # Afterwards

    def as_dict(self) -> dict[str, Object]:
        """The report for programs; lines are "file:line in function".

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
        """The report as text: first what keeps the function on several paths."""
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


# Of each kind so many are listed.
_MOST_LISTED = 8


def _listed(title: str, parts: Iterable[Object], lines_of: Callable[[Object], list[str]]) -> list[str]:
    """A heading with what belongs to it; nothing without any."""
    parts = list(parts)
    rest = len(parts) - _MOST_LISTED
    lines = [line for part in parts[:_MOST_LISTED] for line in lines_of(part)] + [f"and {rest} more"] * (rest > 0)
    return [title, *_indented(lines)] if parts else []


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" for line in lines]


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
