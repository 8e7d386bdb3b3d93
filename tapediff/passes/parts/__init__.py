"""Passes on array slices: boxes that are read, written and joined.

Comes in and goes out: a tape. Open first: `regular_positions.py`, which finds boxes; `join_parts.py` joins them, `rows_apart.py` splits
strided ones and `elementwise_by_parts.py` computes with them.
"""
