"""Callees at run time: the choice of a callee's variant, and the compilation of missing ones.

Comes in: a call frame of a compiled caller. Goes out: the results, from the variant whose guards hold, or the status of a failure.
Open first: `dispatch_loop.py`, the native side, then `dispatch_table.py`, the Python side.
"""
