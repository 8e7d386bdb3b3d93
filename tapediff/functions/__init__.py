"""Functions on tapes: sub-tapes, control flow and primitives, each one instruction of its caller.

Comes in: a Python function called inside a recording. Goes out: a CALL or LOOP instruction, and a callee with a tape for each path.
Open first: `subtape.py`; then `callees/`, the functions that these instructions run, and `captured/`, functions as values.
"""
