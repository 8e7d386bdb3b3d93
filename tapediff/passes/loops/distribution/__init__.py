"""Loop distribution: what iterations do not need of each other leaves their loop, and is done for all of them at once.

Comes in and goes out: a tape. Open first: `independent_iterations.py`.
"""
