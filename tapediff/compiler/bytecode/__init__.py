"""Long straight-line code: translated to byte code that native handlers run, instead of compiled.

Comes in: a stretch of scalar steps too long for LLVM. Goes out: a program of operations on arrays of operands.
Open first: `translate.py`. Tapes of scalar operations take a shorter way, without a tape of the derivative: `sweeps/`.
"""
