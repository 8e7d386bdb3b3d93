"""Elementwise ops: each entry of the result is a scalar expression of the operands' entries.

Comes in: `Elementwise` from `declaration/`. Goes out: the `OPS` of each family. Open first: `arithmetic.py`.
"""
