"""Recording: the user's function runs once on tracked arrays, and its operations become a tape.

Comes in: a Python function and the arrays to run it on. Goes out: a `Tape` (and `TrackedArray`s while it runs).
Open first: `recorder.py`. `tracked.py` has the arrays that the user's code computes with, `escapes.py` every way in which a value could
leave the recording.
"""
