"""Long loops whose first turn is another one than the rest.

Comes in: a long loop that was refused. Goes out: its first turn and the loop over the rest, without the tests that are known there.
Open first: `first_turns.py`; `first_numbers.py` and `known_tests.py` tell how tests come out.
"""
