"""Calls from compiled code: bound to arrays, by address, from numba, and for the rows of arrays in threads.

Comes in: a compiled or guarded tape. Goes out: builtins, addresses, numba functions. Open first: `native_calls.py`, then
`addressed_call.py`, in which calls with any arguments end.
"""
