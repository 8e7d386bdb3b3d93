"""A second back end: numba compiles the listing of a loop program, the very text that `compiled.source` shows.

Comes in: a loop program. Goes out: a function with the interface of a native kernel. Open first: `kernel.py`; then `functions.py`, which
builds the functions that the text calls from the native back end's tables.
"""
