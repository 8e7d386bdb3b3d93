"""Derivatives as tapes: gradients, products with Jacobians and Hessians, and full matrices.

Comes in: the tape of a function, and which inputs to differentiate by. Goes out: another tape, kept with the first.
Open first: `gradient_tape.py`, then `operator_tapes.py`; `matrix_tapes.py` chooses the sweeps of a matrix.
"""
