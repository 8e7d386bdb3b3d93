"""Scalar mathematics on SIMD lanes: LLVM values with operators, and the functions written with them.

Comes in: the scalar expression of an op's declaration. Goes out: LLVM values. Open first: `function_table.py`, all functions by name.
"""
