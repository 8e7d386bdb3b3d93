"""One way to evaluate an operator, whatever its target: a function, a Tape, a CompiledTape or a GuardedTape.

Comes in: a target, its arguments, which of them to differentiate by, and the operator's tape. Goes out: values and derivatives as the
caller nests them. Open first: `evaluation.py`.
"""
