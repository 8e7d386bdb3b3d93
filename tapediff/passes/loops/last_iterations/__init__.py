"""The last iterations of loops: what only they decide, what is read of them alone, and what is done without them.

Comes in and goes out: a tape. Open first: `last_rows.py`.
"""
