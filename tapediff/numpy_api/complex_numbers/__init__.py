"""Complex numbers while recording: pairs of real tracked arrays, and NumPy's functions of them as compositions of real functions.

Comes in: a NumPy function or ufunc with a complex argument. Goes out: real operations on the two parts.
Open first: `pair.py`, then `dispatch.py`. Tapes have no complex type, so derivatives, passes and kernels need no complex rules.
"""
