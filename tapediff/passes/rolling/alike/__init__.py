"""What is alike on a tape wherever it stands: terms that are put next to each other, operations that are done at once, writes of one kind.

Open first: `alike_terms.py`.
"""
