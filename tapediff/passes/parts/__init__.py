"""Passes on parts of arrays: which boxes are read, written and joined.

Comes in and goes out: a tape. Open first: `regular_positions.py`, which finds boxes; `join_parts.py` joins them,
`rows_apart.py` takes strided ones apart and `elementwise_by_parts.py` computes with them.
"""
