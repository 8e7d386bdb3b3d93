"""Statements of Python that can be written with others: `match`, `:=`, `with np.errstate(...)`, several `yield`, calls in conditions.

Comes in: the statements of a function. Goes out: statements that do the same, without these. Open first: `statements.py`.
"""
