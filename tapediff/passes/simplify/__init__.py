"""Passes on straight code: dead code, equal values, constants, and cheaper orders.

Comes in and goes out: a tape. Open first: `dead_code.py`, the shortest; every other pass has the same form.
"""
