"""Ops on the entries of arrays: reading and writing parts, changing shapes, adding up.

Comes in: `Op` from `declaration/`. Goes out: the `OPS` of each family. Open first: `shape.py`; then `regions.py` and `indexing.py`.
"""
