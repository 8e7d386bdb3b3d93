"""Loops over many independent rows or cells: side by side in SIMD lanes, and in blocks that a cache holds.

Comes in and goes out: a tape. Open first: `exchange_loops.py`, for iterations that do not depend on each other; `wavefronts.py`, for
rows of a table whose cells depend on those above: `tables.py` finds it, `wavefront_step.py` makes the step of several rows, and
`skewed.py` brings rows into its order; `rows_in_blocks.py`, for loops over large arrays: `row_axes.py` says which rows are
independent, and `fewer_rows.py` makes the tape of a block. `body_parts.py` takes bodies of loops apart.
"""
