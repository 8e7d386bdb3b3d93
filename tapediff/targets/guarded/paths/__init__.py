"""Which tapes and kernels of a GuardedTape a call may take: those recorded while its function read what it reads now, and their paths.

Comes in: a change of what the function reads, or a call that was answered. Goes out: the tapes in use, and what later calls run.
Open first: `recordings.py`.
"""
