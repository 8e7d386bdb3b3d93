"""Passes on LOOP instructions: hoisting, peeling, and the residuals that the forward loop saves for the reverse loop.

Comes in and goes out: a tape. Open first: `loop_builder.py`, by which they rebuild loops, then `save_for_backward.py` with its choice in
`save_or_recompute.py`.
"""
