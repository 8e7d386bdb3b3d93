"""The tapes and kernels of a GuardedTape that a call may use: those recorded with the present environment, and their paths.

Comes in: a change of what the function reads, or a call that was answered. Goes out: the tapes in use, and the kernels for later calls.
Open first: `recordings.py`.
"""
