"""The parts of GuardedTape: which tape answers a call, and when a new one is recorded.

Comes in: a call of a function with Python branches. Goes out: the tape whose path it takes. Open first: `dispatch.py`, then
`record_path.py`.
"""
