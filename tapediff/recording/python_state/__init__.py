"""Python's own state around a recording: objects, random generators, exception handlers, NumPy's namespace, the garbage collector.

A tape cannot hold any of it. Comes in: the state at the beginning of a recording. Goes out: a check that it is the same at the end, or
replacements that hold it constant meanwhile. Open first: `object_snapshot.py`.
"""
