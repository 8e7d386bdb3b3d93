"""Callees at run time: which variant of a callee runs, and how one that is not compiled yet gets to be.

Comes in: a call frame of a compiled caller. Goes out: the results, by the variant whose guards hold, or the status of a failure.
Open first: `dispatch_loop.py`, the native side, then `dispatch_table.py`, the Python side.
"""
