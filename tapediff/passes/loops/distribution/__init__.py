"""Loop distribution: independent computations leave their loop, and run for all iterations at once.

Comes in and goes out: a tape. Open first: `independent_iterations.py`.
"""
