"""LLVM text: typed values whose operators append instructions, and the processor that code is made for.

Comes in: Python operators. Goes out: the lines of a function. Open first: `values.py`.
"""
