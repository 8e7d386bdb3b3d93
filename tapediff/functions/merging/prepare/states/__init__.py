"""Variables that are the names of states, or None, as numbers that data may choose.

Comes in: the statements of a function. Goes out: statements that do the same. Open first: `static_values.py`.
"""
