"""Scheduling: which steps share a loop, what is stored, what is computed again, and where memory lies.

Comes in and goes out: a loop program. Open first: `fusion.py`; `compiler/pipeline.py` has the order of the stages.
"""
