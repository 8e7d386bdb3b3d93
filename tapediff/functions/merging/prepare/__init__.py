"""What comes first: the source of a function, and rewritings after which what is left are branches and plain loops.

Comes in: the statements of a function. Goes out: statements that do the same. Open first: `loop_exits.py`; what rewritten loops call is in
`../run_time/loop_run_time.py`.
"""
