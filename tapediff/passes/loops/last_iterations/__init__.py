"""The last iterations of loops: peeled, read without the rows before, or computed after the loop.

Comes in and goes out: a tape. Open first: `last_rows.py`.
"""
