"""Python loops on a tape as loops again, before it is differentiated or compiled; see passes.rolling.reroll."""

from __future__ import annotations

from ...base.settings import settings
from ...ir.tape import Tape
from ...passes.pipeline import REFINE, STRAIGHTEN, run_passes
from ...passes.simplify.dead_code import dead_code


def rolled(tape: Tape) -> Tape:
    """The tape with its Python loops as loops."""
    if not settings.roll_loops:
        return tape
    known = tape.derived.get("rolled")
    if known is None:
        # Imported when the first tape is prepared: a tenth of the time of `import tapediff`.
        from ...passes.rolling.reroll import reroll
        from ...transforms.exchange_loops import exchange_loops
        from .tape_callee import callee_of

        straight = run_passes(tape, STRAIGHTEN)
        made = exchange_loops(reroll(straight, callee_of), callee_of)
        known = tape.derived["rolled"] = straight if made is straight else dead_code(made)
    return known


def prepared(tape: Tape) -> Tape:
    """The tape ready to be differentiated."""
    return run_passes(rolled(tape), REFINE) if settings.roll_loops else run_passes(tape, (*STRAIGHTEN, *REFINE))
