"""The intermediate representation: a tape is a flat tuple of instructions in static single assignment form.

Comes in: NumPy values only. Goes out: `Tape`, `Instruction` and `ValueType`, which every other folder reads and writes; the
interpreter, which replays a tape with NumPy and is the reference for every kernel; `Rewriter`, the loop that all passes share.
Open first: `instruction.py`, whose docstring is the grammar, then `tape.py`.
"""
