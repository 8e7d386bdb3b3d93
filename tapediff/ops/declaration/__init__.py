"""Declarations: an op is declared once, with every fact that another stage reads.

Comes in: NumPy evaluation, scalar expression, derivative rules, samples for the tests. Goes out: an `Op`. Open first: `op.py`.
"""
