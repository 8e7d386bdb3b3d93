"""The last iterations of loops: peeled, or computed after the loop.

Comes in and goes out: a tape. Open first: `peel_last_iterations.py`.
"""
