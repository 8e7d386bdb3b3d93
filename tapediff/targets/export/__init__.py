"""Kernels as object files with a C header, for programs without Python.

Comes in: a CompiledTape or GuardedTape. Goes out: model.h, model.o and libmodel.so. Open first: `export.py`.
"""
