"""Initial value problems of ordinary differential equations, differentiated through the steps that were taken.

Comes in: a right-hand side, a start, times. Goes out: the solution at the times, plain or tracked, by loops that need no Python.
Open first: `solve.py`, then `stepping.py`.
"""

from .solve import solve

__all__ = ["solve"]
