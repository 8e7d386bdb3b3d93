"""What the turns of a long loop look up in lists, tuples and dicts.

Comes in: a container, and a position that is data in a turn. Goes out: the item that stands there, as an entry of arrays that the loop
goes over, or gathered. Open first: `look_ups.py`.
"""
