"""Rewritings that come first, so that what is left are branches and plain loops: the exits of functions and loops.

Comes in: the statements of a function. Goes out: statements that do the same. Open first: `loop_exits.py`; what rewritten loops call is in
`loop_run_time.py`.
"""
