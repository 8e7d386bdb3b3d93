"""Long loops over items that are not alike: arrays of several lengths, or strings that differ.

Comes in: what a loop goes over. Goes out: its turns in groups of which the items are alike. Open first: `groups.py`.
"""
