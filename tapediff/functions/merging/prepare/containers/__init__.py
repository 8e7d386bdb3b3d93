"""Lists, dicts and objects that one function makes and nobody else sees, as variables of it, one for each entry or attribute.

Comes in: the statements of a function. Goes out: equivalent ones, in which branches on data choose between numbers instead of changing
containers, and data may decide which entry is read or written. Open first: `as_variables.py`.
"""
