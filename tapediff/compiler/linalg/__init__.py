"""Routines on whole arrays: the package's own on matrices, SciPy's LAPACK and BLAS, sorting and searching.

Comes in: the name of a routine. Goes out: its LLVM text, or the symbol to call, and a Python equivalent for the listing.
Open first: `routine_table.py`.
"""
