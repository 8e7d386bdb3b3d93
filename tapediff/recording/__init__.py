"""Recording: the user's function runs once on tracked arrays, and what it does becomes a tape.

Comes in: a Python function and the arrays to run it on. Goes out: a `Tape` (and `TrackedArray`s while it runs).
Open first: `recorder.py`; `tracked.py` is what the user's code computes with, `escapes.py` where a value would leave the recording.
"""
