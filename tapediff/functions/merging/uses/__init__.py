"""How the values of a function's variables and expressions are used, which decides what they may become.

Comes in: statements. Goes out: for variables, or expressions, what their uses ask of them. Open first: `contexts.py`.
"""
