"""Native code around kernels: entries from Python and C, workspaces, and the dispatch between variants of callees.

Comes in: the addresses of arrays. Goes out: a value and gradients, or a status. Open first: `status.py`, then
`entries/python_entry.py`; for sub-tapes and loops `call_frame.py` and `callees/dispatch_loop.py`.
"""
