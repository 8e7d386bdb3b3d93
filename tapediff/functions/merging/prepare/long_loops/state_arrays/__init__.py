"""Arrays that the turns of a long loop change again and again, and that may change places.

`states_in_place` (states.py) makes them variables of a turn; `with_exchanges` (exchanges.py) finds where they change places.
"""
