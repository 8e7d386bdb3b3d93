"""What a GuardedTape says about itself: why it recorded, its counts, explain(), and the texts of its warnings."""

from __future__ import annotations

import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import GuardWarning, UnstableBranch, describe
from .instruction import Guard, ValueType
from .paths import Fork, Variant
from .sites import Site, is_library_file
from .tape import Tape

# A path longer than this is shown by the guards at which tapes part.
LONGEST_PATH_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of a GuardedTape at one moment.

    Attributes:
        hits: calls answered by a kept tape.
        misses: times that no kept tape would do.
        recordings: tapes recorded; fewer than misses where a recording raised.
        evictions: tapes given up for newer ones.
        seconds_recording, seconds_compiling: time spent so far.
    """

    hits: int
    misses: int
    recordings: int
    evictions: int
    seconds_recording: float
    seconds_compiling: float

    def __str__(self) -> str:
        return (
            f"{self.hits} hits, {self.misses} misses, {self.recordings} recordings, {self.evictions} evictions; "
            f"{self.seconds_recording:.3f} s recording, {self.seconds_compiling:.3f} s compiling"
        )


@dataclass(frozen=True, slots=True)
class Specialisation:
    """What tapes are kept apart by beside their paths, as a user wants to read it."""

    types: tuple[ValueType, ...]
    static: tuple[Any, ...]
    guard_value: tuple[Any, ...]  # empty, or one value

    def __str__(self) -> str:
        parts = [str(type_) for type_ in self.types]
        parts += [f"argument {position} = {_short(value)}" for position, _, value in self.static]
        parts += [f"guard = {_short(value)}" for value in self.guard_value]
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a tape was recorded: the first call of its kind, or a guard that came out differently."""

    called_with: Specialisation
    guard: Guard | None = None
    outcome: Any = None

    def __str__(self) -> str:
        if self.guard is None:
            return f"first call with {self.called_with}"
        return f"{self.guard.site or 'unknown line'} → {describe(self.outcome)}, was {describe(self.guard.outcome)}"


def explanation(
    name: str, max_tapes: int, stats: Stats, variants: Sequence[Variant], reasons: Sequence[tuple[int, Reason]]
) -> str:
    """The text of GuardedTape.explain()."""
    lines = [f"{name}: {len(variants)} of at most {max_tapes} tapes; {stats}"]
    for variant in sorted(variants, key=lambda v: v.number):
        seconds = f"recorded in {variant.seconds:.4f} s"
        seconds += f", compiled in {variant.compiled.seconds:.3f} s" if variant.compiled.seconds else ", not compiled"
        lines.append(f"  tape {variant.number}: {variant.reason.called_with}; {variant.hits} hits; {seconds}")
        lines += [f"    {step}" for step in _path(variant)]
    if reasons:
        lines.append("recorded because")
        lines += [f"  {number}: {reason}" for number, reason in reasons]
    return "\n".join(lines)


def _path(variant: Variant) -> list[str]:
    guards = variant.tape.guards
    if len(guards) <= LONGEST_PATH_SHOWN:
        return [str(guard) for guard in guards] or ["no guards"]
    forks = sorted(variant.forks)[:LONGEST_PATH_SHOWN]
    return [*[str(guards[k]) for k in forks], f"and {len(guards) - len(forks)} more guards"]


def most_paths(variants: Sequence[Variant]) -> str:
    """What the kept tapes differ in most: the user's guard, the arguments' types, or a line that Python branches on."""
    lines: Counter[str] = Counter()
    outcomes: dict[str, set[Any]] = {}
    forks: dict[int, tuple[Fork, Variant]] = {id(f): (f, v) for v in variants for f in v.forks.values()}
    for fork, variant in forks.values():
        line = str(variant.tape.guards[fork.ordinal].site or "unknown line")
        lines[line] += len(fork.tapes) - 1
        outcomes.setdefault(line, set()).update(fork.tapes)
    calls = [v.reason.called_with for v in variants]
    by_guard_value = len({v.key[-1] for v in variants})
    by_arguments = len({v.key[:-1] for v in variants})
    line, splits = lines.most_common(1)[0] if lines else ("", 0)
    if by_guard_value > max(splits, by_arguments):
        example = _short(calls[-1].guard_value[0])
        return f"the guard given by the user, which returned {by_guard_value} different values, such as {example}"
    if by_arguments > splits:
        return f"the arguments, in {by_arguments} different shapes, dtypes and specialised values, such as {calls[-1]}"
    return f"{line}, where Python looks at a value: {len(outcomes[line])} different outcomes, {splits + 1} paths"


def budget_text(name: str, max_tapes: int, culprit: str) -> str:
    return (
        f"{name} took more than {max_tapes} paths, so tapes are dropped and recorded again, which is slow\n"
        f"  got: {culprit}\n"
        f"  fix: compute both sides with np.where, or give a coarser guard; or raise max_tapes if memory allows"
    )


def coarse_guard_text(name: str, guard_site: str, value: Any, missed: Guard, outcome: Any) -> str:
    return (
        f"the guard of {name} ({guard_site}) does not tell paths apart that Python does; each has its tape all the same\n"
        f"  at:  {missed.site or 'unknown line'}\n"
        f"  got: guard value {_short(value)} with both {describe(missed.outcome)} and {describe(outcome)} there\n"
        f"  fix: let the guard return this condition too; or leave it out, as the conditions are found without it"
    )


def check_prescribed(tape: Tape, missed: Tape, count: int) -> None:
    """Raises UnstableBranch unless the recording came to the same guards as the tape whose place it takes."""
    for k in range(count):
        old, new = missed.guards[k], tape.guards[k] if k < len(tape.guards) else None
        if new is None or old.kind != new.kind or not _is_same_line(old.site, new.site):
            raise UnstableBranch(
                f"{tape.name} did not come to this line again when it was recorded a second time at the same point",
                at=old.site, got=f"{new.site if new is not None else 'no further guard'} instead",
                fix="the function depends on something that changes beside its arguments; pass that as an argument",
            )  # fmt: skip


def _is_same_line(a: Site | None, b: Site | None) -> bool:
    # One call may be seen at two offsets: the interpreter rewrites its own instructions.
    return a == b or (a is not None and b is not None and a.code == b.code and a.line == b.line)


def unstable(guard: Guard, outcome: Any) -> UnstableBranch:
    return UnstableBranch(
        "two tapes disagree about this line at a near tie, so neither can answer", at=guard.site,
        got=f"{describe(guard.outcome)} by the one, {describe(outcome)} by the other",
        fix="compare with a tolerance, or compute both sides and choose with np.where",
    )  # fmt: skip


def warn(message: str) -> None:
    """Warn at the user's line."""
    level, frame = 2, sys._getframe(1)
    while frame is not None and is_library_file(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, GuardWarning, stacklevel=level)


def site_of(function: Callable[..., Any]) -> str:
    """Where a function is defined."""
    code = getattr(function, "__code__", None)
    if code is None:
        return _short(function)
    return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno} in {code.co_name}"


def _short(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
