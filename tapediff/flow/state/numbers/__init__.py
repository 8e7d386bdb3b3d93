"""Numbers that data decide: their bounds, Python's ints of any size, and the errors that Python's numbers raise.

Open first: `bounds.py`.
"""
