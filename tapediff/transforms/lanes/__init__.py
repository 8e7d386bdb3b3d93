"""Recurrences of several iterations of an outer loop side by side, in SIMD lanes.

Comes in and goes out: a tape. Open first: `exchange_loops.py`, for iterations that do not depend on each other; `wavefronts.py`, for
rows of a table whose cells depend on those above: `tables.py` finds it, `wavefront_step.py` makes the step of several rows, and
`skewed.py` brings rows into its order. `body_parts.py` takes bodies of loops apart.
"""
