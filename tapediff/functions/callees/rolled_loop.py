"""Roll the Python loops on a tape before it is differentiated or compiled; see passes.rolling.reroll."""

from __future__ import annotations

from dataclasses import replace

from ...base.settings import settings
from ...ir.tape import Tape, kept_with_tape
from ...ops.control.calls import LOOP
from ...passes.loops.carries.filled_arrays import filled_arrays
from ...passes.loops.carries.split_carries import split_carries
from ...passes.loops.carries.unread_carries import unread_carries
from ...passes.loops.counted_loops import counted_loops
from ...passes.loops.distribution.independent_iterations import independent_iterations
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

# Arrays are kept only if a tape shrinks by this factor: otherwise their entries are better in registers.
LEAST_SHRUNK = 4

# Tapes with this many instructions outside loops are tried once more in another order, which is kept if they shrink by this
# factor.
LONG, LEAST_FEWER = 300, 2


def rolled(tape: Tape) -> Tape:
    """Roll the Python loops and batch isomorphic operations elsewhere."""
    if not settings.roll_loops:
        return tape
    known = tape.derived.get("rolled")
    if known is None:
        known = tape.derived["rolled"] = _with_alike_at_once(rolled_apart(tape))
        tape.derived.pop("rolled apart", None)
    return known


def rolled_apart(tape: Tape) -> Tape:
    """Roll the Python loops; leave all other instructions as recorded."""
    whole = tape
    known = whole.derived.get("rolled apart")
    if known is None:
        tape = _with_loops_prepared(spliced(tape))
        if independent_iterations.__name__ not in settings.left_out:
            tape = independent_iterations(tape)
        known = whole.derived["rolled apart"] = _with_states(tape) or _rolled(_straightened(tape))
    return known


def _with_loops_prepared(tape: Tape) -> Tape:
    """Simplify the bodies of loops, and remove what keeps iterations of Python loops from being isomorphic."""
    if LOOP in tape.ops:
        tape = dead_code(tape)  # loops may return very many entries that nothing reads
        tape = tape if unread_carries.__name__ in settings.left_out else unread_carries(tape)
    tape = tape if alike_powers.__name__ in settings.left_out else alike_powers(tape)
    counted = tape if counted_loops.__name__ in settings.left_out else counted_loops(tape)
    counted = counted if filled_arrays.__name__ in settings.left_out else filled_arrays(counted)
    return last_values(counted)


def _straightened(tape: Tape) -> Tape:
    """Forward array entries to their readers; drop unread rows of loops, and split array carries into scalars."""
    straight = run_passes(tape, STRAIGHTEN)
    read = straight if last_rows.__name__ in settings.left_out else last_rows(straight)
    return read if split_carries.__name__ in settings.left_out else split_carries(read)


def limited(tape: Tape, save_limit: float, is_whole: bool = False) -> Tape:
    """Bound the bytes that each loop saves for derivatives; `is_whole` as in reroll."""
    made = replace(tape, save_limit=save_limit)
    if settings.roll_loops:
        made.derived["rolled"] = _rolled_whole(tape) if is_whole else rolled(tape)
    return made


@kept_with_tape
def _rolled_whole(tape: Tape) -> Tape:
    from ...passes.rolling.reroll import reroll
    from .tape_callee import callee_of

    return dead_code(reroll(_straightened(_with_loops_prepared(spliced(tape))), callee_of, is_whole=True))


def _with_states(tape: Tape) -> Tape | None:
    """Roll loops over arrays that are written cell by cell and then read; None for other tapes."""
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
        # Array entries that cells read become lanes; an array read as a whole is shared by all lanes.
        split = split_constants(made)
        tables = wavefronts(split, callee_of)
        made = made if tables is split else tables
    return straight if made is straight else dead_code(made)


def _with_alike_at_once(tape: Tape) -> Tape:
    """Batch isomorphic operations, where that shortens the tape a lot."""
    from ...passes.rolling.alike.batch_alike import batch_alike

    made = tape if batch_alike.__name__ in settings.left_out else batch_alike(tape)
    return tape if made is tape else dead_code(regular_positions(made))


def _with_lengths_alike(straight: Tape) -> Tape | None:
    """Pad arrays that shrink at every iteration, then roll the loops; None if the tape does not shrink enough."""
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
    """Prepare a tape for differentiation."""
    ready = rolled(tape) if settings.roll_loops else run_passes(tape, STRAIGHTEN)
    ready = run_passes(split_constants(ready), REFINE)
    if tape.save_limit is None:
        return ready
    from ...passes.loops.checkpoint_loops import checkpoint_loops
    from .tape_callee import callee_of

    return checkpoint_loops(ready, tape.save_limit, callee_of)


def prepared_apart(tape: Tape) -> Tape:
    """Prepare a tape with its loops rolled but no isomorphic operations batched."""
    return run_passes(split_constants(rolled_apart(tape)), REFINE)


def prepared_straight(tape: Tape) -> Tape:
    """Prepare a tape with its Python loops unrolled, as recorded."""
    return run_passes(_straightened(_with_loops_prepared(spliced(tape))), REFINE)
