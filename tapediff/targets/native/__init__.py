"""Gradients for compiled callers: bound to arrays, by address, from numba, and for the rows of a matrix in threads.

Comes in: a compiled or guarded tape. Goes out: builtins, addresses, numba functions. Open first: `native_calls.py`.
"""
