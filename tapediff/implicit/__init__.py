"""Solutions of equations, fixed points and minima, differentiated by the implicit function theorem.

Comes in: a function, a start, the function's other arguments. Goes out: a solution; on a tape, one value whose rule solves a linear system.
Open first: `solvers.py`, then `equation.py`.
"""

from .solvers import fixed_point, minimize, root

__all__ = ["fixed_point", "minimize", "root"]
