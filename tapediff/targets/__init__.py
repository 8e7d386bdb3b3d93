"""The public functions: derivatives of a function, a Tape, a CompiledTape or a GuardedTape.

Comes in: a target and its arguments. Goes out: values and derivatives. Open first: `derivatives.py`; `operators/` has the derivatives of
other kinds, `guarded_tape.py` chooses among compiled tapes by their guards, and `guarded_reports.py` tells which there are.
"""
