"""Scheduling: which steps share a loop, which values are stored and which computed again, and where in memory they are.

Comes in and goes out: a loop program. Open first: `fusion.py`; `compiler/pipeline.py` has the order of the stages.
"""
