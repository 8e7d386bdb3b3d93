"""Python's own state around a recording: objects, random generators, exception handlers, NumPy's namespace, the garbage collector.

A tape cannot hold any of it. Comes in: the state at the beginning of a recording. Goes out: whether it is still the same at the end, or the
state held still meanwhile. Open first: `object_snapshot.py`.
"""
