"""Branches as sub-tapes: a branch, or a turn of a loop, becomes a function of the variables that it reads.

Comes in: statements. Goes out: a function of them, whose calls are recorded as instructions with a variant for each path.
Open first: `regions.py`; `region_calls.py` has what is recorded,
`region_values.py` which values may go in and out.
"""
