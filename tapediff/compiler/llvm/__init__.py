"""LLVM text: typed values, whole functions with structured control flow, memory by named fields, and the target processor.

Comes in: Python operators and calls. Goes out: the text of functions and modules. Open first: `values.py`, then `builder.py`.
"""
