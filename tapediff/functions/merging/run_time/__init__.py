"""What rewritten functions call while they are recorded: choices by a mask, loops, and checks of the values that they meet.

Comes in: the values of a recording. Goes out: instructions, or the error that gives a branch up. Open first: `run_time.py`;
`choices.py` has the selects, and regions are in `../regions`.
"""
