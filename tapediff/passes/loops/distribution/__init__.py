"""Loop distribution: what iterations do not need of each other leaves their loop, and is done for all of them at once.

What memory makes dearer than arithmetic goes back: `sink_into_loops.py`.

Comes in and goes out: a tape. Open first: `independent_iterations.py`.
"""
