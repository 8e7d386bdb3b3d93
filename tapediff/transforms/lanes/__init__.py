"""Loops over many independent rows or cells: vectorised in SIMD lanes, and in blocks that fit a cache.

Comes in and goes out: a tape. Open first: `exchange_loops.py`, for independent iterations; `wavefronts.py`, for rows of a table whose cells
depend on those above: `tables.py` finds it, `wavefront_step.py` makes the step of several rows, and `skewed.py` skews rows into wavefront
order; `rows_in_blocks.py`, for loops over large arrays: `row_axes.py` finds independent rows, and `fewer_rows.py` makes the tape of a
block.
"""
