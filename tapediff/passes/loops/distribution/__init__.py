"""Loop distribution: independent computations leave their loop, and run for all iterations at once.

Cheap streams that cost more to load than to compute go back: `sink_into_loops.py`.

Comes in and goes out: a tape. Open first: `independent_iterations.py`.
"""
