"""Tracked arrays: the objects that a recorded function computes with in place of NumPy's arrays.

Comes in: operators, methods, conversions and writes of the user's code. Goes out: operations, which the recorder makes instructions of.
Open first: `tracked.py`; then `escapes.py`, which has every way in which a value could leave a recording.
"""
