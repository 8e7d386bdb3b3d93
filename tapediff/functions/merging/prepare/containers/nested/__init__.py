"""Lists and dicts of objects, and lists of lists, as one variable for each of these.

Comes in: the statements of a function. Goes out: equivalent ones, in which loops over such lists are written out.
Open first: `lists_of_containers.py`; `known_entries.py` has what is known of entries, indices and loops.
"""
