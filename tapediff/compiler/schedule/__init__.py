"""Scheduling: loop fusion, the choice between storing and recomputing values, and their memory.

Comes in and goes out: a loop program. Open first: `fusion.py`; `compiler/pipeline.py` has the order of the stages.
"""
