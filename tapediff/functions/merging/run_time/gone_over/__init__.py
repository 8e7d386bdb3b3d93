"""What long loops go over: their own values, and the items that their turns look up.

Comes in: ranges, arrays, lists, tuples and dicts. Goes out: arrays with an entry for each turn, and what a turn gets of these; where items
are not alike, by groups of turns or as paths. Open first: `entries.py`.
"""
