"""This package's own routines on matrices: one matrix in square tiles, or a stack of small ones with one matrix per lane.

Comes in: the lanes of the processor, and sizes. Goes out: LLVM text. Open first: `tiles.py`; for stacks, `lanes.py`.
"""
