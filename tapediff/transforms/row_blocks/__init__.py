"""Loops over arrays of many independent rows, block of rows by block of rows.

Comes in and goes out: a tape, before it is lowered. Open first: `rows_in_blocks.py`, then `row_axes.py`.
"""
