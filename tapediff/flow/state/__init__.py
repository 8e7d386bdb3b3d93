"""The interpreter's state: values, places, joins of these, and the fork of a branch.

Open first: `fork.py`.
"""
