"""Replays a tape with NumPy: the uncompiled path, and the reference that every kernel is tested against.

The same loop also *inlines* a tape into a recording: called with tracked inputs, each op records itself again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, cast

import numpy as np

from ..base.current_recording import failure_may_be_caught
from ..base.source_location import Site
from ..errors import REJECTIONS, GuardFailed, rejection
from .guard_rows import EACH, first_failure
from .instruction import (
    CONSTANT,
    GUARD,
    INPUT,
    Instruction,
    Operand,
    Outcome,
    Params,
    innermost_recorder,
    is_tracked,
    observed,
)


class Program(Protocol):
    """The part of a tape that is run."""

    @property
    def instructions(self) -> Sequence[Instruction]: ...

    @property
    def outputs(self) -> tuple[int, ...]: ...

    @property
    def turns(self) -> dict[int, tuple[int, int]]: ...


# A tape of at most so many instructions is translated to Python once it has been replayed so often: translating an instruction takes as
# long as 100 replays of it gain.
MOST_TRANSLATED, REPLAYS_BEFORE = 1000, 100

# Arrays of at least so many entries are freed after their last use.
LEAST_FREED = 1024


@np.errstate(all="ignore")
def run(tape: Program, inputs: Sequence[Operand], settled: int = 0) -> list[Operand]:
    """The tape's outputs at `inputs`, which must already have the recorded types.

    The first `settled` guards were decided elsewhere, for example by a kernel, and are not checked again.

    Raises:
        GuardFailed: a value that Python looked at while recording has another outcome.
        numpy.linalg.LinAlgError: as the plain function would.
    """
    replay = _translation(tape)
    values: list[Operand] = [None] * len(tape.instructions) if replay is None else []
    try:
        if replay is not None:
            return replay(tape, inputs, settled)
        for number, (op, ids, params, _, site) in enumerate(tape.instructions):
            if op is CONSTANT:
                values[number] = params[0]
            elif op is INPUT:
                values[number] = inputs[params[0]]
            elif op is GUARD:
                if params[2] >= settled or params[0] == EACH:
                    check_guard(params, values[ids[0]], site, settled, tape)
            else:
                values[number] = op.evaluate(*[values[i] for i in ids], *params)
    except REJECTIONS as failure:
        rejection(failure)
        raise
    return [values[i] for i in tape.outputs]


# replay(tape, inputs, settled) -> outputs
Replay = Callable[[Program, Sequence[Operand], int], list[Operand]]


def _translation(tape: Program) -> Replay | None:
    """The tape as a Python function, if it has been replayed often enough to have one."""
    known = getattr(tape, "derived", None)
    if known is None:
        return None
    found = known.get("replay", 0)
    if type(found) is int:
        known["replay"] = found + 1
        if found < REPLAYS_BEFORE or len(tape.instructions) > MOST_TRANSLATED:
            return None
        found = known["replay"] = translated(tape)
    return found


def translated(tape: Program) -> Replay:
    """The loop of `run` over a tape's instructions, written out: a line for each."""
    names: dict[str, object] = {"check_guard": check_guard}
    lines = ["def replay(tape, inputs, settled):"]
    last = {i: number for number, (_, ids, *_) in enumerate(tape.instructions) for i in ids}
    for number, (op, ids, params, _, site) in enumerate(tape.instructions):
        if op is CONSTANT:
            names[f"v{number}"] = params[0]
        elif op is INPUT:
            lines.append(f"    v{number} = inputs[{params[0]}]")
        elif op is GUARD:
            names |= {f"p{number}": params, f"s{number}": site}
            call = f"check_guard(p{number}, v{ids[0]}, s{number}, settled, tape)"
            lines.append(f"    {call}" if params[0] == EACH else f"    if {params[2]} >= settled: {call}")
        else:
            names |= {f"f{number}": op.evaluate, **{f"p{number}_{k}": param for k, param in enumerate(params)}}
            operands = [*(f"v{i}" for i in ids), *(f"p{number}_{k}" for k in range(len(params)))]
            lines.append(f"    v{number} = f{number}({', '.join(operands)})")
        freed = [i for i in sorted(set(ids)) if last[i] == number and _is_freed(tape, i)]
        if freed:
            lines.append(f"    del {', '.join(f'v{i}' for i in freed)}")
    lines.append(f"    return [{', '.join(f'v{i}' for i in tape.outputs)}]")
    exec(compile("\n".join(lines), "<replay of a tape>", "exec"), names)
    return cast("Replay", names["replay"])


def _is_freed(tape: Program, number: int) -> bool:
    op, _, _, type_, _ = tape.instructions[number]
    return op is not CONSTANT and number not in tape.outputs and type_.size >= LEAST_FREED


def check_guard(params: Params, value: Operand, site: Site | None, settled: int = 0, tape: Program | None = None) -> None:
    if params[0] == EACH:
        failed = first_failure(params, value, settled)
        if failed is None:
            return
        ordinal, recorded, met, site = failed
    else:
        kind, recorded, ordinal = params
        met = outcome_of(kind, value)
        if same_outcome(recorded, met):
            return
    turn = tape.turns.get(ordinal) if tape is not None else None
    raise GuardFailed(at=site, ordinal=ordinal, recorded=recorded, outcome=met, turn=turn)


def outcome_of(kind: str, value: Operand) -> Outcome:
    """The outcome of looking at `value` as Python does: a bool, an int, or the array itself."""
    if kind == "bool":
        return bool(value)
    if kind == "int":
        # int() of a NaN or an infinity raises in plain Python; as an outcome it is simply not the recorded one.
        return int(value) if np.isfinite(value) else float(value)
    array = np.array(value)
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)  # one NaN, whatever its payload and sign
    return array


def is_outcome_of(kind: str, outcome: Outcome) -> bool:
    """True if a guard of this kind can have such an outcome."""
    if isinstance(outcome, (np.ndarray, bool)):
        return kind == ("bool" if isinstance(outcome, bool) else "array")
    return kind == "int"


def same_outcome(recorded: Outcome, met: Outcome) -> bool:
    if isinstance(recorded, np.ndarray) and isinstance(met, np.ndarray):
        return recorded.shape == met.shape and recorded.tobytes() == met.tobytes()
    return recorded == met or (recorded != recorded and met != met)  # int() of a NaN


@np.errstate(all="ignore")
def inline(tape: Program, inputs: Sequence[Operand]) -> list[Operand]:
    """Run a tape's instructions on values: with tracked operands they are recorded again, with plain ones computed."""
    values: list[Operand] = [None] * len(tape.instructions)
    innermost = innermost_recorder(inputs)
    outer_site = innermost.site if innermost is not None else None
    try:
        for number, (op, ids, params, _, site) in enumerate(tape.instructions):
            if innermost is not None:
                innermost.site = site or outer_site
            if op is CONSTANT:
                values[number] = params[0][()]
            elif op is INPUT:
                values[number] = inputs[params[0]]
            elif op is GUARD:
                _inline_guard(params, values[ids[0]], site, tape)
            else:
                # User code around the call may catch the failure of a factorisation, which the tape did not guard.
                call = op.checked if op.checked is not None and failure_may_be_caught() else op
                values[number] = call(*[values[i] for i in ids], **op.named(params))
    finally:
        if innermost is not None:
            innermost.site = outer_site
    return [values[i] for i in tape.outputs]


def _inline_guard(params: Params, value: Operand, site: Site | None, tape: Program) -> None:
    if params[0] == EACH:
        check_guard(params, observed(value, "array") if is_tracked(value) else value, site, 0, tape)
        return
    kind, recorded, ordinal = params
    met = observed(value, kind) if is_tracked(value) else outcome_of(kind, value)
    if not same_outcome(recorded, met):
        raise GuardFailed(at=site, ordinal=ordinal, recorded=recorded, outcome=met, turn=tape.turns.get(ordinal))


class GuardFailure(NamedTuple):
    """The guard at which a replay stopped, and the outcome met there."""

    ordinal: int
    outcome: Outcome


def attempt(tape: Program, inputs: Sequence[Operand], settled: int = 0) -> list[Operand] | GuardFailure:
    """Run a tape as `run` does; the failed guard if there is one."""
    try:
        return run(tape, inputs, settled)
    except GuardFailed as failure:
        return GuardFailure(failure.ordinal, failure.outcome)
