"""Arrays that the turns of a long loop change again and again, and that may change places.

Comes in: a long loop. Goes out: one whose turns have such arrays as variables, and the statements around it that write them.
Open first: `states.py`; `exchanges.py` has where arrays change places.
"""
