"""Functions as values: frozen with the variables that they close over, pickled, and their arguments as pytrees.

Comes in: a Python function. Goes out: a function that can be called later, in another recording or process. Open first: `freeze.py`.
"""
