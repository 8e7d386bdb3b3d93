"""Rolling: the straight-line code of a Python loop becomes a loop again, on arrays where its iterations are independent.

Comes in: a tape with thousands of repeated instructions. Goes out: a tape with array operations and LOOP instructions.
Open first: `reroll.py`; `repetition.py` finds repeated bodies, `classify_slots.py` classifies each of their instructions.
"""
