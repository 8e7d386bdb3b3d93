"""Passes: tape to tape, the same outputs by fewer or better instructions.

Comes in: a tape as it was recorded or differentiated. Goes out: an equivalent tape; guards keep their order, their ordinals and their
lines. `simplify/` works on straight code, `loops/` on LOOP instructions, `rolling/` finds Python loops in straight code.
Open first: `pipeline.py`, the passes in their order.
"""
