"""Random numbers drawn while recording: warned of, and refused where they decide a test of a tracked value.

Comes in: the function, and its tape. Goes out: a warning, or an error. Open first: `randomness.py`.
"""
