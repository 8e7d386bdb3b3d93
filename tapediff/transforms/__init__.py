"""Transforms: from a tape to the instructions of its derivative.

Comes in: a tape. Goes out: more instructions, recorded like the user's own, so that derivatives of derivatives need nothing new.
Open first: `reverse.py`; `reverse_loop.py` is the same for the body of a loop.
"""
