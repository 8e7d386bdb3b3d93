"""Initial value problems of ordinary differential equations, differentiated through the steps taken.

Comes in: a right-hand side, a start, times. Goes out: the solution at the times, plain or tracked, by loops without Python.
Open first: `solve.py`, then `stepping.py`.
"""

from .solve import solve

__all__ = ["solve"]
