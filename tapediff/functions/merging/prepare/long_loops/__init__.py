"""Loops of so many turns that one of them is recorded: which these are, and their forms in which one turn can be.

Comes in: the statements of a function, and the lines that long recordings have come to. Goes out: `for` loops over what is known before
them, whose turns compute variables. Open first: `which_loops.py`.
"""
