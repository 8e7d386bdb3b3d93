"""Random numbers that a function draws while it is recorded: told, and refused where they decide a test of a tracked value.

Comes in: the function, and its tape. Goes out: a warning, or an error. Open first: `randomness.py`.
"""
