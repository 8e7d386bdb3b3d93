"""NumPy functions that are compositions of others: run by NumPy's own code where that can be recorded, else reimplemented.

Comes in: a call on tracked arrays. Goes out: calls of functions that are ops. Open first: `numpys_own.py`.
"""
