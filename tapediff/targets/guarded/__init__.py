"""The parts of GuardedTape: selecting the tape for a call, and recording new ones.

Comes in: a call of a function with Python branches. Goes out: the tape whose path it takes. Open first: `dispatch.py`, then
`record_path.py`.
"""
