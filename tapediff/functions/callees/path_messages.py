"""Messages about the paths of a function: the line where most diverge, too many paths, a path that was not found again."""

from __future__ import annotations

import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Sequence

from ...base.source_location import is_library_file, is_same_line
from ...errors import GuardWarning, UnstableBranch
from ...ir.tape import Tape
from .path_trie import Fork, PathEntry


def most_split_line(entries: Sequence[PathEntry]) -> tuple[str, int, int]:
    """The line at which most paths diverge: its text, its number of outcomes, and how often paths diverge there."""
    lines: Counter[str] = Counter()
    outcomes: dict[str, set[Hashable]] = {}
    forks: dict[int, tuple[Fork[PathEntry], PathEntry]] = {id(f): (f, v) for v in entries for f in v.forks.values()}
    for fork, entry in forks.values():
        line = str(entry.tape.guards[fork.ordinal].site or "unknown line")
        lines[line] += len(fork.tapes) - 1
        outcomes.setdefault(line, set()).update(fork.tapes)
    line, splits = lines.most_common(1)[0] if lines else ("", 0)
    return line, len(outcomes.get(line, ())), splits


def paths_text(name: str, most: int, entries: Sequence[PathEntry]) -> str:
    """Say that a function takes many paths, at which line most diverge, and what to write instead."""
    line, outcomes, _ = most_split_line(entries)
    is_position = any(type(guard.outcome) is int and str(guard.site) == line for guard in entries[-1].tape.guards)
    positions = "give entries to td.scan, or read plain arrays by td.asarray(array)[k], where k is a position; else "
    return (
        f"{name} took more than {most} paths; those beyond are replayed with NumPy, which is slow\n"
        f"  got: {line}, where Python looks at a value: {outcomes} different outcomes\n"
        f"  fix: {positions if is_position else ''}use td.cond, td.while_loop, np.where or a smaller sub-tape for what differs; "
        "or raise max_tapes"
    )


def check_prescribed(tape: Tape, missed: Tape, count: int) -> None:
    """Raise UnstableBranch unless the recording has the same guards as the tape that it replaces."""
    for k in range(count):
        old, new = missed.guards[k], tape.guards[k] if k < len(tape.guards) else None
        if new is None or old.kind != new.kind or not is_same_line(old.site, new.site):
            raise UnstableBranch(
                f"{tape.name} did not come to this line again when it was recorded a second time at the same point",
                at=old.site, got=f"{new.site if new is not None else 'no further guard'} instead",
                fix="the function depends on something that changes and is no argument; pass that as an argument",
            )  # fmt: skip


def warn(message: str) -> None:
    """Warn at the user's line."""
    level, frame = 2, sys._getframe(1)
    while frame is not None and is_library_file(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, GuardWarning, stacklevel=level)


def site_of(function: Callable[..., object]) -> str:
    """Where a function is defined, as text."""
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    if code is None:
        return short(function)
    return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno} in {code.co_name}"


def short(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
