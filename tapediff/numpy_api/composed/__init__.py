"""NumPy's functions that are compositions of others: by NumPy's own code where that can be recorded, else written out.

Comes in: a call on tracked arrays. Goes out: calls of functions that are ops. Open first: `numpys_own.py`.
"""
