"""How large the whole numbers of long loops become, which are exact as data only up to a size. Comes in: the recording of a turn.
Goes out: sizes, or the error that gives a loop up. Open first: `counting.py`.
"""
