"""Jumps that data decides on, as assignments: `break` and `continue` of a turn, `return` of a function.

Comes in: statements with jumps. Goes out: statements that do the same, without these. Open first: `early_exits.py`.
"""
