"""Python loops on a tape as loops again, before it is differentiated or compiled; see passes.rolling.reroll."""

from __future__ import annotations

from dataclasses import replace

from ...base.settings import settings
from ...ir.tape import Tape
from ...ops.control.calls import LOOP
from ...passes.loops.carries.split_carries import split_carries
from ...passes.loops.carries.unread_carries import unread_carries
from ...passes.loops.counted_loops import counted_loops
from ...passes.loops.distribution.independent_iterations import independent_iterations
from ...passes.loops.known_conditions import known_conditions
from ...passes.loops.last_iterations.last_rows import last_rows
from ...passes.loops.last_iterations.last_values import last_values
from ...passes.loops.split_constants import split_constants
from ...passes.parts.regular_positions import regular_positions
from ...passes.pipeline import REFINE, STRAIGHTEN, run_passes
from ...passes.rolling.alike.alike_powers import alike_powers
from ...passes.rolling.alike.alike_terms import alike_terms
from ...passes.rolling.shrinking_arrays import shrinking_arrays
from ...passes.rolling.states import states
from ...passes.simplify.dead_code import dead_code
from ...passes.simplify.forward_writes import forward_writes
from .spliced_calls import spliced

# Arrays are kept only where that lets a tape shrink by this factor: elsewhere their entries are better in registers.
LEAST_SHRUNK = 4

# Tapes of so many instructions beside their loops are looked at once more, and taken in another order where that lets them shrink by this
# factor.
LONG, LEAST_FEWER = 300, 2


def rolled(tape: Tape) -> Tape:
    """The tape with its Python loops as loops, and what else is alike at once."""
    if not settings.roll_loops:
        return tape
    known = tape.derived.get("rolled")
    if known is None:
        known = tape.derived["rolled"] = _with_alike_at_once(rolled_apart(tape))
        tape.derived.pop("rolled apart", None)
    return known


def rolled_apart(tape: Tape) -> Tape:
    """The tape with its Python loops as loops, and what is alike elsewhere as it was recorded."""
    whole = tape
    known = whole.derived.get("rolled apart")
    if known is None:
        tape = _with_loops_prepared(spliced(tape))
        if independent_iterations.__name__ not in settings.left_out:
            tape = independent_iterations(tape)
        known = whole.derived["rolled apart"] = _with_states(tape) or _rolled(_straightened(tape))
    return known


def _with_loops_prepared(tape: Tape) -> Tape:
    """The tape with less in the bodies of its loops, and what keeps turns of others from being alike at once."""
    if LOOP in tape.ops:
        tape = dead_code(tape)  # of entries of what a loop gives there may be very many, which nothing reads
        tape = tape if unread_carries.__name__ in settings.left_out else unread_carries(tape)
    tape = tape if alike_powers.__name__ in settings.left_out else alike_powers(tape)
    counted = tape if counted_loops.__name__ in settings.left_out else counted_loops(tape)
    return last_values(known_conditions(counted))


def _straightened(tape: Tape) -> Tape:
    """The tape whose entries are read where they are computed, and whose loops hand on numbers and no rows that nothing reads."""
    straight = run_passes(tape, STRAIGHTEN)
    read = straight if last_rows.__name__ in settings.left_out else last_rows(straight)
    return read if split_carries.__name__ in settings.left_out else split_carries(read)


def limited(tape: Tape, save_limit: float, is_whole: bool = False) -> Tape:
    """The tape, of whose derivatives no loop saves more than about so many bytes; `is_whole` as of reroll."""
    made = replace(tape, save_limit=save_limit)
    if settings.roll_loops:
        made.derived["rolled"] = _rolled_whole(tape) if is_whole else rolled(tape)
    return made


def _rolled_whole(tape: Tape) -> Tape:
    from ...passes.rolling.reroll import reroll
    from .tape_callee import callee_of

    known = tape.derived.get("rolled whole")
    if known is None:
        straight = _straightened(_with_loops_prepared(spliced(tape)))
        known = tape.derived["rolled whole"] = dead_code(reroll(straight, callee_of, is_whole=True))
    return known


def _with_states(tape: Tape) -> Tape | None:
    """The tape with its loops, where these are over arrays that are written cell by cell and then read; None for others."""
    if {"forward_writes", "keep_states"} & settings.left_out or not states(tape):
        return None
    used = dead_code(tape)
    straight = dead_code(forward_writes(used, states(used)))
    made = _rolled(straight)
    return made if LEAST_SHRUNK * len(made.instructions) <= len(straight.instructions) else None


def _rolled(straight: Tape) -> Tape:
    # Imported when the first tape is prepared: a tenth of the time of `import tapediff`.
    from ...passes.rolling.reroll import reroll
    from ...transforms.lanes.exchange_loops import exchange_loops
    from ...transforms.lanes.wavefronts import wavefronts
    from .tape_callee import callee_of

    made = _with_lengths_alike(straight) or reroll(straight, callee_of)
    if len(made.instructions) >= LONG and alike_terms.__name__ not in settings.left_out:
        terms = alike_terms(straight)
        other = straight if terms is straight else reroll(terms, callee_of)
        made = other if LEAST_FEWER * len(other.instructions) <= len(made.instructions) else made
    made = exchange_loops(made, callee_of)
    if wavefronts.__name__ not in settings.left_out:
        # Numbers that cells read of an array are lanes; of an array as a whole there is one for all of them.
        split = split_constants(made)
        tables = wavefronts(split, callee_of)
        made = made if tables is split else tables
    return straight if made is straight else dead_code(made)


def _with_alike_at_once(tape: Tape) -> Tape:
    """The tape with what is alike in it at once, where that makes it much shorter."""
    from ...passes.rolling.alike.batch_alike import batch_alike

    made = tape if batch_alike.__name__ in settings.left_out else batch_alike(tape)
    return tape if made is tape else dead_code(regular_positions(made))


def _with_lengths_alike(straight: Tape) -> Tape | None:
    """The tape with its loops, where arrays that get shorter at every turn would keep them from being found; None for others."""
    from ...passes.rolling.reroll import reroll
    from .tape_callee import callee_of

    if shrinking_arrays.__name__ in settings.left_out:
        return None
    alike = shrinking_arrays(straight)
    if alike is straight:
        return None
    made = reroll(dead_code(alike), callee_of)
    return made if LEAST_SHRUNK * len(made.instructions) <= len(straight.instructions) else None


def prepared(tape: Tape) -> Tape:
    """The tape ready to be differentiated."""
    ready = rolled(tape) if settings.roll_loops else run_passes(tape, STRAIGHTEN)
    ready = run_passes(split_constants(ready), REFINE)
    if tape.save_limit is None:
        return ready
    from ...passes.loops.checkpoint_loops import checkpoint_loops
    from .tape_callee import callee_of

    return checkpoint_loops(ready, tape.save_limit, callee_of)


def prepared_apart(tape: Tape) -> Tape:
    """The same with what is alike as it was recorded, but for loops."""
    return run_passes(split_constants(rolled_apart(tape)), REFINE)


def prepared_straight(tape: Tape) -> Tape:
    """The same with its Python loops as they were recorded."""
    return run_passes(_straightened(_with_loops_prepared(spliced(tape))), REFINE)
