"""Arguments: from the arguments of a call to the inputs of a tape, and to the values that the tape is specialised on.

Comes in: a function and the arguments of one call. Goes out: a function of arrays alone, its arrays, and a key for everything else.
Open first: `bind_call.py`.
"""
