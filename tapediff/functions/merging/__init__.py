"""One tape for all paths: branches of plain Python become selects, and loops one instruction, where that is proven to change nothing.

Comes in: a user's function, and the lines at which its recordings parted. Goes out: a function that records one tape for all of these
paths, or the reason why a branch stays as it is. Open first: `merged_function.py`; `rules.py` has what is refused, and why.
"""
