"""Reports of a GuardedTape: its counts, explain(), and the texts of its warnings and errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from ...base.source_location import Site
from ...errors import NewTape, UnstableBranch, describe
from ...functions.callees.path_messages import most_split_line, short, site_of
from ...ir.instruction import Guard, Operand, Outcome, UserFunction
from ...ir.interpreter import GuardFailure
from ...ir.tape import Tape, in_notebook
from ...ops.control.calls import LOOP
from ...recording.arguments.int_arguments import ANY_INT_KEY
from ...recording.arguments.size_arguments import SIZES
from ..margins import guard_margins, values_at
from .keyed_call import CallKey
from .reason import LastFailure, Reason, Specialisation
from .variant import Variant

# Longer paths are shown by the guards at which tapes diverge.
LONGEST_PATH_SHOWN = 8

# The most values listed for an int argument that a branch reads.
MOST_WAYS_SHOWN = 4


class Explanation(str):
    """The text of explain(), which notebooks show line by line."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return in_notebook(self)


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of a GuardedTape at one moment.

    Attributes:
        hits: calls with a kept tape.
        misses: calls without a kept tape that holds.
        recordings: tapes recorded; fewer than misses where a recording raised.
        evictions: tapes dropped for newer ones.
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


def last_failure(
    reason: Reason,
    key: CallKey,
    missed: tuple[Variant, GuardFailure] | None,
    inputs: Sequence[Operand],
    kept: Sequence[Variant],
) -> LastFailure:
    """Describe a call without a tape for explain(); the guard's comparison is computed with NumPy."""
    if missed is not None and reason.guard is not None:
        variant, guard = missed[0], reason.guard
        try:
            sides = guard_margins(variant.tape, values_at(variant.tape, inputs, guard.ordinal), guard)
        except np.linalg.LinAlgError:  # at the edge of the domain, where NumPy and the kernel may disagree
            return LastFailure(reason, variant.number)
        return LastFailure(reason, variant.number, sides=tuple(map(str, sides[:LONGEST_PATH_SHOWN])))
    closest = max(kept, key=lambda v: (sum(a == b for a, b in zip(v.key, key)), v.used), default=None)
    if closest is None:
        return LastFailure(reason, None)
    return LastFailure(reason, closest.number, closest.reason.called_with, differences(key, closest.key))


def explanation(
    name: str, max_tapes: int, stats: Stats, variants: Sequence[Variant], reasons: Sequence[tuple[int, Reason]],
    last: LastFailure | None, of_sizes: Sequence[str] = (),
) -> str:  # fmt: skip
    """The text of GuardedTape.explain(); `of_sizes`: why there is a tape for each size."""
    lines = [f"{name}: {len(variants)} of at most {max_tapes} tapes; {stats}"]
    latest = max(variants, key=lambda v: v.number, default=None)
    if latest is not None and latest.report is not None:
        lines += [f"  {line}" for line in latest.report.lines()]
    lines += [f"  a tape for each size of its arrays, because of {why}" for why in of_sizes]
    for variant in sorted(variants, key=lambda v: v.number):
        seconds = f"recorded in {variant.seconds:.4f} s"
        seconds += f", compiled in {variant.compiled.seconds:.3f} s" if variant.compiled.seconds else ", not compiled"
        lines.append(f"  tape {variant.number}: {variant.reason.called_with}; {variant.hits} hits; {seconds}")
        lines += [f"    {step}" for step in _path(variant)]
    if reasons:
        lines.append("recorded because")
        lines += [f"  {number}: {reason}" for number, reason in reasons]
    if last is not None and last.closest is not None:
        lines.append("last miss")
        lines += [f"  {line}" for line in last.lines()]
    return "\n".join(lines)


def explanation_for_programs(
    name: str, stats: Stats, variants: Sequence[Variant], reasons: Sequence[tuple[int, Reason]]
) -> dict[str, object]:
    """The report as plain values."""
    tapes = [
        {
            "number": v.number, "called_with": str(v.reason.called_with), "hits": v.hits, "seconds_recording": v.seconds,
            "seconds_compiling": v.compiled.seconds, "guards": [str(guard) for guard in v.tape.guards],
            "report": None if v.report is None else v.report.as_dict(),
        }
        for v in sorted(variants, key=lambda v: v.number)
    ]  # fmt: skip
    return {"name": name, "stats": asdict(stats), "tapes": tapes, "recorded_because": [(number, str(reason)) for number, reason in reasons]}


def ways_taken(paths: Sequence[Tape]) -> list[str]:
    """For explain(): how often each branch on data went each way, from the tapes of unmerged paths."""
    counts: dict[tuple[str, int, str], Counter[str]] = {}
    for guard in (guard for tape in paths for guard in tape.guards):
        if guard.site is not None:
            counts.setdefault(guard.site.place, Counter())[short(guard.outcome)] += 1
    if not paths:
        return []
    lines = [f"ways that branches go, at {len(paths)} point{'s' * (len(paths) > 1)}"]
    for (_, line, name), ways in sorted(counts.items()):
        most = ways.most_common(MOST_WAYS_SHOWN)
        rest = f", {len(ways) - len(most)} others" * (len(ways) > len(most))
        lines.append(f"  {name}, line {line}: {', '.join(f'{way} {times}x' for way, times in most)}{rest}")
    if any(op is LOOP for tape in paths for op, *_ in tape.instructions):
        return [*lines, "  those in bodies of td.scan and td.while_loop are not counted"]
    return lines if len(lines) > 1 else [*lines, "  none look at data"]


def _path(variant: Variant) -> list[str]:
    guards = variant.tape.guards
    if len(guards) <= LONGEST_PATH_SHOWN:
        return [str(guard) for guard in guards] or ["no guards"]
    forks = sorted(variant.forks)[:LONGEST_PATH_SHOWN]
    return [*[str(guards[k]) for k in forks], f"and {len(guards) - len(forks)} more guards"]


# By aspect in which calls differ: its description, and the advice. If the structure differs, so does everything in it.
_ARGUMENTS = {
    "structure": ("the containers and names of its arguments have", "structures", "call it with containers of one structure"),
    "static": (
        "its arguments that are no arrays have", "values",
        "pass numbers as floats or td.Constant(...), so that one tape serves all; or use a GuardedTape for each",
    ),
    "guard": ("the guard given by the user returned", "values", "give a coarser guard, or none"),
    "dtypes": ("its arguments have", "dtypes", "convert them to one dtype before the call"),
    "shapes": ("its arguments have", "shapes", "see explain() for what needs their sizes; or pad arrays to a few lengths"),
}  # fmt: skip
_BRANCH = (
    "wrap the function with the branch in td.subtape, or use td.cond, td.while_loop (for a loop whose length changes) or np.where; or give "
    "a coarser guard"
)


def _aspects(key: CallKey) -> dict[str, Hashable]:
    """The aspects in which keys of tapes may differ, by the names of _ARGUMENTS."""
    return {
        "structure": (len(key.types), tuple(entry for entry in _entries(key) if entry[0] < 0)),
        "static": tuple(entry for entry in _entries(key) if entry[0] >= 0), "guard": key.guard,
        "dtypes": tuple(t.dtype for t in key.types), "shapes": tuple(t.shape for t in key.types),
    }  # fmt: skip


def _entries(key: CallKey) -> tuple[tuple[int, Hashable], ...]:
    return key.static  # type: ignore[return-value]  # see GuardedFunction.key


def differences(key: CallKey, other: CallKey) -> str:
    """How a call differs from the calls of a tape; only the structure, if that differs."""
    if any(value == ANY_INT_KEY for _, value in _entries(key)) and all(value != ANY_INT_KEY for _, value in _entries(other)):
        return "ints, which are data from their second value on"
    if any(position == SIZES for position, _ in _entries(key)) and all(position != SIZES for position, _ in _entries(other)):
        return "sizes, which are data from their second value on"
    here, there = _aspects(key), _aspects(other)
    found = [name for name in _ARGUMENTS if here[name] != there[name]]
    names = {"static": "values of arguments that are no arrays", "guard": "value of the guard"}
    return ", ".join(names.get(name, name) for name in (found[:1] if found[:1] == ["structure"] else found))


def causes(variants: Sequence[Variant]) -> list[tuple[str, str]]:
    """Causes of the number of tapes, the main one first: finding and advice."""
    line, outcomes, splits = most_split_line(variants)
    aspects = [_aspects(v.key) for v in variants]
    found = [(len({each[name] for each in aspects}), name) for name in _ARGUMENTS]
    found = sorted([(count, name) for count, name in found if count > 1], key=lambda each: -each[0])
    told: list[tuple[str, str]] = []
    if found:
        count, name = found[0]
        what, of, fix = _ARGUMENTS[name]
        told.append((f"{what} {count} different {of}, such as {_shown(variants[-1].reason.called_with, name)}", fix))
    if splits:
        branch = f"{line}, where Python looks at a value: {outcomes} different outcomes, {splits + 1} paths", _BRANCH
        told.insert(0 if not found or splits >= found[0][0] else 1, branch)
    return told


def _shown(call: Specialisation, name: str) -> str:
    """One example of an aspect in which calls differ."""
    if name == "guard":
        return short(call.guard_value[0])
    if name == "static":
        return ", ".join(f"argument {position} = {short(value)}" for position, _, value in call.static if position >= 0) or "none"
    text = str(call)
    return text if len(text) <= 60 else text[:57] + "..."


def step_argument(variants: Sequence[Variant]) -> str | None:
    """An int argument that differs between most of the tapes: a step number."""
    values: dict[int, set[int]] = {}
    for variant in variants:
        for position, kind, value in variant.reason.called_with.static:
            if kind is int:
                values.setdefault(position, set()).add(value)
    position = max(values, key=lambda k: len(values[k]), default=None)
    if position is None or 2 * len(values[position]) <= len(variants):
        return None
    return f"argument {position}, a Python int, which took {len(values[position])} different values"


def budget_text(name: str, max_tapes: int, variants: Sequence[Variant]) -> str:
    step, told = step_argument(variants), causes(variants)
    is_branch = told[0][1] is _BRANCH
    what = f"took more than {max_tapes} paths" if is_branch else f"was called with more than {max_tapes} kinds of arguments"
    if step is not None:
        return (
            f"{name} was recorded for more than {max_tapes} values of an argument, and is again for every new one, which is slow\n"
            f"  got: {step}\n"
            f"  fix: compute with it on the tape, so that one serves all its values: np.where instead "
            f"of what Python selects by it; or pass what is computed from it, as a float or as td.Constant(...)"
        )
    return (
        f"{name} {what}, so tapes are dropped and recorded again, which is slow\n"
        f"  got: {'; and '.join(got for got, _ in told)}\n"
        f"  fix: {'; '.join(fix for _, fix in told)}; or raise max_tapes if memory allows"
    )


def new_tape_text(name: str, miss: LastFailure) -> str:
    at, got = _new_tape_parts(miss)
    return (
        f"{name} met {'a new path' if miss.reason.guard is not None else 'arguments of a new kind'}, "
        f"which is recorded and compiled\n  at:  {at or 'unknown line'}\n  got: {got}\n"
        f"  fix: call it there before it matters; or compute both sides with np.where"
    )


def new_tape_error(name: str, miss: LastFailure, f: UserFunction) -> NewTape:
    at, got = _new_tape_parts(miss)
    return NewTape(
        f"{name} met {'a path' if miss.reason.guard is not None else 'arguments'} for which no tape is kept",
        at=at or site_of(f), got=got,
        fix='record it beforehand, with on_new_tape="compile"; or compute both sides with np.where',
    )  # fmt: skip


def _new_tape_parts(miss: LastFailure) -> tuple[Site | None, str]:
    guard = miss.reason.guard
    if guard is None:
        return None, str(miss.reason)
    got = f"{describe(miss.reason.outcome)}, recorded {describe(guard.outcome)}"
    return guard.site, "; ".join([got, *miss.sides])


def coarse_guard_text(name: str, guard_site: str, value: Operand, missed: Guard, outcome: Outcome | None) -> str:
    return (
        f"the guard of {name} ({guard_site}) does not tell paths apart that Python does; each has its tape all the same\n"
        f"  at:  {missed.site or 'unknown line'}\n"
        f"  got: guard value {short(value)} with both {describe(missed.outcome)} and {describe(outcome)} there\n"
        f"  fix: let the guard return this condition too; or leave it out, as the conditions are found without it"
    )


def unstable(guard: Guard, outcome: Outcome) -> UnstableBranch:
    return UnstableBranch(
        "two tapes disagree about this line at a near tie, so neither can answer", at=guard.site,
        got=f"{describe(guard.outcome)} by the one, {describe(outcome)} by the other",
        fix="compare with a tolerance, or compute both sides and choose with np.where",
    )  # fmt: skip
