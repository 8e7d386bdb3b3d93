"""Entries, rows and parts of arrays that a function reads at data or writes under branches.

Comes in: the statements of a function. Goes out: statements that do the same to variables and copies, or call the run time.
Open first: `writes.py`; reads are in `gathers.py`.
"""
