"""Statements in and around long loops in forms that the rest knows: tries and inner functions as branches, reversed ranges as ranges.

Comes in: the statements of a function. Goes out: others that do the same. Open first: `reversed_ranges.py`, the shortest; to add one, its
file here and its place in functions/merging/facts.py.
"""
