"""Lists that data makes longer, as variables: their sums, lengths, largest, smallest and last entries.

Comes in: the statements of a function. Goes out: statements without these lists. Open first: `growing_lists.py`.
"""
