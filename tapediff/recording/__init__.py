"""Recording: the user's function runs once on tracked arrays, and its operations become a tape.

Comes in: a Python function and the arrays to run it on. Goes out: a `Tape` (and `TrackedArray`s while it runs).
Open first: `recorder.py`; then `arrays/tracked.py`, the arrays that the user's code computes with. `arguments/` has the way in,
`python_state/` what a tape cannot hold, `finish.py` the way out, `call_arrays.py` and `aliases.py` the arrays of calls of sub-tapes.
"""
