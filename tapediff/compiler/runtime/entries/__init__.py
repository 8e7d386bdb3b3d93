"""Entries: the native functions by which Python and C call kernels.

Comes in: NumPy's array objects, or the addresses of C's arrays. Goes out: a value and gradients, or the status of the kernel.
Open first: `python_entry.py`, then `address_call.py`; `batch_rows.py` for many rows at once.
"""
