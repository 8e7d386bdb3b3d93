"""Long tapes of operations on numbers, and on arrays of a few, as two sweeps of byte code.

Comes in: a tape, ready to be differentiated. Goes out: a program of its value and gradient, without a tape of the derivative.
Open first: `program.py`. `elements.py` finds its operations, `runs.py` groups them.
"""
