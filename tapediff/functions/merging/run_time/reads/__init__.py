"""What is read of an array in one expression: entries that a mask selects, `selections.py`, and rows of plain arrays, `plain_rows.py`.

Comes in: an array, and a mask or position that is data. Goes out: what stands for the entries in the rest of the program, or the refusal
of a use that it does not know. Open first: `selections.py`.
"""
