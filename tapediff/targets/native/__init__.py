"""Calls from compiled code: bound to arrays, by address, from numba, and batches of rows in threads.

Comes in: a compiled or guarded tape. Goes out: builtins, addresses, numba functions. Open first: `native_calls.py`, then
`addressed_call.py` and `paths.py`, which all others make calls with, and so do a GuardedTape's calls from Python.
"""
