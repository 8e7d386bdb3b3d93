"""Data-dependent numbers: bounds, Python ints of any size, and the errors of Python numbers.

Open first: `bounds.py`.
"""
