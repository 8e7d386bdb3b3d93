"""Passes on parts of arrays: which boxes are read, written and joined.

Comes in and goes out: a tape. Open first: `regular_positions.py`, which finds boxes; `join_parts.py` joins them,
`elementwise_by_parts.py` computes with them.
"""
