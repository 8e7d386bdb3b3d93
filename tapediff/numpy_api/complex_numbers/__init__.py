"""Complex numbers inside a recorded function: a pair of real tracked arrays, and NumPy's functions of them as compositions of real ones.

Comes in: a NumPy function or ufunc of which an argument is complex. Goes out: what real operations make of the two parts.
Open first: `pair.py`, then `dispatch.py`. There is no complex type on tapes, so derivatives, passes and kernels know nothing of all this.
"""
