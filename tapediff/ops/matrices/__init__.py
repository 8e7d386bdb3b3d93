"""Ops on matrices: products, factorisations, solves, eigenvalues.

Comes in: `Op` from `declaration/`. Goes out: the `OPS` of each family. Open first: `products.py`.
"""
